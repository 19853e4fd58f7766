//! Workflow names: `registry.yaml` maps each name to a hash and its earlier hashes.
//!
//! In a shared store, the same text is a node, and a head named `registry` points to it.

use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use durable_files::FileLock;
use durable_files::regular;
use json_cas::{Expected, Hash, HashError, Head, Swap};
use serde::Serialize;
use serde_json::json;
use uwf_core::node::{Content, Payload};
use yaml_tree::{Data, Node, Position};

use crate::error::{AtPath, Error, Result};
use crate::root::home::Home;
use crate::root::node_types;

/// How long to wait for another writer of the registry.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// The head that names the registry of a shared store. No thread has this name: ids have 26 symbols.
pub(crate) const SHARED: &str = "registry";

/// The note with the last position of that head, in case the head is lost.
const TRACE: &str = "names";

/// How often a change is retried after other machines were quicker.
const TRIES: usize = 20;

/// Hashes kept in a name's history. People roll back a version or two, never a hundred so far.
const HISTORY_LIMIT: usize = 100;

/// Hint for lost names.
pub(crate) const NAMES_ARE_LOST: &str =
    "the workflows are in the store (`uwf cas list --type Workflow`); `uwf workflow put FILE` names one again";

/// The workflow of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The workflow.
    pub hash: Hash,
    /// When it got the name, Unix milliseconds.
    pub timestamp: u64,
    /// Earlier workflows of the name, newest first.
    pub history: Vec<Past>,
}

/// An earlier workflow of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Past {
    /// The workflow.
    pub hash: Hash,
    /// When it got the name, Unix milliseconds.
    pub timestamp: u64,
}

/// All names.
pub type Registry = BTreeMap<String, Entry>;

/// Position of the names in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    AtTop,
    BelowWorkflows,
}

/// Reads the registry; falls back to the registry of an older store.
///
/// # Errors
/// `Data` when the file is not readable, `Io`; errors of a shared store.
pub fn read(home: &Home) -> Result<Registry> {
    if home.shared().is_some() {
        return Ok(read_shared(home)?.0);
    }
    let files = [
        (home.registry_file(), Names::AtTop),
        (home.older_registry_file(), Names::AtTop),
        (home.oldest_registry_file(), Names::BelowWorkflows),
    ];
    for (path, names) in files {
        match regular::read(&path, regular::MAX_TEXT) {
            Ok(bytes) => {
                let text = std::str::from_utf8(&bytes).map_err(|_| unreadable(&path, "it is not UTF-8 text"))?;
                // A workflow may also have this file name; then it is not the registry.
                if names == Names::BelowWorkflows && !text.lines().any(|line| line.starts_with("workflows:")) {
                    continue;
                }
                return parse(&path, text, names);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // If it counted as missing, it would be rewritten with a single name.
                if path.is_symlink() {
                    return Err(unreadable(&path, "it is a link that leads nowhere"));
                }
            }
            Err(error) => return Err(Error::file("read", &path, error)),
        }
    }
    Ok(Registry::new())
}

/// The place from which the names are gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gone {
    /// This file.
    File(PathBuf),
    /// The head of this shared store.
    Head(String),
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gone::File(path) => write!(f, "{} is gone", path.display()),
            Gone::Head(store) => write!(f, "the head `{SHARED}` of the store {store} is gone"),
        }
    }
}

impl Gone {
    /// How to fix it.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Gone::File(_) => NAMES_ARE_LOST,
            Gone::Head(_) => "`uwf recover` sets it again; `uwf recover --dry-run` shows how",
        }
    }
}

/// The place of a registry that is gone: it is missing although a process has written one, or was about to.
///
/// # Errors
/// `Io` when that cannot be determined now; errors of a shared store.
pub(crate) fn gone(home: &Home) -> Result<Option<Gone>> {
    if let Some(shared) = home.shared() {
        // Keep this order: the first note is written after the first head.
        let is_gone = traced(home)?.is_some() && home.heads().read(SHARED)?.is_none();
        return Ok(is_gone.then(|| Gone::Head(shared.name().to_owned())));
    }
    let is_there = |path: PathBuf| path.try_exists().at("look at", &path);
    if !is_there(home.registry_lock())? {
        return Ok(None);
    }
    for file in [home.registry_file(), home.older_registry_file(), home.oldest_registry_file()] {
        if is_there(file)? {
            return Ok(None);
        }
    }
    Ok(Some(Gone::File(home.registry_file())))
}

/// Changes the registry, one writer at a time. `change` returns the caller's result; it is called again if another
/// machine was quicker.
///
/// # Errors
/// `Busy` when others change it for too long, the error of `change`, `Io`; errors of a shared store.
pub fn update<T, E: From<Error>>(home: &Home, mut change: impl FnMut(&mut Registry) -> Result<T, E>) -> Result<T, E> {
    if home.shared().is_some() {
        return update_shared(home, change);
    }
    let _lock = lock(home)?;
    let before = read(home)?;
    let mut registry = before.clone();
    let told = change(&mut registry)?;
    if registry != before {
        durable_files::replace(&home.registry_file(), write(&registry).as_bytes()).map_err(Error::from)?;
    }
    Ok(told)
}

