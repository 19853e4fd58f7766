//! The agent that is a person: it asks a question, and the thread waits for `uwf thread answer`.

use agent_kit::{AgentContext, Error, Result, play};
use uwf_core::prompt::{self, QuestionInput};
use uwf_core::thread::ThreadId;
use uwf_core::workflow::is_text;
use uwf_engine::root::home::Home;
use uwf_engine::views::branches;
use uwf_engine::views::copies::WaitingGroup;

/// Asks the question. It never returns a result: the command that takes the answer records it.
pub fn run(home: &Home, thread: &ThreadId, role: &str) -> Result<()> {
    let context = AgentContext::load(home, thread, role)?;
    let waits = waits(&context);
    play::give_up(&context, &waits, None);
    Err(waits)
}

/// The full text of the wait: a first line for lists, the question, and how to answer it.
fn waits(context: &AgentContext<'_>) -> Error {
    let id = &context.thread().id;
    let role = context.role_name();
    if let Some(take) = take(context) {
        return Error::waiting(format!(
            "a person picks a copy: {take}\n\n{}\nPick one:\n  {take}\nSee what was done before:\n  uwf thread read {id}",
            question(context)
        ));
    }
    Error::waiting(format!(
        "role `{role}` waits for a person: uwf thread answer {id}\n\n{}\nAnswer it:\n  {}\nSee what was done before:\n  uwf thread read {id}",
        question(context),
        ways(context).join("\n  "),
    ))
}

/// The command that picks a copy, for the person who picks one where the workflow names no role for it.
fn take(context: &AgentContext<'_>) -> Option<String> {
    let group = WaitingGroup::picked_by(context.thread().home(), &context.thread().id, context.role_name())?;
    let copy = format!("{}.NUMBER", group.path);
    Some(format!("uwf thread take {} {}", group.thread, branches::as_argument(&copy)))
}

/// The question that a role asks a person.
pub fn question(context: &AgentContext<'_>) -> String {
    prompt::question(&QuestionInput {
        workflow: context.workflow_name(),
        role_name: context.role_name(),
        role: context.role(),
        schema: context.schema().value(),
        task: context.task(),
    })
}

/// The commands that answer it, one per line.
pub fn ways(context: &AgentContext<'_>) -> Vec<String> {
    let id = &context.thread().id;
    let (asks, edited) = match is_text(context.schema().value()) {
        true => ("asks for the text", "your answer"),
        false => ("asks key by key", "the form"),
    };
    vec![
        format!("uwf thread answer {id}              on a terminal: {asks}"),
        format!("uwf thread answer {id} --editor     {edited}, in your editor"),
        by_argument(context),
    ]
}

/// The command that answers it with a valid value, ready to copy, or with placeholders if none is found. A text is given as it is.
pub fn by_argument(context: &AgentContext<'_>) -> String {
    if is_text(context.schema().value()) {
        return format!("uwf thread answer {} -m TEXT", context.thread().id);
    }
    let fitting = prompt::sample(context.schema()).map(|value| value.to_string());
    let value = fitting.unwrap_or_else(|| prompt::json_form(context.schema().value()));
    format!("uwf thread answer {} --data '{}'", context.thread().id, value.replace('\'', "'\\''"))
}
