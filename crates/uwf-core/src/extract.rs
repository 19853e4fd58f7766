//! Phase ③, the pure part: an agent's text becomes a value that is valid under its role's schema, or a failure that
//! says in words what is wrong.
//!
//! The reader is tolerant of how an answer is written and strict about what it says: it lists every tolerance in
//! [`Found::fixes`], makes nothing up, and the schema has the last word.

mod answer;
mod blocks;
pub(crate) mod clean;
mod echo;
mod feedback;
mod keys;
mod lines;
mod loose_json;
mod question;
mod read;
mod repair;
mod scalar;
mod thinking;
mod tree;
mod typed;
mod yaml;

use serde_json::{Map, Value};

use crate::config::MAX_OUTPUT_CAP;

pub use answer::{read, read_typed};
pub use question::question;

/// Bytes of the longest answer that is looked at: all that can be kept of an agent's output.
pub const MAX_ANSWER_BYTES: usize = MAX_OUTPUT_CAP as usize;

/// What came of looking for an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Extraction {
    /// There is one, and it is valid.
    Found(Found),
    /// There is none.
    Failed(Failure),
}

/// A valid answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The value, valid under the schema.
    pub value: Value,
    /// Keys every header may carry (see [`ALWAYS_ALLOWED`](crate::thread::ALWAYS_ALLOWED)) that the schema lacks: for the detail.
    pub extras: Map<String, Value>,
    /// Every tolerance that was needed, in words; empty when the answer was written as asked for.
    pub fixes: Vec<String>,
    /// The text beside the answer.
    pub body: String,
}

/// Why there is no answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// What is wrong with the candidate that came nearest, in words a model can act on.
    pub errors: Vec<String>,
    /// Places that were looked at.
    pub candidates: usize,
    /// Keys every header may carry, from the header of the text. They hold even if the output is read in another way.
    pub header: Map<String, Value>,
}

impl Failure {
    fn of(error: impl Into<String>) -> Failure {
        Failure { errors: vec![error.into()], ..Failure::default() }
    }
}
