//! Objects, heads and notes in memory, for tests and for hashing without storing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Condvar, Mutex};
use serde_json::Value;

use crate::error::StoreError;
use crate::hash::{HashPrefix, NodeHash};
use crate::heads::{Head, HeadBackend, HeadsError, NameVersion, SwapOutcome, check_name};
use crate::journal::{JournalRecords, RemovalJournal};
use crate::notes::{ListedNote, NoteBackend, NoteWriteCondition, NoteWritten, StoredNote};
use crate::objects::{HoldGuard, ObjectBackend, ObjectMetadata, ObjectPutOutcome, SweepGuard};

/// How long holders and sweepers wait for each other.
const GATE_WAIT: Duration = Duration::from_secs(30);

/// Objects that live as long as the value.
///
/// ```
/// use std::sync::Arc;
///
/// use json_cas::{NodeDraft, MemoryObjects, ObjectBackend, Store};
///
/// let objects = Arc::new(MemoryObjects::new());
/// let store = Store::new(objects.clone());
/// let anything = store.put_schema(serde_json::json!(true))?;
/// let node = store.put(&NodeDraft::new(anything, serde_json::json!(["any", "value"]))?)?;
/// // The meta-schema, the schema and the node.
/// assert_eq!((objects.contains(node)?, objects.list(None)?.len()), (true, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryObjects {
    objects: Mutex<BTreeMap<NodeHash, MemoryObject>>,
    gate: Arc<MemoryGate>,
}

/// An object, and when it was last put.
#[derive(Debug, Clone)]
struct MemoryObject {
    bytes: Vec<u8>,
    put_at: SystemTime,
}

impl MemoryObject {
    fn now(bytes: &[u8]) -> MemoryObject {
        MemoryObject { bytes: bytes.to_vec(), put_at: SystemTime::now() }
    }
}

/// Admits either any number of holders or one sweeper.
#[derive(Debug, Default)]
struct MemoryGate {
    inside: Mutex<MemoryGateState>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct MemoryGateState {
    holding: usize,
    is_swept: bool,
}

/// An admitted holder or sweeper, until it is dropped.
struct MemoryGatePass {
    gate: Arc<MemoryGate>,
    sweeps: bool,
}

impl MemoryGate {
    fn enter(self: &Arc<MemoryGate>, sweeps: bool) -> Result<MemoryGatePass, StoreError> {
        let is_full = |inside: &mut MemoryGateState| inside.is_swept || (sweeps && inside.holding > 0);
        let mut inside = self.inside.lock();
        self.left.wait_while_for(&mut inside, is_full, GATE_WAIT);
        if is_full(&mut inside) {
            let waited_ms = u64::try_from(GATE_WAIT.as_millis()).unwrap_or(u64::MAX);
            return Err(StoreError::Busy { path: PathBuf::from("memory"), waited_ms });
        }
        if sweeps {
            inside.is_swept = true;
        } else {
            inside.holding += 1;
        }
        Ok(MemoryGatePass { gate: self.clone(), sweeps })
    }
}

impl Drop for MemoryGatePass {
    fn drop(&mut self) {
        let mut inside = self.gate.inside.lock();
        if self.sweeps {
            inside.is_swept = false;
        } else {
            inside.holding -= 1;
        }
        self.gate.left.notify_all();
    }
}

impl MemoryObjects {
    /// An empty store.
    pub fn new() -> MemoryObjects {
        MemoryObjects::default()
    }
}

impl ObjectBackend for MemoryObjects {
    fn get(&self, hash: NodeHash) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.objects.lock().get(&hash).map(|kept| kept.bytes.clone()))
    }

    fn contains(&self, hash: NodeHash) -> Result<bool, StoreError> {
        Ok(self.objects.lock().contains_key(&hash))
    }

    fn put_all(&self, objects: &[(NodeHash, Vec<u8>)]) -> Result<Vec<ObjectPutOutcome>, StoreError> {
        let mut stored = self.objects.lock();
        Ok(objects
            .iter()
            .map(|(hash, bytes)| {
                if stored.contains_key(hash) {
                    ObjectPutOutcome::Present
                } else {
                    stored.insert(*hash, MemoryObject::now(bytes));
                    ObjectPutOutcome::Published
                }
            })
            .collect())
    }

    fn replace(&self, hash: NodeHash, bytes: &[u8]) -> Result<(), StoreError> {
        self.objects.lock().insert(hash, MemoryObject::now(bytes));
        Ok(())
    }

    fn sync(&self, hashes: &[NodeHash]) -> Result<(), StoreError> {
        let stored = self.objects.lock();
        match hashes.iter().find(|hash| !stored.contains_key(hash)) {
            Some(hash) => Err(StoreError::NotFound { hash: *hash }),
            None => Ok(()),
        }
    }

    fn list(&self, prefix: Option<&HashPrefix>) -> Result<Vec<NodeHash>, StoreError> {
        let stored = self.objects.lock();
        Ok(match prefix {
            Some(prefix) => stored.range(prefix.range()).map(|(hash, _)| *hash).collect(),
            None => stored.keys().copied().collect(),
        })
    }

    fn stored(&self, hash: NodeHash) -> Result<Option<ObjectMetadata>, StoreError> {
        let stored = self.objects.lock();
        Ok(stored.get(&hash).map(|kept| ObjectMetadata { bytes: kept.bytes.len() as u64, put_at: kept.put_at }))
    }

    fn refresh(&self, hash: NodeHash) -> Result<bool, StoreError> {
        let mut stored = self.objects.lock();
        let kept = stored.get_mut(&hash);
        Ok(kept.map(|kept| kept.put_at = SystemTime::now()).is_some())
    }

    fn hold(&self) -> Result<HoldGuard, StoreError> {
        Ok(HoldGuard::new(self.gate.enter(false)?))
    }

    fn sweep(&self) -> Result<SweepGuard, StoreError> {
        Ok(SweepGuard::new(self.gate.enter(true)?))
    }

    fn remove_all(&self, _sweep: &SweepGuard, layers: &[&[NodeHash]]) -> Result<Vec<bool>, StoreError> {
        let mut stored = self.objects.lock();
        Ok(layers.iter().copied().flatten().map(|hash| stored.remove(hash).is_some()).collect())
    }
}

