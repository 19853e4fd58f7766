//! Colour and emphasis on terminals. Only uwf may use them: texts from outside, for example from models, lose their control characters
//! before they reach a terminal.
//!
//! Reports mark emphasis inside their texts; the printer replaces the marks with escape sequences, or drops them. A mark contains a random
//! key of the process, so that no text from outside can contain a mark.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use uwf_core::escapes::without_escapes;
use uwf_core::text::drawn;

/// First byte of every mark in UTF-8, to recognise texts without marks quickly.
const MARK_BYTE: u8 = 0xF3;

/// First symbols of the marks, all in the private use area, and the escape sequence of each mark.
const MARKS: [(char, &str); 6] = [
    ('\u{F0000}', "\u{1b}[0m"),
    ('\u{F0001}', "\u{1b}[1m"),
    ('\u{F0002}', "\u{1b}[2m"),
    ('\u{F0003}', "\u{1b}[32m"),
    ('\u{F0004}', "\u{1b}[33m"),
    ('\u{F0005}', "\u{1b}[31m"),
];

/// First of the symbols in keys. The 2^15 symbols are in the private use area, and no mark begins with one.
const KEY_SYMBOLS: u32 = 0xF1000;

/// Symbols of a key: its 60 bits can't be matched by chance.
const KEY_LEN: usize = 4;

/// The part after the first symbol in every mark of this process.
fn key() -> &'static str {
    static KEY: OnceLock<String> = OnceLock::new();
    KEY.get_or_init(|| {
        // Seeded with random numbers of the system.
        let random = RandomState::new().hash_one(KEY_SYMBOLS);
        let symbol = |at: usize| char::from_u32(KEY_SYMBOLS + ((random >> (15 * at)) & 0x7FFF) as u32);
        (0..KEY_LEN).filter_map(symbol).collect()
    })
}

fn marked(mark: char, text: &str) -> String {
    format!("{mark}{key}{text}{}{key}", MARKS[0].0, key = key())
}

/// Bold text.
pub(crate) fn bold(text: &str) -> String {
    marked(MARKS[1].0, text)
}

/// Dimmed text, for less important parts.
pub(crate) fn dim(text: &str) -> String {
    marked(MARKS[2].0, text)
}

/// Green text, for success.
pub(crate) fn green(text: &str) -> String {
    marked(MARKS[3].0, text)
}

/// Yellow text, for warnings.
pub(crate) fn yellow(text: &str) -> String {
    marked(MARKS[4].0, text)
}

/// Red text, for errors.
pub(crate) fn red(text: &str) -> String {
    marked(MARKS[5].0, text)
}

/// A part of a text with marks.
enum MarkedTextPart<'t> {
    /// The escape sequence of a mark, and the mark itself.
    Mark(&'static str, &'t str),
    /// Text between two marks.
    Text(&'t str),
}

/// The text and the marks, in order.
fn parts(text: &str) -> Vec<MarkedTextPart<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((at, sequence)) = next_mark(rest) {
        let (before, from_mark) = rest.split_at(at);
        let (mark, after) = from_mark.split_at(MARKS[0].0.len_utf8() + key().len());
        parts.extend([MarkedTextPart::Text(before), MarkedTextPart::Mark(sequence, mark)]);
        rest = after;
    }
    parts.push(MarkedTextPart::Text(rest));
    parts
}

/// Position of the next mark, and its escape sequence.
fn next_mark(text: &str) -> Option<(usize, &'static str)> {
    let begun = text.char_indices().filter(|(at, symbol)| text[at + symbol.len_utf8()..].starts_with(key()));
    begun
        .into_iter()
        .find_map(|(at, symbol)| MARKS.iter().find(|(mark, _)| *mark == symbol).map(|(_, sequence)| (at, *sequence)))
}

/// The text for a terminal (harmless, with or without colour) or for a pipe (only marks are dropped).
pub(crate) fn render(text: &str, is_terminal: bool, colour: bool) -> Cow<'_, str> {
    if !is_terminal && !text.as_bytes().contains(&MARK_BYTE) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for part in parts(text) {
        match part {
            MarkedTextPart::Mark(sequence, _) if colour => out.push_str(sequence),
            MarkedTextPart::Mark(..) => {}
            MarkedTextPart::Text(text) if is_terminal => out.push_str(&harmless(text)),
            MarkedTextPart::Text(text) => out.push_str(text),
        }
    }
    Cow::Owned(out)
}

