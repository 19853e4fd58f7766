//! Conditions: that they parse, and that what they read can be there.

use std::collections::{BTreeMap, BTreeSet};

use super::reach::{Verdict, can_have};
use crate::moderator::{Condition, ConditionError, FieldRead};
use crate::workflow::model::{Meta, WorkflowDraft};
use crate::workflow::nearest::{did_you_mean, nearest};
use crate::workflow::positions::{Positions, join};
use crate::workflow::problem::{Position, Problems};

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

/// Condition → roles after which it is looked at: their output is that of the last step.
fn sources(draft: &WorkflowDraft) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut sources: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, transitions) in draft.graph.iter().filter(|(from, _)| draft.roles.contains_key(*from)) {
        for name in transitions.iter().filter_map(|transition| transition.condition.as_deref()) {
            sources.entry(name).or_default().insert(from);
        }
    }
    sources
}

/// Looks at one condition.
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
        for read in condition.field_reads() {
            match &read.role {
                Some(role) => self.read_of(role, &read, problems),
                None => last.iter().for_each(|role| self.read_of(role, &read, problems)),
            }
        }
    }

    fn refused(&self, error: ConditionError, problems: &mut Problems) {
        if problems.is_full() {
            return;
        }
        // An inline expression close to the name of a condition is most likely that name, mistyped.
        let others = self.draft.conditions.keys().map(String::as_str).filter(|other| other != &self.name);
        let hint = nearest(&error.expression, others)
            .map(|other| format!("did you mean the condition `{other}`?"))
            .or(error.hint.clone());
        let error = ConditionError { hint: None, ..error };
        let message = format!("the condition `{}` cannot be used: {error}", self.name);
        problems.error("bad-condition", self.at, message, hint);
    }

    fn read_of(&self, role: &str, read: &FieldRead, problems: &mut Problems) {
        let Check { draft, name, at } = self;
        if problems.is_full() {
            return;
        }
        let Some(found) = draft.roles.get(role) else {
            let hint = did_you_mean(role, draft.roles.keys().map(String::as_str));
            let message = format!("the condition `{name}` reads `{}`, but there is no role `{role}`", read.text);
            problems.warning("impossible-field", *at, message, hint);
            return;
        };
        let Meta::Inline(schema) = &found.meta else {
            return;
        };
        let message = match can_have(schema, &read.path) {
            Verdict::Possible => return,
            Verdict::NoField { field, known } => {
                let message = format!(
                    "the condition `{name}` reads `{}`, but the output of `{role}` has no `{field}`",
                    read.text
                );
                let fields: Vec<String> = known.iter().map(|field| format!("`{field}`")).collect();
                let hint = did_you_mean(&field, known.iter().map(String::as_str));
                (message, hint.or_else(|| Some(format!("it has {}", fields.join(", ")))))
            }
            Verdict::NotAnObject { field } => {
                let whole = format!("the condition `{name}` reads `{}`, but in the output of `{role}`", read.text);
                (format!("{whole} nothing can be below `{field}`"), None)
            }
        };
        problems.warning("impossible-field", *at, message.0, message.1);
    }
}
