//! Phase ③, the pure part: reads an agent's text as a value that is valid under its role's schema, or returns a failure that explains what
//! is wrong.
//!
//! The reader is tolerant of how an answer is written and strict about what it says: it lists every tolerance in [`ExtractedAnswer::fixes`], makes
//! nothing up, and the schema has the last word.

mod answer;
mod block_ends;
mod blocks;
pub(crate) mod clean;
mod conditions;
mod containers;
mod echo;
mod feedback;
mod introductions;
mod keys;
mod lead_in;
mod left_out;
mod lines;
mod loose_json;
mod mentions;
mod origins;
mod plain_text;
mod prose;
mod question;
mod read;
mod repair;
mod scalar;
mod thinking;
mod tree;
mod typed;
mod verdicts;
mod yaml;

use serde_json::{Map, Value};

use crate::config::MAX_OUTPUT_CAP;

pub use answer::{contradiction_beside, contradiction_of, read, read_typed, self_contradiction_of, text_beside};
pub use question::question;

/// The longest answer that is read, in bytes: as much as uwf can keep of an agent's output.
pub const MAX_ANSWER_BYTES: usize = MAX_OUTPUT_CAP as usize;

/// The result of reading an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Extraction {
    /// The text has a valid answer.
    Found(ExtractedAnswer),
    /// The text has no valid answer.
    Failed(ExtractionFailure),
}

/// A valid answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtractedAnswer {
    /// The value, valid under the schema.
    pub value: Value,
    /// Keys every header may carry (see [`ALWAYS_ALLOWED`](crate::thread::ALWAYS_ALLOWED)) that the schema lacks. They are stored in the
    /// detail.
    pub extras: Map<String, Value>,
    /// Every tolerance that was needed, in words. Empty if the answer was written in the requested form.
    pub fixes: Vec<String>,
    /// Comments in the value's own text, and lines with keys that the schema lacks. They may say the opposite of the value.
    pub unread: String,
    /// The text before and after the value's own text.
    pub body: String,
}

impl ExtractedAnswer {
    /// Returns every word of the answer that is not part of the value.
    pub fn text(&self) -> String {
        let parts = [&self.unread, &self.body].map(|part| lines::trimmed(part));
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

/// Why no answer was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtractionFailure {
    /// Errors of the candidate that came nearest, in words a model can act on.
    pub errors: Vec<String>,
    /// Number of places that were read.
    pub candidates: usize,
    /// Keys every header may carry, from a header anywhere in the text. They remain valid even if the output is read in another way.
    pub header: Map<String, Value>,
    /// Whether the answer gives values, but a wrong or an unclear one: a header or a block that does not fit, values that differ, a value that
    /// the text contradicts. Only the agent may correct such an answer, so no model reads it.
    pub is_final: bool,
}

impl ExtractionFailure {
    fn from_error(error: impl Into<String>) -> ExtractionFailure {
        ExtractionFailure { errors: vec![error.into()], ..ExtractionFailure::default() }
    }
}
