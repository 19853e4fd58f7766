//! Determines the part of the history that an expression reads, and rewrites recognised references into variables.

use std::collections::BTreeSet;

use jsonata_core::ast::{AstNode, BinaryOp, PathStep, Stage};
use jsonata_core::value::with_stack;

use super::super::HistoryReads;
use super::pattern::{self, ArrayIndex};
use super::walk::{self, ContextFocus};
use super::{functions, names};

/// Determines what `tree` reads. `$count(steps)`, `$count(steps[role='r'])`, `$exists(steps[role='r'])` and `steps[role='r'][-1].output`
/// become variables, which need no steps. An index at either end is not rewritten, because it means the same in a history without its
/// middle.
pub(super) fn determine_reads(tree: &mut AstNode, bound: &BTreeSet<String>) -> HistoryReads {
    if is_opaque(tree, bound) {
        return HistoryReads { usage: names_usage(tree), ..HistoryReads::everything() };
    }
    let mut reader = HistoryReader { reads: HistoryReads::none() };
    reader.visit(tree, ContextFocus::Root);
    reader.reads
}

/// Whether names are redefined, or the expression can reach the context in a way that this analysis doesn't follow.
fn is_opaque(tree: &AstNode, bound: &BTreeSet<String>) -> bool {
    // The item is not part of the history, and parameters often have its name.
    let own = names::VARIABLES.into_iter().filter(|name| *name != names::ITEM).chain(functions::all());
    let mut opaque = own.into_iter().any(|name| bound.contains(name));
    walk::each(tree, &mut |node| {
        opaque |= match node {
            AstNode::Parent(_) | AstNode::Transform { .. } => true,
            AstNode::Path { steps } => steps.iter().any(|step| step.is_tuple || step.ancestor_label.is_some()),
            _ => false,
        }
    });
    opaque
}

/// Whether the expression uses `$usage`. Usage is more expensive to load than the rest, and only this name refers to it.
fn names_usage(tree: &AstNode) -> bool {
    let mut found = false;
    walk::each(tree, &mut |node| found |= matches!(node, AstNode::Variable(name) if name == names::USAGE));
    found
}

struct HistoryReader {
    reads: HistoryReads,
}

impl HistoryReader {
    fn visit(&mut self, node: &mut AstNode, focus: ContextFocus) {
        if let Some(variable) = self.rewritten(node, focus) {
            *node = variable;
            return;
        }
        match node {
            AstNode::Path { steps } => return with_stack(|| self.path(steps, focus)),
            AstNode::Function { name, args, .. } if self.function(name, args, focus) => return,
            AstNode::Variable(name) => self.variable(name, focus),
            AstNode::ParentVariable(_) => self.reads.all = true,
            AstNode::Wildcard | AstNode::Descendant => self.context(focus),
            AstNode::Name(name) if name == names::STEPS => self.context(focus),
            // A function value may take the context for a missing argument.
            AstNode::Call { .. } => self.context(focus),
            _ => {}
        }
        with_stack(|| {
            for (child, focus) in walk::children_mut(node, focus) {
                self.visit(child, focus);
            }
        });
    }

    /// Records a read of the context value itself.
    fn context(&mut self, focus: ContextFocus) {
        self.reads.all |= focus != ContextFocus::Item;
    }

    fn variable(&mut self, name: &str, focus: ContextFocus) {
        match name {
            "" => self.context(focus),
            names::STEPS => self.reads.all = true,
            // A function used as a value can be called with any role.
            names::FIRST | names::LAST => self.reads.all = true,
            names::EXTRACTED_BY | names::FRONTMATTER => self.reads.details = true,
            names::OUTCOME => self.reads.outcomes = true,
            names::BRANCHES => self.reads.branches = true,
            names::USAGE => self.reads.usage = true,
            _ => {}
        }
    }

    /// Records the reads of a call. Returns true if its arguments need no visit.
    fn function(&mut self, name: &str, args: &[AstNode], focus: ContextFocus) -> bool {
        match (name, args) {
            (names::FIRST, [AstNode::String(role)]) => {
                self.reads.first_of.insert(role.clone());
                return true;
            }
            (names::LAST, [AstNode::String(role)]) => {
                self.reads.last_of.insert(role.clone());
                return true;
            }
            (names::FIRST | names::LAST, _) => self.reads.all = true,
            (names::EXTRACTED_BY | names::FRONTMATTER, _) => self.reads.details = true,
            (names::OUTCOME, _) => self.reads.outcomes = true,
            (names::BRANCHES, _) => self.reads.branches = true,
            _ if functions::reads_context(name, args.len()) => self.context(focus),
            _ => {}
        }
        false
    }

