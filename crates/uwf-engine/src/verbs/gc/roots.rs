//! The roots of `gc`: everything outside of the store that references nodes.
//!
//! Count too much rather than too little. Nodes that uwf relies on must exist. Records, marks and the configuration may have hashes among
//! other text. There, every word that could be a hash counts, and its node may be missing.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use durable_files::regular;
use json_cas::{NodeHash, bootstrap};
use serde_json::Value;
use uwf_core::node::OWN_TYPES;
use uwf_core::thread::ThreadId;

use crate::attempt::recorded::{self, claim};
use crate::error::{AtPath, Error, Result};
use crate::root::home::Home;
use crate::root::marks::{self, ThreadMark};
use crate::root::registry::{self, MissingRegistry};
use crate::root::{ids, record, workplace};

/// Beginning of a history line that was torn before the name of its thread. Such a thread never left the index.
const TORN_LINE: &[u8] = b"{\"thread\":\"";

/// Something that references a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Root {
    /// An active thread.
    Thread(String),
    /// A thread that has ended.
    Ended(String),
    /// The registry of a shared store.
    Names,
    /// A name of the registry.
    Name(String),
    /// An earlier version of a name.
    Version(String),
    /// The record of a thread, or one of its marks.
    Record(ThreadId),
    /// `config.yaml`, or the configuration of a trusted project.
    Configuration,
    /// uwf itself.
    OwnType,
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Root::Thread(thread) => write!(f, "the head of thread {thread}"),
            Root::Ended(thread) => write!(f, "the history of thread {thread}"),
            Root::Names => f.write_str("the names of workflows"),
            Root::Name(name) => write!(f, "workflow `{name}`"),
            Root::Version(name) => write!(f, "an earlier version of workflow `{name}`"),
            Root::Record(thread) => write!(f, "the record of thread {thread}"),
            Root::Configuration => f.write_str("the configuration"),
            Root::OwnType => f.write_str("uwf itself"),
        }
    }
}

/// An attempt that is not concluded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenAttempt {
    pub(crate) thread: ThreadId,
    /// Unix milliseconds.
    pub(crate) since: u64,
}

/// All references to nodes, as of now.
#[derive(Debug, Default)]
pub(crate) struct GcRoots {
    /// Nodes that exist, unless the root is damaged.
    pub(crate) needed: Vec<(NodeHash, Root)>,
    /// Nodes that may be missing.
    pub(crate) named: Vec<(NodeHash, Root)>,
    /// Names of threads, active and ended.
    pub(crate) threads: BTreeSet<String>,
    /// The oldest open attempt. Nodes that its agent has stored since need no reference yet.
    pub(crate) open: Option<OpenAttempt>,
}

impl GcRoots {
    /// Reads the roots.
    ///
    /// # Errors
    /// Any read error, because the reachable nodes are unknown then: `Data` for a damaged history and a missing registry, errors of index,
    /// history, registry and records.
    pub(crate) fn read(home: &Home) -> Result<GcRoots> {
        let mut roots = GcRoots::default();
        roots.add_own_types();
        // Heads before history: a thread that ends meanwhile is then in at least one of the two.
        roots.add_heads(home)?;
        roots.add_history(home)?;
        roots.add_registry(home)?;
        roots.add_records(home)?;
        roots.add_marks(home)?;
        roots.add_claims(home)?;
        roots.add_workplaces(home)?;
        roots.add_configuration(home)?;
        Ok(roots)
    }

    fn add_own_types(&mut self) {
        let own = OWN_TYPES.iter().map(|own| own.hash).chain([bootstrap::HASH]);
        self.named.extend(own.map(|hash| (hash, Root::OwnType)));
    }

    fn add_heads(&mut self, home: &Home) -> Result<()> {
        for (name, head) in home.heads().list()? {
            if name == registry::SHARED {
                self.needed.push((head, Root::Names));
                continue;
            }
            self.needed.push((head, Root::Thread(name.clone())));
            self.threads.insert(name);
        }
        Ok(())
    }

    fn add_history(&mut self, home: &Home) -> Result<()> {
        let history = home.journal().records()?;
        for line in &history.readable {
            let text = |key: &str| line.get(key).and_then(Value::as_str);
            let Some(thread) = text("thread") else { continue };
            let root = || Root::Ended(thread.to_owned());
            let hash = |key: &str| text(key).and_then(|hash| hash.parse::<NodeHash>().ok());
            let head = hash("head").ok_or_else(|| no_head(thread))?;
            self.needed.push((head, root()));
            self.needed.extend(hash("end").map(|end| (end, root())));
            self.named.extend(hash("workflow").map(|workflow| (workflow, root())));
            self.threads.insert(thread.to_owned());
        }
        match history.problems.first() {
            None => Ok(()),
            Some(problem) => self.check_damaged(home, problem),
        }
    }

    /// Accepts unreadable lines of the history only if their threads are also known from elsewhere. A crash can tear only the line of a
    /// thread that was still active.
    fn check_damaged(&self, home: &Home, problem: &str) -> Result<()> {
        let path = home.history_file();
        if home.index().is_none() {
            return Err(damaged_history(&path, problem));
        }
        let bytes = regular::read(&path, regular::MAX_LIST).path_context("read", &path)?;
        let recorded = home.recorded_threads()?;
        let is_damaged = |line: &&[u8]| {
            let value: Option<Value> = serde_json::from_slice(line).ok();
            value.is_none_or(|value| value.get("thread").and_then(Value::as_str).is_none())
        };
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        for line in lines.filter(is_damaged) {
            let threads: Vec<ThreadId> = words(line).filter_map(|word| word.parse().ok()).collect();
            let is_known = |id: &ThreadId| self.threads.contains(id.as_str()) || recorded.contains(id);
            let is_harmless = match threads.as_slice() {
                [] => line.starts_with(TORN_LINE) || TORN_LINE.starts_with(line),
                threads => threads.iter().all(is_known),
            };
            if !is_harmless {
                return Err(damaged_history(&path, problem));
            }
        }
        Ok(())
    }

