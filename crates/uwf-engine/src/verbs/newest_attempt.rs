//! The attempt that a command was made for. A head stays where it is when an attempt fails or its agent asks something, so the head
//! alone does not tell a command that is sent again from one that is meant to try again.

use std::fmt;
use std::str::FromStr;

use json_cas::Hash;
use serde::{Deserialize, Serialize};
use ulid::Ulid;
use uwf_core::thread::ThreadId;

use crate::attempt::recorded;
use crate::error::{Result, VerbError};
use crate::root::home::Home;

/// How there being no attempt is written.
const NONE: &str = "none";

/// The newest attempt at the head of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum NewestAttempt {
    /// Nobody has tried yet.
    None,
    /// This one.
    Is(Ulid),
}

impl fmt::Display for NewestAttempt {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NewestAttempt::None => out.write_str(NONE),
            NewestAttempt::Is(id) => id.fmt(out),
        }
    }
}

impl From<NewestAttempt> for String {
    fn from(attempt: NewestAttempt) -> String {
        attempt.to_string()
    }
}

impl FromStr for NewestAttempt {
    type Err = String;

    fn from_str(text: &str) -> Result<NewestAttempt, String> {
        if text == NONE {
            return Ok(NewestAttempt::None);
        }
        text.parse().map(NewestAttempt::Is).map_err(|_| format!("neither `{NONE}` nor the id of an attempt"))
    }
}

impl TryFrom<String> for NewestAttempt {
    type Error = String;

    fn try_from(text: String) -> Result<NewestAttempt, String> {
        text.parse()
    }
}

/// The newest attempt at this head, as far as the record of the thread tells.
///
/// # Errors
/// `Io` when the record cannot be read.
pub fn at(home: &Home, id: &ThreadId, head: Hash) -> Result<NewestAttempt> {
    let attempt = recorded::read(home, id)?.filter(|attempt| attempt.opened.expected_head == head);
    // An attempt whose id is none is not read from a record.
    let id = attempt.and_then(|attempt| attempt.opened.attempt.parse().ok());
    Ok(id.map_or(NewestAttempt::None, NewestAttempt::Is))
}

/// Checks that the newest attempt at this head is the one that is expected, if one is.
///
/// # Errors
/// `Busy` when there is another; those of [`at`].
pub fn check(home: &Home, id: &ThreadId, head: Hash, expected: Option<NewestAttempt>) -> Result<()> {
    let Some(expected) = expected else { return Ok(()) };
    let newest = at(home, id, head)?;
    if newest == expected {
        return Ok(());
    }
    Err(VerbError::TriedSince { thread: id.clone(), newest, expected }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_is_written() {
        for text in ["none", "01ARZ3NDEKTSV4RRFFQ69G5FAV"] {
            let attempt: NewestAttempt = text.parse().unwrap();
            assert_eq!(attempt.to_string(), text);
            assert_eq!(serde_json::from_value::<NewestAttempt>(serde_json::json!(attempt)).unwrap(), attempt);
        }
        for text in ["", "None", "7Q2M", "01ARZ3NDEKTSV4RRFFQ69G5FA"] {
            assert_eq!(
                text.parse::<NewestAttempt>(),
                Err("neither `none` nor the id of an attempt".to_owned()),
                "{text}"
            );
        }
    }
}
