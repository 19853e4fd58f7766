//! Branches that workers play: their threads are handed over to the worker that started this step, which gives them to all workers.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use agent_kit::{Error, ErrorKind, Result};
use uwf_call::handover::{self, HandoverNews};
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::agent_process::SignalListener;
use uwf_engine::attempt::elsewhere;
use uwf_engine::root::history::{self, HistoryLine};
use uwf_engine::root::home::Home;

use crate::workflow::{self, ChildOutputRelay};

/// Time between two looks for news.
const LOOK: Duration = Duration::from_millis(100);

/// Time between two looks at the head, which may be a request to a remote store. News usually come earlier.
const LOOK_AT_HEAD: Duration = Duration::from_secs(2);

/// Hands over the thread of a branch, whose place other machines know, and waits until it has ended.
///
/// # Errors
/// The error with which its last step stopped, `Terminated` after a stop signal and if the worker is gone; errors of the store.
pub(super) fn await_branch(
    home: &Home,
    (name, thread): (&str, &ThreadId),
    dir: &Path,
    signals: &mut SignalListener,
) -> Result<HistoryLine> {
    let mut relay = ChildOutputRelay::new(home, thread);
    relay.print_line(&format!("branch {name}: thread {thread}, for any worker"));
    handover::hand_over(dir, thread.as_str()).map_err(|error| no_receiver(&error))?;
    let mut next_look = Instant::now();
    loop {
        let news = handover::news(dir, thread.as_str()).map_err(|error| no_receiver(&error))?;
        if news == Some(HandoverNews::Ended) || Instant::now() >= next_look {
            next_look = Instant::now() + LOOK_AT_HEAD;
            if home.heads().read(thread.as_str())?.is_none() {
                return history::newest_line(home, thread)?.ok_or_else(|| workflow::gone(thread));
            }
        }
        match news {
            Some(HandoverNews::Delayed { why }) => relay.print_line(&format!("branch {name}: {why}")),
            Some(HandoverNews::Stopped { exit_code, why }) => return Err(stop_error(home, thread, exit_code, why)?),
            Some(HandoverNews::Ended) | None => {}
        }
        if signals.stop().is_some() {
            return Err(Error::new(ErrorKind::Terminated, "stopped while workers play the branch"));
        }
        if !handover::has_receiver(dir) {
            return Err(Error::new(ErrorKind::Terminated, "the worker that hands the branches over has ended"));
        }
        signals.wait(LOOK);
        relay.relay_new_output();
    }
}

/// The error of a step that workers could not do: the error of its attempt, wherever that was, or what they found before any attempt.
fn stop_error(home: &Home, thread: &ThreadId, exit_code: u8, why: String) -> Result<Error> {
    let Some(head) = home.heads().read(thread.as_str())? else { return Ok(workflow::gone(thread)) };
    let newest = elsewhere::newest(home, thread, head.hash)?.and_then(|attempt| attempt.error());
    let of_step = newest.filter(|error| error.kind.exit_code() == exit_code);
    Ok(of_step.unwrap_or_else(|| Error::new(ErrorKind::of_exit_code(exit_code), why)))
}

fn no_receiver(error: &io::Error) -> Error {
    Error::new(ErrorKind::Terminated, format!("the worker that hands the branches over can't be reached: {error}"))
}
