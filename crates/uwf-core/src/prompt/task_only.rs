//! The task of a child thread. It has no answer form, because the roles of the child have their own.

use super::fence::head;
use super::fields::fields;
use super::instruction::section;
use super::{PromptCuts, PromptInput, PromptSteps, divide, input, parts};
use crate::thread::Step;

/// The task of the child thread that plays a role: the parent's task and input, the role, the required output, and the steps of the parent.
pub fn brief<E>(asked: &PromptInput<'_>, read: impl FnMut(usize) -> Result<Step, E>) -> Result<String, E> {
    let (shown_input, cuts_input) = asked.input.map(|value| input::section(value, asked.budget)).unwrap_or_default();
    with_frame(asked, &format!("{shown_input}{}", frame(asked)), cuts_input, read)
}

/// The task of a branch of a group: the task of the thread with the group, `part`, and the steps of that thread. The branch's own prompt
/// has its role and the input.
pub fn branch_brief<E>(
    asked: &PromptInput<'_>,
    part: &str,
    read: impl FnMut(usize) -> Result<Step, E>,
) -> Result<String, E> {
    with_frame(asked, part, false, read)
}

fn with_frame<E>(
    asked: &PromptInput<'_>,
    frame: &str,
    cuts_input: bool,
    read: impl FnMut(usize) -> Result<Step, E>,
) -> Result<String, E> {
    let task = asked.task.trim();
    let divided = divide(asked, frame.len() + BEFORE.len() + task_mark(task.len()).len(), task.len(), read)?;
    let (start, left_out) = head(task, divided.for_task);
    let mark = if left_out > 0 { task_mark(left_out) } else { String::new() };
    let mut text = format!("{start}{mark}\n{frame}");
    // Here the agent works for the first time, even if the parent's thread has steps of the role.
    let first = PromptInput { own: None, ..*asked };
    let PromptSteps { steps, note } = parts(&first, &divided, PromptCuts { task: left_out > 0, input: cuts_input });
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