/// The registry of a shared store, and its head.
fn read_shared(home: &Home) -> Result<(Registry, Option<Head>)> {
    let Some(head) = home.heads().read(SHARED)? else { return Ok((Registry::new(), None)) };
    let payload = home.store().get(head.hash)?.payload;
    let place = PathBuf::from(format!("node {}", head.hash));
    let text =
        payload.get("text").and_then(|text| text.as_str()).ok_or_else(|| unreadable(&place, "it has no text"))?;
    Ok((parse(&place, text, Names::AtTop)?, Some(head)))
}

fn update_shared<T, E: From<Error>>(
    home: &Home,
    mut change: impl FnMut(&mut Registry) -> Result<T, E>,
) -> Result<T, E> {
    let _hold = home.hold_nodes()?;
    for _ in 0..TRIES {
        let (before, head) = read_shared(home)?;
        let mut registry = before.clone();
        let told = change(&mut registry)?;
        if registry == before {
            return Ok(told);
        }
        node_types::ensure(home)?;
        let text = Content { text: write(&registry) };
        let hash = home.store().put(&text.draft()).map_err(Error::from)?;
        let swapped = match &head {
            Some(head) => home.heads().swap(SHARED, &head.version, hash),
            None => home.heads().create(SHARED, hash),
        };
        match swapped.map_err(Error::from)? {
            Swap::Done => {
                leave_trace(home, hash);
                return Ok(told);
            }
            Swap::Moved(_) => {}
        }
    }
    Err(busy(Path::new(SHARED)).into())
}

/// Notes the position of the names' head, which has no other trace. If two machines move it at the same time, the
/// slower one may write last; so this checks again until both agree. The names are set even if this fails.
pub(crate) fn leave_trace(home: &Home, head: Hash) {
    let Some(notes) = home.notes() else { return };
    let mut at = head;
    for _ in 0..TRIES {
        let written = notes.write_note(TRACE, Expected::Anything, &json!({ "head": at }));
        match home.heads().read(SHARED) {
            Ok(Some(now)) if written.is_ok() && now.hash != at => at = now.hash,
            _ => return,
        }
    }
}

/// The last position of the names' head in a shared store, from its note; `None` without a note.
///
/// # Errors
/// Errors of the store.
pub(crate) fn traced(home: &Home) -> Result<Option<Hash>> {
    let note = home.notes().map_or(Ok(None), |notes| notes.note(TRACE))?;
    Ok(note.and_then(|note| note.value.get("head")?.as_str()?.parse().ok()))
}

fn lock(home: &Home) -> Result<FileLock> {
    home.make_root()?;
    let path = home.registry_lock();
    FileLock::acquire(&path, LOCK_WAIT)?.ok_or_else(|| busy(&path))
}

fn busy(lock: &Path) -> Error {
    Error::busy(format!("another process holds {}", lock.display())).hint("try again")
}

/// Gives a name to a workflow, and adds the name's previous workflow to its history.
pub fn name(registry: &mut Registry, name: &str, hash: Hash, now_ms: u64) {
    let Some(entry) = registry.get_mut(name) else {
        registry.insert(name.to_owned(), Entry { hash, timestamp: now_ms, history: Vec::new() });
        return;
    };
    if entry.hash == hash {
        return;
    }
    entry.history.retain(|past| past.hash != hash);
    entry.history.insert(0, Past { hash: entry.hash, timestamp: entry.timestamp });
    entry.history.truncate(HISTORY_LIMIT);
    entry.hash = hash;
    entry.timestamp = now_ms;
}

/// Returns a name to an earlier hash, by default the newest in its history. The two hashes swap places.
///
/// # Errors
/// `NotFound` when the name, or the hash in its history, does not exist.
pub fn roll_back(registry: &mut Registry, workflow: &str, to: Option<Hash>, now_ms: u64) -> Result<(Hash, Hash)> {
    let entry = registry
        .get_mut(workflow)
        .ok_or_else(|| Error::not_found(format!("workflow `{workflow}` is not in the registry")))?;
    let from = entry.hash;
    let target = match to {
        Some(hash) if hash == from => return Ok((from, from)),
        Some(hash) => entry.history.iter().find(|past| past.hash == hash).map(|past| past.hash),
        None => entry.history.first().map(|past| past.hash),
    };
    let target = target.ok_or_else(|| {
        let version = to.map_or("no earlier version".to_owned(), |hash| format!("no version {hash} in its history"));
        Error::not_found(format!("workflow `{workflow}` has {version}"))
            .hint(format!("`uwf workflow history {workflow}` lists them"))
    })?;
    name(registry, workflow, target, now_ms);
    Ok((from, target))
}

