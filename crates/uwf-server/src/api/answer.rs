//! A person's answer in the form the command reads: JSON, a text under a header, or a field for each key of the output.

use json_cas::Schema;
use serde_json::Value;
use uwf_core::thread::ThreadId;
use uwf_engine::thread::load::Thread;
use uwf_engine::verbs::answer::{self, Asked};
use uwf_engine::views::thread_now::ThreadNow;

use crate::app::App;
use crate::changes::Change;
use crate::failure::Failure;
use crate::fields::Fields;

/// Prefix of the name of a field that is a key of the output.
pub(crate) const KEY: &str = "output.";

/// A thread's question for a person.
pub(crate) struct Form {
    /// The person and the question.
    pub(crate) asked: Asked,
    /// Schema of the role's output.
    pub(crate) schema: Value,
}

/// The question of a thread.
///
/// # Errors
/// Errors of [`answer::asked_at`], and of the nodes of its workflow.
pub(crate) fn form(now: &ThreadNow<'_>) -> Result<Form, Failure> {
    let (home, asked) = (now.thread.home(), answer::asked_at(now)?);
    let workflow = Thread::at(home, asked.thread.clone(), asked.head)?.workflow()?;
    let role = workflow.roles.get(&asked.role);
    let role = role.ok_or_else(|| Failure::internal(format!("the workflow has no role {}", asked.role)))?;
    let schema = home.store().schema(role.meta).map_err(uwf_engine::error::Error::from)?;
    Ok(Form { asked, schema: Schema::value(&schema).clone() })
}

/// Adds the person's answer to the command.
pub(super) async fn given(app: &App, change: Change, thread: &ThreadId, fields: &Fields) -> Result<Change, Failure> {
    let input = match (fields.text("data"), fields.text("text")) {
        (Some(data), _) => return Ok(Change { input: data.to_owned(), ..change.option("--data", "-") }),
        (None, Some(text)) => text.to_owned(),
        (None, None) => {
            let thread = thread.clone();
            let schema = app.read(move |home| Ok(form(&ThreadNow::read(home, &thread)?)?.schema)).await?;
            header(&schema, fields)?
        }
    };
    Ok(Change { input, ..change.option("--file", "-") })
}

/// A header from the fields of a form. Texts are quoted, so that `yes` stays a text; other values are parsed as in any header.
fn header(schema: &Value, fields: &Fields) -> Result<String, Failure> {
    let mut header = String::from("---\n");
    for name in fields.names().filter_map(|name| name.strip_prefix(KEY)) {
        let Some(value) = fields.text(&format!("{KEY}{name}")).filter(|value| !value.is_empty()) else { continue };
        let value = value.replace("\r\n", "\n");
        let is_text = schema["properties"][name]["type"] == "string";
        let value = if is_text || value.contains('\n') { Value::from(value).to_string() } else { value };
        header.push_str(&format!("{}: {value}\n", Value::from(name)));
    }
    if header.len() == 4 {
        return Err(
            Failure::bad_request("the answer is empty").hint("fill in at least one field, or send `data` or `text`")
        );
    }
    Ok(header + "---\n")
}
