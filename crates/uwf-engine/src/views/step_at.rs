//! A step and its position in the thread, for the page of a step.

use json_cas::NodeHash;
use uwf_core::thread::{Step, ThreadId};

use crate::attempt::child_threads;
use crate::error::Result;
use crate::root::home::Home;
use crate::thread::load::Thread;
use crate::thread::nodes;
use crate::views::workflow_names;

/// A step and its neighbours.
#[derive(Debug, Clone, PartialEq)]
pub struct StepAt {
    /// The thread.
    pub thread: ThreadId,
    /// Its workflow.
    pub workflow: NodeHash,
    /// The workflow's own name.
    pub workflow_name: Option<String>,
    /// The step in full; it lists what is not readable.
    pub step: Step,
    /// Number of steps of the thread.
    pub steps: usize,
    /// The step before.
    pub before: Option<NodeHash>,
    /// The step that followed.
    pub after: Option<NodeHash>,
    /// The role's previous step.
    pub last_visit: Option<NodeHash>,
    /// The child thread that played the role, if this machine knows it.
    pub child: Option<ThreadId>,
}

/// A step of a thread; `None` if the thread does not have it. Reads nodes of this step only, however long the thread is.
pub fn step_at(thread: &Thread<'_>, hash: NodeHash) -> Result<Option<StepAt>> {
    let chain = thread.chain()?;
    let Some(index) = chain.position(hash) else { return Ok(None) };
    let at = |index: usize| chain.get(index).map(|record| record.step);
    let step = thread.whole_step(index)?;
    let child =
        if step.is_child_thread { child_threads::that_played(&thread.as_of(index)?, &step.role)? } else { None };
    Ok(Some(StepAt {
        workflow: thread.start.workflow,
        workflow_name: workflow_names::own_name(thread.home(), thread.start.workflow),
        steps: chain.len(),
        before: index.checked_sub(1).and_then(at),
        after: at(index + 1),
        last_visit: chain.last_before(index),
        child,
        step,
        thread: thread.id.clone(),
    }))
}

/// The prompt of a step, as the texts of its first input, in order; empty if it was not recorded.
pub fn prompt(home: &Home, step: NodeHash) -> Vec<NodeHash> {
    let read = || -> Result<Vec<NodeHash>> {
        let store = home.store();
        let (step, _) = nodes::step_node(store, step)?;
        let session: uwf_core::node::ReactSession = nodes::payload(step.detail, &store.get(step.detail)?)?;
        let Some(first) = session.turns.first() else { return Ok(Vec::new()) };
        Ok(nodes::typed::<uwf_core::node::ReactTurn>(store, *first)?.input)
    };
    read().unwrap_or_default()
}
