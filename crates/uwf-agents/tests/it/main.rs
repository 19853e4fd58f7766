//! The built-in agents' pure parts.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]

mod traces;
