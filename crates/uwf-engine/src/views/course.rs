//! `workflow graph --thread`: the path of a thread through its workflow.

use std::collections::HashMap;

use json_cas::Hash;
use uwf_core::thread::ThreadId;
use uwf_core::workflow::{Course, END, Workflow};

use crate::error::Result;
use crate::root::home::Home;
use crate::thread::chain::role_key;
use crate::thread::load::Thread;
use crate::thread::nodes;
use crate::thread::state::State;
use crate::views::show;

/// The path of a thread through its workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadCourse {
    /// The workflow the thread is pinned to.
    pub hash: Hash,
    /// Its content.
    pub workflow: Workflow,
    /// Its path.
    pub course: Course,
    /// Its state.
    pub state: State,
}

/// The path of a thread. Its roles come from the cached chain, so this is fast for long threads.
///
/// # Errors
/// `NotFound` when the thread does not exist; errors of its head and its workflow.
pub fn of(home: &Home, id: &ThreadId) -> Result<ThreadCourse> {
    let standing = show::show(home, id)?;
    let thread = Thread::at(home, id.clone(), standing.head)?;
    let workflow = thread.workflow()?;
    let names: HashMap<u64, &String> = workflow.roles.keys().map(|name| (role_key(name), name)).collect();
    let mut roles = Vec::new();
    for record in thread.chain()?.records() {
        // Another program may have linked a step whose role the workflow does not have.
        roles.push(match names.get(&record.role) {
            Some(name) => (*name).clone(),
            None => nodes::step_node(home.store(), record.step)?.0.role,
        });
    }
    let at = match standing.state {
        State::Completed => END.to_owned(),
        _ => standing.at_role.clone().unwrap_or_else(|| thread.position().to_owned()),
    };
    let course = Course { roles, at, state: standing.state_in_words() };
    Ok(ThreadCourse { hash: thread.start.workflow, workflow, course, state: standing.state })
}
