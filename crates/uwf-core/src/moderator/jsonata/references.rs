//! Lists the parts of the history an expression reads, each as a separate expression. `why` shows their values to explain a decision.

use std::collections::BTreeSet;

use jsonata_core::ast::{AstNode, PathStep};
use jsonata_core::value::with_stack;

use super::walk::{self, ContextFocus};
use super::{names, parse, text};

/// Functions that are shown as a whole call, because the number of all steps says more than the steps.
const SHOWN_WITH_CALL: [&str; 8] = [
    "count",
    "exists",
    names::FIRST,
    names::LAST,
    names::EXTRACTED_BY,
    names::FRONTMATTER,
    names::OUTCOME,
    names::BRANCHES,
];

/// Returns the parts in source order, without repetitions. A part that uses a binding of the expression has no value of its own and is left
/// out.
pub(super) fn collect_references(tree: &AstNode) -> Vec<String> {
    let mut reader = ReferenceReader { bound: walk::bound_names(tree), found: Vec::new() };
    reader.visit(tree, ContextFocus::Root);
    reader.found
}

struct ReferenceReader {
    bound: BTreeSet<String>,
    found: Vec<String>,
}

impl ReferenceReader {
    fn visit(&mut self, node: &AstNode, focus: ContextFocus) {
        if self.is_reference(node, focus) && self.note(node) {
            return;
        }
        with_stack(|| {
            for (child, focus) in walk::children(node, focus) {
                self.visit(child, focus);
            }
        });
    }

    /// Whether a node refers to a part of the history, regardless of its context.
    fn is_reference(&self, node: &AstNode, focus: ContextFocus) -> bool {
        match node {
            AstNode::Path { steps } => self.begins_at_history(steps, focus),
            AstNode::Name(name) => focus == ContextFocus::Root && names::VARIABLES.contains(&name.as_str()),
            AstNode::Variable(name) => names::VARIABLES.contains(&name.as_str()) && !self.bound.contains(name),
            AstNode::Function { name, args, .. } => {
                SHOWN_WITH_CALL.contains(&name.as_str())
                    && !args.is_empty()
                    && args.iter().all(|arg| matches!(arg, AstNode::String(_)) || self.is_reference(arg, focus))
            }
            _ => false,
        }
    }

    fn begins_at_history(&self, steps: &[PathStep], focus: ContextFocus) -> bool {
        let Some(first) = steps.first() else { return false };
        match &first.node {
            AstNode::Variable(name) if name.is_empty() => focus == ContextFocus::Root && steps.len() > 1,
            AstNode::ParentVariable(_) => steps.len() > 1,
            AstNode::Block(items) => matches!(&items[..], [item] if self.is_reference(item, focus)),
            node => self.is_reference(node, focus),
        }
    }

    /// Records a part. Returns false if no expression with the same meaning can be written for it.
    fn note(&mut self, node: &AstNode) -> bool {
        let mut uses_bound = false;
        walk::each(node, &mut |below| {
            uses_bound |= matches!(below, AstNode::Variable(name) if self.bound.contains(name));
        });
        let written = text::render_node(node);
        if uses_bound || parse::parse(&written).ok().as_ref() != Some(node) {
            return false;
        }
        if !self.found.contains(&written) {
            self.found.push(written);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn references(expression: &str) -> Vec<String> {
        collect_references(&parse::parse(expression).unwrap())
    }

    #[test]
    fn history_references_are_listed_once_as_written() {
        for (expression, parts) in [
            ("steps[-1].output.approved = false", &["steps[-1].output.approved"][..]),
            ("$count(steps) >= 3 or $count(steps) < 0", &["$count(steps)"]),
            ("$count(steps[role='coder' and output.n > 1]) > 2", &["$count(steps[role='coder' and output.n > 1])"]),
            (
                "$last('reviewer').approved and $not($last('coder').n = 2)",
                &["$last('reviewer').approved", "$last('coder').n"],
            ),
            ("$extractedBy(steps[-1]) = 'llm'", &["$extractedBy(steps[-1])"]),
            ("$sum(steps.output.n) + $depth > 10", &["steps.output.n", "$depth"]),
            ("start.prompt = $threadId", &["start.prompt", "$threadId"]),
            ("$exists($$.steps[-1].output.`my field`)", &["$exists($$.steps[-1].output.`my field`)"]),
            ("steps[-1].output.(a > b)", &["steps[-1].output.(a > b)"]),
            ("steps[-1].output.list[0] in ['x', 'y']", &["steps[-1].output.list[0]"]),
            ("true", &[]),
        ] {
            assert_eq!(references(expression), parts, "{expression}");
        }
    }

    #[test]
    fn parts_using_local_variables_are_not_references() {
        assert_eq!(references("($r := 'a'; $count(steps[role = $r]) > 1)"), Vec::<String>::new());
        assert_eq!(references("$filter(steps, function($s) { $s.role = 'a' })"), ["steps"]);
        assert_eq!(references("($steps := [1]; $steps[0] = 1)"), Vec::<String>::new());
    }
}
