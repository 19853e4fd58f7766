//! An attempt as its record describes it.

use json_cas::NodeHash;

use super::lines::{
    AttemptAnswer, AttemptEnd, AttemptOpening, AttemptOutcome, AttemptProcess, AttemptReply, FinishedStep, GaveUp,
    NamedStep, QuestionExchange, ThreadRecordLine,
};
use super::output::size;
use super::{AttemptOutputFiles, is_of_this_boot};
use crate::attempt::agents::HUMAN;
use crate::error::{AtPath, Error, ErrorKind, Result};
use crate::root::home::Home;

/// How many times processes may end without an error while reading a kept answer before its agent runs again: the
/// answer may be what kills them. Processes that record an error, such as a full disk, don't count.
const MAX_REREADS: u32 = 3;

/// The newest attempt, as far as it got.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedAttempt {
    /// Its plan.
    pub opened: AttemptOpening,
    /// The agent's process.
    pub started: Option<AttemptProcess>,
    /// Set once the agent has answered in full.
    pub answered: Option<AttemptAnswer>,
    /// The result that the agent named.
    pub named: Option<NamedStep>,
    /// Its result.
    pub finished: Option<FinishedStep>,
    /// Why it has no result.
    pub gave_up: Option<GaveUp>,
    /// How it ended.
    pub closed: Option<AttemptEnd>,
    /// A person's reply to its question.
    pub replied: Option<AttemptReply>,
}

impl RecordedAttempt {
    /// An attempt that was only planned so far.
    pub fn begun(opened: AttemptOpening) -> RecordedAttempt {
        RecordedAttempt {
            opened,
            started: None,
            answered: None,
            named: None,
            finished: None,
            gave_up: None,
            closed: None,
            replied: None,
        }
    }

