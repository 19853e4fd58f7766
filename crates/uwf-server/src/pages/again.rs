//! A form that failed, with the input that was typed.

use axum::http::StatusCode;
use maud::{Markup, html};

use crate::api::and_run::RUN;
use crate::api::answer::KEY;
use crate::failure::SentForm;

/// Fields that a person does not type.
const HIDDEN: [&str; 7] = ["expectedHead", "expectedAttempt", "back", "id", "step", "question", RUN];

/// The form again, with a link back to its page. If the thread has moved on or ended, the form can't be sent again, but the input can still
/// be copied.
pub(super) fn again(form: &SentForm, status: StatusCode) -> Markup {
    let (hidden, typed): (Vec<_>, Vec<_>) = form.fields.all().partition(|(name, _)| HIDDEN.contains(name));
    let is_outdated = matches!(status, StatusCode::CONFLICT | StatusCode::NOT_FOUND);
    let is_empty = typed.is_empty();
    html! {
        @if !is_empty {
            h2 { "Your input" }
            form method="post" action=(form.action) {
                @for (name, value) in hidden { input type="hidden" name=(name) value=(value); }
                @for (position, (name, value)) in typed.into_iter().enumerate() {
                    @let id = format!("again-{position}");
                    label for=(id) { (name.strip_prefix(KEY).unwrap_or(name)) }
                    // A browser drops a leading line break.
                    textarea id=(id) name=(name) rows=(value.lines().count().clamp(1, 12)) readonly[is_outdated] { "\n" (value) }
                }
                @if !is_outdated { p.actions { button.primary { "Send again" } a.button href=(form.page) { "Back" } } }
            }
        }
        @if is_outdated || is_empty {
            p { a.button href=(form.page) { "Back to where you were" } }
        }
    }
}
