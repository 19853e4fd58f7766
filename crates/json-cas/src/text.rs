//! Texts in messages.

use std::borrow::Cow;

/// The first `most` characters of a text, with `…` in place of the rest.
#[must_use]
pub fn ellipsize(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_not_bytes() {
        assert_eq!(ellipsize("äöü", 3), "äöü");
        assert_eq!(ellipsize("äöü", 2), "äö…");
    }
}
