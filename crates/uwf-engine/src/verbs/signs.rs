//! Signs that something changed: what whoever watches looks at before reading anything.
//!
//! They are what the file system says of files, never what is in them, so that a look costs some system calls however many
//! threads and steps there are. Only when the signs are others is there something to read. A shared store has no files
//! to look at: it is asked where heads are every two seconds.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher};
use std::time::{Duration, Instant};

use json_cas::Hash;
use uwf_core::thread::ThreadId;

use crate::attempt::elsewhere::{self, Elsewhere, Stand, Told};
use crate::attempt::recorded::{self, OutputFiles};
use crate::root::file_sign::{self, FileSign};
use crate::root::home::Home;
use crate::root::lock;
use crate::root::marks::{self, Mark};
use crate::verbs::child_threads;

/// How often a shared store is asked.
const ASK: Duration = Duration::from_secs(2);

/// What a shared store answered the last time, and when.
#[derive(Debug)]
struct Asked<T> {
    last: Option<(Instant, T)>,
}

impl<T> Default for Asked<T> {
    fn default() -> Asked<T> {
        Asked { last: None }
    }
}

impl<T: Copy> Asked<T> {
    /// The answer, which is asked for when the last one is old. While the store does not answer, the last one counts.
    fn now(&mut self, ask: impl FnOnce() -> Option<T>) -> Option<T> {
        let is_old = self.last.is_none_or(|(at, _)| at.elapsed() >= ASK);
        if is_old && let Some(answer) = ask() {
            self.last = Some((Instant::now(), answer));
        }
        self.last.map(|(_, answer)| answer)
    }
}

/// Signs of what a list of threads shows.
#[derive(Debug, Default)]
pub struct SignsOfList {
    shared: Asked<u64>,
    marks: FileSign,
    /// Threads with an open attempt, by the marks that `marks` is the sign of.
    open: Vec<ThreadId>,
}

impl SignsOfList {
    /// Looks. The number is the same, in any process, as long as a list would show the same threads in the same states.
    pub fn look(&mut self, home: &Home) -> u64 {
        let marks = file_sign::of(&home.marks_dir());
        if marks != self.marks {
            let all = marks::all_here(home).unwrap_or_default();
            let open = all.into_iter().filter(|(_, marks)| marks.contains(&Mark::Open));
            self.open = open.filter_map(|(thread, _)| thread.parse().ok()).collect();
            self.marks = marks;
        }
        let mut hasher = DefaultHasher::new();
        marks.hash(&mut hasher);
        if home.shared().is_some() {
            // The end of a thread takes its head away, and the names of workflows are a head, too.
            self.shared.now(|| of_shared_list(home)).hash(&mut hasher);
        } else {
            for file in [home.index_file(), home.history_file(), home.registry_file()] {
                file_sign::of(&file).hash(&mut hasher);
            }
        }
        // A process that is killed takes nothing with it but its lock.
        for thread in &self.open {
            lock::is_held(home, thread).unwrap_or(false).hash(&mut hasher);
        }
        hasher.finish()
    }
}

/// A number that is another one once a list of threads in a shared store shows something else.
fn of_shared_list(home: &Home) -> Option<u64> {
    let heads = home.heads().list().ok()?;
    let elsewhere: Vec<(String, String)> = elsewhere::all(home, &heads).ok()?.into_iter().map(of_elsewhere).collect();
    Some(sum(&(heads, marks::all(home).ok()?, elsewhere)))
}

/// What a list shows of what another machine does or did.
fn of_elsewhere((thread, elsewhere): (String, Elsewhere)) -> (String, String) {
    let shown = match elsewhere {
        Elsewhere::AtWork(at_work) => format!("{} {}", at_work.machine, at_work.agent),
        Elsewhere::Stands(Stand { state, reason }) => {
            format!("{} {}", state.name(), reason.map(|reason| reason.why).unwrap_or_default())
        }
    };
    (thread, shown)
}

