//! A thread as it was at one moment, for pages and reports with several parts.

use std::collections::BTreeMap;

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;

use crate::attempt::child_threads;
use crate::attempt::elsewhere::{self, ClaimReport};
use crate::attempt::recorded::{RecordedAttempt, ThreadRecord};
use crate::attempt::settings::ThreadSettings;
use crate::error::Result;
use crate::root::file_sign::FileSign;
use crate::root::history::{self, HistoryLine};
use crate::root::home::Home;
use crate::root::marks::{self, MarkReason, ThreadMark};
use crate::root::{ids, missing_thread};
use crate::thread::ending;
use crate::thread::load::Thread;
use crate::thread::state::{self, ThreadState};
use crate::views::left_child;
use crate::views::thread_state::{ActiveThreadFacts, ThreadPause};

/// How often a thread is read that changes while it is read. Each attempt writes only a few lines.
const MOST_READS: usize = 5;

/// Everything that reports say about a thread besides its nodes, read once. Nodes never change, so they are read when they are needed.
pub struct ThreadNow<'h> {
    /// The thread at its head, or at its last head if it has ended.
    pub thread: Thread<'h>,
    /// Its state.
    pub state: ThreadState,
    /// Its line in the history, if it has ended.
    pub(crate) end: Option<HistoryLine>,
    /// Why it is in this state, if known. For a running thread: why no further step will begin.
    pub(crate) reason: Option<MarkReason>,
    /// The thread that was paused: this one, or one above it.
    pub(crate) pause: Option<(ThreadId, MarkReason)>,
    /// The thread above whose state it has, because that thread plays it and has stopped.
    pub stopped_with: Option<ThreadId>,
    /// The thread above that ended or continued without it.
    pub left_by: Option<ThreadId>,
    /// This machine's marks about the newest attempt at its head.
    pub(crate) marks: BTreeMap<ThreadMark, MarkReason>,
    /// This machine's record about the thread.
    pub record: ThreadRecord,
    /// The newest attempt in the record.
    pub(crate) attempt: Option<RecordedAttempt>,
    /// News from other machines about the newest attempt at its head.
    pub(crate) news: Option<ClaimReport>,
}

