//! Finds conditions that decide nothing, because they are always true or always false.

use std::collections::BTreeSet;

use jsonata_core::ast::{AstNode, BinaryOp, PathStep, Stage, UnaryOp};
use jsonata_core::value::with_stack;

use super::super::truth::truth;
use super::super::{HistoryReads, ThreadHistory};
use super::{EvalError, EvaluationSession, JsonataProgram, cost, functions, names, text, walk};

/// Most comparisons of one expression that are reported. Every compilation searches for them, so keep the number small.
const MOST_NAMED: usize = 8;

/// The constant truth value of an expression, and the reason, as a clause after a colon.
struct ConstantTruth {
    value: bool,
    why: String,
}

/// Facts about the steps of a thread wherever a condition is tried.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KnownSteps<'r> {
    /// Whether there is at least one.
    pub(crate) has_one: bool,
    /// The role of the last one.
    pub(crate) last_role: Option<&'r str>,
}

/// A part of the steps that exists if there is a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepPart {
    /// All steps, the first one, or the last one.
    Steps,
    /// The role of the first step.
    FirstRole,
    /// The role of the last step.
    LastRole,
    /// An output.
    Output,
}

/// Returns the warning about an expression that is constant because of what is known of the steps.
pub(super) fn with_known_steps(tree: &AstNode, bound: &BTreeSet<String>, known: KnownSteps<'_>) -> Option<String> {
    let ConstantTruth { value, why } = ConstantReader { bound, known }.verdict(tree)?;
    Some(format!("it is always {value}: {why}"))
}

/// Returns warnings about an expression, for its author.
pub(super) fn warnings(tree: &AstNode, bound: &BTreeSet<String>, expression: &str) -> Vec<String> {
    let mut reader = ConstantReader { bound, known: KnownSteps::default() };
    if let Some(ConstantTruth { value, why }) = reader.verdict(tree) {
        return vec![format!("it is always {value}: {why}")];
    }
    if reader.is_closed(tree) {
        return vec![of_closed(tree, expression)];
    }
    let mut warnings = Vec::new();
    walk::each(tree, &mut |node| {
        if warnings.len() < MOST_NAMED
            && let Some(ConstantTruth { why, .. }) = with_itself(node)
            && !warnings.contains(&why)
        {
            warnings.push(why);
        }
    });
    warnings
}

/// Evaluates an expression that reads nothing, if that is cheap.
fn of_closed(tree: &AstNode, expression: &str) -> String {
    const WHY: &str = "it reads nothing of the thread";
    if !cost::is_plain(tree, expression) {
        return format!("its result never changes: {WHY}");
    }
    match truth_without_thread(tree) {
        Ok(value) => format!("it is always {value}: {WHY}"),
        Err(error) => format!("it always fails: {error}"),
    }
}

fn truth_without_thread(tree: &AstNode) -> Result<bool, EvalError> {
    let mut session = EvaluationSession::new(&ThreadHistory::default(), &HistoryReads::none());
    session.run(&JsonataProgram { tree: tree.clone() }).map(|value| truth(value.as_ref()))
}

/// A comparison of two literals, such as `1 = 1`. Other operators may take long, such as the one of `1..9000000`.
fn of_literals(node: &AstNode, op: BinaryOp, lhs: &AstNode, rhs: &AstNode) -> Option<ConstantTruth> {
    // Each comparison has a mirror image, and no other operator has one.
    (mirrored(op).is_some() && literal(lhs).is_some() && literal(rhs).is_some()).then_some(())?;
    always(truth_without_thread(node).ok()?, format!("`{}` reads nothing of the thread", text::render_node(node)))
}

fn always(value: bool, why: impl Into<String>) -> Option<ConstantTruth> {
    Some(ConstantTruth { value, why: why.into() })
}

struct ConstantReader<'a> {
    bound: &'a BTreeSet<String>,
    known: KnownSteps<'a>,
}

