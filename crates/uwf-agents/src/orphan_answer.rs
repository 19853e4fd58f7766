//! The answer of a program whose uwf process was killed beside it: the program has ended well, and its answer is in its output file.

use std::time::Duration;

use agent_kit::Result;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::recorded::{self, AttemptOutputFiles, RecordedAttempt};
use uwf_engine::attempt::{agent_process, leftover};
use uwf_engine::root::home::Home;
use uwf_engine::root::lock;

use crate::{command, turn_end};

/// Records the answer of a thread's newest attempt, so that the next step reads it and runs no agent. Returns whether there is one: its
/// program exited well, and its trace, if it prints one, says that its turn ended.
///
/// # Errors
/// `Io`; errors of the agent's settings.
pub fn keep(home: &Home, thread: &ThreadId) -> Result<bool> {
    let Some(left) = leftover::without_keeper(home, thread)? else { return Ok(false) };
    // Another step may take the attempt over at the same time.
    let Some(_lock) = lock::take_within(home, thread, Duration::ZERO)? else { return Ok(false) };
    let is_same = |now: &RecordedAttempt| now.closed.is_none() && now.opened.attempt == left.opened.attempt;
    let Some(attempt) = recorded::read(home, thread)?.filter(is_same) else { return Ok(false) };
    let opened = &attempt.opened;
    let is_open = attempt.result().is_none() && attempt.answered.is_none() && attempt.gave_up.is_none();
    if !is_open || !opened.is_wrapped() || !command::is_judged_by_output(&opened.agent)? {
        return Ok(false);
    }
    let files = AttemptOutputFiles::paths_of_attempt(home, thread, &opened.attempt);
    let code = std::fs::read_to_string(&files.exit).ok().and_then(|code| code.trim().parse().ok());
    if !code.is_some_and(|code| opened.agent.succeeded(code)) {
        return Ok(false);
    }
    let raw = agent_process::read_capped(&files.raw, opened.output_cap)?;
    if let Some(trace) = command::printed_trace(&opened.agent, &raw)?
        && turn_end::check(opened, &trace).is_err()
    {
        return Ok(false);
    }
    recorded::answered(home, thread, &opened.attempt)?;
    Ok(true)
}
