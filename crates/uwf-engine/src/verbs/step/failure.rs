//! An attempt whose result did not become the head: what is kept, and what is reported.

use json_cas::{Head, HeadsError, NodeHash};
use uwf_core::config::EXTRACT;
use uwf_core::workflow::{GROUP_AGENT, is_text};

use super::ancestors::{self, OF_ATTEMPTS};
use super::{BegunAttempt, StepInProgress, replies};
use crate::attempt::recorded::{self, AttemptOpening, AttemptOutcome, AttemptOutputFiles, RecordedAttempt};
use crate::attempt::redactor::SecretRedactor;
use crate::attempt::{child_threads, environment, leftover};
use crate::error::{AttemptFailure, Error, ErrorKind};
use crate::root::agent_limits::{self, AgentLimit};
use crate::root::env_file;
use crate::root::log::log;
use crate::root::marks::{self, MarkReason, ThreadMark};
use crate::root::missing_thread;

/// Why the head did not move to a finished step.
pub(super) enum HeadMoveFailure {
    /// The head has moved since the agent started; `None` if the thread has ended.
    Elsewhere(Option<Head>),
    /// The move failed.
    Unsure(HeadsError),
}

impl StepInProgress<'_, '_> {
    /// The error of a step whose head did not move. Concludes its attempt if the result can no longer be used.
    pub(super) fn unmoved(&self, opened: &AttemptOpening, step: NodeHash, why: HeadMoveFailure) -> Error {
        match why {
            HeadMoveFailure::Elsewhere(now) => self.quarantine(opened, step, now),
            HeadMoveFailure::Unsure(failed) => self.unsure(failed, step),
        }
    }

    /// The move failed. If only the sync after it failed, every process sees the new head, but a power failure may undo it. So the step
    /// is not reported as done. The next step continues from either head: from the new one it plays the next role, from the old one it
    /// adopts the result.
    fn unsure(&self, failed: HeadsError, step: NodeHash) -> Error {
        let error = Error::from(failed);
        if !self.has_moved() {
            return error;
        }
        let message =
            format!("the head of thread {} moved to {step}, but may move back: {}", self.thread.id, error.message);
        Error { message, ..error }
    }

    fn quarantine(&self, opened: &AttemptOpening, step: NodeHash, now: Option<Head>) -> Error {
        let why = format!("step {step} was finished, but the head had moved; the node is kept, not linked");
        log!(self.log, "K3F6D2XN", Warn, "{why}");
        // The log and the error name the result even if the record can't be written.
        let _ = recorded::closed(self.home, opened, AttemptOutcome::Quarantined, Some(why.clone()), None);
        match now {
            Some(Head { hash, .. }) => Error::busy(format!("{why} (head is {hash})"))
                .hint(format!("`uwf thread step-details {step}` shows it")),
            None => Error::not_found(format!("thread {} ended meanwhile: {why}", self.thread.id))
                .hint(format!("`uwf thread fork {step}` continues from it")),
        }
    }

