//! Reads the shape of the graph, in today's or the older form.

use std::collections::BTreeMap;

use super::model::{END, NamedCondition, START, Transition};
use super::older_forms;
use super::reader::WorkflowReader;
use crate::document::fields::{MappingFields, list, text};
use crate::document::join;
use crate::outcome;
use yaml_tree::{MappingEntry, YamlNode};

pub(crate) const TRANSITION_KEYS: [&str; 3] = ["role", "condition", "outcome"];

/// Keys of other tools and of the older table, and the keys they mean.
const MEANT: [(&str, &str); 7] = [
    ("when", "condition"),
    ("if", "condition"),
    ("expression", "condition"),
    ("conditions", "condition"),
    ("to", "role"),
    ("next", "role"),
    ("target", "role"),
];

impl WorkflowReader {
    /// The graph, from `graph` or from the older `moderator` table.
    pub(super) fn routes(
        &mut self,
        fields: MappingFields<'_>,
        conditions: &mut BTreeMap<String, NamedCondition>,
    ) -> BTreeMap<String, Vec<Transition>> {
        match (fields.get("graph"), fields.get("moderator")) {
            (Some(graph), None) => self.graph(graph, conditions),
            (None, Some(table)) => older_forms::transition_table(self, table, conditions),
            (Some(graph), Some(table)) => {
                let message = "the workflow has both `graph` and the older `moderator`".to_owned();
                self.problems.error("conflict", table.key_at, message, Some("keep `graph`".to_owned()));
                self.graph(graph, conditions)
            }
            (None, None) => {
                let hint = format!("start with `graph: {{{START}: [{{role: …}}]}}`");
                self.positions.set_broken("/graph");
                let message = "the workflow has no `graph`".to_owned();
                self.problems.error("missing-key", fields.at, message, Some(hint));
                BTreeMap::new()
            }
        }
    }

    fn graph(
        &mut self,
        entry: &MappingEntry,
        conditions: &mut BTreeMap<String, NamedCondition>,
    ) -> BTreeMap<String, Vec<Transition>> {
        let mut graph = BTreeMap::new();
        self.locate("/graph", entry);
        let Some(positions) = MappingFields::from_mapping(&entry.value, "graph", &mut self.problems) else {
            self.positions.set_broken("/graph");
            return graph;
        };
        for entry in positions.iter() {
            let from = older_forms::graph_name(&entry.key);
            if graph.contains_key(from) {
                let message = format!("the transitions of `{from}` are here a second time, as `{}`", entry.key);
                self.problems.error("duplicate-key", entry.key_at, message, None);
                continue;
            }
            graph.insert(from.to_owned(), self.transitions(from, entry, conditions));
        }
        graph
    }

    fn transitions(
        &mut self,
        from: &str,
        entry: &MappingEntry,
        conditions: &mut BTreeMap<String, NamedCondition>,
    ) -> Vec<Transition> {
        let pointer = join("/graph", from);
        self.locate(&pointer, entry);
        let Some(items) = list(&entry.value, &entry.key, "a list of transitions", &mut self.problems) else {
            self.positions.set_broken(&pointer);
            return Vec::new();
        };
        let mut transitions = Vec::new();
        for item in items {
            let pointer = join(&pointer, &transitions.len().to_string());
            match self.transition(from, item, &pointer, conditions) {
                Some(transition) => transitions.push(transition),
                None => self.positions.set_broken(&join("/graph", from)),
            }
        }
        transitions
    }

    fn transition(
        &mut self,
        from: &str,
        item: &YamlNode,
        pointer: &str,
        conditions: &mut BTreeMap<String, NamedCondition>,
    ) -> Option<Transition> {
        if let Some(name) = item.as_raw() {
            let message = "a transition must be a mapping with a `role`, not a text".to_owned();
            self.problems.error("wrong-type", item.at, message, Some(format!("write `role: {name}`")));
            return None;
        }
        let fields = MappingFields::from_mapping(item, "transition", &mut self.problems)?;
        fields.refuse_unknown(&TRANSITION_KEYS, &MEANT, &mut self.problems);
        self.positions.set_value(pointer.to_owned(), item.at);
        let Some(role) = fields.get("role") else {
            self.problems.error("missing-key", item.at, "the transition has no `role`".to_owned(), None);
            return None;
        };
        self.locate(&join(pointer, "role"), role);
        let target = text(&role.value, "role", &mut self.problems)?;
        let target = older_forms::graph_name(&target).to_owned();
        let condition = match fields.get("condition") {
            None => None,
            Some(entry) => {
                self.locate(&join(pointer, "condition"), entry);
                let written = text(&entry.value, "condition", &mut self.problems)?;
                Some(older_forms::named(self, &written, entry, (from, &target), conditions))
            }
        };
        let outcome = match fields.get("outcome") {
            None => None,
            Some(entry) => Some(self.outcome(entry, &target, pointer)?).filter(|word| word != outcome::SUCCEEDED),
        };
        Some(Transition { role: target, condition, outcome })
    }

    fn outcome(&mut self, entry: &MappingEntry, target: &str, pointer: &str) -> Option<String> {
        self.locate(&join(pointer, "outcome"), entry);
        let word = text(&entry.value, "outcome", &mut self.problems)?;
        if target != END {
            let message = format!("only a transition to `{END}` has an outcome");
            self.problems.error("misplaced-outcome", entry.key_at, message, None);
            return None;
        }
        if let Some(fault) = outcome::fault(&word) {
            self.problems.error(
                "bad-outcome",
                entry.value.at,
                fault,
                Some("for example `failed` or `rejected`".to_owned()),
            );
            return None;
        }
        Some(word)
    }
}
