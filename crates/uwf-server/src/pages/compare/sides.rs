//! The two sides of a comparison.

use std::path::Path;

use json_cas::NodeHash;
use uwf_core::node::NodeKind;
use uwf_core::thread::Step;
use uwf_core::workflow::Workflow;
use uwf_engine::attempt::recorded::ThreadRecord;
use uwf_engine::root::home::Home;
use uwf_engine::root::{ids, registry};
use uwf_engine::thread::chain::Record;
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::nodes;
use uwf_engine::verbs::diff;
use uwf_engine::verbs::workflows::find_workflow::{self, WorkflowLocation};

use crate::failure::HttpFailure;
use crate::named::{self, ThreadOrNodeId};

/// One side.
pub(super) enum CompareSide {
    Run(diff::DiffSubject),
    Workflow(Box<ComparedWorkflow>),
}

/// A version of a workflow.
pub(super) struct ComparedWorkflow {
    /// Its hash; `None` for a file that is not stored.
    pub(super) hash: Option<NodeHash>,
    /// Name or hash as it was typed.
    pub(super) typed: String,
    pub(super) workflow: Workflow,
}

/// Finds a side: a workflow by its name, a thread, or a step or workflow by its hash.
pub(super) fn side(home: &Home, typed: &str, cwd: &Path) -> Result<CompareSide, HttpFailure> {
    if let Some(entry) = registry::read(home)?.get(typed) {
        return version(home, typed, entry.hash);
    }
    match named::thread_or_node(home, typed) {
        Ok(ThreadOrNodeId::Thread(thread)) => Ok(CompareSide::Run(diff::DiffSubject::Thread(thread))),
        Ok(ThreadOrNodeId::Node(hash)) => match NodeKind::from_type_hash(home.store().get(hash)?.type_hash) {
            Some(NodeKind::Workflow) => version(home, typed, hash),
            Some(NodeKind::StepNode) => Ok(CompareSide::Run(diff::DiffSubject::Node(hash))),
            _ => Err(HttpFailure::bad_request(format!("node {hash} is neither a step nor a workflow"))),
        },
        Err(neither) => of_project(home, typed, cwd).ok_or(neither),
    }
}

fn version(home: &Home, typed: &str, hash: NodeHash) -> Result<CompareSide, HttpFailure> {
    let workflow = nodes::workflow(home.store(), hash)?;
    Ok(CompareSide::Workflow(Box::new(ComparedWorkflow { hash: Some(hash), typed: typed.to_owned(), workflow })))
}

/// A workflow by its name, from the project that the server was started in.
fn of_project(home: &Home, typed: &str, cwd: &Path) -> Option<CompareSide> {
    if typed.contains('/') || !matches!(find_workflow::locate(home, typed, cwd), Ok(WorkflowLocation::File(..))) {
        return None;
    }
    let workflow = find_workflow::peek(home, typed, cwd)?;
    Some(CompareSide::Workflow(Box::new(ComparedWorkflow { hash: None, typed: typed.to_owned(), workflow })))
}

/// The side as a run.
///
/// # Errors
/// The side is a workflow, which can only be compared with a workflow.
pub(super) fn run(side: &CompareSide) -> Result<diff::DiffSubject, HttpFailure> {
    match side {
        CompareSide::Run(named) => Ok(named.clone()),
        CompareSide::Workflow(version) => {
            Err(HttpFailure::bad_request(format!("`{}` is a workflow, and the other is not", version.typed)))
        }
    }
}

/// A run that is compared.
pub(super) struct ComparedRun<'h> {
    /// The thread; for a step, the part of the thread that ends at it.
    pub(super) thread: Thread<'h>,
    /// Its record; empty for a step.
    pub(super) record: ThreadRecord,
    /// Whether a thread is compared, not a single step.
    pub(super) is_whole: bool,
}

impl<'h> ComparedRun<'h> {
    pub(super) fn load(home: &'h Home, named: &diff::DiffSubject) -> Result<ComparedRun<'h>, HttpFailure> {
        let (thread, is_whole) = match named {
            diff::DiffSubject::Thread(id) => (Thread::any(home, id)?, true),
            diff::DiffSubject::Node(node) => (Thread::load_at(home, ids::new_thread_id(), *node)?, false),
        };
        Ok(ComparedRun { record: ThreadRecord::read(home, &thread.id)?, thread, is_whole })
    }

    /// The steps; empty for a single step, whose chain is not read.
    pub(super) fn records(&self) -> Result<&[Record], HttpFailure> {
        Ok(if self.is_whole { self.thread.chain()?.records() } else { &[] })
    }

    /// The position of the newest step.
    pub(super) fn newest(&self) -> Result<Option<usize>, HttpFailure> {
        Ok(if self.is_whole { self.records()?.len().checked_sub(1) } else { Some(0) })
    }

    /// A step.
    pub(super) fn step(&self, index: usize) -> Result<Option<Step>, HttpFailure> {
        Ok(if self.is_whole { Some(self.thread.whole_step(index)?) } else { self.thread.newest_step()? })
    }

    /// The page of a step.
    pub(super) fn path(&self, step: NodeHash) -> String {
        if self.is_whole { format!("/threads/{}/steps/{step}", self.thread.id) } else { format!("/cas/{step}") }
    }
}
