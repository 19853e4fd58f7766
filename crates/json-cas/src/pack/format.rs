//! The bytes of a pack.
//!
//! All numbers are little-endian, all checksums XXH64 (seed 0). The parts in order:
//!
//! | part | bytes |
//! |---|---|
//! | head | `JCASPACK`, version u32, 0 u32 |
//! | each block | stored length u32, length u32, checksum u64 of both lengths and the stored bytes, the objects: a zstd frame, or uncompressed if both lengths are equal |
//! | each page of the index | up to 128 entries in order of their hashes, checksum u64 of the entries |
//! | each entry | hash u64, offset of its block u48, offset in the block u32, length u32, when it was put, in Unix milliseconds u48 |
//! | fences | the first hash of each page u64, checksum u64 of the fences |
//! | foot | `JCASPEND`, version u32, 0 u32, entries u64, offset of the index u64, offset of the fences u64, length of all objects u64, checksum u64 of everything before the foot, checksum u64 of the foot before this |

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::hash::{NodeHash, xxh64};

/// Version of the format.
const VERSION: u32 = 1;

/// Bytes of the head.
pub(super) const HEAD_LEN: usize = 16;

/// Bytes before the objects of a block.
pub(super) const BLOCK_HEAD_LEN: usize = 16;

/// Entries of each page but the last one. Finding one entry reads a whole page.
pub(super) const PAGE_ENTRIES: usize = 128;

/// Bytes of an entry.
pub(super) const ENTRY_LEN: usize = 28;

/// Bytes of a checksum.
pub(super) const SUM_LEN: usize = 8;

/// Bytes of the foot.
pub(super) const FOOT_LEN: usize = 64;

/// Largest six-byte number.
const U48_MAX: u64 = (1 << 48) - 1;

const HEAD_MAGIC: [u8; 8] = *b"JCASPACK";
const FOOT_MAGIC: [u8; 8] = *b"JCASPEND";

/// The place of an object in a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PackEntry {
    pub(crate) hash: NodeHash,
    /// Offset of the object's block in the file.
    pub(crate) block: u64,
    /// Offset of the object's first byte in the block.
    pub(crate) at: u32,
    /// Size of the object.
    pub(crate) len: u32,
    /// When the object was put, in Unix milliseconds.
    pub(crate) put_at_ms: u64,
}

impl PackEntry {
    pub(super) fn encode(&self) -> [u8; ENTRY_LEN] {
        let mut bytes = [0; ENTRY_LEN];
        bytes[..8].copy_from_slice(&self.hash.as_u64().to_le_bytes());
        bytes[8..14].copy_from_slice(&self.block.to_le_bytes()[..6]);
        bytes[14..18].copy_from_slice(&self.at.to_le_bytes());
        bytes[18..22].copy_from_slice(&self.len.to_le_bytes());
        bytes[22..].copy_from_slice(&self.put_at_ms.to_le_bytes()[..6]);
        bytes
    }

    /// Decodes an entry from exactly its bytes.
    pub(super) fn decode(bytes: &[u8]) -> PackEntry {
        PackEntry {
            hash: hash_at(bytes, 0),
            block: u48_at(bytes, 8),
            at: u32_at(bytes, 14),
            len: u32_at(bytes, 18),
            put_at_ms: u48_at(bytes, 22),
        }
    }

    /// When the object was put, at the latest.
    pub(crate) fn put_at(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.put_at_ms)
    }
}

/// Unix milliseconds, rounded up: an object counts as younger than it is, never as older.
pub(super) fn ms_of(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX).min(U48_MAX)
}

