//! An attempt as far as its record tells, and what follows from that.

use json_cas::Hash;

use super::lines::{Answered, Closed, Exchange, Finished, GaveUp, Line, Named, Opened, Outcome, Replied, Started};
use super::output::size;
use super::{OutputFiles, boot_id};
use crate::attempt::agents::HUMAN;
use crate::error::{AtPath, ErrorKind, Result};
use crate::root::home::Home;

/// How often a kept answer is read by processes that end without a word before its agent is run again: they may be dying
/// of that answer. Those that say why, the disk being full for instance, are not counted.
const MAX_REREADS: u32 = 3;

/// The newest attempt as far as it got.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    /// What was planned.
    pub opened: Opened,
    /// Process of the agent.
    pub started: Option<Started>,
    /// That the agent answered in full.
    pub answered: Option<Answered>,
    /// Its result as the agent named it.
    pub named: Option<Named>,
    /// Its result.
    pub finished: Option<Finished>,
    /// Why it has none.
    pub gave_up: Option<GaveUp>,
    /// How it was concluded.
    pub closed: Option<Closed>,
    /// What a person said to its question.
    pub replied: Option<Replied>,
}

impl Attempt {
    /// One of which nothing is known but how it was planned.
    pub fn begun(opened: Opened) -> Attempt {
        Attempt {
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

    /// The same with what one more line says about it; a line of another attempt says nothing.
    pub(super) fn with(self, line: Line) -> Attempt {
        let id = &self.opened.attempt;
        match line {
            Line::Started(started) if started.attempt == *id => Attempt { started: Some(started), ..self },
            Line::Answered(answered) if answered.attempt == *id => Attempt { answered: Some(answered), ..self },
            Line::Named(named) if named.attempt == *id => Attempt { named: Some(named), ..self },
            Line::Finished(finished) if finished.attempt == *id => Attempt { finished: Some(finished), ..self },
            Line::GaveUp(gave_up) if gave_up.attempt == *id => Attempt { gave_up: Some(gave_up), ..self },
            Line::Closed(closed) if closed.attempt == *id => Attempt { closed: Some(closed), ..self },
            Line::Replied(replied) if replied.attempt == *id => Attempt { replied: Some(replied), ..self },
            Line::Opened(_)
            | Line::Started(_)
            | Line::Answered(_)
            | Line::Named(_)
            | Line::Finished(_)
            | Line::GaveUp(_)
            | Line::Closed(_)
            | Line::Replied(_)
            | Line::Ended(_) => self,
        }
    }

    /// Whether it is known what a line of this kind says.
    pub(super) fn has(&self, line: &Line) -> bool {
        match line {
            Line::Opened(_) => true,
            Line::Started(_) => self.started.is_some(),
            Line::Answered(_) => self.answered.is_some(),
            Line::Named(_) => self.named.is_some(),
            Line::Finished(_) => self.finished.is_some(),
            Line::GaveUp(_) => self.gave_up.is_some(),
            Line::Closed(_) => self.closed.is_some(),
            Line::Replied(_) => self.replied.is_some(),
            // That says the history.
            Line::Ended(_) => true,
        }
    }

    /// Its result, verified or not.
    pub fn result(&self) -> Option<Hash> {
        let finished = self.finished.as_ref().map(|finished| finished.step);
        finished.or_else(|| self.named.as_ref().map(|named| named.step))
    }

    /// What [`Opened::rereads`] of an attempt to read its text again is.
    pub fn rereads(&self) -> u32 {
        self.opened.rereads.saturating_add(u32::from(self.gave_up.is_none()))
    }

    /// Whether its agent had answered `role` at this head, and all that failed was to keep the answer: the disk was full, the store
    /// was away or let nobody in any more, another node stands in the place of one of its nodes, or a process was killed. What
    /// the agent was paid for is then in the attempt node, or in the file of the value it handed in.
    ///
    /// # Errors
    /// `Io` when it cannot be told: taken for "no", the agent would be paid again.
    pub(crate) fn has_unread_answer(&self, home: &Home, head: Hash, role: &str) -> Result<bool> {
        let opened = &self.opened;
        let is_kept = self.closed.as_ref().is_some_and(|closed| closed.node.is_some());
        let may_be = opened.expected_head == head
            && opened.role == role
            && is_kept
            && self.result().is_none()
            && self.gave_up.as_ref().is_none_or(|gave_up| gave_up.kind.may_keep_later())
            && opened.rereads < MAX_REREADS;
        match &self.answered {
            _ if !may_be => Ok(false),
            _ if opened.reextract.is_some() => Ok(true),
            Some(answered) => self.is_whole(home, answered),
            None => Ok(false),
        }
    }

    /// Whether all of an answer is in its file. That of a value is durable. Of a text neither the line nor the file was
    /// synced: after a power loss the one may be there without the other.
    fn is_whole(&self, home: &Home, answered: &Answered) -> Result<bool> {
        // The machine it was made on has closed it, and kept all of the answer in its node.
        if self.opened.machine.is_some() {
            return Ok(true);
        }
        let files = OutputFiles::of(home, &self.opened.thread, &self.opened.attempt);
        if files.submitted.try_exists().at("look at", &files.submitted)? {
            return files.has_value();
        }
        Ok(answered.bytes == size(&files.raw)? && self.opened.boot_id == boot_id()?)
    }

    /// Whether it ended without an answer and yet nothing failed: the agent gave up because it must wait, or it was
    /// a person's.
    pub(crate) fn only_waits(&self) -> bool {
        let waits = self.gave_up.as_ref().is_some_and(|gave_up| gave_up.kind == ErrorKind::Waiting);
        self.finished.is_none() && !self.asks() && (waits || self.opened.agent.is_built_in(HUMAN))
    }

    /// Whether its agent asks a person something.
    pub(crate) fn asks(&self) -> bool {
        self.gave_up.as_ref().is_some_and(|gave_up| gave_up.question.is_some())
    }

    /// What the agent of this role asks at this head, as long as nobody has replied.
    pub(crate) fn question_at(&self, head: Hash, role: &str) -> Option<&GaveUp> {
        let has_asked = self.closed.as_ref().is_some_and(|closed| closed.outcome == Outcome::Asked);
        let is_open = has_asked && self.replied.is_none();
        self.gave_up.as_ref().filter(|_| is_open && self.opened.expected_head == head && self.opened.role == role)
    }

    /// Whether a person has replied to what its agent asked at this head.
    pub(crate) fn was_replied_to_at(&self, head: Hash) -> bool {
        self.replied.is_some() && self.opened.expected_head == head
    }

    /// What a next try of this role at this head knows of questions and replies.
    pub(crate) fn replies_at(&self, head: Hash, role: &str) -> Vec<Exchange> {
        if self.opened.expected_head != head || self.opened.role != role {
            return Vec::new();
        }
        let node = self.closed.as_ref().and_then(|closed| closed.node);
        let exchange = |(attempt, replied): (Hash, &Replied)| Exchange {
            attempt,
            question: replied.question,
            reply: replied.reply,
        };
        let own = node.zip(self.replied.as_ref()).map(exchange);
        self.opened.replies.iter().copied().chain(own).collect()
    }

    /// Whether it was the wait of this role at this head.
    pub(crate) fn was_suspended_at(&self, head: Hash, role: &str) -> bool {
        let suspended = self.closed.as_ref().is_some_and(|closed| closed.outcome == Outcome::Suspended);
        suspended && self.opened.expected_head == head && self.opened.role == role
    }

    /// Attempt nodes a next try at `head` inherits.
    pub(crate) fn earlier_at(&self, head: Hash) -> Vec<Hash> {
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

    use super::super::read;
    use super::*;
    use crate::attempt::agents::AgentSpec;
    use crate::root::record;

    /// An attempt whose agent has answered and which was closed as failed, with what else is given.
    fn answered(home: &Home, more: &serde_json::Value, gave_up: Option<ErrorKind>) -> Attempt {
        let agent = json!({ "name": "a", "command": "a", "args": [], "config": {} });
        let agent = serde_json::from_value(agent).unwrap();
        let mut opened = json!({
            "attempt": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "thread": "01ARZ3NDEKTSV4RRFFQ69G5FAW",
            "expectedHead": "0000000000001", "role": "worker", "workspace": "/", "secrets": [], "promptBudget": 1,
            "outputCap": 1, "earlier": [], "keeper": 1, "bootId": boot_id().unwrap(), "openedAt": 1,
            "agent": AgentSpec::recorded(agent),
        });
        opened.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let opened: Opened = serde_json::from_value(opened).unwrap();
        let (thread, attempt) = (opened.thread.clone(), opened.attempt.clone());
        let raw = OutputFiles::of(home, &thread, &attempt).raw;
        std::fs::create_dir_all(raw.parent().unwrap()).unwrap();
        std::fs::write(&raw, "an answer").unwrap();
        let file = record::open_or_create(home, &thread).unwrap();
        record::write(home, &thread, &file, &Line::Opened(Box::new(opened))).unwrap();
        super::super::answered(home, &thread, &attempt).unwrap();
        if let Some(kind) = gave_up {
            let line = GaveUp {
                attempt: attempt.clone(),
                kind,
                error: String::new(),
                hints: Vec::new(),
                exit_code: None,
                question: None,
            };
            super::super::gave_up(home, &thread, line).unwrap();
        }
        let node = Some(Hash::from_u64(2));
        let failed = Closed { attempt, outcome: Outcome::Failed, error: None, node, adopted: false, closed_at: 1 };
        record::append(home, &thread, &Line::Closed(failed)).unwrap();
        read(home, &thread).unwrap().unwrap()
    }

    #[test]
    fn answer_is_unread_only_while_complete_and_unused() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(dir.path(), "uwf");
        let (head, other) = (Hash::from_u64(1), Hash::from_u64(3));
        let unread = |more, gave_up| answered(&home, &more, gave_up).has_unread_answer(&home, head, "worker").unwrap();
        assert!(unread(json!({}), None), "its process was killed");
        assert!(unread(json!({}), Some(ErrorKind::Io)), "the disk was full");
        assert!(unread(json!({}), Some(ErrorKind::Data)), "another node has its hash");
        assert!(unread(json!({}), Some(ErrorKind::Busy)), "the store was away");
        assert!(unread(json!({}), Some(ErrorKind::Config)), "the store took these credentials no more");
        assert!(!unread(json!({}), Some(ErrorKind::NotExtractable)), "it was read, and is no use");
        assert!(!unread(json!({ "bootId": "another" }), None), "after a power loss the file may be shorter");
        assert!(unread(json!({ "reextract": head, "rereads": MAX_REREADS - 1 }), None));
        assert!(!unread(json!({ "reextract": head, "rereads": MAX_REREADS }), None), "whoever reads it dies");
        let attempt = answered(&home, &json!({}), None);
        assert!(
            !attempt.has_unread_answer(&home, other, "worker").unwrap()
                && !attempt.has_unread_answer(&home, head, "writer").unwrap()
        );
        let raw = OutputFiles::of(&home, &attempt.opened.thread, &attempt.opened.attempt).raw;
        std::fs::write(raw, "an ans").unwrap();
        assert!(!attempt.has_unread_answer(&home, head, "worker").unwrap(), "it is not whole");
        let value = OutputFiles::of(&home, &attempt.opened.thread, &attempt.opened.attempt).submitted;
        std::fs::write(&value, "{}").unwrap();
        assert!(attempt.has_unread_answer(&home, head, "worker").unwrap(), "its value is");
        std::fs::write(&value, "{").unwrap();
        assert!(!attempt.has_unread_answer(&home, head, "worker").unwrap(), "that is no value");
    }
}