fn parse(path: &Path, text: &str, names: Names) -> Result<Registry> {
    if text.trim().is_empty() {
        return Err(unreadable(path, "it is empty"));
    }
    let root = yaml_tree::parse(text).map_err(|error| unreadable_at(path, error.at, &error.message))?;
    let root = root.ok_or_else(|| unreadable(path, "it is empty"))?;
    let names = match names {
        Names::AtTop => &root,
        Names::BelowWorkflows => root.get("workflows").ok_or_else(|| unreadable(path, "it has no `workflows`"))?,
    };
    if !matches!(names.data, Data::Mapping(_)) {
        return Err(unreadable_at(path, names.at, "a mapping of names is expected"));
    }
    let mut registry = Registry::new();
    for name in names.entries() {
        let entry = entry(&name.value).map_err(|(at, why)| unreadable_at(path, at, &why))?;
        if registry.insert(name.key.clone(), entry).is_some() {
            return Err(unreadable_at(path, name.key_at, &format!("the name `{}` occurs twice", name.key)));
        }
    }
    Ok(registry)
}

type Unreadable = (Position, String);

/// One entry: the full form, or only the hash. Takes hashes as they are written, even if they are numbers to YAML.
fn entry(node: &Node) -> Result<Entry, Unreadable> {
    match &node.data {
        Data::Scalar { .. } => Ok(Entry { hash: hash(node)?, timestamp: 0, history: Vec::new() }),
        Data::Mapping(_) => {
            let Past { hash, timestamp } = past(node)?;
            let history = match node.get("history").map(|history| &history.data) {
                Some(Data::Sequence(items)) => items.iter().map(past).collect::<Result<_, _>>()?,
                Some(Data::Scalar { .. } | Data::Mapping(_)) => {
                    return Err((node.at, "`history` is not a list".to_owned()));
                }
                None => Vec::new(),
            };
            Ok(Entry { hash, timestamp, history })
        }
        Data::Sequence(_) => Err(neither(node)),
    }
}

fn past(node: &Node) -> Result<Past, Unreadable> {
    let hash = hash(node.get("hash").ok_or_else(|| neither(node))?)?;
    let timestamp = node.get("timestamp").and_then(|timestamp| timestamp.as_number()?.as_u64());
    Ok(Past { hash, timestamp: timestamp.ok_or_else(|| neither(node))? })
}

fn hash(node: &Node) -> Result<Hash, Unreadable> {
    let text = node.as_written().ok_or_else(|| neither(node))?;
    text.parse().map_err(|error: HashError| (node.at, error.to_string()))
}

fn neither(node: &Node) -> Unreadable {
    (node.at, "an entry is neither a hash nor `{hash, timestamp, history}`".to_owned())
}

fn unreadable_at(path: &Path, Position { line, column }: Position, why: &str) -> Error {
    unreadable(path, &format!("line {line} column {column}: {why}"))
}

fn unreadable(path: &Path, why: &str) -> Error {
    Error::data(format!("{} is not readable: {why}", path.display()))
        .hint("repair it or restore it from a backup; the workflows themselves are safe in the store")
}

/// Most bytes of a key that YAML readers accept without a mark before it. Names that uwf assigns are far shorter.
const LONGEST_SIMPLE_KEY: usize = 1_000;

/// Always quotes hashes: a hash of digits only is a number to YAML readers.
fn write(registry: &Registry) -> String {
    use std::fmt::Write as _;
    if registry.is_empty() {
        return "{}\n".to_owned();
    }
    let mut text = String::new();
    for (name, entry) in registry {
        let name = serde_json::Value::from(name.as_str()).to_string();
        let key = if name.len() > LONGEST_SIMPLE_KEY { format!("? {name}\n") } else { name };
        // Writing to a String never fails.
        let _ = write!(text, "{key}:\n  hash: \"{}\"\n  timestamp: {}\n", entry.hash, entry.timestamp);
        if entry.history.is_empty() {
            text.push_str("  history: []\n");
            continue;
        }
        text.push_str("  history:\n");
        for past in &entry.history {
            let _ = write!(text, "    - hash: \"{}\"\n      timestamp: {}\n", past.hash, past.timestamp);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_round_trip() {
        let past = Past { hash: Hash::from_u64(1), timestamp: 3 };
        let entry = Entry { hash: Hash::from_u64(7), timestamp: 5, history: vec![past] };
        let long = ["a".repeat(999), "b".repeat(1_100), "\"\n: #{".repeat(700), "é".repeat(5_000)];
        let names = ["short", "~", "null"].into_iter().map(str::to_owned).chain(long);
        let registry: Registry = names.map(|name| (name, entry.clone())).collect();
        assert_eq!(parse(Path::new("registry.yaml"), &write(&registry), Names::AtTop).unwrap(), registry);
    }
}
