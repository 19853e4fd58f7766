//! How an agent's process ended, and what that means: the hash it printed, or why there is none.

use json_cas::Hash;
use uwf_core::config::OutputMode;
use uwf_core::text::ellipsize;

use crate::attempt::agent_process::{self, Ended, Job};
use crate::attempt::agents::AgentSpec;
use crate::error::{Error, ErrorKind, Result};

/// Characters shown of a line that is not a result.
const SHOWN: usize = 80;

/// The StepNode hash in the last line of an agent's stdout.
pub(crate) fn result_line(agent: &AgentSpec, ended: Ended, out: &str, job: &Job) -> Result<Hash> {
    let name = &agent.name;
    let said = || last_words(&agent_process::read_capped(&job.stderr, job.cap).unwrap_or_default());
    let with_stderr = |message: String| {
        let said = said();
        Error::new(
            ErrorKind::AgentFailed,
            if said.is_empty() { message } else { format!("{message}; its last words: {said}") },
        )
    };
    match ended {
        Ended::Exited(code) if agent.succeeded(code) || agent.output_mode() != OutputMode::Step && code == 0 => {
            let last = last_line(out);
            last.parse().map_err(|_| {
                let printed = if last.is_empty() { "nothing".to_owned() } else { format!("`{}`", ellipsize(&last, SHOWN)) };
                with_stderr(format!("agent `{name}` exited with {code}, but the last line of its stdout is {printed} instead of a StepNode hash"))
                    .hint("an agent that prints its answer instead needs `output: text` or `output: json` in config.yaml")
            })
        }
        Ended::Exited(code) => Err(with_stderr(format!("agent `{name}` exited with {code}"))),
        Ended::Signaled(signal) => Err(with_stderr(format!("agent `{name}` was ended by signal {signal}"))),
        Ended::TimedOut(limit) => {
            Err(with_stderr(format!("agent `{name}` was ended after its timeout of {} s", limit.as_secs_f64()))
                .hint("raise `timeout` of the agent in config.yaml"))
        }
        Ended::Idle(limit) => {
            Err(with_stderr(format!("agent `{name}` was ended: it printed nothing for {} s", limit.as_secs_f64()))
                .hint("raise `idleTimeout` of the agent in config.yaml"))
        }
        Ended::Cancelled(signal) => {
            let kind =
                if signal == signal_hook::consts::SIGINT { ErrorKind::Interrupted } else { ErrorKind::Terminated };
            Err(Error::new(kind, format!("agent `{name}` was ended on request")))
        }
    }
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
