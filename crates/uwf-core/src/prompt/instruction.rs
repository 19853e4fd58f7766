//! The first parts of a prompt: the form of the answer and whose work it is, then the task. The one is the same in every
//! thread of a workflow, the other for every role of a thread.

use serde_json::Value;

use super::AnswerForm;
use super::fence::{fenced, head};
use super::format::answer_form;
use crate::workflow::Role;

/// The part of a prompt that is the same in every thread: form of the answer, role, goal, capabilities, procedure, output.
pub fn instruction(workflow: &str, role_name: &str, role: &Role, schema: &Value, form: AnswerForm) -> String {
    let mut text = answer_form(schema, form);
    text.push_str(&format!(
        "\n# Your role\n\n\
         You play role `{role_name}` of workflow `{workflow}`. Do only the work of this role. Other roles of the workflow do \
         the rest, even if the task mentions it.\n",
    ));
    section(&mut text, "Goal", &role.goal);
    let capabilities: Vec<String> =
        role.capabilities.iter().map(|capability| format!("- {}", capability.trim())).collect();
    section(&mut text, "Capabilities", &capabilities.join("\n"));
    section(&mut text, "Procedure", &role.procedure);
    section(&mut text, "Output", &role.output);
    text
}

/// The task as every role of a thread is shown it; `None` when there is none.
pub fn task(task: &str) -> Option<String> {
    task_within(task, usize::MAX).map(|(text, _)| text)
}

/// The task as far as it fits into a number of bytes, and whether that is all of it.
pub(super) fn task_within(task: &str, bytes: usize) -> Option<(String, bool)> {
    let task = task.trim_end();
    if task.trim().is_empty() {
        return None;
    }
    let mut cap = task.len().min(bytes);
    loop {
        let (start, left_out) = head(task, cap);
        let mark = if left_out > 0 { format!("[… {left_out} bytes of the task left out]\n") } else { String::new() };
        let text = format!("\n# Task\n\n{}{mark}", fenced("text", start));
        if text.len() <= bytes || cap == 0 {
            return Some((text, left_out == 0));
        }
        // The cap is looked for rather than computed: a mark is added, and a fence may be as long as its text.
        cap = cap.saturating_sub(text.len() - bytes);
    }
}

/// A section under the role; none for an empty text.
pub(super) fn section(text: &mut String, title: &str, content: &str) {
    let content = content.trim();
    if !content.is_empty() {
        text.push_str(&format!("\n## {title}\n\n{content}\n"));
    }
}
