//! A short view of a thread, for a model that judges it as a whole.

use agent_kit::{AgentContext, Result, Step};

use uwf_core::text::without_middle;

/// Steps in the overview. A loop shows in fewer.
const MAX_STEPS: usize = 30;

/// Bytes read of the steps, about the most a model reads at once.
const MAX_READ: usize = 4 << 20;

/// Bytes of the task.
const MAX_TASK: usize = 6_000;

/// Bytes of a step's output, and of its message.
const MAX_PART: usize = 1_500;

/// The task and the newest steps.
pub(super) fn newest(context: &AgentContext<'_>) -> Result<String> {
    let steps = context.newest_steps(MAX_STEPS, MAX_READ)?;
    let task = without_middle(context.task(), MAX_TASK);
    let mut text = format!("# Task of the workflow `{}`\n\n{task}\n", context.workflow_name());
    let before = steps.first().map_or(0, |first| first.index - 1);
    if before > 0 {
        text.push_str(&format!("\n({before} earlier steps are not shown.)\n"));
    }
    steps.iter().for_each(|step| text.push_str(&summary(step)));
    Ok(text)
}

fn summary(step: &Step) -> String {
    let output = step.output.to_string();
    let beside = step.message.as_deref().map(|text| format!("\n{}\n", without_middle(text.trim(), MAX_PART)));
    format!(
        "\n# Step {}: {}\n\n{}\n{}",
        step.index,
        step.role,
        without_middle(&output, MAX_PART),
        beside.unwrap_or_default()
    )
}
