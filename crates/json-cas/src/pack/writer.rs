//! Writes a pack.

use std::hash::Hasher as _;
use std::io::{self, Write};
use std::time::SystemTime;

use twox_hash::XxHash64;

use super::format::{self, BLOCK_HEAD_LEN, PAGE_ENTRIES, PackEntry, PackFoot};
use crate::hash::NodeHash;

/// Size at which a block ends: large enough to compress similar texts together, small enough to read one object in a tenth of a
/// millisecond. A larger object gets its own block.
const BLOCK_LEN: usize = 128 << 10;

/// Nine compresses 40 MB a second and needs a tenth less space than the default. Higher levels are slow and save little.
const LEVEL: i32 = 9;

/// A pack that is being written. Objects that are added one after the other are read together.
pub(crate) struct PackWriter<W> {
    out: W,
    /// Bytes written.
    at: u64,
    sum: XxHash64,
    compressor: zstd::bulk::Compressor<'static>,
    /// Objects of the open block.
    block: Vec<u8>,
    /// The entries; those from `open` on are in the open block.
    entries: Vec<PackEntry>,
    open: usize,
    raw: u64,
}

/// A finished pack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FinishedPack {
    /// Checksum of the content, which is the name of the pack.
    pub(crate) name: NodeHash,
    /// Size of the file.
    pub(crate) size: u64,
}

impl<W: Write> PackWriter<W> {
    pub(crate) fn new(out: W) -> io::Result<PackWriter<W>> {
        let mut writer = PackWriter {
            out,
            at: 0,
            sum: XxHash64::with_seed(0),
            compressor: zstd::bulk::Compressor::new(LEVEL)?,
            block: Vec::new(),
            entries: Vec::new(),
            open: 0,
            raw: 0,
        };
        writer.write(&format::head())?;
        Ok(writer)
    }

    /// Number of objects.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds a new object of at most [`durable_files::regular::MAX_OBJECT`] bytes.
    pub(crate) fn add(&mut self, hash: NodeHash, bytes: &[u8], put_at: SystemTime) -> io::Result<()> {
        self.add_aged(hash, bytes, format::ms_of(put_at))
    }

    /// Like [`PackWriter::add`], with the time from another pack.
    pub(crate) fn add_aged(&mut self, hash: NodeHash, bytes: &[u8], put_at_ms: u64) -> io::Result<()> {
        if !self.block.is_empty() && self.block.len() + bytes.len() > BLOCK_LEN {
            self.end_block()?;
        }
        let size = |len: usize| u32::try_from(len).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge));
        let (at, len) = (size(self.block.len())?, size(bytes.len())?);
        self.block.extend_from_slice(bytes);
        self.entries.push(PackEntry { hash, block: self.at, at, len, put_at_ms });
        Ok(())
    }

    /// Adds a whole block of another pack as stored, including its head, with its entries.
    pub(crate) fn add_block(&mut self, stored: &[u8], entries: &[PackEntry]) -> io::Result<()> {
        self.end_block()?;
        let block = self.at;
        self.raw += entries.iter().map(|entry| u64::from(entry.len)).sum::<u64>();
        self.entries.extend(entries.iter().map(|entry| PackEntry { block, ..*entry }));
        self.open = self.entries.len();
        self.write(stored)
    }

    /// Writes the index and the foot.
    pub(crate) fn finish(mut self) -> io::Result<(W, FinishedPack)> {
        self.end_block()?;
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_unstable_by_key(|entry| entry.hash);
        let index = self.at;
        let mut fences = Vec::new();
        for page in entries.chunks(PAGE_ENTRIES) {
            fences.extend_from_slice(&page[0].hash.as_u64().to_le_bytes());
            let bytes = page.iter().flat_map(PackEntry::encode).collect();
            self.write(&format::summed(bytes))?;
        }
        let fences_at = self.at;
        self.write(&format::summed(fences))?;
        let name = NodeHash::from_u64(self.sum.finish());
        let foot = PackFoot { entries: entries.len() as u64, index, fences: fences_at, raw: self.raw, sum: name };
        self.write(&foot.encode())?;
        self.out.flush()?;
        Ok((self.out, FinishedPack { name, size: self.at }))
    }

    fn end_block(&mut self) -> io::Result<()> {
        if self.open == self.entries.len() {
            return Ok(());
        }
        let raw = std::mem::take(&mut self.block);
        let compressed = self.compressor.compress(&raw)?;
        let stored = if compressed.len() < raw.len() { &compressed } else { &raw };
        let mut bytes = Vec::with_capacity(BLOCK_HEAD_LEN + stored.len());
        for len in [stored.len(), raw.len()] {
            let len = u32::try_from(len).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
            bytes.extend_from_slice(&len.to_le_bytes());
        }
        let sum = block_sum(&bytes, stored).as_u64();
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes.extend_from_slice(stored);
        self.raw += raw.len() as u64;
        self.open = self.entries.len();
        self.write(&bytes)?;
        self.block = raw;
        self.block.clear();
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.write(bytes);
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }
}

/// Checksum of a block's lengths and stored bytes.
pub(super) fn block_sum(lengths: &[u8], stored: &[u8]) -> NodeHash {
    let mut hasher = XxHash64::with_seed(0);
    hasher.write(lengths);
    hasher.write(stored);
    NodeHash::from_u64(hasher.finish())
}
