//! Tests of the public face of the crate, one binary.

mod backends;
mod durable;
mod fs_heads;
mod round_trips;
mod schema;
mod store;
mod vectors;
mod walking;
