//! A problem of some values.

use std::fmt;

/// A problem of some values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputProblem {
    /// Where the value came from; empty if no value did.
    pub(super) place: String,
    pub(super) message: String,
    pub(super) hint: Option<String>,
    /// The required name that has no value, if this is the problem.
    pub missing: Option<String>,
}

impl fmt::Display for InputProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}
