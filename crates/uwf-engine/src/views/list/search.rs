//! Finds threads by a text.

use std::collections::HashMap;

use json_cas::NodeHash;
use uwf_core::node::StartNode;

use super::ThreadRow;
use crate::root::home::Home;
use crate::root::registry;
use crate::thread::nodes;
use crate::views::workflow_names::WorkflowNames;

/// Bytes of tasks to keep. Beyond that, the cache is emptied.
const MOST_BYTES: usize = 32 << 20;

/// Tasks in lower case, by StartNode.
#[derive(Default)]
pub(super) struct TaskMemory {
    tasks: HashMap<NodeHash, String>,
    bytes: usize,
}

impl TaskMemory {
    /// The task of a thread that began with this node; `None` if unreadable.
    fn task_of_start(&mut self, home: &Home, start: NodeHash) -> Option<&str> {
        if !self.tasks.contains_key(&start) {
            let task = nodes::typed::<StartNode>(home.store(), start).ok()?.prompt.to_lowercase();
            if self.bytes + task.len() > MOST_BYTES {
                *self = TaskMemory::default();
            }
            self.bytes += task.len();
            self.tasks.insert(start, task);
        }
        self.tasks.get(&start).map(String::as_str)
    }
}

/// A text to search for. If a thread has it neither in its id nor in the name of its workflow, its StartNode is read, once for all threads
/// that share it.
pub(super) struct ThreadSearch<'h> {
    home: &'h Home,
    tasks: &'h mut TaskMemory,
    /// In lower case.
    text: String,
    names: WorkflowNames,
    /// Workflow → whether the text is in its name.
    known: HashMap<NodeHash, bool>,
}

impl<'h> ThreadSearch<'h> {
    pub(super) fn new(home: &'h Home, text: &str, tasks: &'h mut TaskMemory) -> ThreadSearch<'h> {
        // Without a readable registry, use the names that workflows give themselves.
        let names = WorkflowNames::from_registry(&registry::read(home).unwrap_or_default());
        ThreadSearch { home, tasks, text: text.to_lowercase(), names, known: HashMap::new() }
    }

    /// Whether a thread has the text; `start` is its StartNode, if known.
    pub(super) fn finds(&mut self, row: &ThreadRow, start: Option<NodeHash>) -> bool {
        self.is_in(row.thread.as_str())
            || row.workflow.is_some_and(|workflow| self.is_in_name(workflow))
            || start.is_some_and(|start| {
                self.tasks.task_of_start(self.home, start).is_some_and(|task| task.contains(&self.text))
            })
    }

    fn is_in(&self, text: &str) -> bool {
        text.to_lowercase().contains(&self.text)
    }

    fn is_in_name(&mut self, workflow: NodeHash) -> bool {
        if let Some(known) = self.known.get(&workflow) {
            return *known;
        }
        let name = self.names.name(self.home, workflow);
        let is_in = name.is_some_and(|name| self.is_in(&name));
        self.known.insert(workflow, is_in);
        is_in
    }
}
