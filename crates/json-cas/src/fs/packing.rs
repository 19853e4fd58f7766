//! Moving objects from their files into a pack, and back.
//!
//! Objects are in their new place, durably and verified, before they leave the old one. So whoever is killed in between leaves
//! objects that are in both, and the next run continues from there.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use durable_files::{FileError, NewFile};

use super::objects::FsObjects;
use crate::error::StoreError;
use crate::hash::Hash;
use crate::objects::Objects;
use crate::pack::{DamagedPack, Found, PackError, PackFile, View, Writer, Written};

/// How long files are removed before others, who wait, may continue.
const SWEEP: Duration = Duration::from_secs(1);

/// How long others have then. Whoever waits looks more often than that.
const LET_OTHERS: Duration = Duration::from_millis(30);

/// Files that are removed between two looks at the clock.
const BETWEEN_LOOKS: usize = 64;

/// Objects that are taken out of packs at a time, and most bytes of them.
const BATCH: (usize, usize) = (1_000, 32 << 20);

/// What names of packs end with that were given up.
const ASIDE: &str = "damaged";

/// Bytes of a block of the file system as `stat` counts them.
const DISK_BLOCK: u64 = 512;

/// What is to be packed.
pub struct PackRequest<'r> {
    /// The objects. What stands side by side is read together, so objects that belong together should.
    pub objects: &'r [Hash],
    /// Whether bytes are what the hash says. Others stay where they are.
    pub is_sound: &'r dyn Fn(Hash, &[u8]) -> bool,
    /// Whether it is only counted.
    pub dry_run: bool,
    /// Is told how many objects are done.
    pub progress: &'r mut dyn FnMut(usize),
}

/// What was packed, or would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Packed {
    /// Objects whose files went: they are in packs.
    pub objects: usize,
    /// Objects that stay in their files, because they are not sound, or were put again or changed meanwhile.
    pub left: usize,
    /// Size of the objects.
    pub bytes_before: u64,
    /// Size of the new pack.
    pub bytes_after: u64,
    /// Room on the disk that their files had.
    pub disk_before: u64,
    /// Room on the disk that the new pack has.
    pub disk_after: u64,
}

/// What was taken out of packs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// Objects that have files again.
    pub objects: usize,
    /// Their size.
    pub bytes: u64,
    /// Packs that are gone.
    pub packs: usize,
    /// Objects that cannot be read, and why. Their packs are left.
    pub unreadable: Vec<(Hash, String)>,
    /// Packs of which nobody can tell what is in them.
    pub damaged: Vec<DamagedPack>,
}

/// What became of a pack that was to be given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgottenPack {
    /// No pack that counts has this name.
    Unknown,
    /// Every byte of it is as it was written: nothing was done.
    Whole,
    /// It counts no more.
    Done {
        /// What could be read of it.
        unpacked: Unpacked,
        /// Where its file is now.
        moved_to: Option<PathBuf>,
    },
}

/// A file that is to be removed, as it was when its content was compared with the pack.
struct Moved {
    hash: Hash,
    seen: Seen,
}

/// What tells a file from another one under the same name.
#[derive(PartialEq, Eq)]
struct Seen {
    inode: (u64, u64),
    size: u64,
    modified: Option<SystemTime>,
    disk: u64,
}