    /// Concludes an attempt that could not be linked. A finished result stays on record for the next step to adopt; anything else is
    /// stored as a node, and the thread is stuck.
    pub(super) fn conclude(&self, begun: &BegunAttempt, error: Error) -> Error {
        let BegunAttempt { attempt, lease, .. } = begun;
        let opened = &attempt.opened;
        let error = self.redacted(opened, &error);
        let failure = AttemptFailure::of_attempt(&error).map(|failure| self.with_joint_end(opened, failure));
        let error = self.with_failure(opened, failure, error);
        log!(self.log, "M0S8A4QG", Error, "attempt {}: {}", opened.attempt, error.message);
        let record = match recorded::read(self.home, &self.thread.id) {
            Ok(record) => record,
            // The record may say that the agent finished. Leave it open for the next step.
            Err(unread) => return error.hint(format!("the result of the attempt is unknown: {unread}")),
        };
        if record.as_ref().is_some_and(|record| record.closed.is_some()) {
            return error;
        }
        if record.as_ref().is_some_and(|record| record.result().is_some()) && error.kind != ErrorKind::AgentFailed {
            if self.has_moved() {
                return error
                    .hint("nothing is lost or paid for twice: the next `uwf thread step` continues from either head");
            }
            return error.hint(
                "the agent had finished: the next `uwf thread step` takes its result over, without running it again",
            );
        }
        let mark = match error.kind {
            ErrorKind::Waiting => Some(ThreadMark::Waiting),
            ErrorKind::Limit => Some(ThreadMark::Limited),
            // The step was stopped, so the thread is fine.
            kind if kind.is_stop() => None,
            _ => Some(ThreadMark::Stuck),
        };
        // An agent may produce much before it hits a limit or asks a person: keep its output. An agent at its usage limit has failed.
        let has_failed = failure.is_some() && !opened.agent.plays_by_threads();
        if let Some(mark @ (ThreadMark::Waiting | ThreadMark::Limited)) = mark
            && !has_failed
            && !self.said_anything(opened)
        {
            return self.suspend(attempt, mark, error);
        }
        let is_unfinished = record.as_ref().is_none_or(|record| record.result().is_none());
        let error = if is_unfinished { self.with_withheld(opened, error) } else { error };
        let exit_code = record.as_ref().and_then(|record| record.gave_up.as_ref()?.exit_code);
        let attempt = record.as_ref().unwrap_or(attempt);
        let is_lost = lease.lost().is_some();
        let kept = leftover::fail(self.home, attempt, exit_code, &error.message, failure);
        // After a lost lease another machine may continue the thread, so set no mark.
        let is_active = self.still_active();
        if !is_lost && is_active {
            match mark {
                Some(mark) => self.mark_error(mark, &opened.role, &error),
                None => self.unmark(),
            }
        }
        // A thread killed meanwhile has no next step, so hints about one would mislead. Its end explains the failure.
        let error = match is_active {
            true => error,
            false => {
                let Error { message: end, hints, .. } = missing_thread::not_active(self.home, &self.thread.id);
                Error { message: format!("{end}: {}", error.message), hints, ..error }
            }
        };
        let has_answer = record.as_ref().is_some_and(|record| record.answered.is_some());
        let error = match error.kind {
            ErrorKind::Data if has_answer => error.hint(format!(
                "its answer is kept: the next `uwf thread step {}` reads it again, without the agent; `--agent NAME` runs an agent again",
                self.thread.id
            )),
            ErrorKind::NotExtractable if error.names_next_answer() => error,
            // No model reads a text out of a text.
            ErrorKind::NotExtractable if self.is_text(&opened.role) => error.needs_another_run(self.thread.id.as_str()),
            ErrorKind::NotExtractable => error.hint(self.reading_again()),
            kind if kind.is_stop() && is_active => {
                error.hint(format!("to continue: uwf run {}", self.thread.id))
            }
            _ => error,
        };
        let is_retried = error.kind == ErrorKind::AgentFailed && mark == Some(ThreadMark::Stuck) && is_active;
        let way_on = if opened.agent.is_role_command { Error::command_hint } else { Error::retry_hint };
        let error = if is_retried { with_way_on(error, way_on(self.thread.id.as_str())) } else { error };
        match kept {
            // Only the question in its output matters; a group prints only the errors of its branches.
            Ok(_) if attempt.asks() || opened.agent.command == GROUP_AGENT => error,
            // No agent ran.
            Ok(_) if attempt.started.is_none() || error.kind == ErrorKind::Config && !self.said_anything(opened) => error,
            Ok(node) => error.hint(format!("all it printed is kept: `uwf thread step-details {node}`")),
            Err(lost) if has_answer => error.hint(format!(
                "its answer is on this machine, and could not be stored ({lost}): the next `uwf thread step {}` here does it, without the agent",
                self.thread.id
            )),
            Err(lost) => {
                let dir = self.home.attempts_dir(&self.thread.id);
                error.hint(format!("storing what it printed failed too ({lost}); it is still in {}", dir.display()))
            }
        }
    }

