//! The forms that fork a thread: after one of its steps, or from its start with another task or input. The roles can get other agents.

use maud::{Markup, html};
use uwf_core::text;
use uwf_engine::root::ids;

use super::super::forms::{self, ActionButton, FormSubject};
use super::read::ThreadView;
use crate::app::AppState;

/// Characters of a step in the list of steps.
const STEP: usize = 60;

/// Both forms, folded; empty on a server without changes.
pub(super) fn fork_form(app: &AppState, about: FormSubject<'_>, shown: &ThreadView) -> Markup {
    if app.is_read_only() {
        return html! {};
    }
    let status = &shown.status;
    // A fork of a thread that has ended would end at once, so its last step is left out.
    let steps = &shown.steps[..shown.steps.len().saturating_sub(usize::from(status.done))];
    let button = ActionButton::new("fork", "Fork and run", "").and_run("Fork without running", "");
    let again =
        ActionButton { without_run: Some("Start without running"), ..ActionButton::new("fork", "Start and run", "") };
    let id = html! { input type="hidden" name="id" value=(ids::new_thread_id()); };
    let after_step = html! {
        (id)
        label.inline for="fork-step" { "After" }
        select #fork-step name="step" {
            @if !status.done { option value="" { "the newest step" } }
            @for timed in steps.iter().rev() {
                option value=(timed.step.hash) { (timed.step.index) " " (text::ellipsize(&timed.step.role, STEP)) }
            }
        }
        (shown.fork.agents("after"))
    };
    let with_task = html! {
        input type="hidden" name="id" value=(ids::new_thread_id());
        label for="fork-task" { "Task" }
        textarea #fork-task name="prompt" rows="4" required { "\n" (status.task) }
        (shown.fork.inputs(status.input.as_ref()))
        (shown.fork.agents("again"))
    };
    html! {
        details #fork .act {
            summary.button data-key="F" { "Fork" }
            div.forks {
                @if !status.done || !steps.is_empty() {
                    section { h3 { "Fork after a step" } (forms::form(app, about, &button, &after_step)) }
                }
                section { h3 { "Start over" } (forms::form(app, about, &again, &with_task)) }
            }
        }
    }
}
