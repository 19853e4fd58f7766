//! How an agent's process ended, and what that means: the hash it printed, or why there is none.

use json_cas::Hash;
use uwf_core::config::OutputMode;

use crate::attempt::agent_process::{self, Ended, Job};
use crate::attempt::agents::AgentSpec;
use crate::attempt::error::{AttemptError, Result};

/// The StepNode hash in the last line of an agent's stdout.
pub(crate) fn result_line(agent: &AgentSpec, ended: Ended, out: &str, job: &Job) -> Result<Hash> {
    let printed = match ended {
        Ended::Exited(code) if agent.succeeded(code) || agent.output_mode() != OutputMode::Step && code == 0 => {
            Some(last_line(out))
        }
        _ => None,
    };
    if let Some(step) = printed.as_ref().and_then(|last| last.parse().ok()) {
        return Ok(step);
    }
    let last_words = last_words(&agent_process::read_capped(&job.stderr, job.cap).unwrap_or_default());
    Err(AttemptError::NoResult { agent: agent.name.clone(), ended, printed, last_words })
}

fn last_line(text: &str) -> String {
    text.trim_end().lines().last().unwrap_or_default().trim().to_owned()
}

/// The last line that says what happened; what an agent made of uwf suggests after it is for whoever runs that by hand.
fn last_words(text: &str) -> String {
    text.lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty() && !line.starts_with("hint: "))
        .unwrap_or_default()
        .to_owned()
}
