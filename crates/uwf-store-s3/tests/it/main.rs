//! The store against servers that speak S3: moto, which plays it in memory, and SeaweedFS. One binary.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]

mod conformance;
mod servers;
