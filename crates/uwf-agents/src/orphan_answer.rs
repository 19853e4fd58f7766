//! The answer of a program whose uwf process was killed beside it: the program has ended well, and its answer is in its output file.

use std::time::Duration;

use agent_kit::Result;
use uwf_core::config::OutputMode;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::leftover;
use uwf_engine::attempt::recorded::{self, AttemptOpening, AttemptOutputFiles};
use uwf_engine::root::home::Home;
use uwf_engine::root::lock;

use crate::command::run_file;
use crate::command::{self, exit};

/// Records the answer of a thread's newest attempt, so that the next step reads it and runs no agent. Returns whether there is one: its
/// program ended well, and no process of uwf is left to say so.
pub fn keep(home: &Home, thread: &ThreadId) -> Result<bool> {
    if leftover::without_keeper(home, thread)?.is_none() {
        return Ok(false);
    }
    // Another step may take the attempt over at the same time.
    let Some(_lock) = lock::take_within(home, thread, Duration::ZERO)? else { return Ok(false) };
    keep_locked(home, thread)
}

/// Whether the files of a run are as its program left them: this machine ran it, and was certainly not restarted meanwhile.
fn is_trusted(opened: &AttemptOpening) -> Result<bool> {
    Ok(opened.machine.is_none() && recorded::is_of_this_boot(opened)? == Some(true))
}

/// Like [`keep`], for a caller that holds the thread's lock.
pub fn keep_locked(home: &Home, thread: &ThreadId) -> Result<bool> {
    let Some(attempt) = recorded::read(home, thread)?.filter(|attempt| attempt.closed.is_none()) else {
        return Ok(false);
    };
    let opened = &attempt.opened;
    let is_open = attempt.result().is_none() && attempt.answered.is_none() && attempt.gave_up.is_none();
    if !is_open || !opened.is_wrapped() || !is_trusted(opened)? {
        return Ok(false);
    }
    let files = AttemptOutputFiles::paths_of_attempt(home, thread, &opened.attempt);
    let Some(ended) = run_file::ended(&files) else { return Ok(false) };
    let is_answered = match opened.agent.output_mode() {
        OutputMode::Exit => exit::is_answered(opened, &ended),
        OutputMode::Step | OutputMode::Json | OutputMode::Text => command::is_answered(opened, &files, &ended)?,
    };
    if is_answered {
        recorded::answered(home, thread, &opened.attempt, ended.status.code())?;
    }
    Ok(is_answered)
}
