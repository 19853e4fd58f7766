//! A condition: compiled, classified, and asked what it reads.

use std::fmt;

use serde_json::Value;

use super::Reads;
use super::jsonata::{self, Finding, Program};

/// The longest expression accepted, in bytes. Conditions people write are under 1 KB; analysing one is linear
/// in its length, so this keeps every later step cheap.
const MAX_EXPRESSION_BYTES: usize = 64 * 1024;

/// A compiled condition. Cheap to keep, `Send` and `Sync`.
#[derive(Debug)]
pub struct Condition {
    source: String,
    pub(super) program: Program,
    class: Class,
    reads: Reads,
    fields: Vec<FieldRead>,
    findings: Vec<Finding>,
    comparisons: Vec<Comparison>,
}

/// Where a condition may be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Its syntax alone bounds the cost to about its length times the size of what it reads: in process.
    Plain,
    /// Nothing bounds its cost: only in a child process with limits on memory and time.
    Bounded,
}

/// A field of a role's output that a condition reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldRead {
    /// Whose output; `None` is the role that ran last, that is the role whose transitions name the condition.
    pub role: Option<String>,
    /// Names from the output inwards. Arrays on the way are mapped over, as JSONata does.
    pub path: Vec<String>,
    /// The reference as an author would write it.
    pub text: String,
}

/// A comparison with a value that is written out, as in `steps[-1].output.ok = true` or `role in ["a", "b"]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What is compared.
    pub what: Compared,
    /// The value written out.
    pub literal: Value,
}

/// What a [`Comparison`] is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The role of a step; also the argument of `$first` and `$last`.
    Role,
    /// A field of a role's output, for equality.
    Field(FieldRead),
}

/// Why an expression can't be used as a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionError {
    /// The expression as it was given.
    pub expression: String,
    /// What is wrong, without the code.
    pub message: String,
    /// JSONata's code such as `S0202`, where it has one.
    pub code: Option<String>,
    /// Where, as a number of characters from the start of the expression, where known.
    pub position: Option<usize>,
    /// What to try instead.
    pub hint: Option<String>,
}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", one_line(&self.expression), one_line_all(&self.message))?;
        if let Some(code) = &self.code {
            write!(f, " ({code})")?;
        }
        if let Some(position) = self.position {
            write!(f, " at character {}", position + 1)?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConditionError {}

impl Condition {
    /// Parses an expression and finds out what it may cost and what it reads.
    ///
    /// # Errors
    /// The expression does not parse, is too long, calls a function that does not exist, or uses something
    /// a decision must not: `$now`, `$millis`, `$random`, `$shuffle`, `$eval`, the `@` and `#` bindings.
    pub fn compile(expression: &str) -> Result<Condition, ConditionError> {
        if expression.len() > MAX_EXPRESSION_BYTES {
            return Err(ConditionError {
                expression: expression.to_owned(),
                message: format!("the expression has {} bytes, more than {MAX_EXPRESSION_BYTES}", expression.len()),
                code: None,
                position: None,
                hint: Some("let an agent work it out and route on its output".into()),
            });
        }
        let analysis = jsonata::analyse(expression)?;
        Ok(Condition {
            source: expression.to_owned(),
            program: analysis.program,
            class: analysis.class,
            reads: analysis.reads,
            fields: analysis.fields,
            findings: analysis.findings,
            comparisons: analysis.comparisons,
        })
    }

    /// The expression as it was given.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Where it may be evaluated.
    #[must_use]
    pub fn class(&self) -> Class {
        self.class
    }

    /// What must be loaded before it can be evaluated.
    #[must_use]
    pub fn reads(&self) -> &Reads {
        &self.reads
    }

    /// The fields of roles' outputs it reads, sorted, as far as the role is known.
    #[must_use]
    pub fn field_reads(&self) -> Vec<FieldRead> {
        self.fields.clone()
    }

    /// Comparisons of roles and fields with values that are written out, in source order.
    #[must_use]
    pub fn comparisons(&self) -> &[Comparison] {
        &self.comparisons
    }

    /// Traps in the expression, in words for its author, when nothing is known about the roles' schemas.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.warnings_given(|_| None)
    }

    /// Traps in the expression, given whether a field can be missing: `None` when that is not known. A field
    /// known to be always there silences `$not(field)`; one known to be optional brings up `field != x`.
    #[must_use]
    pub fn warnings_given(&self, can_be_missing: impl Fn(&FieldRead) -> Option<bool>) -> Vec<String> {
        self.findings
            .iter()
            .filter(|finding| match finding {
                Finding::Certain { .. } => true,
                Finding::Negated { field, .. } => field.as_ref().and_then(&can_be_missing) != Some(false),
                Finding::Unequal { field, .. } => can_be_missing(field) == Some(true),
            })
            .map(Finding::message)
            .collect()
    }
}

/// An expression in one line of at most 120 characters, for messages.
pub(super) fn one_line(text: &str) -> String {
    const SHOWN: usize = 120;
    let line = one_line_all(text);
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn one_line_all(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