    fn path(&mut self, steps: &mut Vec<PathStep>, focus: ContextFocus) {
        let mut from = 0;
        if let Some(base) = pattern::steps_base(steps, focus) {
            if let Some(variable) = self.end_of_role(steps, base) {
                let kept = steps[base].stages.split_off(2);
                steps[base] = PathStep::with_stages(AstNode::Variable(variable), kept);
                steps.drain(..base);
                from = 1;
            } else {
                self.steps(&steps[base].stages);
                self.stages(&mut steps[base].stages);
                from = base + 1;
            }
        } else if pattern::names_root_field(steps, focus) {
            from = 1;
        }
        for (index, step) in steps.iter_mut().enumerate().skip(from) {
            self.visit(&mut step.node, if index == 0 { focus } else { ContextFocus::Item });
            self.stages(&mut step.stages);
        }
    }

    fn stages(&mut self, stages: &mut [Stage]) {
        for stage in stages {
            match stage {
                Stage::Filter(inner) => self.visit(inner, ContextFocus::Item),
                Stage::KeepArray | Stage::Index(_) => {}
            }
        }
    }

    /// Records a read of steps: the steps up to an index, or all steps.
    fn steps(&mut self, stages: &[Stage]) {
        match stages.first().and_then(pattern::index) {
            Some(ArrayIndex::Front(n)) => self.reads.first = self.reads.first.max(n + 1),
            Some(ArrayIndex::Back(n)) => self.reads.last = self.reads.last.max(n),
            None => self.reads.all = true,
        }
    }

    /// Returns the variable for the step in `steps[role='r'][0].output` and `steps[role='r'][-1].output`. The variable has only the output,
    /// so `None` if the path reads anything else of the step.
    fn end_of_role(&mut self, steps: &[PathStep], base: usize) -> Option<String> {
        let output = matches!(
            &steps.get(base + 1)?.node,
            AstNode::Name(name) if name == "output" || name == "meta"
        );
        let [by_role, by_index, rest @ ..] = steps[base].stages.as_slice() else {
            return None;
        };
        if !output || rest.iter().any(|stage| !matches!(stage, Stage::KeepArray)) {
            return None;
        }
        let role = pattern::role(by_role)?;
        match pattern::index(by_index)? {
            ArrayIndex::Front(0) => {
                self.reads.first_of.insert(role.to_owned());
                Some(names::first_of(role))
            }
            ArrayIndex::Back(1) => {
                self.reads.last_of.insert(role.to_owned());
                Some(names::last_of(role))
            }
            ArrayIndex::Front(_) | ArrayIndex::Back(_) => None,
        }
    }

    /// Rewrites a count of steps, or a check whether a role has any.
    fn rewritten(&mut self, node: &AstNode, focus: ContextFocus) -> Option<AstNode> {
        let AstNode::Function { name, args, .. } = node else {
            return None;
        };
        let [argument] = args.as_slice() else {
            return None;
        };
        let counted = counted(argument, focus)?;
        match (name.as_str(), counted) {
            ("count", ReadCount::All) => {
                self.reads.counts = true;
                Some(AstNode::variable(names::STEP_COUNT))
            }
            ("count", ReadCount::OfRole(role)) => Some(self.count_of(role)),
            ("exists", ReadCount::OfRole(role)) => Some(AstNode::Binary {
                op: BinaryOp::GreaterThan,
                lhs: Box::new(self.count_of(role)),
                rhs: Box::new(AstNode::number(0.0)),
            }),
            _ => None,
        }
    }

    fn count_of(&mut self, role: &str) -> AstNode {
        self.reads.count_of.insert(role.to_owned());
        AstNode::variable(names::count_of(role))
    }
}

enum ReadCount<'a> {
    All,
    OfRole(&'a str),
}

/// The steps that an argument means, if it is exactly all steps or all steps of a role.
fn counted(argument: &AstNode, focus: ContextFocus) -> Option<ReadCount<'_>> {
    let steps = match argument {
        AstNode::Variable(name) if name == names::STEPS => return Some(ReadCount::All),
        AstNode::Path { steps } => steps,
        _ => return None,
    };
    let base = pattern::steps_base(steps, focus)?;
    if base + 1 != steps.len() {
        return None;
    }
    match steps[base].stages.as_slice() {
        [] => Some(ReadCount::All),
        [stage] => pattern::role(stage).map(ReadCount::OfRole),
        _ => None,
    }
}
