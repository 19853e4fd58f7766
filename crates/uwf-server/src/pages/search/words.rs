//! Finds threads that contain all words: in id, task, workflow name or state, or in any of their outputs and texts.

use std::collections::HashMap;
use std::time::Instant;

use json_cas::NodeHash;
use serde_json::Value;
use uwf_core::text::{ellipsize, one_line};
use uwf_engine::root::home::Home;
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::steps::StepParts;
use uwf_engine::views::list::ThreadRow;

/// Characters shown around a match.
const AROUND: usize = 70;

/// Matches that are shown of one thread.
const SHOWN: usize = 3;

/// Bytes of texts of steps to keep while a search runs, because forks share steps.
const KEPT: usize = 32 << 20;

/// The words of a search, in lower case.
pub(super) struct SearchWords {
    words: Vec<String>,
    /// The texts of steps that were read.
    steps: HashMap<NodeHash, StepText>,
    bytes: usize,
}

/// The texts of a step.
struct StepText {
    role: String,
    /// Each text of its output, and the agent's message.
    texts: Vec<String>,
}

/// Where a word is.
pub(super) struct WordMatch {
    pub(super) step: NodeHash,
    pub(super) role: String,
    /// The text before the word, the word, and the text after it.
    pub(super) excerpt: [String; 3],
}

/// A thread with all words.
pub(super) struct FoundThread {
    /// The first line of its task.
    pub(super) task: String,
    /// Where the words are that its id, task, workflow name and state lack.
    pub(super) matches: Vec<WordMatch>,
}

impl SearchWords {
    pub(super) fn new(text: &str) -> SearchWords {
        let words = text.to_lowercase().split_whitespace().map(str::to_owned).collect();
        SearchWords { words, steps: HashMap::new(), bytes: 0 }
    }

    /// Whether a text contains all words.
    pub(super) fn are_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.words.iter().all(|word| text.contains(word))
    }

    /// Looks for the words in a thread; `None` if one is missing. After the deadline, looks only at what needs no steps.
    pub(super) fn find_in(
        &mut self,
        home: &Home,
        row: &ThreadRow,
        workflow: &str,
        deadline: Instant,
    ) -> Option<FoundThread> {
        let thread = Thread::load_at(home, row.thread.clone(), row.head).ok()?;
        let task = super::first_line(&thread.start.prompt);
        // The task of a part has the task and the outputs of its parent, which is found itself.
        let prompt = if row.is_child() { "" } else { thread.start.prompt.as_str() };
        let facts = format!("{} {workflow} {} {prompt}", row.thread, row.state.name()).to_lowercase();
        let mut missing: Vec<String> = self.words.iter().filter(|word| !facts.contains(*word)).cloned().collect();
        let mut matches = Vec::new();
        let count = if missing.is_empty() { 0 } else { thread.chain().ok()?.len() };
        for index in (0..count).rev() {
            if missing.is_empty() || Instant::now() >= deadline {
                break;
            }
            let hash = thread.chain().ok()?.get(index)?.step;
            let Some(step) = self.step(&thread, index, hash) else { continue };
            let role = step.role.to_lowercase();
            missing.retain(|word| {
                if role.contains(word.as_str()) {
                    return false;
                }
                let Some(excerpt) = step.texts.iter().find_map(|text| around(text, word)) else { return true };
                if matches.len() < SHOWN {
                    matches.push(WordMatch { step: hash, role: step.role.clone(), excerpt });
                }
                false
            });
        }
        missing.is_empty().then_some(FoundThread { task, matches })
    }

    /// The texts of a step; `None` if it is not readable.
    fn step(&mut self, thread: &Thread<'_>, index: usize, hash: NodeHash) -> Option<&StepText> {
        if !self.steps.contains_key(&hash) {
            let step = thread.step(index, StepParts::MESSAGE).ok()?;
            let mut texts = Vec::new();
            collect(&step.output, &mut texts);
            texts.extend(step.message);
            self.bytes += texts.iter().map(String::len).sum::<usize>();
            if self.bytes > KEPT {
                (self.steps, self.bytes) = (HashMap::new(), 0);
            }
            self.steps.insert(hash, StepText { role: step.role, texts });
        }
        self.steps.get(&hash)
    }
}

/// The texts in a value, and its numbers.
fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Number(number) => texts.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, texts)),
        Value::Null | Value::Bool(_) => {}
    }
}

/// The first place of a word in a text. `word` is in lower case.
fn around(text: &str, word: &str) -> Option<[String; 3]> {
    let lower = text.to_lowercase();
    let at = lower.find(word)?;
    // Lower case changes the length of a few characters. Then the position is unknown, and the beginning of the text is shown instead.
    let (start, end) = if lower.len() == text.len() { (at, at + word.len()) } else { (0, 0) };
    let (Some(before), Some(found), Some(after)) = (text.get(..start), text.get(start..end), text.get(end..)) else {
        return Some([String::new(), String::new(), one_line(&text[..text.floor_char_boundary(AROUND)])]);
    };
    let from = before.ceil_char_boundary(before.len().saturating_sub(AROUND));
    let lead = if from > 0 { "…" } else { "" };
    let after = ellipsize(after, AROUND);
    Some([format!("{lead}{}", spaced(&before[from..])), found.to_owned(), spaced(&after)])
}

/// A text with its line breaks replaced by spaces.
fn spaced(text: &str) -> String {
    text.replace(char::is_whitespace, " ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn matches_are_shown_in_context() {
        let of = |value: Value, wanted: &str| {
            let mut texts = Vec::new();
            collect(&value, &mut texts);
            texts.iter().find_map(|text| around(text, wanted))
        };
        let found = |parts: [&str; 3]| Some(parts.map(str::to_owned));
        assert_eq!(of(json!({"a": 1, "b": ["x", "Fix the Login now"]}), "login"), found(["Fix the ", "Login", " now"]));
        assert_eq!(of(json!("nothing"), "login"), None);
        assert_eq!(of(json!(["line\nlogin\nline"]), "login"), found(["line ", "login", " line"]));
        assert_eq!(of(json!({"pull": 1204}), "1204"), found(["", "1204", ""]));
        let long = format!("{}login{}", "é".repeat(100), "é".repeat(100));
        let [before, words, after] = of(json!(long), "login").unwrap();
        assert!(before.starts_with('…') && words == "login" && after.ends_with('…'), "{before}{words}{after}");
        assert!(of(json!("İİ login"), "login").is_some(), "lower case may be longer");
    }

    #[test]
    fn every_word_must_be_there() {
        let words = SearchWords::new("  Retry-After   JITTER ");
        assert!(words.are_in("The retry-after header has jitter."));
        assert!(!words.are_in("The retry-after header."));
    }
}