    /// The failure with the end of the account's usage limit that is known already.
    fn with_joint_end(&self, opened: &AttemptOpening, failure: AttemptFailure) -> AttemptFailure {
        let Some(until) = failure.limit_end().filter(|_| !opened.agent.plays_by_threads()) else { return failure };
        let account = opened.agent.account(&opened.workspace);
        let until = agent_limits::joint_end(self.home, &account, until, failure.is_assumed);
        AttemptFailure { until: Some(until), ..failure }
    }

    /// The error with its failure, so that a thread above knows it. The error of an agent at its usage limit says until when.
    fn with_failure(&self, opened: &AttemptOpening, failure: Option<AttemptFailure>, error: Error) -> Error {
        match failure {
            Some(failure) => match failure.limit_end() {
                Some(until) if error.kind != ErrorKind::Limit => {
                    let agent = opened.agent.name.clone();
                    let limit = AgentLimit { agent, until, is_assumed: failure.is_assumed };
                    let limit = Error::usage_limit(&limit, &error.message);
                    limit.hints(error.hints).hints(Error::limit_hints(self.thread.id.as_str()))
                }
                _ => error.with_failure(failure),
            },
            None => error,
        }
    }

    /// The error of an agent, with a hint if a withheld key may have caused the failure.
    fn with_withheld(&self, opened: &AttemptOpening, error: Error) -> Error {
        let spec = &opened.agent;
        if !matches!(error.kind, ErrorKind::AgentFailed | ErrorKind::NotExtractable) || !spec.runs_a_program() {
            return error;
        }
        let file = env_file::read(&self.home.env_file()).unwrap_or_default();
        let own = self.plan.config.own_secret_names();
        let withheld = environment::withheld(opened, &file).into_iter().filter(|name| !own.contains(name));
        let withheld = withheld.collect::<Vec<_>>().join(", ");
        if withheld.is_empty() {
            return error;
        }
        let hint = match self.plan.config.agent(&spec.name) {
            Some(_) => format!("if it needs {withheld}: `uwf config set agents.{}.env '[{withheld}]'`", spec.name),
            None => format!("if it needs {withheld}: declare it in config.yaml, with `env: [{withheld}]`"),
        };
        let message = match error.kind {
            ErrorKind::AgentFailed => format!("{}; it was not given {withheld}", error.message),
            _ => error.message.clone(),
        };
        Error { message, ..error }.hint(hint)
    }

    /// Whether the output of a role is its whole answer.
    fn is_text(&self, role: &str) -> bool {
        let meta = self.plan.role(role).map(|role| role.meta);
        meta.is_ok_and(|meta| self.home.store().schema(meta).is_ok_and(|schema| is_text(schema.value())))
    }

    /// How to read an unusable answer again. Without a model to read it, another reading finds nothing new.
    fn reading_again(&self) -> String {
        let config = &self.plan.config;
        let again = format!("`uwf thread step {} --reextract` reads it again, without the agent", self.thread.id);
        match (config.model_for(EXTRACT), config.extract.llm) {
            (None, _) => format!("a model could read it: `uwf setup` configures one, then {again}"),
            (Some(_), 0) => format!("a model could read it: `uwf config set extract.llm 2`, then {again}"),
            (Some(_), _) => again,
        }
    }

    /// The error without secrets: it may quote an agent's last words, and it is logged, stored in a mark and shown.
    fn redacted(&self, opened: &AttemptOpening, error: &Error) -> Error {
        // If the file is unreadable, no agent was started with secrets from it.
        let file = env_file::read(&self.home.env_file()).unwrap_or_default();
        SecretRedactor::new(opened.secrets.iter().cloned(), &file).error(error)
    }

    /// Suspends the attempt: nothing failed, and the step can be done later.
    fn suspend(&self, attempt: &RecordedAttempt, mark: ThreadMark, error: Error) -> Error {
        let why = error.message.lines().next().map(str::to_owned);
        if let Err(lost) = leftover::suspend(self.home, attempt, why) {
            log!(self.log, "B6N1C4XT", Warn, "the attempt's record was not concluded: {lost}");
        }
        // A pause overrides other marks: once resumed, the thread is in its earlier state.
        let is_paused = matches!(child_threads::paused(self.home, &self.thread.id), Ok(Some(_)));
        if self.still_active() && !(is_paused && mark == ThreadMark::Waiting) {
            self.mark_error(mark, &attempt.opened.role, &error);
        }
        error
    }

