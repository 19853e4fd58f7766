//! Tokens, cost and model of a session, as far as the agent reports them.

use std::time::Duration;

use serde_json::Value;
use uwf_core::node::TokenCounts;
use uwf_engine::attempt::recorded::AttemptOpening;
use uwf_engine::root::ids;

use super::AcpSession;
use super::prompt_state::AcpPromptState;
use crate::acp::preset::TokenCountScope;
use crate::acp::session_export;
use crate::acp::usage::{self, AcpTokenCounts};

/// Longest time for an export, in milliseconds.
const LONGEST_EXPORT: u64 = 30_000;

impl AcpSession {
    /// Cost of the current turn, if the agent reports it.
    pub(super) fn cost_so_far(&self, listening: &AcpPromptState<'_, '_>) -> Option<TokenCounts> {
        spent(listening.transcript.dollars(), self.dollars)
            .map(|cost| TokenCounts { cost: Some(cost), ..TokenCounts::default() })
    }

    /// The model that the agent reported last.
    pub(in crate::acp) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    pub(super) fn reports_model(&mut self, model: Option<&str>) {
        if let Some(model) = model.filter(|model| self.model.as_deref() != Some(*model)) {
            self.model = Some(model.to_owned());
            self.recorder.model(Some(model));
        }
    }

    pub(super) fn tokens(&mut self, reply: &Value, listening: &mut AcpPromptState<'_, '_>) -> Option<TokenCounts> {
        self.reports_model(usage::only_model(reply));
        let now = AcpTokenCounts::read(reply);
        let before = std::mem::replace(&mut self.counts, now);
        let counts = match self.settings.counting {
            TokenCountScope::None => None,
            TokenCountScope::Prompt => now.map(AcpTokenCounts::tokens),
            TokenCountScope::Session => {
                now.zip(before).and_then(|(now, before)| now.since(before)).map(AcpTokenCounts::tokens)
            }
            TokenCountScope::Export => self.exported_tokens(listening),
        };
        let now = listening.transcript.dollars();
        let cost = spent(now, std::mem::replace(&mut self.dollars, now));
        match (counts, cost) {
            (None, None) => None,
            (counts, cost) => {
                let counts = counts.unwrap_or_default();
                Some(TokenCounts { cost: cost.or(counts.cost), ..counts })
            }
        }
    }

    /// The tokens of this prompt in the agent's export of the session.
    fn exported_tokens(&mut self, listening: &mut AcpPromptState<'_, '_>) -> Option<TokenCounts> {
        let (id, attempt) = (self.id.as_deref()?, listening.context.attempt()?);
        // The export takes a few seconds, and the answer must survive a kill meanwhile.
        if let Err(lost) = listening.save() {
            self.progress.line(&format!("could not save the agent's messages: {lost}"));
        }
        let begun_ms = ids::now_ms().saturating_sub(listening.elapsed_ms());
        let command = self.client.command(&self.settings, &attempt.opened);
        session_export::tokens_since(command, id, begun_ms, export_patience(&attempt.opened)).unwrap_or_else(|why| {
            self.progress.line(&format!("its tokens are unknown: the export of session {id} cannot be read: {why}"));
            None
        })
    }
}

/// The longest time for an export: the answer is there, so the attempt must not end at a timeout of the agent for the sake of counts.
fn export_patience(opened: &AttemptOpening) -> Duration {
    let left =
        opened.agent.timeout_ms.map(|limit| limit.saturating_sub(ids::now_ms().saturating_sub(opened.opened_at)));
    let limits = [left, opened.agent.idle_timeout_ms].into_iter().flatten();
    Duration::from_millis(limits.map(|limit| limit / 2).fold(LONGEST_EXPORT, u64::min))
}

/// The cost of a turn, from the costs of the session after and before it. Some agents report 0 for a model whose price they do not know.
fn spent(now: Option<f64>, before: Option<f64>) -> Option<f64> {
    now.zip(before).map(|(now, before)| now - before).filter(|cost| *cost > 0.0)
}
