//! Checks what an expression reads: roles, fields of their outputs, and the thread's input.

use std::collections::BTreeSet;

use serde_json::Value;

use super::certainty::is_always;
use super::comparisons::{NeverEqualReason, never_equal};
use super::schema_paths::{PathPossibility, can_have};
use crate::document::{ProblemCollector, SourcePositions, join};
use crate::moderator::{
    ComparisonSubject, CompiledCondition, FieldRead, FieldTest, KnownSteps, LiteralComparison, WILDCARD,
};
use crate::schema_shape::type_name;
use crate::workflow::model::{DraftSchema, INPUT, WorkflowDraft};
use json_cas::nearest::did_you_mean;
use yaml_tree::TextPosition;

/// The roles after which a role is played, so that the last step has their output.
pub(super) fn roles_before<'d>(draft: &'d WorkflowDraft, role: &str) -> BTreeSet<&'d str> {
    let roles = draft.graph.iter().filter(|(from, _)| draft.roles.contains_key(*from));
    let leads = roles.filter(|(_, transitions)| transitions.iter().any(|transition| transition.role == role));
    leads.map(|(from, _)| from.as_str()).collect()
}

/// Checks one expression that compiles.
pub(super) struct ExpressionCheck<'d> {
    pub(super) draft: &'d WorkflowDraft,
    pub(super) positions: &'d SourcePositions,
    /// Names the expression in messages.
    pub(super) whole: String,
    pub(super) at: TextPosition,
    /// The roles whose output the last step may have.
    pub(super) last: BTreeSet<&'d str>,
    /// Whether the thread certainly has a step of one of these roles, the last one.
    pub(super) has_step: bool,
    /// Whether it decides something, so that its result must change.
    pub(super) is_condition: bool,
    /// Number of the copies of one of these roles that it picks from. Its steps are these copies, and their roles the numbers from 1.
    pub(super) copies: Option<u64>,
}

