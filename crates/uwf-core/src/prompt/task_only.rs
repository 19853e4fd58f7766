//! The task of a child thread. It has no answer form, because the roles of the child have their own.

use super::fence::head;
use super::fields::fields;
use super::instruction::section;
use super::{Parts, PromptInput, divide, parts};
use crate::thread::Step;

/// The task of the child thread that plays a role: the parent's task, the role, the required output, and the steps of the parent.
///
/// # Errors
/// `read` fails.
pub fn brief<E>(input: &PromptInput<'_>, read: impl FnMut(usize) -> Result<Step, E>) -> Result<String, E> {
    let frame = frame(input);
    with_frame(input, &frame, read)
}

/// The task of a branch of a group: the task of the thread with the group, and the steps of that thread. The branch's own prompt has its
/// role.
///
/// # Errors
/// `read` fails.
pub fn branch_brief<E>(input: &PromptInput<'_>, read: impl FnMut(usize) -> Result<Step, E>) -> Result<String, E> {
    with_frame(input, "", read)
}

fn with_frame<E>(
    input: &PromptInput<'_>,
    frame: &str,
    read: impl FnMut(usize) -> Result<Step, E>,
) -> Result<String, E> {
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

const BEFORE: &str = "\n# Context from previous steps\n\nThese are steps of the parent thread:\n";

fn task_mark(left_out: usize) -> String {
    format!("\n[… {left_out} bytes of the task left out]\n")
}

/// The part between the task and the steps.
fn frame(input: &PromptInput<'_>) -> String {
    let mut text = format!(
        "\n# Your part\n\nThis is role `{}` of workflow `{}`. Do only this part.\n",
        input.role_name, input.workflow
    );
    let role = input.role;
    section(&mut text, "Goal", &role.goal);
    section(&mut text, "Procedure", &role.procedure);
    section(&mut text, "Output", &role.output);
    section(&mut text, "Required output", &fields(input.schema));
    text
}
