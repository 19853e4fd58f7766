//! How the process of an agent ended, and what that says about a result.

use std::fmt;
use std::time::Duration;

use signal_hook::consts::SIGINT;

use crate::error::{Error, ErrorKind};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself.
    Exited(i32),
    /// By a signal of somebody else.
    Signaled(i32),
    /// By us: it took longer than its timeout.
    TimedOut(Duration),
    /// By us: it printed nothing for longer than its idle timeout.
    Idle(Duration),
    /// By us: this signal told us to.
    Cancelled(i32),
    /// By us: another machine may continue with this step.
    Lost(Lost),
}

/// Why a step is not this machine's any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// For this long the store could not be told that the agent is at work, and soon another machine may take over.
    Unrenewed(Duration),
    /// Another machine took over, or the thread has ended.
    Gone,
}

impl fmt::Display for Lost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lost::Unrenewed(silent) => {
                let seconds = silent.as_secs();
                write!(
                    out,
                    "the store could not be reached for {seconds} s, and another machine may take this step over"
                )
            }
            Lost::Gone => out.write_str("another machine took this step over, or the thread has ended"),
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Exited(code) => write!(out, "exited with {code}"),
            Ended::Signaled(signal) => write!(out, "was ended by signal {signal}"),
            Ended::TimedOut(limit) => write!(out, "was ended after its timeout of {} s", limit.as_secs_f64()),
            Ended::Idle(limit) => write!(out, "was ended: it printed nothing for {} s", limit.as_secs_f64()),
            Ended::Cancelled(SIGINT) => write!(out, "was interrupted (Ctrl-C)"),
            Ended::Cancelled(_) => write!(out, "was terminated on request"),
            Ended::Lost(why) => write!(out, "was ended: {why}"),
        }
    }
}

/// The refusal of further work after a signal.
pub(crate) fn stopped(signal: i32) -> Error {
    Error::new(stopped_by(signal), "stopped")
}

/// What a process fails with that a signal told to stop.
pub(crate) fn stopped_by(signal: i32) -> ErrorKind {
    if signal == SIGINT { ErrorKind::Interrupted } else { ErrorKind::Terminated }
}
