//! Draws a workflow as Mermaid, as DOT, or as an SVG picture. Roles are in reading order, and one arrow stands for all transitions between
//! the same two roles. The drawing can also show the course of a thread.

mod branches;
mod dot;
mod lanes;
mod layout;
mod measure;
mod mermaid;
mod order;
mod page;
mod path;
mod svg;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::model::{END, START, Transition, Workflow};
use crate::text::{ellipsize, one_line};

pub use branches::branches_in_words;
use branches::{DrawnBranch, inner_roles, lines_in_box};
pub use page::{GRAPH_CSS, GraphOnPage};

/// Longest line of a condition's description on an arrow, in characters.
const LINE: usize = 28;

/// Most lines of such a description. Formats with tooltips show the full text there.
const LINES: usize = 2;

/// The course of a thread through the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphCourse {
    /// The roles that were played, in order.
    pub roles: Vec<String>,
    /// The current position: a role, `$START` or `$END`.
    pub at: String,
    /// The state of the thread at that position, in a word.
    pub state: String,
    /// The branches of each group as the thread played it last, by the group's role.
    pub branches: BTreeMap<String, Vec<CourseBranch>>,
}

/// A branch that a thread has played or plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CourseBranch {
    /// Its name in the group.
    pub name: String,
    /// Its state, in a word.
    pub state: String,
}

/// A graph ready to be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphDrawing {
    name: String,
    nodes: Vec<DrawnNode>,
    edges: Vec<DrawnEdge>,
    /// Whether it shows the course of a thread.
    has_course: bool,
}

/// `$START`, a role or `$END`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DrawnNode {
    /// Its name in the workflow.
    name: String,
    /// Its purpose.
    description: String,
    /// How often it was played.
    played: usize,
    /// The state of the thread, if the thread is at this node.
    state: Option<String>,
    /// The branches, if it is a group.
    branches: Vec<DrawnBranch>,
}

/// All transitions from one node to another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DrawnEdge {
    from: usize,
    to: usize,
    transitions: Vec<DrawnTransition>,
    /// How often the thread took this arrow.
    taken: usize,
}

/// A transition, as its arrow shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DrawnTransition {
    condition: DrawnCondition,
    /// The outcome with which it ends a thread, if the workflow names one.
    outcome: Option<String>,
}

impl DrawnTransition {
    /// Its condition and its outcome; `None` if it has neither.
    fn name(&self) -> Option<String> {
        match (self.condition.name().map(one_line), self.outcome.as_deref().map(one_line)) {
            (Some(condition), Some(outcome)) => Some(format!("{condition} → {outcome}")),
            (None, Some(outcome)) => Some(format!("→ {outcome}")),
            (condition, None) => condition,
        }
    }

