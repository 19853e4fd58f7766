//! The type index remembers the type of each node, so that listing the nodes of a type does not read every node again.
//!
//! `cache/types` is a flat file of 24-byte records, little-endian u64s: a node, its type, and XXH64 of the 16 bytes
//! before. The store always decides which nodes exist. The index only has data that never changes, because the hash of
//! a node covers its type, so it cannot be out of date. Damaged records are read again from their nodes, and the file
//! may be deleted at any time.

use std::collections::{BTreeSet, HashMap};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use durable_files::regular;
use json_cas::{NodeHash, READ_AT_ONCE, Store, StoreError, nearest};
use serde_json::Value;
use uwf_core::node::{FOREIGN_TYPES, NodeKind, OWN_TYPES};

use crate::error::{Error, Result};
use crate::root::home::Home;

const RECORD: usize = 24;

/// Types of nodes, remembered across processes.
pub struct TypeIndex<'h> {
    home: &'h Home,
    known: HashMap<NodeHash, NodeHash>,
    learned: Vec<(NodeHash, NodeHash)>,
    titles: HashMap<NodeHash, Option<String>>,
    is_damaged: bool,
}

impl<'h> TypeIndex<'h> {
    /// The remembered types; empty if the file is missing.
    pub fn load(home: &'h Home) -> TypeIndex<'h> {
        let bytes = regular::read(&home.type_index(), regular::MAX_LIST).unwrap_or_default();
        let records = bytes.chunks_exact(RECORD);
        let torn = !records.remainder().is_empty();
        let count = records.len();
        let known: HashMap<NodeHash, NodeHash> = records.filter_map(decode).collect();
        let is_damaged = torn || known.len() < count;
        TypeIndex { home, known, learned: Vec::new(), titles: HashMap::new(), is_damaged }
    }

    /// The type of a node in the store. Reads the node only if its type is not remembered.
    pub fn type_of(&mut self, node: NodeHash) -> Result<NodeHash, StoreError> {
        if let Some(type_hash) = self.known.get(&node) {
            return Ok(*type_hash);
        }
        let type_hash = self.home.store().get(node)?.type_hash;
        self.known.insert(node, type_hash);
        self.learned.push((node, type_hash));
        Ok(type_hash)
    }

    /// Reads the nodes whose types are not remembered, many at once, so that [`TypeIndex::type_of`] is quick for each.
    /// Unreadable nodes stay unknown.
    pub fn learn(&mut self, nodes: &[NodeHash]) -> Result<(), StoreError> {
        let unknown: Vec<NodeHash> = nodes.iter().copied().filter(|node| !self.known.contains_key(node)).collect();
        for some in unknown.chunks(READ_AT_ONCE) {
            let read = self.home.store().try_get_all(some)?;
            for (node, found) in some.iter().zip(read).filter_map(|(node, found)| Some((*node, found.ok()??))) {
                self.known.insert(node, found.type_hash);
                self.learned.push((node, found.type_hash));
            }
        }
        Ok(())
    }

    /// Whether nodes of this type are schemas: the type is its own type.
    ///
    /// # Errors
    /// Errors of reading the type; a missing type is not a schema.
    pub fn is_meta_schema(&mut self, type_hash: NodeHash) -> Result<bool, StoreError> {
        match self.type_of(type_hash) {
            Err(StoreError::NotFound { .. }) => Ok(false),
            other => Ok(other? == type_hash),
        }
    }

    /// The title of a type; `None` if it has none or is not readable.
    pub fn title(&mut self, type_hash: NodeHash) -> Option<String> {
        let store = self.home.store();
        self.titles.entry(type_hash).or_insert_with(|| title(store, type_hash)).clone()
    }

    /// Saves new types. If this fails, they must be read again.
    pub fn save(self) {
        let path = self.home.type_index();
        let _ = if self.is_damaged {
            rewrite(&path, &self.known)
        } else if self.learned.is_empty() {
            Ok(())
        } else {
            append(&path, &self.learned)
        };
    }
}

/// The title of a type: the name of its kind, otherwise the title of its schema.
pub fn title(store: &Store, type_hash: NodeHash) -> Option<String> {
    if let Some(kind) = NodeKind::from_type_hash(type_hash) {
        return Some(kind.title().to_owned());
    }
    let schema = store.try_get(type_hash).ok().flatten()?;
    schema.payload.get("title").and_then(Value::as_str).map(str::to_owned)
}

/// The type that a person typed: the title of one of uwf's own node types, a hash, or a unique beginning of one. A
/// whole hash need not exist.
///
/// # Errors
/// `NotFound` with the nearest title, `Usage` for a beginning that is not unique.
pub fn resolve(home: &Home, typed: &str) -> Result<NodeHash> {
    if let Some(own) = OWN_TYPES.iter().find(|own| own.kind.title().eq_ignore_ascii_case(typed)) {
        return Ok(own.hash);
    }
    home.store().resolve_prefix(typed).map_err(|error| match error {
        StoreError::BadHash(_) | StoreError::NoSuchPrefix { .. } => {
            Error::not_found(format!("unknown type `{typed}`")).hint(other_types(typed))
        }
        other => other.into(),
    })
}

fn other_types(typed: &str) -> String {
    // Some kinds have a second type.
    let titles: BTreeSet<&str> = OWN_TYPES.iter().map(|own| own.kind.title()).collect();
    nearest::did_you_mean(typed, titles.iter().copied()).unwrap_or_else(|| {
        format!(
            "a type is a hash, at least 4 symbols of its beginning, or one of {}; `uwf cas schema list` shows all",
            titles.into_iter().collect::<Vec<_>>().join(", ")
        )
    })
}

/// All types of the node kind that a person typed; for a title, includes types of other implementations.
pub fn resolve_all(home: &Home, typed: &str) -> Result<Vec<NodeHash>> {
    let own = OWN_TYPES.iter().map(|own| (own.kind, own.hash));
    let titled: Vec<NodeHash> = own
        .chain(FOREIGN_TYPES.iter().copied())
        .filter(|(kind, _)| kind.title().eq_ignore_ascii_case(typed))
        .map(|(_, hash)| hash)
        .collect();
    if titled.is_empty() { Ok(vec![resolve(home, typed)?]) } else { Ok(titled) }
}

fn word(chunk: &[u8], at: usize) -> u64 {
    chunk[at..at + 8].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn encode((node, type_hash): (NodeHash, NodeHash)) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    record[..8].copy_from_slice(&node.as_u64().to_le_bytes());
    record[8..16].copy_from_slice(&type_hash.as_u64().to_le_bytes());
    let check = json_cas::xxh64(&record[..16]).as_u64();
    record[16..].copy_from_slice(&check.to_le_bytes());
    record
}

fn decode(record: &[u8]) -> Option<(NodeHash, NodeHash)> {
    let is_whole = json_cas::xxh64(&record[..16]).as_u64() == word(record, 16);
    is_whole.then(|| (NodeHash::from_u64(word(record, 0)), NodeHash::from_u64(word(record, 8))))
}

/// Uses one `write`, so that records of two processes do not mix.
fn append(path: &Path, learned: &[(NodeHash, NodeHash)]) -> std::io::Result<()> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let bytes: Vec<u8> = learned.iter().flat_map(|entry| encode(*entry)).collect();
    regular::open_with(OpenOptions::new().append(true).create(true), path)?.write_all(&bytes)
}

