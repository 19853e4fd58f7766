//! The one place where the errors of the rooms get what a user is shown: kind, message and hints. Each room has a file.

mod root;
mod store;

use uwf_core::moderator::ConditionError;

use super::Error;
use crate::root::error::RootError;

/// What to try when the disk is full.
const FREE_SPACE: &str = "free some space, then run the same command again: nothing was lost";

impl<E: Into<RootError>> From<E> for Error {
    fn from(error: E) -> Error {
        root::of(error.into())
    }
}

impl From<ConditionError> for Error {
    fn from(error: ConditionError) -> Error {
        Error::data(error.to_string())
    }
}

fn when_full(error: Error, is_full: bool) -> Error {
    if is_full { error.hint(FREE_SPACE) } else { error }
}
