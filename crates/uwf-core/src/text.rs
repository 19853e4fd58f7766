//! Shortens texts for a message, a line or a model.

use std::borrow::Cow;

pub use json_cas::text::ellipsize;

use crate::escapes::without_escapes;

/// Shortens a text to this many characters and an ellipsis. Cuts after a word if that drops at most a third.
pub fn ellipsize_words(text: &str, most: usize) -> Cow<'_, str> {
    let Some((end, _)) = text.char_indices().nth(most) else { return Cow::Borrowed(text) };
    let kept = &text[..end];
    let whole = if text[end..].starts_with(char::is_whitespace) { Some(end) } else { kept.rfind(char::is_whitespace) };
    let kept = whole.filter(|at| *at * 3 >= end * 2).map_or(kept, |at| &kept[..at]);
    Cow::Owned(format!("{}…", kept.trim_end_matches([' ', ',', ';', ':'])))
}

/// A text in one line, without escape sequences: white space and control characters become single spaces, and symbols that reorder a line
/// are replaced.
#[must_use]
pub fn one_line(text: &str) -> String {
    let text = without_escapes(text);
    let words: Vec<&str> = text
        .split(|symbol: char| symbol.is_whitespace() || symbol.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ").chars().map(drawn).collect()
}

/// The first `most` names of a list, and how many follow: `a, b and 3 more`.
#[must_use]
pub fn first_names(names: &[String], most: usize) -> String {
    let shown = names[..names.len().min(most)].join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The symbol, or a replacement if it controls a terminal or reorders the text around it.
#[must_use]
pub fn drawn(symbol: char) -> char {
    let reorders = matches!(
        symbol,
        '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
    );
    let breaks = matches!(symbol, '\u{2028}' | '\u{2029}');
    if reorders || breaks || symbol.is_control() && !matches!(symbol, '\n' | '\t') { '\u{FFFD}' } else { symbol }
}

/// The beginning of a text in at most `cap` bytes, with whole characters.
#[must_use]
pub fn beginning(text: &str, cap: usize) -> &str {
    &text[..text.floor_char_boundary(cap)]
}

/// The end of a text in at most `cap` bytes, with whole characters.
#[must_use]
pub fn end(text: &str, cap: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(cap))..]
}

/// A text of at most about `cap` bytes: its beginning, and a line with the number of missing bytes.
#[must_use]
pub fn without_end(text: &str, cap: usize) -> Cow<'_, str> {
    if text.len() <= cap {
        return Cow::Borrowed(text);
    }
    let head = beginning(text, cap);
    Cow::Owned(format!("{head}\n[… {} bytes cut …]", text.len() - head.len()))
}

/// A text of at most about `cap` bytes: its beginning and its end, and between them a line with the number of missing bytes. The beginning
/// of an agent's text says what it is about, and the end has the result.
#[must_use]
pub fn without_middle(text: &str, cap: usize) -> Cow<'_, str> {
    if text.len() <= cap {
        return Cow::Borrowed(text);
    }
    let head = beginning(text, cap / 2);
    let tail = end(text, cap - cap / 2);
    let cut = text.len() - head.len() - tail.len();
    Cow::Owned(format!("{head}\n[… {cut} bytes cut …]\n{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_are_counted_and_keep_characters_whole() {
        assert_eq!(without_middle("short", 5), "short");
        assert_eq!(without_middle("abcdefghij", 4), "ab\n[… 6 bytes cut …]\nij");
        assert_eq!(without_middle("äöüäöü", 6), "ä\n[… 8 bytes cut …]\nü");
        assert_eq!(without_end("äöü", 3), "ä\n[… 4 bytes cut …]");
        assert_eq!(without_end("äöü", 6), "äöü");
        assert_eq!([end("äöü", 3), end("äöü", 9), end("äöü", 0)], ["ü", "äöü", ""]);
    }

    #[test]
    fn one_line_has_single_spaces_and_no_escapes() {
        assert_eq!(one_line(" a\n\t b\u{1b}[31mc \u{7}"), "a bc");
        assert_eq!(one_line("a\u{202E}b\u{2028}c\u{2066}"), "a\u{FFFD}b c\u{FFFD}");
    }
}
