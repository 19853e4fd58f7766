//! The file format of a chain cache: the layout of its records, and how damage is detected. Nothing here knows nodes or heads.
//!
//! A record is 40 bytes, as little-endian u64s: the StepNode, its output, its detail, XXH64 of the role's name, and a checksum. The
//! checksum covers the previous record's last word (0 for the first record), the record's position and its other four words.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use durable_files::regular;
use json_cas::NodeHash;
use uwf_core::node::StepNode;

/// Words of a record, including the checksum at the end.
const WORDS: usize = 5;

/// Bytes of a record.
pub(super) const RECORD: usize = WORDS * 8;

/// One step in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The StepNode.
    pub step: NodeHash,
    /// Its output.
    pub output: NodeHash,
    /// Its detail.
    pub detail: NodeHash,
    /// [`role_key`] of its role.
    pub role: u64,
}

impl Record {
    /// The record of a StepNode.
    pub fn from_step_node(hash: NodeHash, step: &StepNode) -> Record {
        Record { step: hash, output: step.output, detail: step.detail, role: role_key(&step.role) }
    }
}

/// The key of a role in a record.
pub fn role_key(role: &str) -> u64 {
    json_cas::xxh64(role.as_bytes()).as_u64()
}

/// The contents of a cache, up to the first damaged record.
#[derive(Default)]
pub(super) struct CachedChain {
    pub(super) records: Vec<Record>,
    /// Checksum of the last record.
    pub(super) sum: u64,
    /// Whether the file ends there, without damaged data.
    pub(super) is_whole: bool,
}

/// Reads a cache; `None` if it does not exist.
pub(super) fn read(path: &Path) -> io::Result<Option<CachedChain>> {
    match regular::read(path, regular::MAX_LIST) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        bytes => Ok(Some(decode(&bytes?))),
    }
}

fn decode(bytes: &[u8]) -> CachedChain {
    let (whole, torn) = bytes.as_chunks::<RECORD>();
    let mut cached = CachedChain { records: Vec::with_capacity(whole.len()), sum: 0, is_whole: torn.is_empty() };
    for (position, record) in whole.iter().enumerate() {
        let (words, _) = record.as_chunks::<8>();
        let [step, output, detail, role, sum] = std::array::from_fn(|word| u64::from_le_bytes(words[word]));
        let (step, output, detail) = (NodeHash::from_u64(step), NodeHash::from_u64(output), NodeHash::from_u64(detail));
        let record = Record { step, output, detail, role };
        if sum != checksum(cached.sum, position, record) {
            return CachedChain { is_whole: false, ..cached };
        }
        cached.records.push(record);
        cached.sum = sum;
    }
    cached
}

/// The checksum of the record at a position, which follows a record with the checksum `before`. It detects accidents, not forgery, and is
/// computed for every record of a thread, so it takes only a few multiplications. Each word changes it reversibly, so a single wrong word
/// is always detected, and a record of zeros does not have the checksum zero. The position in it reveals missing and duplicate records.
fn checksum(before: u64, position: usize, record: Record) -> u64 {
    let mut sum = before;
    for word in [position as u64, record.step.as_u64(), record.output.as_u64(), record.detail.as_u64(), record.role] {
        // The odd constant of splitmix64: the golden ratio in 64 bits.
        let mixed = (sum ^ word).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        sum = mixed ^ (mixed >> 32);
    }
    sum
}

/// The bytes of records from position `first`, which follow a record with this checksum; and the checksum of the last record.
fn encode(records: &[Record], first: usize, mut sum: u64) -> (Vec<u8>, u64) {
    let mut bytes = Vec::with_capacity(records.len() * RECORD);
    for (position, record) in (first..).zip(records) {
        sum = checksum(sum, position, *record);
        for word in [record.step.as_u64(), record.output.as_u64(), record.detail.as_u64(), record.role, sum] {
            bytes.extend(word.to_le_bytes());
        }
    }
    (bytes, sum)
}

/// Appends records if the file has exactly `known` records, and returns the last checksum. The cache is optional, so failures are silent.
pub(super) fn append(path: &Path, known: usize, sum: u64, records: &[Record]) -> u64 {
    let (bytes, sum) = encode(records, known, sum);
    if records.is_empty() {
        return sum;
    }
    let write = || -> io::Result<()> {
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        let mut file = regular::open_with(OpenOptions::new().append(true).create(true), path)?;
        if file.metadata()?.len() == (known * RECORD) as u64 {
            file.write_all(&bytes)?;
        }
        Ok(())
    };
    let _ = write();
    sum
}

/// Rewrites a cache, and returns the checksum of its last record. Failures are silent here as well.
pub(super) fn rewrite(path: &Path, records: &[Record]) -> u64 {
    let (bytes, sum) = encode(records, 0, 0);
    let write = || -> io::Result<()> {
        let dir = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(dir)?;
        // Deliberately not durable: it can be derived.
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(&bytes)?;
        file.persist(path)?;
        Ok(())
    };
    let _ = write();
    sum
}
