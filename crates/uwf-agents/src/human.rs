//! The agent that is a person: it asks, and the thread waits until somebody answers with `uwf thread answer`.

use agent_kit::{AgentContext, Error, Result, play};
use uwf_core::prompt::{self, QuestionInput};
use uwf_core::thread::ThreadId;
use uwf_engine::root::home::Home;

/// Asks. There is never a result: the answer is recorded by the command that takes it.
///
/// # Errors
/// `Waiting` with the question, those of the context.
pub fn run(home: &Home, thread: &ThreadId, role: &str) -> Result<()> {
    let context = AgentContext::load(home, thread, role)?;
    let waits = waits(&context);
    play::give_up(&context, &waits, None);
    Err(waits)
}

/// The wait in full: a first line for listings, the question, and how to answer it.
fn waits(context: &AgentContext<'_>) -> Error {
    let id = &context.thread().id;
    let role = context.role_name();
    Error::waiting(format!(
        "role `{role}` waits for a person: uwf thread answer {id}\n\n{}\nAnswer it:\n  {}\nSee what was done before:\n  uwf thread read {id}",
        question(context),
        ways(context).join("\n  "),
    ))
}

/// The question a role puts to a person.
pub fn question(context: &AgentContext<'_>) -> String {
    prompt::question(&QuestionInput {
        workflow: context.workflow_name(),
        role_name: context.role_name(),
        role: context.role(),
        schema: context.schema().value(),
        task: context.task(),
    })
}

/// The commands that answer it, each one line.
pub fn ways(context: &AgentContext<'_>) -> Vec<String> {
    let id = &context.thread().id;
    vec![
        format!("uwf thread answer {id}              on a terminal: asks key by key"),
        format!("uwf thread answer {id} --editor     the form, in your editor"),
        by_data(context),
    ]
}

/// The command that answers it with a value that fits, which can be copied as it is; with placeholders when none is found.
pub fn by_data(context: &AgentContext<'_>) -> String {
    let fitting = prompt::sample(context.schema()).map(|value| value.to_string());
    let value = fitting.unwrap_or_else(|| prompt::json_form(context.schema().value()));
    format!("uwf thread answer {} --data '{}'", context.thread().id, value.replace('\'', "'\\''"))
}
