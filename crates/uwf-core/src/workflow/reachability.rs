//! Positions that a thread can reach in a graph, and positions it can't leave.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{END, START, Transition};

/// Transitions of the roles and of `$START`.
pub type TransitionGraph = BTreeMap<String, Vec<Transition>>;

/// The next positions after a position. Transitions after one that always matches are never tried.
#[must_use]
pub fn next<'g>(graph: &'g TransitionGraph, from: &str) -> Vec<&'g str> {
    let transitions = graph.get(from).map(Vec::as_slice).unwrap_or_default();
    live(transitions).iter().map(|transition| transition.role.as_str()).collect()
}

/// The transitions up to the first that always matches.
pub(crate) fn live(transitions: &[Transition]) -> &[Transition] {
    let last = transitions.iter().position(|transition| transition.condition.is_none());
    &transitions[..last.map_or(transitions.len(), |last| last + 1)]
}

/// All positions a thread can reach, including the start and the end.
pub(crate) fn reachable(graph: &TransitionGraph) -> BTreeSet<&str> {
    let mut reached = BTreeSet::from([START]);
    let mut open = vec![START];
    while let Some(from) = open.pop() {
        for to in next(graph, from) {
            if reached.insert(to) {
                open.push(to);
            }
        }
    }
    reached
}

/// Roles that may be played after a position, within so many steps and without those that only follow the role `until`.
#[must_use]
pub fn roles_after<'g>(
    graph: &'g TransitionGraph,
    from: &'g str,
    until: Option<&str>,
    steps: Option<u64>,
) -> BTreeSet<&'g str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    let mut step = 0;
    while !open.is_empty() && steps.is_none_or(|steps| step < steps) {
        let after = open.iter().flat_map(|from| next(graph, from));
        open = after.filter(|to| *to != END && until != Some(*to) && reached.insert(*to)).collect();
        step += 1;
    }
    reached
}

/// Roles a thread can get to and that nothing comes after: it ends there with reason `no-match`.
pub(crate) fn dead_ends(graph: &TransitionGraph) -> BTreeSet<&str> {
    reachable(graph).into_iter().filter(|name| *name != END && next(graph, name).is_empty()).collect()
}

/// Reachable roles from which no path reaches `$END` or to a dead end. A thread in them loops until a limit stops it. Sorted by name.
#[must_use]
pub fn endless_roles(graph: &BTreeMap<String, Vec<Transition>>) -> Vec<&str> {
    let reachable = reachable(graph);
    let mut ending = dead_ends(graph);
    ending.insert(END);
    let mut before: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for from in &reachable {
        for to in next(graph, from) {
            before.entry(to).or_default().push(from);
        }
    }
    let mut open: Vec<&str> = ending.iter().copied().collect();
    while let Some(to) = open.pop() {
        for from in before.get(to).into_iter().flatten() {
            if ending.insert(from) {
                open.push(from);
            }
        }
    }
    reachable.into_iter().filter(|name| !ending.contains(name) && *name != START).collect()
}
