//! The two sides of a comparison.

use std::path::Path;

use json_cas::Hash;
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
use uwf_engine::verbs::workflows::find_workflow::{self, Located};

use crate::failure::Failure;
use crate::named::{self, Named};

/// One side.
pub(super) enum Side {
    Run(diff::Named),
    Workflow(Box<Version>),
}

/// A version of a workflow.
pub(super) struct Version {
    /// Its hash; `None` for a file that is not stored.
    pub(super) hash: Option<Hash>,
    /// Name or hash as it was typed.
    pub(super) typed: String,
    pub(super) workflow: Workflow,
}

/// Finds a side: a workflow by its name, a thread, or a step or workflow by its hash.
pub(super) fn side(home: &Home, typed: &str, cwd: &Path) -> Result<Side, Failure> {
    if let Some(entry) = registry::read(home)?.get(typed) {
        return version(home, typed, entry.hash);
    }
    match named::thread_or_node(home, typed) {
        Ok(Named::Thread(thread)) => Ok(Side::Run(diff::Named::Thread(thread))),
        Ok(Named::Node(hash)) => match NodeKind::of(home.store().get(hash)?.type_hash) {
            Some(NodeKind::Workflow) => version(home, typed, hash),
            Some(NodeKind::StepNode) => Ok(Side::Run(diff::Named::Node(hash))),
            _ => Err(Failure::bad_request(format!("node {hash} is neither a step nor a workflow"))),
        },
        Err(neither) => of_project(home, typed, cwd).ok_or(neither),
    }
}

fn version(home: &Home, typed: &str, hash: Hash) -> Result<Side, Failure> {
    let workflow = nodes::workflow(home.store(), hash)?;
    Ok(Side::Workflow(Box::new(Version { hash: Some(hash), typed: typed.to_owned(), workflow })))
}

/// A workflow by its name, from the project that the server was started in.
fn of_project(home: &Home, typed: &str, cwd: &Path) -> Option<Side> {
    if typed.contains('/') || !matches!(find_workflow::locate(home, typed, cwd), Ok(Located::File(..))) {
        return None;
    }
    let workflow = find_workflow::peek(home, typed, cwd)?;
    Some(Side::Workflow(Box::new(Version { hash: None, typed: typed.to_owned(), workflow })))
}

/// The side as a run.
///
/// # Errors
/// The side is a workflow, which can only be compared with a workflow.
pub(super) fn run(side: &Side) -> Result<diff::Named, Failure> {
    match side {
        Side::Run(named) => Ok(named.clone()),
        Side::Workflow(version) => {
            Err(Failure::bad_request(format!("`{}` is a workflow, and the other is not", version.typed)))
        }
    }
}

/// A run that is compared.
pub(super) struct Run<'h> {
    /// The thread; for a step, the part of the thread that ends at it.
    pub(super) thread: Thread<'h>,
    /// Its record; empty for a step.
    pub(super) record: ThreadRecord,
    /// Whether a thread is compared, not a single step.
    pub(super) is_whole: bool,
}

impl<'h> Run<'h> {
    pub(super) fn load(home: &'h Home, named: &diff::Named) -> Result<Run<'h>, Failure> {
        let (thread, is_whole) = match named {
            diff::Named::Thread(id) => (Thread::any(home, id)?, true),
            diff::Named::Node(node) => (Thread::at(home, ids::new_thread_id(), *node)?, false),
        };
        Ok(Run { record: ThreadRecord::read(home, &thread.id)?, thread, is_whole })
    }

    /// The steps; empty for a single step, whose chain is not read.
    pub(super) fn records(&self) -> Result<&[Record], Failure> {
        Ok(if self.is_whole { self.thread.chain()?.records() } else { &[] })
    }

    /// The position of the newest step.
    pub(super) fn newest(&self) -> Result<Option<usize>, Failure> {
        Ok(if self.is_whole { self.records()?.len().checked_sub(1) } else { Some(0) })
    }

    /// A step.
    pub(super) fn step(&self, index: usize) -> Result<Option<Step>, Failure> {
        Ok(if self.is_whole { Some(self.thread.whole_step(index)?) } else { self.thread.newest_step()? })
    }

    /// The page of a step.
    pub(super) fn path(&self, step: Hash) -> String {
        if self.is_whole { format!("/threads/{}/steps/{step}", self.thread.id) } else { format!("/cas/{step}") }
    }
}
