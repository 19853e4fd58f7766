//! Short texts inside a line of markdown.

use crate::text::one_line;

/// A text in one line: unchanged if markdown shows it unchanged, otherwise between backticks. Control characters and line breaks become
/// single spaces.
pub fn inline(text: &str) -> String {
    let line = one_line(text);
    if line.is_empty() {
        return "\"\"".to_owned();
    }
    if is_literal(&line) { line } else { code(&line) }
}

/// A text between enough backticks.
pub fn code(text: &str) -> String {
    let line = one_line(text);
    let longest = line.split(|symbol| symbol != '`').map(str::len).max().unwrap_or(0);
    let marks = "`".repeat(longest + 1);
    let pad = if line.is_empty() || line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    format!("{marks}{pad}{line}{pad}{marks}")
}

/// A sentence that may contain code between single backticks, such as a message. It stays unchanged if everything else in it is plain.
/// Otherwise returns the result of [`inline`].
pub fn sentence(text: &str) -> String {
    let line = one_line(text);
    let parts: Vec<&str> = line.split('`').collect();
    let is_plain = parts.len() % 2 == 1 && !line.contains("``") && parts.iter().step_by(2).all(|part| is_literal(part));
    if is_plain && !line.is_empty() { line } else { inline(text) }
}

/// Whether markdown shows a line exactly as written. An underscore inside a word does not start emphasis.
fn is_literal(line: &str) -> bool {
    let mut before = ' ';
    let mut symbols = line.chars().peekable();
    while let Some(symbol) = symbols.next() {
        let after = symbols.peek().copied().unwrap_or(' ');
        let special = match symbol {
            '*' | '`' | '<' | '[' | ']' | '\\' | '|' | '~' | '$' => true,
            '&' => after.is_alphanumeric() || after == '#',
            '_' => !before.is_alphanumeric() || !after.is_alphanumeric(),
            _ => false,
        };
        if special {
            return false;
        }
        before = symbol;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_texts_stay_plain() {
        for text in ["Fix #42: it's (nearly) done!", "src/my_file.rs", "R & D", "a - b", "日本語"] {
            assert_eq!(inline(text), text);
        }
    }

    #[test]
    fn markup_is_shown_as_code() {
        assert_eq!(inline("*.rs"), "`*.rs`");
        assert_eq!(inline("a `b` c"), "``a `b` c``");
        assert_eq!(inline("`b`"), "`` `b` ``");
        assert_eq!(inline("<script>"), "`<script>`");
        assert_eq!(inline("_x_"), "`_x_`");
        assert_eq!(inline("a\n# *b*\u{1b}[0m"), "`a # *b*`");
        assert_eq!(inline(" \n"), "\"\"");
        assert_eq!(code(""), "`  `");
    }

    #[test]
    fn messages_keep_their_code() {
        assert_eq!(sentence("agent `a*b` exited with 3"), "agent `a*b` exited with 3");
        assert_eq!(sentence("one ` only"), "``one ` only``");
        assert_eq!(sentence("`x` and *y*"), "`` `x` and *y* ``");
        assert_eq!(sentence(""), "\"\"");
    }
}
