//! The role that a thread is at.

use std::collections::HashMap;

use json_cas::NodeHash;
use uwf_core::moderator::NextAction;
use uwf_core::workflow::{END, Workflow};

use super::ThreadRow;
use crate::attempt::recorded;
use crate::root::home::Home;
use crate::thread::chain;
use crate::thread::load::Thread;
use crate::thread::state::ThreadState;
use crate::thread::{moderate, nodes};

/// Roles that are next, by head. A head never changes, and neither does the role that comes after it.
pub(super) type NextRoles = HashMap<NodeHash, String>;

/// Most heads to keep. Beyond that, the cache is emptied.
const MOST: usize = 100_000;

/// Finds the roles of threads one by one, and reads each workflow once.
pub(crate) struct CurrentRoleReader<'h> {
    home: &'h Home,
    workflows: HashMap<NodeHash, Option<Workflow>>,
    next: NextRoles,
}

impl<'h> CurrentRoleReader<'h> {
    /// A reader that has read nothing.
    pub(crate) fn new(home: &'h Home) -> CurrentRoleReader<'h> {
        CurrentRoleReader::with_known(home, NextRoles::new())
    }

    /// A reader that knows the roles that are next after some heads.
    pub(super) fn with_known(home: &'h Home, next: NextRoles) -> CurrentRoleReader<'h> {
        CurrentRoleReader { home, workflows: HashMap::new(), next }
    }

    /// The roles that it knows now.
    pub(super) fn into_known(self) -> NextRoles {
        self.next
    }

    /// Whether a thread is at a role. An ended thread is at the role of its last step.
    pub(super) fn is_at(&mut self, row: &ThreadRow, wanted: &str) -> bool {
        if row.is_finished() {
            return row.role.as_deref() == Some(wanted);
        }
        if let Some(known) = row.known_role() {
            return known == wanted;
        }
        let is_idle = row.state != ThreadState::Running;
        if let Some(known) = self.next.get(&row.head).filter(|_| is_idle) {
            return known == wanted;
        }
        let Ok(thread) = Thread::load_at(self.home, row.thread.clone(), row.head) else { return false };
        let steps = chain::count(self.home, &thread.id, thread.last.is_some().then_some(thread.head));
        let Some(role) = steps.ok().and_then(|steps| self.role(row, &thread, steps)) else { return false };
        let is_wanted = role == wanted;
        if is_idle {
            if self.next.len() >= MOST {
                self.next.clear();
            }
            self.next.insert(row.head, role);
        }
        is_wanted
    }

    /// The role that is running, waited for, failed or next, or `$END`; `None` if the thread has ended, if several branches are next, or if
    /// the thread has too many steps to count, and so to route in a list.
    pub(crate) fn role(&mut self, row: &ThreadRow, thread: &Thread<'_>, steps: Option<usize>) -> Option<String> {
        if row.is_finished() || row.state == ThreadState::Corrupt {
            return None;
        }
        if let Some(known) = row.known_role() {
            return Some(known.to_owned());
        }
        if row.state == ThreadState::Running {
            return recorded::read(self.home, &thread.id).ok()?.map(|attempt| attempt.opened.role);
        }
        steps?;
        let hash = thread.start.workflow;
        let workflow = self.workflows.entry(hash).or_insert_with(|| nodes::workflow(self.home.store(), hash).ok());
        let workflow = workflow.as_ref()?;
        // The branches of a group run at the same time, so none is next.
        if workflow.planned_branches().is_some() {
            return None;
        }
        Some(match moderate::glance(thread, workflow)? {
            NextAction::Role(role) => role,
            NextAction::End(_) => END.to_owned(),
        })
    }
}
