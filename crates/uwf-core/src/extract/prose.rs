//! The sentences of an answer's prose, as words.
//!
//! Code and quotations say nothing about the work, so they are left out.

use super::containers::contained;
use super::lines::bullet;

/// Most words of a clause that are read. A longer one is not prose.
const MAX_WORDS: usize = 64;

/// Words between two clauses.
const BETWEEN: [&str; 19] = [
    "but",
    "and",
    "so",
    "because",
    "since",
    "therefore",
    "thus",
    "though",
    "although",
    "however",
    "while",
    "which",
    "-",
    "--",
    "aber",
    "deshalb",
    "mais",
    "pero",
    "daher",
];

/// Words of [`BETWEEN`] before a contrast.
const CONTRASTS: [&str; 7] = ["but", "though", "although", "however", "aber", "mais", "pero"];

/// Signs of acceptance.
const SIGNS_OF_YES: [char; 7] = ['✅', '✔', '☑', '👍', '🟢', '🟩', '💚'];

/// Signs of rejection.
const SIGNS_OF_NO: [char; 10] = ['🛑', '❌', '✗', '✘', '✖', '⛔', '🚫', '👎', '🔴', '🟥'];

/// Symbols that end a clause.
const MARKS: [char; 9] = [',', ':', '—', '–', '(', ')', '、', '，', '：'];

/// A sentence.
pub(super) struct ProseSentence {
    /// Line number, from 0.
    pub(super) line: usize,
    /// As written.
    pub(super) text: String,
    /// In lower case, with blanks in place of quotations.
    pub(super) plain: String,
    pub(super) clauses: Vec<ProseClause>,
    pub(super) is_question: bool,
}

/// A part of a sentence with at most one verb, as a rule.
#[derive(Debug, Default)]
pub(super) struct ProseClause {
    pub(super) words: Vec<String>,
    /// A colon follows.
    pub(super) is_label: bool,
    /// `but` or a word like it begins the clause.
    pub(super) is_contrast: bool,
    /// Whether its first sign is one of acceptance (✅) or of rejection (❌); `None` without such a sign.
    pub(super) sign: Option<bool>,
}

impl ProseClause {
    pub(super) fn has_pair(&self, one: &str, next: &str) -> bool {
        self.words.windows(2).any(|pair| pair[0] == one && pair[1] == next)
    }
}

impl ProseSentence {
    /// All words of the sentence.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.clauses.iter().flat_map(|clause| clause.words.iter().map(String::as_str))
    }

    /// Whether it is a heading, or ends with a colon.
    pub(super) fn is_label(&self) -> bool {
        let text = self.text.trim();
        text.starts_with('#') || text.ends_with("**") || self.clauses.last().is_some_and(|clause| clause.is_label)
    }

    /// Whether it limits the sentence before: `But it leaks`.
    pub(super) fn begins_with_contrast(&self) -> bool {
        self.clauses.first().is_some_and(|clause| clause.is_contrast)
            || self.words().next().is_some_and(|word| matches!(word, "unfortunately" | "sadly"))
    }

    /// The part behind an offset of its plain text.
    pub(super) fn behind(&self, at: usize) -> ProseSentence {
        ProseSentence::new(self.line, &self.plain[at..], &self.plain[at..])
    }

    pub(super) fn has(&self, list: &[&str]) -> bool {
        self.words().any(|word| list.contains(&word))
    }

    fn new(line: usize, text: &str, written: &str) -> ProseSentence {
        let mut clauses = vec![ProseClause::default()];
        for part in text.split_inclusive(MARKS) {
            let mark = part.chars().next_back().filter(|mark| MARKS.contains(mark));
            let mut is_embedded = false;
            for written in part.split_whitespace() {
                if let Some(clause) = clauses.last_mut().filter(|clause| clause.sign.is_none()) {
                    clause.sign = sign(written);
                }
                let Some(word) = word(written) else { continue };
                let is_between = BETWEEN.contains(&word.as_str());
                if is_between && clauses.last().is_some_and(|clause| !clause.words.is_empty()) {
                    clauses.push(ProseClause::default());
                }
                if let Some(clause) = clauses.last_mut().filter(|_| CONTRASTS.contains(&word.as_str())) {
                    clause.is_contrast = true;
                }
                // `I checked whether it is wrong` does not say that it is.
                is_embedded = !is_between && (is_embedded || word == "whether");
                let is_word = !is_between && !is_embedded;
                if let Some(clause) = clauses.last_mut().filter(|clause| is_word && clause.words.len() < MAX_WORDS) {
                    clause.words.push(word);
                }
            }
            if let (Some(mark), Some(clause)) = (mark, clauses.last_mut()) {
                clause.is_label = matches!(mark, ':' | '：');
                clauses.push(ProseClause::default());
            }
        }
        clauses.retain(|clause| !clause.words.is_empty() || clause.sign.is_some());
        let is_question = text.trim_end().ends_with(['?', '？']);
        ProseSentence { line, text: written.trim().to_owned(), plain: text.to_lowercase(), clauses, is_question }
    }
}

/// Whether a written word has a sign of acceptance or of rejection.
fn sign(written: &str) -> Option<bool> {
    let has = |signs: &[char]| written.contains(signs);
    has(&SIGNS_OF_YES).then_some(true).or_else(|| has(&SIGNS_OF_NO).then_some(false))
}

