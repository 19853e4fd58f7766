//! The first part of a prompt: the form of the answer, whose work it is, and the task.

use super::PromptInput;
use super::fence::fenced;
use super::format::answer_form;

/// The instruction; nothing in it depends on the visit.
pub(super) fn instruction(input: &PromptInput<'_>) -> String {
    let mut text = answer_form(input.schema, input.output);
    text.push_str(&format!(
        "\n# Your role\n\n\
         You play the role `{role}` of the workflow `{workflow}`. Do this role's work and deliver what is asked of this \
         role, nothing else: the other roles of the workflow do their own part, even if the task names it.\n",
        role = input.role_name,
        workflow = input.workflow,
    ));
    let role = input.role;
    section(&mut text, "Goal", &role.goal);
    let capabilities: Vec<String> =
        role.capabilities.iter().map(|capability| format!("- {}", capability.trim())).collect();
    section(&mut text, "Capabilities", &capabilities.join("\n"));
    section(&mut text, "Procedure", &role.procedure);
    section(&mut text, "Output", &role.output);
    if !input.task.trim().is_empty() {
        text.push_str("\n# Task\n\n");
        text.push_str(&fenced("text", input.task.trim_end()));
    }
    text
}

/// A section under the role; none for an empty text.
pub(super) fn section(text: &mut String, title: &str, content: &str) {
    let content = content.trim();
    if !content.is_empty() {
        text.push_str(&format!("\n## {title}\n\n{content}\n"));
    }
}
