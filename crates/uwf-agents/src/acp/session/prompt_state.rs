//! The state of one prompt while we listen: what the agent has reported, and what is saved.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_kit::{AgentContext, AgentTurn, submit};
use uwf_core::node::TokenCounts;
use uwf_engine::attempt::redactor::SecretRedactor;
use uwf_engine::error::Result;

use crate::acp::transcript::AcpTranscript;
use crate::model_exchange::millis;

/// Time between two saves of the text so far.
const SAVE_EVERY: Duration = Duration::from_secs(1);

/// State of a prompt while we listen.
pub(super) struct AcpPromptState<'a, 'h> {
    pub(super) context: &'a AgentContext<'h>,
    pub(super) redactor: SecretRedactor,
    pub(super) transcript: AcpTranscript,
    pub(super) begun: Instant,
    /// The parts of the prompt.
    pub(super) input: Vec<Arc<str>>,
    /// Whether the text so far is saved as the text of a failed attempt. False if something better is saved already.
    pub(super) saves: bool,
    /// Whether something was reported since the last save, and the time of that save.
    pub(super) has_news: bool,
    pub(super) saved: Instant,
}

impl<'a, 'h> AcpPromptState<'a, 'h> {
    pub(super) fn new(context: &'a AgentContext<'h>, redactor: SecretRedactor, cap: usize) -> AcpPromptState<'a, 'h> {
        let (transcript, now) = (AcpTranscript::new(cap), Instant::now());
        let (input, saves, has_news) = (Vec::new(), false, false);
        AcpPromptState { context, redactor, transcript, begun: now, input, saves, has_news, saved: now }
    }

    pub(super) fn elapsed_ms(&self) -> u64 {
        millis(self.begun.elapsed())
    }

    /// Saves the text so far, which was paid for, so that it survives the end of this process.
    pub(super) fn save(&mut self) -> Result<()> {
        if self.saves && !self.transcript.is_empty() {
            submit::keep(self.context, &self.redactor.text(&self.transcript.partial()))?;
        }
        Ok(())
    }

    /// Whether there are reports to save, and the last save is long enough ago.
    pub(super) fn is_save_due(&self) -> bool {
        self.has_news && self.saved.elapsed() >= SAVE_EVERY
    }

    /// Remembers that everything reported so far is saved.
    pub(super) fn mark_saved(&mut self) {
        (self.saved, self.has_news) = (Instant::now(), false);
    }

    /// How long to wait for more. With unsaved reports, at most until the next save is due.
    pub(super) fn patience(&self, left: Option<Duration>) -> Option<Duration> {
        if !self.has_news {
            return left;
        }
        let due = SAVE_EVERY.saturating_sub(self.saved.elapsed());
        Some(left.map_or(due, |left| left.min(due)))
    }

    /// The prompt's turn so far.
    pub(super) fn turn(&self, tokens: Option<TokenCounts>) -> AgentTurn {
        AgentTurn {
            input: self.input.clone(),
            output: self.transcript.said(),
            tool_calls: self.transcript.tool_calls(),
            tokens,
            latency_ms: self.elapsed_ms(),
        }
    }
}
