//! What is found out about a condition when it is compiled, and why it may be refused.

use std::fmt;

use serde_json::Value;

use crate::text::{ellipsize, one_line};

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
        write!(f, "`{}`: {}", shown(&self.expression), one_line(&self.message))?;
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

/// An expression in one line of at most 120 characters, for messages.
pub(super) fn shown(expression: &str) -> String {
    const SHOWN: usize = 120;
    ellipsize(&one_line(expression), SHOWN).into_owned()
}
