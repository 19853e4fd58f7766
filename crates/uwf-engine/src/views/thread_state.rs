//! The state of an active thread, derived only here, for single threads and lists alike.

use std::collections::BTreeSet;

use uwf_core::thread::ThreadId;

use crate::attempt::child_threads;
use crate::attempt::elsewhere::{Elsewhere, Stand};
use crate::root::home::Home;
use crate::root::marks::{Mark, Reason};
use crate::thread::state::{self, State};

/// The pause of a thread.
#[derive(Debug)]
pub(crate) struct Pause {
    /// The thread that was paused: this one, or one above it.
    pub(crate) by: ThreadId,
    /// The reason, if it was already read.
    pub(crate) reason: Option<Reason>,
}

/// Knowledge about an active thread besides its nodes.
#[derive(Debug)]
pub(crate) struct Known {
    /// This machine's marks that apply to its head, except a pause.
    pub(crate) marks: BTreeSet<Mark>,
    pub(crate) pause: Option<Pause>,
    /// Other machines' activity on it, if newer than the marks.
    pub(crate) elsewhere: Option<Elsewhere>,
}

impl Known {
    /// The state of the thread. A running step comes first, then a pause, then the result of the newest attempt.
    pub(crate) fn state(&self, home: &Home, id: &ThreadId) -> State {
        let here = state::of_active(home, id, &self.marks);
        match (&self.elsewhere, here) {
            (Some(Elsewhere::AtWork(_)), _) | (_, State::Running) => State::Running,
            _ if self.pause.is_some() => State::Paused,
            (Some(Elsewhere::Stands(Stand { state, .. })), _) => *state,
            (None, here) => here,
        }
    }

    /// Why it is in this state, if known. For a running thread: why no further step will begin.
    /// `read` reads a mark.
    pub(crate) fn reason(
        &self,
        id: &ThreadId,
        state: State,
        read: impl Fn(&ThreadId, Mark) -> Option<Reason>,
    ) -> Option<Reason> {
        if let Some(Pause { by, reason }) = &self.pause {
            let reason = reason.clone().or_else(|| read(by, Mark::Paused))?;
            return Some(if by == id { reason } else { child_threads::paused_with(by, reason) });
        }
        match &self.elsewhere {
            _ if state == State::Running => None,
            Some(Elsewhere::Stands(Stand { reason, .. })) => reason.clone(),
            Some(Elsewhere::AtWork(_)) | None => {
                let mark = self.marks.iter().find(|mark| **mark != Mark::Open)?;
                read(id, *mark)
            }
        }
    }

    /// Whether the thread pauses after its running step.
    pub(crate) fn is_pausing(&self, state: State) -> bool {
        state == State::Running && self.pause.is_some()
    }
}
