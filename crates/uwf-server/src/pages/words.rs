//! The differences between two texts, word by word.

use imara_diff::{Algorithm, Diff, InternedInput};
use maud::{Markup, html};

/// Most bytes of both texts together; longer texts are only reported as different.
const COMPARED: usize = 400_000;

/// Longest equal piece, in bytes, that is shown in full.
const AROUND: usize = 600;

/// A piece of two texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordDiffPiece<'t> {
    /// In both texts.
    Same(&'t str),
    /// Only in the first text.
    Removed(&'t str),
    /// Only in the second text.
    Added(&'t str),
}

/// Both texts merged, with the differences marked.
pub(crate) fn inline(one: &str, other: &str) -> Markup {
    let Some(pieces) = pieces(one, other) else { return too_long(one, other) };
    html! {
        div.words {
            @for piece in pieces {
                @match piece {
                    WordDiffPiece::Same(text) => (same(text)),
                    WordDiffPiece::Removed(text) => del { (text) },
                    WordDiffPiece::Added(text) => ins { (text) },
                }
            }
        }
    }
}

/// Each text, with the parts that the other lacks marked.
pub(crate) fn sides(one: &str, other: &str) -> [Markup; 2] {
    let Some(pieces) = pieces(one, other) else { return [too_long(one, other), html! {}] };
    let left = html! {
        div.words {
            @for piece in &pieces {
                @match piece {
                    WordDiffPiece::Same(text) => (same(text)),
                    WordDiffPiece::Removed(text) => del { (text) },
                    WordDiffPiece::Added(_) => {},
                }
            }
        }
    };
    let right = html! {
        div.words {
            @for piece in &pieces {
                @match piece {
                    WordDiffPiece::Same(text) => (same(text)),
                    WordDiffPiece::Removed(_) => {},
                    WordDiffPiece::Added(text) => ins { (text) },
                }
            }
        }
    };
    [left, right]
}

fn too_long(one: &str, other: &str) -> Markup {
    let [one, other] = [one, other].map(|text| super::texts::size(text.len()));
    html! { p.quiet { "They differ, and are too long to compare here: " (one) " and " (other) "." } }
}

/// An equal piece; only the beginning and the end if it is long.
fn same(text: &str) -> Markup {
    if text.len() <= AROUND {
        return html! { (text) };
    }
    let (begin, end) = (text.floor_char_boundary(AROUND / 2), text.ceil_char_boundary(text.len() - AROUND / 2));
    html! { (text[..begin]) span.skipped { "… " (super::texts::size(end - begin)) " the same …" } (text[end..]) }
}

/// The pieces of two texts, in order; `None` if they are too long to compare.
fn pieces<'t>(one: &'t str, other: &'t str) -> Option<Vec<WordDiffPiece<'t>>> {
    if one.len() + other.len() > COMPARED {
        return None;
    }
    let (one_words, other_words) = (words(one), words(other));
    let mut input = InternedInput::default();
    input.update_before(one_words.iter().map(|word| &one[word.clone()]));
    input.update_after(other_words.iter().map(|word| &other[word.clone()]));
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_no_heuristic(&input);
    let span = |words: &[std::ops::Range<usize>], from: u32, to: u32| {
        let words = &words[from as usize..to as usize];
        words.first().map(|first| first.start).zip(words.last().map(|last| last.end)).map(|(start, end)| start..end)
    };
    let mut pieces = Vec::new();
    let (mut at, mut at_other) = (0, 0);
    let mut changed: Option<[std::ops::Range<usize>; 2]> = None;
    for hunk in diff.hunks() {
        let same = span(&one_words, at, hunk.before.start);
        let begin = |words: &[std::ops::Range<usize>], at: u32, text: &str| {
            words.get(at as usize).map_or(text.len(), |word| word.start)
        };
        let removed = begin(&one_words, hunk.before.start, one)..begin(&one_words, hunk.before.end, one);
        let added = begin(&other_words, hunk.after.start, other)..begin(&other_words, hunk.after.end, other);
        let gap = same.map(|same| &one[same]).unwrap_or_default();
        changed = Some(match changed.take() {
            // One changed phrase reads better than changed words with spaces between them.
            Some([before, before_other]) if gap.trim().is_empty() && !gap.contains('\n') => {
                [before.start..removed.end, before_other.start..added.end]
            }
            earlier => {
                earlier.into_iter().for_each(|ranges| push_change(&mut pieces, one, other, &ranges));
                push(&mut pieces, WordDiffPiece::Same(gap));
                [removed, added]
            }
        });
        (at, at_other) = (hunk.before.end, hunk.after.end);
    }
    changed.into_iter().for_each(|ranges| push_change(&mut pieces, one, other, &ranges));
    debug_assert_eq!(one_words.len() - at as usize, other_words.len() - at_other as usize);
    let rest = one_words.get(at as usize).map_or("", |word| &one[word.start..]);
    push(&mut pieces, WordDiffPiece::Same(rest));
    Some(pieces)
}

fn push_change<'t>(
    pieces: &mut Vec<WordDiffPiece<'t>>,
    one: &'t str,
    other: &'t str,
    ranges: &[std::ops::Range<usize>; 2],
) {
    let [removed, added] = ranges;
    push(pieces, WordDiffPiece::Removed(&one[removed.clone()]));
    push(pieces, WordDiffPiece::Added(&other[added.clone()]));
}

fn push<'t>(pieces: &mut Vec<WordDiffPiece<'t>>, piece: WordDiffPiece<'t>) {
    let (WordDiffPiece::Same(text) | WordDiffPiece::Removed(text) | WordDiffPiece::Added(text)) = piece;
    if !text.is_empty() {
        pieces.push(piece);
    }
}

