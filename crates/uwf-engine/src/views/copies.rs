//! The copies of a group that wait until a person picks one.

use json_cas::NodeHash;
use serde_json::Value;
use uwf_core::thread::ThreadId;
use uwf_core::workflow::PERSON_PICKS;

use super::branches;
use crate::attempt::child_threads;
use crate::error::Result;
use crate::root::home::Home;
use crate::thread::load::Thread;
use crate::thread::{children, message};

/// A group whose copies wait for a person.
pub struct WaitingGroup {
    /// The thread that `uwf thread take` takes a copy in: the outermost one.
    pub thread: ThreadId,
    /// The path of the group from there, such as `drafts`.
    pub path: String,
    /// The group's own thread.
    group: ThreadId,
}

/// A copy.
pub struct FinishedCopy {
    /// Its path, such as `drafts.2`.
    pub path: String,
    /// The thread that played it; `None` if this machine does not know it.
    pub thread: Option<ThreadId>,
    /// Its last step.
    pub step: NodeHash,
    /// Its output.
    pub output: Value,
    /// The text beside the output.
    pub message: Option<String>,
    /// Why it failed, if it did. A failed copy can't be picked.
    pub failure: Option<String>,
}

impl WaitingGroup {
    /// The group that a thread picks a copy of. `None` unless it plays the person who picks where the workflow names no role for it.
    #[must_use]
    pub fn picked_by(home: &Home, thread: &ThreadId, role: &str) -> Option<WaitingGroup> {
        if role != PERSON_PICKS {
            return None;
        }
        let group = child_threads::parent_of(home, thread)?;
        let above = Thread::any(home, &child_threads::parent_of(home, &group)?).ok()?.workflow().ok()?;
        if above.roles.contains_key(PERSON_PICKS) {
            return None;
        }
        let path = branches::path(home, thread)?.strip_suffix(&format!(".{PERSON_PICKS}"))?.to_owned();
        Some(WaitingGroup { thread: child_threads::topmost(home, thread), path, group })
    }

    /// The head of [`thread`](WaitingGroup::thread).
    ///
    /// # Errors
    /// The thread is missing or unreadable.
    pub fn head(&self, home: &Home) -> Result<NodeHash> {
        Ok(Thread::any(home, &self.thread)?.head)
    }

    /// The copies, by number.
    ///
    /// # Errors
    /// The group's thread or an output is missing or unreadable.
    pub fn copies(&self, home: &Home) -> Result<Vec<FinishedCopy>> {
        let group = Thread::any(home, &self.group)?;
        let threads: Vec<(String, ThreadId)> = children::known(home, &self.group)?
            .into_iter()
            .filter_map(|thread| Some((branches::path(home, &thread)?, thread)))
            .collect();
        let steps = group.chain()?.records().iter().map(|record| record.step);
        let copies = message::branches(home.store(), group.head)?.into_iter().zip(steps).map(|(copy, step)| {
            let path = format!("{}.{}", self.path, copy.name);
            let thread = threads.iter().find(|(known, _)| *known == path).map(|(_, thread)| thread.clone());
            let failure = copy.failure().map(str::to_owned);
            FinishedCopy { path, thread, step, output: copy.output, message: copy.message, failure }
        });
        Ok(copies.collect())
    }
}
