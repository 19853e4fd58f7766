//! Checks that conditions parse, and that the values they read can exist.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::certainty::is_always;
use super::comparisons::{Never, never_equal};
use super::schema_paths::{Possibility, can_have};
use crate::document::Problems;
use crate::document::{Positions, join};
use crate::moderator::{Compared, Comparison, Condition, ConditionError, FieldRead, FieldTest};
use crate::schema_shape::type_name;
use crate::workflow::model::{Meta, WorkflowDraft};
use json_cas::nearest::{did_you_mean, nearest};
use yaml_tree::Position;

pub(super) fn check(draft: &WorkflowDraft, positions: &Positions, problems: &mut Problems) {
    let sources = sources(draft);
    let nowhere = BTreeSet::new();
    for (name, condition) in &draft.conditions {
        let pointer = join(&join("/conditions", name), "expression");
        if positions.is_broken(&pointer) {
            continue;
        }
        let at = positions.value(&pointer);
        if condition.expression.trim().is_empty() {
            let message = format!("the condition `{name}` has an empty expression");
            problems.error("bad-condition", at, message, None);
            continue;
        }
        let check = Check { draft, name, at };
        match Condition::compile(&condition.expression) {
            Ok(compiled) => check.sound(&compiled, sources.get(name.as_str()).unwrap_or(&nowhere), problems),
            Err(error) => check.refused(error, problems),
        }
    }
}

/// Condition → roles after which it is tried, so that the last step has their output.
fn sources(draft: &WorkflowDraft) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut sources: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, transitions) in draft.graph.iter().filter(|(from, _)| draft.roles.contains_key(*from)) {
        for name in transitions.iter().filter_map(|transition| transition.condition.as_deref()) {
            sources.entry(name).or_default().insert(from);
        }
    }
    sources
}

/// Checks one condition.
struct Check<'d> {
    draft: &'d WorkflowDraft,
    name: &'d str,
    at: Position,
}

