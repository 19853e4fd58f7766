//! Reclaims the space of removed objects, and keeps the number of packs small.
//!
//! A new pack replaces old ones. It contains all of their objects that still count, so readers don't notice.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use durable_files::{FileError, FileLock, UnpublishedFile};

use super::file::PackFile;
use super::format::PackEntry;
use super::set::{PackSet, PackSetView};
use super::writer::PackWriter;
use crate::error::StoreError;
use crate::hash::NodeHash;
use crate::objects::ReclaimScope;

/// Fraction of a pack that may be gone: a quarter.
const GONE_PART: u64 = 4;

/// Most objects that may be gone and still be in packs, because each reader reads their names.
const MAX_GONE: usize = 10_000;

/// Packs up to this size are always merged.
const SMALL: u64 = 256 << 10;

/// How much of a pack is gone.
struct PackWaste {
    pack: Arc<PackFile>,
    gone: u64,
    gone_bytes: u64,
}

impl PackWaste {
    fn measure(pack: &Arc<PackFile>, view: &PackSetView) -> Result<PackWaste, StoreError> {
        let mut used = PackWaste { pack: pack.clone(), gone: 0, gone_bytes: 0 };
        for hash in view.gone() {
            if let Some(entry) = pack.find(*hash)? {
                used.gone += 1;
                used.gone_bytes += u64::from(entry.len);
            }
        }
        Ok(used)
    }

    fn is_worthwhile(&self) -> bool {
        self.gone > 0 && (self.gone * GONE_PART >= self.pack.len() || self.gone_bytes * GONE_PART >= self.pack.raw())
    }
}

/// Rewrites packs with enough gone objects, and merges small packs.
pub(crate) fn reclaim(packs: &PackSet, extent: ReclaimScope<'_>) -> Result<(), StoreError> {
    if !packs.are_used()? {
        return Ok(());
    }
    let lock = packs.lock()?;
    packs.adopt(&lock)?;
    packs.remove_old(&lock)?;
    packs.remove_old_marks();
    let view = packs.view()?;
    // A damaged pack is left alone, because the user may have a backup. It does not prevent work on the others.
    let mut uses: Vec<PackWaste> =
        view.packs().iter().filter_map(|pack| PackWaste::measure(pack, &view).ok()).collect();
    let is_too_much = view.gone().len() > MAX_GONE;
    if extent == ReclaimScope::Nothing {
        return Ok(());
    }
    let is_chosen = |used: &&PackWaste| match extent {
        ReclaimScope::Nothing => false,
        ReclaimScope::These(hashes) => hashes.iter().any(|hash| is_gone_in(*hash, &used.pack, &view)),
        ReclaimScope::Worthwhile => used.is_worthwhile() || (is_too_much && used.gone > 0),
    };
    let chosen = loop {
        let mut chosen: Vec<NodeHash> = uses.iter().filter(is_chosen).map(|used| used.pack.name()).collect();
        if extent == ReclaimScope::Worthwhile {
            chosen.extend(small(&uses));
        }
        let known = uses.len();
        uses.retain(|used| !chosen.contains(&used.pack.name()) || used.pack.check().is_ok());
        if uses.len() == known {
            break chosen;
        }
    };
    if chosen.is_empty() {
        return Ok(());
    }
    // In the order of the view: if an object is in two packs, the newer copy counts.
    let old: Vec<Arc<PackFile>> = view.packs().iter().filter(|pack| chosen.contains(&pack.name())).cloned().collect();
    let new = merged(packs, &lock, &old, &view)?;
    packs.exchange(&lock, new, &chosen)?;
    packs.remove_old(&lock)
}

/// Whether a pack contains this object although it is gone. `false` if the pack can't be read.
fn is_gone_in(hash: NodeHash, pack: &PackFile, view: &PackSetView) -> bool {
    view.gone().contains(&hash) && matches!(pack.find(hash), Ok(Some(_)))
}

