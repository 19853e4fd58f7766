//! Finding threads by a text.

use std::collections::HashMap;

use json_cas::Hash;
use uwf_core::node::StartNode;

use super::Row;
use crate::root::home::Home;
use crate::root::registry;
use crate::thread::nodes;
use crate::verbs::workflow_names::Names;

/// A text that is looked for. Of a thread that has it neither in its id nor in the name of its workflow, the StartNode is
/// read; one that several threads share is read once.
pub(super) struct Search<'h> {
    home: &'h Home,
    /// In lower case.
    text: String,
    names: Names,
    /// Workflow or StartNode → whether the text is in its name, or its task.
    known: HashMap<Hash, bool>,
}

impl<'h> Search<'h> {
    pub(super) fn of(home: &'h Home, text: &str) -> Search<'h> {
        // Names that cannot be read are those that workflows give themselves.
        let names = Names::of(&registry::read(home).unwrap_or_default());
        Search { home, text: text.to_lowercase(), names, known: HashMap::new() }
    }

    /// Whether a thread has the text; `start` is its StartNode, where that is known.
    pub(super) fn finds(&mut self, row: &Row, start: Option<Hash>) -> bool {
        self.is_in(row.thread.as_str())
            || row.workflow.is_some_and(|workflow| self.is_in_name(workflow))
            || start.is_some_and(|start| self.is_in_task(start))
    }

    fn is_in(&self, text: &str) -> bool {
        text.to_lowercase().contains(&self.text)
    }

    fn is_in_name(&mut self, workflow: Hash) -> bool {
        if let Some(known) = self.known.get(&workflow) {
            return *known;
        }
        let name = self.names.name(self.home, workflow);
        let is_in = name.is_some_and(|name| self.is_in(&name));
        self.known.insert(workflow, is_in);
        is_in
    }

    fn is_in_task(&mut self, start: Hash) -> bool {
        if let Some(known) = self.known.get(&start) {
            return *known;
        }
        let node = nodes::typed::<StartNode>(self.home.store(), start);
        let is_in = node.is_ok_and(|node| self.is_in(&node.prompt));
        self.known.insert(start, is_in);
        is_in
    }
}
