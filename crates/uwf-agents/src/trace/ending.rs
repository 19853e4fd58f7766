//! How the last turn of a trace ended, which decides whether there is an answer.

use uwf_llm::Finish;

/// How the last turn of a trace ended. Only a good ending makes its last message an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Ending {
    /// The trace does not say. A program that was stopped, or lost its connection, leaves such a trace.
    #[default]
    Unknown,
    /// The turn is complete.
    Good,
    /// The model did not complete its turn. The text follows "the agent …".
    Bad(String),
    /// The program failed; the text is its own.
    Failed(String),
}

impl Ending {
    /// The ending that a program, a protocol or a provider names by a word.
    pub(super) fn of(word: &str) -> Ending {
        match Finish::of(word) {
            Finish::Other(word) if word.is_empty() => Ending::Unknown,
            finish => finish.fault().map_or(Ending::Good, Ending::Bad),
        }
    }

    /// What is wrong, in the words that are known.
    pub(super) fn words(self) -> Option<String> {
        match self {
            Ending::Bad(words) | Ending::Failed(words) => Some(words),
            Ending::Good | Ending::Unknown => None,
        }
    }

    /// A failure in the program's words, if it gave any.
    pub(super) fn failed(words: Option<String>) -> Ending {
        Ending::Failed(words.unwrap_or_else(|| "it reported an error".to_owned()))
    }
}