impl ExpressionCheck<'_> {
    pub(super) fn check(&self, expression: &CompiledCondition, problems: &mut ProblemCollector) {
        let code = if self.is_condition { "doubtful-condition" } else { "doubtful-expression" };
        let constants = if self.is_condition { self.constants(expression) } else { Vec::new() };
        for warning in expression.warnings().iter().chain(&constants) {
            problems.warning(code, self.at, format!("{}: {warning}", self.whole), None);
        }
        if self.is_condition && constants.is_empty() {
            self.certain(expression, problems);
        }
        let unknown = self.roles_compared(expression, problems);
        self.groups_compared(expression, &unknown, problems);
        for comparison in expression.comparisons() {
            self.comparison(comparison, problems);
        }
        for read in expression.field_reads() {
            match &read.role {
                // Already reported.
                Some(role) if unknown.contains(role.as_str()) => {}
                Some(role) if self.copies.is_none() => self.read_of(role, read, problems),
                _ => self.last.iter().for_each(|role| self.read_of(role, read, problems)),
            }
        }
        for read in expression.reads_of_any_step().iter().filter(|_| self.copies.is_some()) {
            self.last.iter().for_each(|role| self.read_of(role, read, problems));
        }
        self.input_reads(expression, problems);
    }

    /// Warnings that a condition decides nothing.
    fn constants(&self, condition: &CompiledCondition) -> Vec<String> {
        let only = self.last.first().copied().filter(|_| self.last.len() == 1);
        condition.constant_warnings(KnownSteps { has_one: self.has_step, last_role: only.filter(|_| self.has_step) })
    }

    /// Warns about a condition that every output of the roles before it decides in the same way.
    fn certain(&self, condition: &CompiledCondition, problems: &mut ProblemCollector) {
        // The output of a role that did not run last may not exist.
        let is_last = |test: &&FieldTest| match &test.read.role {
            Some(role) => self.last.len() == 1 && self.last.contains(role.as_str()),
            None => !self.last.is_empty(),
        };
        let is_certain = |test: &FieldTest, role: &str| match self.draft.roles.get(role).map(|role| &role.meta) {
            Some(DraftSchema::Inline(schema)) => is_always(schema, &test.read.path, test.values.as_deref()),
            _ => false,
        };
        let mut tests = condition.field_tests().iter().filter(is_last);
        let Some(test) = tests.find(|test| self.last.iter().all(|role| is_certain(test, role))) else { return };
        if problems.is_full() {
            return;
        }
        let why = match test.values {
            Some(_) => "has one of the compared values in every output",
            None => "is in every output",
        };
        let FieldTest { read, value, .. } = test;
        let message = format!("{}: it is always {value}: `{}` {why}", self.whole, read.text);
        problems.warning("doubtful-condition", self.at, message, None);
    }

    /// Warns about names that are compared with roles but that no step can have. Returns these names.
    fn roles_compared<'c>(
        &self,
        expression: &'c CompiledCondition,
        problems: &mut ProblemCollector,
    ) -> BTreeSet<&'c str> {
        let compared = expression.comparisons().iter().filter(|comparison| comparison.what == ComparisonSubject::Role);
        let compared: BTreeSet<&str> = compared.filter_map(|comparison| comparison.literal.as_str()).collect();
        let mut without_steps = BTreeSet::new();
        for role in compared {
            let (is, hint) = if let Some(copies) = self.copies {
                if role.parse().is_ok_and(|number| (1..=copies).contains(&number)) {
                    continue;
                }
                let hint = "the role of a step is the number of its copy here: `steps[output.done].role`".to_owned();
                (format!("but its steps are the copies `1` to `{copies}`"), Some(hint))
            } else if !self.draft.roles.contains_key(role) {
                let hint = did_you_mean(role, self.draft.roles.keys().map(String::as_str));
                ("which the workflow does not have".to_owned(), hint)
            } else if let Some(group) = self.draft.only_played_by(role) {
                let hint = format!("its output is in the step of the group: `$last('{group}')`");
                (format!("which only the group `{group}` plays, so no step has it"), Some(hint))
            } else {
                continue;
            };
            without_steps.insert(role);
            if problems.is_full() {
                break;
            }
            let message = format!("{} asks for the role `{role}`, {is}", self.whole);
            problems.warning("unknown-role", self.at, message, hint);
        }
        without_steps
    }

    /// Warns about `$branches` of roles that are not groups. The roles in `reported` have a warning already.
    fn groups_compared(
        &self,
        expression: &CompiledCondition,
        reported: &BTreeSet<&str>,
        problems: &mut ProblemCollector,
    ) {
        let compared = expression.comparisons().iter().filter(|comparison| comparison.what == ComparisonSubject::Group);
        let compared: BTreeSet<&str> = compared.filter_map(|comparison| comparison.literal.as_str()).collect();
        for role in compared.difference(reported).filter(|role| self.draft.groups().all(|(name, _)| name != **role)) {
            if problems.is_full() {
                break;
            }
            let message = format!("{} asks for the branches of `{role}`, which is not a group", self.whole);
            let hint = Some(format!("its output is `$last('{role}')`"));
            problems.warning("not-a-group", self.at, message, hint);
        }
    }

    /// Warns about a comparison that no output of the compared roles can satisfy.
    fn comparison(&self, comparison: &LiteralComparison, problems: &mut ProblemCollector) {
        let ComparisonSubject::Field(read) = &comparison.what else { return };
        let roles: Vec<&str> = match &read.role {
            Some(role) if self.copies.is_none() => vec![role],
            _ => self.last.iter().copied().collect(),
        };
        let mut why = None;
        for role in &roles {
            let Some(DraftSchema::Inline(schema)) = self.draft.roles.get(*role).map(|role| &role.meta) else { return };
            match never_equal(schema, &read.path, &comparison.literal) {
                Some(never) => why = Some(never),
                None => return,
            }
        }
        let Some(why) = why.filter(|_| !problems.is_full()) else { return };
        let (is, hint) = reason(&why, &comparison.literal);
        let of = roles.iter().map(|role| format!("`{role}`")).collect::<Vec<_>>().join(", ");
        let message = format!(
            "{} compares `{}` with `{}`, but never matches: in the output of {of} it is {is}",
            self.whole, read.text, comparison.literal
        );
        problems.warning("impossible-comparison", self.at, message, hint);
    }

    fn read_of(&self, role: &str, read: &FieldRead, problems: &mut ProblemCollector) {
        if problems.is_full() {
            return;
        }
        let Some(DraftSchema::Inline(schema)) = self.draft.roles.get(role).map(|found| &found.meta) else {
            return;
        };
        let reads = format!("{} reads `{}`", self.whole, read.text);
        let (message, hint) = match can_have(schema, &read.path) {
            PathPossibility::Possible => return,
            PathPossibility::NoField { field, known } => {
                let hint = known_fields(&field, &known);
                (format!("{reads}, but the output of `{role}` has no `{field}`"), Some(hint))
            }
            PathPossibility::NotAnObject { field } => {
                let hint = without_wildcard(schema, read);
                (format!("{reads}, but in the output of `{role}` nothing can be below `{field}`"), hint)
            }
        };
        problems.warning("impossible-field", self.at, message, hint);
    }

    /// Warns about fields of the input that the schema cannot have.
    fn input_reads(&self, expression: &CompiledCondition, problems: &mut ProblemCollector) {
        if self.positions.is_broken(&join("", INPUT)) {
            return;
        }
        for read in expression.input_reads() {
            if problems.is_full() {
                return;
            }
            if let Some((why, hint)) = impossible_input(self.draft, read) {
                let message = format!("{} reads `{}`, but {why}", self.whole, read.text);
                problems.warning("impossible-field", self.at, message, hint);
            }
        }
    }
}