impl ConstantReader<'_> {
    /// Returns the constant truth value of a node; `None` if it depends on the thread or is hard to determine.
    fn verdict(&mut self, node: &AstNode) -> Option<ConstantTruth> {
        with_stack(|| match node {
            AstNode::Path { steps } => path(steps).or_else(|| {
                self.step_part(steps).filter(|part| *part != StepPart::Output)?;
                always(true, format!("`{}` is always there after a step", text::path(steps)))
            }),
            AstNode::Variable(name) => self.variable(name),
            AstNode::Regex { .. } | AstNode::Lambda { .. } | AstNode::Transform { .. } => of_function(node),
            AstNode::Function { name, args, .. } => self.function(node, name, args),
            AstNode::Array(items) => self.array(node, items),
            AstNode::Object(pairs) => object(node, pairs),
            AstNode::Block(items) => self.verdict(items.last()?),
            AstNode::Conditional { condition, then_branch, else_branch } => {
                self.conditional(condition, then_branch, else_branch.as_deref())
            }
            AstNode::Binary { op, lhs, rhs } => self.binary(node, *op, lhs, rhs),
            _ => literal(node),
        })
    }

    fn variable(&self, name: &str) -> Option<ConstantTruth> {
        match name {
            _ if self.bound.contains(name) => None,
            names::START | names::THREAD_ID => always(true, format!("`${name}` is always there")),
            _ if names::VARIABLES.contains(&name) || !functions::exists(name) => None,
            _ => always(false, format!("`${name}` is a function that is not called")),
        }
    }

    fn function(&mut self, node: &AstNode, name: &str, args: &[AstNode]) -> Option<ConstantTruth> {
        match (name, args) {
            _ if self.bound.contains(name) => None,
            _ if args.iter().any(|arg| matches!(arg, AstNode::Placeholder)) => of_function(node),
            ("not", [arg]) => {
                let ConstantTruth { value, why } = self.verdict(arg)?;
                let why = match literal(arg) {
                    Some(_) => format!("`{}` never changes", text::render_node(node)),
                    None => format!("`{}` inside `$not` is always {value}: {why}", text::render_node(arg)),
                };
                always(!value, why)
            }
            ("boolean", [arg]) => self.verdict(arg),
            ("exists", [arg]) if self.is_there(arg) => {
                always(true, format!("`{}` is always there", text::render_node(arg)))
            }
            ("exists", [AstNode::Path { steps }]) if self.step_part(steps).is_some() => {
                always(true, format!("`{}` is always there after a step", text::path(steps)))
            }
            ("count", [arg]) if self.least_count(arg) > 0.0 => always(true, COUNTS_A_STEP),
            _ => None,
        }
    }

    /// Whether a value exists in every thread.
    fn is_there(&mut self, node: &AstNode) -> bool {
        let is_root = |name: &str| [names::START, names::STEPS, names::THREAD_ID, names::DEPTH].contains(&name);
        match node {
            AstNode::Variable(name) => (is_root(name) || name == names::USAGE) && !self.bound.contains(name),
            AstNode::Path { steps } => match steps.as_slice() {
                [PathStep { node: AstNode::Name(name), stages, .. }] => is_root(name) && stages.is_empty(),
                _ => false,
            },
            _ => literal(node).is_some() && *node != AstNode::Undefined,
        }
    }

    fn array(&mut self, node: &AstNode, items: &[AstNode]) -> Option<ConstantTruth> {
        let verdicts: Vec<Option<ConstantTruth>> = items.iter().map(|item| self.verdict(item)).collect();
        let is = |value| move |verdict: &Option<ConstantTruth>| verdict.as_ref().is_some_and(|it| it.value == value);
        if verdicts.iter().any(is(true)) {
            return written(node, true);
        }
        if verdicts.iter().all(is(false)) { written(node, false) } else { None }
    }

    fn conditional(&mut self, asked: &AstNode, then: &AstNode, other: Option<&AstNode>) -> Option<ConstantTruth> {
        let other = |reader: &mut Self| match other {
            Some(other) => reader.verdict(other),
            None => always(false, "it has no value for the other case"),
        };
        match self.verdict(asked) {
            Some(ConstantTruth { value: true, .. }) => self.verdict(then),
            Some(ConstantTruth { value: false, .. }) => other(self),
            None => {
                let then = self.verdict(then)?;
                other(self).filter(|other| other.value == then.value)
            }
        }
    }

    fn binary(&mut self, node: &AstNode, op: BinaryOp, lhs: &AstNode, rhs: &AstNode) -> Option<ConstantTruth> {
        match op {
            BinaryOp::And | BinaryOp::Or => self.chain(node, op),
            BinaryOp::Concatenate => [lhs, rhs].into_iter().find_map(|side| match side {
                AstNode::String(text) if !text.is_empty() => {
                    always(true, format!("it is never shorter than `'{text}'`"))
                }
                _ => None,
            }),
            BinaryOp::Default => self.verdict(rhs).filter(|rhs| rhs.value),
            BinaryOp::In if matches!(rhs, AstNode::Array(items) if items.is_empty()) => {
                always(false, "nothing is in an empty list")
            }
            _ => with_itself(node)
                .or_else(|| of_literals(node, op, lhs, rhs))
                .or_else(|| self.count(op, lhs, rhs))
                .or_else(|| self.part_compared(op, lhs, rhs)),
        }
    }

    /// `a or b or c`, or a chain with `and`.
    fn chain(&mut self, node: &AstNode, op: BinaryOp) -> Option<ConstantTruth> {
        let decides = op == BinaryOp::Or;
        let mut links = Vec::new();
        collect(node, op, &mut links);
        let mut same = None;
        let mut is_open = false;
        for link in &links {
            match self.verdict(link) {
                Some(verdict) if verdict.value == decides => return Some(verdict),
                Some(verdict) => same = Some(verdict),
                None => is_open = true,
            }
        }
        if !is_open {
            return same;
        }
        contradiction(&links, decides)
    }

    /// The part of the steps that a path reads; `None` if it reads something else, or if there may be no step.
    fn step_part(&self, path: &[PathStep]) -> Option<StepPart> {
        let (first, below) = path.split_first().filter(|_| self.known.has_one)?;
        let is_steps = match &first.node {
            AstNode::Name(name) => name == names::STEPS,
            AstNode::Variable(name) => name == names::STEPS && !self.bound.contains(name),
            _ => false,
        };
        let index = match first.stages.as_slice() {
            [] if below.is_empty() => None,
            [Stage::Filter(index)] => Some(number(index).filter(|index| [0.0, -1.0].contains(index))?),
            _ => return None,
        };
        let names = below.iter().map(|step| match &step.node {
            AstNode::Name(name) if step.stages.is_empty() => Some(name.as_str()),
            _ => None,
        });
        let part = match names.collect::<Option<Vec<&str>>>()?.as_slice() {
            [] => StepPart::Steps,
            ["role"] if index == Some(-1.0) => StepPart::LastRole,
            ["role"] => StepPart::FirstRole,
            ["output"] => StepPart::Output,
            _ => return None,
        };
        is_steps.then_some(part)
    }

    /// The least number of values that a node can have.
    fn least_count(&self, node: &AstNode) -> f64 {
        match node {
            AstNode::Path { steps } if self.step_part(steps) == Some(StepPart::Steps) => 1.0,
            AstNode::Variable(name) if name == names::STEPS && self.known.has_one && !self.bound.contains(name) => 1.0,
            _ => 0.0,
        }
    }

    /// `$count(…) >= 0` and similar comparisons.
    fn count(&self, op: BinaryOp, lhs: &AstNode, rhs: &AstNode) -> Option<ConstantTruth> {
        let (op, limit, counted) = match (number(lhs), number(rhs)) {
            (None, Some(limit)) => (op, limit, counted(lhs)?),
            (Some(limit), None) => (mirrored(op)?, limit, counted(rhs)?),
            _ => return None,
        };
        let least = self.least_count(counted);
        let value = match op {
            BinaryOp::GreaterThanOrEqual if limit <= least => true,
            BinaryOp::GreaterThan | BinaryOp::NotEqual if limit < least => true,
            BinaryOp::LessThan if limit <= least => false,
            BinaryOp::LessThanOrEqual | BinaryOp::Equal if limit < least => false,
            _ => return None,
        };
        always(value, if least > 0.0 { COUNTS_A_STEP } else { "a count is never less than 0" })
    }

    /// `steps[-1].role = 'x'` if that role is known, and comparisons of parts of the steps with `null`.
    fn part_compared(&self, op: BinaryOp, lhs: &AstNode, rhs: &AstNode) -> Option<ConstantTruth> {
        let is_equal = match op {
            BinaryOp::Equal => true,
            BinaryOp::NotEqual => false,
            _ => return None,
        };
        let ((AstNode::Path { steps: path }, other) | (other, AstNode::Path { steps: path })) = (lhs, rhs) else {
            return None;
        };
        match (self.step_part(path)?, other, self.known.last_role) {
            (StepPart::LastRole, AstNode::String(name), Some(role)) => {
                always((name == role) == is_equal, format!("`{}` is always `{role}` here", text::path(path)))
            }
            (part, AstNode::Null, _) if part != StepPart::Output => {
                always(!is_equal, format!("`{}` is never null after a step", text::path(path)))
            }
            _ => None,
        }
    }

    /// Whether a node reads nothing of the thread.
    fn is_closed(&self, tree: &AstNode) -> bool {
        let mut is_closed = true;
        walk::each(tree, &mut |node| {
            is_closed &= match node {
                AstNode::Name(_) | AstNode::Wildcard | AstNode::Descendant | AstNode::Parent(_) => false,
                AstNode::ParentVariable(_) => false,
                AstNode::Variable(name) => self.bound.contains(name) || functions::exists(name),
                AstNode::Function { name, args, .. } => {
                    !names::FUNCTIONS.contains(&name.as_str())
                        && (self.bound.contains(name) || !functions::reads_context(name, args.len()))
                }
                _ => true,
            };
        });
        is_closed
    }
}

