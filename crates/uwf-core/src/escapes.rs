//! Finds and removes terminal escape sequences in texts of agents (ECMA-48, section 5). They format a text for a terminal, or attack the
//! terminal, and are never part of the content.

use std::borrow::Cow;
use std::ops::Range;

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';

/// The one-symbol form of `ESC \`, which ends a string.
const STRING_END: char = '\u{9c}';

/// Returns the text without its escape sequences, each removed as a whole: colours, cursor movements, titles, links. A sequence ends with
/// its line at the latest, so an unclosed sequence hides only the rest of its line. Other control characters stay.
pub fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains(is_introducer) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(kept(text).into_iter().map(|range| &text[range]).collect())
}

/// The parts of a text that are not escape sequences.
pub(crate) fn kept(text: &str) -> Vec<Range<usize>> {
    let mut kept = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(found) = text[at..].find(is_introducer) {
        at += found;
        match sequence(&text[at..]) {
            // A control character that begins no sequence is kept like any other.
            0 => at += text[at..].chars().next().map_or(0, char::len_utf8),
            len => {
                kept.push(from..at);
                at += len;
                from = at;
            }
        }
    }
    kept.push(from..text.len());
    kept.retain(|range| !range.is_empty());
    kept
}

/// Returns the start of an unfinished sequence at the end of a line that may still grow.
pub(crate) fn open_at(line: &str) -> Option<usize> {
    let mut rest = line;
    while let Some(at) = rest.find(is_introducer) {
        rest = &rest[at..];
        let mut symbols = rest.chars();
        let (first, second) = (symbols.next(), symbols.next());
        let introducer = match (first, second) {
            (Some(ESCAPE), None) => return Some(line.len() - rest.len()),
            (Some(ESCAPE), Some('[' | ']' | 'P' | 'X' | '^' | '_')) => 2,
            (first, _) => first.map_or(0, char::len_utf8),
        };
        let is_open = match (first, second) {
            (Some(ESCAPE), Some('[')) | (Some('\u{9b}'), _) => {
                control(rest, introducer).is_none() && introducer + parameters(&rest[introducer..]) == rest.len()
            }
            (Some(ESCAPE), Some(' '..='/')) => rest[1..].bytes().all(|byte| matches!(byte, b' '..=b'/')),
            (Some(ESCAPE), _) if introducer == 1 => false,
            _ => string(rest, introducer).is_none(),
        };
        if is_open {
            return Some(line.len() - rest.len());
        }
        rest = &rest[sequence(rest).max(introducer)..];
    }
    None
}

/// Whether a symbol begins a sequence: escape, or the one-symbol forms of `ESC [`, `ESC ]`, `ESC P`, `ESC X`, `ESC ^` and `ESC _`.
fn is_introducer(symbol: char) -> bool {
    matches!(symbol, ESCAPE | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}'..='\u{9f}')
}

/// Length in bytes of the sequence at the start of a text; 0 if there is none.
fn sequence(text: &str) -> usize {
    let mut symbols = text.chars();
    match symbols.next() {
        Some(ESCAPE) => {}
        Some('\u{9b}') => return control(text, '\u{9b}'.len_utf8()).unwrap_or(0),
        // If the encoding of a text was guessed wrong, these symbols stand for letters. So they count only if the sequence has an end.
        Some(other) => return string(text, other.len_utf8()).unwrap_or(0),
        None => return 0,
    }
    let line = text.lines().next().unwrap_or_default().len();
    match symbols.next() {
        Some('[') => control(text, 2).unwrap_or_else(|| 2 + parameters(&text[2..])),
        Some(']' | 'P' | 'X' | '^' | '_') => string(text, 2).unwrap_or(line),
        Some(' '..='/') => {
            let between = 1 + text[1..].bytes().take_while(|byte| matches!(byte, b' '..=b'/')).count();
            between + usize::from(text[between..].starts_with(|symbol: char| ('0'..='~').contains(&symbol)))
        }
        Some('0'..='~') => 2,
        _ => 1,
    }
}

/// Length in bytes of a control sequence: parameters and a final byte after its introducer.
fn control(text: &str, introducer: usize) -> Option<usize> {
    let end = introducer + parameters(&text[introducer..]);
    text[end..].starts_with(|symbol: char| ('@'..='~').contains(&symbol)).then_some(end + 1)
}

fn parameters(text: &str) -> usize {
    text.bytes().take_while(|byte| matches!(byte, b' '..=b'?')).count()
}

/// Length in bytes of a string up to its end, which is in the same line.
fn string(text: &str, introducer: usize) -> Option<usize> {
    let body = &text[introducer..];
    let line = body.find('\n').map_or(body, |end| &body[..end]);
    for (at, symbol) in line.char_indices() {
        match symbol {
            BELL | STRING_END => return Some(introducer + at + symbol.len_utf8()),
            ESCAPE if line[at + 1..].starts_with('\\') => return Some(introducer + at + 2),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{open_at, without_escapes};

    #[test]
    fn whole_sequences_are_removed() {
        for (text, plain) in [
            ("\u{1b}[1;32mok\u{1b}[0m", "ok"),
            ("a\u{1b}[2Kb\u{1b}[?25lc", "abc"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://a.invalid\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("x\u{1b}P+q544e\u{1b}\\y", "xy"),
            ("\u{1b}(Bx\u{1b}7y\u{1b}=z", "xyz"),
            ("\u{9b}31mred\u{9b}0m", "red"),
            ("\u{9d}0;owned\u{9c}x\u{90}q\u{9c}y", "xy"),
            ("nothing é", "nothing é"),
        ] {
            assert_eq!(without_escapes(text), plain, "{text:?}");
        }
    }

    #[test]
    fn sequence_stays_open_until_terminated() {
        for (open, at) in [
            ("\u{1b}", 0),
            ("a\u{1b}[1;3", 1),
            ("\u{1b}]0;title", 0),
            ("\u{1b}[0m\u{1b}(", 4),
            ("\u{9b}3", 0),
            ("é\u{9d}x", 2),
            ("\u{1b}]x\u{1b}", 0),
        ] {
            assert_eq!(open_at(open), Some(at), "{open:?}");
        }
        for closed in ["", "a", "\u{1b}[0m", "\u{1b}]0;t\u{7}x", "\u{1b}7", "\u{1b}é", "\u{1b}[1é", "\u{9b}é"] {
            assert_eq!(open_at(closed), None, "{closed:?}");
        }
    }

    #[test]
    fn unterminated_sequence_hides_only_its_line() {
        assert_eq!(without_escapes("a\u{1b}]never closed\nb"), "a\nb");
        assert_eq!(without_escapes("a\u{1b}[1;\nb"), "a\nb");
        assert_eq!(without_escapes("a\u{1b}[1é"), "aé");
        assert_eq!(without_escapes("a\u{1b}\nb\u{1b}é\u{1b}"), "a\nbé");
        assert_eq!(without_escapes("\u{98}a tilde\u{98}\n\u{9b}"), "\u{98}a tilde\u{98}\n\u{9b}", "no sequence");
    }
}
