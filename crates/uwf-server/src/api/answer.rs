//! A person's answer in the form the command reads: JSON, a text under a header, or a field for each key of the output.

use json_cas::CompiledSchema;
use serde_json::Value;
use uwf_core::thread::{Step, ThreadId};
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::nodes;
use uwf_engine::verbs::answer::{self, OpenQuestion};
use uwf_engine::views::thread_now::ThreadNow;

use crate::app::AppState;
use crate::changes::ChangeCommand;
use crate::failure::HttpFailure;
use crate::fields::RequestFields;

/// Prefix of the name of a field that is a key of the output.
pub(crate) const KEY: &str = "output.";

/// A thread's question for a person.
pub(crate) struct QuestionWithSchema {
    /// The person and the question.
    pub(crate) asked: OpenQuestion,
    /// Schema of the role's output.
    pub(crate) schema: Value,
    /// The role's goal.
    pub(crate) goal: String,
    /// The newest step, which the person usually decides about.
    pub(crate) last: Option<Step>,
    /// The newest steps of other roles, newest first.
    pub(crate) earlier: Vec<Step>,
}

/// Steps before the newest one in which other roles are looked for.
const LOOKED_AT: usize = 8;

/// The question of a thread.
pub(crate) fn form(now: &ThreadNow<'_>) -> Result<QuestionWithSchema, HttpFailure> {
    let (home, asked) = (now.thread.home(), answer::asked_at(now)?);
    let thread = Thread::load_at(home, asked.thread.clone(), asked.head)?;
    let workflow = thread.workflow()?;
    let role = workflow.roles.get(&asked.role);
    let role = role.ok_or_else(|| HttpFailure::internal(format!("the workflow has no role {}", asked.role)))?;
    let schema = home.store().schema(role.meta).map_err(uwf_engine::error::Error::from)?;
    let schema = CompiledSchema::value(&schema).clone();
    let (last, goal) = (thread.newest_step()?, role.goal.clone());
    let earlier = earlier_roles(&thread, last.as_ref(), &asked.role);
    Ok(QuestionWithSchema { schema, goal, last, earlier, asked })
}

/// The newest step of each role before the newest step, without the role that is asked. Unreadable steps end the search.
fn earlier_roles(thread: &Thread<'_>, last: Option<&Step>, asked: &str) -> Vec<Step> {
    let (home, mut found): (_, Vec<Step>) = (thread.home(), Vec::new());
    let mut next = last.and_then(|last| nodes::step_node(home.store(), last.hash).ok()?.0.prev);
    for _ in 0..LOOKED_AT {
        let Some(step) = next else { break };
        let Ok((node, _)) = nodes::step_node(home.store(), step) else { break };
        let is_known =
            |role: &str| last.is_some_and(|last| last.role == role) || found.iter().any(|step| step.role == role);
        if node.role != asked && !is_known(&node.role) {
            let whole = Thread::load_at(home, thread.id.clone(), step).and_then(|thread| thread.newest_step());
            found.extend(whole.ok().flatten());
        }
        next = node.prev;
    }
    found
}

/// Adds the person's answer to the command.
pub(super) async fn given(
    app: &AppState,
    change: ChangeCommand,
    thread: &ThreadId,
    fields: &RequestFields,
) -> Result<ChangeCommand, HttpFailure> {
    let input = match (fields.text("data"), fields.text("text")) {
        (Some(data), _) => return Ok(ChangeCommand { input: data.to_owned(), ..change.option("--data", "-") }),
        (None, Some(text)) => text.to_owned(),
        (None, None) => {
            let thread = thread.clone();
            // If the thread no longer waits, the command refuses the answer for the head that the form was drawn for.
            let schema = app.read(move |home| Ok(form(&ThreadNow::read(home, &thread)?)?.schema)).await;
            header(&schema.unwrap_or_default(), fields)?
        }
    };
    Ok(ChangeCommand { input, ..change.option("--file", "-") })
}

/// A header from the fields of a form. Texts are quoted, so that `yes` stays a text; other values are parsed as in any header.
fn header(schema: &Value, fields: &RequestFields) -> Result<String, HttpFailure> {
    let mut header = String::from("---\n");
    for name in fields.names().filter_map(|name| name.strip_prefix(KEY)) {
        let Some(value) = fields.text(&format!("{KEY}{name}")).filter(|value| !value.is_empty()) else { continue };
        let is_text = schema["properties"][name]["type"] == "string";
        let value = if is_text || value.contains('\n') { Value::from(value).to_string() } else { value.to_owned() };
        header.push_str(&format!("{}: {value}\n", Value::from(name)));
    }
    if header.len() == 4 {
        return Err(HttpFailure::bad_request("the answer is empty")
            .hint("fill in at least one field, or send `data` or `text`"));
    }
    Ok(header + "---\n")
}
