//! Checks the graph: every name is known, every role is reachable, and every position has a next one.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::ProblemCollector;
use crate::document::{SourcePositions, join};
use crate::workflow::model::{END, START, Transition, WorkflowDraft};
use crate::workflow::picker::is_word;
use crate::workflow::reachability::{dead_ends, endless_roles, live, reachable};
use json_cas::nearest::did_you_mean;
use yaml_tree::TextPosition;

pub(super) fn check(draft: &WorkflowDraft, positions: &SourcePositions, problems: &mut ProblemCollector) {
    let routes = GraphCheck { draft, positions };
    if !positions.is_broken("/roles") && !positions.is_broken("/graph") {
        routes.check_start(problems);
        // If the graph has a misspelt name, the roles after it would only seem unreachable.
        if routes.check_names(problems) {
            routes.check_reach(problems);
        }
    }
    if !positions.is_broken("/conditions") {
        routes.check_conditions(problems);
    }
    for (from, transitions) in &draft.graph {
        routes.check_order(from, transitions, problems);
    }
}

struct GraphCheck<'d> {
    draft: &'d WorkflowDraft,
    positions: &'d SourcePositions,
}

fn of_edge(from: &str, index: usize, field: &str) -> String {
    join(&join(&join("/graph", from), &index.to_string()), field)
}

/// Reports a name that no condition has.
pub(super) fn undefined_condition(
    draft: &WorkflowDraft,
    name: &str,
    at: TextPosition,
    problems: &mut ProblemCollector,
) {
    let known = || draft.conditions.keys().map(String::as_str);
    let listed = || (!draft.conditions.is_empty()).then(|| format!("conditions: {}", quoted(known())));
    let (message, hint) = match name {
        "true" => {
            (": a single word is the name of a condition", Some("leave `condition` out: it always holds".to_owned()))
        }
        "false" => {
            (": a single word is the name of a condition", Some("leave this out altogether: it never holds".to_owned()))
        }
        _ => ("", did_you_mean(name, known()).or_else(listed)),
    };
    problems.error(
        "unknown-condition",
        at,
        format!("condition `{}` is not defined{message}", name.escape_debug()),
        hint,
    );
}

/// Lists names in a message, cut after the first dozen.
pub(super) fn quoted<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    const SHOWN: usize = 12;
    let mut names = names.into_iter();
    let shown: Vec<String> = names.by_ref().take(SHOWN).map(|name| format!("`{name}`")).collect();
    if names.next().is_some() { format!("{}, …", shown.join(", ")) } else { shown.join(", ") }
}

impl<'d> GraphCheck<'d> {
    fn roles(&self) -> impl Iterator<Item = &'d str> + use<'d> {
        self.draft.roles.keys().map(String::as_str)
    }

    /// Whether every name in the graph is a role, `$START` as a source, or `$END` as a target.
    fn check_names(&self, problems: &mut ProblemCollector) -> bool {
        let mut sound = true;
        for (from, transitions) in &self.draft.graph {
            let at = self.positions.key(&join("/graph", from));
            if from == END {
                sound = false;
                problems.error("unknown-role", at, format!("nothing comes after `{END}`"), None);
            } else if from != START && !self.draft.roles.contains_key(from) {
                sound = false;
                self.unknown_role(from, START, at, problems);
            }
            for (index, transition) in transitions.iter().enumerate() {
                let to = &transition.role;
                let at = self.positions.value(&of_edge(from, index, "role"));
                if to == START {
                    sound = false;
                    let hint = "name the next role of the thread".to_owned();
                    problems.error(
                        "unknown-role",
                        at,
                        format!("`{START}` is the start of the graph, not a role"),
                        Some(hint),
                    );
                } else if to != END && !self.draft.roles.contains_key(to) {
                    sound = false;
                    self.unknown_role(to, END, at, problems);
                }
            }
        }
        sound
    }

    /// Reports an unknown role. `end` is the name that is also allowed there.
    fn unknown_role(&self, name: &str, end: &str, at: TextPosition, problems: &mut ProblemCollector) {
        if problems.is_full() {
            return;
        }
        let hint = did_you_mean(name, self.roles().chain([end]))
            .or_else(|| (!self.draft.roles.is_empty()).then(|| format!("roles: {}", quoted(self.roles()))));
        problems.error("unknown-role", at, format!("role `{}` is not defined", name.escape_debug()), hint);
    }

    fn check_start(&self, problems: &mut ProblemCollector) {
        if self.draft.graph.get(START).is_none_or(Vec::is_empty) && !self.is_unread(START) {
            let at = self.positions.key(&join("/graph", START));
            let hint = format!("add `{START}: [{{role: …}}]` with the first role");
            problems.error("no-start", at, format!("no transition leads from `{START}`"), Some(hint));
        }
    }

