//! Draws a workflow.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;

use super::model::{END, START, Transition, Workflow};

/// Names of roles as people read the graph: by their distance from `$START`, roles of one distance in the order of their
/// transitions, then those that nothing leads to, by name. `$START` and `$END` are not among them.
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

/// The workflow's graph as a Mermaid flowchart. Edges carry the name of their condition; an unconditional one
/// after others says `otherwise`.
#[must_use]
pub fn mermaid(workflow: &Workflow) -> String {
    let roles = role_order(workflow);
    let mut out = String::from("flowchart TD\n    start([START])\n");
    for (index, name) in roles.iter().enumerate() {
        line(&mut out, &format!("r{index}[\"{}\"]", escape(name)));
    }
    line(&mut out, "finish([END])");
    let id = |name: &str| match name {
        START => "start".to_owned(),
        END => "finish".to_owned(),
        // A role is always found: the list was made from the same names.
        other => format!("r{}", roles.iter().position(|role| *role == other).unwrap_or(roles.len())),
    };
    for from in std::iter::once(START).chain(roles.iter().copied()) {
        for (index, transition) in workflow.graph.get(from).into_iter().flatten().enumerate() {
            line(&mut out, &format!("{} {} {}", id(from), arrow(transition, index), id(&transition.role)));
        }
    }
    out
}

fn arrow(transition: &Transition, index: usize) -> String {
    match &transition.condition {
        Some(name) => format!("-->|\"{}\"|", escape(name)),
        None if index > 0 => "-->|otherwise|".to_owned(),
        None => "-->".to_owned(),
    }
}

fn line(out: &mut String, text: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "    {text}");
}

/// Makes any text safe within quotes: Mermaid takes entities written with `#`.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '#' | '&' | '<' | '>' | '`' | '\\' | '|' | ';' | '[' | ']' | '{' | '}' | '(' | ')' => {
                let _ = write!(out, "#{};", u32::from(c));
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn to(role: &str, condition: Option<&str>) -> Transition {
        Transition { role: role.to_owned(), condition: condition.map(str::to_owned) }
    }

    #[test]
    fn a_loop_with_a_way_out() {
        let workflow = Workflow {
            name: "solve-issue".to_owned(),
            description: String::new(),
            limits: crate::usage::ThreadLimits::default(),
            workspace: crate::workspace::Workspace::default(),
            roles: BTreeMap::new(),
            conditions: BTreeMap::new(),
            graph: BTreeMap::from([
                ("$START".to_owned(), vec![to("developer", None)]),
                ("developer".to_owned(), vec![to("reviewer", None)]),
                ("reviewer".to_owned(), vec![to("developer", Some("notApproved")), to("$END", None)]),
            ]),
        };
        insta::assert_snapshot!(mermaid(&workflow), @r#"
        flowchart TD
            start([START])
            r0["developer"]
            r1["reviewer"]
            finish([END])
            start --> r0
            r0 --> r1
            r1 -->|"notApproved"| r0
            r1 -->|otherwise| finish
        "#);
    }

    #[test]
    fn roles_are_ordered_from_the_start() {
        let workflow = Workflow {
            name: "x".to_owned(),
            description: String::new(),
            limits: crate::usage::ThreadLimits::default(),
            workspace: crate::workspace::Workspace::default(),
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
            workspace: crate::workspace::Workspace::default(),
            roles: BTreeMap::new(),
            conditions: BTreeMap::new(),
            graph: BTreeMap::from([("end".to_owned(), vec![to("a\"] --> b;\n%% <b>", Some("x|y"))])]),
        };
        insta::assert_snapshot!(mermaid(&workflow), @r#"
        flowchart TD
            start([START])
            r0["end"]
            r1["a#34;#93; --#62; b#59; %% #60;b#62;"]
            finish([END])
            r0 -->|"x#124;y"| r1
        "#);
    }
}
