//! Deterministic CBOR (RFC 8949 §4.2.1) of JSON values.
//!
//! Written: definite lengths, shortest integer heads, map keys sorted by their encoded bytes. A whole number within ±(2^53−1) is a CBOR
//! integer; every other number is a float64, never shorter. Read: the same, and whatever else other writers of the format may have written
//! (longer heads, shorter floats, indefinite lengths, `undefined`).

mod decode;
mod encode;

pub use decode::decode;
pub use encode::encode;
pub(crate) use encode::{write_head, write_text};

/// Maximum nesting of arrays and objects in one payload. JSON readers stop at 128 levels, and a stored payload must fit into a report that
/// can be printed and read again.
pub const MAX_DEPTH: usize = 120;

/// The largest whole number written as a CBOR integer, 2^53−1. A double can't represent larger integers exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// A value that can't be stored, or bytes that are not a stored value.
#[derive(Debug, Clone, Eq, PartialEq, thiserror::Error)]
pub enum CborError {
    /// More than [`MAX_DEPTH`] nested arrays and objects.
    #[error("{} is nested deeper than {MAX_DEPTH} levels", place(path))]
    TooDeep {
        /// JSON pointer of the value that is one level too deep.
        path: String,
    },
    /// The bytes are not CBOR of a JSON value.
    #[error("not CBOR of a JSON value at byte {offset}, in {}: {reason}", place(path))]
    Malformed {
        /// JSON pointer of the value being read; empty for the root.
        path: String,
        /// Offset in the bytes, starting at 0.
        offset: usize,
        /// The problem.
        reason: &'static str,
    },
}

impl CborError {
    /// JSON pointer of the faulty value; empty for the root.
    pub fn path(&self) -> &str {
        match self {
            CborError::TooDeep { path } | CborError::Malformed { path, .. } => path,
        }
    }
}

/// A JSON pointer for messages.
pub(crate) fn place(path: &str) -> &str {
    if path.is_empty() { "the root" } else { path }
}