/// A word without the marks around it, in lower case. `+1`, `-1` and thumbs are words.
fn word(written: &str) -> Option<String> {
    if matches!(written.trim_end_matches(['*', '.']), "+1" | "-1" | "+2" | "-2" | "👍" | "👎") {
        return Some(written.trim_end_matches(['*', '.']).to_owned());
    }
    if matches!(written, "-" | "--") {
        return Some(written.to_owned());
    }
    let word = written.trim_matches(|symbol: char| !symbol.is_alphanumeric());
    (!word.is_empty()).then(|| word.to_lowercase().replace('’', "'"))
}

/// Symbols that end a sentence.
const ENDS: [char; 8] = ['.', '!', '?', ';', '。', '！', '？', '；'];

/// Returns the sentences of a text.
pub(super) fn sentences(text: &str) -> Vec<ProseSentence> {
    let plain = without_quotations(text);
    let mut sentences: Vec<ProseSentence> = Vec::new();
    let mut at = 0;
    for (line, passage) in passages(&plain) {
        sentences.extend(in_passage(line, passage, &text[at..at + passage.len()]));
        at += passage.len();
    }
    sentences
}

/// Splits a text into headings, rows, list items and paragraphs, with their line numbers.
fn passages(text: &str) -> Vec<(usize, &str)> {
    let mut passages = Vec::new();
    let (mut start, mut first, mut at) = (0, 0, 0);
    let is_alone = |line: &str| line.starts_with(['#', '|']) || line.trim_end().ends_with("**");
    let mut was_alone = false;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if was_alone || line.trim().is_empty() || is_alone(line) || bullet(line).is_some() {
            passages.push((first, &text[start..at]));
            (first, start) = (number, at);
        }
        was_alone = is_alone(line);
        at += line.len();
    }
    passages.push((first, &text[start..]));
    passages
}

/// Splits a passage into sentences; `written` is the passage with its quotations. A full stop within a word, as in `lib.rs`, ends nothing.
fn in_passage(first: usize, passage: &str, written: &str) -> Vec<ProseSentence> {
    let mut sentences = Vec::new();
    let (mut start, mut line) = (0, first);
    let is_inside = |end: usize| passage[end..].starts_with(char::is_alphanumeric);
    let ends = passage.match_indices(ENDS).map(|(at, mark)| (at + mark.len(), mark));
    let ends = ends.filter(|(end, mark)| *mark != "." || !is_inside(*end)).map(|(end, _)| end);
    for end in ends.chain([passage.len()]) {
        let text = &passage[start..end];
        let blank = &text[..text.len() - text.trim_start().len()];
        let sentence = ProseSentence::new(line + blank.matches('\n').count(), text, &written[start..end]);
        if !sentence.clauses.is_empty() {
            sentences.push(sentence);
        }
        line += text.matches('\n').count();
        start = end;
    }
    sentences
}

/// Returns the text with blanks in place of quotations, code, diffs and containers.
fn without_quotations(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let (mut is_code, mut is_hunk) = (false, false);
    for (full, is_contained) in text.split_inclusive('\n').zip(contained(text.lines())) {
        let line = full.trim_end_matches(['\n', '\r']);
        let begin = line.trim_start();
        let fence = begin.starts_with("```");
        is_code ^= fence;
        is_hunk = line.starts_with("@@ ") || is_hunk && line.starts_with(['+', '-', ' ', '\\']);
        let is_quoted = is_code || fence || is_hunk || is_contained || begin.starts_with(['>', '{']);
        match is_quoted {
            true => plain.extend(std::iter::repeat_n(' ', line.len())),
            false => push_without_quotations(&mut plain, line),
        }
        plain.push_str(&full[line.len()..]);
    }
    plain
}

fn push_without_quotations(plain: &mut String, line: &str) {
    let mut closing = None;
    let mut is_escaped = false;
    for symbol in line.chars() {
        let is_plain = match (closing, symbol) {
            _ if std::mem::take(&mut is_escaped) => false,
            (_, '\\') => {
                is_escaped = true;
                false
            }
            (Some(end), _) => {
                closing = Some(end).filter(|end| *end != symbol);
                false
            }
            (None, '"' | '`') => {
                closing = Some(symbol);
                false
            }
            (None, '“') => {
                closing = Some('”');
                false
            }
            (None, _) => true,
        };
        match is_plain {
            true => plain.push(symbol),
            false => plain.extend(std::iter::repeat_n(' ', symbol.len_utf8())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clauses(text: &str) -> Vec<String> {
        let sentences = sentences(text);
        sentences.iter().flat_map(|sentence| sentence.clauses.iter().map(|clause| clause.words.join(" "))).collect()
    }

    #[test]
    fn sentences_are_split_into_clauses() {
        for (text, wanted) in [
            ("I read lib.rs. It's fine, but slow!", vec!["i read lib.rs", "it's fine", "slow"]),
            ("# Not\nready\n- a\n- b", vec!["not", "ready", "a", "b"]),
            ("I do\nnot approve.", vec!["i do not approve"]),
            ("Is it \"good\"? `x` No.", vec!["is it", "no"]),
            ("**Verdict:** -1", vec!["verdict", "-1"]),
        ] {
            assert_eq!(clauses(text), wanted, "{text}");
        }
    }
}