/// The kind of token that a character belongs to.
#[derive(PartialEq, Eq, Clone, Copy)]
enum CharacterClass {
    /// A word: adjacent characters of one kind.
    Word,
    /// A space within a line.
    Space,
    /// A token of its own: the end of a line, a punctuation mark, a character of a script without spaces.
    Alone,
}

fn kind(symbol: char) -> CharacterClass {
    match symbol {
        '\n' => CharacterClass::Alone,
        _ if symbol.is_whitespace() => CharacterClass::Space,
        // From the radicals on: East Asian scripts.
        '\u{2e80}'.. => CharacterClass::Alone,
        _ if symbol.is_alphanumeric() || symbol == '_' => CharacterClass::Word,
        _ => CharacterClass::Alone,
    }
}

/// The ranges of a text's tokens; together they cover the whole text.
fn words(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut words: Vec<std::ops::Range<usize>> = Vec::new();
    let mut last = None;
    for (at, symbol) in text.char_indices() {
        let kind = kind(symbol);
        let end = at + symbol.len_utf8();
        match words.last_mut() {
            Some(word) if last == Some(kind) && kind != CharacterClass::Alone => word.end = end,
            _ => words.push(at..end),
        }
        last = Some(kind);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::WordDiffPiece::{Added, Removed, Same};
    use super::*;

    #[test]
    fn texts_are_made_of_words() {
        let of = |text| words(text).into_iter().map(|word| &text[word]).collect::<Vec<&str>>();
        assert_eq!(of("fix_it now,  (2)\n"), ["fix_it", " ", "now", ",", "  ", "(", "2", ")", "\n"]);
        assert_eq!(of("größer 工作流"), ["größer", " ", "工", "作", "流"]);
        assert_eq!(of(""), [""; 0]);
    }

    #[test]
    fn changes_are_shown_by_words() {
        assert_eq!(pieces("", "").unwrap(), []);
        assert_eq!(pieces("a b", "a b").unwrap(), [Same("a b")]);
        assert_eq!(pieces("", "new text").unwrap(), [Added("new text")]);
        assert_eq!(pieces("gone", "").unwrap(), [Removed("gone")]);
        assert_eq!(
            pieces("Ship the change today.", "Ship the fix today.").unwrap(),
            [Same("Ship the "), Removed("change"), Added("fix"), Same(" today.")]
        );
        assert_eq!(
            pieces("keep one two end", "keep three four end").unwrap(),
            [Same("keep "), Removed("one two"), Added("three four"), Same(" end")],
            "a phrase is one change"
        );
        assert_eq!(
            pieces("a\nb\nc\n", "a\nx\nc\ny\n").unwrap(),
            [Same("a\n"), Removed("b"), Added("x"), Same("\nc\n"), Added("y\n")]
        );
    }

    #[test]
    fn the_pieces_of_one_side_are_its_text() {
        let texts = [
            "",
            "a",
            "a b c",
            "b c a b\n\nx",
            "  lead",
            "trail  ",
            "工作 a 流",
            "a,b;c",
            "The same end.\nX",
            "Not the same.\nX",
        ];
        for one in texts {
            for other in texts {
                let pieces = pieces(one, other).unwrap();
                let of = |is_left: bool| {
                    let texts = pieces.iter().map(|piece| match piece {
                        Same(text) => text,
                        Removed(text) if is_left => text,
                        Added(text) if !is_left => text,
                        _ => "",
                    });
                    texts.collect::<String>()
                };
                assert_eq!([of(true), of(false)], [one, other]);
            }
        }
    }

    #[test]
    fn differences_are_marked_and_escaped() {
        assert_eq!(
            inline("<b>one</b>", "<b>two</b>").into_string(),
            "<div class=\"words\">&lt;b&gt;<del>one</del><ins>two</ins>&lt;/b&gt;</div>"
        );
        let [left, right] = sides("a b", "a c").map(Markup::into_string);
        assert_eq!(left, "<div class=\"words\">a <del>b</del></div>");
        assert_eq!(right, "<div class=\"words\">a <ins>c</ins></div>");
        let long = "same ".repeat(1000);
        let shown = inline(&format!("{long}x"), &format!("{long}y")).into_string();
        assert!(shown.len() < 1000 && shown.contains("the same …"), "{shown}");
        assert!(inline(&"x".repeat(COMPARED), "y").into_string().contains("too long"));
    }
}
