//! Tests of the client against a scripted provider, one binary.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]

mod any_bytes;
mod endpoints;
mod errors;
mod golden;
mod ladder;
mod lookups;
mod retries;
mod setting;
mod sse;
mod streams;
mod strict;
mod tls;
mod whole_json;
