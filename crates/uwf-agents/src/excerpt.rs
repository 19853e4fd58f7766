//! Long texts made short enough for a model, a message or a line of progress.

use std::borrow::Cow;

/// A text of at most about `cap` bytes: its beginning and its end, with a line between them that says how much is
/// missing. Of what an agent writes, the beginning says what it is about and the end what came of it.
pub(crate) fn without_middle(text: &str, cap: usize) -> Cow<'_, str> {
    if text.len() <= cap {
        return Cow::Borrowed(text);
    }
    let head = beginning(text, cap / 2);
    let tail = end(text, cap - cap / 2);
    let cut = text.len() - head.len() - tail.len();
    Cow::Owned(format!("{head}\n[… {cut} bytes cut …]\n{tail}"))
}

/// As much of the beginning as fits into `cap` bytes, whole characters.
pub fn beginning(text: &str, cap: usize) -> &str {
    &text[..text.floor_char_boundary(cap)]
}

/// As much of the end as fits into `cap` bytes, whole characters.
fn end(text: &str, cap: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(cap))..]
}

/// The text on one line, cut after `cap` bytes: for progress, which people read in passing.
pub fn line(text: &str, cap: usize) -> String {
    let start = beginning(text, cap);
    let cut = if start.len() < text.len() { "…" } else { "" };
    let words: Vec<&str> = start.split_whitespace().collect();
    format!("{}{cut}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_goes_and_characters_stay_whole() {
        assert_eq!(without_middle("short", 5), "short");
        assert_eq!(without_middle("abcdefghij", 4), "ab\n[… 6 bytes cut …]\nij");
        assert_eq!(without_middle("äöüäöü", 6), "ä\n[… 8 bytes cut …]\nü");
        assert_eq!(line("a\n  b\nc", 100), "a b c");
        assert_eq!(line("abc def", 5), "abc d…");
    }
}