/// The hint for a read of every field of an output that is a list: `*` is for objects, and JSONata maps over lists by itself.
fn without_wildcard(schema: &Value, read: &FieldRead) -> Option<String> {
    let (first, below) = read.path.split_first()?;
    if first != WILDCARD || schema["type"] != "array" || can_have(schema, below) != PathPossibility::Possible {
        return None;
    }
    let output = match &read.role {
        Some(role) => format!("$last('{role}')"),
        None => "steps[-1].output".to_owned(),
    };
    Some(format!("it is a list, which needs no `*`: `{output}[…]`"))
}

/// The field that was probably meant, or all that exist.
pub(super) fn known_fields(field: &str, known: &BTreeSet<String>) -> String {
    did_you_mean(field, known.iter().map(String::as_str)).unwrap_or_else(|| {
        let fields: Vec<String> = known.iter().map(|field| format!("`{field}`")).collect();
        format!("it has {}", fields.join(", "))
    })
}

/// Why a field of the input never exists, and what to try instead.
fn impossible_input(draft: &WorkflowDraft, read: &FieldRead) -> Option<(String, Option<String>)> {
    let schema = match &draft.input {
        None => return Some(("the workflow has no `input`".to_owned(), None)),
        Some(DraftSchema::Inline(schema)) => schema,
        Some(DraftSchema::Stored(_)) => return None,
    };
    match can_have(schema, &read.path) {
        PathPossibility::Possible => None,
        PathPossibility::NoField { field, known } => {
            Some((format!("the input has no `{field}`"), Some(known_fields(&field, &known))))
        }
        PathPossibility::NotAnObject { .. } if read.path.len() == 1 => {
            Some(("the input has no fields".to_owned(), None))
        }
        PathPossibility::NotAnObject { field } => Some((format!("in the input nothing can be below `{field}`"), None)),
    }
}

/// Describes the possible values of a field instead of the literal, and suggests a fix.
fn reason(never: &NeverEqualReason, literal: &Value) -> (String, Option<String>) {
    /// Most values in a message.
    const SHOWN: usize = 8;
    match never {
        NeverEqualReason::OtherValues(values) => {
            let shown: Vec<&str> = values.iter().take(SHOWN).map(String::as_str).collect();
            let more = if values.len() > SHOWN { ", …" } else { "" };
            let is = match shown.as_slice() {
                [only] => format!("always `{only}`"),
                several => format!("one of {}{more}", several.join(", ")),
            };
            (is, did_you_mean(&literal.to_string(), values.iter().map(String::as_str)))
        }
        NeverEqualReason::OtherTypes(types) => {
            let is = format!("of type {}, not {}", types.join(" or "), type_name(literal));
            let hint = match literal {
                Value::Null => Some("a missing value is not null: ask `$not($exists(…))`".to_owned()),
                Value::String(text) if types.iter().any(|name| name != "string") => {
                    let is_plain = matches!(text.as_str(), "true" | "false") || text.parse::<f64>().is_ok();
                    is_plain.then(|| format!("write `{text}` without quotes"))
                }
                _ => None,
            };
            (is, hint)
        }
    }
}
