//! Moves objects from their files into a pack, and back.
//!
//! Objects are in their new place, durably and verified, before they leave the old one. So a process that is killed in between leaves
//! objects in both places, and the next run continues from there.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use durable_files::{FileError, UnpublishedFile};

use super::objects::FsObjects;
use crate::error::StoreError;
use crate::hash::NodeHash;
use crate::objects::ObjectBackend;
use crate::pack::{DamagedPack, FinishedPack, PackError, PackFile, PackSetView, PackWriter, PackedObject};

/// How long files are removed before waiting processes get a turn.
const SWEEP: Duration = Duration::from_secs(1);

/// How long the others' turn lasts. Waiting processes look more often than that.
const LET_OTHERS: Duration = Duration::from_millis(30);

/// Files that are removed between two looks at the clock.
const BETWEEN_LOOKS: usize = 64;

/// Objects that are moved out of packs at a time, and the limit on their bytes.
const BATCH: (usize, usize) = (1_000, 32 << 20);

/// File name extension of abandoned packs.
const ASIDE: &str = "damaged";

/// Bytes of a file system block in the units of `stat`.
const DISK_BLOCK: u64 = 512;

/// A request to pack objects.
pub struct PackRequest<'r> {
    /// The objects. Neighbours are read together, so related objects should be neighbours.
    pub objects: &'r [NodeHash],
    /// Whether bytes are the object of the hash. Unsound objects stay in their files.
    pub is_sound: &'r dyn Fn(NodeHash, &[u8]) -> bool,
    /// Whether to count only.
    pub dry_run: bool,
    /// Called with the number of objects done.
    pub progress: &'r mut dyn FnMut(usize),
}

/// Statistics of a pack run, or of a dry run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PackRunOutcome {
    /// Objects that are now in packs and whose files were removed.
    pub objects: usize,
    /// Objects that stay in their files, because they are unsound, or were put again or changed meanwhile.
    pub left: usize,
    /// Size of the objects.
    pub bytes_before: u64,
    /// Size of the new pack.
    pub bytes_after: u64,
    /// Disk space that their files took.
    pub disk_before: u64,
    /// Disk space that the new pack takes.
    pub disk_after: u64,
}

/// Objects that were moved out of packs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnpackRunOutcome {
    /// Objects that have files again.
    pub objects: usize,
    /// Size of these objects.
    pub bytes: u64,
    /// Number of packs removed.
    pub packs: usize,
    /// Unreadable objects, and the reasons. Their packs are kept.
    pub unreadable: Vec<(NodeHash, String)>,
    /// Packs whose content is unknown.
    pub damaged: Vec<DamagedPack>,
}

/// The outcome of giving up a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgottenPack {
    /// No pack of this name counts.
    Unknown,
    /// Every byte is as it was written, so nothing was done.
    Whole,
    /// The pack no longer counts.
    Done {
        /// The objects that could be read.
        unpacked: UnpackRunOutcome,
        /// The new place of its file.
        moved_to: Option<PathBuf>,
    },
}

/// A file to remove, in the state in which it was compared with the pack.
struct PackedFile {
    hash: NodeHash,
    seen: PackingFileStamp,
}

/// Distinguishes a file from another one of the same name.
#[derive(PartialEq, Eq)]
struct PackingFileStamp {
    inode: (u64, u64),
    size: u64,
    modified: Option<SystemTime>,
    disk: u64,
}

