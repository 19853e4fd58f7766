//! What a workflow that plays a role is told: the task of its thread. Its own roles bring their forms of an answer, so
//! it has none.

use super::fields::fields;
use super::instruction::section;
use super::{PartKind, PromptInput, build};

/// The task a role becomes when a workflow plays it: what its own thread is there for, whose part that is, what has to
/// be known in the end, and what was delivered before.
pub fn brief(input: &PromptInput<'_>) -> String {
    let mut text = format!("{}\n", input.task.trim());
    text.push_str(&format!(
        "\n# The part this is\n\nThis is the part `{}` of the workflow `{}`: only this part is to be done here.\n",
        input.role_name, input.workflow
    ));
    let role = input.role;
    section(&mut text, "Goal", &role.goal);
    section(&mut text, "Procedure", &role.procedure);
    section(&mut text, "Output", &role.output);
    section(&mut text, "What has to be known in the end", &fields(input.schema));
    let is_said = |kind| matches!(kind, PartKind::Instruction | PartKind::Task);
    let mut before = build(input).parts.into_iter().filter(|part| !is_said(part.kind)).peekable();
    if before.peek().is_some() {
        text.push_str("\n# What was delivered before\n\nIn the thread this is a part of:\n");
        text.extend(before.map(|part| part.text));
    }
    text
}
