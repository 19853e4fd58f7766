//! Deterministic CBOR (RFC 8949 §4.2.1) of JSON values.
//!
//! Written: definite lengths, shortest integer heads, map keys sorted by their encoded bytes. A
//! number that is whole and within ±(2^53−1) is a CBOR integer, every other one a float64, never
//! shorter. Read: the same, and in addition what other writers of the format may have left behind
//! (longer heads, shorter floats, indefinite lengths, `undefined`).

mod decode;
mod encode;

pub use decode::decode;
pub use encode::encode;
pub(crate) use encode::{write_head, write_text};

/// Arrays and objects that may be nested in one payload. JSON readers stop at 128 levels; what is
/// stored must be printable inside a report and readable again.
pub const MAX_DEPTH: usize = 120;

/// The largest whole number written as a CBOR integer, 2^53−1; a double holds no more exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// A value that cannot be stored, or bytes that are not a stored value.
#[derive(Debug, Clone, Eq, PartialEq, thiserror::Error)]
pub enum CborError {
    /// More than [`MAX_DEPTH`] arrays and objects inside each other.
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
        /// Position in the bytes, from 0.
        offset: usize,
        /// What is wrong there.
        reason: &'static str,
    },
}

impl CborError {
    /// JSON pointer of the value the error is about; empty for the root.
    pub fn path(&self) -> &str {
        match self {
            CborError::TooDeep { path } | CborError::Malformed { path, .. } => path,
        }
    }
}

/// A JSON pointer in words.
pub(crate) fn place(path: &str) -> &str {
    if path.is_empty() { "the root" } else { path }
}
