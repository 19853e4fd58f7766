//! A graph in the language of Graphviz.

use std::fmt::Write as _;

use super::{GraphDrawing, shown};
use crate::text::one_line;
use crate::workflow::model::{END, START};

/// The colour of the course and the current position of a thread.
const COURSE: &str = "#2563eb";

impl GraphDrawing {
    /// The graph in DOT. Descriptions of conditions and roles are in tooltips, which Graphviz keeps in SVG.
    #[must_use]
    pub fn dot(&self) -> String {
        let mut out = format!("digraph {} {{\n", quoted(&[one_line(&self.name)]));
        out.push_str("    rankdir=TB\n    node [shape=box, style=rounded, fontname=\"sans-serif\"]\n");
        out.push_str("    edge [fontname=\"sans-serif\", fontsize=11]\n");
        for (index, node) in self.nodes.iter().enumerate() {
            let mut label = vec![one_line(shown(&node.name))];
            label.extend((node.played > 0).then(|| format!("{}×", node.played)));
            label.extend(node.state.as_deref().map(one_line));
            label.extend(node.branches.iter().map(|branch| format!("∥ {}", branch.text)));
            let mut about = vec![format!("label={}", quoted(&label))];
            let description = one_line(&node.description);
            if !description.is_empty() {
                about.push(format!("tooltip={}", quoted(&[description])));
            }
            if matches!(node.name.as_str(), START | END) {
                about.push("shape=oval".to_owned());
            }
            if !node.branches.is_empty() {
                about.push("peripheries=2".to_owned());
            }
            if node.state.is_some() {
                about.push(format!("color=\"{COURSE}\", penwidth=3"));
            }
            line(&mut out, &format!("n{index} [{}]", about.join(", ")));
        }
        for edge in &self.edges {
            let mut about = Vec::new();
            if let Some(title) = edge.title() {
                let lines: Vec<String> = std::iter::once(title).chain(edge.description()).collect();
                about.push(format!("label={}", quoted(&lines)));
            }
            if let Some(tooltip) = edge.tooltip() {
                let tooltip = quoted(&tooltip.lines().map(str::to_owned).collect::<Vec<_>>());
                about.push(format!("tooltip={tooltip}, labeltooltip={tooltip}"));
            }
            if edge.taken > 0 {
                about.push(format!("color=\"{COURSE}\", penwidth=2"));
            }
            line(&mut out, &format!("n{} -> n{} [{}]", edge.from, edge.to, about.join(", ")));
        }
        out.push_str("}\n");
        out
    }
}

fn line(out: &mut String, text: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "    {text}");
}

/// Quotes lines as one text. Only `"` and `\` need escapes.
fn quoted(lines: &[String]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| line.replace('\\', "\\\\").replace('"', "\\\"")).collect();
    format!("\"{}\"", lines.join("\\n"))
}
