//! Names of workflows, for messages about threads.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use json_cas::NodeHash;

use crate::root::home::Home;
use crate::root::registry::Registry;

/// The names of workflows. Reads each node at most once.
pub struct WorkflowNames {
    known: HashMap<NodeHash, String>,
}

impl WorkflowNames {
    /// Names in the registry: a workflow's current name, or else a former one.
    pub fn from_registry(registry: &Registry) -> WorkflowNames {
        let earlier = registry
            .iter()
            .flat_map(|(name, entry)| entry.history.iter().map(move |past| (past.hash, format!("{name} (earlier)"))));
        let current = registry.iter().map(|(name, entry)| (entry.hash, name.clone()));
        WorkflowNames { known: earlier.chain(current).collect() }
    }

    /// The name of a workflow: in the registry, or else its own name.
    pub fn name(&mut self, home: &Home, workflow: NodeHash) -> Option<String> {
        match self.known.entry(workflow) {
            Entry::Occupied(known) => Some(known.get().clone()),
            Entry::Vacant(unknown) => Some(unknown.insert(own_name(home, workflow)?).clone()),
        }
    }
}

/// A workflow's own name.
pub fn own_name(home: &Home, workflow: NodeHash) -> Option<String> {
    let node = home.store().try_get(workflow).ok()??;
    node.payload.get("name").and_then(serde_json::Value::as_str).map(str::to_owned)
}
