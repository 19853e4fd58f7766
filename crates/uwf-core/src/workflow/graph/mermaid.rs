//! A graph as a Mermaid flowchart.

use std::fmt::Write as _;

use super::{DrawnEdge, GraphDrawing, shown};
use crate::text::one_line;
use crate::workflow::model::{END, START};

impl GraphDrawing {
    /// The graph as a Mermaid flowchart. Arrows carry the names and descriptions of their conditions. With the course of a thread, they
    /// also show how often they were taken, and the current node is marked.
    #[must_use]
    pub fn mermaid(&self) -> String {
        let mut out = String::from("flowchart TD\n");
        let id = |index: usize| match self.nodes[index].name.as_str() {
            START => "start".to_owned(),
            END => "finish".to_owned(),
            _ => format!("r{}", index - 1),
        };
        for (index, node) in self.nodes.iter().enumerate() {
            let mut label = vec![escape(shown(&node.name))];
            label.extend((node.played > 0).then(|| format!("{}×", node.played)));
            label.extend(node.state.as_deref().map(escape));
            label.extend(node.branches.iter().map(|branch| format!("∥ {}", escape(&branch.text))));
            let label = label.join("<br/>");
            match node.name.as_str() {
                START | END => line(&mut out, &format!("{}([{label}])", id(index))),
                _ if !node.branches.is_empty() => line(&mut out, &format!("{}[[\"{label}\"]]", id(index))),
                _ => line(&mut out, &format!("{}[\"{label}\"]", id(index))),
            }
        }
        for edge in &self.edges {
            line(&mut out, &format!("{} {} {}", id(edge.from), arrow(edge), id(edge.to)));
        }
        let taken = self.edges.iter().enumerate().filter(|(_, edge)| edge.taken > 0);
        let taken: Vec<String> = taken.map(|(index, _)| index.to_string()).collect();
        if !taken.is_empty() {
            line(&mut out, &format!("linkStyle {} stroke-width:3px", taken.join(",")));
        }
        if let Some(here) = self.nodes.iter().position(|node| node.state.is_some()) {
            line(&mut out, &format!("style {} stroke-width:3px,stroke:#2563eb", id(here)));
        }
        out
    }
}

fn arrow(edge: &DrawnEdge) -> String {
    let Some(title) = edge.title() else { return "-->".to_owned() };
    let lines: Vec<String> = std::iter::once(title).chain(edge.description()).map(|line| escape(&line)).collect();
    format!("-->|\"{}\"|", lines.join("<br/>"))
}

fn line(out: &mut String, text: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "    {text}");
}

/// Escapes any text for use within quotes. Mermaid uses entities written with `#`.
fn escape(text: &str) -> String {
    let text = one_line(text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '#' | '&' | '<' | '>' | '`' | '\\' | '|' | ';' | '[' | ']' | '{' | '}' | '(' | ')' => {
                let _ = write!(out, "#{};", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}
