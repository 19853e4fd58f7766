//! The chain cache: for each thread a flat file of fixed-width records, so that no command walks 10,000 nodes twice.
//!
//! A record is 32 bytes, little-endian u64s: the StepNode, its output, XXH64 of the role's name, and a checksum of the last
//! word of the record before (0 for the first) and these three. Records are in thread order and only appended. The file
//! is trusted up to the first record that is not whole, and only as far as its last record is the head or an ancestor of
//! it; it can be deleted at any time.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};

use json_cas::Hash;
use uwf_core::thread::ThreadId;

use crate::error::Result;
use crate::home::Home;
use crate::load;

/// Bytes of a record.
const RECORD: usize = 32;

/// One step as the cache knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The StepNode.
    pub step: Hash,
    /// Its output.
    pub output: Hash,
    /// [`role_key`] of its role.
    pub role: u64,
}

/// The steps of a thread, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chain {
    records: Vec<Record>,
    /// Last word of the last record's bytes.
    sum: u64,
}

/// How a role is named in a record.
pub fn role_key(role: &str) -> u64 {
    json_cas::xxh64(role.as_bytes()).as_u64()
}

impl Chain {
    /// The chain that ends at `head` (`None`: no step yet), from the cache as far as it can be trusted, the rest from
    /// the nodes; what was missing is added to the cache.
    ///
    /// # Errors
    /// Those of reading StepNodes.
    pub fn load(home: &Home, thread: &ThreadId, head: Option<Hash>) -> Result<Chain> {
        let Some(head) = head else { return Ok(Chain::default()) };
        let (mut chain, is_whole) = read(home, thread);
        let cached = chain.records.len();
        let missing = walk_back(home, head, &mut chain)?;
        if missing.is_empty() && chain.records.len() == cached && is_whole {
            return Ok(chain);
        }
        let kept = chain.records.len();
        let new: Vec<Record> = missing.into_iter().rev().collect();
        if kept == cached && is_whole {
            append(home, thread, &chain, &new);
            chain.sum = checksum(chain.sum, &new);
            chain.records.extend(new);
        } else {
            chain.records.extend(new);
            chain.sum = checksum(0, &chain.records);
            rewrite(home, thread, &chain.records);
        }
        Ok(chain)
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is no step yet.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Record of step `index`, from 0.
    pub fn get(&self, index: usize) -> Option<Record> {
        self.records.get(index).copied()
    }

    /// All records, oldest first.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Position of a StepNode in the chain.
    pub fn position(&self, step: Hash) -> Option<usize> {
        self.records.iter().rposition(|record| record.step == step)
    }

    /// How often a role was played.
    pub fn count_of(&self, role: &str) -> usize {
        let key = role_key(role);
        self.records.iter().filter(|record| record.role == key).count()
    }

    /// Positions of the first and the last step of a role.
    pub fn span_of(&self, role: &str) -> Option<(usize, usize)> {
        let key = role_key(role);
        let first = self.records.iter().position(|record| record.role == key)?;
        let last = self.records.iter().rposition(|record| record.role == key)?;
        Some((first, last))
    }
}

/// Adds the newest step to a thread's cache, behind those before it; a cache of another length is left alone, the next
/// reader brings it up to date. Failure costs time later, nothing else.
pub fn push(home: &Home, thread: &ThreadId, before: &Chain, record: Record) {
    append(home, thread, before, &[record]);
}

/// The last step the cache has, be it the thread's or not.
pub(crate) fn last_known(home: &Home, thread: &ThreadId) -> Option<Hash> {
    read(home, thread).0.records.last().map(|record| record.step)
}

/// Collects records from `head` back to the newest one the cache has, newest first, and cuts the cache there. The
/// common cases, cache at the head or one step behind, cost no search.
fn walk_back(home: &Home, head: Hash, chain: &mut Chain) -> Result<Vec<Record>> {
    let mut missing = Vec::new();
    let mut next = Some(head);
    let mut known = None;
    while let Some(hash) = next {
        if chain.records.last().is_some_and(|record| record.step == hash) {
            return Ok(missing);
        }
        if missing.len() == 1 {
            let positions: std::collections::HashMap<Hash, usize> =
                chain.records.iter().enumerate().map(|(index, record)| (record.step, index)).collect();
            known = Some(positions);
        }
        if let Some(index) = known.as_ref().and_then(|known| known.get(&hash)) {
            chain.records.truncate(index + 1);
            return Ok(missing);
        }
        let (step, _) = load::step_node(home.store(), hash)?;
        missing.push(Record { step: hash, output: step.output, role: role_key(&step.role) });
        next = step.prev;
    }
    chain.records.clear();
    Ok(missing)
}

/// The records up to the first that is damaged, and whether that is all of the file.
fn read(home: &Home, thread: &ThreadId) -> (Chain, bool) {
    let bytes = std::fs::read(home.chain_file(thread)).unwrap_or_default();
    let word = |chunk: &[u8], at: usize| {
        u64::from_le_bytes(chunk[at..at + 8].try_into().expect("a record holds four words of eight bytes"))
    };
    let mut chain = Chain { records: Vec::with_capacity(bytes.len() / RECORD), sum: 0 };
    for chunk in bytes.chunks_exact(RECORD) {
        let (step, output) = (Hash::from_u64(word(chunk, 0)), Hash::from_u64(word(chunk, 8)));
        let record = Record { step, output, role: word(chunk, 16) };
        let sum = checksum_of(chain.sum, record);
        if word(chunk, 24) != sum {
            break;
        }
        chain.records.push(record);
        chain.sum = sum;
    }
    let is_whole = chain.records.len() * RECORD == bytes.len();
    (chain, is_whole)
}

/// The last word of a record behind one with this last word. It is computed for every record each time a thread is read,
/// so it is a few multiplications: it has to notice accidents, not forgers. Each word changes it reversibly, so one that is
/// wrong alone never goes unnoticed, and zeros do not sum up to zero.
fn checksum_of(before: u64, record: Record) -> u64 {
    [record.step.as_u64(), record.output.as_u64(), record.role].into_iter().fold(before, |sum, word| {
        // The odd constant of splitmix64: the golden ratio in 64 bits.
        let mixed = (sum ^ word).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ (mixed >> 32)
    })
}

/// The last word of the last of these records, which follow one with this last word.
fn checksum(before: u64, records: &[Record]) -> u64 {
    records.iter().fold(before, |sum, record| checksum_of(sum, *record))
}

/// Records that follow one with this last word, as bytes.
fn encode(records: &[Record], mut sum: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(records.len() * RECORD);
    for record in records {
        sum = checksum_of(sum, *record);
        for word in [record.step.as_u64(), record.output.as_u64(), record.role, sum] {
            bytes.extend(word.to_le_bytes());
        }
    }
    bytes
}

/// Appends behind exactly the known records; the cache is a help, so failures are silent.
fn append(home: &Home, thread: &ThreadId, known: &Chain, records: &[Record]) {
    let path = home.chain_file(thread);
    let open = || OpenOptions::new().append(true).create(true).open(&path);
    let file = open().or_else(|error| {
        if error.kind() != ErrorKind::NotFound {
            return Err(error);
        }
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        open()
    });
    let Ok(mut file) = file else { return };
    let size = file.metadata().map(|meta| meta.len()).unwrap_or(u64::MAX);
    if size == (known.len() * RECORD) as u64 {
        let _ = file.write_all(&encode(records, known.sum));
    }
}

fn rewrite(home: &Home, thread: &ThreadId, records: &[Record]) {
    let path = home.chain_file(thread);
    let Some(dir) = path.parent() else { return };
    if std::fs::create_dir_all(dir).is_err() {
        return;
    }
    // Not durable on purpose: it can be derived.
    let written = tempfile::NamedTempFile::new_in(dir).and_then(|mut file| {
        file.write_all(&encode(records, 0))?;
        Ok(file)
    });
    if let Ok(file) = written {
        let _ = file.persist(&path);
    }
}
