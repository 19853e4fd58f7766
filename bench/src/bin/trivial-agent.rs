//! The least an agent of `output: step` can be: an answer of 1 KB, stored through agent-kit. `trivial-agent --bare`
//! is the same program without the store: it prints a hash and exits, which is what the floor runs.

use std::io::Write;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use agent_kit::{AgentAnswer, create_agent};
use serde_json::json;

/// With what an answer has besides, it is 1 KB long.
const TEXT_BYTES: usize = 960;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("--bare") {
        let written = writeln!(std::io::stdout(), "0000000000000");
        return if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    create_agent(|context| {
        let micros = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
        let next = if context.role_name() == "writer" { "reviewer" } else { "writer" };
        let n = u64::try_from(micros).unwrap_or_default();
        Ok(AgentAnswer::value(json!({ "next": next, "n": n, "text": "x".repeat(TEXT_BYTES) })))
    })
}
