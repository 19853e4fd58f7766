//! Recording an attempt, before anything is started for it.

use std::os::unix::fs::DirBuilderExt;

use json_cas::{NameVersion, NodeHash};

use super::adopt::FailedAttempts;
use super::replies;
use super::{AttemptPosition, BegunAttempt, StepInProgress};
use crate::attempt::agents::{self, AgentSpec};
use crate::attempt::elsewhere;
use crate::attempt::lease::{StepLease, StepLeaseInstant};
use crate::attempt::recorded::claim::{self, ClaimOutcome};
use crate::attempt::recorded::{self, AttemptOpening, AttemptOutputFiles, FallbackReason, RecordedAttempt};
use crate::attempt::recorded_digest;
use crate::attempt::redactor::SecretRedactor;
use crate::attempt::worktree;
use crate::error::{AtPath, Error, Result};
use crate::root::log::log;
use crate::root::marks::{self, MarkReason, ThreadMark};
use crate::root::{node_types, sharing};
use crate::thread::closure::{self, ClosureBounds};
use crate::verbs::reextract::{self, ReadableAttempt};

impl StepInProgress<'_, '_> {
    /// Records an attempt at a role: by the role's agent, or by one that reads an earlier agent's answer again.
    pub(super) fn begin(&self, role: &str, failed: FailedAttempts) -> Result<BegunAttempt> {
        let FailedAttempts { nodes, newest, note } = failed;
        worktree::check(&self.thread.id, &self.plan.settings)?;
        let rereads = match &newest {
            Some(newest) => self.is_answered(newest, role)?,
            None => false,
        };
        if self.request.reextract || rereads {
            let unread = newest.as_deref().filter(|_| rereads);
            let begun = self.begin_reading(role, AttemptPosition { earlier: nodes, note }, unread)?;
            return Ok(BegunAttempt { rereads, ..begun });
        }
        if let Some(waits) = self.unreplied(newest.as_deref(), role)? {
            return Err(waits);
        }
        if let Some(asked) = &self.request.agent {
            asked.refuse_secret(&SecretRedactor::for_home(self.home)?)?;
        }
        let (agent, fallback_for) = self.available_agent(role)?;
        if let Some(waits) = self.still_asked(newest.as_deref(), role, &agent) {
            return Err(waits);
        }
        self.begin_by(role, agent, fallback_for, AttemptPosition { earlier: nodes, note })
    }

    /// Whether the agent of the last attempt has answered and only storing its answer failed, for example because the disk was full. Then
    /// the answer is read again, at no cost. An agent given for this step, or a different agent bound to the role since, runs anyway.
    fn is_answered(&self, last: &RecordedAttempt, role: &str) -> Result<bool> {
        if self.request.agent.is_some() || !last.has_unread_answer(self.home, self.head.hash, role)? {
            return Ok(false);
        }
        let is_same = self.plan.candidates(role)?.iter().any(|agent| agent.name == last.opened.agent.name);
        if is_same {
            log!(self.log, "D8T3Y5PE", Info, "attempt {}: its answer is read again", last.opened.attempt);
        }
        Ok(is_same)
    }

    /// The question a person was already asked: no process needs to start to ask it again.
    fn still_asked(&self, last: Option<&RecordedAttempt>, role: &str, agent: &AgentSpec) -> Option<Error> {
        let last = last.filter(|_| agent.is_built_in(agents::HUMAN))?;
        if !last.opened.agent.is_same(agent) || !last.was_suspended_at(self.head.hash, role) {
            return None;
        }
        let reason = marks::get(self.home, &self.thread.id, ThreadMark::Waiting)?;
        Some(Error::waiting(reason.message()))
    }

    /// The open question of the last attempt's agent. An agent given for this step starts over.
    fn unreplied(&self, last: Option<&RecordedAttempt>, role: &str) -> Result<Option<Error>> {
        let Some(last) = last.filter(|_| self.request.agent.is_none()) else { return Ok(None) };
        let Some(asked) = last.question_at(self.head.hash, role) else { return Ok(None) };
        if let (Some(question), Some(limit)) = (&asked.question, self.plan.config.ask_timeout)
            && replies::expire(self.home, last, question, limit)?
        {
            return Ok(None);
        }
        let why = &asked.error;
        let until = self.reply_end(last, role);
        match marks::get(self.home, &self.thread.id, ThreadMark::Waiting) {
            Some(known) if known.until == until => {}
            // `askTimeout` has changed.
            Some(known) => self.set_mark(ThreadMark::Waiting, &MarkReason { until, ..known }),
            // Its keeper may have died before it set the mark.
            None => self.mark_error(ThreadMark::Waiting, role, &Error::waiting(why)),
        }
        Ok(Some(Error::waiting(why)))
    }

