//! Finds a place in the text beside a value that gives one of its keys another value.
//!
//! `My verdict: {"approved": false}` above a block with `approved: true` makes the answer unclear, in any language. Only keys with a boolean
//! or an enum count, because only there another word surely is another value.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::Value;

use super::containers::contained;
use super::lines::{CodeFence, bullet};
use super::scalar::normal;

/// Longest text before a separator that is searched for a key, in bytes.
const MAX_KEY: usize = 128;

/// Most words of a key or a value.
const MAX_WORDS: usize = 4;

/// Words between a key and its value in a sentence: `I set approved to false`.
const VERBS: [&str; 5] = [" is ", " to ", " as ", " should be ", " must be "];

/// Marks around keys and values in prose.
const MARKS: [char; 11] = ['"', '\'', '`', '*', '_', '“', '”', '„', '‘', '’', '\\'];

/// The value of one key in an answer, and the other values that its schema allows.
#[derive(Debug)]
pub(super) struct KeyChoice<'v> {
    pub(super) said: &'v Value,
    /// The allowed values, by their words without case and separators.
    pub(super) words: HashMap<String, Value>,
}

/// The choices of an answer, by their keys without case and separators.
pub(super) type KeyChoices<'v> = HashMap<String, KeyChoice<'v>>;

impl<'v> KeyChoice<'v> {
    /// The choice between the words for true and false.
    pub(super) fn of_boolean(said: &'v Value) -> KeyChoice<'v> {
        let words = [("true", true), ("yes", true), ("on", true), ("false", false), ("no", false), ("off", false)];
        KeyChoice { said, words: words.into_iter().map(|(word, is)| (word.to_owned(), Value::Bool(is))).collect() }
    }

    /// The choice between strings.
    pub(super) fn of_strings<'s>(said: &'v Value, allowed: impl Iterator<Item = &'s str>) -> KeyChoice<'v> {
        KeyChoice { said, words: allowed.map(|word| (normal(word), Value::from(word))).collect() }
    }
}

/// A key with another value than the answer gives it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ValueMention<'t> {
    /// Line number, from 0.
    pub(super) line: usize,
    /// The key and the value as written.
    pub(super) words: &'t str,
}

/// Returns the first mention of another value. Code in other languages, documents in a code block, diffs, and text in a container say
/// nothing about the answer.
pub(super) fn contradiction<'t>(text: &'t str, choices: &KeyChoices<'_>) -> Option<ValueMention<'t>> {
    find_mention(text, choices, &|_| true)
}

/// Returns the first mention that corrects a header: on a line of its own that no sentence surrounds, or behind a label of the answer. Other
/// mentions below a header may be about anything.
pub(super) fn correction<'t>(text: &'t str, choices: &KeyChoices<'_>) -> Option<ValueMention<'t>> {
    find_mention(text, choices, &|place| {
        let label = place.before.trim_matches(MARKS).to_lowercase();
        let is_begun = place.above.trim_end().ends_with(char::is_alphanumeric) && !place.above.starts_with('#');
        let is_own_line = label.is_empty() && place.behind.trim().trim_matches(MARKS).len() <= 1 && !is_begun;
        let is_label = label.trim().strip_suffix(':').is_some_and(|label| {
            label.split(' ').count() <= MAX_WORDS && label.split(' ').any(|word| CORRECTIONS.contains(&word))
        });
        !place.is_code && (is_own_line || is_label)
    })
}

/// The text around a mention.
struct MentionPlace<'t> {
    /// The words before and behind it in its line.
    before: &'t str,
    behind: &'t str,
    /// The line above.
    above: &'t str,
    is_code: bool,
}

/// Words of labels before the answer.
const CORRECTIONS: [&str; 9] =
    ["verdict", "decision", "answer", "correction", "corrected", "update", "edit", "final", "actually"];

/// Returns the first mention that counts by its place.
fn find_mention<'t>(
    text: &'t str,
    choices: &KeyChoices<'_>,
    counts: &dyn Fn(&MentionPlace<'_>) -> bool,
) -> Option<ValueMention<'t>> {
    if choices.is_empty() {
        return None;
    }
    let contained = contained(text.lines());
    let mut code: Option<CodeFence<'_>> = None;
    let mut is_hunk = false;
    let mut cells = Vec::new();
    let mut last_line = "";
    for (line, (written, is_contained)) in text.lines().zip(contained).enumerate() {
        let above = std::mem::replace(&mut last_line, written);
        let fence = CodeFence::from_line(bullet(written).unwrap_or(written).trim_start());
        match (&code, fence) {
            (Some(open), Some(fence)) if fence.closes(open) => code = None,
            (None, Some(_)) => code = fence,
            _ => {}
        }
        is_hunk = written.starts_with("@@ ") || is_hunk && written.starts_with(['+', '-', ' ', '\\']);
        let is_quoted = code.is_some_and(|open| !open.may_hold_answer() || open.is_document());
        if is_quoted || is_contained || is_hunk {
            continue;
        }
        let is_row = written.trim_start().starts_with('|');
        let row: Vec<&str> = if is_row { written.trim().trim_matches('|').split('|').collect() } else { Vec::new() };
        let words = in_line(written, choices).or_else(|| in_row(&row, &cells, choices));
        let is_counted = |words: &&str| {
            let at = written.find(words).unwrap_or_default();
            let (before, behind) = (&written[..at], &written[at + words.len()..]);
            counts(&MentionPlace { before, behind, above, is_code: code.is_some() })
        };
        if let Some(words) = words.filter(is_counted) {
            return Some(ValueMention { line, words });
        }
        // The first row of a table names its columns.
        if cells.is_empty() || !is_row {
            cells = row;
        }
    }
    None
}

