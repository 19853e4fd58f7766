//! Requests for permission that a person decides.

use serde_json::Value;
use uwf_core::thread::QuestionReply;
use uwf_engine::error::Error;

use super::AcpSession;
use super::prompt_state::AcpPromptState;
use crate::acp::permission::{self, PermissionDecision};

impl AcpSession {
    /// The decision of a person on an earlier request that equals this one. It counts once in each attempt, because an attempt without the
    /// session repeats its work; a lasting decision counts for all.
    pub(super) fn decision_of_person(
        &mut self,
        params: &Value,
        listening: &AcpPromptState<'_, '_>,
    ) -> Option<PermissionDecision> {
        let request = listening.redactor.text(&permission::what(params));
        let is_same = |question: &str| permission::request_in_question(&self.name, question) == Some(request.as_str());
        let position = self.replies.iter().position(|known| is_same(&known.question))?;
        let decision = permission::decide_by_reply(params, &self.replies[position].reply);
        if !permission::is_lasting(&decision, params) {
            self.replies.remove(position);
        }
        Some(decision)
    }

    /// Marks the calls as denied that a person denied and that the agent did not try again: they are part of this step.
    pub(super) fn deny_unrepeated(&self, listening: &mut AcpPromptState<'_, '_>) {
        for QuestionReply { question, reply, .. } in &self.replies {
            let request = permission::request_in_question(&self.name, question);
            if let Some(request) = request.filter(|_| permission::is_denial(question, reply)) {
                let at_ms = listening.elapsed_ms();
                listening.transcript.deny_unreported(permission::title(request), at_ms);
            }
        }
    }

    /// Ends the attempt with a question to a person. A process that waited for the reply would keep the thread's lock and a place for hours,
    /// and be lost with its machine; the session continues with the reply instead.
    pub(super) fn ask_a_person(
        &mut self,
        asked: &str,
        params: &Value,
        listening: &mut AcpPromptState<'_, '_>,
    ) -> Error {
        self.progress.line(&format!("asked: {asked}; a person must answer"));
        self.cancel(None, listening);
        let question = permission::question(params);
        agent_kit::ask_person(listening.context, &question, &permission::names(params)).unwrap_or_else(|| {
            Error::waiting(format!("agent `{}` needs permission: {asked}", self.name))
                .hint("`permissions: allow` or `deny` in the agent's config answers it; then step again")
        })
    }
}
