//! The result of an ended thread: the output of its last step.

use maud::{Markup, html};
use uwf_core::thread::Step;

use super::super::{parts, texts, values};
use super::read::ThreadView;

/// The result; empty for a thread that has not ended, or whose last step is not readable.
pub(super) fn result(shown: &ThreadView) -> Markup {
    let status = &shown.status;
    // A page of earlier steps does not have it.
    let is_result = |step: &Step| step.hash == status.head && step.unreadable.output.is_none();
    let last = shown.steps.last().filter(|last| status.done && is_result(&last.step));
    let Some(step) = last.map(|last| &last.step) else { return html! {} };
    html! {
        section #result .note data-state=(status.state.name()) {
            h2 { "Result" }
            (values::output(&step.output, None))
            @if let Some(message) = step.message.as_deref().filter(|message| !message.trim().is_empty()) {
                details { summary { "Text of " (step.role) } (texts::prose(message, 3, None)) }
            }
            p.small.quiet {
                a href={"/threads/" (status.thread) "/steps/" (step.hash)} { "Step " (step.index) ", " (step.role) } " " (parts::ago(step.timestamp))
            }
        }
    }
}
