//! How the last turn of a trace ended, which decides whether there is an answer.

use uwf_llm::Finish;

/// Ending of a trace's last turn. Only after a good ending is the last message an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Ending {
    /// The trace does not show it. A program that was stopped or lost its connection leaves such a trace.
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
    /// The ending for the word that a program, a protocol or a provider uses.
    pub(super) fn of(word: &str) -> Ending {
        match Finish::of(word) {
            Finish::Other(word) if word.is_empty() => Ending::Unknown,
            finish => finish.fault().map_or(Ending::Good, Ending::Bad),
        }
    }

    /// A description of the problem, for known words.
    pub(super) fn words(self) -> Option<String> {
        match self {
            Ending::Bad(words) | Ending::Failed(words) => Some(words),
            Ending::Good | Ending::Unknown => None,
        }
    }

    /// A failure with the program's message, if there is one.
    pub(super) fn failed(words: Option<String>) -> Ending {
        Ending::Failed(words.unwrap_or_else(|| "it reported an error".to_owned()))
    }
}
