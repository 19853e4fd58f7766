//! The first parts of a prompt: the form of the answer and the role, then the task. The first is the same in every thread of a workflow,
//! the second for every role of a thread.

use serde_json::Value;

use super::AnswerForm;
use super::fence::{fenced, head};
use super::format::answer_form;
use crate::workflow::Role;

/// The part of a prompt that is the same in every thread: form of the answer, role, goal, capabilities, procedure, output.
pub fn instruction(
    workflow: &str,
    role_name: &str,
    role: &Role,
    schema: &Value,
    form: AnswerForm,
    may_ask: bool,
) -> String {
    let mut text = answer_form(schema, form, may_ask);
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

/// The task as shown to every role of a thread; `None` if it is empty.
pub fn task(task: &str) -> Option<String> {
    task_within(task, usize::MAX).map(|(text, _)| text)
}

/// The task within a number of bytes, and whether it is complete.
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
        // Search for the cap instead of computing it: a mark is added, and a fence may be as long as its text.
        cap = cap.saturating_sub(text.len() - bytes);
    }
}

/// Adds a section below the role, unless its text is empty.
pub(super) fn section(text: &mut String, title: &str, content: &str) {
    let content = content.trim();
    if !content.is_empty() {
        text.push_str(&format!("\n## {title}\n\n{content}\n"));
    }
}
