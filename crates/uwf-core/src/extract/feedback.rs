//! The message to the same session when an answer could not be read.

use json_cas::schema::CompiledSchema;

use super::ExtractionFailure;
use crate::prompt::{AnswerExamples, AnswerForm};
use crate::workflow::is_text;

/// Most errors in one message: a model fixes only a few at a time.
const MAX_ERRORS: usize = 20;

/// Keeps a model from inventing values, because it is asked for them after the work is done.
const HONEST: &str =
    "Fill in what you found when you did the work. If you do not know a value, say so instead of making one up.\n";

impl ExtractionFailure {
    /// Returns the text that asks the same session for the output only, in the requested form. The work is done, and doing it again would
    /// cost money again.
    pub fn feedback(&self, schema: &CompiledSchema, form: AnswerForm) -> String {
        if form == AnswerForm::Frontmatter && is_text(schema.value()) {
            return self.feedback_on_text();
        }
        let what = match form {
            AnswerForm::Frontmatter => "header",
            AnswerForm::Json => "output",
        };
        let AnswerExamples { forms, text: examples } = AnswerExamples::new(schema.value(), form);
        let mut text = match form {
            AnswerForm::Frontmatter => String::from("Your answer was received, but its header is not valid:\n\n"),
            AnswerForm::Json => String::from("Your output was received, but it is not valid:\n\n"),
        };
        self.list_errors(&mut text);
        text.push_str(&format!("\nDo not do the work again and do not repeat the text. Reply with the corrected {what} only, in {forms}:\n\n"));
        text.push_str(&examples);
        text.push('\n');
        text.push_str(HONEST);
        text
    }

    /// For a role whose output is a text.
    fn feedback_on_text(&self) -> String {
        let mut text = String::from("Your answer was received, but it can't be the output of this role:\n\n");
        self.list_errors(&mut text);
        text.push_str("\nReply with the whole text again, corrected, and with nothing else.\n");
        text
    }

    /// As [`feedback`](Self::feedback), for agents that submit their output only with the tool `submit`.
    pub fn feedback_by_tool(&self) -> String {
        let mut text = String::from("Your answer was received, but it gave no output:\n\n");
        self.list_errors(&mut text);
        text.push_str("\nDo not do the work again. Call the tool `submit` with your output.\n");
        text.push_str(HONEST);
        text
    }

    fn list_errors(&self, text: &mut String) {
        for error in self.errors.iter().take(MAX_ERRORS) {
            text.push_str(&format!("- {error}\n"));
        }
        if self.errors.len() > MAX_ERRORS {
            text.push_str(&format!("- and {} more\n", self.errors.len() - MAX_ERRORS));
        }
    }
}