/// Packs to merge. Each pack that is left out is not small, and more than twice as large as all smaller ones together. So there are never
/// many packs, and an object is seldom copied.
fn small(uses: &[PackWaste]) -> Vec<NodeHash> {
    let mut by_size: Vec<&PackWaste> = uses.iter().collect();
    by_size.sort_by_key(|used| used.pack.size());
    let (mut sum, mut take) = (0, 0);
    for (index, used) in by_size.iter().enumerate() {
        if index > 0 && used.pack.size() <= SMALL.max(2 * sum) {
            take = index + 1;
        }
        sum += used.pack.size();
    }
    by_size[..take].iter().map(|used| used.pack.name()).collect()
}

/// Writes a pack with the objects of other packs that still count; `None` if there are none. The new pack does not count yet.
fn merged(
    packs: &PackSet,
    _lock: &FileLock,
    old: &[Arc<PackFile>],
    view: &PackSetView,
) -> Result<Option<NodeHash>, StoreError> {
    let dir = packs.dir();
    let failed = |error: io::Error| FileError::failed_to("write a pack in", dir)(error);
    let mut writer = PackWriter::new(UnpublishedFile::create_in(dir)?).map_err(failed)?;
    let mut added = HashSet::new();
    for pack in old {
        for (all, counts) in blocks(pack, view, &mut added)? {
            if counts.len() == all {
                writer.add_block(&pack.stored_block(counts[0].block)?, &counts).map_err(failed)?;
            } else if let Some(first) = counts.first() {
                let block = pack.block(first.block)?;
                for entry in &counts {
                    writer.add_aged(entry.hash, pack.object(entry, &block)?, entry.put_at_ms).map_err(failed)?;
                }
            }
        }
    }
    if writer.len() == 0 {
        return Ok(None);
    }
    let (file, written) = writer.finish().map_err(failed)?;
    let path = packs.path(written.name);
    file.publish(&path.file_name().unwrap_or_default().to_string_lossy())?;
    if let Err(error) = packs.open(written.name).and_then(|new| verify(&new, old, &added)) {
        // Remove it, so that no process finds it and makes it count.
        let _ = std::fs::remove_file(&path);
        return Err(error);
    }
    Ok(Some(written.name))
}

/// The blocks of a pack in order: the number of objects in each, and the entries that count and were not added yet.
fn blocks(
    pack: &PackFile,
    view: &PackSetView,
    added: &mut HashSet<NodeHash>,
) -> Result<Vec<(usize, Vec<PackEntry>)>, StoreError> {
    let mut entries = pack.entries(None)?;
    entries.sort_unstable_by_key(|entry| (entry.block, entry.at));
    let blocks = entries.chunk_by(|one, next| one.block == next.block);
    let counting = |block: &[PackEntry]| {
        let mut counts = block.to_vec();
        counts.retain(|entry| !view.gone().contains(&entry.hash) && added.insert(entry.hash));
        (block.len(), counts)
    };
    Ok(blocks.map(counting).collect())
}

/// Compares every object of a new pack with its source.
fn verify(new: &PackFile, old: &[Arc<PackFile>], added: &HashSet<NodeHash>) -> Result<(), StoreError> {
    new.check()?;
    let mut seen = HashSet::new();
    for pack in old {
        let mut entries = pack.entries(None)?;
        entries.retain(|entry| added.contains(&entry.hash) && seen.insert(entry.hash));
        entries.sort_unstable_by_key(|entry| (entry.block, entry.at));
        let (mut theirs, mut ours) = ((0, Vec::new()), (0, Vec::new()));
        for entry in entries {
            let copy = new.find(entry.hash)?;
            let lost = || StoreError::Corrupt { hash: entry.hash, reason: "its copy in a new pack differs".to_owned() };
            let copy = copy.ok_or_else(lost)?;
            read_block(pack, entry.block, &mut theirs)?;
            read_block(new, copy.block, &mut ours)?;
            if pack.object(&entry, &theirs.1)? != new.object(&copy, &ours.1)? {
                return Err(lost());
            }
        }
    }
    Ok(())
}

/// Reads a block, unless it is the last one that was read. No block begins at 0.
fn read_block(pack: &PackFile, at: u64, last: &mut (u64, Vec<u8>)) -> Result<(), StoreError> {
    if last.0 != at {
        *last = (at, pack.block(at)?);
    }
    Ok(())
}
