//! A person's answer in the form the command reads: JSON, a text under a header, or a field for each key of the output.

use json_cas::{CompiledSchema, NodeHash};
use serde_json::Value;
use uwf_core::spending::SpendingTotals;
use uwf_core::thread::{Step, ThreadId};
use uwf_engine::root::home::Home;
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::nodes;
use uwf_engine::verbs::answer::{self, OpenQuestion};
use uwf_engine::verbs::diff;
use uwf_engine::views::branches;
use uwf_engine::views::copies::{FinishedCopy, WaitingGroup};
use uwf_engine::views::cost;
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
    /// The task, for a role that is played before any step: it has what the person decides about, such as the copies of a group.
    pub(crate) task: Option<String>,
    /// The newest step, which the person usually decides about.
    pub(crate) last: Option<Step>,
    /// The newest steps of other roles, newest first.
    pub(crate) earlier: Vec<Step>,
    /// The copies of a group, if the person picks one.
    pub(crate) copies: Option<CopiesToPick>,
}

/// The copies of a group that the person picks from.
pub(crate) struct CopiesToPick {
    /// The thread to take a copy in.
    pub(crate) thread: ThreadId,
    /// Its head.
    pub(crate) head: NodeHash,
    /// The copies, by number.
    pub(crate) copies: Vec<CopyToPick>,
}

/// A copy, and what it took.
pub(crate) struct CopyToPick {
    pub(crate) copy: FinishedCopy,
    /// The agent of its last step, if its thread is readable here.
    pub(crate) agent: Option<String>,
    pub(crate) spent: SpendingTotals,
    /// Whether the files that it changed may be known.
    pub(crate) has_files: bool,
}

impl CopiesToPick {
    fn read(home: &Home, thread: &ThreadId, role: &str) -> Option<CopiesToPick> {
        let group = WaitingGroup::picked_by(home, thread, role)?;
        // Without them, the number of the copy is typed, and the task has the copies.
        let (head, copies) = (group.head(home).ok()?, group.copies(home).ok()?);
        let config = home.config().unwrap_or_default();
        let copies = copies.into_iter().map(|copy| {
            let thread = copy.thread.as_ref().and_then(|thread| Thread::any(home, thread).ok());
            let agent = thread.and_then(|thread| Some(thread.newest_step().ok()??.agent));
            let has_files = copy.thread.as_ref().is_some_and(|thread| diff::may_know_files(home, thread));
            CopyToPick { agent, spent: cost::of_step(home, &config, copy.step), has_files, copy }
        });
        Some(CopiesToPick { thread: group.thread, head, copies: copies.collect() })
    }
}

/// Steps before the newest one in which other roles are looked for.
const LOOKED_AT: usize = 8;

/// The question of a thread, and what the person decides about.
pub(crate) fn form(now: &ThreadNow<'_>) -> Result<QuestionWithSchema, HttpFailure> {
    let asked = answer::asked_at(now)?;
    let thread = Thread::load_at(now.thread.home(), asked.thread.clone(), asked.head)?;
    let (goal, schema) = goal_and_schema(&thread, &asked.role)?;
    // The question of an agent is about its own work.
    let earlier = if asked.question.is_none() { earlier_roles(&thread, &asked.role) } else { Vec::new() };
    let last = thread.newest_step()?;
    let task = (last.is_none() && asked.question.is_none()).then(|| thread.start.prompt.clone());
    let copies = CopiesToPick::read(thread.home(), &asked.thread, &asked.role);
    Ok(QuestionWithSchema { schema, goal, task, last, earlier, copies, asked })
}

fn goal_and_schema(thread: &Thread<'_>, role: &str) -> Result<(String, Value), HttpFailure> {
    let workflow = thread.workflow()?;
    let found = workflow.roles.get(role);
    let found = found.ok_or_else(|| HttpFailure::internal(format!("the workflow has no role {role}")))?;
    let schema = thread.home().store().schema(found.meta).map_err(uwf_engine::error::Error::from)?;
    Ok((found.goal.clone(), CompiledSchema::value(&schema).clone()))
}

/// The newest step of each role before the newest step, without the role that is asked. Unreadable steps end the search.
fn earlier_roles(thread: &Thread<'_>, asked: &str) -> Vec<Step> {
    let mut known: Vec<String> = thread.last.iter().map(|last| last.role.clone()).chain([asked.to_owned()]).collect();
    let (store, mut found) = (thread.home().store(), Vec::new());
    let mut next = thread.last.as_ref().and_then(|last| last.prev);
    for _ in 0..LOOKED_AT {
        let Some((hash, (node, _))) = next.and_then(|hash| Some((hash, nodes::step_node(store, hash).ok()?))) else {
            break;
        };
        if !known.contains(&node.role) {
            found.extend(thread.whole_step_at(hash).ok());
            known.push(node.role);
        }
        next = node.prev;
    }
    found
}

/// The schema of the answer that a thread waits for.
fn schema_asked(now: &ThreadNow<'_>) -> Result<Value, HttpFailure> {
    let asked = answer::asked_at(now)?;
    let thread = Thread::load_at(now.thread.home(), asked.thread, asked.head)?;
    Ok(goal_and_schema(&thread, &asked.role)?.1)
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
            let (thread, branch) = (thread.clone(), fields.text("branch").map(str::to_owned));
            // If the thread no longer waits, the command refuses the answer for the head that the form was drawn for.
            let schema = app.read(move |home| {
                let asked = match branch.filter(|branch| !branch.is_empty()) {
                    Some(branch) => branches::named(home, &thread, &branch)?,
                    None => thread,
                };
                schema_asked(&ThreadNow::read(home, &asked)?)
            });
            let schema = schema.await;
            header(&schema.unwrap_or_default(), fields)?
        }
    };
    Ok(ChangeCommand { input, ..change.option("--file", "-") })
}

/// Whether a key of the output is a list of texts: its field has one on each line.
pub(crate) fn is_list_of_texts(property: &Value) -> bool {
    property["type"] == "array" && property["items"]["type"] == "string"
}

/// A header from the fields of a form. Texts are quoted, so that `yes` stays a text; other values are parsed as in any header.
fn header(schema: &Value, fields: &RequestFields) -> Result<String, HttpFailure> {
    let mut header = String::from("---\n");
    for name in fields.names().filter_map(|name| name.strip_prefix(KEY)) {
        let Some(value) = fields.text(&format!("{KEY}{name}")).filter(|value| !value.is_empty()) else { continue };
        let property = &schema["properties"][name];
        let value = match () {
            () if is_list_of_texts(property) && !value.trim_start().starts_with('[') => {
                let items = value.lines().map(str::trim).filter(|line| !line.is_empty());
                items.collect::<Value>().to_string()
            }
            () if property["type"] == "string" || value.contains('\n') => Value::from(value).to_string(),
            () => value.to_owned(),
        };
        header.push_str(&format!("{}: {value}\n", Value::from(name)));
    }
    if header.len() == 4 {
        return Err(HttpFailure::bad_request("the answer is empty")
            .hint("fill in at least one field, or send `data` or `text`"));
    }
    Ok(header + "---\n")
}