/// Deliberately not durable: it can be derived.
fn rewrite(path: &Path, known: &HashMap<NodeHash, NodeHash>) -> std::io::Result<()> {
    let Some(dir) = path.parent() else { return Ok(()) };
    std::fs::create_dir_all(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    let bytes: Vec<u8> = known.iter().flat_map(|(node, type_hash)| encode((*node, *type_hash))).collect();
    file.write_all(&bytes)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use uwf_core::node::{CONTENT, ContentNode, TypedPayload};

    fn with_texts(texts: &[&str]) -> (tempfile::TempDir, Home, Vec<NodeHash>) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(dir.path(), "uwf");
        crate::root::node_types::ensure(&home).unwrap();
        let nodes = texts
            .iter()
            .map(|text| home.store().put(&ContentNode { text: (*text).to_owned() }.draft()).unwrap())
            .collect();
        (dir, home, nodes)
    }

    fn learn(home: &Home, nodes: &[NodeHash]) {
        let mut index = TypeIndex::load(home);
        nodes.iter().for_each(|node| assert_eq!(index.type_of(*node).unwrap(), CONTENT));
        index.save();
    }

    fn size(home: &Home) -> usize {
        std::fs::read(home.type_index()).unwrap().len()
    }

    #[test]
    fn learned_types_persist_and_are_stored_once() {
        let (_dir, home, nodes) = with_texts(&["a", "b", "c"]);
        learn(&home, &nodes[..2]);
        learn(&home, &nodes);
        learn(&home, &nodes);
        assert_eq!(size(&home), 3 * RECORD);
        assert_eq!(TypeIndex::load(&home).known.len(), 3);
    }

    #[test]
    fn damage_is_noticed_and_repaired() {
        let (_dir, home, nodes) = with_texts(&["a", "b"]);
        learn(&home, &nodes);
        let whole = std::fs::read(home.type_index()).unwrap();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            std::fs::write(home.type_index(), &flipped).unwrap();
            learn(&home, &nodes);
            std::fs::write(home.type_index(), &whole[..at]).unwrap();
            learn(&home, &nodes);
            assert_eq!(size(&home), 2 * RECORD, "after damage at byte {at}");
        }
    }

    #[test]
    fn types_are_found_by_title_beginning_and_hash() {
        let (_dir, home, _) = with_texts(&[]);
        assert_eq!(resolve(&home, "Content").unwrap(), CONTENT);
        assert_eq!(resolve(&home, "fxefd3").unwrap(), CONTENT);
        assert_eq!(resolve(&home, "0000000000000").unwrap(), NodeHash::from_u64(0));
        let error = resolve(&home, "contnet").unwrap_err();
        assert_eq!(
            (error.message.as_str(), error.hints[0].as_str()),
            ("unknown type `contnet`", "did you mean `content`?")
        );
        assert_eq!(resolve_all(&home, "StepNode").unwrap().len(), 3);
    }
}