impl<'h> ThreadNow<'h> {
    /// Reads a thread, active or finished.
    ///
    /// # Errors
    /// `NotFound` if the thread does not exist; errors of its nodes.
    pub fn read(home: &'h Home, id: &ThreadId) -> Result<ThreadNow<'h>> {
        let file = home.record_file(id);
        let mut sign = FileSign::from_file(&file);
        for _ in 1..MOST_READS {
            let now = ThreadNow::read_once(home, id)?;
            // Each change of an attempt writes a line before it changes marks. So an unchanged record means that the parts fit together.
            let after = FileSign::from_file(&file);
            if after == sign {
                return Ok(now);
            }
            sign = after;
        }
        ThreadNow::read_once(home, id)
    }

    fn read_once(home: &'h Home, id: &ThreadId) -> Result<ThreadNow<'h>> {
        // Read the record before the head: its newest attempt then belongs to this head, or to an earlier one.
        let record = ThreadRecord::read(home, id)?;
        let attempt = record.newest();
        match home.heads().read(id.as_str())? {
            Some(head) => ThreadNow::active(home, id, head.hash, record, attempt),
            None => {
                let end = history::newest_line(home, id)?.ok_or_else(|| missing_thread::not_found(home, id))?;
                let (thread, state) = (Thread::ended(home, &end)?, state::of_finished(end.shown_status()));
                let (reason, pause, stopped_with, news) = (None, None, None, None);
                let (end, marks, left_by) = (Some(end), BTreeMap::new(), None);
                Ok(ThreadNow { thread, state, end, reason, pause, stopped_with, left_by, marks, record, attempt, news })
            }
        }
    }

    fn active(
        home: &'h Home,
        id: &ThreadId,
        head: NodeHash,
        record: ThreadRecord,
        attempt: Option<RecordedAttempt>,
    ) -> Result<ThreadNow<'h>> {
        let parent = child_threads::parent_in(ThreadSettings::in_record(home, &record))?;
        let pause = match marks::read(home, id, ThreadMark::Paused)? {
            Some(reason) => Some((id.clone(), reason)),
            None => child_threads::paused_above(home, parent.clone())?,
        };
        let news = elsewhere::told_beyond(home, id, head, || Ok(attempt.clone()))?;
        let set = marks::at_head(home, id, &marks::of_here(home, id), head);
        let marks: BTreeMap<ThreadMark, MarkReason> =
            set.iter().filter_map(|mark| Some((*mark, marks::get(home, id, *mark)?))).collect();
        let known = ActiveThreadFacts {
            marks: set,
            pause: pause.clone().map(|(by, reason)| ThreadPause { by, reason: Some(reason) }),
            elsewhere: news.as_ref().map(ClaimReport::elsewhere),
        };
        let mut state = known.state(home, id);
        let mut reason = known.reason(id, state, |_, mark| marks.get(&mark).cloned());
        let head_of = |id: &ThreadId| Ok(home.heads().read(id.as_str())?.map(|head| head.hash));
        let left_by = match parent.is_some() && state != ThreadState::Running {
            true => left_child::left_by(home, id, head_of)?,
            false => None,
        };
        let is_ready = state == ThreadState::Active && left_by.is_none();
        let above = if is_ready { child_threads::stopped_above(home, parent)? } else { None };
        let stopped_with = above.map(|(above, its, since)| {
            let since = since.unwrap_or_else(ids::now_ms);
            let why = child_threads::stopped_with(&above, its);
            (state, reason) = (its, Some(MarkReason::without_role(why, since)));
            above
        });
        if let Some(above) = &left_by {
            let since = reason.as_ref().map_or_else(ids::now_ms, |reason| reason.since);
            let why = left_child::continued_without(above);
            reason = Some(MarkReason::without_role(why, since));
        }
        let thread = Thread::load_at(home, id.clone(), head)?;
        Ok(ThreadNow { thread, state, end: None, reason, pause, stopped_with, left_by, marks, record, attempt, news })
    }

    /// Its head; `None` if it has ended.
    pub(crate) fn active_head(&self) -> Option<NodeHash> {
        (!self.has_ended()).then_some(self.thread.head)
    }

    /// When a usage limit, the wait for a reply, or the wait between two attempts ends that stops it, in Unix milliseconds.
    pub fn continues_at(&self) -> Option<u64> {
        self.reason.as_ref().and_then(|reason| reason.until)
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Why it failed, if it is the thread of a branch that its group continued without; `None` for any other thread.
    pub fn failed_branch(&self) -> Option<String> {
        ending::of_failed_branch(self.thread.home(), self.end.as_ref()?)
    }

    /// Whether it pauses after its running step.
    pub(crate) fn is_pausing(&self) -> bool {
        self.state == ThreadState::Running && self.pause.is_some()
    }

    /// The newest attempt on any machine. It may belong to an earlier head.
    pub(crate) fn newest(&self) -> Option<&RecordedAttempt> {
        match &self.news {
            Some(ClaimReport::Over(attempt)) => Some(attempt),
            Some(ClaimReport::AtWork(_)) | None => self.attempt.as_ref(),
        }
    }

    /// Since when it has been stopped, in Unix milliseconds; `None` if it is not.
    pub fn stopped_since(&self) -> Option<u64> {
        self.reason.as_ref().filter(|_| self.state.has_stopped()).map(|reason| reason.since)
    }

    /// The attempts in the record that failed since its newest step, oldest first.
    pub(crate) fn failed(&self) -> Vec<NodeHash> {
        self.attempt.as_ref().map(|attempt| attempt.earlier_at(self.thread.head)).unwrap_or_default()
    }
}