    /// Whether some of the position's transitions could not be read, so that they can't be checked.
    fn is_unread(&self, from: &str) -> bool {
        self.positions.is_broken(&join("/graph", from))
    }

    fn check_conditions(&self, problems: &mut ProblemCollector) {
        let known = || self.draft.conditions.keys().map(String::as_str);
        let mut used = BTreeSet::new();
        for (from, transitions) in &self.draft.graph {
            for (index, name) in transitions.iter().enumerate().filter_map(|(i, t)| Some((i, t.condition.as_deref()?)))
            {
                used.insert(name);
                if !self.draft.conditions.contains_key(name) && !problems.is_full() {
                    let at = self.positions.value(&of_edge(from, index, "condition"));
                    undefined_condition(self.draft, name, at, problems);
                }
            }
        }
        let of_branches = self.draft.groups().flat_map(|(_, group)| &group.roles);
        used.extend(of_branches.filter_map(|branch| branch.condition.as_deref()));
        let all_read = !self.positions.is_broken("/graph") && !self.draft.graph.keys().any(|from| self.is_unread(from));
        for name in known().filter(|name| all_read && !used.contains(name)) {
            let at = self.positions.key(&join("/conditions", name));
            problems.warning("unused-condition", at, format!("no transition uses the condition `{name}`"), None);
        }
    }

    /// Reports transitions after one that always matches, which are never tried, and positions without such a transition, where a thread
    /// may end early.
    fn check_order(&self, from: &str, transitions: &[Transition], problems: &mut ProblemCollector) {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let live = live(transitions);
        for (index, transition) in transitions.iter().enumerate() {
            let at = self.positions.value(&join(&join("/graph", from), &index.to_string()));
            if index >= live.len() {
                let message = format!("this transition of `{from}` is never tried: one before it always matches");
                problems.warning("dead-transition", at, message, Some("move it up, or take it out".to_owned()));
            } else if let Some(condition) = &transition.condition
                && let Some(first) = seen.insert(condition, index)
            {
                let message =
                    format!("this transition of `{from}` is never taken: number {} has the same condition", first + 1);
                problems.warning("dead-transition", at, message, None);
            }
        }
        let falls_through = !live.is_empty() && live.iter().all(|transition| transition.condition.is_some());
        if falls_through && !self.is_unread(from) {
            let at = self.positions.key(&join("/graph", from));
            let message = format!("when no condition of `{from}` holds, the thread ends with reason `no-match`");
            let hint = "add a last transition without condition".to_owned();
            problems.warning("no-fallback", at, message, Some(hint));
        }
    }

    fn check_reach(&self, problems: &mut ProblemCollector) {
        let start_known = self.draft.graph.get(START).is_some_and(|list| !list.is_empty());
        if !start_known || self.draft.graph.keys().any(|from| self.is_unread(from)) {
            return;
        }
        let reachable = reachable(&self.draft.graph);
        let played: BTreeSet<&str> = self.draft.played_roles().collect();
        // If a group has a misspelt name, its role would only seem unreachable.
        let is_misspelt = |name: &str| !self.draft.roles.contains_key(name) && is_word(name);
        let roles = self.roles().filter(|_| !played.iter().any(|name| is_misspelt(name)));
        for role in roles.filter(|role| !reachable.contains(role) && !played.contains(role)) {
            let at = self.positions.key(&join("/roles", role));
            let message = format!("no path leads from `{START}` to the role `{role}`");
            problems.warning("unreachable-role", at, message, None);
        }
        for role in dead_ends(&self.draft.graph) {
            let at = self.positions.key(&join("/roles", role));
            let message =
                format!("nothing comes after the role `{role}`; the thread ends there with reason `no-match`");
            let hint = format!("add `{role}: [{{role: {END}}}]` to the graph");
            problems.warning("no-way-out", at, message, Some(hint));
        }
        self.check_endless(problems);
    }

    /// Reports roles in loops that a thread can't leave.
    fn check_endless(&self, problems: &mut ProblemCollector) {
        let endless = endless_roles(&self.draft.graph);
        if let Some(first) = endless.iter().min_by_key(|name| self.positions.key(&join("/graph", name))) {
            let at = self.positions.key(&join("/graph", first));
            let message = format!("no path leads from {} to `{END}`", quoted(endless.iter().copied()));
            problems.warning("no-way-out", at, message, Some("only a limit will stop such a thread".to_owned()));
        }
    }
}