/// Returns a mention in the cells of a row, below the key or behind it.
fn in_row<'t>(row: &[&'t str], names: &[&str], choices: &KeyChoices<'_>) -> Option<&'t str> {
    let named = |name: &str| (name.len() <= MAX_KEY).then(|| choices.get(&normal(name.trim().trim_matches(MARKS))))?;
    let differs = |cell: &&'t str, choice: &KeyChoice<'_>| {
        let value = choice.words.get(&normal(cell));
        value.is_some_and(|value| value != choice.said)
    };
    let below = names.iter().zip(row).find(|(name, cell)| named(name).is_some_and(|choice| differs(cell, choice)));
    let behind = || row.windows(2).find(|pair| named(pair[0]).is_some_and(|choice| differs(&pair[1], choice)));
    below.map(|(_, cell)| *cell).or_else(|| behind().map(|pair| pair[1])).map(str::trim)
}

/// Returns the first mention in a line.
fn in_line<'t>(line: &'t str, choices: &KeyChoices<'_>) -> Option<&'t str> {
    let signs = line.match_indices([':', '=', '：']);
    let verbs = VERBS.iter().flat_map(|verb| line.match_indices(verb)).filter(|(at, _)| !is_condition(&line[..*at]));
    signs.chain(verbs).find_map(|(at, mark)| {
        let (head, tail) = (&line[..at], &line[at + mark.len()..]);
        // Code compares and names things with these: `a == b`, `a != b`, `a::b`.
        if head.ends_with(['=', '!', '<', '>', ':', '~']) || tail.starts_with(['=', ':']) {
            return None;
        }
        let (start, choice) = key(head, line, choices)?;
        let tail = tail.strip_prefix('>').unwrap_or(tail);
        let (end, value) = value(tail, choice)?;
        let end = line.len() - tail.len() + end;
        (value != choice.said).then(|| with_quotes(line, start..end))
    })
}

/// Whether a clause is about a case that may not happen.
fn is_condition(clause: &str) -> bool {
    let mut words = clause.rsplit(' ').take(2 * MAX_WORDS).map(str::to_lowercase);
    words.any(|word| matches!(word.trim_matches(MARKS), "if" | "when" | "once" | "unless" | "until" | "not"))
}

/// The words in a line, with the quotation marks that belong to them.
fn with_quotes(line: &str, words: Range<usize>) -> &str {
    let start = words.start - usize::from(line[..words.start].ends_with('"'));
    let is_open = line[start..words.end].matches('"').count() % 2 == 1;
    let end = words.end + usize::from(is_open && line[words.end..].starts_with('"'));
    &line[start..end]
}

/// Finds the key that ends a text, with its offset. A member of something else (`user.approved`), an option (`--approved`), a field of an
/// address, struck out text and comments don't count.
fn key<'c, 'v>(head: &str, line: &str, choices: &'c KeyChoices<'v>) -> Option<(usize, &'c KeyChoice<'v>)> {
    let head = head.trim_end().trim_end_matches(MARKS).trim_end();
    let from = (head.len().saturating_sub(MAX_KEY)..=head.len()).find(|at| head.is_char_boundary(*at))?;
    let mut found = None;
    let mut start = head.len();
    for _ in 0..MAX_WORDS {
        let before = head[from..start].trim_end_matches([' ', '-']);
        let word = before.chars().rev().take_while(|symbol| symbol.is_alphanumeric() || *symbol == '_');
        let length: usize = word.map(char::len_utf8).sum();
        if length == 0 {
            break;
        }
        start = from + before.len() - length;
        // `\napproved` in a string is a line break before a key.
        let is_escape = head[..start].ends_with('\\') && head[start..].starts_with(['n', 'r', 't']);
        start += usize::from(is_escape);
        found = choices.get(&normal(&head[start..])).map(|choice| (start, choice)).or(found);
    }
    let (start, choice) = found?;
    // A window keeps the work linear in lines with many keys.
    let from = (start.saturating_sub(4 * MAX_KEY)..=start).find(|at| head.is_char_boundary(*at))?;
    let before = &head[from..start];
    let is_of_another = before.ends_with(['.', '&', '?', '$', '/', '@']) || before.ends_with("--");
    let is_struck = before.matches("~~").count() % 2 == 1 && line[start..].contains("~~");
    let is_comment = before.rfind("<!--") > before.rfind("-->");
    (!is_of_another && !is_struck && !is_comment).then_some((start, choice))
}

