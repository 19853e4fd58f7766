//! The one place where the errors of the rooms get what a user is shown: kind, message and hints. Each room has a file.

mod root;
mod store;
mod thread;

use super::Error;
use crate::thread::error::ThreadError;

/// What to try when the disk is full.
const FREE_SPACE: &str = "free some space, then run the same command again: nothing was lost";

impl<E: Into<ThreadError>> From<E> for Error {
    fn from(error: E) -> Error {
        match error.into() {
            ThreadError::Root(error) => root::of(error),
            error => thread::of(error),
        }
    }
}

fn when_full(error: Error, is_full: bool) -> Error {
    if is_full { error.hint(FREE_SPACE) } else { error }
}
