//! The state of an active thread, derived only here, for single threads and lists alike.

use std::collections::BTreeSet;

use uwf_core::thread::ThreadId;

use crate::attempt::child_threads;
use crate::attempt::elsewhere::{PeerActivity, PostAttemptState};
use crate::root::home::Home;
use crate::root::marks::{MarkReason, ThreadMark};
use crate::thread::state::{self, ThreadState};

/// The pause of a thread.
#[derive(Debug)]
pub(crate) struct ThreadPause {
    /// The thread that was paused: this one, or one above it.
    pub(crate) by: ThreadId,
    /// The reason, if it was already read.
    pub(crate) reason: Option<MarkReason>,
}

/// Knowledge about an active thread besides its nodes.
#[derive(Debug)]
pub(crate) struct ActiveThreadFacts {
    /// This machine's marks that apply to its head, except a pause.
    pub(crate) marks: BTreeSet<ThreadMark>,
    pub(crate) pause: Option<ThreadPause>,
    /// Other machines' activity on it, if newer than the marks.
    pub(crate) elsewhere: Option<PeerActivity>,
}

impl ActiveThreadFacts {
    /// The state of the thread. A running step comes first, then a pause, then the result of the newest attempt.
    pub(crate) fn state(&self, home: &Home, id: &ThreadId) -> ThreadState {
        let here = state::of_active(home, id, &self.marks);
        match (&self.elsewhere, here) {
            (Some(PeerActivity::AtWork(_)), _) | (_, ThreadState::Running) => ThreadState::Running,
            _ if self.pause.is_some() => ThreadState::Paused,
            (Some(PeerActivity::Stands(PostAttemptState { state, .. })), _) => *state,
            (None, here) => here,
        }
    }

    /// Why it is in this state, if known. For a running thread: why no further step will begin, or what its step waits for.
    /// `read` reads a mark.
    pub(crate) fn reason(
        &self,
        id: &ThreadId,
        state: ThreadState,
        read: impl Fn(&ThreadId, ThreadMark) -> Option<MarkReason>,
    ) -> Option<MarkReason> {
        if let Some(ThreadPause { by, reason }) = &self.pause {
            let reason = reason.clone().or_else(|| read(by, ThreadMark::Paused))?;
            return Some(if by == id { reason } else { child_threads::paused_with(by, reason) });
        }
        match &self.elsewhere {
            None if state == ThreadState::Running && self.marks.contains(&ThreadMark::Open) => {
                read(id, ThreadMark::Open).filter(MarkReason::is_wait)
            }
            _ if state == ThreadState::Running => None,
            Some(PeerActivity::Stands(PostAttemptState { reason, .. })) => reason.clone(),
            // A usage limit or a wait that is over keeps its mark until the next step.
            None if state == ThreadState::Active => None,
            Some(PeerActivity::AtWork(_)) | None => {
                let mark = self.marks.iter().find(|mark| **mark != ThreadMark::Open)?;
                read(id, *mark)
            }
        }
    }

    /// Whether the thread pauses after its running step.
    pub(crate) fn is_pausing(&self, state: ThreadState) -> bool {
        state == ThreadState::Running && self.pause.is_some()
    }
}
