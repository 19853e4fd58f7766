//! Fields that are true or false.

use crate::failure::HttpFailure;
use crate::fields::RequestFields;

/// The value of such a field; `None` if it is missing or empty. A form may send `yes` and `no`.
///
/// # Errors
/// 400 for any other value.
pub(super) fn yes_or_no(fields: &RequestFields, name: &str) -> Result<Option<bool>, HttpFailure> {
    match fields.text(name) {
        None | Some("") => Ok(None),
        Some("yes" | "true") => Ok(Some(true)),
        Some("no" | "false") => Ok(Some(false)),
        Some(other) => Err(HttpFailure::bad_request(format!("`{name}` is true or false, not {other}"))),
    }
}
