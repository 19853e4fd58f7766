//! Tests of the public face of the crate, one binary.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]
#![expect(clippy::print_stderr, reason = "a test says when the shared vectors are not there")]

mod any_bytes;
mod backends;
mod copying;
mod fs_heads;
mod heads_random;
mod hooked;
mod packs;
mod reach;
mod round_trips;
mod schema;
mod schema_random;
mod store;
mod vectors;
mod walking;