/// The head of a thread in a shared store, and a number that is another one once something else is to be seen of what other machines do
/// about it.
fn of_shared_thread(home: &Home, thread: &ThreadId) -> Option<(Option<Hash>, u64)> {
    let head = home.heads().read(thread.as_str()).ok()?.map(|head| head.hash);
    let paused = marks::read(home, thread, Mark::Paused).ok()?.map(|reason| reason.why);
    let told = match head {
        Some(head) => elsewhere::told(home, thread, head).ok()?,
        None => None,
    };
    let told = told.map(|told| match told {
        Told::AtWork(at_work) => (at_work.machine, at_work.agent),
        Told::Over(attempt) => (attempt.opened.attempt, attempt.opened.agent.names()),
    });
    Some((head, sum(&(paused, told))))
}

fn sum(what: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Signs of what is to be seen of a thread and its child threads.
#[derive(Debug)]
pub struct SignsOfThread {
    thread: ThreadId,
    shared: Asked<(Option<Hash>, u64)>,
    index: FileSign,
    /// The head by the index that `index` is the sign of; `None` of a thread that has ended.
    head: Option<Hash>,
    record: FileSign,
    /// The newest attempt by the record that `record` is the sign of.
    attempt: Option<OutputFiles>,
    children: (FileSign, FileSign),
    /// Its active child threads, by the directory and the index that `children` are the signs of.
    below: BTreeMap<ThreadId, SignsOfThread>,
}

impl SignsOfThread {
    /// Those of a thread. Nothing is looked at yet.
    pub fn of(thread: ThreadId) -> SignsOfThread {
        let (children, below) = ((None, None), BTreeMap::new());
        SignsOfThread {
            thread,
            shared: Asked::default(),
            index: None,
            head: None,
            record: None,
            attempt: None,
            children,
            below,
        }
    }

    /// Looks. The number is another one once there is something new.
    pub fn look(&mut self, home: &Home) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.add(home, &mut hasher);
        hasher.finish()
    }

    fn add(&mut self, home: &Home, hasher: &mut DefaultHasher) {
        if home.shared().is_some() {
            self.shared.now(|| of_shared_thread(home, &self.thread)).hash(hasher);
        }
        self.head(home).hash(hasher);
        self.record(home).hash(hasher);
        let marks = marks::of_here(home, &self.thread);
        if marks.contains(&Mark::Open) {
            lock::is_held(home, &self.thread).unwrap_or(false).hash(hasher);
        }
        marks.hash(hasher);
        if let Some(files) = &self.attempt {
            [&files.trace, &files.turn, &files.raw, &files.err].map(|path| file_sign::of(path)).hash(hasher);
        }
        self.children(home);
        for child in self.below.values_mut() {
            child.add(home, hasher);
        }
    }

    /// The index is written at every step of any thread, and read only then. That of a thread that has ended says nothing
    /// about it any more.
    fn head(&mut self, home: &Home) -> Option<Hash> {
        if home.shared().is_some() {
            return self.shared.last.and_then(|(_, (head, _))| head);
        }
        let index = file_sign::of(&home.index_file());
        if index != self.index {
            self.index = index;
            let head = home.heads().read(self.thread.as_str()).ok().flatten();
            self.head = head.map(|head| head.hash);
        }
        self.head
    }

    fn record(&mut self, home: &Home) -> FileSign {
        let record = file_sign::of(&home.record_file(&self.thread));
        if record != self.record {
            self.record = record;
            let attempt = recorded::read(home, &self.thread).ok().flatten();
            self.attempt = attempt.map(|attempt| OutputFiles::of(home, &self.thread, &attempt.opened.attempt));
        }
        record
    }

    fn children(&mut self, home: &Home) {
        let dir = file_sign::of(&home.children_dir(&self.thread));
        let children = (dir, self.index);
        if dir.is_none() || children == self.children {
            return;
        }
        self.children = children;
        let active = child_threads::active(home, &self.thread).unwrap_or_default();
        let mut known = std::mem::take(&mut self.below);
        let signs = |id: ThreadId| {
            let signs = known.remove(&id).unwrap_or_else(|| SignsOfThread::of(id.clone()));
            (id, signs)
        };
        self.below = active.into_iter().map(signs).collect();
    }
}
