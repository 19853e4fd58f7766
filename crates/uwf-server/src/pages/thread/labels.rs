//! The labels of a thread, and the form that changes them.

use maud::{Markup, html};
use uwf_engine::views::show::ThreadStatus;

use super::super::forms::{self, ActionButton, FormSubject};
use crate::app::AppState;
use crate::url::encoded;

/// Links to the threads with the same labels.
pub(super) fn shown(status: &ThreadStatus) -> Markup {
    html! {
        @if !status.labels.is_empty() {
            p.labels {
                @for (key, value) in &status.labels {
                    @let label = format!("{key}={value}");
                    a href={"/?all=1&label=" (encoded(&label))} title="Threads with this label" { (label) }
                }
            }
        }
    }
}

/// A form that adds a label, and one for each label that removes it; folded.
pub(super) fn form(app: &AppState, about: FormSubject<'_>, status: &ThreadStatus) -> Markup {
    if app.is_read_only() {
        return html! {};
    }
    let add = html! {
        label.inline for="label-set" { "Label" }
        input #label-set name="set" required placeholder="KEY=VALUE" autocomplete="off" spellcheck="false" size="18";
    };
    html! {
        details #label .act {
            summary.button { "Label" }
            div.forks {
                section {
                    (forms::form(app, about, &ActionButton::new("label", "Add", ""), &add))
                    @for (key, value) in &status.labels {
                        @let title = format!("Remove {key}={value}");
                        @let remove = ActionButton { class: "quiet", ..ActionButton::new("label", &title, "") };
                        (forms::form(app, about, &remove, &html! { input type="hidden" name="remove" value=(key); }))
                    }
                }
            }
        }
    }
}
