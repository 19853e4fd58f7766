//! Draws a workflow.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::model::{END, START, Transition, Workflow};

/// The workflow's graph as a Mermaid flowchart. Edges carry the name of their condition; an unconditional one
/// after others says `otherwise`.
#[must_use]
pub fn mermaid(workflow: &Workflow) -> String {
    let targets = workflow.graph.values().flatten().map(|transition| transition.role.as_str());
    let sources = workflow.graph.keys().map(String::as_str);
    let named = workflow.roles.keys().map(String::as_str);
    let roles: BTreeSet<&str> =
        named.chain(sources).chain(targets).filter(|name| ![START, END].contains(name)).collect();
    let roles: Vec<&str> = roles.into_iter().collect();
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
    // From the start on, as people read it; the map's own order puts `$START` first as well.
    for (from, transitions) in &workflow.graph {
        for (index, transition) in transitions.iter().enumerate() {
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
    fn no_name_breaks_out_of_its_quotes() {
        let workflow = Workflow {
            name: "x".to_owned(),
            description: String::new(),
            roles: BTreeMap::new(),
            conditions: BTreeMap::new(),
            graph: BTreeMap::from([("end".to_owned(), vec![to("a\"] --> b;\n%% <b>", Some("x|y"))])]),
        };
        insta::assert_snapshot!(mermaid(&workflow), @r#"
        flowchart TD
            start([START])
            r0["a#34;#93; --#62; b#59; %% #60;b#62;"]
            r1["end"]
            finish([END])
            r1 -->|"x#124;y"| r0
        "#);
    }
}
