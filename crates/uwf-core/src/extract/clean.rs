//! Removes what terminals, editors and models add around a text, before anything is searched for in it.

use super::lines::{indent, names_answer};
use crate::escapes::without_escapes;

/// Byte order mark; some editors and shells put one before the first line.
const BOM: char = '\u{feff}';

/// Zero-width space, as copied from web pages.
const ZERO_WIDTH: char = '\u{200b}';

/// Returns the text without byte order mark, ANSI sequences and control characters, with `\n` as its only line end. Characters that are
/// never valid in YAML (such as NUL) are removed as well.
pub(crate) fn clean(raw: &str) -> String {
    let raw = without_escapes(raw.trim_start_matches([BOM, ZERO_WIDTH]));
    let mut text = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\r' => {
                chars.next_if_eq(&'\n');
                text.push('\n');
            }
            '\n' | '\t' => text.push(char),
            BOM => {}
            _ if char.is_control() => {}
            _ => text.push(char),
        }
    }
    text
}

/// Removes the indentation that all lines share, if the first line is indented.
pub(super) fn at_left_edge(text: String) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().map_or(0, indent);
    let shared = lines.map(indent).fold(first, usize::min);
    if shared == 0 {
        return text;
    }
    text.split_inclusive('\n').map(|line| line.get(shared..).unwrap_or("\n")).collect()
}

/// Tokens by which models end a reply, if their server lets them through.
const END_TOKENS: [&str; 5] = ["<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<|endoftext|>", "</s>"];

/// Returns the text without end tokens and without what surrounds all of it: an element that names an answer (`<answer>{…}</answer>`), or
/// the marks of code in one line.
pub(super) fn without_wrapper(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(rest) = END_TOKENS.into_iter().find_map(|token| text.strip_suffix(token)) {
        text = rest.trim_end();
    }
    let element = || {
        let (name, inside) = text.strip_prefix('<')?.split_once('>')?;
        let inside = inside.strip_suffix('>')?.strip_suffix(name)?.strip_suffix("</")?;
        names_answer(name).then(|| inside.trim())
    };
    let code = || {
        let inside = text.trim_matches('`');
        let marks = text.len() - text.trim_start_matches('`').len();
        let is_code = matches!(marks, 1 | 3) && text.len() == inside.len() + 2 * marks && !text.contains('\n');
        is_code.then(|| inside.strip_prefix("json").unwrap_or(inside).trim())
    };
    element().or_else(code).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::{at_left_edge, clean};

    #[test]
    fn fully_indented_text_is_dedented() {
        assert_eq!(at_left_edge("  ---\n\n    a\n  ---".to_owned()), "---\n\n  a\n---");
        assert_eq!(at_left_edge("  a\nb".to_owned()), "  a\nb");
        assert_eq!(at_left_edge(String::new()), "");
    }

    #[test]
    fn terminal_dressing_is_removed() {
        assert_eq!(clean("\u{feff}---\r\na: 1\r\n---\r\n"), "---\na: 1\n---\n");
        assert_eq!(clean("\u{1b}[1;32mok\u{1b}[0m"), "ok");
        assert_eq!(clean("\u{1b}]0;title\u{7}x"), "x");
        assert_eq!(clean("\u{1b}]8;;http://a.invalid\u{1b}\\link"), "link");
        assert_eq!(clean("\u{200b}---"), "---");
        assert_eq!(clean("a\u{0}b\u{8}c"), "abc");
        assert_eq!(clean("10%\r20%\rdone"), "10%\n20%\ndone");
    }

    #[test]
    fn a_stray_escape_ends_with_its_line() {
        assert_eq!(clean("\u{1b}]never closed\n---"), "\n---");
        assert_eq!(clean("\u{1b}"), "");
        assert_eq!(clean("\u{1b}["), "");
        assert_eq!(clean("\u{1b}\n---"), "\n---");
    }
}