    fn add_registry(&mut self, home: &Home) -> Result<()> {
        let registry = registry::read(home)?;
        if registry.is_empty()
            && let Some(gone) = registry::gone(home)?
        {
            return Err(registry_gone(&gone));
        }
        for (name, entry) in registry {
            self.needed.extend(entry.history.iter().map(|past| (past.hash, Root::Version(name.clone()))));
            self.needed.push((entry.hash, Root::Name(name)));
        }
        Ok(())
    }

    fn add_records(&mut self, home: &Home) -> Result<()> {
        for thread in home.recorded_threads()? {
            let record = record::read(home, &thread)?;
            self.named.extend(hashes(&record).map(|hash| (hash, Root::Record(thread.clone()))));
        }
        Ok(())
    }

    fn add_marks(&mut self, home: &Home) -> Result<()> {
        for (name, set) in marks::all(home)? {
            let Ok(thread) = name.parse::<ThreadId>() else { continue };
            for mark in set.iter().filter(|mark| **mark != ThreadMark::Open) {
                let reason = marks::read(home, &thread, *mark)?;
                let message = reason.map(|reason| reason.message()).unwrap_or_default();
                self.named.extend(hashes(message.as_bytes()).map(|hash| (hash, Root::Record(thread.clone()))));
            }
            if set.contains(&ThreadMark::Open)
                && let Some(attempt) = recorded::read(home, &thread)?
            {
                self.add_open(OpenAttempt { thread, since: attempt.opened.opened_at });
            }
        }
        Ok(())
    }

    /// Attempts that other machines are running, according to their claims.
    fn add_claims(&mut self, home: &Home) -> Result<()> {
        for (thread, claim, age) in claim::all(home)? {
            let text = claim.value().to_string();
            self.named.extend(hashes(text.as_bytes()).map(|hash| (hash, Root::Record(thread.clone()))));
            if age < claim.lease() && claim.attempt(&thread).is_some_and(|attempt| attempt.closed.is_none()) {
                let since = ids::now_ms()
                    .saturating_sub(u64::try_from((age + claim.elapsed()).as_millis()).unwrap_or(u64::MAX));
                self.add_open(OpenAttempt { thread, since });
            }
        }
        Ok(())
    }

    /// The last heads of threads whose heads were deleted: `recover` restores them from these notes.
    fn add_workplaces(&mut self, home: &Home) -> Result<()> {
        for (thread, said) in workplace::of_others(home, &self.threads)? {
            let text = said.to_string();
            self.named.extend(hashes(text.as_bytes()).map(|hash| (hash, Root::Record(thread.clone()))));
        }
        Ok(())
    }

    fn add_open(&mut self, attempt: OpenAttempt) {
        if self.open.as_ref().is_none_or(|open| open.since > attempt.since) {
            self.open = Some(attempt);
        }
    }

    fn add_configuration(&mut self, home: &Home) -> Result<()> {
        for path in [home.config_file(), home.trusted_file(), home.schedules_file()] {
            let text = match regular::read(&path, regular::MAX_TEXT) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                other => other.path_context("read", &path)?,
            };
            // In a JSON string, the letter of an escape would look like the first letter of the next word.
            let text = String::from_utf8_lossy(&text).replace("\\n", " ").replace("\\t", " ");
            self.named.extend(hashes(text.as_bytes()).map(|hash| (hash, Root::Configuration)));
        }
        Ok(())
    }
}

/// Each word of a text that could be a hash.
fn hashes(text: &[u8]) -> impl Iterator<Item = NodeHash> {
    words(text).filter(|word| word.len() == NodeHash::LEN).filter_map(|word| word.parse().ok())
}

fn words(text: &[u8]) -> impl Iterator<Item = &str> {
    text.split(|byte| !byte.is_ascii_alphanumeric()).filter_map(|word| std::str::from_utf8(word).ok())
}

fn no_head(thread: &str) -> Error {
    Error::data(format!(
        "cannot find out where thread {thread} ended: its line in the history names no head; nothing was removed"
    ))
    .hint(format!("`uwf thread rm {thread}` removes that line"))
}

fn damaged_history(path: &Path, problem: &str) -> Error {
    let path = path.display();
    Error::data(format!("cannot find out which threads have ended: {path}, {problem}; nothing was removed"))
        .hint("repair that line or restore the file from a backup; `uwf recover` may know more")
}

fn registry_gone(gone: &MissingRegistry) -> Error {
    let error = Error::data(format!("cannot find out which workflows have names: {gone}; nothing was removed"));
    match gone {
        MissingRegistry::Head(_) => error.hint(gone.remedy()),
        MissingRegistry::File(_) => {
            error.hint("restore it from a backup").hint("or register a workflow again: `uwf workflow put FILE`")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_found_in_any_text() {
        let text = br#"{"a":"0KZQB61FPVDKS","b":["2xy1pex26zd0y"]} 7K4MG7ZQ4JV1R, XKZQB61FPVDKS 0KZQB61FPVDKSS 0KZQB"#;
        let found: Vec<String> = hashes(text).map(|hash| hash.to_string()).collect();
        assert_eq!(found, ["0KZQB61FPVDKS", "2XY1PEX26ZD0Y", "7K4MG7ZQ4JV1R"]);
    }
}
