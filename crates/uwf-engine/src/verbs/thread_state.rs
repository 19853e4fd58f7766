//! The state of an active thread: the one place that derives it, for a look at one thread and for lists of all.

use std::collections::BTreeSet;

use uwf_core::thread::ThreadId;

use crate::attempt::elsewhere::{Elsewhere, Stand};
use crate::root::home::Home;
use crate::root::marks::{self, Mark, Reason};
use crate::thread::state::{self, State};
use crate::verbs::child_threads;

/// That a thread is paused.
#[derive(Debug)]
pub(crate) struct Pause {
    /// The thread that somebody paused: this one, or one above it.
    pub(crate) by: ThreadId,
    /// Why, if that was read already.
    pub(crate) reason: Option<Reason>,
}

/// What is known of an active thread besides its nodes.
#[derive(Debug)]
pub(crate) struct Known {
    /// Marks of this machine that hold at its head, but for a pause.
    pub(crate) marks: BTreeSet<Mark>,
    pub(crate) pause: Option<Pause>,
    /// What other machines do or did about it, if that is newer than the marks.
    pub(crate) elsewhere: Option<Elsewhere>,
}

impl Known {
    /// What the thread is doing. Who is at work decides first, then a pause, then what came of the newest attempt.
    pub(crate) fn state(&self, home: &Home, id: &ThreadId) -> State {
        let here = state::of_active(home, id, &self.marks);
        match (&self.elsewhere, here) {
            (Some(Elsewhere::AtWork(_)), _) | (_, State::Running) => State::Running,
            _ if self.pause.is_some() => State::Paused,
            (Some(Elsewhere::Stands(Stand { state, .. })), _) => *state,
            (None, here) => here,
        }
    }

    /// Why it is in this state, if there is something to say. Of one that runs it is why no further step will begin.
    pub(crate) fn reason(&self, home: &Home, id: &ThreadId, state: State) -> Option<Reason> {
        if let Some(Pause { by, reason }) = &self.pause {
            let reason = reason.clone().or_else(|| marks::get(home, by, Mark::Paused))?;
            return Some(if by == id { reason } else { child_threads::paused_with(by, reason) });
        }
        match &self.elsewhere {
            _ if state == State::Running => None,
            Some(Elsewhere::Stands(Stand { reason, .. })) => reason.clone(),
            Some(Elsewhere::AtWork(_)) | None => {
                let mark = self.marks.iter().find(|mark| **mark != Mark::Open)?;
                marks::get(home, id, *mark)
            }
        }
    }

    /// Whether no further step begins once the one that is running has ended.
    pub(crate) fn is_pausing(&self, state: State) -> bool {
        state == State::Running && self.pause.is_some()
    }
}