impl FsObjects {
    /// Moves objects into a pack: those of them that have a file. Readers, putters and sweeps may be at work meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::Busy`] when others keep packs or objects for too long: the same call again continues.
    /// [`StoreError::Corrupt`] when the new pack is not what was written: the disk may be broken, and all files are left.
    pub fn pack(&self, request: PackRequest<'_>) -> Result<Packed, StoreError> {
        if request.dry_run {
            return self.count(request);
        }
        let mut done = Packed::default();
        if request.objects.is_empty() {
            return Ok(done);
        }
        let lock = self.packs().lock()?;
        self.packs().adopt(&lock)?;
        let dir = self.packs().dir().to_owned();
        let out = NewFile::create_in(&dir)?;
        let (out, mut files) = self.write(out, request.objects, request.is_sound, &mut done, request.progress)?;
        if let Some(Written { name, size }) = files.pack {
            let path = self.packs().path(name);
            out.publish(&path.file_name().unwrap_or_default().to_string_lossy())?;
            let pack = self.packs().open(name)?;
            if let Err(error) = check(&pack, &files.written, request.is_sound) {
                // It never counted.
                let _ = fs::remove_file(&path);
                return Err(error);
            }
            self.packs().exchange(&lock, Some(name), &[])?;
            done.bytes_after = size;
            let look = fs::symlink_metadata(&path).map_err(FileError::at("look at", &path))?;
            done.disk_after = look.blocks() * DISK_BLOCK;
        }
        drop(lock);
        files.written.append(&mut files.packed);
        let same = self.compared(files.written, &mut done)?;
        self.remove_files(&same, &mut done)?;
        Ok(done)
    }

    /// What a pack would do: the same, but nothing is written.
    fn count(&self, request: PackRequest<'_>) -> Result<Packed, StoreError> {
        let mut done = Packed::default();
        let (_, files) = self.write(io::sink(), request.objects, request.is_sound, &mut done, request.progress)?;
        done.bytes_after = files.pack.map_or(0, |written| written.size);
        done.disk_after = done.bytes_after.next_multiple_of(8 * DISK_BLOCK);
        for hash in files.written.iter().chain(&files.packed) {
            if let Some(seen) = self.look(*hash)? {
                done.objects += 1;
                done.disk_before += seen.disk;
                done.bytes_before += seen.size;
            }
        }
        Ok(done)
    }