impl Check<'_> {
    /// `last` are the roles whose output a condition without a role may read.
    fn sound(&self, condition: &Condition, last: &BTreeSet<&str>, problems: &mut Problems) {
        for warning in condition.warnings() {
            let message = format!("the condition `{}`: {warning}", self.name);
            problems.warning("doubtful-condition", self.at, message, None);
        }
        self.certain(condition, last, problems);
        let unknown = self.roles_compared(condition, problems);
        for comparison in condition.comparisons() {
            self.comparison(comparison, last, problems);
        }
        for read in condition.field_reads() {
            match &read.role {
                // Already reported.
                Some(role) if unknown.contains(role.as_str()) => {}
                Some(role) => self.read_of(role, read, problems),
                None => last.iter().for_each(|role| self.read_of(role, read, problems)),
            }
        }
    }

    /// Warns about a condition that every output of the roles before it decides in the same way.
    fn certain(&self, condition: &Condition, last: &BTreeSet<&str>, problems: &mut Problems) {
        // The output of a role that did not run last may not exist.
        let is_last = |test: &&FieldTest| match &test.read.role {
            Some(role) => last.len() == 1 && last.contains(role.as_str()),
            None => !last.is_empty(),
        };
        let is_certain = |test: &FieldTest, role: &str| match self.draft.roles.get(role).map(|role| &role.meta) {
            Some(Meta::Inline(schema)) => is_always(schema, &test.read.path, test.values.as_deref()),
            _ => false,
        };
        let mut tests = condition.field_tests().iter().filter(is_last);
        let Some(test) = tests.find(|test| last.iter().all(|role| is_certain(test, role))) else { return };
        if problems.is_full() {
            return;
        }
        let why = match test.values {
            Some(_) => "has one of these values in every output",
            None => "is in every output",
        };
        let FieldTest { read, value, .. } = test;
        let message = format!("the condition `{}`: it is always {value}: `{}` {why}", self.name, read.text);
        problems.warning("doubtful-condition", self.at, message, None);
    }

    fn refused(&self, error: ConditionError, problems: &mut Problems) {
        if problems.is_full() {
            return;
        }
        // An inline expression that resembles the name of a condition is probably a misspelt name.
        let others = self.draft.conditions.keys().map(String::as_str).filter(|other| other != &self.name);
        let hint = nearest(&error.expression, others)
            .map(|other| format!("did you mean the condition `{other}`?"))
            .or(error.hint.clone());
        let error = ConditionError { hint: None, ..error };
        let message = format!("the condition `{}` cannot be used: {error}", self.name);
        problems.error("bad-condition", self.at, message, hint);
    }

    /// Warns about names that are compared with roles but are not roles of the workflow. Returns these names.
    fn roles_compared<'c>(&self, condition: &'c Condition, problems: &mut Problems) -> BTreeSet<&'c str> {
        let compared = condition.comparisons().iter().filter(|comparison| comparison.what == Compared::Role);
        let unknown: BTreeSet<&str> = compared
            .filter_map(|comparison| comparison.literal.as_str())
            .filter(|role| !self.draft.roles.contains_key(*role))
            .collect();
        for role in &unknown {
            if problems.is_full() {
                break;
            }
            let hint = did_you_mean(role, self.draft.roles.keys().map(String::as_str));
            let message =
                format!("the condition `{}` asks for the role `{role}`, which the workflow does not have", self.name);
            problems.warning("unknown-role", self.at, message, hint);
        }
        unknown
    }

    /// Warns about a comparison that no output of the compared roles can satisfy.
    fn comparison(&self, comparison: &Comparison, last: &BTreeSet<&str>, problems: &mut Problems) {
        let Compared::Field(read) = &comparison.what else { return };
        let roles: Vec<&str> = match &read.role {
            Some(role) => vec![role],
            None => last.iter().copied().collect(),
        };
        let mut why = None;
        for role in &roles {
            let Some(Meta::Inline(schema)) = self.draft.roles.get(*role).map(|role| &role.meta) else { return };
            match never_equal(schema, &read.path, &comparison.literal) {
                Some(never) => why = Some(never),
                None => return,
            }
        }
        let Some(why) = why.filter(|_| !problems.is_full()) else { return };
        let (is, hint) = reason(&why, &comparison.literal);
        let of = roles.iter().map(|role| format!("`{role}`")).collect::<Vec<_>>().join(", ");
        let message = format!(
            "the condition `{}` compares `{}` with `{}`, but never matches: in the output of {of} it is {is}",
            self.name, read.text, comparison.literal
        );
        problems.warning("impossible-comparison", self.at, message, hint);
    }

    fn read_of(&self, role: &str, read: &FieldRead, problems: &mut Problems) {
        let Check { draft, name, at } = self;
        if problems.is_full() {
            return;
        }
        let Some(Meta::Inline(schema)) = draft.roles.get(role).map(|found| &found.meta) else {
            return;
        };
        let message = match can_have(schema, &read.path) {
            Possibility::Possible => return,
            Possibility::NoField { field, known } => {
                let message = format!(
                    "the condition `{name}` reads `{}`, but the output of `{role}` has no `{field}`",
                    read.text
                );
                let fields: Vec<String> = known.iter().map(|field| format!("`{field}`")).collect();
                let hint = did_you_mean(&field, known.iter().map(String::as_str));
                (message, hint.or_else(|| Some(format!("it has {}", fields.join(", ")))))
            }
            Possibility::NotAnObject { field } => {
                let whole = format!("the condition `{name}` reads `{}`, but in the output of `{role}`", read.text);
                (format!("{whole} nothing can be below `{field}`"), None)
            }
        };
        problems.warning("impossible-field", *at, message.0, message.1);
    }
}

/// Describes the possible values of a field instead of the literal, and suggests a fix.
fn reason(never: &Never, literal: &Value) -> (String, Option<String>) {
    /// Most values in a message.
    const SHOWN: usize = 8;
    match never {
        Never::OtherValues(values) => {
            let shown: Vec<&str> = values.iter().take(SHOWN).map(String::as_str).collect();
            let more = if values.len() > SHOWN { ", …" } else { "" };
            let is = match shown.as_slice() {
                [only] => format!("always `{only}`"),
                several => format!("one of {}{more}", several.join(", ")),
            };
            (is, did_you_mean(&literal.to_string(), values.iter().map(String::as_str)))
        }
        Never::OtherTypes(types) => {
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
