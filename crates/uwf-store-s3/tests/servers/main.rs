//! The store against servers that speak S3: moto, which plays it in memory, and SeaweedFS. One binary.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]
#![expect(clippy::print_stdout, reason = "what a process says to the test that started it")]

mod conformance;
mod damaged;
mod eras;
mod faults;
mod late;
mod processes;
mod proxy;
mod refusals;
mod requests;
mod servers;
mod sweeps;
mod tls;