    fn said_anything(&self, opened: &AttemptOpening) -> bool {
        let raw = AttemptOutputFiles::paths_of_attempt(self.home, &opened.thread, &opened.attempt).raw;
        raw.metadata().is_ok_and(|meta| meta.len() > 0)
    }

    fn has_moved(&self) -> bool {
        matches!(self.home.heads().read(self.thread.id.as_str()), Ok(Some(head)) if head.hash != self.head.hash)
    }

    pub(super) fn still_active(&self) -> bool {
        matches!(self.home.heads().read(self.thread.id.as_str()), Ok(Some(_)))
    }

    pub(super) fn mark(&self, mark: ThreadMark, role: &str, why: &str) {
        self.set_mark(mark, &MarkReason { head: Some(self.thread.head), ..MarkReason::from_message(mark, role, why) });
    }

    /// Marks the thread with an error; for a usage limit, until its end, and for a question, until `askTimeout`.
    pub(super) fn mark_error(&self, mark: ThreadMark, role: &str, error: &Error) {
        let reason = MarkReason::from_message(mark, role, &error.message);
        let until = match mark {
            ThreadMark::Waiting => {
                let last = recorded::read(self.home, &self.thread.id).ok().flatten();
                last.and_then(|last| self.reply_end(&last, role))
            }
            _ => error.limit_end(),
        };
        let hints = error.hints.clone();
        self.set_mark(mark, &MarkReason { head: Some(self.thread.head), until, hints, ..reason });
    }

    /// When a thread that waits continues without a reply: at the end of its agent's question, or of the first question below it.
    pub(super) fn reply_end(&self, last: &RecordedAttempt, role: &str) -> Option<u64> {
        match last.question_at(self.thread.head, role) {
            Some(_) => self.plan.config.ask_timeout.map(|limit| replies::end(last, limit)),
            None if last.opened.agent.plays_by_threads() => {
                ancestors::first_end(self.home, &self.thread.id, self.thread.head).ok().flatten()
            }
            None => None,
        }
    }

    /// Marks a thread whose next role can't be chosen. Every step finds the same fault, so the mark is set only the first time.
    pub(super) fn mark_unroutable(&self, at: NodeHash, error: &Error) {
        let reason = MarkReason {
            role: None,
            head: Some(at),
            hints: error.hints.clone(),
            ..MarkReason::from_message(ThreadMark::Stuck, "", &error.message)
        };
        let is_known = |known: MarkReason| known.role.is_none() && known.why == reason.why;
        if !marks::get(self.home, &self.thread.id, ThreadMark::Stuck).is_some_and(is_known) {
            self.set_mark(ThreadMark::Stuck, &reason);
        }
    }

    /// Removes the marks of earlier attempts: the thread is ready for its next step.
    fn unmark(&self) {
        if let Err(error) = marks::clear(self.home, &self.thread.id, &OF_ATTEMPTS) {
            log!(self.log, "Q8F5T1ZD", Error, "cannot remove the marks of the thread: {error}");
        }
    }

    pub(super) fn set_mark(&self, mark: ThreadMark, reason: &MarkReason) {
        let others: Vec<ThreadMark> = OF_ATTEMPTS.into_iter().filter(|other| *other != mark).collect();
        let set = marks::clear(self.home, &self.thread.id, &others)
            .and_then(|()| marks::set(self.home, &self.thread.id, mark, reason));
        if let Err(error) = set {
            log!(self.log, "R7E2G9VC", Error, "cannot mark the thread {}: {error}", mark.name());
        }
    }
}

/// The error of a stuck thread with the hint that names the command that repeats the step, unless a hint names one already.
fn with_way_on(error: Error, way_on: String) -> Error {
    let commands = ["uwf thread retry", "uwf thread step", "uwf run"];
    if error.hints.iter().any(|hint| commands.iter().any(|command| hint.contains(command))) {
        return error;
    }
    error.hint(way_on)
}
