//! `workflow graph --thread`: the path of a thread through its workflow.

use std::collections::HashMap;

use json_cas::NodeHash;
use uwf_core::moderator::NextAction;
use uwf_core::workflow::{CourseBranch, END, GraphCourse, Workflow};

use crate::error::Result;
use crate::root::history::HistoryLine;
use crate::thread::chain::role_key;
use crate::thread::moderate;
use crate::thread::nodes;
use crate::thread::state::ThreadState;
use crate::views::groups::{BranchStatus, GroupStatus};
use crate::views::show;
use crate::views::thread_now::ThreadNow;

/// The path of a thread through its workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadCourse {
    /// The workflow the thread is pinned to.
    pub hash: NodeHash,
    /// Its content.
    pub workflow: Workflow,
    /// Its path.
    pub course: GraphCourse,
    /// Its state.
    pub state: ThreadState,
}

/// The path of a thread. Its roles come from the cached chain, so this is fast for long threads.
pub fn thread_course(now: &ThreadNow<'_>) -> Result<ThreadCourse> {
    let (standing, thread) = (show::status(now)?, &now.thread);
    let workflow = thread.workflow()?;
    let names: HashMap<u64, &String> = workflow.roles.keys().map(|name| (role_key(name), name)).collect();
    let mut roles = Vec::new();
    for record in thread.chain()?.records() {
        // Another program may have linked a step whose role the workflow does not have.
        roles.push(match names.get(&record.role) {
            Some(name) => (*name).clone(),
            None => nodes::step_node(thread.home().store(), record.step)?.0.role,
        });
    }
    let at = match standing.state {
        ThreadState::Completed if !now.end.as_ref().is_some_and(HistoryLine::is_failed_branch) => END.to_owned(),
        // Between two steps, it is the role that is next.
        ThreadState::Active | ThreadState::Paused => {
            let next = || match moderate::glance(thread, &workflow)? {
                NextAction::Role(role) => Some(role),
                NextAction::End(_) => Some(END.to_owned()),
            };
            standing.at_role.clone().or_else(next).unwrap_or_else(|| thread.position().to_owned())
        }
        _ => standing.at_role.clone().unwrap_or_else(|| thread.position().to_owned()),
    };
    let course = GraphCourse { roles, at, state: standing.state_in_words(), ..GraphCourse::default() };
    Ok(ThreadCourse { hash: thread.start.workflow, workflow, course, state: standing.state })
}

impl ThreadCourse {
    /// The course with the branches of these groups, oldest first.
    #[must_use]
    pub fn with_branches(mut self, groups: &[GroupStatus]) -> ThreadCourse {
        for group in groups {
            let branch = |branch: &BranchStatus| CourseBranch {
                name: branch.name.clone(),
                state: branch.state_in_words().to_owned(),
            };
            let branches = group.branches.iter().map(branch).collect();
            self.course.branches.insert(group.role.clone(), branches);
        }
        self
    }
}
