//! What a workflow that plays a role gets: the task of its thread. Its own roles bring their forms of an answer, so it
//! has none.

use super::fence::head;
use super::fields::fields;
use super::instruction::section;
use super::{Parts, PromptInput, divide, parts};
use crate::thread::Step;

/// The task a role becomes when a workflow plays it: what its own thread is there for, whose part that is, what has to
/// be known in the end, and what was delivered before.
///
/// # Errors
/// Those of `read`.
pub fn brief<E>(input: &PromptInput<'_>, read: impl FnMut(usize) -> Result<Step, E>) -> Result<String, E> {
    let frame = frame(input);
    let task = input.task.trim();
    let divided = divide(input, frame.len() + BEFORE.len() + task_mark(task.len()).len(), task.len(), read)?;
    let (start, left_out) = head(task, divided.for_task);
    let mark = if left_out > 0 { task_mark(left_out) } else { String::new() };
    let mut text = format!("{start}{mark}\n{frame}");
    let Parts { steps, note } = parts(input, &divided, left_out > 0);
    if !steps.is_empty() || note.is_some() {
        text.push_str(BEFORE);
        text.extend(steps.into_iter().map(|part| part.text));
        text.extend(note);
    }
    Ok(text)
}

const BEFORE: &str = "\n# What was delivered before\n\nIn the thread this is a part of:\n";

fn task_mark(left_out: usize) -> String {
    format!("\n[… {left_out} bytes of the task left out]\n")
}

/// What stands between the task and the steps.
fn frame(input: &PromptInput<'_>) -> String {
    let mut text = format!(
        "\n# The part this is\n\nThis is the part `{}` of the workflow `{}`: only this part is to be done here.\n",
        input.role_name, input.workflow
    );
    let role = input.role;
    section(&mut text, "Goal", &role.goal);
    section(&mut text, "Procedure", &role.procedure);
    section(&mut text, "Output", &role.output);
    section(&mut text, "What has to be known in the end", &fields(input.schema));
    text
}