/// Returns the truth value of a literal, such as `'yes'` or `1`.
fn literal(node: &AstNode) -> Option<ConstantTruth> {
    match node {
        AstNode::String(value) => written(node, !value.is_empty()),
        AstNode::Number(value) => written(node, *value != 0.0),
        AstNode::Unary { op: UnaryOp::Negate, operand } => match &**operand {
            AstNode::Number(value) => written(node, *value != 0.0),
            _ => None,
        },
        AstNode::Boolean(value) => written(node, *value),
        AstNode::Null | AstNode::Undefined => written(node, false),
        _ => None,
    }
}

fn written(node: &AstNode, value: bool) -> Option<ConstantTruth> {
    always(value, format!("`{}` always counts as {value}", text::render_node(node)))
}

fn of_function(node: &AstNode) -> Option<ConstantTruth> {
    let why = match node {
        AstNode::Regex { .. } => "a pattern counts as false; `$contains` and `$match` apply it",
        _ => "its value is a function, which counts as false",
    };
    always(false, why)
}

fn object(node: &AstNode, pairs: &[(AstNode, AstNode)]) -> Option<ConstantTruth> {
    let is_there = |(key, value): &(AstNode, AstNode)| {
        matches!(key, AstNode::String(_)) && literal(value).is_some() && *value != AstNode::Undefined
    };
    match pairs {
        [] => written(node, false),
        pairs if pairs.iter().any(is_there) => always(true, "an object that is not empty counts as true"),
        _ => None,
    }
}

