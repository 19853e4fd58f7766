//! Reads a pack.

use std::collections::HashMap;
use std::fs::File;
use std::hash::Hasher as _;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use durable_files::regular::{self, MAX_OBJECT};
use durable_files::{FileError, regular::RegularFileError};
use parking_lot::Mutex;
use twox_hash::XxHash64;

use super::format::{
    self, BLOCK_HEAD_LEN, ENTRY_LEN, FOOT_LEN, HEAD_LEN, PAGE_ENTRIES, PackEntry, PackFoot, PackFormatError, SUM_LEN,
};
use super::writer::block_sum;
use crate::error::StoreError;
use crate::hash::{HashPrefix, NodeHash};

/// Most index pages that are cached: 16 MB. A command that reads more than that reads them in order.
const MAX_PAGES: usize = 5_000;

/// Bytes per read when a whole pack is read.
const CHUNK: usize = 1 << 20;

/// Why a pack can't be read.
#[derive(Debug)]
pub(crate) enum PackError {
    /// The system reported an error.
    Io(FileError),
    /// A newer version of this library wrote the pack.
    Newer {
        path: PathBuf,
        /// The format of the pack.
        version: u32,
    },
    /// The pack is not as it was written.
    Damaged {
        path: PathBuf,
        /// The problem.
        reason: String,
    },
}

impl PackError {
    /// The error for a caller that requested this object.
    pub(crate) fn into_store_error(self, hash: NodeHash) -> StoreError {
        match self {
            PackError::Io(_) | PackError::Newer { .. } => self.into(),
            PackError::Damaged { path, reason } => {
                StoreError::Corrupt { hash, reason: format!("the pack {} is damaged: {reason}", path.display()) }
            }
        }
    }

    fn is_missing(error: &FileError) -> bool {
        error.source.kind() == io::ErrorKind::NotFound
    }
}

impl From<PackError> for StoreError {
    fn from(error: PackError) -> StoreError {
        match error {
            PackError::Io(error) => error.into(),
            PackError::Newer { path, version } => StoreError::NewerFormat { path, version: version.into() },
            PackError::Damaged { path, reason } => StoreError::DamagedPack { path, reason },
        }
    }
}

/// An open pack. It can be read while it is open, even after it was removed.
#[derive(Debug)]
pub(crate) struct PackFile {
    name: NodeHash,
    path: PathBuf,
    file: File,
    size: u64,
    foot: PackFoot,
    fences: Vec<NodeHash>,
    pages: Mutex<HashMap<usize, Arc<[u8]>>>,
}

impl PackFile {
    /// Opens a pack; `None` if the file does not exist.
    pub(crate) fn open(path: &Path, name: NodeHash) -> Result<Option<PackFile>, PackError> {
        let io = |error: FileError| PackError::Io(error);
        let file = match regular::open(path).map_err(FileError::failed_to("open", path)) {
            Err(error) if PackError::is_missing(&error) => return Ok(None),
            // The path is not a regular file.
            Err(error) if RegularFileError::from_io_error(&error.source).is_some() => {
                return Err(PackError::Damaged { path: path.to_owned(), reason: error.source.to_string() });
            }
            other => other.map_err(io)?,
        };
        let size = file.metadata().map_err(FileError::failed_to("look at", path)).map_err(io)?.len();
        let foot = PackFoot { entries: 0, index: 0, fences: 0, raw: 0, sum: name };
        let mut pack =
            PackFile { name, path: path.to_owned(), file, size, foot, fences: Vec::new(), pages: Mutex::default() };
        if size < (HEAD_LEN + FOOT_LEN) as u64 {
            return Err(pack.damaged(format!("it has {size} bytes")));
        }
        let head = format::check_head(&pack.read(0, HEAD_LEN)?);
        let foot = PackFoot::decode(&pack.read(size - FOOT_LEN as u64, FOOT_LEN)?, size);
        pack.foot = match (head, foot) {
            (Ok(()), Ok(foot)) => foot,
            // The head has no checksum, so a newer version in only one of the two means damage.
            (Err(PackFormatError::Newer(head)), Err(PackFormatError::Newer(foot))) if head == foot => {
                return Err(pack.unread(PackFormatError::Newer(head)));
            }
            (Err(PackFormatError::Newer(version)), _) | (_, Err(PackFormatError::Newer(version))) => {
                return Err(pack.damaged(format!("only its header or only its footer names version {version}")));
            }
            (Err(unread), _) | (_, Err(unread)) => return Err(pack.unread(unread)),
        };
        if pack.foot.sum != name {
            return Err(pack.damaged(format!("it is pack {}", pack.foot.sum)));
        }
        // The length was checked against the size of the file, so this can't ask for too much memory.
        let fences = pack.read(pack.foot.fences, pack.foot.pages() as usize * 8 + SUM_LEN)?;
        let fences = format::without_sum(&fences).ok_or_else(|| pack.damaged("its fences have another checksum"))?;
        pack.fences = fences.chunks_exact(8).map(|fence| format::hash_at(fence, 0)).collect();
        Ok(Some(pack))
    }

    pub(crate) fn name(&self) -> NodeHash {
        self.name
    }

    /// Size of the file.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Size of the objects, uncompressed.
    pub(crate) fn raw(&self) -> u64 {
        self.foot.raw
    }

    /// Number of objects.
    pub(crate) fn len(&self) -> u64 {
        self.foot.entries
    }

