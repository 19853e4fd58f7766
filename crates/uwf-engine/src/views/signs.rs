//! Cheap signs that something changed, for watchers to check before they read anything.
//!
//! They come from the file system's metadata, never from the contents of files, so a check costs a few system calls however many threads
//! and steps there are. Only changed signs are a reason to read. A shared store has no local files: it is asked for heads every two
//! seconds.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher};
use std::time::{Duration, Instant};

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;

use crate::attempt::child_threads;
use crate::attempt::elsewhere::{self, ClaimReport, PeerActivity, PostAttemptState};
use crate::attempt::recorded::{self, AttemptOutputFiles};
use crate::root::file_sign::FileSign;
use crate::root::home::Home;
use crate::root::lock;
use crate::root::marks::{self, ThreadMark};

/// How often to ask a shared store.
const ASK: Duration = Duration::from_secs(2);

/// The last answer of a shared store, and its time.
#[derive(Debug)]
struct SharedReply<T> {
    last: Option<(Instant, T)>,
}

impl<T> Default for SharedReply<T> {
    fn default() -> SharedReply<T> {
        SharedReply { last: None }
    }
}

impl<T: Copy> SharedReply<T> {
    /// The answer; asks again if the last one is old. While the store does not answer, the last answer counts.
    fn now(&mut self, ask: impl FnOnce() -> Option<T>) -> Option<T> {
        let is_old = self.last.is_none_or(|(at, _)| at.elapsed() >= ASK);
        if is_old && let Some(answer) = ask() {
            self.last = Some((Instant::now(), answer));
        }
        self.last.map(|(_, answer)| answer)
    }
}

/// Signs of changes in a list of threads.
#[derive(Debug, Default)]
pub struct SignsOfList {
    shared: SharedReply<u64>,
    marks: Option<FileSign>,
    /// Threads with an open attempt, as of the marks in `marks`.
    open: Vec<ThreadId>,
}

impl SignsOfList {
    /// Checks for changes. The number is the same, in any process, while a list would show the same threads in the same states.
    pub fn fingerprint(&mut self, home: &Home) -> u64 {
        let marks = FileSign::from_file(&home.marks_dir());
        if marks != self.marks {
            let all = marks::all_here(home).unwrap_or_default();
            let open = all.into_iter().filter(|(_, marks)| marks.contains(&ThreadMark::Open));
            self.open = open.filter_map(|(thread, _)| thread.parse().ok()).collect();
            self.marks = marks;
        }
        let mut hasher = DefaultHasher::new();
        marks.hash(&mut hasher);
        if home.index().is_none() {
            // The heads cover more than running threads: the end of a thread removes its head, and the names of workflows are a head as
            // well.
            self.shared.now(|| of_shared_list(home)).hash(&mut hasher);
        } else {
            for file in [home.index_file(), home.history_file(), home.registry_file()] {
                FileSign::from_file(&file).hash(&mut hasher);
            }
        }
        // A killed process releases its lock but leaves its marks.
        for thread in &self.open {
            lock::is_held(home, thread).unwrap_or(false).hash(&mut hasher);
        }
        hasher.finish()
    }
}

/// A number that changes when a list of threads in a shared store does.
fn of_shared_list(home: &Home) -> Option<u64> {
    let heads = home.heads().list().ok()?;
    let elsewhere: Vec<(String, String)> = elsewhere::all(home, &heads).ok()?.into_iter().map(of_elsewhere).collect();
    Some(sum(&(heads, marks::all(home).ok()?, elsewhere)))
}

/// The part of a list's row that another machine determines.
fn of_elsewhere((thread, elsewhere): (String, PeerActivity)) -> (String, String) {
    let shown = match elsewhere {
        PeerActivity::AtWork(at_work) => format!("{} {}", at_work.machine, at_work.agent),
        PeerActivity::Stands(PostAttemptState { state, reason }) => {
            format!("{} {}", state.name(), reason.map(|reason| reason.why).unwrap_or_default())
        }
    };
    (thread, shown)
}

