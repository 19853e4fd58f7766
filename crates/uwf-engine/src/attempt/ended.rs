//! How an agent's process ended, and what that means for its result.

use std::fmt;
use std::time::Duration;

use signal_hook::consts::SIGINT;

use crate::error::{Error, ErrorKind};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentProcessEnd {
    /// It exited.
    Exited(i32),
    /// A signal from outside ended it.
    Signaled(i32),
    /// uwf ended it: it exceeded its timeout.
    TimedOut(Duration),
    /// uwf ended it: it printed nothing for its idle timeout.
    Idle(Duration),
    /// uwf ended it: it waited silently for the end of a usage limit.
    AtLimit,
    /// uwf ended it because of this signal.
    Cancelled(i32),
    /// uwf ended it: another machine may continue with this step.
    Lost(LeaseLoss),
}

/// Why a step no longer belongs to this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseLoss {
    /// The lease could not be renewed for this long, and another machine may soon take over.
    Unrenewed(Duration),
    /// Another machine took over, or the thread has ended.
    Gone,
}

impl fmt::Display for LeaseLoss {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeaseLoss::Unrenewed(silent) => {
                let seconds = silent.as_secs();
                write!(
                    out,
                    "the store could not be reached for {seconds} s, and another machine may take this step over"
                )
            }
            LeaseLoss::Gone => out.write_str("another machine took this step over, or the thread has ended"),
        }
    }
}

impl fmt::Display for AgentProcessEnd {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AgentProcessEnd::Exited(code) => write!(out, "exited with {code}"),
            AgentProcessEnd::Signaled(signal) => write!(out, "was ended by signal {signal}"),
            AgentProcessEnd::TimedOut(limit) => write!(out, "was ended after its timeout of {} s", limit.as_secs_f64()),
            AgentProcessEnd::Idle(limit) => write!(out, "was ended: it printed nothing for {} s", limit.as_secs_f64()),
            AgentProcessEnd::AtLimit => out.write_str("was ended, because it waited for a usage limit to end"),
            AgentProcessEnd::Cancelled(SIGINT) => write!(out, "was interrupted (Ctrl-C)"),
            AgentProcessEnd::Cancelled(_) => write!(out, "was terminated on request"),
            AgentProcessEnd::Lost(why) => write!(out, "was ended: {why}"),
        }
    }
}

/// The error for further work after a signal.
pub(crate) fn stopped(signal: i32) -> Error {
    Error::new(stopped_by(signal), "stopped")
}

/// The error kind of a process that a signal stopped.
pub(crate) fn stopped_by(signal: i32) -> ErrorKind {
    if signal == SIGINT { ErrorKind::Interrupted } else { ErrorKind::Terminated }
}