pub(super) fn head() -> [u8; HEAD_LEN] {
    let mut bytes = [0; HEAD_LEN];
    bytes[..8].copy_from_slice(&HEAD_MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

/// Why the head or the foot of a pack can't be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PackFormatError {
    /// A newer version of this library wrote the pack, in this format.
    Newer(u32),
    /// The pack is not as it was written.
    Damaged(String),
}

impl From<&str> for PackFormatError {
    fn from(reason: &str) -> PackFormatError {
        PackFormatError::Damaged(reason.to_owned())
    }
}

/// Whether a version is a future one. A number that no version will ever have means damage.
fn is_newer(version: u32) -> bool {
    (VERSION + 1..=0xFF).contains(&version)
}

pub(super) fn check_head(bytes: &[u8]) -> Result<(), PackFormatError> {
    if bytes == head() {
        return Ok(());
    }
    match u32_at(bytes, 8) {
        version if bytes[..8] == HEAD_MAGIC && is_newer(version) => Err(PackFormatError::Newer(version)),
        _ => Err("it does not begin as a pack of version 1".into()),
    }
}

/// The content of a pack's foot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PackFoot {
    pub(super) entries: u64,
    pub(super) index: u64,
    pub(super) fences: u64,
    /// Length of all objects.
    pub(super) raw: u64,
    /// Checksum of everything before the foot.
    pub(super) sum: NodeHash,
}

impl PackFoot {
    pub(super) fn pages(&self) -> u64 {
        self.entries.div_ceil(PAGE_ENTRIES as u64)
    }

    pub(super) fn encode(&self) -> [u8; FOOT_LEN] {
        let mut bytes = [0; FOOT_LEN];
        bytes[..8].copy_from_slice(&FOOT_MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let numbers = [self.entries, self.index, self.fences, self.raw, self.sum.as_u64()];
        for (place, number) in bytes[16..56].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let sum = xxh64(&bytes[..56]).as_u64();
        bytes[56..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads the foot of a file of this size, and checks that its numbers are possible.
    pub(super) fn decode(bytes: &[u8], size: u64) -> Result<PackFoot, PackFormatError> {
        if bytes[..8] != FOOT_MAGIC {
            return Err("it does not end as a pack does".into());
        }
        if xxh64(&bytes[..56]) != hash_at(bytes, 56) {
            return Err("its foot has another checksum".into());
        }
        match u32_at(bytes, 8) {
            VERSION => {}
            version if is_newer(version) => return Err(PackFormatError::Newer(version)),
            version => return Err(PackFormatError::Damaged(format!("it is a pack of version {version}"))),
        }
        let number = |at: usize| hash_at(bytes, at).as_u64();
        let foot = PackFoot {
            entries: number(16),
            index: number(24),
            fences: number(32),
            raw: number(40),
            sum: hash_at(bytes, 48),
        };
        if foot.fits(size) { Ok(foot) } else { Err("its foot does not fit its size".into()) }
    }

    fn fits(&self, size: u64) -> bool {
        let index = || self.entries.checked_mul(ENTRY_LEN as u64)?.checked_add(self.pages() * SUM_LEN as u64);
        let fences = self.pages() * 8 + SUM_LEN as u64;
        let end = || self.index.checked_add(index()?).filter(|end| *end == self.fences)?.checked_add(fences);
        self.index >= HEAD_LEN as u64 && end().and_then(|end| end.checked_add(FOOT_LEN as u64)) == Some(size)
    }
}

/// Reads eight bytes as a number, for hashes and checksums.
pub(super) fn hash_at(bytes: &[u8], at: usize) -> NodeHash {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    NodeHash::from_u64(u64::from_le_bytes(number))
}

fn u48_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number[..6].copy_from_slice(&bytes[at..at + 6]);
    u64::from_le_bytes(number)
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

/// Appends a checksum to bytes.
pub(super) fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = xxh64(&bytes).as_u64();
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// Removes the checksum from bytes; `None` if it is wrong.
pub(super) fn without_sum(bytes: &[u8]) -> Option<&[u8]> {
    let (content, _) = bytes.split_at_checked(bytes.len().checked_sub(SUM_LEN)?)?;
    (xxh64(content) == hash_at(bytes, content.len())).then_some(content)
}
