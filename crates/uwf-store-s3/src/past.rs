//! The past of names: one object for each name that was ever removed.

use json_cas::NodeHash;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The record of a removed name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RemovalRecord {
    /// The record as given.
    pub(crate) record: Value,
    /// The time of removal, in milliseconds by the clock of the machine that removed the name. It only orders names that one machine
    /// removed within one second of the server's clock.
    pub(crate) at_ms: u64,
}

/// `heads/NAME@LIFE` of a removed name, until the removal is finished.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RemovedHeadObject {
    pub(crate) left: RemovalRecord,
    #[serde(flatten)]
    pub(crate) trace: MoveTrace,
}

/// `history/NAME.json`. It is never deleted, so that the number of ended lives stays known for good.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct NameHistory {
    /// Number of ended lives. The next life has the number after it.
    pub(crate) over: u64,
    /// The record of the last life, until it is forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<RemovalRecord>,
    /// The token of the call that forgot the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) forgot: Option<String>,
    /// The moves of the last life.
    #[serde(flatten)]
    pub(crate) trace: MoveTrace,
}

/// Newest moves in a trace. A machine that doesn't know whether its move was made looks for the move there. It fails to find out only if
/// others make this many moves while it retries.
const TRACED: usize = 32;

/// More moves than any name has.
const MENDED: u64 = 1 << 32;

/// The moves that produced the state of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MoveTrace {
    /// Number of moves; the creation is number 1.
    pub(crate) moves: u64,
    /// The tokens of the newest moves, newest first, separated by spaces. Each token is globally unique.
    pub(crate) tokens: String,
}

impl MoveTrace {
    /// The trace of a new name.
    pub(crate) fn first(token: &str) -> MoveTrace {
        MoveTrace { moves: 1, tokens: token.to_owned() }
    }

    /// The trace of a name whose object was damaged, so that its number of moves is lost. The number is greater than any real one, so that
    /// a machine which doesn't know whether its move was made doesn't conclude that it was not.
    pub(crate) fn mended(token: &str) -> MoveTrace {
        MoveTrace { moves: MENDED, tokens: token.to_owned() }
    }

    /// The trace after one more move.
    pub(crate) fn then(&self, token: &str) -> MoveTrace {
        let before = self.tokens.split_ascii_whitespace().take(TRACED - 1);
        let tokens: Vec<&str> = std::iter::once(token).chain(before).collect();
        MoveTrace { moves: self.moves + 1, tokens: tokens.join(" ") }
    }

    /// Whether the trace contains a move.
    pub(crate) fn has(&self, token: &str) -> bool {
        self.tokens.split_ascii_whitespace().any(|other| other == token)
    }

    /// Whether the trace still covers the move with this number.
    pub(crate) fn reaches(&self, number: u64) -> bool {
        number <= self.moves && self.moves - number < TRACED as u64
    }
}

/// `heads/NAME@LIFE` of a live name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LiveHeadObject {
    pub(crate) head: NodeHash,
    #[serde(flatten)]
    pub(crate) trace: MoveTrace,
}

/// Live heads are smaller than this, and removed ones at least this large, so that a listing distinguishes them.
pub(crate) const REMOVED_BYTES: usize = 2048;

/// The content of a head's object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HeadObject {
    Live(LiveHeadObject),
    Removed(RemovedHeadObject),
}

impl HeadObject {
    pub(crate) fn parse(bytes: &[u8]) -> Result<HeadObject, String> {
        let is_removed = bytes.len() >= REMOVED_BYTES;
        let said = if is_removed {
            serde_json::from_slice(bytes).map(HeadObject::Removed)
        } else {
            serde_json::from_slice(bytes).map(HeadObject::Live)
        };
        said.map_err(|error| error.to_string())
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            HeadObject::Live(live) => json_bytes(live),
            HeadObject::Removed(removed) => {
                let mut bytes = json_bytes(removed);
                // White space after a JSON value is ignored.
                bytes.resize(bytes.len().max(REMOVED_BYTES), b' ');
                bytes
            }
        }
    }
}

/// Our values consist of texts, numbers and maps with text keys, all of which JSON can represent.
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
        let trace = tokens[1..].iter().fold(MoveTrace::first(&tokens[0]), |trace, token| trace.then(token));
        assert_eq!(trace.moves, 40);
        for (index, token) in tokens.iter().enumerate() {
            assert_eq!(trace.has(token), index >= 8, "move {}", index + 1);
            assert_eq!(trace.reaches(index as u64 + 1), index >= 8, "move {}", index + 1);
        }
        assert!(!trace.reaches(41));
    }

    #[test]
    fn live_and_removed_entries_differ_by_size() {
        let trace = (0..40)
            .fold(MoveTrace { moves: u64::MAX - 50, tokens: String::new() }, |trace, _| trace.then(&token::unique()));
        let live = HeadObject::Live(LiveHeadObject { head: NodeHash::from_u64(u64::MAX), trace: trace.clone() });
        assert!(live.bytes().len() < 1024, "{}", live.bytes().len());
        assert_eq!(HeadObject::parse(&live.bytes()), Ok(live));
        for record in [json!(null), json!({"thread": "T", "n": [1.5]}), json!("x".repeat(5000))] {
            let removed = HeadObject::Removed(RemovedHeadObject {
                left: RemovalRecord { record, at_ms: 5 },
                trace: trace.clone(),
            });
            assert!(removed.bytes().len() >= REMOVED_BYTES);
            assert_eq!(HeadObject::parse(&removed.bytes()), Ok(removed));
        }
        assert!(HeadObject::parse(b"{}").is_err() && HeadObject::parse(b"").is_err());
    }
}
