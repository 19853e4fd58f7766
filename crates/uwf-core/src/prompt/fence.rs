//! Fences foreign texts, so that nothing in them is read as structure.

/// A text between two lines of backticks that are longer than any run of backticks in it.
pub(crate) fn fenced(info: &str, text: &str) -> String {
    let mut fenced = String::new();
    push_fenced(&mut fenced, info, text);
    fenced
}

/// Appends a fenced text.
pub(super) fn push_fenced(to: &mut String, info: &str, text: &str) {
    let marks = "`".repeat(longest_run(text).max(2) + 1);
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    to.reserve(2 * marks.len() + info.len() + text.len() + end.len() + 2);
    to.extend([&marks, info, "\n", text, end, &marks, "\n"]);
}

/// Length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    let mut rest = text;
    let mut longest = 0;
    while let Some(at) = rest.find('`') {
        let run = rest[at..].bytes().take_while(|byte| *byte == b'`').count();
        longest = longest.max(run);
        rest = &rest[at + run..];
    }
    longest
}

/// The start of a text within a number of bytes, and the number of bytes left out. It is cut after a line that ends in its second half,
/// otherwise between two characters.
pub(crate) fn head(text: &str, bytes: usize) -> (&str, usize) {
    if text.len() <= bytes {
        return (text, 0);
    }
    let at = text.floor_char_boundary(bytes);
    let at = text[..at].rfind('\n').filter(|line| *line >= at / 2).map_or(at, |line| line + 1);
    (&text[..at], text.len() - at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_any_inside() {
        assert_eq!(fenced("text", "# a"), "```text\n# a\n```\n");
        assert_eq!(fenced("", "```rust\nx\n```\n"), "````\n```rust\nx\n```\n````\n");
        assert_eq!(fenced("", "a ````` b"), "``````\na ````` b\n``````\n");
        assert_eq!(fenced("", ""), "```\n```\n");
    }

    #[test]
    fn cuts_fall_on_lines_and_never_inside_characters() {
        assert_eq!(head("short", 5), ("short", 0));
        assert_eq!(head("one\ntwo\nthree", 9), ("one\ntwo\n", 5));
        assert_eq!(head("ää", 3), ("ä", 2));
        assert_eq!(head("a\nbcdefgh", 8), ("a\nbcdefg", 1));
    }
}