/// Text that cannot control a terminal: escape sequences are removed, other control characters replaced.
fn harmless(text: &str) -> String {
    without_escapes(text).replace("\r\n", "\n").chars().map(drawn).collect()
}

/// A part of a line, which neither ends the line nor changes the parts around it. Marks are kept.
pub(crate) fn in_line(text: &str) -> String {
    without_escapes(text).chars().map(|symbol| if symbol == '\n' { ' ' } else { drawn(symbol) }).collect()
}

/// JSON or YAML, which has no emphasis: unchanged in a pipe, without control characters on a terminal.
pub(crate) fn data(text: &str, is_terminal: bool) -> Cow<'_, str> {
    if is_terminal { Cow::Owned(text.chars().map(drawn).collect()) } else { Cow::Borrowed(text) }
}

/// Width of a text in columns of a terminal, without marks.
pub(crate) fn width(text: &str) -> usize {
    let texts = parts(text)
        .into_iter()
        .filter_map(|part| if let MarkedTextPart::Text(text) = part { Some(text.width()) } else { None });
    texts.sum()
}

/// The beginning of a text, at most this many columns wide, ending with `…` if it was cut. Marks are kept.
pub(crate) fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut left = Some(columns.saturating_sub(1));
    for part in parts(text) {
        match part {
            MarkedTextPart::Mark(_, mark) => out.push_str(mark),
            MarkedTextPart::Text(text) => {
                for symbol in text.chars() {
                    let Some(room) = left else { break };
                    left = room.checked_sub(symbol.width().unwrap_or(1));
                    out.push(if left.is_some() { symbol } else { '…' });
                }
            }
        }
    }
    Cow::Owned(out)
}

/// The end of a text without marks, at most this many columns wide, beginning with `…` if it was cut.
pub(crate) fn cut_start(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut room = columns.saturating_sub(1);
    let fits = |symbol: &char| match room.checked_sub(symbol.width().unwrap_or(1)) {
        Some(left) => {
            room = left;
            true
        }
        None => false,
    };
    let mut end: Vec<char> = text.chars().rev().take_while(fits).collect();
    end.push('…');
    Cow::Owned(end.into_iter().rev().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_of_models_never_reach_a_terminal() {
        let hostile = format!("{} \u{1b}[31mred\u{1b}]0;owned\u{7}\u{9b}31m\u{8}", bold("x"));
        assert_eq!(render(&hostile, true, true), "\u{1b}[1mx\u{1b}[0m red\u{FFFD}");
        assert_eq!(render(&hostile, true, false), "x red\u{FFFD}");
        assert_eq!(render("a\r\nb\rc", true, false), "a\nb\u{FFFD}c");
        assert_eq!(
            render("a\u{202E}b\u{2066}c\u{061C}d\u{200E}e\u{200F}f", true, false),
            "a\u{FFFD}b\u{FFFD}c\u{FFFD}d\u{FFFD}e\u{FFFD}f",
            "nor is text shown in another order"
        );
    }

    #[test]
    fn nobody_else_can_mark_emphasis() {
        for (mark, _) in MARKS {
            let forged = format!("{mark}owned{mark}\u{F1000}\u{F1000}\u{F1000}\u{F1000}");
            assert_eq!(render(&forged, true, true), forged);
            assert_eq!(render(&forged, false, false), forged);
        }
        assert_eq!(key().chars().count(), KEY_LEN);
    }

    #[test]
    fn a_pipe_gets_the_text_as_it_is() {
        assert_eq!(render("a\u{1b}[0m\tb\r\n", false, false), "a\u{1b}[0m\tb\r\n");
        assert_eq!(render(&format!("{} b", bold("a")), false, false), "a b");
    }

    #[test]
    fn piped_data_is_verbatim_and_terminal_data_sanitized() {
        let text = "\"\u{F0001}x\u{9b}31m\"";
        assert_eq!(data(text, false), text);
        assert_eq!(data(text, true), "\"\u{F0001}x\u{FFFD}31m\"");
    }

    #[test]
    fn widths_are_those_on_the_terminal() {
        assert_eq!(width(&bold("abc")), 3);
        assert_eq!(width("日本語"), 6);
        assert_eq!(width("e\u{301}"), 1);
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        let cut = cut(&format!("{} later", bold("sooner")), 4).into_owned();
        assert_eq!(render(&cut, true, true), "\u{1b}[1msoo…\u{1b}[0m");
    }
}