impl FsObjects {
    /// Moves objects that have files into a pack. Readers, writers and sweeps may run meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Io`], and [`StoreError::Busy`] if others lock packs or objects for too long: repeat the call to continue.
    /// [`StoreError::Corrupt`] if the new pack differs from what was written: the disk may be broken, and all files are kept.
    pub fn pack(&self, request: PackRequest<'_>) -> Result<PackRunOutcome, StoreError> {
        if request.dry_run {
            return self.count(request);
        }
        let mut done = PackRunOutcome::default();
        if request.objects.is_empty() {
            return Ok(done);
        }
        let lock = self.packs().lock()?;
        self.packs().adopt(&lock)?;
        let dir = self.packs().dir().to_owned();
        let out = UnpublishedFile::create_in(&dir)?;
        let (out, mut files) = self.write(out, request.objects, request.is_sound, &mut done, request.progress)?;
        if let Some(FinishedPack { name, size }) = files.pack {
            let path = self.packs().path(name);
            out.publish(&path.file_name().unwrap_or_default().to_string_lossy())?;
            let pack = self.packs().open(name)?;
            if let Err(error) = check(&pack, &files.written, request.is_sound) {
                // This pack never counted.
                let _ = fs::remove_file(&path);
                return Err(error);
            }
            self.packs().exchange(&lock, Some(name), &[])?;
            done.bytes_after = size;
            let look = fs::symlink_metadata(&path).map_err(FileError::failed_to("look at", &path))?;
            done.disk_after = look.blocks() * DISK_BLOCK;
        }
        drop(lock);
        files.written.append(&mut files.packed);
        let same = self.compared(files.written, &mut done)?;
        self.remove_files(&same, &mut done)?;
        Ok(done)
    }

    /// Counts what a pack would contain, without writing it.
    fn count(&self, request: PackRequest<'_>) -> Result<PackRunOutcome, StoreError> {
        let mut done = PackRunOutcome::default();
        let (_, files) = self.write(io::sink(), request.objects, request.is_sound, &mut done, request.progress)?;
        done.bytes_after = files.pack.map_or(0, |written| written.size);
        done.disk_after = done.bytes_after.next_multiple_of(8 * DISK_BLOCK);
        for hash in files.written.iter().chain(&files.packed) {
            if let Some(seen) = self.file_stamp(*hash)? {
                done.objects += 1;
                done.disk_before += seen.disk;
                done.bytes_before += seen.size;
            }
        }
        Ok(done)
    }

