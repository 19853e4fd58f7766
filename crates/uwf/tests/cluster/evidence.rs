//! What is there when all is over.

use std::collections::{BTreeMap, BTreeSet};

use json_cas::NodeHash;
use uwf_core::node::{EndStatus, NodeKind, StepNode};
use uwf_engine::root::history;
use uwf_engine::root::home::Home;

use crate::ledger::Entry;
use crate::machines::Machine;
use crate::watch::Sightings;

/// A step of a thread, as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) hash: NodeHash,
    /// What the head was before it.
    pub(crate) before: NodeHash,
    /// The attempt that its output names.
    pub(crate) attempt: String,
}

/// All that a check needs to know.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    /// Threads that were started.
    pub(crate) threads: Vec<String>,
    /// Threads that have come to their end, with their steps, oldest first.
    pub(crate) ended: BTreeMap<String, Vec<Step>>,
    pub(crate) ledger: Vec<Entry>,
    /// Attempts that were under way on a machine when its power was cut.
    pub(crate) struck: BTreeSet<String>,
    /// Attempts of which there is an answer, or a part of one, besides the steps: in the store, or on a machine.
    pub(crate) kept: BTreeSet<String>,
    pub(crate) seen: Sightings,
    /// What still runs on machines whose workers have ended.
    pub(crate) running: Vec<String>,
    /// What the check of the whole store found.
    pub(crate) damages: Vec<String>,
}

/// Threads that have come to their end, with their last heads.
pub(crate) fn ended(home: &Home) -> BTreeMap<String, NodeHash> {
    let lines = history::all(home).unwrap().into_iter().filter(|line| line.status == EndStatus::Completed);
    lines.map(|line| (line.thread.to_string(), line.head)).collect()
}

/// The steps from a head back to the start, oldest first.
pub(crate) fn steps(home: &Home, head: NodeHash) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut next = head;
    loop {
        let node = home.store().get(next).unwrap();
        if NodeKind::from_type_hash(node.type_hash) != Some(NodeKind::StepNode) {
            break;
        }
        let step: StepNode = serde_json::from_value(node.payload).unwrap();
        let before = step.prev.unwrap_or(step.start);
        let output = home.store().get(step.output).unwrap().payload;
        let attempt = output["attempt"].as_str().unwrap_or_default().to_owned();
        steps.push(Step { hash: next, before, attempt });
        next = before;
    }
    steps.reverse();
    steps
}

/// Attempts whose failure is a node, by the beginning of what they had answered, and those whose answers lie on a machine.
pub(crate) fn kept(home: &Home, desk: &Machine, machines: &[Machine]) -> BTreeSet<String> {
    let failures = desk.json(&["cas", "list", "--type", "attempt"]);
    let hashes = failures.as_array().unwrap().iter().map(|node| node["hash"].as_str().unwrap().parse().unwrap());
    let raw = |failure: NodeHash| {
        let failure = home.store().get(failure).unwrap().payload;
        let raw = home.store().get(failure["raw"].as_str()?.parse().unwrap()).unwrap().payload;
        let answer = raw["text"].as_str()?.strip_prefix("{\"attempt\": \"")?;
        Some(answer.split('"').next()?.to_owned())
    };
    hashes.filter_map(raw).chain(machines.iter().flat_map(Machine::answers)).collect()
}
