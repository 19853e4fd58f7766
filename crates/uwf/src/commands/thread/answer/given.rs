//! An answer given as a whole. It is validated before anything is recorded.

use agent_kit::answer::AgentAnswer;
use agent_kit::ladder::LadderDescent;
use agent_kit::{AgentContext, Error};
use serde_json::{Map, Value};
use uwf_agents::human;
use uwf_core::config::ExtractRungs;
use uwf_core::extract::{self, Extraction};
use uwf_core::prompt::{self, AnswerForm};
use uwf_core::workflow;

use crate::error::CommandError;

/// An answer from JSON of the role's output.
pub(super) fn data(agent: &AgentContext<'_>, text: String) -> Result<AgentAnswer, CommandError> {
    let value = json_cas::json_value(&text).map_err(|error| unfit(agent, &[error.to_string()]))?;
    let answer = AgentAnswer { raw: text, ..AgentAnswer::value(value) };
    check(agent, &answer).map(|()| answer)
}

/// An answer from a file: JSON or a message. The last newline is not part of the message.
pub(super) fn file(agent: &AgentContext<'_>, text: String) -> Result<AgentAnswer, CommandError> {
    if text.trim_start().starts_with('{') && json_cas::json_value(&text).is_ok() {
        return data(agent, text);
    }
    let line = text.strip_suffix('\n').unwrap_or(&text);
    message(agent, line.strip_suffix('\r').unwrap_or(line).to_owned())
}

/// An answer from a message: Markdown below a YAML header, or plain text if the role asks for a single text. Values inside the text are not
/// searched for; plain text is the value exactly as typed.
pub(super) fn message(agent: &AgentContext<'_>, text: String) -> Result<AgentAnswer, CommandError> {
    if text.trim().is_empty() {
        return Err(empty(agent));
    }
    let schema = agent.schema().value();
    let plain = plain(schema, &text).filter(|_| is_text(schema) || !text.trim_start().starts_with("---"));
    let answer = AgentAnswer::text(text);
    let as_plain = |value: Value, answer: AgentAnswer| {
        let answer = AgentAnswer { value: Some(value), ..answer };
        check(agent, &answer).map(|()| answer)
    };
    match plain {
        // Such an output has no key for a header.
        Some(value) if is_text(schema) => as_plain(value, answer),
        plain => match (typed(agent, &answer.raw).and_then(|()| check(agent, &answer)), plain) {
            (Ok(()), _) => Ok(answer),
            (Err(_), Some(value)) => as_plain(value, answer),
            (Err(misfit), None) => Err(match keyed(agent, &answer.raw) {
                Some(keyed) => misfit.hint(format!("name the key: -m '{keyed}'")),
                None => misfit,
            }),
        },
    }
}

/// An answer from a header whose values a person has confirmed one by one. The remarks beside it are kept, but they can't contradict the
/// values: they are entries that were refused.
pub(super) fn values(agent: &AgentContext<'_>, header: &str, remarks: String) -> Result<AgentAnswer, CommandError> {
    match extract::read_typed(header, agent.schema()) {
        Extraction::Found(found) => {
            let answer = AgentAnswer { value: Some(found.value), ..AgentAnswer::text(remarks) };
            check(agent, &answer).map(|()| answer)
        }
        Extraction::Failed(failure) => Err(unfit(agent, &failure.errors)),
    }
}

/// The text with a key of the schema, if it is a whole answer with exactly one key.
fn keyed(agent: &AgentContext<'_>, text: &str) -> Option<String> {
    let properties = agent.schema().value().get("properties")?.as_object()?;
    let is_value = text.lines().count() == 1 && !text.contains([':', '\'']);
    let keyed = properties.keys().map(|key| format!("{key}: {}", text.trim()));
    let mut whole = keyed.filter(|keyed| is_value && typed(agent, keyed).is_ok());
    whole.next().filter(|_| whole.next().is_none())
}

/// The error for an empty text, which may be a mistake, such as an unset shell variable.
fn empty(agent: &AgentContext<'_>) -> CommandError {
    let empty = CommandError::usage("the answer is empty");
    let schema = agent.schema();
    let is_text = workflow::is_text(schema.value());
    let length = schema.value().get("minLength").and_then(Value::as_u64).filter(|_| is_text);
    match length {
        Some(least @ 1..) => empty.hint(format!("the text needs at least {least} characters")),
        _ if is_text => {
            empty.hint(format!("an empty text is a value: uwf thread answer {} --data '\"\"'", agent.thread().id))
        }
        _ => empty.hint(format!("an empty text is a value: {}", human::by_argument(agent))),
    }
}

/// The output for a text, if the schema is a text, or an object whose only required key is a text.
fn plain(schema: &Value, text: &str) -> Option<Value> {
    if is_text(schema) {
        return Some(Value::from(text));
    }
    let required = schema.get("required")?.as_array()?;
    let [Value::String(key)] = required.as_slice() else { return None };
    let property = schema.get("properties")?.get(key)?;
    is_text(property).then(|| Value::Object(Map::from_iter([(key.clone(), Value::from(text))])))
}

fn is_text(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("string")
}

/// Checks that the text has a valid output at its beginning, and nowhere else.
fn typed(agent: &AgentContext<'_>, text: &str) -> Result<(), CommandError> {
    match extract::read_typed(text, agent.schema()) {
        Extraction::Found(_) => Ok(()),
        Extraction::Failed(failure) => Err(unfit(agent, &failure.errors)),
    }
}

/// Checks that the answer has a valid output, in the same way as the step.
pub(in super::super) fn check(agent: &AgentContext<'_>, answer: &AgentAnswer) -> Result<(), CommandError> {
    let mut ladder = LadderDescent::for_context(agent, AnswerForm::Frontmatter).of_person();
    let read = ladder.first(answer, &ExtractRungs::default());
    read.map(drop).map_err(|failure| unfit(agent, &failure.errors))
}

fn unfit(agent: &AgentContext<'_>, errors: &[String]) -> CommandError {
    let schema = agent.schema().value();
    let hint = match workflow::is_text(schema) {
        true => format!("give the text as it is: {}", human::by_argument(agent)),
        false => format!("it has this form: {}", prompt::json_form(schema)),
    };
    Error::not_extractable(format!("the answer does not fit role `{}`: {}", agent.role_name(), errors.join("; ")))
        .hint(hint)
        .into()
}
