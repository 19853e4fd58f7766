//! Finds the fields of roles' outputs that an expression reads, and mistakes in it.

use std::collections::BTreeSet;

use jsonata_core::ast::{AstNode, BinaryOp, PathStep, Stage, UnaryOp};
use jsonata_core::value::with_stack;
use serde_json::Value;

use super::super::analysis::{ComparisonSubject, FieldRead, LiteralComparison, SourceField, WILDCARD};
use super::super::history::INPUT;
use super::pattern::{self, ArrayIndex};
use super::places::{BoundPlaces, ContextPlace, StepRoles};
use super::walk::{self, ContextFocus};
use super::{functions, names, text};
use json_cas::nearest::nearest;

/// The fields of each amount in `$usage`.
const AMOUNT: [&str; 4] = ["steps", "tokens", "cost", "seconds"];

/// The field that was probably meant.
fn amount(name: &str) -> &'static str {
    nearest(name, AMOUNT).unwrap_or("cost")
}

/// The findings about an expression.
pub(super) struct FieldAnalysis {
    /// Fields it reads, sorted.
    pub(super) fields: Vec<FieldRead>,
    /// Fields it reads of steps whose roles are unknown, sorted.
    pub(super) of_any_step: Vec<FieldRead>,
    /// Warnings in words for its author, in source order.
    pub(super) warnings: Vec<String>,
    /// Comparisons with literals, in source order.
    pub(super) comparisons: Vec<LiteralComparison>,
    /// Fields of the thread's input it reads, sorted.
    pub(super) inputs: Vec<FieldRead>,
    /// Whether it reads the item of a branch.
    pub(super) item: bool,
    /// The field that its value, or the only part of a list that it builds, comes from.
    pub(super) source: Option<SourceField>,
}

/// Analyses an expression.
pub(super) fn analyse_fields(tree: &AstNode, bound: &BTreeSet<String>) -> FieldAnalysis {
    let mut reader = FieldReader { places: BoundPlaces::new(tree), ..FieldReader::new(bound) };
    let tree = match tree {
        AstNode::Array(items) => items.first().filter(|_| items.len() == 1).unwrap_or(tree),
        tree => tree,
    };
    // Nothing shows its text, and the tree may be too deep to write.
    let source = match reader.visit(tree, &ContextPlace::Root) {
        ContextPlace::Input(path) if !path.is_empty() => Some(SourceField::Input(path)),
        place => field_read(&place, String::new()).map(SourceField::Output),
    };
    // A wildcard gives the values of several fields, which can be lists or not.
    let source = source.filter(|source| !source.path().iter().any(|name| name == WILDCARD));
    // A function may leave out items, or give a single one without its list.
    let source = source.filter(|_| bound.is_empty());
    let FieldReader { fields, of_any_step, inputs, warnings, comparisons, item, .. } = reader;
    let [fields, of_any_step, inputs] = [fields, of_any_step, inputs].map(|reads| reads.into_iter().collect());
    FieldAnalysis { fields, of_any_step, warnings, comparisons, inputs, item, source }
}

/// Returns the field that a node reads, if its role is known and the node leaves out no value of it.
pub(super) fn field_of(node: &AstNode, bound: &BTreeSet<String>) -> Option<FieldRead> {
    if leaves_out(node) {
        return None;
    }
    let mut reader = FieldReader::new(bound);
    let at = reader.visit(node, &ContextPlace::Root);
    field_read(&at, text::render_node(node))
}

/// Whether a predicate or a function may leave out the value that a node reads.
fn leaves_out(node: &AstNode) -> bool {
    let mut found = false;
    walk::each(node, &mut |node| {
        found |= match node {
            AstNode::Lambda { .. } => true,
            AstNode::Path { steps } => steps.iter().flat_map(|step| &step.stages).any(|stage| {
                let is_filter = matches!(stage, Stage::Filter(_));
                is_filter && pattern::index(stage).is_none() && pattern::role(stage).is_none()
            }),
            _ => false,
        }
    });
    found
}