    /// Writes the objects that have files and are in no pack.
    fn write<W: Write>(
        &self,
        out: W,
        objects: &[NodeHash],
        is_sound: &dyn Fn(NodeHash, &[u8]) -> bool,
        done: &mut PackRunOutcome,
        progress: &mut dyn FnMut(usize),
    ) -> Result<(W, LooseObjects), StoreError> {
        let failed = |error: io::Error| FileError::failed_to("write a pack in", self.packs().dir())(error);
        let mut writer = PackWriter::new(out).map_err(failed)?;
        let mut files = LooseObjects::default();
        let mut seen_before = HashSet::with_capacity(objects.len());
        for (index, hash) in objects.iter().enumerate().filter(|(_, hash)| seen_before.insert(**hash)) {
            progress(index);
            let Some(seen) = self.file_stamp(*hash)? else { continue };
            match self.packs().find(*hash) {
                Ok(Some(found)) if self.is_readable(&found, is_sound)? => {
                    files.packed.push(*hash);
                    continue;
                }
                // An unreadable copy does not count.
                Ok(_) | Err(StoreError::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            }
            match self.read_file(*hash) {
                Ok(Some(bytes)) if is_sound(*hash, &bytes) => {
                    let put_at = seen.modified.unwrap_or_else(SystemTime::now);
                    writer.add(*hash, &bytes, put_at).map_err(failed)?;
                    files.written.push(*hash);
                }
                Ok(None) => {}
                Ok(Some(_)) => done.left += 1,
                Err(error) => return Err(error),
            }
        }
        let is_empty = writer.len() == 0;
        let (out, written) = writer.finish().map_err(failed)?;
        files.pack = (!is_empty).then_some(written);
        Ok((out, files))
    }

    fn is_readable(
        &self,
        found: &PackedObject,
        is_sound: &dyn Fn(NodeHash, &[u8]) -> bool,
    ) -> Result<bool, StoreError> {
        match self.packs().read(found) {
            Ok(bytes) => Ok(is_sound(found.entry.hash, &bytes)),
            Err(StoreError::Corrupt { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The objects whose files are byte-for-byte equal to their copies in packs. Other files are left alone.
    fn compared(&self, objects: Vec<NodeHash>, done: &mut PackRunOutcome) -> Result<Vec<PackedFile>, StoreError> {
        let mut same = Vec::with_capacity(objects.len());
        for hash in objects {
            let Some(seen) = self.file_stamp(hash)? else { continue };
            let Some(bytes) = self.read_file(hash)? else { continue };
            let packed = self.packs().find(hash)?.map(|found| self.packs().read(&found)).transpose()?;
            if packed.as_ref() == Some(&bytes) {
                same.push(PackedFile { hash, seen });
            } else {
                done.left += 1;
            }
        }
        Ok(same)
    }

    /// Removes files of packed objects. Leaves a file if a holder may have found and refreshed it.
    fn remove_files(&self, files: &[PackedFile], done: &mut PackRunOutcome) -> Result<(), StoreError> {
        let mut files = files;
        while !files.is_empty() {
            let sweep = self.sweep()?;
            let until = Instant::now() + SWEEP;
            while let Some((some, others)) = files.split_at_checked(BETWEEN_LOOKS.min(files.len())) {
                for PackedFile { hash, seen } in some {
                    if self.file_stamp(*hash)?.as_ref() != Some(seen) || self.packs().find(*hash)?.is_none() {
                        done.left += 1;
                        continue;
                    }
                    let path = self.path(*hash);
                    fs::remove_file(&path).map_err(FileError::failed_to("remove", &path))?;
                    done.objects += 1;
                    done.bytes_before += seen.size;
                    done.disk_before += seen.disk;
                }
                files = others;
                if files.is_empty() || Instant::now() >= until {
                    break;
                }
            }
            drop(sweep);
            if !files.is_empty() {
                std::thread::sleep(LET_OTHERS);
            }
        }
        Ok(())
    }

    /// The file of an object, if it has one. A link doesn't count, because its target may belong to someone else.
    fn file_stamp(&self, hash: NodeHash) -> Result<Option<PackingFileStamp>, StoreError> {
        let path = self.path(hash);
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_file() => Ok(Some(PackingFileStamp {
                inode: (meta.dev(), meta.ino()),
                size: meta.len(),
                modified: meta.modified().ok(),
                disk: meta.blocks() * DISK_BLOCK,
            })),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::failed_to("look at", &path)(error).into()),
        }
    }

    /// Gives every packed object a file again, then removes the packs for which that succeeded completely. Needs as much disk space as the
    /// objects take. Unreadable objects are reported, and their packs are kept.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::Busy`]: repeat the call to continue.
    pub fn unpack(
        &self,
        is_sound: &dyn Fn(NodeHash, &[u8]) -> bool,
        progress: &mut dyn FnMut(usize),
    ) -> Result<UnpackRunOutcome, StoreError> {
        let mut done = UnpackRunOutcome::default();
        if !self.packs().are_used()? {
            return Ok(done);
        }
        let lock = self.packs().lock()?;
        self.packs().adopt(&lock)?;
        let view = self.packs().view()?;
        done.damaged = self.packs().list(&view, None)?.damaged;
        let mut whole = Vec::new();
        for pack in view.packs() {
            if self.take_out(pack, &view, is_sound, &mut done, progress)? {
                whole.push(pack.name());
            }
        }
        done.packs = whole.len();
        if !whole.is_empty() {
            self.packs().exchange(&lock, None, &whole)?;
        }
        self.packs().remove_old(&lock)?;
        Ok(done)
    }

    /// Gives up a pack that is damaged or missing. Its readable objects get files; the others are lost unless they are put again. The
    /// pack's file, if it exists, is kept under another name that is never read.
    pub fn forget_pack(
        &self,
        name: NodeHash,
        is_sound: &dyn Fn(NodeHash, &[u8]) -> bool,
    ) -> Result<ForgottenPack, StoreError> {
        if !self.packs().are_used()? {
            return Ok(ForgottenPack::Unknown);
        }
        let lock = self.packs().lock()?;
        let view = self.packs().view()?;
        let mut done = UnpackRunOutcome::default();
        match view.packs().iter().find(|pack| pack.name() == name) {
            Some(pack) if pack.check().is_ok() => return Ok(ForgottenPack::Whole),
            Some(pack) => drop(self.take_out(pack, &view, is_sound, &mut done, &mut |_| ())?),
            None if view.names().contains(&name) => {}
            None => return Ok(ForgottenPack::Unknown),
        }
        let path = self.packs().path(name);
        let aside = path.with_extension(ASIDE);
        let moved_to = match fs::rename(&path, &aside) {
            Ok(()) => Some(aside),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(FileError::failed_to("rename", &path)(error).into()),
        };
        self.packs().exchange(&lock, None, &[name])?;
        Ok(ForgottenPack::Done { unpacked: done, moved_to })
    }

    /// Gives the objects of a pack files. Returns whether all of them now have files or don't need any.
    fn take_out(
        &self,
        pack: &Arc<PackFile>,
        view: &PackSetView,
        is_sound: &dyn Fn(NodeHash, &[u8]) -> bool,
        done: &mut UnpackRunOutcome,
        progress: &mut dyn FnMut(usize),
    ) -> Result<bool, StoreError> {
        let mut entries = match pack.entries(None) {
            Err(PackError::Damaged { .. }) => return Ok(false),
            entries => entries?,
        };
        entries.retain(|entry| !view.gone().contains(&entry.hash));
        entries.sort_unstable_by_key(|entry| (entry.block, entry.at));
        let unreadable = done.unreadable.len();
        let (mut batch, mut size) = (Vec::new(), 0);
        for entry in entries {
            progress(done.objects);
            let hash = entry.hash;
            let file = self.read_file(hash)?;
            // A sound file counts, even if it was written from a copy in a newer pack.
            if file.as_ref().is_some_and(|file| is_sound(hash, file)) {
                continue;
            }
            let bytes = match self.packs().read(&PackedObject { pack: pack.clone(), entry }) {
                Err(StoreError::Corrupt { reason, .. }) => {
                    done.unreadable.push((hash, reason));
                    continue;
                }
                bytes => bytes?,
            };
            match file {
                None => {}
                Some(file) if file == bytes => continue,
                Some(_) => self.replace(hash, &bytes)?,
            }
            (done.objects, done.bytes, size) = (done.objects + 1, done.bytes + bytes.len() as u64, size + bytes.len());
            batch.push((hash, bytes));
            if batch.len() >= BATCH.0 || size >= BATCH.1 {
                self.publish(&std::mem::take(&mut batch))?;
                size = 0;
            }
        }
        self.publish(&batch)?;
        Ok(done.unreadable.len() == unreadable)
    }

    fn publish(&self, objects: &[(NodeHash, Vec<u8>)]) -> Result<(), StoreError> {
        let name = |hash: &NodeHash| self.path(*hash).file_name().unwrap_or_default().into();
        let files: Vec<_> = objects.iter().map(|(hash, bytes)| (name(hash), bytes.as_slice())).collect();
        durable_files::publish_all(self.dir(), &files)?;
        Ok(())
    }

    /// The number of readable packs.
    pub fn pack_count(&self) -> Result<usize, StoreError> {
        Ok(self.packs().view()?.packs().len())
    }

    /// Whether an object has its own file.
    pub fn is_loose(&self, hash: NodeHash) -> Result<bool, StoreError> {
        Ok(self.file_stamp(hash)?.is_some())
    }
}

/// Objects that have files.
#[derive(Default)]
struct LooseObjects {
    /// Written into the new pack, in this order.
    written: Vec<NodeHash>,
    /// Already in a pack.
    packed: Vec<NodeHash>,
    /// The new pack, if it has any objects.
    pack: Option<FinishedPack>,
}

/// Reads a new pack back from the disk. Checks that every byte is as it was written, and that every object matches its hash.
fn check(pack: &PackFile, objects: &[NodeHash], is_sound: &dyn Fn(NodeHash, &[u8]) -> bool) -> Result<(), StoreError> {
    pack.check()?;
    let (mut at, mut block) = (0, Vec::new());
    for hash in objects {
        let lost = || StoreError::Corrupt { hash: *hash, reason: "its copy in a new pack differs".to_owned() };
        let entry = pack.find(*hash)?.ok_or_else(lost)?;
        if entry.block != at {
            (at, block) = (entry.block, pack.block(entry.block)?);
        }
        if !is_sound(*hash, pack.object(&entry, &block)?) {
            return Err(lost());
        }
    }
    Ok(())
}
