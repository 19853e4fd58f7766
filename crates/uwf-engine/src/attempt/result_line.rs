//! Reads the hash in an agent's output, or explains why it is missing, from how the agent's process ended.

use std::path::PathBuf;

use json_cas::NodeHash;
use uwf_core::config::OutputMode;
use uwf_core::failure_class::FailureClass;
use uwf_core::text::ellipsize;

use crate::attempt::agent_process::{self, AgentProcessEnd, AgentProcessSpec};
use crate::attempt::agents::AgentSpec;
use crate::attempt::ended::stopped_by;
use crate::attempt::limit_log;
use crate::error::{AttemptFailure, Error, Result};

/// Characters shown of a line that is not a result.
const SHOWN: usize = 80;

/// The StepNode hash in the last line of an agent's stdout. `timeout` names the setting with the timeout of the attempt.
pub(crate) fn result_line(
    agent: &AgentSpec,
    ended: AgentProcessEnd,
    out: &str,
    job: &AgentProcessSpec,
    timeout: &str,
) -> Result<NodeHash> {
    let printed = match ended {
        AgentProcessEnd::Exited(code)
            if agent.succeeded(code) || agent.output_mode() != OutputMode::Step && code == 0 =>
        {
            Some(last_line(out))
        }
        _ => None,
    };
    if let Some(step) = printed.as_ref().and_then(|last| last.parse().ok()) {
        return Ok(step);
    }
    let said = agent_process::read_capped(&job.stderr, job.cap).unwrap_or_default();
    if ended == AgentProcessEnd::AtLimit {
        let words = limit_log::last_limit(&said).unwrap_or_default();
        return Err(Error::agent_failed(format!("agent `{}` {ended}: {words}", agent.name)).with_last_words(words));
    }
    let error = no_result(agent, ended, printed.as_deref(), &last_words(&said), timeout);
    // A process of uwf that plays the role says why it failed in the record. Its stderr has messages of uwf.
    let is_own = agent.played_by().is_none();
    if matches!(ended, AgentProcessEnd::Idle(_)) && has_printed_nothing(job) {
        let failure = AttemptFailure::new(FailureClass::Unknown, None);
        return Err(error.with_failure(AttemptFailure { is_silent: true, ..failure }));
    }
    let by_itself = matches!(ended, AgentProcessEnd::Exited(_) | AgentProcessEnd::Signaled(_));
    Err(if is_own && by_itself { agent.with_last_words(error, &said) } else { error })
}

/// Whether an agent has printed no part of an answer. Its stderr may have lines of uwf.
fn has_printed_nothing(job: &AgentProcessSpec) -> bool {
    let is_empty = |path: &PathBuf| path.metadata().map_or(0, |meta| meta.len()) == 0;
    job.watched.iter().filter(|path| **path != job.stderr).all(is_empty)
}

fn no_result(
    agent: &AgentSpec,
    ended: AgentProcessEnd,
    printed: Option<&str>,
    last_words: &str,
    timeout: &str,
) -> Error {
    let instead = printed.map_or_else(String::new, |last| {
        let printed = if last.is_empty() { "nothing".to_owned() } else { format!("`{}`", ellipsize(last, SHOWN)) };
        format!(", but the last line of its stdout is {printed} instead of a StepNode hash")
    });
    let last_words = if last_words.is_empty() { String::new() } else { format!("; its last words: {last_words}") };
    let message = format!("agent `{}` {ended}{instead}{last_words}", agent.name);
    match ended {
        AgentProcessEnd::Exited(_) if printed.is_some() => Error::agent_failed(message)
            .hint("an agent that prints its answer instead needs `output: text` or `output: json` in config.yaml"),
        AgentProcessEnd::TimedOut(_) => Error::agent_failed(message).hint(format!("raise {timeout}")),
        AgentProcessEnd::Idle(_) => {
            Error::agent_failed(message).hint("raise `idleTimeout` of the agent in config.yaml")
        }
        AgentProcessEnd::Cancelled(signal) => Error::new(stopped_by(signal), message),
        AgentProcessEnd::Lost(_) => Error::busy(message).hint("run `uwf thread show` for the state of the thread"),
        AgentProcessEnd::Exited(_) | AgentProcessEnd::Signaled(_) | AgentProcessEnd::AtLimit => {
            Error::agent_failed(message)
        }
    }
}

fn last_line(text: &str) -> String {
    text.trim_end().lines().last().unwrap_or_default().trim().to_owned()
}

/// The last line about what happened. Skips hints of an agent that is part of uwf: they are for running it by hand.
fn last_words(text: &str) -> String {
    text.lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty() && !line.starts_with("hint: "))
        .unwrap_or_default()
        .to_owned()
}
