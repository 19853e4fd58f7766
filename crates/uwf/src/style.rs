//! Colour and emphasis on terminals, and nothing of the sort from anybody else: texts of models are cleaned of control
//! characters before they reach a terminal.
//!
//! Reports mark emphasis with private-use characters; the printer turns the marks into escape sequences, or drops them.

use std::borrow::Cow;

/// First byte of every mark in UTF-8, so that texts without marks are told apart quickly.
const MARK_BYTE: u8 = 0xF3;

/// Private-use characters that stand for the beginning of an emphasis, and the sequence each becomes.
const MARKS: [(char, &str); 6] = [
    ('\u{F0000}', "\u{1b}[0m"),
    ('\u{F0001}', "\u{1b}[1m"),
    ('\u{F0002}', "\u{1b}[2m"),
    ('\u{F0003}', "\u{1b}[32m"),
    ('\u{F0004}', "\u{1b}[33m"),
    ('\u{F0005}', "\u{1b}[31m"),
];

/// Bold.
pub(crate) fn bold(text: &str) -> String {
    format!("\u{F0001}{text}\u{F0000}")
}

/// Less important.
pub(crate) fn dim(text: &str) -> String {
    format!("\u{F0002}{text}\u{F0000}")
}

/// Good.
pub(crate) fn green(text: &str) -> String {
    format!("\u{F0003}{text}\u{F0000}")
}

/// Look here.
pub(crate) fn yellow(text: &str) -> String {
    format!("\u{F0004}{text}\u{F0000}")
}

/// Bad.
pub(crate) fn red(text: &str) -> String {
    format!("\u{F0005}{text}\u{F0000}")
}

/// The text for a terminal (without control characters, with colour or without) or for a pipe (marks dropped, all else
/// as it is).
pub(crate) fn render(text: &str, is_terminal: bool, colour: bool) -> Cow<'_, str> {
    if !is_terminal && !text.as_bytes().contains(&MARK_BYTE) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for symbol in text.chars() {
        if let Some((_, sequence)) = MARKS.iter().find(|(mark, _)| *mark == symbol) {
            if colour {
                out.push_str(sequence);
            }
        } else {
            out.push(if is_terminal { harmless(symbol) } else { symbol });
        }
    }
    Cow::Owned(out)
}

/// JSON or YAML: as it is in a pipe, without control characters on a terminal. Data has no emphasis; a character that
/// would be a mark of ours is somebody's data there.
pub(crate) fn data(text: &str, is_terminal: bool) -> Cow<'_, str> {
    if is_terminal { Cow::Owned(text.chars().map(harmless).collect()) } else { Cow::Borrowed(text) }
}

/// A character that a terminal only draws: none that controls it, none that makes it draw others in another order.
fn harmless(symbol: char) -> char {
    let reorders = matches!(symbol, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    if reorders || symbol.is_control() && !matches!(symbol, '\n' | '\t') { '\u{FFFD}' } else { symbol }
}

/// Width of a text in columns, marks not counted.
pub(crate) fn width(text: &str) -> usize {
    text.chars().filter(|symbol| !MARKS.iter().any(|(mark, _)| mark == symbol)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_of_models_never_reach_a_terminal() {
        let hostile = format!("{} \u{1b}]0;owned\u{7}\u{9b}31m", bold("x"));
        assert_eq!(render(&hostile, true, true), "\u{1b}[1mx\u{1b}[0m \u{FFFD}]0;owned\u{FFFD}\u{FFFD}31m");
        assert_eq!(
            render("a\u{202E}b\u{2066}c", true, false),
            "a\u{FFFD}b\u{FFFD}c",
            "nor is text shown in another order"
        );
        assert_eq!(render(&hostile, true, false), "x \u{FFFD}]0;owned\u{FFFD}\u{FFFD}31m");
    }

    #[test]
    fn a_pipe_gets_the_text_as_it_is() {
        assert_eq!(render("a\u{1b}[0m\tb\r\n", false, false), "a\u{1b}[0m\tb\r\n");
        assert_eq!(render(&format!("{} b", bold("a")), false, false), "a b");
        assert_eq!(width(&bold("abc")), 3);
    }

    #[test]
    fn data_loses_nothing_in_a_pipe_and_controls_nothing_on_a_terminal() {
        let text = format!("\"{}\u{9b}31m\"", bold("x"));
        assert_eq!(data(&text, false), text);
        assert_eq!(data(&text, true), format!("\"{}\u{FFFD}31m\"", bold("x")));
    }
}
