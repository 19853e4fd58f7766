//! Marks: one small file per thread and condition, so that one readdir shows the state of all threads.
//!
//! With a shared store, a pause is a note in it instead, `paused.THREAD`, because it must pause the thread on every
//! machine. All other marks are about an attempt, which other machines know from its claim.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;

use durable_files::regular;
use json_cas::{NodeHash, NoteBackend, NoteWriteCondition, NoteWritten};
use serde::{Deserialize, Serialize};
use uwf_core::thread::ThreadId;

use crate::error::{AtPath, Error, Result, is_damage};
use crate::root::home::Home;

/// The condition of a marked thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThreadMark {
    /// A person paused it.
    Paused,
    /// It waits for a person.
    Waiting,
    /// It reached a limit.
    Limited,
    /// Its last attempt failed.
    Stuck,
    /// An attempt is open; the lock shows whether a live process runs it. Saves listings from looking at every thread.
    Open,
}

impl ThreadMark {
    /// All marks; a thread's state follows from its first one in this order.
    pub const ALL: [ThreadMark; 5] =
        [ThreadMark::Paused, ThreadMark::Waiting, ThreadMark::Limited, ThreadMark::Stuck, ThreadMark::Open];

    /// File name extension and state name.
    pub fn name(self) -> &'static str {
        match self {
            ThreadMark::Paused => "paused",
            ThreadMark::Waiting => "waiting",
            ThreadMark::Limited => "limited",
            ThreadMark::Stuck => "stuck",
            ThreadMark::Open => "open",
        }
    }
}

/// Content of a mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkReason {
    /// Role that the thread was at.
    pub role: Option<String>,
    /// The reason, one line.
    pub why: String,
    /// Start of the condition, Unix milliseconds.
    pub since: u64,
    /// Head of the thread at that time. With a shared store it may have moved since; then the mark no longer applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<NodeHash>,
    /// The question to a person, if it has more than one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
    /// When the thread can continue, Unix milliseconds: at the end of a usage limit, or of the wait for a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Hints for a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

impl MarkReason {
    /// The reason for a mark at a role, as of now. For a wait, the lines before an empty one are the reason, and the
    /// rest is the question; without an empty line, the first line is the reason.
    pub fn from_message(mark: ThreadMark, role: &str, message: &str) -> MarkReason {
        let end = message.find("\n\n").or_else(|| message.find('\n')).filter(|_| mark == ThreadMark::Waiting);
        let (why, asks) = end.map_or((message, None), |end| (&message[..end], Some(message[end + 1..].to_owned())));
        MarkReason {
            role: Some(role.to_owned()),
            why: why.to_owned(),
            since: crate::root::ids::now_ms(),
            head: None,
            asks,
            until: None,
            hints: Vec::new(),
        }
    }

    /// A reason without a role, since a time in Unix milliseconds.
    pub(crate) fn without_role(why: String, since: u64) -> MarkReason {
        MarkReason { role: None, why, since, head: None, asks: None, until: None, hints: Vec::new() }
    }

    /// Whether it ends at a known time.
    pub(crate) fn is_wait(&self) -> bool {
        self.until.is_some()
    }

    /// The message that it was made from.
    pub fn message(&self) -> String {
        self.asks.as_ref().map_or_else(|| self.why.clone(), |asks| format!("{}\n{asks}", self.why))
    }
}

/// The store of a mark that is not a file on this machine.
fn shared(home: &Home, mark: ThreadMark) -> Option<&dyn NoteBackend> {
    home.peers().pauses().filter(|_| mark == ThreadMark::Paused)
}

/// Prefix of the names of notes that are marks.
fn kind(mark: ThreadMark) -> String {
    format!("{}.", mark.name())
}

fn note_name(thread: &ThreadId, mark: ThreadMark) -> String {
    format!("{}{thread}", kind(mark))
}

/// Sets a mark.
///
/// # Errors
/// `Io` when it cannot be written, errors of a shared store.
pub fn set(home: &Home, thread: &ThreadId, mark: ThreadMark, reason: &MarkReason) -> Result<()> {
    if let Some(notes) = shared(home, mark) {
        let value = serde_json::to_value(reason).expect("a reason is plain text and a number");
        // Replaces any earlier note.
        let (NoteWritten::Done(_) | NoteWritten::Moved(_)) =
            notes.write_note(&note_name(thread, mark), NoteWriteCondition::Anything, &value)?;
        return Ok(());
    }
    let dir = home.marks_dir();
    fs::create_dir_all(&dir).path_context("create", &dir)?;
    let path = dir.join(file_name(thread, mark));
    let mut line = serde_json::to_string(reason).expect("a reason is plain text and a number");
    line.push('\n');
    // A torn mark still counts as a mark.
    regular::write(&path, line.as_bytes()).path_context("write", &path)
}

