//! Asks for an answer key by key at a terminal. The typed lines become the header of the answer and are parsed as any header, so a person
//! may type `yes`, `[a, b]` or a sentence with a colon.

use agent_kit::AgentContext;
use agent_kit::answer::AgentAnswer;
use serde_json::{Map, Value, json};
use uwf_core::extract::{self, Extraction, ExtractionFailure};
use uwf_core::prompt::{self, AnswerForm};

use super::given;
use crate::error::CommandError;

/// How often to ask for a key before giving up.
const TRIES: usize = 5;

/// Shows a prompt and returns the line typed after it.
type Ask<'a> = dyn FnMut(&str) -> Result<String, CommandError> + 'a;

/// The part of an answer typed so far.
#[derive(Default)]
pub(super) struct TypedAnswer {
    /// Header lines of the keys with valid values.
    header: String,
    /// Sentences typed instead of a value. They become the text of the answer, so that no typed word is lost.
    remarks: Vec<String>,
}

impl TypedAnswer {
    /// Whether there is nothing to keep if the person gives up.
    pub(super) fn is_empty(&self) -> bool {
        self.header.is_empty() && self.remarks.is_empty()
    }

    /// The answer as text: a header, and the remarks below it.
    pub(super) fn text(&self) -> String {
        format!("{}{}", self.values(), self.remarks())
    }

    fn values(&self) -> String {
        format!("---\n{}---\n", self.header)
    }

    fn remarks(&self) -> String {
        self.remarks.iter().map(|remark| format!("{remark}\n")).collect()
    }
}

/// Asks for each key of the role's output, or for the whole output if it has no keys. If it fails, `typed` has the part typed so far.
pub(super) fn key_by_key(
    agent: &AgentContext<'_>,
    typed: &mut TypedAnswer,
    ask: &mut Ask<'_>,
) -> Result<AgentAnswer, CommandError> {
    let schema = agent.schema().value();
    let text = match schema.get("properties").and_then(Value::as_object) {
        Some(properties) if !properties.is_empty() => {
            each_key(schema, properties, typed, ask)?;
            if !typed.remarks.is_empty() {
                return given::values(agent, &typed.values(), typed.remarks());
            }
            typed.text()
        }
        _ => ask("> ")?,
    };
    given::message(agent, text)
}

fn each_key(
    schema: &Value,
    properties: &Map<String, Value>,
    answer: &mut TypedAnswer,
    ask: &mut Ask<'_>,
) -> Result<(), CommandError> {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    for key in properties.keys() {
        let alone = alone(schema, key, required.contains(&key.as_str()));
        one_key(&alone, key, answer, ask)?;
    }
    Ok(())
}

/// The schema of one key, with all definitions it may reference.
fn alone(schema: &Value, key: &str, is_required: bool) -> Value {
    let mut alone = schema.as_object().cloned().unwrap_or_default();
    let property = schema.get("properties").and_then(|all| all.get(key)).cloned().unwrap_or(Value::Bool(true));
    alone.retain(|keyword, _| matches!(keyword.as_str(), "$defs" | "definitions" | "$schema"));
    alone.insert("type".to_owned(), json!("object"));
    alone.insert("properties".to_owned(), json!({ key: property }));
    alone.insert("required".to_owned(), if is_required { json!([key]) } else { json!([]) });
    Value::Object(alone)
}

