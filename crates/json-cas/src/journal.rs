//! What is left of names that were removed.

use serde_json::Value;

use crate::heads::HeadsError;

/// The records that [`Heads::remove`](crate::Heads::remove) leaves. It is a trait of its own because code that moves names does
/// not need it.
pub trait Journal: Send + Sync {
    /// All records, oldest first, and what is not readable.
    ///
    /// # Errors
    /// [`HeadsError::Io`] when the journal as a whole cannot be read: try again once the backend works. A single record that
    /// is not readable is a problem in the answer.
    fn records(&self) -> Result<Records, HeadsError>;

    /// The newest readable record of a name.
    ///
    /// # Errors
    /// [`HeadsError::BadName`], and those of [`Journal::records`].
    fn newest(&self, name: &str) -> Result<Option<Value>, HeadsError>;

    /// Drops the records of names, which can be created again from then on; how many names had any.
    ///
    /// # Errors
    /// [`HeadsError::Busy`]: try again. Those of [`Journal::newest`].
    fn forget(&self, names: &[&str]) -> Result<usize, HeadsError>;
}

/// All that is in a [`Journal`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Records {
    /// As they were given to [`Heads::remove`](crate::Heads::remove), oldest first.
    pub readable: Vec<Value>,
    /// What is not readable, each one line for a report.
    pub problems: Vec<String>,
}
