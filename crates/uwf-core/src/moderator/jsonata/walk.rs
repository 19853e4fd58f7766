//! Walks the library's syntax tree.

use std::collections::BTreeSet;

use jsonata_core::ast::{AstNode, BinaryOp, PathStep, Stage};
use jsonata_core::value::with_stack;

/// The context value (`$` and bare names) of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContextFocus {
    /// The whole context, `{start, steps}`.
    Root,
    /// A value that the enclosing path or predicate iterates over. It is never the root, unless `$`, `$$` or the implied argument of a
    /// function names the root itself; the analysis handles those cases where they occur.
    Item,
    /// Unknown: bodies of functions, which may be called anywhere, and grouping and sorting terms.
    Unknown,
}

/// The two walkers differ only in `&` and `&mut`.
macro_rules! children {
    ($name:ident, $doc:literal, $($m:tt)?) => {
        #[doc = $doc]
        pub(super) fn $name(node: & $($m)? AstNode, focus: ContextFocus) -> Vec<(& $($m)? AstNode, ContextFocus)> {
            let mut out = Vec::new();
            match node {
                AstNode::String(_) | AstNode::Name(_) | AstNode::Number(_) | AstNode::Boolean(_)
                | AstNode::Null | AstNode::Undefined | AstNode::Placeholder | AstNode::Regex { .. }
                | AstNode::Variable(_) | AstNode::ParentVariable(_) | AstNode::Wildcard
                | AstNode::Descendant | AstNode::Parent(_) => {}
                AstNode::Path { steps } => {
                    for (index, step) in steps.into_iter().enumerate() {
                        let PathStep { node, stages, .. } = step;
                        out.push((node, if index == 0 { focus } else { ContextFocus::Item }));
                        for stage in stages {
                            match stage {
                                Stage::Filter(inner) => out.push((& $($m)? **inner, ContextFocus::Item)),
                                Stage::KeepArray | Stage::Index(_) => {}
                            }
                        }
                    }
                }
                AstNode::Binary { lhs, rhs, .. } => {
                    out.push((& $($m)? **lhs, focus));
                    out.push((& $($m)? **rhs, focus));
                }
                AstNode::Unary { operand, .. } => out.push((& $($m)? **operand, focus)),
                AstNode::Function { args, .. } => out.extend(args.into_iter().map(|arg| (arg, focus))),
                AstNode::Call { procedure, args } => {
                    out.push((& $($m)? **procedure, focus));
                    out.extend(args.into_iter().map(|arg| (arg, focus)));
                }
                AstNode::Lambda { body, .. } => out.push((& $($m)? **body, ContextFocus::Unknown)),
                AstNode::Array(items) | AstNode::ArrayGroup(items) | AstNode::Block(items) => {
                    out.extend(items.into_iter().map(|item| (item, focus)));
                }
                AstNode::Object(pairs) => {
                    for (key, value) in pairs {
                        out.push((key, ContextFocus::Unknown));
                        out.push((value, ContextFocus::Unknown));
                    }
                }
                AstNode::ObjectTransform { input, pattern } => {
                    out.push((& $($m)? **input, focus));
                    for (key, value) in pattern {
                        out.push((key, ContextFocus::Unknown));
                        out.push((value, ContextFocus::Unknown));
                    }
                }
                AstNode::Conditional { condition, then_branch, else_branch } => {
                    out.push((& $($m)? **condition, focus));
                    out.push((& $($m)? **then_branch, focus));
                    if let Some(branch) = else_branch {
                        out.push((& $($m)? **branch, focus));
                    }
                }
                AstNode::FunctionApplication(inner) => out.push((& $($m)? **inner, focus)),
                AstNode::Sort { input, terms } => {
                    out.push((& $($m)? **input, focus));
                    out.extend(terms.into_iter().map(|(term, _)| (term, ContextFocus::Unknown)));
                }
                AstNode::Transform { location, update, delete } => {
                    out.push((& $($m)? **location, ContextFocus::Unknown));
                    out.push((& $($m)? **update, ContextFocus::Unknown));
                    if let Some(delete) = delete {
                        out.push((& $($m)? **delete, ContextFocus::Unknown));
                    }
                }
            }
            out
        }
    };
}

children!(children, "The direct children of a node, in source order, with what their context is.",);
children!(children_mut, "As [`children`], for rewriting.", mut);

/// Calls `visit` on a node and all its descendants, parents first.
pub(super) fn each<'a>(node: &'a AstNode, visit: &mut dyn FnMut(&'a AstNode)) {
    // A tree may have a thousand levels, too many for a small thread's stack.
    with_stack(|| {
        visit(node);
        for (child, _) in children(node, ContextFocus::Unknown) {
            each(child, visit);
        }
    });
}

/// Names that the expression binds, by `:=` or as parameters of functions.
pub(super) fn bound_names(tree: &AstNode) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    each(tree, &mut |node| match node {
        AstNode::Binary { op: BinaryOp::ColonEqual, lhs, .. } => {
            if let AstNode::Variable(name) = &**lhs {
                names.insert(name.clone());
            }
        }
        AstNode::Lambda { params, .. } => names.extend(params.iter().cloned()),
        _ => {}
    });
    names
}
