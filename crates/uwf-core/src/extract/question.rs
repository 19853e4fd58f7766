//! Finds a question to a person in an answer. The agent asks one by `status: needs_input` instead of handing in an output.

use json_cas::schema::CompiledSchema;
use serde_json::{Value, json};

use super::answer::{self, IN_THE_TEXT};
use super::scalar::normal;
use super::{ExtractedAnswer, Extraction, ExtractionFailure};
use crate::prompt::AnswerForm;

/// The `status` of an answer that asks a person.
const NEEDS_INPUT: &str = "needs_input";

/// Returns the question that an agent asks a person; `None` if it does not ask. `read` is the result of reading its text with the role's
/// schema. With this schema, `needs_input` is a question only if the schema has no such status of its own.
pub fn question(
    raw: &str,
    form: AnswerForm,
    prompt: &dyn Fn() -> String,
    read: Result<&ExtractedAnswer, &ExtractionFailure>,
) -> Option<String> {
    let asks = |status: &Value| status.as_str().is_some_and(|status| normal(status) == normal(NEEDS_INPUT));
    let found = match read {
        Ok(found) => Some(found.clone()).filter(|found| found.extras.get("status").is_some_and(asks)),
        Err(_) => without_output(raw, form, prompt),
    }?;
    let of_json =
        |raw: &str| serde_json::from_str::<Value>(raw.trim()).ok()?.get("question")?.as_str().map(str::to_owned);
    // The role's schema may lack the key `question`. Then the output lacks it as well.
    let own = found.value.get("question").and_then(Value::as_str).map(str::to_owned).or_else(|| of_json(raw));
    let own = own.unwrap_or_default();
    // A question can have its own key and more text below the header.
    let asked: Vec<&str> = [own.trim(), found.body.trim()].into_iter().filter(|text| !text.is_empty()).collect();
    let asked = asked.join("\n\n");
    [asked.as_str(), raw.trim()].into_iter().find(|text| !text.is_empty()).map(str::to_owned)
}

/// Reads an answer that has the status. It may lack everything else.
fn without_output(raw: &str, form: AnswerForm, prompt: &dyn Fn() -> String) -> Option<ExtractedAnswer> {
    let schema = json!({
        "type": "object",
        "required": ["status"],
        "properties": { "status": { "enum": [NEEDS_INPUT] }, "question": { "type": "string" } },
    });
    let schema = CompiledSchema::compile(&schema).expect("this schema is one");
    match answer::read(raw, form, &schema, prompt) {
        // A header within the text is usually only mentioned.
        Extraction::Found(found) if form == AnswerForm::Json || !is_quoted(&found) => Some(found),
        Extraction::Found(_) | Extraction::Failed(_) => None,
    }
}

fn is_quoted(found: &ExtractedAnswer) -> bool {
    found.fixes.iter().any(|fix| IN_THE_TEXT.contains(&fix.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the question in a text, for a schema that has the key `n` and the keys of `more`.
    fn asked(raw: &str, form: AnswerForm, more: Value) -> Option<String> {
        let mut properties = json!({ "n": { "type": "integer" } });
        properties.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let schema = json!({ "type": "object", "required": ["n"], "properties": properties });
        let schema = CompiledSchema::compile(&schema).unwrap();
        match &answer::read(raw, form, &schema, &String::new) {
            Extraction::Found(found) => question(raw, form, &String::new, Ok(found)),
            Extraction::Failed(failure) => question(raw, form, &String::new, Err(failure)),
        }
    }

    #[test]
    fn a_text_asks_by_its_status() {
        let asked = |raw: &str| asked(raw, AnswerForm::Frontmatter, json!({}));
        let which = Some("Which one?".to_owned());
        for raw in [
            "---\nstatus: needs_input\n---\nWhich one?\n",
            "---\nstatus: Needs-Input\n---\n\nWhich one?\n",
            "---\nn: 1\nstatus: needs_input\n---\nWhich one?",
            "---\nstatus: needs_input\nquestion: Which one?\n---\n",
            "```\n---\nstatus: needs_input\n---\nWhich one?\n```",
        ] {
            assert_eq!(asked(raw), which, "{raw}");
        }
        let both = "---\nstatus: needs_input\nquestion: Which one?\n---\nThere are two.\n";
        assert_eq!(asked(both).as_deref(), Some("Which one?\n\nThere are two."));
        let behind = "I looked around.\n\n---\nstatus: needs_input\n---\nWhich one?";
        assert_eq!(asked(behind).as_deref(), Some("I looked around.\n\nWhich one?"));
        for raw in [
            "---\nn: 1\n---\nWhich one?",
            "---\nn: 1\nstatus: done\n---\nIt needs_input.",
            "---\nn: many\n---\nWith this header it would ask:\n\n```yaml\nstatus: needs_input\n```\n",
            "---\nn: many\n---\n{\"status\": \"needs_input\"} would ask.",
            "Which one?",
            "",
        ] {
            assert_eq!(asked(raw), None, "{raw}");
        }
    }

    #[test]
    fn role_may_define_its_own_status() {
        let raw = "---\nn: 1\nstatus: needs_input\n---\nWhich one?";
        let with = |status| asked(raw, AnswerForm::Frontmatter, json!({ "status": status }));
        assert_eq!(with(json!({ "type": "string" })), None, "the workflow decides what it means");
        assert_eq!(with(json!({ "enum": ["done", "needs_input"] })), None);
        assert_eq!(with(json!({ "enum": ["done", "failed"] })).as_deref(), Some("Which one?"));
    }

    #[test]
    fn json_asks_by_a_question() {
        let asked = |raw: &str| asked(raw, AnswerForm::Json, json!({}));
        assert_eq!(asked(r#"{"status": "needs_input", "question": "Which one?"}"#).as_deref(), Some("Which one?"));
        let bare = r#"{"status": "needs_input"}"#;
        assert_eq!(asked(bare).as_deref(), Some(bare), "better than nothing");
        assert_eq!(
            asked(r#"{"n": 1, "status": "needs_input", "question": "Which one?"}"#).as_deref(),
            Some("Which one?")
        );
        assert_eq!(asked(r#"{"status": "failed", "question": "Which one?"}"#), None);
        assert_eq!(asked(r#"{"n": 1}"#), None);
    }
}
