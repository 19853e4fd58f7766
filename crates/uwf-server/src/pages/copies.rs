//! The copies of a group side by side, for the person who picks one.

use maud::{Markup, html};
use uwf_engine::views::copies::FinishedCopy;

use super::forms::{self, ActionButton, FormSubject};
use super::{files, parts, texts, values};
use crate::api::actions::COPY;
use crate::api::and_run::RUN;
use crate::api::answer::{CopiesToPick, CopyToPick};
use crate::app::AppState;

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

fn card(shown: &CopyToPick, first: Option<&CopyToPick>, can_pick: bool) -> Markup {
    let CopyToPick { copy, agent, spent, has_files } = shown;
    let FinishedCopy { path, thread, output, message, failure, step } = copy;
    let other = first.and_then(|first| first.copy.thread.as_ref()).filter(|other| Some(*other) != thread.as_ref());
    html! {
        article {
            h3 {
                @match thread { Some(thread) => a href={"/threads/" (thread)} { (path) }, None => (path) }
            }
            p.small.quiet {
                @if let Some(agent) = agent { (agent) " · " }
                (parts::duration(spent.duration_ms)) " · " (spent.cost_text())
                @if let (Some(thread), Some(other)) = (thread, other) {
                    " · " a href={"/compare/" (other) ".." (thread)} { "Compare with the first" }
                }
            }
            @match failure {
                Some(why) => p.problem { "It failed: " (parts::message(why)) },
                None => (values::output(output, None)),
            }
            @if let Some(message) = message.as_deref().filter(|message| !message.trim().is_empty()) {
                details open { summary { "Text" } (texts::prose(message, 4, None)) }
            }
            @if let Some(thread) = thread.as_ref().filter(|_| *has_files) { (files::on_request(thread, *step)) }
            @if can_pick && failure.is_none() {
                div.actions { button.primary name=(COPY) value=(path) { "Pick" span.hidden { " " (path) } } }
            }
        }
    }
}
