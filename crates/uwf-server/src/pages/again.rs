//! A form that failed, with the input that was typed.

use axum::http::StatusCode;
use maud::{Markup, html};

use super::forms::{FieldFault, HIDDEN};
use crate::api::answer::KEY;
use crate::failure::{HttpFailure, SentForm};

/// The form again, with a link back to its page. If the thread has moved on or ended, the form can't be sent again, but the input can still
/// be copied.
pub(super) fn again(form: &SentForm, failure: &HttpFailure) -> Markup {
    let fault = FieldFault::find(failure, &form.fields);
    let fault = fault.as_ref();
    let (hidden, typed): (Vec<_>, Vec<_>) = form.fields.all().partition(|(name, _)| HIDDEN.contains(name));
    let is_outdated = matches!(failure.status, StatusCode::CONFLICT | StatusCode::NOT_FOUND);
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
                    @let (is_invalid, message) = FieldFault::marks(fault, name);
                    textarea id=(id) name=(name) rows=(value.lines().count().clamp(1, 12)) readonly[is_outdated]
                        autofocus[is_invalid.is_some()] aria-invalid=[is_invalid] aria-errormessage=[message] { "\n" (value) }
                    (FieldFault::below(fault, name))
                }
                @if !is_outdated { p.actions { button.primary { "Send again" } a.button href=(form.page) { "Back" } } }
            }
        }
        @if is_outdated || is_empty {
            p { a.button href=(form.page) { "Back to where you were" } }
        }
    }
}