    /// Writes objects that have files and are in no pack.
    fn write<W: Write>(
        &self,
        out: W,
        objects: &[Hash],
        is_sound: &dyn Fn(Hash, &[u8]) -> bool,
        done: &mut Packed,
        progress: &mut dyn FnMut(usize),
    ) -> Result<(W, Files), StoreError> {
        let failed = |error: io::Error| FileError::at("write a pack in", self.packs().dir())(error);
        let mut writer = Writer::new(out).map_err(failed)?;
        let mut files = Files::default();
        let mut seen_before = HashSet::with_capacity(objects.len());
        for (index, hash) in objects.iter().enumerate().filter(|(_, hash)| seen_before.insert(**hash)) {
            progress(index);
            let Some(seen) = self.look(*hash)? else { continue };
            match self.packs().find(*hash) {
                Ok(Some(found)) if self.is_readable(&found, is_sound)? => {
                    files.packed.push(*hash);
                    continue;
                }
                // A copy that cannot be read does not count.
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

    fn is_readable(&self, found: &Found, is_sound: &dyn Fn(Hash, &[u8]) -> bool) -> Result<bool, StoreError> {
        match self.packs().read(found) {
            Ok(bytes) => Ok(is_sound(found.entry.hash, &bytes)),
            Err(StoreError::Corrupt { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Those of the objects whose files have, byte by byte, what the packs have. Another file is left as it is.
    fn compared(&self, objects: Vec<Hash>, done: &mut Packed) -> Result<Vec<Moved>, StoreError> {
        let mut same = Vec::with_capacity(objects.len());
        for hash in objects {
            let Some(seen) = self.look(hash)? else { continue };
            let Some(bytes) = self.read_file(hash)? else { continue };
            let packed = self.packs().find(hash)?.map(|found| self.packs().read(&found)).transpose()?;
            if packed.as_ref() == Some(&bytes) {
                same.push(Moved { hash, seen });
            } else {
                done.left += 1;
            }
        }
        Ok(same)
    }

    /// Removes files of objects that are in packs. Whoever holds may have found one of them and made it young: then it is left.
    fn remove_files(&self, files: &[Moved], done: &mut Packed) -> Result<(), StoreError> {
        let mut files = files;
        while !files.is_empty() {
            let sweep = self.sweep()?;
            let until = Instant::now() + SWEEP;
            while let Some((some, others)) = files.split_at_checked(BETWEEN_LOOKS.min(files.len())) {
                for Moved { hash, seen } in some {
                    if self.look(*hash)?.as_ref() != Some(seen) || self.packs().find(*hash)?.is_none() {
                        done.left += 1;
                        continue;
                    }
                    let path = self.path(*hash);
                    fs::remove_file(&path).map_err(FileError::at("remove", &path))?;
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

    /// The file of an object, if it has one. A link is none: what it leads to is somebody else's.
    fn look(&self, hash: Hash) -> Result<Option<Seen>, StoreError> {
        let path = self.path(hash);
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_file() => Ok(Some(Seen {
                inode: (meta.dev(), meta.ino()),
                size: meta.len(),
                modified: meta.modified().ok(),
                disk: meta.blocks() * DISK_BLOCK,
            })),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::at("look at", &path)(error).into()),
        }
    }

    /// Gives every object in a pack a file again, and then removes the packs of which that was done whole. Needs as much room as the
    /// objects take. What cannot be read is named, and its pack left.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::Busy`]: the same call again continues.
    pub fn unpack(
        &self,
        is_sound: &dyn Fn(Hash, &[u8]) -> bool,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Unpacked, StoreError> {
        let mut done = Unpacked::default();
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

    /// Gives up a pack that is damaged or missing. Objects in it that can be read get files; the others are lost, unless they are
    /// put again. The file, if there is one, is left under another name, in which nobody looks.
    ///
    /// # Errors
    /// As of [`FsObjects::unpack`].
    pub fn forget_pack(&self, name: Hash, is_sound: &dyn Fn(Hash, &[u8]) -> bool) -> Result<ForgottenPack, StoreError> {
        if !self.packs().are_used()? {
            return Ok(ForgottenPack::Unknown);
        }
        let lock = self.packs().lock()?;
        let view = self.packs().view()?;
        let mut done = Unpacked::default();
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
            Err(error) => return Err(FileError::at("rename", &path)(error).into()),
        };
        self.packs().exchange(&lock, None, &[name])?;
        Ok(ForgottenPack::Done { unpacked: done, moved_to })
    }

    /// Gives the objects of a pack files: whether all of them have one now, or need none.
    fn take_out(
        &self,
        pack: &Arc<PackFile>,
        view: &View,
        is_sound: &dyn Fn(Hash, &[u8]) -> bool,
        done: &mut Unpacked,
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
            // A sound file counts, and so does that of a copy in a newer pack.
            if file.as_ref().is_some_and(|file| is_sound(hash, file)) {
                continue;
            }
            let bytes = match self.packs().read(&Found { pack: pack.clone(), entry }) {
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

    fn publish(&self, objects: &[(Hash, Vec<u8>)]) -> Result<(), StoreError> {
        let name = |hash: &Hash| self.path(*hash).file_name().unwrap_or_default().into();
        let files: Vec<_> = objects.iter().map(|(hash, bytes)| (name(hash), bytes.as_slice())).collect();
        durable_files::publish_all(self.dir(), &files)?;
        Ok(())
    }

    /// How many packs there are.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn pack_count(&self) -> Result<usize, StoreError> {
        Ok(self.packs().view()?.packs().len())
    }

    /// Whether an object has a file of its own.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn is_loose(&self, hash: Hash) -> Result<bool, StoreError> {
        Ok(self.look(hash)?.is_some())
    }
}

/// Objects that have files.
#[derive(Default)]
struct Files {
    /// Written into the new pack, in its order.
    written: Vec<Hash>,
    /// In a pack already.
    packed: Vec<Hash>,
    /// The new pack, if it has any.
    pack: Option<Written>,
}

/// Reads a new pack from the disk: every byte is as it was written, and every object is what its hash says.
fn check(pack: &PackFile, objects: &[Hash], is_sound: &dyn Fn(Hash, &[u8]) -> bool) -> Result<(), StoreError> {
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