    /// An attempt in which uwf reads the output of an earlier attempt's agent. For an `unread` attempt, also the value it submitted.
    fn begin_reading(
        &self,
        role: &str,
        position: AttemptPosition,
        unread: Option<&RecordedAttempt>,
    ) -> Result<BegunAttempt> {
        let has_answered = unread.map_or(Ok(false), |unread| self.holds_answer(unread))?;
        let ReadableAttempt { mut agent, attempt } =
            reextract::readable(self.thread, role, &position.earlier, has_answered)?;
        agent.own_keys = agents::extraction_key(&self.plan.config).map(str::to_owned).into_iter().collect();
        let planned = self.plan.attempt(self.thread, role, agent)?;
        self.record(AttemptOpening { reextract: attempt, ..planned }, position, unread)
    }

    /// Whether an attempt holds an answer itself, which may be empty. One that read the text of an earlier attempt holds only a submitted value.
    fn holds_answer(&self, attempt: &RecordedAttempt) -> Result<bool> {
        let files = AttemptOutputFiles::paths_of_attempt(self.home, &self.thread.id, &attempt.opened.attempt);
        Ok(attempt.opened.reextract.is_none() || files.has_value()?)
    }

    /// Records an attempt by a given agent.
    pub(crate) fn begin_by(
        &self,
        role: &str,
        agent: AgentSpec,
        fallback_for: Option<FallbackReason>,
        position: AttemptPosition,
    ) -> Result<BegunAttempt> {
        let version = self.plan.version(self.home, &agent);
        let planned = self.plan.attempt(self.thread, role, AgentSpec { version, ..agent })?;
        let branches_to = self.request.branches_to.clone();
        self.record(AttemptOpening { fallback_for, branches_to, ..planned }, position, None)
    }

    fn record(
        &self,
        planned: AttemptOpening,
        position: AttemptPosition,
        unread: Option<&RecordedAttempt>,
    ) -> Result<BegunAttempt> {
        let AttemptPosition { earlier, note } = position;
        self.fetch_files(self.head.hash, &planned.agent)?;
        let last = if planned.reextract.is_some() { recorded::read(self.home, &self.thread.id)? } else { None };
        let rereads = last.map_or(0, |last| last.rereads());
        // A damaged record of an earlier failure must not make this attempt's result unsound.
        let earlier = earlier.into_iter().filter(|hash| self.is_sound(*hash)).collect();
        let digest = recorded_digest::at_head(self.thread).inspect_err(|error| {
            log!(self.log, "C2J8W4FR", Warn, "the digest of the thread is not known: {error}");
        });
        let opened = AttemptOpening { earlier, rereads, digest: digest.ok(), ..planned };
        self.plan.role(&opened.role)?;
        node_types::ensure_for_step(self.home)?;
        let dir = self.home.attempts_dir(&self.thread.id);
        // An agent's output may contain secrets, which are redacted only when it is stored.
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(sharing::output_dir_mode(self.home))
            .create(&dir)
            .path_context("create", &dir)?;
        if let Some(unread) = unread {
            recorded::hand_on(self.home, &self.thread.id, &unread.opened.attempt, &opened.attempt)?;
        }
        // Claim first: once the attempt is on record here, its agent may start.
        let lease = self.claim(&opened, note.as_ref())?;
        // Not before this attempt is on record: a value that is passed on would be lost with the previous attempt.
        recorded::sweep(self.home, &self.thread.id, Some(&opened.attempt));
        Ok(BegunAttempt { attempt: RecordedAttempt::begun(opened), rereads: false, lease })
    }

    /// Claims the step for this machine, in a shared store, and records the attempt.
    fn claim(&self, opened: &AttemptOpening, note: Option<&NameVersion>) -> Result<StepLease> {
        let since = StepLeaseInstant::now();
        let (claim, version) = match claim::claim(self.home, opened, note)? {
            ClaimOutcome::Alone => {
                recorded::open(self.home, opened.clone())?;
                return Ok(StepLease::of_one_machine());
            }
            ClaimOutcome::Ours(claim, version) => (claim, version),
            ClaimOutcome::Theirs(theirs) => return Err(elsewhere::outrun(&self.thread.id, theirs.as_ref())),
        };
        // Another machine may have ended the thread, or made this step, before it could see the claim.
        let begun = elsewhere::is_still_at(self.home, &self.thread.id, self.head.hash)
            .and_then(|()| recorded::open(self.home, opened.clone()));
        if let Err(error) = begun {
            claim::give_up(self.home, opened, &claim, &version, "it was not begun");
            return Err(error);
        }
        Ok(StepLease::renewing(self.home, &self.thread.id, claim, version, since))
    }

    /// Whether a step may refer to the node of a failed attempt.
    fn is_sound(&self, attempt: NodeHash) -> bool {
        let store = self.home.store();
        let checked = closure::check(store, &ClosureBounds::below(attempt), |_| ())
            .and_then(|sound| Ok(self.home.peers().confirm_nodes(store, &sound.nodes)?));
        let Err(unsound) = checked else { return true };
        // A node that cannot be read just now may be intact.
        let Ok(why) = unsound.why() else { return true };
        log!(self.log, "Z5N7Q1DM", Warn, "failed attempt {attempt} is left out of the step: {why}");
        false
    }
}
