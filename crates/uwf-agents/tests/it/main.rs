//! The parts of the built-in agents that need no provider: their tools on real files and processes, their decisions.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]

mod acp;
mod any_bytes;
mod machine;
mod paths;
mod tools;
mod traces;