    /// Why it has no result: the error that its agent process gave up with, or the reason of its end.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        if let Some(gave_up) = &self.gave_up {
            return Some(gave_up.to_error());
        }
        let closed = self.closed.as_ref()?;
        let error = Error::agent_failed(closed.error.clone()?);
        Some(match closed.failure {
            Some(failure) => error.with_failure(failure),
            None => error,
        })
    }

    /// This attempt with one more line applied; lines of other attempts are ignored.
    pub(super) fn with(self, line: ThreadRecordLine) -> RecordedAttempt {
        let id = &self.opened.attempt;
        match line {
            ThreadRecordLine::Started(started) if started.attempt == *id => {
                RecordedAttempt { started: Some(started), ..self }
            }
            ThreadRecordLine::Answered(answered) if answered.attempt == *id => {
                RecordedAttempt { answered: Some(answered), ..self }
            }
            ThreadRecordLine::Named(named) if named.attempt == *id => RecordedAttempt { named: Some(named), ..self },
            ThreadRecordLine::Finished(finished) if finished.attempt == *id => {
                RecordedAttempt { finished: Some(finished), ..self }
            }
            ThreadRecordLine::GaveUp(gave_up) if gave_up.attempt == *id => {
                RecordedAttempt { gave_up: Some(gave_up), ..self }
            }
            ThreadRecordLine::Closed(closed) if closed.attempt == *id => {
                RecordedAttempt { closed: Some(closed), ..self }
            }
            ThreadRecordLine::Replied(replied) if replied.attempt == *id => {
                RecordedAttempt { replied: Some(replied), ..self }
            }
            ThreadRecordLine::Opened(_)
            | ThreadRecordLine::Started(_)
            | ThreadRecordLine::Answered(_)
            | ThreadRecordLine::Named(_)
            | ThreadRecordLine::Finished(_)
            | ThreadRecordLine::GaveUp(_)
            | ThreadRecordLine::Closed(_)
            | ThreadRecordLine::Replied(_)
            | ThreadRecordLine::Ended(_) => self,
        }
    }

    /// Whether it already has a line of this kind.
    pub(super) fn has(&self, line: &ThreadRecordLine) -> bool {
        match line {
            ThreadRecordLine::Opened(_) => true,
            ThreadRecordLine::Started(_) => self.started.is_some(),
            ThreadRecordLine::Answered(_) => self.answered.is_some(),
            ThreadRecordLine::Named(_) => self.named.is_some(),
            ThreadRecordLine::Finished(_) => self.finished.is_some(),
            ThreadRecordLine::GaveUp(_) => self.gave_up.is_some(),
            ThreadRecordLine::Closed(_) => self.closed.is_some(),
            ThreadRecordLine::Replied(_) => self.replied.is_some(),
            // The history has this.
            ThreadRecordLine::Ended(_) => true,
        }
    }

    /// Its result, verified or not.
    pub fn result(&self) -> Option<NodeHash> {
        let finished = self.finished.as_ref().map(|finished| finished.step);
        finished.or_else(|| self.named.as_ref().map(|named| named.step))
    }

    /// Value of [`AttemptOpening::rereads`] for the next attempt to read its text.
    pub fn rereads(&self) -> u32 {
        self.opened.rereads.saturating_add(u32::from(self.gave_up.is_none()))
    }

    /// Whether its agent answered as `role` at this head and only keeping the answer failed. Reasons are a full disk, a
    /// store that was unreachable or denied access, another node in the place of one of its nodes, and a killed
    /// or stopped process. The paid answer is then in the attempt node, or in the file of the submitted value.
    ///
    /// # Errors
    /// `Io` when this is unknown: if uwf assumed "no", the agent would be paid again.
    pub(crate) fn has_unread_answer(&self, home: &Home, head: NodeHash, role: &str) -> Result<bool> {
        let opened = &self.opened;
        let is_kept = self.closed.as_ref().is_some_and(|closed| closed.node.is_some());
        let may_be = opened.expected_head == head
            && opened.role == role
            && is_kept
            && self.result().is_none()
            && self.gave_up.as_ref().is_none_or(|gave_up| gave_up.kind.may_keep_later() || gave_up.kind.is_stop())
            && opened.rereads < MAX_REREADS;
        match &self.answered {
            _ if !may_be => Ok(false),
            _ if opened.reextract.is_some() => Ok(true),
            Some(answered) => self.is_whole(home, answered),
            None => Ok(false),
        }
    }

    /// Whether an answer is complete in its file. The file of a value is durable. A text is synced only on a system that does not identify
    /// its boots; elsewhere, after a power loss, the line may exist without the file.
    fn is_whole(&self, home: &Home, answered: &AttemptAnswer) -> Result<bool> {
        // The machine that made the attempt has closed it, and kept the whole answer in its node.
        if self.opened.machine.is_some() {
            return Ok(true);
        }
        let files = AttemptOutputFiles::paths_of_attempt(home, &self.opened.thread, &self.opened.attempt);
        if files.submitted.try_exists().path_context("look at", &files.submitted)? {
            return files.has_value();
        }
        Ok(answered.bytes == size(&files.raw)? && self.keeps_text(answered)?)
    }

    /// Whether no restart of the machine can have cut the text of an answer short.
    ///
    /// # Errors
    /// As [`super::boot_id`].
    pub(super) fn keeps_text(&self, answered: &AttemptAnswer) -> Result<bool> {
        Ok(answered.is_durable || is_of_this_boot(&self.opened)? == Some(true))
    }

    /// Whether it ended without an answer but did not fail: the agent gave up because it must wait, or the agent is a
    /// person.
    pub(crate) fn only_waits(&self) -> bool {
        let waits = self.gave_up.as_ref().is_some_and(|gave_up| gave_up.kind == ErrorKind::Waiting);
        self.finished.is_none() && !self.asks() && (waits || self.opened.agent.is_built_in(HUMAN))
    }

    /// Whether its agent asks a person a question.
    pub(crate) fn asks(&self) -> bool {
        self.gave_up.as_ref().is_some_and(|gave_up| gave_up.question.is_some())
    }

    /// The question of this role's agent at this head, unless a person has replied.
    pub(crate) fn question_at(&self, head: NodeHash, role: &str) -> Option<&GaveUp> {
        let has_asked = self.closed.as_ref().is_some_and(|closed| closed.outcome == AttemptOutcome::Asked);
        let is_open = has_asked && self.replied.is_none();
        self.gave_up.as_ref().filter(|_| is_open && self.opened.expected_head == head && self.opened.role == role)
    }

    /// Whether a person has replied to its agent's question at this head.
    pub(crate) fn was_replied_to_at(&self, head: NodeHash) -> bool {
        self.replied.is_some() && self.opened.expected_head == head
    }

    /// Questions and replies for the next attempt of this role at this head.
    pub(crate) fn replies_at(&self, head: NodeHash, role: &str) -> Vec<QuestionExchange> {
        if self.opened.expected_head != head || self.opened.role != role {
            return Vec::new();
        }
        let node = self.closed.as_ref().and_then(|closed| closed.node);
        let exchange = |(attempt, replied): (NodeHash, &AttemptReply)| QuestionExchange {
            attempt,
            question: replied.question,
            reply: replied.reply,
            by: replied.by.clone(),
        };
        let own = node.zip(self.replied.as_ref()).map(exchange);
        self.opened.replies.iter().cloned().chain(own).collect()
    }

    /// Whether this role was suspended in it at this head.
    pub(crate) fn was_suspended_at(&self, head: NodeHash, role: &str) -> bool {
        let suspended = self.closed.as_ref().is_some_and(|closed| closed.outcome == AttemptOutcome::Suspended);
        suspended && self.opened.expected_head == head && self.opened.role == role
    }

    /// Attempt nodes that the next attempt at `head` inherits.
    pub(crate) fn earlier_at(&self, head: NodeHash) -> Vec<NodeHash> {
        if self.opened.expected_head != head {
            return Vec::new();
        }
        let own = self.closed.as_ref().and_then(|closed| closed.node);
        self.opened.earlier.iter().copied().chain(own).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{boot_id, read};
    use super::*;
    use crate::attempt::agents::AgentSpec;
    use crate::root::record;

    /// An attempt whose agent has answered and that was closed as failed, with further fields.
    fn answered(home: &Home, more: &serde_json::Value, gave_up: Option<ErrorKind>) -> RecordedAttempt {
        let agent = json!({ "name": "a", "command": "a", "args": [], "config": {} });
        let agent = serde_json::from_value(agent).unwrap();
        let mut opened = json!({
            "attempt": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "thread": "01ARZ3NDEKTSV4RRFFQ69G5FAW",
            "expectedHead": "0000000000001", "role": "worker", "workspace": "/", "secrets": [], "promptBudget": 1,
            "outputCap": 1, "earlier": [], "keeper": 1, "bootId": boot_id().unwrap(), "openedAt": 1,
            "agent": AgentSpec::recorded(agent),
        });
        opened.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let opened: AttemptOpening = serde_json::from_value(opened).unwrap();
        let (thread, attempt) = (opened.thread.clone(), opened.attempt.clone());
        let raw = AttemptOutputFiles::paths_of_attempt(home, &thread, &attempt).raw;
        std::fs::create_dir_all(raw.parent().unwrap()).unwrap();
        std::fs::write(&raw, "an answer").unwrap();
        let file = record::open_or_create(home, &thread).unwrap();
        record::write(home, &thread, &file, &ThreadRecordLine::Opened(Box::new(opened))).unwrap();
        super::super::answered(home, &thread, &attempt, None).unwrap();
        if let Some(kind) = gave_up {
            let line = GaveUp::because(&attempt, kind, String::new());
            super::super::gave_up(home, &thread, line).unwrap();
        }
        let node = Some(NodeHash::from_u64(2));
        let failed = AttemptEnd { node, ..AttemptEnd::now(&attempt, AttemptOutcome::Failed) };
        record::append(home, &thread, &ThreadRecordLine::Closed(failed)).unwrap();
        read(home, &thread).unwrap().unwrap()
    }

    #[test]
    fn answer_is_unread_only_while_complete_and_unused() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(dir.path(), "uwf");
        let (head, other) = (NodeHash::from_u64(1), NodeHash::from_u64(3));
        let unread = |more, gave_up| answered(&home, &more, gave_up).has_unread_answer(&home, head, "worker").unwrap();
        assert!(unread(json!({}), None), "its process was killed");
        assert!(unread(json!({}), Some(ErrorKind::Io)), "the disk was full");
        assert!(unread(json!({}), Some(ErrorKind::Data)), "another node has its hash");
        assert!(unread(json!({}), Some(ErrorKind::Busy)), "the store was away");
        assert!(unread(json!({}), Some(ErrorKind::Config)), "the store took these credentials no more");
        assert!(unread(json!({}), Some(ErrorKind::Interrupted)), "a person stopped it");
        assert!(!unread(json!({}), Some(ErrorKind::NotExtractable)), "it was read, and is no use");
        assert!(!unread(json!({ "bootId": "another" }), None), "after a power loss the file may be shorter");
        assert!(!unread(json!({ "bootId": "" }), None), "the machine may have been restarted");
        for boot in ["", "another"] {
            let mut durable = answered(&home, &json!({ "bootId": boot }), None);
            durable.answered.as_mut().unwrap().is_durable = true;
            assert!(durable.has_unread_answer(&home, head, "worker").unwrap(), "its bytes were on disk before");
        }
        assert!(unread(json!({ "reextract": head, "rereads": MAX_REREADS - 1 }), None));
        assert!(!unread(json!({ "reextract": head, "rereads": MAX_REREADS }), None), "whoever reads it dies");
        let attempt = answered(&home, &json!({}), None);
        assert!(
            !attempt.has_unread_answer(&home, other, "worker").unwrap()
                && !attempt.has_unread_answer(&home, head, "writer").unwrap()
        );
        let raw = AttemptOutputFiles::paths_of_attempt(&home, &attempt.opened.thread, &attempt.opened.attempt).raw;
        std::fs::write(raw, "an ans").unwrap();
        assert!(!attempt.has_unread_answer(&home, head, "worker").unwrap(), "it is not whole");
        let value =
            AttemptOutputFiles::paths_of_attempt(&home, &attempt.opened.thread, &attempt.opened.attempt).submitted;
        std::fs::write(&value, "{}").unwrap();
        assert!(attempt.has_unread_answer(&home, head, "worker").unwrap(), "its value is");
        std::fs::write(&value, "{").unwrap();
        assert!(!attempt.has_unread_answer(&home, head, "worker").unwrap(), "that is no value");
    }
}
