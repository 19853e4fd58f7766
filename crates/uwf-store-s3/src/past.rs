//! What is left of names: an object for each name that was ever removed.

use json_cas::Hash;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a name left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Left {
    /// As it was given.
    pub(crate) record: Value,
    /// When, in milliseconds by the clock of the machine that removed it. Only for the order of what one machine removed within
    /// one second of the server's clock.
    pub(crate) at_ms: u64,
}

/// `heads/NAME@LIFE` of a name that was removed, until that is tidied up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Removed {
    pub(crate) left: Left,
    #[serde(flatten)]
    pub(crate) trace: Trace,
}

/// `history/NAME.json`. It is never deleted, so that it is known for good how many lives of the name are over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Past {
    /// Lives of the name that are over. The next one has the number after it.
    pub(crate) over: u64,
    /// What the last of them left, until it is forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<Left>,
    /// The token of the call that forgot it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) forgot: Option<String>,
    /// The moves of the last of them.
    #[serde(flatten)]
    pub(crate) trace: Trace,
}

/// Newest moves that a trace has. A machine that does not know whether its move was made looks for it there; so many would others
/// must make while it tries again, for it not to find out.
const TRACED: usize = 32;

/// More moves than any name has.
const MENDED: u64 = 1 << 32;

/// Which moves led to a state of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trace {
    /// How many moves there were, its creation being the first.
    pub(crate) moves: u64,
    /// The tokens of the newest ones, newest first, with spaces between them. Each is written once in the world.
    pub(crate) tokens: String,
}

impl Trace {
    /// Of a name that is created.
    pub(crate) fn first(token: &str) -> Trace {
        Trace { moves: 1, tokens: token.to_owned() }
    }

    /// Of a name whose object was damaged: how many moves it had nobody knows any more. The number is beyond any that was made, so that
    /// a machine which does not know whether its move was made is not told that it was not.
    pub(crate) fn mended(token: &str) -> Trace {
        Trace { moves: MENDED, tokens: token.to_owned() }
    }

    /// After one more move.
    pub(crate) fn then(&self, token: &str) -> Trace {
        let before = self.tokens.split_ascii_whitespace().take(TRACED - 1);
        let tokens: Vec<&str> = std::iter::once(token).chain(before).collect();
        Trace { moves: self.moves + 1, tokens: tokens.join(" ") }
    }

    /// Whether a move is among them.
    pub(crate) fn has(&self, token: &str) -> bool {
        self.tokens.split_ascii_whitespace().any(|other| other == token)
    }

    /// Whether it tells of the move with this number.
    pub(crate) fn reaches(&self, number: u64) -> bool {
        number <= self.moves && self.moves - number < TRACED as u64
    }
}

/// `heads/NAME@LIFE` of a live name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Live {
    pub(crate) head: Hash,
    #[serde(flatten)]
    pub(crate) trace: Trace,
}

/// Bytes that a live name does not reach and a removed one has at least, so that a listing tells them apart.
pub(crate) const REMOVED_BYTES: usize = 2048;

/// What a head's object says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    Live(Live),
    Removed(Removed),
}

impl Said {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Said, String> {
        let is_removed = bytes.len() >= REMOVED_BYTES;
        let said = if is_removed {
            serde_json::from_slice(bytes).map(Said::Removed)
        } else {
            serde_json::from_slice(bytes).map(Said::Live)
        };
        said.map_err(|error| error.to_string())
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Said::Live(live) => json_bytes(live),
            Said::Removed(removed) => {
                let mut bytes = json_bytes(removed);
                // White space after a value of JSON means nothing.
                bytes.resize(bytes.len().max(REMOVED_BYTES), b' ');
                bytes
            }
        }
    }
}

/// Maps with texts as keys, numbers and texts: there is nothing in them that JSON does not have.
pub(crate) fn json_bytes(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_else(|error| panic!("a value that JSON does not have: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::token;

    #[test]
    fn a_trace_knows_the_newest_moves() {
        let tokens: Vec<String> = (0..40).map(|_| token::unique()).collect();
        let trace = tokens[1..].iter().fold(Trace::first(&tokens[0]), |trace, token| trace.then(token));
        assert_eq!(trace.moves, 40);
        for (index, token) in tokens.iter().enumerate() {
            assert_eq!(trace.has(token), index >= 8, "move {}", index + 1);
            assert_eq!(trace.reaches(index as u64 + 1), index >= 8, "move {}", index + 1);
        }
        assert!(!trace.reaches(41));
    }

    #[test]
    fn live_and_removed_are_told_apart_by_their_size() {
        let trace = (0..40)
            .fold(Trace { moves: u64::MAX - 50, tokens: String::new() }, |trace, _| trace.then(&token::unique()));
        let live = Said::Live(Live { head: Hash::from_u64(u64::MAX), trace: trace.clone() });
        assert!(live.bytes().len() < 1024, "{}", live.bytes().len());
        assert_eq!(Said::parse(&live.bytes()), Ok(live));
        for record in [json!(null), json!({"thread": "T", "n": [1.5]}), json!("x".repeat(5000))] {
            let removed = Said::Removed(Removed { left: Left { record, at_ms: 5 }, trace: trace.clone() });
            assert!(removed.bytes().len() >= REMOVED_BYTES);
            assert_eq!(Said::parse(&removed.bytes()), Ok(removed));
        }
        assert!(Said::parse(b"{}").is_err() && Said::parse(b"").is_err());
    }
}
