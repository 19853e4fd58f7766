//! The file of a chain cache: how its records lie in it, and whether they are whole. Nothing here knows nodes or heads.
//!
//! A record is 40 bytes, little-endian u64s: the StepNode, its output, its detail, XXH64 of the role's name, and a checksum
//! of the last word of the record before (0 for the first), its position and these four.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
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

/// Records that stand one behind the other, up to the first that is damaged.
#[derive(Default)]
pub(super) struct Block {
    pub(super) records: Vec<Record>,
    pub(super) chained: Chained,
}

/// How records that stand one behind the other are tied to those around them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Chained {
    /// Checksum of the record before the first.
    pub(super) sum_before: u64,
    /// Checksum of the last that is whole.
    pub(super) sum: u64,
    /// Whether none is damaged.
    pub(super) is_whole: bool,
}

/// How many records a cache has; `None` when the last is torn.
pub(super) fn count(file: &File) -> io::Result<Option<usize>> {
    let bytes = file.metadata()?.len() as usize;
    Ok(bytes.is_multiple_of(RECORD).then_some(bytes / RECORD))
}

/// All records of a cache up to the first that is damaged; `None` when there is no cache.
pub(super) fn all(path: &Path) -> io::Result<Option<Block>> {
    match regular::read(path, regular::MAX_LIST) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        bytes => Ok(Some(decode(&bytes?, 0, 0))),
    }
}

/// The records from `first` up to `end` of a cache.
pub(super) fn block(file: &File, first: usize, end: usize) -> io::Result<Block> {
    let bytes = read(file, first, end)?;
    let (sum_before, bytes) = part(&bytes, first);
    Ok(decode(bytes, first, sum_before))
}

/// The positions of a role's steps among the records from `first` up to `end` of a cache.
pub(super) fn positions(file: &File, first: usize, end: usize, role: u64) -> io::Result<(Vec<usize>, Chained)> {
    let bytes = read(file, first, end)?;
    let (sum_before, bytes) = part(&bytes, first);
    let mut positions = Vec::new();
    let chained = walk(bytes, first, sum_before, |position, record| {
        if record.role == role {
            positions.push(position);
        }
    });
    Ok((positions, chained))
}

/// The bytes of these records, and of the one before them: its checksum is part of the next one's.
fn read(file: &File, first: usize, end: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; (end - first + usize::from(first > 0)) * RECORD];
    file.read_exact_at(&mut bytes, (first.saturating_sub(1) * RECORD) as u64)?;
    Ok(bytes)
}

/// What [`read`] gave, taken apart: the checksum before the first record, and the records.
fn part(bytes: &[u8], first: usize) -> (u64, &[u8]) {
    match bytes.split_first_chunk::<RECORD>() {
        Some((before, bytes)) if first > 0 => (words(before)[WORDS - 1], bytes),
        Some(_) | None => (0, bytes),
    }
}

/// The records of a part of a cache that begins with record `first`.
fn decode(bytes: &[u8], first: usize, sum_before: u64) -> Block {
    let mut records = Vec::with_capacity(bytes.len() / RECORD);
    let chained = walk(bytes, first, sum_before, |_, record| records.push(record));
    Block { records, chained }
}

/// Shows the records of a part of a cache, up to the first that is damaged.
#[inline]
fn walk(bytes: &[u8], first: usize, sum_before: u64, mut visit: impl FnMut(usize, Record)) -> Chained {
    let (whole, torn) = bytes.as_chunks::<RECORD>();
    let mut sum = sum_before;
    for (position, record) in (first..).zip(whole) {
        let [step, output, detail, role, sum_of_it] = words(record);
        let (step, output, detail) = (Hash::from_u64(step), Hash::from_u64(output), Hash::from_u64(detail));
        let record = Record { step, output, detail, role };
        if sum_of_it != checksum(sum, position, record) {
            return Chained { sum_before, sum, is_whole: false };
        }
        visit(position, record);
        sum = sum_of_it;
    }
    Chained { sum_before, sum, is_whole: torn.is_empty() }
}

/// The words of a record. Written out, because thousands are looked through where a role was never played, and a loop is
/// left one when a program is built to be small.
#[inline]
fn words(record: &[u8; RECORD]) -> [u64; WORDS] {
    let (words, _) = record.as_chunks::<8>();
    [words[0], words[1], words[2], words[3], words[4]].map(u64::from_le_bytes)
}

/// The last word of the record at a position, behind one with this last word. It is computed for every record each time it
/// is read, so it is a few multiplications: it has to notice accidents, not forgers. Each word changes it reversibly, so one
/// that is wrong alone never goes unnoticed, and zeros do not sum up to zero. With the position in it, the last record
/// tells whether any is missing or there twice.
#[inline]
fn checksum(before: u64, position: usize, record: Record) -> u64 {
    let mut sum = before;
    for word in [position as u64, record.step.as_u64(), record.output.as_u64(), record.detail.as_u64(), record.role] {
        // The odd constant of splitmix64: the golden ratio in 64 bits.
        let mixed = (sum ^ word).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        sum = mixed ^ (mixed >> 32);
    }
    sum
}

/// The last word of the last of these records, the first of which stands at a position behind one with this last word.
pub(super) fn sum_of(records: &[Record], first: usize, before: u64) -> u64 {
    (first..).zip(records).fold(before, |sum, (position, record)| checksum(sum, position, *record))
}

/// Records from a position on, behind one with this last word, as bytes.
fn encode(records: &[Record], first: usize, mut sum: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(records.len() * RECORD);
    for (position, record) in (first..).zip(records) {
        sum = checksum(sum, position, *record);
        for word in [record.step.as_u64(), record.output.as_u64(), record.detail.as_u64(), record.role, sum] {
            bytes.extend(word.to_le_bytes());
        }
    }
    bytes
}

/// Appends behind exactly as many records as are known; the cache is a help, so failures are silent.
pub(super) fn append(path: &Path, known: usize, sum: u64, records: &[Record]) {
    let open = || regular::open_with(OpenOptions::new().append(true).create(true), path);
    let file = open().or_else(|error| {
        if error.kind() != ErrorKind::NotFound {
            return Err(error);
        }
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        open()
    });
    let Ok(mut file) = file else { return };
    let size = file.metadata().map(|meta| meta.len()).unwrap_or(u64::MAX);
    if size == (known * RECORD) as u64 {
        let _ = file.write_all(&encode(records, known, sum));
    }
}

/// Writes a cache anew; failures are silent here too.
pub(super) fn rewrite(path: &Path, records: &[Record]) {
    let Some(dir) = path.parent() else { return };
    if std::fs::create_dir_all(dir).is_err() {
        return;
    }
    // Not durable on purpose: it can be derived.
    let written = tempfile::NamedTempFile::new_in(dir).and_then(|mut file| {
        file.write_all(&encode(records, 0, 0))?;
        Ok(file)
    });
    if let Ok(file) = written {
        let _ = file.persist(path);
    }
}