/// Heads and their journal that live as long as the value.
///
/// ```
/// use json_cas::{NodeHash, HeadBackend, HeadsError, RemovalJournal, MemoryHeads};
/// use serde_json::json;
///
/// let heads = MemoryHeads::new();
/// let _ = heads.create("draft", NodeHash::from_u64(1))?;
/// let seen = heads.read("draft")?.expect("it was created");
/// let _ = heads.remove("draft", &seen.version, &json!({ "why": "it is done" }))?;
/// assert_eq!(heads.newest("draft")?, Some(json!({ "why": "it is done" })));
/// assert!(matches!(heads.create("draft", NodeHash::from_u64(2)), Err(HeadsError::Removed { .. })));
/// # Ok::<(), HeadsError>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryHeads {
    state: Mutex<MemoryHeadsState>,
}

#[derive(Debug, Default)]
struct MemoryHeadsState {
    /// Maps each name to its hash and the number of the swap that set it.
    names: BTreeMap<String, (NodeHash, u64)>,
    /// Removed names with their records, oldest first.
    journal: Vec<(String, Value)>,
    swaps: u64,
}

impl MemoryHeads {
    /// An empty set of names.
    pub fn new() -> MemoryHeads {
        MemoryHeads::default()
    }
}

impl MemoryHeadsState {
    fn head(&self, name: &str) -> Option<Head> {
        self.names.get(name).map(|(hash, swap)| Head { hash: *hash, version: NameVersion::new(swap.to_string()) })
    }

    fn newest(&self, name: &str) -> Option<&Value> {
        self.journal.iter().rev().find(|(removed, _)| removed == name).map(|(_, record)| record)
    }

    /// Points a name at `new` if it is where it is expected.
    fn set(&mut self, name: &str, expected: Option<&NameVersion>, new: NodeHash) -> SwapOutcome {
        let current = self.head(name);
        if current.as_ref().map(|head| &head.version) != expected {
            return SwapOutcome::Moved(current);
        }
        self.swaps += 1;
        self.names.insert(name.to_owned(), (new, self.swaps));
        SwapOutcome::Done
    }
}

impl HeadBackend for MemoryHeads {
    fn read(&self, name: &str) -> Result<Option<Head>, HeadsError> {
        check_name(name)?;
        Ok(self.state.lock().head(name))
    }

    fn list(&self) -> Result<Vec<(String, NodeHash)>, HeadsError> {
        let state = self.state.lock();
        Ok(state.names.iter().map(|(name, (hash, _))| (name.clone(), *hash)).collect())
    }

