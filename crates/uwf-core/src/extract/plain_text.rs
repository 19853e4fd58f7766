//! Reads the answer of a role whose output is a text. Nothing in the text is parsed.

use json_cas::schema::CompiledSchema;
use serde_json::Value;

use super::clean::clean;
use super::lines::without_blank_lines;
use super::thinking::without_thoughts;
use super::{Extraction, ExtractionFailure};

/// Words at the start of a prompt by which a repeated prompt is recognized.
const OPENING: usize = 30;

/// Reads the text as it was written, except for reasoning, the blank lines after that, and the final line break.
pub(super) fn read(raw: &str, schema: &CompiledSchema, prompt: &dyn Fn() -> String) -> Extraction {
    let text = clean(raw);
    if text.trim().is_empty() {
        return Extraction::Failed(ExtractionFailure::from_error("the answer is empty"));
    }
    let spoken = without_thoughts(&text);
    let said = if spoken == text { &spoken } else { without_blank_lines(&spoken) };
    let said = said.strip_suffix('\n').unwrap_or(said);
    if said.trim().is_empty() {
        return Extraction::Failed(ExtractionFailure::from_error("the answer contains only reasoning, and no output"));
    }
    if repeats(said, &prompt()) {
        return Extraction::Failed(ExtractionFailure::from_error("the answer repeats the prompt"));
    }
    let value = Value::from(said);
    let violations = schema.violations(&value);
    if violations.is_empty() {
        return Extraction::Found(value.into());
    }
    let errors = violations.iter().map(ToString::to_string).collect();
    Extraction::Failed(ExtractionFailure { errors, candidates: 1, ..ExtractionFailure::default() })
}

/// Whether a text contains the first words of the prompt. Line breaks and blanks don't matter.
pub(super) fn repeats(text: &str, prompt: &str) -> bool {
    let opening: Vec<&str> = prompt.split_whitespace().take(OPENING).collect();
    if opening.len() < OPENING {
        return false;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(OPENING).any(|window| window == opening)
}