fn path(steps: &[PathStep]) -> Option<ConstantTruth> {
    if !steps.iter().all(|step| step.stages.is_empty()) {
        return None;
    }
    let names: Option<Vec<&str>> = steps
        .iter()
        .map(|step| match &step.node {
            AstNode::Name(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    match names?.as_slice() {
        [names::START | names::THREAD_ID] | [names::START, "workflow" | "prompt"] => {
            always(true, format!("`{}` is always there", text::path(steps)))
        }
        _ => None,
    }
}

/// A comparison of a value with itself.
fn with_itself(node: &AstNode) -> Option<ConstantTruth> {
    let AstNode::Binary { op, lhs, rhs } = node else { return None };
    let value = match op {
        BinaryOp::Equal | BinaryOp::LessThanOrEqual | BinaryOp::GreaterThanOrEqual => true,
        BinaryOp::NotEqual | BinaryOp::LessThan | BinaryOp::GreaterThan => false,
        _ => return None,
    };
    let is_same = literal(lhs).is_none() && with_stack(|| lhs == rhs);
    is_same.then(|| ConstantTruth { value, why: format!("`{}` compares a value with itself", text::render_node(node)) })
}

/// Why a count of the steps is not 0.
const COUNTS_A_STEP: &str = "the thread already has a step when it is tried";

/// The counted argument of `$count(…)`.
fn counted(node: &AstNode) -> Option<&AstNode> {
    match node {
        AstNode::Function { name, args, .. } if name == "count" && args.len() == 1 => args.first(),
        _ => None,
    }
}

fn number(node: &AstNode) -> Option<f64> {
    match node {
        AstNode::Number(number) => Some(*number),
        AstNode::Unary { op: UnaryOp::Negate, operand } => number(operand).map(|number| -number),
        _ => None,
    }
}

fn mirrored(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::GreaterThan => BinaryOp::LessThan,
        BinaryOp::GreaterThanOrEqual => BinaryOp::LessThanOrEqual,
        BinaryOp::LessThan => BinaryOp::GreaterThan,
        BinaryOp::LessThanOrEqual => BinaryOp::GreaterThanOrEqual,
        BinaryOp::Equal | BinaryOp::NotEqual => op,
        _ => return None,
    })
}

fn collect<'a>(node: &'a AstNode, op: BinaryOp, links: &mut Vec<&'a AstNode>) {
    with_stack(|| match node {
        AstNode::Binary { op: own, lhs, rhs } if *own == op => {
            collect(lhs, op, links);
            collect(rhs, op, links);
        }
        AstNode::Block(items) if items.len() == 1 => collect(&items[0], op, links),
        _ => links.push(node),
    });
}

