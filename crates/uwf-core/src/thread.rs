//! Threads: their ids, and the model of a step.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use branch_output::{BranchOutput, failed_branch, failed_branch_schema};
pub use step::{ALWAYS_ALLOWED, QuestionReply, Step, StepDamage};

mod branch_output;
mod step;

/// How many levels of child threads are followed. Far more than any `maxDepth`, so that it only stops at records and workflows that lead back
/// to themselves.
pub const MAX_GENERATIONS: usize = 64;

/// Length of a thread id in symbols.
pub const ID_LEN: usize = 26;

/// Id of a thread: 26 Crockford symbols. New ids are standard ULIDs. Any such id is accepted, because other implementations created ids
/// whose first symbol is not valid in a ULID.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
// Not a `String`: lists of thousands of threads clone ids many times.
pub struct ThreadId([u8; ID_LEN]);

/// A text that is not a thread id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a thread id (26 symbols of 0-9 A-Z without I L O U)")]
pub struct ThreadIdError {
    /// The text as given.
    pub text: String,
}

impl ThreadId {
    /// The id as text, upper case.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("symbols are ASCII")
    }

    /// Unix milliseconds at which the id was created; `None` if it is not a standard ULID.
    pub fn time_ms(&self) -> Option<u64> {
        // 26 symbols hold 130 bits, but a ULID has 128. The crate drops the other two.
        let is_ulid = (b'0'..=b'7').contains(&self.0[0]);
        ulid::Ulid::from_string(self.as_str()).ok().filter(|_| is_ulid).map(|ulid| ulid.timestamp_ms())
    }
}

impl From<ulid::Ulid> for ThreadId {
    fn from(ulid: ulid::Ulid) -> ThreadId {
        let mut symbols = [0; ID_LEN];
        ulid.array_to_str(&mut symbols);
        ThreadId(symbols)
    }
}

/// Whether a byte is a Crockford symbol, in either case.
pub fn is_symbol(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() && !matches!(byte.to_ascii_uppercase(), b'I' | b'L' | b'O' | b'U')
}

impl FromStr for ThreadId {
    type Err = ThreadIdError;

    fn from_str(text: &str) -> Result<ThreadId, ThreadIdError> {
        match <[u8; ID_LEN]>::try_from(text.as_bytes()) {
            Ok(symbols) if symbols.iter().copied().all(is_symbol) => {
                Ok(ThreadId(symbols.map(|it| it.to_ascii_uppercase())))
            }
            _ => Err(ThreadIdError { text: text.to_owned() }),
        }
    }
}

impl TryFrom<String> for ThreadId {
    type Error = ThreadIdError;

    fn try_from(text: String) -> Result<ThreadId, ThreadIdError> {
        text.parse()
    }
}

impl From<ThreadId> for String {
    fn from(id: ThreadId) -> String {
        id.as_str().to_owned()
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_agree_with_the_ulid_specification() {
        // The specification's own example: 01ARZ3NDEKTSV4RRFFQ69G5FAV was created at 1469922850259 ms.
        let id: ThreadId = "01arz3ndektsv4rrffq69g5fav".parse().unwrap();
        assert_eq!(id.as_str(), "01ARZ3NDEKTSV4RRFFQ69G5FAV");
        assert_eq!(id.time_ms(), Some(1_469_922_850_259));
    }

    #[test]
    fn non_ulid_ids_are_accepted_without_time() {
        let id: ThreadId = "ZZZZ3NDEKTSV4RRFFQ69G5FAVX".parse().unwrap();
        assert_eq!(id.time_ms(), None);
    }

    #[test]
    fn other_texts_are_refused_by_name() {
        for text in ["", "01ARZ3NDEKTSV4RRFFQ69G5FA", "01ARZ3NDEKTSV4RRFFQ69G5FAU", "../../../../../etc/passwd1"] {
            assert_eq!(text.parse::<ThreadId>(), Err(ThreadIdError { text: text.to_owned() }));
        }
    }
}