/// Reads the value that begins a text, and the offset after it. A list of several values is an explanation: `true|false`.
fn value<'c>(tail: &str, choice: &'c KeyChoice<'_>) -> Option<(usize, &'c Value)> {
    let is_mark =
        |symbol: char| symbol == ' ' || MARKS.contains(&symbol) || !symbol.is_ascii() && !symbol.is_alphanumeric();
    let said = tail.trim_start_matches(is_mark);
    let begin = tail.len() - said.len();
    let (length, value) = word(said, choice)?;
    let rest = said[length..].trim_start_matches(MARKS).trim_start();
    let others = ["|", "/", "or ", ","].into_iter().find_map(|mark| rest.strip_prefix(mark));
    let other = others.and_then(|others| word(others.trim_start_matches(is_mark), choice));
    let is_one_of_many = other.is_some_and(|(_, other)| other != value);
    (!is_one_of_many).then_some((begin + length, value))
}

/// Finds the longest value that begins a text, with its length.
fn word<'c>(text: &str, choice: &'c KeyChoice<'_>) -> Option<(usize, &'c Value)> {
    let is_letter = |symbol: char| symbol.is_alphanumeric();
    let mut found = None;
    let mut end = 0;
    for _ in 0..MAX_WORDS {
        let between = text[end..].find(|symbol: char| !matches!(symbol, ' ' | '-' | '_')).unwrap_or(0);
        let begin = end + between;
        let length = text[begin..].find(|symbol: char| !is_letter(symbol)).unwrap_or(text.len() - begin);
        if length == 0 {
            break;
        }
        end = begin + length;
        let rest = &text[end..];
        let goes_on =
            rest.starts_with(['-', '_', '.', '\'', '(']) && rest[1..].starts_with(is_letter) || rest.starts_with('(');
        let value = choice.words.get(&normal(&text[..end])).filter(|_| !goes_on);
        // `approved: no tests are missing` gives no value.
        let is_reply =
            value.is_some_and(Value::is_boolean) && !matches!(&text[..end].to_lowercase()[..], "true" | "false");
        let follows = rest.trim_start_matches(MARKS);
        let is_alone = !follows.starts_with(' ') || !follows.trim_start().starts_with(is_letter);
        found = value.filter(|_| !is_reply || is_alone).map(|value| (end, value)).or(found);
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The first mention beside `{"approved": true, "verdict": "needs-work"}`.
    fn mention(text: &str) -> Option<(usize, &str)> {
        let (approved, verdict) = (json!(true), json!("needs-work"));
        let choices = KeyChoices::from([
            ("approved".to_owned(), KeyChoice::of_boolean(&approved)),
            ("verdict".to_owned(), KeyChoice::of_strings(&verdict, ["approve", "reject", "needs-work"].into_iter())),
        ]);
        contradiction(text, &choices).map(|mention| (mention.line, mention.words))
    }

    #[test]
    fn another_value_of_a_key_is_found() {
        for (text, words) in [
            ("My verdict: {\"approved\": false}", "\"approved\": false"),
            ("approved: **no**", "approved: **no"),
            ("**Approved:** No, tests fail.", "Approved:** No"),
            ("- approved=false", "approved=false"),
            ("> 'approved' => False", "approved' => False"),
            ("结论：approved：false。", "approved：false"),
            ("approved: ❌ no", "approved: ❌ no"),
            ("Verdict: Approve", "Verdict: Approve"),
            ("verdict: reject would be too hard", "verdict: reject"),
            ("| approved | false |", "false"),
            ("text: \"a\\napproved: false\"", "approved: false"),
            ("I set `approved` to `false`.", "approved` to `false"),
            ("The verdict is reject.", "verdict is reject"),
            ("So the verdict should be **approve**", "verdict should be **approve"),
            ("```json\n{\"x\": {\"approved\": false}}\n```", "\"approved\": false"),
        ] {
            assert_eq!(mention(text).map(|(_, words)| words), Some(words), "{text}");
        }
        assert_eq!(mention("a\n\n| approved | b |\n|---|---|\n| no | c |"), Some((4, "no")));
    }

    #[test]
    fn other_lines_give_no_other_value() {
        for text in [
            "approved: true, as `verdict: Needs work` says",
            "approved: true|false or \"approved\": false | true",
            "verdict: approve, reject or needs-work",
            "`approved`: `false` or `true`",
            "approved: no tests are missing",
            "disapproved: false, approved by: no",
            "user.approved = false; --approved=false; ?approved=false",
            "approved == false, approved != false, Approved::false",
            "~~approved: no~~ <!-- approved: no -->",
            "verdict: reject.rs, verdict: reject(x)",
            "```rust\napproved: false\n```\n```diff\n-approved: false\n```\n````md\napproved: false\n````",
            "@@ -1 +1 @@\n-approved: false\n+approved: true",
            "<!--\napproved: false\n-->",
            "the verdict is to reject",
            "If the verdict is reject, tell me; set user.approved to false; the verdict to come",
        ] {
            assert_eq!(mention(text), None, "{text}");
        }
    }
}
