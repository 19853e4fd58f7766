//! The copies of a group side by side, for the person who picks one.

use maud::{Markup, html};
use uwf_core::text;
use uwf_engine::views::copies::FinishedCopy;

use super::forms::{self, ActionButton, FormSubject};
use super::{parts, values};
use crate::api::actions::COPY;
use crate::api::and_run::RUN;
use crate::api::answer::CopiesToPick;
use crate::app::AppState;
use crate::markdown::markdown;

/// Bytes shown of the text of a copy.
const SHOWN: usize = 8 << 10;

/// A form with a button below each copy. On a server without changes, the copies alone.
pub(super) fn choice(app: &AppState, asked: &CopiesToPick, back: Option<&str>) -> Markup {
    let about = FormSubject { thread: &asked.thread, head: asked.head, attempt: None, back };
    let button = ActionButton { done: "Picked", ..ActionButton::new("take", "", "") };
    let first = asked.copies.first();
    let cards = html! {
        div.copies { @for copy in &asked.copies { (card(copy, first, !app.is_read_only())) } }
    };
    let inside = html! {
        input type="hidden" name=(RUN) value="true";
        (cards)
        // Not a field of one line, in which Enter presses the first button.
        label for={"reason-" (asked.thread)} { "Your reason " span.quiet.small { "(optional)" } }
        textarea #{"reason-" (asked.thread)} name="message" rows="2" {}
    };
    if app.is_read_only() {
        cards
    } else {
        html! { div.pick-copy { (forms::with_buttons(app, about, &button, &inside)) } }
    }
}

fn card(copy: &FinishedCopy, first: Option<&FinishedCopy>, can_pick: bool) -> Markup {
    let FinishedCopy { path, thread, output, message, failure } = copy;
    let other = first.and_then(|first| first.thread.as_ref()).filter(|other| Some(*other) != thread.as_ref());
    html! {
        article {
            h3 {
                @match thread { Some(thread) => a href={"/threads/" (thread)} { (path) }, None => (path) }
            }
            @match failure {
                Some(why) => p.problem { "It failed: " (parts::message(why)) },
                None => (values::output(output, None)),
            }
            @if let Some(message) = message.as_deref().filter(|message| !message.trim().is_empty()) {
                details { summary { "Text" } div.text { (markdown(&text::without_end(message, SHOWN), 4)) } }
            }
            div.actions {
                @if can_pick && failure.is_none() { button.primary name=(COPY) value=(path) { "Pick this one" } }
                @if let (Some(thread), Some(other)) = (thread, other) {
                    a href={"/compare/" (other) ".." (thread)} { "Compare with the first" }
                }
            }
        }
    }
}
