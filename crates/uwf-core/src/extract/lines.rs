//! Lines of a text: rules, code fences, bullets, keys.

use super::scalar::normal;

/// A `---` or `...` line at the left edge. An indented one is part of a text.
pub(super) fn is_rule(line: &str) -> bool {
    line.trim_end() == "..." || opens(line)
}

/// A line that can open a header: `---`, or a common variant: more dashes, `--- yaml`, `+++`.
pub(super) fn opens(line: &str) -> bool {
    let line = line.trim_end();
    let rest = line.trim_start_matches('-');
    let dashes = line.len() - rest.len();
    line == "+++" || (dashes >= 3 && rest.is_empty()) || (dashes == 3 && matches!(rest.trim(), "yaml" | "yml"))
}

/// A line that opens or closes a code block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CodeFence<'t> {
    mark: u8,
    length: usize,
    /// The text after the marks. Empty for a closing fence.
    pub(super) info: &'t str,
}

impl<'t> CodeFence<'t> {
    /// Reads a line as a fence, by CommonMark: three or more backticks or tildes, indented by up to three blanks.
    pub(super) fn from_line(line: &'t str) -> Option<CodeFence<'t>> {
        let text = line.trim_start_matches(' ');
        let mark = *text.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
        let length = text.bytes().take_while(|byte| *byte == mark).count();
        let info = text[length..].trim();
        (line.len() - text.len() <= 3 && length >= 3 && !info.contains('`')).then_some(CodeFence { mark, length, info })
    }

    /// Whether this line closes a block opened by `open`.
    pub(super) fn closes(&self, open: &CodeFence<'_>) -> bool {
        self.mark == open.mark && self.length >= open.length && self.info.is_empty()
    }

    /// Whether this line opens another block, so that the block of `open` was never closed.
    pub(super) fn opens_beside(&self, open: &CodeFence<'_>) -> bool {
        self.mark == open.mark && self.length == open.length && !self.info.is_empty()
    }

    /// Whether the fence declares its block as JSON.
    pub(super) fn is_json(&self) -> bool {
        self.language().starts_with("json")
    }

    /// Whether the block is a page of text, in which other blocks may be quoted.
    pub(super) fn is_document(&self) -> bool {
        matches!(self.language().as_str(), "markdown" | "md")
    }

    fn language(&self) -> String {
        self.info.split([' ', '{', ',']).next().unwrap_or("").to_ascii_lowercase()
    }

    /// Whether the block may contain an answer. Other words after the language are a file name or mark an example.
    pub(super) fn may_hold_answer(&self) -> bool {
        let is_known = matches!(
            self.language().as_str(),
            "" | "yaml" | "yml" | "json" | "jsonc" | "json5" | "markdown" | "md" | "frontmatter"
        );
        // `title="answer.json"` names the answer, `title="fixture.json"` something else.
        let name = |word: &str| {
            let word = word.rsplit(['=', '/']).next().unwrap_or_default().trim_matches(['"', '\'']);
            word.split('.').next().unwrap_or_default().to_ascii_lowercase()
        };
        let mut rest = self.info.split_whitespace().skip(1);
        is_known && rest.all(|word| names_answer(&name(word)))
    }
}

/// Whether a text has only blanks.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Names of elements, code blocks and files that contain an answer, without case and separators.
const ANSWERS: [&str; 20] = [
    "answer",
    "assessment",
    "assistant",
    "conclusion",
    "decision",
    "final",
    "finalanswer",
    "frontmatter",
    "header",
    "json",
    "output",
    "reply",
    "response",
    "result",
    "review",
    "solution",
    "submission",
    "summary",
    "verdict",
    "yaml",
];

/// Whether a name stands for an answer.
pub(super) fn names_answer(name: &str) -> bool {
    ANSWERS.contains(&normal(name).as_str())
}

/// The text after the bullet or number that starts a line: `- a`, `* a`, `+ a`, `1. a`, `2) a`.
pub(super) fn bullet(line: &str) -> Option<&str> {
    let text = line.trim_start();
    if matches!(text, "-" | "*" | "+") {
        return Some("");
    }
    if let Some(rest) = ["- ", "* ", "+ ", "• "].iter().find_map(|mark| text.strip_prefix(mark)) {
        return Some(rest.trim_start());
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits > 3 {
        return None;
    }
    let rest = &text[digits..];
    [". ", ") "].iter().find_map(|mark| rest.strip_prefix(mark)).map(str::trim_start)
}

/// Members of a text that is a bullet list. A line without a bullet continues the previous member.
pub(super) fn bullets(text: &str) -> Option<Vec<String>> {
    let mut members: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match (bullet(line), members.last_mut()) {
            (Some(member), _) => members.push(member.trim_end().to_owned()),
            (None, Some(last)) => {
                last.push(' ');
                last.push_str(line.trim());
            }
            (None, None) => return None,
        }
    }
    (!members.is_empty()).then_some(members)
}

/// Returns a text without blank lines at its start and blanks at its end. The indentation of its first line stays.
pub(super) fn trimmed(text: &str) -> &str {
    without_blank_lines(text.trim_end())
}

/// Returns a text without blank lines at its start.
pub(super) fn without_blank_lines(text: &str) -> &str {
    let blank = text.len() - text.trim_start().len();
    &text[text[..blank].rfind('\n').map_or(0, |at| at + 1)..]
}

/// Number of blanks at the start of a line.
pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// A text without the indentation its lines share. The first line may already lack it.
pub(super) fn dedent(text: &str) -> String {
    let shared = text.lines().skip(1).filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let lines: Vec<&str> = text
        .lines()
        .enumerate()
        .map(|(at, line)| if at == 0 { line.trim_start() } else { line.get(shared..).unwrap_or("") })
        .collect();
    lines.join("\n").trim_end().to_owned()
}

/// A line `key: value` or `key = value`. The key is without quotes or emphasis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyLine<'t> {
    pub(super) indent: usize,
    pub(super) key: &'t str,
    pub(super) value: &'t str,
}

