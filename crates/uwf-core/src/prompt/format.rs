//! The form of the answer, generated from a role's schema.

use serde_json::Value;

use super::AnswerForm;
use super::example::{examples, to_yaml};
use super::fence::fenced;
use super::fields::fields;
use crate::schema_shape::shape;
use crate::workflow::is_text;

/// Each key that every header may carry, with its meaning.
const EXTRAS: [(&str, &str); 5] = [
    ("status", "one word"),
    ("next", "what should follow"),
    ("confidence", "0 to 1"),
    ("artifacts", "list of paths"),
    ("scope", "the part of the work that is covered"),
];

/// The complete description of an answer: its form, and the meaning of each key. `may_ask` says whether a person answers questions.
pub fn answer_form(schema: &Value, form: AnswerForm, may_ask: bool) -> String {
    if form == AnswerForm::Frontmatter && is_text(schema) {
        return plain_text(schema);
    }
    let mut text = String::from("# How to answer\n\n");
    let AnswerExamples { forms, text: shown } = AnswerExamples::new(schema, form);
    match form {
        AnswerForm::Frontmatter => {
            text.push_str(&format!(
                "Begin your answer with a YAML header between two `---` lines, with nothing before it, and write \
                 everything else as Markdown below it. The header has {forms} (without the code fence around it):\n\n",
            ));
        }
        AnswerForm::Json => {
            let what = if shape(schema, &[schema]).may_be(schema, "object") { "object" } else { "value" };
            text.push_str(&format!(
                "Print one JSON {what} and nothing else: no text before or after it, no code fence. It has {forms}:\n\n"
            ));
        }
    }
    text.push_str(&shown);
    let described = fields(schema);
    if !described.is_empty() {
        let remarks = match form {
            AnswerForm::Frontmatter => ", and leave no `#` remarks in the YAML",
            AnswerForm::Json => "",
        };
        text.push_str(&format!(
            "\nReplace each `<…>` with a value. Leave out optional keys you have nothing for{remarks}:\n\n"
        ));
        text.push_str(&described);
    }
    if form == AnswerForm::Frontmatter && shape(schema, &[schema]).may_be(schema, "object") {
        text.push_str("\nFor a text of several lines, end its key's line with ` |` and write the lines below it, each indented by two spaces.\n");
    }
    text.push_str(&extras(schema, form, may_ask));
    text
}

/// The description of an answer that is a text.
fn plain_text(schema: &Value) -> String {
    let mut text = String::from(
        "# How to answer\n\n\
         Answer with the text itself, in Markdown. Your whole answer is the output of this role, and the other roles get it as \
         you write it. Add no remarks about your work before or after it.\n",
    );
    if let Some(description) = schema.get("description").and_then(Value::as_str) {
        text.push_str(&format!("\nThe text: {}\n", description.trim()));
    }
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
    match (bound("minLength"), bound("maxLength")) {
        (Some(least), Some(most)) => text.push_str(&format!("\nWrite {least} to {most} characters.\n")),
        (Some(least), None) => text.push_str(&format!("\nWrite at least {least} characters.\n")),
        (None, Some(most)) => text.push_str(&format!("\nWrite at most {most} characters.\n")),
        (None, None) => {}
    }
    text
}

/// Example headers or JSON values, one for each form of the answer, for the instruction and for feedback.
pub(crate) struct AnswerExamples {
    /// The words that introduce them.
    pub(crate) forms: &'static str,
    /// The examples.
    pub(crate) text: String,
}

impl AnswerExamples {
    pub(crate) fn new(schema: &Value, form: AnswerForm) -> AnswerExamples {
        let shown: Vec<String> = examples(schema)
            .iter()
            .map(|value| match form {
                AnswerForm::Frontmatter => fenced("yaml", &format!("---\n{}---\n", to_yaml(value))),
                AnswerForm::Json => fenced("json", &format!("{value:#}")),
            })
            .collect();
        let forms = if shown.len() > 1 { "one of these forms" } else { "this form" };
        AnswerExamples { forms, text: shown.join("\nor\n\n") }
    }
}

/// The keys that every answer may have and the schema does not define. With one of them, an agent that `may_ask` asks a person.
fn extras(schema: &Value, form: AnswerForm, may_ask: bool) -> String {
    let keys = shape(schema, &[schema]).keys_of_all(schema);
    let free: Vec<&(&str, &str)> = EXTRAS.iter().filter(|(key, _)| !keys.contains(key)).collect();
    if keys.is_empty() || free.is_empty() {
        return String::new();
    }
    let allowed: Vec<String> = free.iter().map(|(key, meaning)| format!("`{key}` ({meaning})")).collect();
    let mut text = format!("\nYou may also add these keys: {}.\n", allowed.join(", "));
    if may_ask && free.iter().any(|(key, _)| *key == "status") {
        text.push_str(match form {
            AnswerForm::Frontmatter => concat!(
                "\nIf you need input from a person to continue, answer with `status: needs_input` alone in the header and ",
                "your question below it. You will get the reply and continue.\n"
            ),
            AnswerForm::Json => concat!(
                "\nIf you need input from a person to continue, print `{\"status\": \"needs_input\", \"question\": ",
                "\"…\"}` instead. You will get the reply and continue.\n"
            ),
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::ALWAYS_ALLOWED;

    #[test]
    fn every_key_that_is_always_allowed_is_mentioned() {
        assert_eq!(EXTRAS.map(|(key, _)| key), ALWAYS_ALLOWED);
    }
}