    /// All facts about its condition and its outcome, one per line.
    fn tooltip(&self) -> Option<String> {
        let outcome = self.outcome.as_deref().map(|outcome| format!("outcome: {}", one_line(outcome)));
        let lines: Vec<String> = self.condition.tooltip().into_iter().chain(outcome).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// The condition of a transition.
#[derive(Clone, Debug, PartialEq, Eq)]
enum DrawnCondition {
    /// None, and the transition is the first or the only one.
    Always,
    /// None, after other transitions.
    Otherwise,
    /// A condition of the workflow.
    Named { name: String, description: String, expression: String },
}

impl DrawnCondition {
    /// Its name on the arrow.
    fn name(&self) -> Option<&str> {
        match self {
            DrawnCondition::Always => None,
            DrawnCondition::Otherwise => Some("otherwise"),
            DrawnCondition::Named { name, .. } => Some(name),
        }
    }

    /// Its name, description and expression, one per line.
    fn tooltip(&self) -> Option<String> {
        let DrawnCondition::Named { name, description, expression } = self else { return None };
        let description = one_line(description);
        let what = if description.is_empty() { one_line(name) } else { format!("{}: {description}", one_line(name)) };
        Some(format!("{what}\n{}", one_line(expression)).trim_end().to_owned())
    }
}

impl DrawnEdge {
    /// The names of its conditions and outcomes in one line, and how often it was taken; `None` if it has none of them.
    fn title(&self) -> Option<String> {
        let names: Vec<String> = self.transitions.iter().filter_map(DrawnTransition::name).collect();
        let taken = (self.taken > 0).then(|| format!("{}×", self.taken));
        let parts: Vec<String> =
            Some(names.join(" or ")).filter(|names| !names.is_empty()).into_iter().chain(taken).collect();
        (!parts.is_empty()).then(|| parts.join(" · "))
    }

    /// The description of its condition, in a few short lines; empty if the arrow has several conditions.
    fn description(&self) -> Vec<String> {
        match &self.transitions[..] {
            [DrawnTransition { condition: DrawnCondition::Named { description, .. }, .. }] => {
                wrapped(&one_line(description))
            }
            _ => Vec::new(),
        }
    }

    /// All facts about its conditions and outcomes; `None` if it has none.
    fn tooltip(&self) -> Option<String> {
        let parts: Vec<String> = self.transitions.iter().filter_map(DrawnTransition::tooltip).collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }
}

/// Wraps a text into at most [`LINES`] lines of about [`LINE`] characters.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= LINE => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let is_cut = lines.len() > LINES;
    lines.truncate(LINES);
    if let (true, Some(last)) = (is_cut, lines.last_mut()) {
        last.push_str(" …");
    }
    lines.iter().map(|line| ellipsize(line, LINE + 4).into_owned()).collect()
}

impl GraphDrawing {
    /// Draws the graph of a workflow, optionally with the course of a thread.
    #[must_use]
    pub fn from_workflow(workflow: &Workflow, course: Option<&GraphCourse>) -> GraphDrawing {
        let inner = inner_roles(workflow);
        let roles = role_order(workflow).into_iter().filter(|role| !inner.contains(role));
        let names: Vec<&str> = std::iter::once(START).chain(roles).chain([END]).collect();
        let index = |name: &str| names.iter().position(|known| *known == name);
        let played = |name: &str| course.map_or(0, |course| course.roles.iter().filter(|role| *role == name).count());
        let nodes = names.iter().map(|name| DrawnNode {
            name: (*name).to_owned(),
            description: workflow.roles.get(*name).map(|role| role.description.clone()).unwrap_or_default(),
            played: played(name),
            state: course.filter(|course| course.at == *name).map(|course| course.state.clone()),
            branches: lines_in_box(workflow, name, course),
        });
        let mut edges: Vec<DrawnEdge> = Vec::new();
        for (from, name) in names.iter().enumerate() {
            let first = edges.len();
            for (at, transition) in workflow.graph.get(*name).into_iter().flatten().enumerate() {
                // The list was made from the same names, so every role is found.
                let Some(to) = index(&transition.role) else { continue };
                let (condition, outcome) = (condition(workflow, transition, at), transition.outcome.clone());
                let drawn = DrawnTransition { condition, outcome };
                match edges[first..].iter_mut().find(|edge| edge.to == to) {
                    Some(edge) => edge.transitions.push(drawn),
                    None => edges.push(DrawnEdge { from, to, transitions: vec![drawn], taken: 0 }),
                }
            }
        }
        let mut drawing =
            GraphDrawing { name: workflow.name.clone(), nodes: nodes.collect(), edges, has_course: course.is_some() };
        for ((from, to), times) in course.map(taken).unwrap_or_default() {
            if let (Some(from), Some(to)) = (index(&from), index(&to))
                && let Some(edge) = drawing.edges.iter_mut().find(|edge| (edge.from, edge.to) == (from, to))
            {
                edge.taken = times;
            }
        }
        drawing
    }

