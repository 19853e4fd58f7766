//! The file of a chain cache: how its records lie in it, and whether they are whole. Nothing here knows nodes or heads.
//!
//! A record is 40 bytes, little-endian u64s: the StepNode, its output, its detail, XXH64 of the role's name, and a checksum
//! of the last word of the record before (0 for the first), its position and these four.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use durable_files::regular;
use json_cas::Hash;
use uwf_core::node::StepNode;

/// Words of a record, the checksum being the last.
const WORDS: usize = 5;

/// Bytes of a record.
pub(super) const RECORD: usize = WORDS * 8;

/// One step as the cache knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The StepNode.
    pub step: Hash,
    /// Its output.
    pub output: Hash,
    /// Its detail.
    pub detail: Hash,
    /// [`role_key`] of its role.
    pub role: u64,
}

impl Record {
    /// The record of a StepNode.
    pub fn of(hash: Hash, step: &StepNode) -> Record {
        Record { step: hash, output: step.output, detail: step.detail, role: role_key(&step.role) }
    }
}

/// How a role is named in a record.
pub fn role_key(role: &str) -> u64 {
    json_cas::xxh64(role.as_bytes()).as_u64()
}

/// What a cache has, up to the first record that is damaged.
#[derive(Default)]
pub(super) struct Cached {
    pub(super) records: Vec<Record>,
    /// Checksum of the last of them.
    pub(super) sum: u64,
    /// Whether there is nothing damaged behind them.
    pub(super) is_whole: bool,
}

/// Reads a cache; `None` if there is none.
pub(super) fn read(path: &Path) -> io::Result<Option<Cached>> {
    match regular::read(path, regular::MAX_LIST) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        bytes => Ok(Some(decode(&bytes?))),
    }
}

fn decode(bytes: &[u8]) -> Cached {
    let (whole, torn) = bytes.as_chunks::<RECORD>();
    let mut cached = Cached { records: Vec::with_capacity(whole.len()), sum: 0, is_whole: torn.is_empty() };
    for (position, record) in whole.iter().enumerate() {
        let (words, _) = record.as_chunks::<8>();
        let [step, output, detail, role, sum] = std::array::from_fn(|word| u64::from_le_bytes(words[word]));
        let (step, output, detail) = (Hash::from_u64(step), Hash::from_u64(output), Hash::from_u64(detail));
        let record = Record { step, output, detail, role };
        if sum != checksum(cached.sum, position, record) {
            return Cached { is_whole: false, ..cached };
        }
        cached.records.push(record);
        cached.sum = sum;
    }
    cached
}

/// The last word of the record at a position, behind one with this last word. It must notice accidents, not forgers, and
/// is computed for every record of a thread: a few multiplications. Each word changes it reversibly, so one that is wrong
/// alone never goes unnoticed, and zeros do not sum up to zero. The position in it shows whether a record is missing or there
/// twice.
fn checksum(before: u64, position: usize, record: Record) -> u64 {
    let mut sum = before;
    for word in [position as u64, record.step.as_u64(), record.output.as_u64(), record.detail.as_u64(), record.role] {
        // The odd constant of splitmix64: the golden ratio in 64 bits.
        let mixed = (sum ^ word).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        sum = mixed ^ (mixed >> 32);
    }
    sum
}

/// Records from a position on, behind one with this checksum, as bytes; and the checksum of the last.
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

/// Appends behind exactly as many records as are known, and gives the checksum of the last. The cache is a help, so
/// failures are silent.
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

/// Writes a cache anew, and gives the checksum of its last record; failures are silent here too.
pub(super) fn rewrite(path: &Path, records: &[Record]) -> u64 {
    let (bytes, sum) = encode(records, 0, 0);
    let write = || -> io::Result<()> {
        let dir = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(dir)?;
        // Not durable on purpose: it can be derived.
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(&bytes)?;
        file.persist(path)?;
        Ok(())
    };
    let _ = write();
    sum
}