struct FieldReader<'a> {
    bound: &'a BTreeSet<String>,
    places: BoundPlaces,
    fields: BTreeSet<FieldRead>,
    of_any_step: BTreeSet<FieldRead>,
    inputs: BTreeSet<FieldRead>,
    warnings: Vec<String>,
    comparisons: Vec<LiteralComparison>,
    item: bool,
}

impl<'a> FieldReader<'a> {
    fn new(bound: &'a BTreeSet<String>) -> FieldReader<'a> {
        FieldReader {
            bound,
            places: BoundPlaces::default(),
            fields: BTreeSet::new(),
            of_any_step: BTreeSet::new(),
            inputs: BTreeSet::new(),
            warnings: Vec::new(),
            comparisons: Vec::new(),
            item: false,
        }
    }

    /// Visits a node whose context is `at`, and returns the meaning of its value.
    fn visit(&mut self, node: &AstNode, at: &ContextPlace) -> ContextPlace {
        with_stack(|| match node {
            AstNode::Path { steps } => self.path(steps, at),
            AstNode::Variable(name) => self.variable(name, at),
            AstNode::ParentVariable(_) => ContextPlace::Root,
            AstNode::Function { name, args, .. } => self.function(name, args, at),
            AstNode::Block(items) => {
                items.iter().map(|item| self.visit(item, at)).last().unwrap_or(ContextPlace::Elsewhere)
            }
            AstNode::FunctionApplication(inner) => self.visit(inner, at),
            // Its terms are evaluated on each item.
            AstNode::Sort { input, terms } => {
                let items = self.visit(input, at);
                terms.iter().for_each(|(term, _)| drop(self.visit(term, &items)));
                items
            }
            AstNode::Binary { op: op @ (BinaryOp::Equal | BinaryOp::NotEqual | BinaryOp::In), lhs, rhs } => {
                for (side, other) in [(lhs, rhs), (rhs, lhs)] {
                    let side_at = self.visit(side, at);
                    self.compare(*op, &side_at, side, other);
                }
                ContextPlace::Elsewhere
            }
            AstNode::Binary { op: BinaryOp::ColonEqual, lhs, rhs } => {
                let value = self.visit(rhs, at);
                if let AstNode::Variable(name) = &**lhs {
                    self.places.bind(name, value.clone());
                }
                value
            }
            // Its callers are unknown.
            AstNode::Lambda { params, body, .. } => {
                let depth = self.places.enter(params, Vec::new());
                self.visit(body, at);
                self.places.leave(depth);
                ContextPlace::Elsewhere
            }
            AstNode::Binary { op: BinaryOp::ChainPipe, lhs, rhs } => self.chain(lhs, rhs, at),
            _ => {
                for (child, _) in walk::children(node, ContextFocus::Unknown) {
                    self.visit(child, at);
                }
                ContextPlace::Elsewhere
            }
        })
    }

    /// Visits `lhs ~> $function(rest)`, where `lhs` is the first argument.
    fn chain(&mut self, lhs: &AstNode, rhs: &AstNode, at: &ContextPlace) -> ContextPlace {
        let items = self.visit(lhs, at);
        match rhs {
            AstNode::Function { name, args, .. } => match self.callback(name, &items, args, at) {
                Some(value) => value,
                None => {
                    args.iter().for_each(|argument| drop(self.visit(argument, at)));
                    ContextPlace::Elsewhere
                }
            },
            other => {
                self.visit(other, at);
                ContextPlace::Elsewhere
            }
        }
    }

    /// Visits the function that a built-in function calls for each of some items, and returns the meaning of the result. `None` if `rest`
    /// does not begin with a function that is written out.
    fn callback(
        &mut self,
        name: &str,
        items: &ContextPlace,
        rest: &[AstNode],
        at: &ContextPlace,
    ) -> Option<ContextPlace> {
        let [AstNode::Lambda { params, body, .. }, others @ ..] = rest else { return None };
        if self.bound.contains(name) {
            return None;
        }
        let value = match name {
            "each" | "sift" => self.member(items),
            _ => items.clone(),
        };
        let places = match name {
            "map" | "filter" | "single" | "each" | "sift" => vec![value, ContextPlace::Elsewhere, items.clone()],
            "sort" => vec![value.clone(), value],
            "reduce" => vec![ContextPlace::Elsewhere, value],
            _ => return None,
        };
        let depth = self.places.enter(params, places);
        let of_body = self.visit(body, at);
        self.places.leave(depth);
        others.iter().for_each(|argument| drop(self.visit(argument, at)));
        Some(match name {
            "map" | "each" => of_body,
            "reduce" => ContextPlace::Elsewhere,
            _ => items.clone(),
        })
    }

    /// The meaning of the values of an object.
    fn member(&mut self, object: &ContextPlace) -> ContextPlace {
        match object {
            ContextPlace::Output(..) | ContextPlace::Input(_) => self.field(object, WILDCARD, &[]),
            _ => ContextPlace::Elsewhere,
        }
    }

    /// Records comparisons of `side`, whose meaning is `at`, with the literals in `other`.
    fn compare(&mut self, op: BinaryOp, at: &ContextPlace, side: &AstNode, other: &AstNode) {
        let what = match at {
            ContextPlace::RoleName => ComparisonSubject::Role,
            _ => match field_read(at, text::render_node(side)) {
                Some(field) => ComparisonSubject::Field(field),
                None => return,
            },
        };
        let literals = literals(other, op == BinaryOp::In);
        // `x != null` asks whether `x` exists.
        let literals = literals.into_iter().filter(|literal| op != BinaryOp::NotEqual || !literal.is_null());
        self.comparisons.extend(literals.map(|literal| LiteralComparison { what: what.clone(), literal }));
    }

    fn variable(&mut self, name: &str, at: &ContextPlace) -> ContextPlace {
        match name {
            _ if self.bound.contains(name) => self.places.place_of(name),
            "" => at.clone(),
            names::STEPS => ContextPlace::Steps(StepRoles::Unknown),
            names::START => ContextPlace::Start,
            names::USAGE => ContextPlace::Usage,
            names::ITEM => self.item(),
            _ => {
                if !names::VARIABLES.contains(&name) && !functions::exists(name) {
                    let mut message = format!("the variable `${name}` is never bound, so it is always missing");
                    if let Some(near) = nearest(name, names::VARIABLES) {
                        message.push_str(&format!("; did you mean `${near}`?"));
                    }
                    self.warn(message);
                }
                ContextPlace::Elsewhere
            }
        }
    }

    /// Records a read of the item, whose fields are unknown.
    fn item(&mut self) -> ContextPlace {
        self.item = true;
        ContextPlace::Elsewhere
    }

    fn function(&mut self, name: &str, args: &[AstNode], at: &ContextPlace) -> ContextPlace {
        match (name, args) {
            (names::FIRST | names::LAST, [AstNode::String(role)]) => {
                self.comparisons
                    .push(LiteralComparison { what: ComparisonSubject::Role, literal: Value::from(role.as_str()) });
                return ContextPlace::Output(StepRoles::Role(role.clone()), Vec::new());
            }
            (names::BRANCHES, [AstNode::String(role)]) => {
                for what in [ComparisonSubject::Role, ComparisonSubject::Group] {
                    self.comparisons.push(LiteralComparison { what, literal: Value::from(role.as_str()) });
                }
            }
            (names::OUTCOME, [AstNode::String(role)]) => self.warn(format!(
                "`$outcome` takes a step, not the name of a role; write `$outcome(steps[role='{role}'][-1])`"
            )),
            ("not", [argument]) => {
                let negated = self.visit(argument, at);
                let may_be_missing =
                    matches!(negated, ContextPlace::Steps(_) | ContextPlace::Output(..) | ContextPlace::Input(_));
                if may_be_missing && !self.reads_bound(argument) {
                    let text = text::render_node(argument);
                    self.warn(format!(
                        "`$not({text})` does not match when `{text}` is missing, because the negation of a missing \
                         value is also missing; write `$not($exists({text}))` to ask whether it is there"
                    ));
                }
            }
            (_, [items, rest @ ..]) => {
                let items = match items {
                    // A list of one value is for a value that may be no list.
                    AstNode::Array(only) if only.len() == 1 => self.visit(&only[0], at),
                    items => self.visit(items, at),
                };
                if let Some(value) = self.callback(name, &items, rest, at) {
                    return value;
                }
                rest.iter().for_each(|argument| drop(self.visit(argument, at)));
            }
            (_, []) => {}
        }
        ContextPlace::Elsewhere
    }

    /// Whether an expression reads a name that the whole expression binds.
    fn reads_bound(&self, node: &AstNode) -> bool {
        let mut found = false;
        walk::each(node, &mut |node| found |= matches!(node, AstNode::Variable(name) if self.bound.contains(name)));
        found
    }

    fn path(&mut self, steps: &[PathStep], at: &ContextPlace) -> ContextPlace {
        let mut current = at.clone();
        for (index, step) in steps.iter().enumerate() {
            let next = match &step.node {
                AstNode::Name(name) => self.field(&current, name, &steps[..index]),
                AstNode::Wildcard if matches!(current, ContextPlace::Output(..) | ContextPlace::Input(_)) => {
                    self.field(&current, WILDCARD, &steps[..index])
                }
                node => {
                    if index > 0 {
                        self.read(&current, text::path(&steps[..index]));
                    }
                    self.visit(node, &current)
                }
            };
            current = self.stages(next, &step.stages);
        }
        self.read(&current, text::path(steps));
        current
    }

    /// Returns the meaning of the field `name`. `before` is the path in front of it.
    fn field(&mut self, at: &ContextPlace, name: &str, before: &[PathStep]) -> ContextPlace {
        match at {
            ContextPlace::Root => match name {
                names::STEPS => ContextPlace::Steps(StepRoles::Unknown),
                names::START => ContextPlace::Start,
                names::THREAD_ID | names::DEPTH => ContextPlace::Elsewhere,
                names::ITEM => self.item(),
                _ => self.no_field(at, name, before),
            },
            ContextPlace::Start => match name {
                "workflow" | "prompt" => ContextPlace::Elsewhere,
                INPUT => ContextPlace::Input(Vec::new()),
                _ => self.no_field(at, name, before),
            },
            ContextPlace::Steps(who) => match name {
                "output" | "meta" => ContextPlace::Output(who.clone(), Vec::new()),
                "role" => ContextPlace::RoleName,
                "detail" | "agent" => ContextPlace::Elsewhere,
                _ => self.no_field(at, name, before),
            },
            ContextPlace::Output(who, path) => {
                ContextPlace::Output(who.clone(), path.iter().cloned().chain([name.to_owned()]).collect())
            }
            ContextPlace::Input(path) => ContextPlace::Input(path.iter().cloned().chain([name.to_owned()]).collect()),
            ContextPlace::Usage if name == "roles" => ContextPlace::UsageOfRoles,
            ContextPlace::UsageOfRoles => ContextPlace::UsageOfRole,
            ContextPlace::Usage | ContextPlace::UsageOfRole if !AMOUNT.contains(&name) => {
                self.no_field(at, name, before)
            }
            ContextPlace::Usage | ContextPlace::UsageOfRole | ContextPlace::RoleName | ContextPlace::Elsewhere => {
                ContextPlace::Elsewhere
            }
        }
    }

    fn no_field(&mut self, at: &ContextPlace, name: &str, before: &[PathStep]) -> ContextPlace {
        const STEP: [&str; 5] = ["role", "output", "meta", "detail", "agent"];
        let (object, instead) = match at {
            ContextPlace::Root if STEP.contains(&name) => ("the context", Some(format!("steps[-1].{name}"))),
            ContextPlace::Root => ("the context", nearest(name, names::VARIABLES).map(str::to_owned)),
            ContextPlace::Start => {
                ("the start", nearest(name, ["workflow", "prompt", INPUT]).map(|it| format!("start.{it}")))
            }
            ContextPlace::Usage | ContextPlace::UsageOfRole => {
                ("what was used", Some(format!("{}.{}", text::path(before), amount(name))))
            }
            ContextPlace::Steps(_)
            | ContextPlace::RoleName
            | ContextPlace::Output(..)
            | ContextPlace::Input(_)
            | ContextPlace::UsageOfRoles
            | ContextPlace::Elsewhere => {
                let field = nearest(name, STEP).map_or_else(|| format!("output.{name}"), str::to_owned);
                let dot = if before.is_empty() { "" } else { "." };
                ("a step", Some(format!("{}{dot}{field}", text::path(before))))
            }
        };
        let mut message = format!("{object} has no field `{name}`, so it is always missing");
        if let Some(instead) = instead {
            message.push_str(&format!("; did you mean `{instead}`?"));
        }
        self.warn(message);
        ContextPlace::Elsewhere
    }

    fn stages(&mut self, at: ContextPlace, stages: &[Stage]) -> ContextPlace {
        let mut current = at;
        for stage in stages {
            let Stage::Filter(expression) = stage else {
                continue;
            };
            current = match (current, pattern::index(stage), pattern::role_within(expression)) {
                (ContextPlace::Steps(StepRoles::Unknown), Some(ArrayIndex::Back(1)), _) => {
                    ContextPlace::Steps(StepRoles::Current)
                }
                (ContextPlace::Steps(_), None, Some(role)) => ContextPlace::Steps(StepRoles::Role(role.to_owned())),
                (other, _, _) => other,
            };
            self.visit(expression, &current);
        }
        current
    }

    fn read(&mut self, at: &ContextPlace, text: String) {
        match at {
            ContextPlace::Input(path) => {
                self.inputs.insert(FieldRead { role: None, path: path.clone(), text });
            }
            ContextPlace::Output(StepRoles::Unknown, path) if !path.is_empty() => {
                self.of_any_step.insert(FieldRead { role: None, path: path.clone(), text });
            }
            at => self.fields.extend(field_read(at, text)),
        }
    }

    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

/// The field that a value comes from, if its role is known.
fn field_read(at: &ContextPlace, text: String) -> Option<FieldRead> {
    let ContextPlace::Output(who, path) = at else {
        return None;
    };
    let role = match who {
        _ if path.is_empty() => return None,
        StepRoles::Current => None,
        StepRoles::Role(role) => Some(role.clone()),
        StepRoles::Unknown => return None,
    };
    Some(FieldRead { role, path: path.clone(), text })
}

/// The literals of a node: the node itself, or with `in_list` the members of a list.
fn literals(node: &AstNode, in_list: bool) -> Vec<Value> {
    match node {
        AstNode::Array(items) if in_list => items.iter().filter_map(literal).collect(),
        AstNode::Array(_) => Vec::new(),
        node => literal(node).into_iter().collect(),
    }
}

pub(super) fn literal(node: &AstNode) -> Option<Value> {
    match node {
        AstNode::String(text) => Some(Value::from(text.as_str())),
        AstNode::Number(number) => Some(number_value(*number)),
        AstNode::Boolean(value) => Some(Value::from(*value)),
        AstNode::Null => Some(Value::Null),
        AstNode::Unary { op: UnaryOp::Negate, operand } => match &**operand {
            AstNode::Number(number) => Some(number_value(-number)),
            _ => None,
        },
        _ => None,
    }
}

/// A number as an author writes it: without a fraction if it is whole.
fn number_value(number: f64) -> Value {
    let is_whole = number.fract() == 0.0 && number.abs() < f64::from(u32::MAX);
    if is_whole { Value::from(number as i64) } else { Value::from(number) }
}
