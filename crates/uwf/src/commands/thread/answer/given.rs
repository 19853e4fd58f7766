//! An answer that was given as a whole: checked before anything is recorded.

use agent_kit::answer::Answer;
use agent_kit::ladder::Climb;
use agent_kit::{AgentContext, Error, ErrorKind};
use serde_json::{Map, Value};
use uwf_core::config::ExtractRungs;
use uwf_core::extract::{self, Extraction};
use uwf_core::prompt::{self, AnswerForm};

use crate::error::CommandError;

/// JSON that is the role's output.
pub(super) fn data(agent: &AgentContext<'_>, text: String) -> Result<Answer, CommandError> {
    let value = json_cas::json::parse(&text).map_err(|error| unfit(agent, &[error.to_string()]))?;
    let answer = Answer { raw: text, ..Answer::value(value) };
    check(agent, &answer).map(|()| answer)
}

/// The content of a file: JSON, else a message.
pub(super) fn file(agent: &AgentContext<'_>, text: String) -> Result<Answer, CommandError> {
    if text.trim_start().starts_with('{') && json_cas::json::parse(&text).is_ok() {
        return data(agent, text);
    }
    message(agent, text)
}

/// Markdown under a YAML header; or a plain text, when the role asks for just one. It is never searched for a value.
pub(super) fn message(agent: &AgentContext<'_>, text: String) -> Result<Answer, CommandError> {
    let answer = Answer::text(text);
    let Err(misfit) = typed(agent, &answer.raw).and_then(|()| check(agent, &answer)) else { return Ok(answer) };
    let has_header = answer.raw.trim_start().starts_with("---");
    match plain(agent.schema().value(), answer.raw.trim()).filter(|_| !has_header) {
        Some(value) => {
            let answer = Answer { value: Some(value), ..answer };
            check(agent, &answer).map(|()| answer)
        }
        None => Err(misfit),
    }
}

/// The output a text stands for, when the schema is a text itself or asks for one and nothing else.
fn plain(schema: &Value, text: &str) -> Option<Value> {
    let is_text = |schema: &Value| schema.get("type").and_then(Value::as_str) == Some("string");
    if is_text(schema) {
        return Some(Value::from(text));
    }
    let required = schema.get("required")?.as_array()?;
    let [Value::String(key)] = required.as_slice() else { return None };
    let property = schema.get("properties")?.get(key)?;
    is_text(property).then(|| Value::Object(Map::from_iter([(key.clone(), Value::from(text))])))
}

/// Whether a text has a valid output where a person would write one: at its beginning, and nowhere else.
fn typed(agent: &AgentContext<'_>, text: &str) -> Result<(), CommandError> {
    match extract::read_typed(text, agent.schema()) {
        Extraction::Found(_) => Ok(()),
        Extraction::Failed(failure) => Err(unfit(agent, &failure.errors)),
    }
}

/// Whether the answer has a valid output, as the step will find it.
fn check(agent: &AgentContext<'_>, answer: &Answer) -> Result<(), CommandError> {
    let read = Climb::of(agent, AnswerForm::Frontmatter).first(answer, &ExtractRungs::default());
    read.map(drop).map_err(|failure| unfit(agent, &failure.errors))
}

fn unfit(agent: &AgentContext<'_>, errors: &[String]) -> CommandError {
    let form = prompt::json_form(agent.schema().value());
    Error::new(
        ErrorKind::NotExtractable,
        format!("the answer does not fit role `{}`: {}", agent.role_name(), errors.join("; ")),
    )
    .hint(format!("it has this form: {form}"))
    .into()
}