/// Two links that cannot both be false, as in `x != 1 or x != 2`, or cannot both be true, as in `x = 1 and x = 2`.
fn contradiction(links: &[&AstNode], is_or: bool) -> Option<ConstantTruth> {
    /// Most links that are compared with each other. Handwritten conditions have fewer.
    const MOST: usize = 32;
    let compared: Vec<(bool, &AstNode, &AstNode)> = links.iter().take(MOST).filter_map(|link| equality(link)).collect();
    for (index, (is_equal, side, value)) in compared.iter().enumerate() {
        for (other_is_equal, other_side, other_value) in &compared[index + 1..] {
            let is_certain = match (is_or, is_equal, other_is_equal) {
                (true, false, false) | (false, true, true) => value != other_value,
                (_, one, other) => one != other && value == other_value,
            };
            if is_certain && side == other_side {
                let (word, side) = (if is_or { "is always" } else { "is never" }, text::render_node(side));
                let both = if is_or { "at least one of two comparisons" } else { "more than one of two comparisons" };
                return always(is_or, format!("{both} of `{side}` {word} true"));
            }
        }
    }
    None
}

/// The parts of a comparison with a literal: whether it asks for equality, the other side, and the literal.
fn equality(node: &AstNode) -> Option<(bool, &AstNode, &AstNode)> {
    let (is_equal, lhs, rhs) = match node {
        AstNode::Binary { op: BinaryOp::Equal, lhs, rhs } => (true, lhs, rhs),
        AstNode::Binary { op: BinaryOp::NotEqual, lhs, rhs } => (false, lhs, rhs),
        _ => return None,
    };
    match (literal(lhs), literal(rhs)) {
        (None, Some(_)) => Some((is_equal, lhs, rhs)),
        (Some(_), None) => Some((is_equal, rhs, lhs)),
        _ => None,
    }
}
