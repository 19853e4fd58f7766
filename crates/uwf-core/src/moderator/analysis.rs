//! Facts about a condition that are known once it is compiled, and the error for one that is rejected.

use std::fmt;

use serde_json::Value;

use crate::text::{ellipsize, one_line};

/// Where a condition may be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionClass {
    /// In process: the syntax bounds the cost to about its length times the size of the data it reads.
    Plain,
    /// Only in a child process with limits on memory and time, because nothing bounds the cost.
    Bounded,
}

/// A field of a role's output that a condition reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldRead {
    /// The role. `None` is the role that ran last, which is the role whose transitions name the condition.
    pub role: Option<String>,
    /// Names from the output inwards; `*` is any name. Arrays on the way are mapped over, as in JSONata.
    pub path: Vec<String>,
    /// The reference as an author would write it.
    pub text: String,
}

/// The field that the value of an expression comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SourceField {
    /// A field of a role's output.
    Output(FieldRead),
    /// A field of the thread's input, by its path.
    Input(Vec<String>),
}

impl SourceField {
    /// Names from the output or the input inwards.
    pub(crate) fn path(&self) -> &[String] {
        match self {
            SourceField::Output(read) => &read.path,
            SourceField::Input(path) => path,
        }
    }
}

/// Any name in the path of a [`FieldRead`].
pub(crate) const WILDCARD: &str = "*";

/// A comparison with a literal, as in `steps[-1].output.ok = true` or `role in ["a", "b"]`.
#[derive(Clone, Debug, PartialEq)]
pub struct LiteralComparison {
    /// The side that is compared with the literal.
    pub what: ComparisonSubject,
    /// The literal.
    pub literal: Value,
}

/// A test on which a whole condition depends, and that a schema may make certain: `$exists(x)`, `x = true or x = false`, `x in [1, 2]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldTest {
    /// The field.
    pub(crate) read: FieldRead,
    /// The values for which the test is true; `None` if the field must only exist.
    pub(crate) values: Option<Vec<Value>>,
    /// The truth value of the condition if the test is true.
    pub(crate) value: bool,
}

/// The subject of a [`LiteralComparison`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComparisonSubject {
    /// The role of a step, or the argument of `$first`, `$last` or `$branches`.
    Role,
    /// The argument of `$branches`, which must be a group.
    Group,
    /// A field of a role's output, compared for equality.
    Field(FieldRead),
}

/// Whether the value of an expression is a list, as far as its form says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueShape {
    /// Whatever matches: a list of several values, but a single value without a list.
    Matches,
    /// Never a list. The text names the value.
    Single(&'static str),
    /// Nothing is known.
    Unknown,
}

/// Why an expression can't be used as a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionError {
    /// The expression as it was given.
    pub expression: String,
    /// The error message, without the code.
    pub message: String,
    /// JSONata's code such as `S0202`, if it has one.
    pub code: Option<String>,
    /// The position in characters from the start of the expression, if known.
    pub position: Option<usize>,
    /// What to try instead.
    pub hint: Option<String>,
}

/// The longest expression accepted, in bytes. Typical conditions are under 1 KB. Analysis is linear in the length, so this limit keeps
/// every later step cheap.
const MAX_EXPRESSION_BYTES: usize = 64 * 1024;

impl ConditionError {
    /// Refuses an expression that is too long; `hint` is what to try instead.
    pub(super) fn check_length(expression: &str, hint: Option<&str>) -> Result<(), ConditionError> {
        if expression.len() <= MAX_EXPRESSION_BYTES {
            return Ok(());
        }
        Err(ConditionError {
            expression: expression.to_owned(),
            message: format!("the expression has {} bytes, more than {MAX_EXPRESSION_BYTES}", expression.len()),
            code: None,
            position: None,
            hint: hint.map(str::to_owned),
        })
    }
}

impl ConditionError {
    /// Its code and its place in the expression, in parentheses after a space.
    pub(crate) fn code_and_place(&self) -> String {
        let character = self.position.map(|position| format!("character {}", position + 1));
        let parts: Vec<String> = self.code.iter().cloned().chain(character).collect();
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
    }
}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", shown(&self.expression), one_line(&self.message))?;
        f.write_str(&self.code_and_place())?;
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConditionError {}

/// An expression in one line of at most 120 characters, for messages.
pub(super) fn shown(expression: &str) -> String {
    const SHOWN: usize = 120;
    ellipsize(&one_line(expression), SHOWN).into_owned()
}
