//! How the last turn of a trace ended, which decides whether there is an answer.

use uwf_llm::FinishReason;

/// Ending of a trace's last turn. Only after a good ending is the last message an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TraceEnding {
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

impl TraceEnding {
    /// The ending for the word that a program, a protocol or a provider uses.
    pub(super) fn from_word(word: &str) -> TraceEnding {
        match FinishReason::from_provider_word(word) {
            FinishReason::Other(word) if word.is_empty() => TraceEnding::Unknown,
            finish => finish.fault().map_or(TraceEnding::Good, TraceEnding::Bad),
        }
    }

    /// A description of the problem, for known words.
    pub(super) fn words(self) -> Option<String> {
        match self {
            TraceEnding::Bad(words) | TraceEnding::Failed(words) => Some(words),
            TraceEnding::Good | TraceEnding::Unknown => None,
        }
    }

    /// A failure with the program's message, if there is one.
    pub(super) fn failed(words: Option<String>) -> TraceEnding {
        TraceEnding::Failed(words.unwrap_or_else(|| "it reported an error".to_owned()))
    }
}
