//! The newest attempt at the head of a thread, as text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

/// Text for no attempt.
const NONE: &str = "none";

/// The newest attempt at the head of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum NewestAttempt {
    /// The head has no attempt yet.
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
