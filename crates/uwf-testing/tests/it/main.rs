//! Tests of the scripted provider, one binary.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]

mod llm_server;
mod scripted_llm;