    /// The entry of an object.
    pub(crate) fn find(&self, hash: NodeHash) -> Result<Option<PackEntry>, PackError> {
        let Some(page) = self.fences.partition_point(|fence| *fence <= hash).checked_sub(1) else { return Ok(None) };
        let page = self.page(page)?;
        let (mut low, mut high) = (0, page.len() / ENTRY_LEN);
        while low < high {
            let middle = usize::midpoint(low, high);
            let at = middle * ENTRY_LEN;
            match format::hash_at(&page, at).cmp(&hash) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Ok(Some(PackEntry::decode(&page[at..at + ENTRY_LEN]))),
            }
        }
        Ok(None)
    }

    /// All entries in order of their hashes, optionally only with a prefix.
    pub(crate) fn entries(&self, prefix: Option<&HashPrefix>) -> Result<Vec<PackEntry>, PackError> {
        let (first, last) = match prefix.map(HashPrefix::range) {
            None => (0, self.fences.len()),
            Some(range) => (
                self.fences.partition_point(|fence| fence <= range.start()).saturating_sub(1),
                self.fences.partition_point(|fence| fence <= range.end()),
            ),
        };
        let mut entries = Vec::new();
        for page in first..last {
            let all = self.page(page)?;
            let decoded = all.chunks_exact(ENTRY_LEN).map(PackEntry::decode);
            entries.extend(decoded.filter(|entry| prefix.is_none_or(|prefix| prefix.matches(entry.hash))));
        }
        Ok(entries)
    }

    /// The bytes of all objects in a block.
    pub(crate) fn block(&self, at: u64) -> Result<Vec<u8>, PackError> {
        let stored = self.stored_block(at)?;
        let raw = format::u32_at(&stored, 4) as usize;
        let stored = &stored[BLOCK_HEAD_LEN..];
        if stored.len() == raw {
            return Ok(stored.to_vec());
        }
        let objects = zstd::bulk::decompress(stored, raw);
        let objects = objects.map_err(|error| self.damaged(format!("the block at {at}: {error}")))?;
        if objects.len() == raw { Ok(objects) } else { Err(self.damaged(format!("the block at {at} is shorter"))) }
    }

    /// A block as stored, including its head.
    pub(crate) fn stored_block(&self, at: u64) -> Result<Vec<u8>, PackError> {
        let room = self.foot.index.saturating_sub(at);
        if at < HEAD_LEN as u64 || room < BLOCK_HEAD_LEN as u64 {
            return Err(self.damaged(format!("no block can be at {at}")));
        }
        let head = self.read(at, BLOCK_HEAD_LEN)?;
        let (stored, raw) = (format::u32_at(&head, 0), format::u32_at(&head, 4));
        if u64::from(stored) > room - BLOCK_HEAD_LEN as u64 || u64::from(raw) > MAX_OBJECT || stored > raw {
            return Err(self.damaged(format!("the block at {at} has impossible lengths")));
        }
        let bytes = self.read(at, BLOCK_HEAD_LEN + stored as usize)?;
        if block_sum(&bytes[..8], &bytes[BLOCK_HEAD_LEN..]) != format::hash_at(&bytes, 8) {
            return Err(self.damaged(format!("the block at {at} has another checksum")));
        }
        Ok(bytes)
    }

    /// The bytes of an object within its block.
    pub(crate) fn object<'b>(&self, entry: &PackEntry, block: &'b [u8]) -> Result<&'b [u8], PackError> {
        let (at, len) = (entry.at as usize, entry.len as usize);
        let outside = || self.damaged(format!("object {} is outside of the block at {}", entry.hash, entry.block));
        block.get(at..at.saturating_add(len)).ok_or_else(outside)
    }

    /// Checks that every byte is as it was written.
    pub(crate) fn check(&self) -> Result<(), PackError> {
        let mut sum = XxHash64::with_seed(0);
        let end = self.size - FOOT_LEN as u64;
        let mut at = 0;
        while at < end {
            let part = usize::try_from(end - at).map_or(CHUNK, |left| left.min(CHUNK));
            sum.write(&self.read(at, part)?);
            at += part as u64;
        }
        if sum.finish() == self.foot.sum.as_u64() { Ok(()) } else { Err(self.damaged("it has another checksum")) }
    }

    /// A page of the index, without its checksum.
    fn page(&self, number: usize) -> Result<Arc<[u8]>, PackError> {
        let mut pages = self.pages.lock();
        if let Some(page) = pages.get(&number) {
            return Ok(page.clone());
        }
        let full = PAGE_ENTRIES * ENTRY_LEN + SUM_LEN;
        let at = self.foot.index + (number * full) as u64;
        let len = full.min(usize::try_from(self.foot.fences.saturating_sub(at)).unwrap_or(full));
        let bytes = self.read(at, len)?;
        let page = format::without_sum(&bytes);
        let page = page.ok_or_else(|| self.damaged(format!("page {number} of its index has another checksum")))?;
        let page: Arc<[u8]> = page.into();
        if pages.len() >= MAX_PAGES {
            pages.clear();
        }
        pages.insert(number, page.clone());
        Ok(page)
    }

    fn read(&self, at: u64, len: usize) -> Result<Vec<u8>, PackError> {
        let mut bytes = vec![0; len];
        match self.file.read_exact_at(&mut bytes, at) {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(self.damaged("it was cut")),
            Err(error) => Err(PackError::Io(FileError::failed_to("read", &self.path)(error))),
        }
    }

    fn unread(&self, unread: PackFormatError) -> PackError {
        match unread {
            PackFormatError::Newer(version) => PackError::Newer { path: self.path.clone(), version },
            PackFormatError::Damaged(reason) => self.damaged(reason),
        }
    }

    fn damaged(&self, reason: impl Into<String>) -> PackError {
        PackError::Damaged { path: self.path.clone(), reason: reason.into() }
    }
}