/// Longest key that is looked for, in bytes.
const MAX_KEY: usize = 128;

impl<'t> KeyLine<'t> {
    /// Reads a line as a key and a value. The caller checks whether it knows the key.
    pub(super) fn split_line(line: &'t str) -> Option<KeyLine<'t>> {
        let at = line.bytes().take(MAX_KEY).position(|byte| matches!(byte, b':' | b'='))?;
        let (head, rest) = (&line[..at], &line[at + 1..]);
        // `**key:** value` closes its emphasis after the colon.
        let value = rest.strip_prefix("**").unwrap_or(rest).trim();
        let key = head.trim().trim_matches(['"', '\'', '`', '*']).trim();
        // Text with such marks is not a key: it is JSON, a quotation, a table or a call.
        let is_key = !key.is_empty() && !key.contains(['{', '}', '[', ']', '(', ')', '<', '>', '|', '"']);
        is_key.then_some(KeyLine { indent: indent(line), key, value })
    }

    /// Whether the key looks like a programmer's identifier.
    pub(super) fn is_word(&self) -> bool {
        self.key.starts_with(|c: char| c.is_ascii_lowercase())
            && self.key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_stand_at_the_left_edge() {
        assert!(is_rule("---") && is_rule("---  ") && is_rule("..."));
        assert!(!is_rule(" ---") && !is_rule("--") && !is_rule("--- a") && !is_rule("---- yaml"));
        assert!(opens("--- ") && opens("-----") && opens("---yaml") && opens("+++") && !opens("..."));
    }

    #[test]
    fn fences_close_with_their_own_mark() {
        let open = CodeFence::from_line("````yaml answer").unwrap();
        assert!(open.may_hold_answer());
        assert!(!CodeFence::from_line("```yaml title=x").unwrap().may_hold_answer());
        assert!(
            !CodeFence::from_line("```").unwrap().closes(&open) && !CodeFence::from_line("~~~~").unwrap().closes(&open)
        );
        assert!(CodeFence::from_line("`````").unwrap().closes(&open));
        assert!(!CodeFence::from_line("```rust").unwrap().may_hold_answer());
        assert_eq!(CodeFence::from_line("    ```"), None);
        assert_eq!(CodeFence::from_line("``` a ` b"), None);
    }

    #[test]
    fn bullets_are_members() {
        let members = bullets("1. one\n   more\n2) two\n\n* three\n- ").unwrap();
        assert_eq!(members, ["one more", "two", "three", ""]);
        assert_eq!(bullets("no\n- bullet"), None);
        assert_eq!(bullets("2026. a year"), None);
        assert_eq!(bullets(""), None);
    }

    #[test]
    fn key_lines_shed_their_dressing() {
        let line = |text| KeyLine::split_line(text).map(|line| (line.indent, line.key, line.value));
        assert_eq!(line("  \"a b\" :  x: y "), Some((2, "a b", "x: y")));
        assert_eq!(line("**status:** done"), Some((0, "status", "done")));
        assert_eq!(line("**status**: done"), Some((0, "status", "done")));
        assert_eq!(line("key = v"), Some((0, "key", "v")));
        assert_eq!(line("no key"), None);
        assert_eq!(line(": x"), None);
    }

    #[test]
    fn outer_blank_lines_are_trimmed() {
        assert_eq!(trimmed(" \n\n  a\n b \n\n"), "  a\n b");
        assert_eq!(trimmed("  a"), "  a");
        assert_eq!(trimmed(" \n"), "");
    }

    #[test]
    fn dedent_keeps_inner_indentation() {
        assert_eq!(dedent("a:\n    b\n      c\n"), "a:\nb\n  c");
        assert_eq!(dedent("  a"), "a");
    }
}