/// Makes the last change of a mark durable: for marks that record a person's decision.
pub fn sync(home: &Home, thread: &ThreadId, mark: ThreadMark) -> Result<()> {
    if shared(home, mark).is_some() {
        return Ok(());
    }
    let dir = home.marks_dir();
    for path in [dir.join(file_name(thread, mark)), dir] {
        match durable_files::sync_file(&path) {
            Err(error) if error.source.kind() == ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(())
}

/// Sets [`ThreadMark::Open`]: a second name of the thread's lock file, because that needs no new file. Its content is no reason.
/// Between two attempts of a step, the mark is a file with the reason for the wait.
///
/// # Errors
/// `Io` when it cannot be created.
pub fn open(home: &Home, thread: &ThreadId) -> Result<()> {
    let path = home.marks_dir().join(file_name(thread, ThreadMark::Open));
    match fs::hard_link(home.thread_lock(thread), &path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        // This is the very first mark, or the file system has no links.
        Err(_) => {
            let reason = MarkReason::without_role("an attempt is open".to_owned(), crate::root::ids::now_ms());
            set(home, thread, ThreadMark::Open, &reason)
        }
    }
}

/// Removes marks; marks that are not set are not an error.
///
/// # Errors
/// `Io` when one cannot be removed, errors of a shared store.
pub fn clear(home: &Home, thread: &ThreadId, marks: &[ThreadMark]) -> Result<()> {
    for mark in marks {
        if let Some(notes) = shared(home, *mark) {
            notes.remove_note(&note_name(thread, *mark))?;
            continue;
        }
        let path = home.marks_dir().join(file_name(thread, *mark));
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::file("remove", &path, error)),
            _ => {}
        }
    }
    Ok(())
}

/// Reads one mark. An unreadable mark counts as absent.
pub fn get(home: &Home, thread: &ThreadId, mark: ThreadMark) -> Option<MarkReason> {
    read(home, thread, mark).ok().flatten()
}

/// Reads one mark, for decisions that depend on it.
///
/// # Errors
/// `Io` when it cannot be read, errors of a shared store.
pub fn read(home: &Home, thread: &ThreadId, mark: ThreadMark) -> Result<Option<MarkReason>> {
    let unreadable = MarkReason::without_role("the mark is unreadable".to_owned(), 0);
    if let Some(notes) = shared(home, mark) {
        let note = notes.note(&note_name(thread, mark))?;
        return Ok(note.map(|note| serde_json::from_value(note.value).unwrap_or(unreadable)));
    }
    let path = home.marks_dir().join(file_name(thread, mark));
    let bytes = match regular::read(&path, regular::MAX_TEXT) {
        // Anything other than a file is not a mark.
        Err(error) if is_damage(&error) => return Ok(None),
        other => other.path_context("read", &path)?,
    };
    Ok(Some(serde_json::from_slice(&bytes).unwrap_or(unreadable)))
}

/// The marks of every marked thread; each thread's deciding mark first.
///
/// # Errors
/// `Io` when the directory exists and cannot be read, errors of a shared store.
pub fn all(home: &Home) -> Result<BTreeMap<String, BTreeSet<ThreadMark>>> {
    let mut marks = all_here(home)?;
    if let Some(notes) = shared(home, ThreadMark::Paused) {
        let kind = kind(ThreadMark::Paused);
        for note in notes.notes(&kind)? {
            if let Some(thread) = note.name.strip_prefix(&kind) {
                marks.entry(thread.to_owned()).or_default().insert(ThreadMark::Paused);
            }
        }
    }
    Ok(marks)
}

/// The marks that are files on this machine, by one readdir.
///
/// # Errors
/// `Io` when the directory exists and cannot be read.
pub(crate) fn all_here(home: &Home) -> Result<BTreeMap<String, BTreeSet<ThreadMark>>> {
    let dir = home.marks_dir();
    let entries = match fs::read_dir(&dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        other => other.path_context("list", &dir)?,
    };
    let mut marks: BTreeMap<String, BTreeSet<ThreadMark>> = BTreeMap::new();
    for entry in entries {
        let name = entry.path_context("list", &dir)?.file_name();
        let Some((thread, extension)) = name.to_str().and_then(|name| name.split_once('.')) else { continue };
        let Some(mark) = ThreadMark::ALL.into_iter().find(|mark| mark.name() == extension) else { continue };
        if shared(home, mark).is_none() {
            marks.entry(thread.to_owned()).or_default().insert(mark);
        }
    }
    Ok(marks)
}

/// The marks of one thread. Unreadable marks count as absent.
pub fn marks_of_thread(home: &Home, thread: &ThreadId) -> BTreeSet<ThreadMark> {
    let mut marks = of_here(home, thread);
    let is_shared = |mark: &ThreadMark| shared(home, *mark).is_some() && get(home, thread, *mark).is_some();
    marks.extend(ThreadMark::ALL.into_iter().filter(is_shared));
    marks
}

/// Whether this machine has an open attempt of a thread.
pub(crate) fn is_open_here(home: &Home, thread: &ThreadId) -> bool {
    home.marks_dir().join(file_name(thread, ThreadMark::Open)).exists()
}

/// The marks of one thread that are files on this machine.
pub(crate) fn of_here(home: &Home, thread: &ThreadId) -> BTreeSet<ThreadMark> {
    let dir = home.marks_dir();
    let is_set = |mark: &ThreadMark| shared(home, *mark).is_none() && dir.join(file_name(thread, *mark)).exists();
    ThreadMark::ALL.into_iter().filter(is_set).collect()
}

/// The marks that still apply to a thread at this head: another process may have continued it.
pub(crate) fn at_head(
    home: &Home,
    thread: &ThreadId,
    marks: &BTreeSet<ThreadMark>,
    head: NodeHash,
) -> BTreeSet<ThreadMark> {
    let is_outdated = |mark: ThreadMark| {
        let is_of_attempt = !matches!(mark, ThreadMark::Open | ThreadMark::Paused);
        let of = || get(home, thread, mark).and_then(|reason| reason.head);
        is_of_attempt && of().is_some_and(|of| of != head)
    };
    marks.iter().copied().filter(|mark| !is_outdated(*mark)).collect()
}

fn file_name(thread: &ThreadId, mark: ThreadMark) -> String {
    format!("{thread}.{}", mark.name())
}
