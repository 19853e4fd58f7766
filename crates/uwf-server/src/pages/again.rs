//! A form that failed, with what was typed in it.

use axum::http::StatusCode;
use maud::{Markup, html};

use crate::api::answer::KEY;
use crate::failure::SentForm;

/// Fields that a form has and nobody types.
const HIDDEN: [&str; 6] = ["expectedHead", "expectedAttempt", "back", "id", "step", "question"];

/// The form once more, and the way back to the page it was on. When the thread has moved on since, or has ended, sending it again
/// is no use, but what was typed may be.
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
                    // A browser drops a line break that comes first.
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