/// The head of a thread in a shared store, and a number that changes with its pause and with other machines' attempts.
fn of_shared_thread(home: &Home, thread: &ThreadId) -> Option<(Option<NodeHash>, u64)> {
    let head = home.heads().read(thread.as_str()).ok()?.map(|head| head.hash);
    let paused = marks::read(home, thread, ThreadMark::Paused).ok()?.map(|reason| reason.why);
    let report = match head {
        Some(head) => elsewhere::newer_claim_report(home, thread, head).ok()?,
        None => None,
    };
    let attempt = report.map(|report| match report {
        ClaimReport::AtWork(at_work) => (at_work.machine, at_work.agent),
        ClaimReport::Over(attempt) => (attempt.opened.attempt, attempt.opened.agent.names()),
    });
    Some((head, sum(&(paused, attempt))))
}

fn sum(what: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Signs of changes in a thread and its child threads.
#[derive(Debug)]
pub struct SignsOfThread {
    thread: ThreadId,
    shared: SharedReply<(Option<NodeHash>, u64)>,
    index: Option<FileSign>,
    /// The head, as of the index file in `index`; `None` if the thread has ended.
    head: Option<NodeHash>,
    record: Option<FileSign>,
    /// The newest attempt, as of the record in `record`.
    attempt: Option<AttemptOutputFiles>,
    children: (Option<FileSign>, Option<FileSign>),
    /// Its active child threads, as of the directory and the index in `children`.
    below: BTreeMap<ThreadId, SignsOfThread>,
}

impl SignsOfThread {
    /// Signs of a thread, before the first check.
    pub fn new(thread: ThreadId) -> SignsOfThread {
        let (children, below) = ((None, None), BTreeMap::new());
        SignsOfThread {
            thread,
            shared: SharedReply::default(),
            index: None,
            head: None,
            record: None,
            attempt: None,
            children,
            below,
        }
    }

    /// Checks for changes. The number changes when anything new can be seen.
    pub fn fingerprint(&mut self, home: &Home) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.add(home, &mut hasher);
        hasher.finish()
    }

    fn add(&mut self, home: &Home, hasher: &mut DefaultHasher) {
        self.add_head(home, hasher);
        self.record(home).hash(hasher);
        let marks = marks::of_here(home, &self.thread);
        if marks.contains(&ThreadMark::Open) {
            lock::is_held(home, &self.thread).unwrap_or(false).hash(hasher);
        }
        marks.hash(hasher);
        if let Some(files) = &self.attempt {
            [&files.trace, &files.turn, &files.raw, &files.err].map(|path| FileSign::from_file(path)).hash(hasher);
        }
        self.children(home);
        for child in self.below.values_mut() {
            child.add(home, hasher);
        }
    }

    /// Adds the head. Every step of any thread writes the index, so it is read only after a write. It has no line for an ended thread.
    fn add_head(&mut self, home: &Home, hasher: &mut DefaultHasher) {
        if home.index().is_none() {
            return self.shared.now(|| of_shared_thread(home, &self.thread)).hash(hasher);
        }
        let index = FileSign::from_file(&home.index_file());
        if index != self.index {
            self.index = index;
            let head = home.heads().read(self.thread.as_str()).ok().flatten();
            self.head = head.map(|head| head.hash);
        }
        self.head.hash(hasher);
    }

    fn record(&mut self, home: &Home) -> Option<FileSign> {
        let record = FileSign::from_file(&home.record_file(&self.thread));
        if record != self.record {
            self.record = record;
            let attempt = recorded::read(home, &self.thread).ok().flatten();
            self.attempt = attempt
                .map(|attempt| AttemptOutputFiles::paths_of_attempt(home, &self.thread, &attempt.opened.attempt));
        }
        record
    }

    fn children(&mut self, home: &Home) {
        let dir = FileSign::from_file(&home.children_dir(&self.thread));
        let children = (dir, self.index);
        if dir.is_none() || children == self.children {
            return;
        }
        self.children = children;
        let active = child_threads::active(home, &self.thread).unwrap_or_default();
        let mut known = std::mem::take(&mut self.below);
        let signs = |id: ThreadId| {
            let signs = known.remove(&id).unwrap_or_else(|| SignsOfThread::new(id.clone()));
            (id, signs)
        };
        self.below = active.into_iter().map(signs).collect();
    }
}