    /// The arrows a thread has taken: from, to, how often.
    pub fn taken(&self) -> impl Iterator<Item = (&str, &str, usize)> {
        let taken = self.edges.iter().filter(|edge| edge.taken > 0);
        taken.map(|edge| (self.nodes[edge.from].name.as_str(), self.nodes[edge.to].name.as_str(), edge.taken))
    }
}

fn condition(workflow: &Workflow, transition: &Transition, at: usize) -> DrawnCondition {
    let Some(name) = &transition.condition else {
        return if at > 0 { DrawnCondition::Otherwise } else { DrawnCondition::Always };
    };
    let known = workflow.conditions.get(name);
    let text = |part: fn(&super::NamedCondition) -> &String| known.map(part).cloned().unwrap_or_default();
    DrawnCondition::Named {
        name: name.clone(),
        description: text(|condition| &condition.description),
        expression: text(|condition| &condition.expression),
    }
}

/// Counts how often a course goes from one node to another.
fn taken(course: &GraphCourse) -> BTreeMap<(String, String), usize> {
    let end = (course.at == END).then_some(END);
    let stations: Vec<&str> =
        std::iter::once(START).chain(course.roles.iter().map(String::as_str)).chain(end).collect();
    let mut taken = BTreeMap::new();
    for pair in stations.windows(2) {
        *taken.entry((pair[0].to_owned(), pair[1].to_owned())).or_default() += 1;
    }
    taken
}

/// The displayed name of a node: `$START` and `$END` without their sign.
fn shown(name: &str) -> &str {
    match name {
        START => "START",
        END => "END",
        role => role,
    }
}

/// Names of roles in reading order: by their distance from `$START`, at the same distance in the order of their transitions. Unreachable
/// roles come last, by name. `$START` and `$END` are not included.
#[must_use]
pub fn role_order(workflow: &Workflow) -> Vec<&str> {
    let mut order: Vec<&str> = Vec::new();
    let mut seen = BTreeSet::from([START, END]);
    let mut open = VecDeque::from([START]);
    let mut unreached = workflow.roles.keys().chain(workflow.graph.keys()).map(String::as_str);
    while let Some(from) = open.pop_front().or_else(|| unreached.by_ref().find(|name| !seen.contains(name))) {
        if seen.insert(from) {
            order.push(from);
        }
        for Transition { role, .. } in workflow.graph.get(from).into_iter().flatten() {
            if seen.insert(role) {
                order.push(role);
                open.push_back(role);
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::workflow::NamedCondition;

    /// A graph with these arrows. Nodes are numbered from the start, and the last node is the end.
    pub(super) fn drawing(nodes: usize, edges: &[(usize, usize)]) -> GraphDrawing {
        let node = |name: usize| DrawnNode {
            name: name.to_string(),
            description: String::new(),
            played: 0,
            state: None,
            branches: Vec::new(),
        };
        let edge = |(from, to): &(usize, usize)| DrawnEdge { from: *from, to: *to, transitions: Vec::new(), taken: 0 };
        let edges = edges.iter().map(edge).collect();
        GraphDrawing { name: String::new(), nodes: (0..nodes).map(node).collect(), edges, has_course: false }
    }

    fn to(role: &str, condition: Option<&str>) -> Transition {
        Transition { role: role.to_owned(), condition: condition.map(str::to_owned), outcome: None }
    }

    #[test]
    fn a_loop_with_a_way_out() {
        let workflow = Workflow {
            name: "solve-issue".to_owned(),
            description: String::new(),
            limits: crate::usage::ThreadLimits::default(),
            workspace: crate::workspace::WorkspaceKind::default(),
            input: None,
            roles: BTreeMap::new(),
            conditions: BTreeMap::new(),
            graph: BTreeMap::from([
                ("$START".to_owned(), vec![to("developer", None)]),
                ("developer".to_owned(), vec![to("reviewer", None)]),
                ("reviewer".to_owned(), vec![to("developer", Some("notApproved")), to("$END", None)]),
            ]),
        };
        insta::assert_snapshot!(GraphDrawing::from_workflow(&workflow, None).mermaid(), @r#"
        flowchart TD
            start([START])
            r0["developer"]
            r1["reviewer"]
            finish([END])
            start --> r0
            r0 --> r1
            r1 -->|"notApproved"| r0
            r1 -->|"otherwise"| finish
        "#);
    }

    #[test]
    fn roles_are_ordered_from_the_start() {
        let workflow = Workflow {
            name: "x".to_owned(),
            description: String::new(),
            limits: crate::usage::ThreadLimits::default(),
            workspace: crate::workspace::WorkspaceKind::default(),
            input: None,
            roles: BTreeMap::new(),
            conditions: BTreeMap::new(),
            graph: BTreeMap::from([
                ("$START".to_owned(), vec![to("triage", None)]),
                ("apart".to_owned(), vec![to("alone", None)]),
                ("coder".to_owned(), vec![to("triage", Some("again")), to("$END", None)]),
                ("triage".to_owned(), vec![to("planner", Some("large")), to("coder", None)]),
                ("planner".to_owned(), vec![to("coder", None)]),
            ]),
        };
        assert_eq!(role_order(&workflow), ["triage", "planner", "coder", "apart", "alone"]);
    }

    #[test]
    fn no_name_breaks_out_of_its_quotes() {
        let workflow = Workflow {
            name: "x".to_owned(),
            description: String::new(),
            limits: crate::usage::ThreadLimits::default(),
            workspace: crate::workspace::WorkspaceKind::default(),
            input: None,
            roles: BTreeMap::new(),
            conditions: BTreeMap::new(),
            graph: BTreeMap::from([("end".to_owned(), vec![to("a\"] --> b;\n%% <b>", Some("x|y"))])]),
        };
        insta::assert_snapshot!(GraphDrawing::from_workflow(&workflow, None).mermaid(), @r#"
        flowchart TD
            start([START])
            r0["end"]
            r1["a#34;#93; --#62; b#59; %% #60;b#62;"]
            finish([END])
            r0 -->|"x#124;y"| r1
        "#);
    }

    fn named(description: &str, expression: &str) -> NamedCondition {
        NamedCondition { description: description.to_owned(), expression: expression.to_owned() }
    }

    /// Two ways from the reviewer to the end, one way back, and an unreachable role with an unknown condition.
    fn reviewed() -> Workflow {
        Workflow {
            name: "fix \"it\"".to_owned(),
            limits: crate::usage::ThreadLimits::default(),
            workspace: crate::workspace::WorkspaceKind::default(),
            input: None,
            description: String::new(),
            roles: BTreeMap::new(),
            conditions: BTreeMap::from([
                ("tooOften".to_owned(), named("three are enough", "$count(steps) > 3")),
                (
                    "rejected".to_owned(),
                    named("the reviewer <wants> changes, & says which ones they are", "a \\ \"b\""),
                ),
            ]),
            graph: BTreeMap::from([
                ("$START".to_owned(), vec![to("coder", None)]),
                ("coder".to_owned(), vec![to("reviewer", None)]),
                (
                    "reviewer".to_owned(),
                    vec![to("$END", Some("tooOften")), to("coder", Some("rejected")), to("$END", None)],
                ),
                ("apart".to_owned(), vec![to("apart", Some("unknown")), to("$END", None)]),
            ]),
        }
    }

    fn course() -> GraphCourse {
        let roles = ["coder", "reviewer", "coder", "reviewer", "stranger"].map(str::to_owned).to_vec();
        GraphCourse { roles, at: "reviewer".to_owned(), state: "stuck".to_owned(), ..GraphCourse::default() }
    }

    #[test]
    fn parallel_transitions_share_arrow_and_traversals_are_counted() {
        let drawing = GraphDrawing::from_workflow(&reviewed(), Some(&course()));
        let taken: Vec<_> = drawing.taken().collect();
        assert_eq!(taken, [("$START", "coder", 1), ("coder", "reviewer", 2), ("reviewer", "coder", 1)]);
        insta::assert_snapshot!(drawing.mermaid(), @r#"
        flowchart TD
            start([START])
            r0["coder<br/>2×"]
            r1["reviewer<br/>2×<br/>stuck"]
            r2["apart"]
            finish([END])
            start -->|"1×"| r0
            r0 -->|"2×"| r1
            r1 -->|"tooOften or otherwise"| finish
            r1 -->|"rejected · 1×<br/>the reviewer #60;wants#62;<br/>changes, #38; says which ones …"| r0
            r2 -->|"unknown"| r2
            r2 -->|"otherwise"| finish
            linkStyle 0,1,3 stroke-width:3px
            style r1 stroke-width:3px,stroke:#2563eb
        "#);
        insta::assert_snapshot!(drawing.dot(), @r##"
        digraph "fix \"it\"" {
            rankdir=TB
            node [shape=box, style=rounded, fontname="sans-serif"]
            edge [fontname="sans-serif", fontsize=11]
            n0 [label="START", shape=oval]
            n1 [label="coder\n2×"]
            n2 [label="reviewer\n2×\nstuck", color="#2563eb", penwidth=3]
            n3 [label="apart"]
            n4 [label="END", shape=oval]
            n0 -> n1 [label="1×", color="#2563eb", penwidth=2]
            n1 -> n2 [label="2×", color="#2563eb", penwidth=2]
            n2 -> n4 [label="tooOften or otherwise", tooltip="tooOften: three are enough\n$count(steps) > 3", labeltooltip="tooOften: three are enough\n$count(steps) > 3"]
            n2 -> n1 [label="rejected · 1×\nthe reviewer <wants>\nchanges, & says which ones …", tooltip="rejected: the reviewer <wants> changes, & says which ones they are\na \\ \"b\"", labeltooltip="rejected: the reviewer <wants> changes, & says which ones they are\na \\ \"b\"", color="#2563eb", penwidth=2]
            n3 -> n3 [label="unknown", tooltip="unknown", labeltooltip="unknown"]
            n3 -> n4 [label="otherwise"]
        }
        "##);
    }

    #[test]
    fn svg_matches_graph_and_escapes_its_texts() {
        let svg = GraphDrawing::from_workflow(&reviewed(), Some(&course())).svg();
        for part in [
            "<title>fix &quot;it&quot;</title>",
            ">rejected · 1×</text>",
            ">the reviewer &lt;wants&gt;</text>",
            ">2× · stuck</text>",
            ">tooOften or otherwise</text>",
            "rejected: the reviewer &lt;wants&gt; changes, &amp; says which ones they are\na \\ &quot;b&quot;</title>",
            "prefers-color-scheme: dark",
        ] {
            assert!(svg.contains(part), "{part} in {svg}");
        }
        assert_eq!(svg.matches("class=\"edge taken\"").count(), 3);
        assert_eq!(svg.matches("class=\"node here stuck\"").count(), 1);
        assert_eq!(svg, GraphDrawing::from_workflow(&reviewed(), Some(&course())).svg(), "always the same");
    }
}