/// Adds the header line of one key; adds nothing if the key is optional and the person typed nothing.
fn one_key(alone: &Value, key: &str, answer: &mut TypedAnswer, ask: &mut Ask<'_>) -> Result<(), CommandError> {
    let is_required = alone["required"] != json!([]);
    let schema = json_cas::CompiledSchema::compile(alone)
        .map_err(|error| CommandError::usage(format!("key `{key}` cannot be asked for alone: {error}")))?;
    let none = if is_required { "" } else { "(Enter for none) " };
    let question = format!("{}{none}> ", prompt::answer_in_words(alone).trim_start_matches("- "));
    let mut misfit = String::new();
    for _ in 0..TRIES {
        let typed = ask(&format!("{misfit}{question}"))?;
        if typed.trim().is_empty() {
            if !is_required {
                return Ok(());
            }
            misfit = format!("`{key}` needs a value\n");
            continue;
        }
        match header_line(&schema, key, &typed) {
            Ok(header) => {
                answer.header.push_str(&header);
                return Ok(());
            }
            Err(failure) => {
                let is_sentence = typed.split_whitespace().nth(1).is_some();
                let kept = if is_sentence { "; your text is kept as a remark" } else { "" };
                misfit = format!("{}{kept}\n", failure.errors.join("; "));
                answer.remarks.extend(is_sentence.then_some(typed));
            }
        }
    }
    Err(CommandError::usage(format!("no valid value for `{key}` after {TRIES} tries; nothing was recorded"))
        .hint("`--editor` shows the whole form, `--data` takes JSON"))
}

/// The header line for the typed value of a key. Text is quoted so that it stays as typed: `#`, quotation marks and blanks have a meaning
/// in a header.
fn header_line(schema: &json_cas::CompiledSchema, key: &str, typed: &str) -> Result<String, ExtractionFailure> {
    let text = json!({ key: typed });
    let fits_as_text = schema.violations(&text).is_empty();
    let quoted = || format!("{key}: {}\n", text[key]);
    let plain = format!("{key}: {typed}\n");
    match extract::read(&format!("---\n{plain}---\n"), AnswerForm::Frontmatter, schema, &String::new) {
        Extraction::Found(found) if fits_as_text && found.value[key].is_string() => Ok(quoted()),
        Extraction::Found(_) => Ok(plain),
        Extraction::Failed(_) if fits_as_text => Ok(quoted()),
        Extraction::Failed(failure) => Err(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(schema: &Value, typed: &str) -> (Result<String, String>, String) {
        let properties = schema["properties"].as_object().unwrap();
        let mut said = String::new();
        let mut lines = typed.lines();
        let mut answer = TypedAnswer::default();
        let all = each_key(schema, properties, &mut answer, &mut |prompt| {
            said.push_str(prompt);
            lines.next().map(str::to_owned).ok_or_else(|| CommandError::usage("nobody is there any more"))
        });
        (all.map(|()| answer.text()).map_err(|error| error.error), said)
    }

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "approved": {"type": "boolean"},
                "why": {"$ref": "#/$defs/text"},
                "paths": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["approved"],
            "$defs": {"text": {"type": "string"}},
        })
    }

    #[test]
    fn each_key_is_asked_for_until_it_fits() {
        let (header, said) = asked(&schema(), "perhaps\ntrue\nlate: see #42\n[a, b]\n");
        assert_eq!(header.unwrap(), "---\napproved: true\nwhy: \"late: see #42\"\npaths: [a, b]\n---\n");
        insta::assert_snapshot!(said, @r#"
        `approved` (required): `true` or `false`
        > `approved`: expected a boolean, found the string "perhaps"
        `approved` (required): `true` or `false`
        > `why` (optional): text
        (Enter for none) > `paths` (optional): list of texts
        (Enter for none) >
        "#);
    }

    #[test]
    fn refused_sentence_becomes_a_remark() {
        let (text, said) = asked(&schema(), "no, it returns {\"approved\": true}\nfalse\n\n\n");
        assert_eq!(text.unwrap(), "---\napproved: false\n---\nno, it returns {\"approved\": true}\n");
        assert!(said.contains("your text is kept as a remark"), "{said}");
    }

    #[test]
    fn optional_keys_can_be_skipped_and_required_cannot() {
        let (header, _) = asked(&schema(), "\nfalse\n\n\n");
        assert_eq!(header.unwrap(), "---\napproved: false\n---\n");
        assert!(asked(&schema(), "\n\n\n\n\n").0.unwrap_err().starts_with("no valid value for `approved`"));
        assert!(asked(&schema(), "true\n").0.unwrap_err().starts_with("nobody is there"));
    }
}