    fn create(&self, name: &str, new: NodeHash) -> Result<SwapOutcome, HeadsError> {
        check_name(name)?;
        let mut state = self.state.lock();
        if state.newest(name).is_some() {
            return Err(HeadsError::Removed { name: name.to_owned() });
        }
        Ok(state.set(name, None, new))
    }

    fn swap(&self, name: &str, expected: &NameVersion, new: NodeHash) -> Result<SwapOutcome, HeadsError> {
        check_name(name)?;
        Ok(self.state.lock().set(name, Some(expected), new))
    }

    fn remove(&self, name: &str, expected: &NameVersion, record: &Value) -> Result<SwapOutcome, HeadsError> {
        check_name(name)?;
        let mut state = self.state.lock();
        let current = state.head(name);
        if current.as_ref().map(|head| &head.version) != Some(expected) {
            return Ok(SwapOutcome::Moved(current));
        }
        state.journal.push((name.to_owned(), record.clone()));
        state.names.remove(name);
        Ok(SwapOutcome::Done)
    }
}

impl RemovalJournal for MemoryHeads {
    fn records(&self) -> Result<JournalRecords, HeadsError> {
        let readable = self.state.lock().journal.iter().map(|(_, record)| record.clone()).collect();
        Ok(JournalRecords { readable, problems: Vec::new() })
    }

    fn newest(&self, name: &str) -> Result<Option<Value>, HeadsError> {
        check_name(name)?;
        Ok(self.state.lock().newest(name).cloned())
    }

    fn forget(&self, names: &[&str]) -> Result<usize, HeadsError> {
        names.iter().try_for_each(|name| check_name(name))?;
        let mut state = self.state.lock();
        let forgotten: BTreeSet<String> =
            state.journal.iter().map(|(name, _)| name.clone()).filter(|name| names.contains(&name.as_str())).collect();
        state.journal.retain(|(removed, _)| !forgotten.contains(removed));
        Ok(forgotten.len())
    }
}

/// Notes that live as long as the value.
#[derive(Debug, Default)]
pub struct MemoryNotes {
    notes: Mutex<MemoryNote>,
}

#[derive(Debug, Default)]
struct MemoryNote {
    by_name: BTreeMap<String, WrittenNote>,
    writes: u64,
}

#[derive(Debug)]
struct WrittenNote {
    value: Value,
    write: u64,
    at: Instant,
}

impl MemoryNotes {
    /// An empty set of notes.
    pub fn new() -> MemoryNotes {
        MemoryNotes::default()
    }
}

impl WrittenNote {
    fn read(&self) -> StoredNote {
        StoredNote {
            value: self.value.clone(),
            version: NameVersion::new(self.write.to_string()),
            age: self.at.elapsed(),
        }
    }
}

impl NoteBackend for MemoryNotes {
    fn note(&self, name: &str) -> Result<Option<StoredNote>, HeadsError> {
        check_name(name)?;
        Ok(self.notes.lock().by_name.get(name).map(WrittenNote::read))
    }

    fn notes(&self, begin: &str) -> Result<Vec<ListedNote>, HeadsError> {
        if !begin.is_empty() {
            check_name(begin)?;
        }
        let notes = self.notes.lock();
        let listed = notes.by_name.iter().filter(|(name, _)| name.starts_with(begin));
        let listed = listed.map(|(name, note)| {
            let StoredNote { age, version, .. } = note.read();
            ListedNote { name: name.clone(), age, version }
        });
        Ok(listed.collect())
    }

    fn write_note(
        &self,
        name: &str,
        expected: NoteWriteCondition<'_>,
        value: &Value,
    ) -> Result<NoteWritten, HeadsError> {
        check_name(name)?;
        let mut notes = self.notes.lock();
        let now = notes.by_name.get(name).map(WrittenNote::read);
        let is_expected = match expected {
            NoteWriteCondition::Anything => true,
            NoteWriteCondition::Nothing => now.is_none(),
            NoteWriteCondition::At(version) => now.as_ref().is_some_and(|now| now.version == *version),
        };
        if !is_expected {
            return Ok(NoteWritten::Moved(now));
        }
        notes.writes += 1;
        let note = WrittenNote { value: value.clone(), write: notes.writes, at: Instant::now() };
        let version = note.read().version;
        notes.by_name.insert(name.to_owned(), note);
        Ok(NoteWritten::Done(version))
    }

    fn remove_note(&self, name: &str) -> Result<(), HeadsError> {
        check_name(name)?;
        self.notes.lock().by_name.remove(name);
        Ok(())
    }
}
