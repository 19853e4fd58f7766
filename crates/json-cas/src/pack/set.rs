//! The packs of a store, as readers see them.
//!
//! Another process may change which packs count at any time. So each look first checks, by one `stat` of the list, whether the known state
//! is current. The list is kept open, so that no other file gets its inode number. A moving object is in its new place before it leaves
//! the old one. A reader that doesn't find it in a pack that was just removed looks again.
//!
//! # Why the list decides, and why it changes last
//!
//! A pack takes seconds to write, and the writer may be killed at any byte. So the pack gets its name only when it is complete and synced,
//! and even then it counts for no reader. The writer reads it back from the disk first: until then the objects' own files are the only
//! copies that are known to be good. One rename of the list makes the pack count, and with the same rename the packs that it replaces stop
//! counting. So every reader sees either the old packs or the new one, and an object is in at least one of them.
//!
//! Files of objects, and old packs, are deleted after that rename. If the writer is killed between the two, objects exist twice, which
//! wastes space and harms nothing. The reverse order could lose them. For the same reason an object that is removed is first named in the
//! list as gone, because a pack is never changed: without that line the object would exist again for the next reader.
//!
//! A killed writer may leave a pack that the list lacks. The next process that changes packs adopts it first. Adopted later, it
//! could bring back an object that was removed in between.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use durable_files::{FileError, FileLock, LockMode, regular};
use parking_lot::Mutex;

use super::file::{PackError, PackFile};
use super::format::PackEntry;
use super::manifest::{self, PackManifest};
use crate::error::StoreError;
use crate::hash::{HashPrefix, NodeHash};
use crate::objects::StrayEntry;

/// File name extension of packs.
const EXTENSION: &str = ".pack";

/// Directory of the marks that keep packed objects young.
const YOUNG: &str = "young";

/// Age at which a mark becomes meaningless.
const YOUNG_FOR: Duration = Duration::from_hours(24 * 90);

/// Total size of the cached blocks, kept for further objects in them.
const KEPT: usize = 8 << 20;

/// How long to wait for another process that changes the packs.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// How often the packs may change while they are opened. Each change takes a sync.
const MAX_CHANGES: usize = 100;

/// The packs in a directory.
#[derive(Debug)]
pub(crate) struct PackSet {
    dir: PathBuf,
    view: Mutex<Arc<PackSetView>>,
    blocks: Mutex<PackBlockCache>,
}

/// The packs at one moment.
#[derive(Debug)]
pub(crate) struct PackSetView {
    source: PackSetSource,
    /// The content of the list, or its equivalent if there is none.
    manifest: PackManifest,
    packs: Vec<Arc<PackFile>>,
    /// Packs that can't be read, and why.
    damaged: Vec<(PathBuf, String)>,
}

/// The source of a view.
#[derive(Debug)]
enum PackSetSource {
    /// The directory of packs does not exist.
    Nothing,
    /// The list. It is kept open, so that no other file can be taken for it.
    Listed { _file: File, seen: PackFileStamp, is_whole: bool },
    /// There is a directory but no list, so all packs in it count.
    Directory(BTreeSet<NodeHash>),
}

/// Distinguishes a file from earlier versions and from other files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PackFileStamp {
    inode: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl PackFileStamp {
    fn from_metadata(meta: &fs::Metadata) -> PackFileStamp {
        PackFileStamp {
            inode: (meta.dev(), meta.ino()),
            size: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// The place of an object.
#[derive(Debug)]
pub(crate) struct PackedObject {
    pub(crate) pack: Arc<PackFile>,
    pub(crate) entry: PackEntry,
}

/// The content of packs.
#[derive(Debug)]
pub(crate) struct PackListing {
    pub(crate) hashes: Vec<NodeHash>,
    pub(crate) damaged: Vec<DamagedPack>,
}

/// A pack that can't be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedPack {
    /// Its file.
    pub path: PathBuf,
    /// The problem.
    pub reason: String,
}

/// The blocks that were read last.
#[derive(Debug, Default)]
struct PackBlockCache {
    kept: VecDeque<(NodeHash, u64, Arc<Vec<u8>>)>,
    size: usize,
}

impl PackSetView {
    /// The readable packs, newest first.
    pub(crate) fn packs(&self) -> &[Arc<PackFile>] {
        &self.packs
    }

    /// Objects that are in packs but don't count.
    pub(crate) fn gone(&self) -> &BTreeSet<NodeHash> {
        &self.manifest.gone
    }

    /// Names of the packs that count, readable or not.
    pub(crate) fn names(&self) -> &[NodeHash] {
        &self.manifest.packs
    }

    /// Whether there is a directory that may have packs.
    pub(crate) fn is_used(&self) -> bool {
        !matches!(self.source, PackSetSource::Nothing)
    }

    fn is_same(&self, other: &PackSetView) -> bool {
        self.manifest == other.manifest
    }

    /// The place of an object; `None` if it is in no pack.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if a pack can't be read and no other pack has the object.
    pub(crate) fn find(&self, hash: NodeHash) -> Result<Option<PackedObject>, StoreError> {
        if self.gone().contains(&hash) {
            return Ok(None);
        }
        let mut failed = None;
        for pack in &self.packs {
            match pack.find(hash) {
                Ok(Some(entry)) => return Ok(Some(PackedObject { pack: pack.clone(), entry })),
                Ok(None) => {}
                // Another pack may have the object.
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let damaged = self.damaged.first();
        let damaged = damaged.map(|(path, reason)| PackError::Damaged { path: path.clone(), reason: reason.clone() });
        failed.or(damaged).map_or(Ok(None), |error| Err(error.into_store_error(hash)))
    }
}

impl PackSet {
    /// The packs in a directory, which need not exist. Does no I/O.
    pub(crate) fn new(dir: PathBuf) -> PackSet {
        let nothing = PackSetView {
            source: PackSetSource::Nothing,
            manifest: PackManifest::default(),
            packs: Vec::new(),
            damaged: Vec::new(),
        };
        PackSet { dir, view: Mutex::new(Arc::new(nothing)), blocks: Mutex::default() }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn path(&self, pack: NodeHash) -> PathBuf {
        self.dir.join(format!("{pack}{EXTENSION}"))
    }

    /// The current packs.
    pub(crate) fn view(&self) -> Result<Arc<PackSetView>, StoreError> {
        let mut known = self.view.lock();
        for _ in 0..MAX_CHANGES {
            if self.is_current(&known)? {
                return Ok(known.clone());
            }
            if let Some(view) = self.load(&known)? {
                *known = Arc::new(view);
            }
        }
        let changing = io::Error::new(io::ErrorKind::ResourceBusy, "it changes all the time");
        Err(FileError::failed_to("read", &self.dir)(changing).into())
    }

    fn is_current(&self, view: &PackSetView) -> Result<bool, StoreError> {
        let path = self.dir.join(manifest::NAME);
        let there = match fs::symlink_metadata(&path) {
            Ok(meta) => Some(meta),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(FileError::failed_to("look at", &path)(error).into()),
        };
        match (&view.source, there) {
            (PackSetSource::Listed { seen, .. }, Some(there)) => Ok(*seen == PackFileStamp::from_metadata(&there)),
            (PackSetSource::Nothing, None) => Ok(self.in_directory()?.is_none()),
            (PackSetSource::Directory(known), None) => Ok(self.in_directory()?.as_ref() == Some(known)),
            (PackSetSource::Listed { .. }, None) | (PackSetSource::Nothing | PackSetSource::Directory(_), Some(_)) => {
                Ok(false)
            }
        }
    }

    /// Opens the packs that count; `None` if one of them is missing because others count by now.
    fn load(&self, known: &PackSetView) -> Result<Option<PackSetView>, StoreError> {
        let (source, manifest) = self.read_list()?;
        let mut view = PackSetView { source, manifest, packs: Vec::new(), damaged: Vec::new() };
        for name in view.manifest.packs.clone() {
            let path = self.path(name);
            match known.packs.iter().find(|pack| pack.name() == name) {
                Some(pack) => view.packs.push(pack.clone()),
                None => match PackFile::open(&path, name) {
                    Ok(Some(pack)) => view.packs.push(Arc::new(pack)),
                    Ok(None) if !self.is_current(&view)? => return Ok(None),
                    Ok(None) => view.damaged.push((path, "it is missing".to_owned())),
                    Err(PackError::Damaged { path, reason }) => view.damaged.push((path, reason)),
                    // The pack counts, but it can't be read now, or only by a newer version. Don't treat it as damaged.
                    Err(error @ (PackError::Io(_) | PackError::Newer { .. })) => return Err(error.into()),
                },
            }
        }
        Ok(Some(view))
    }

    fn read_list(&self) -> Result<(PackSetSource, PackManifest), StoreError> {
        let path = self.dir.join(manifest::NAME);
        let Some(file) = regular::open_if_there(&path)? else {
            let Some(packs) = self.in_directory()? else {
                return Ok((PackSetSource::Nothing, PackManifest::default()));
            };
            let manifest = of_all(&packs);
            return Ok((PackSetSource::Directory(packs), manifest));
        };
        let seen = PackFileStamp::from_metadata(&file.metadata().map_err(FileError::failed_to("look at", &path))?);
        let mut bytes = Vec::new();
        (&file).take(manifest::MAX).read_to_end(&mut bytes).map_err(FileError::failed_to("read", &path))?;
        if let Some(version) = manifest::newer(&bytes) {
            return Err(StoreError::NewerFormat { path, version });
        }
        let (manifest, is_whole) = match PackManifest::parse(&bytes) {
            Some(manifest) => (manifest, true),
            None => (of_all(&self.in_directory()?.unwrap_or_default()), false),
        };
        Ok((PackSetSource::Listed { _file: file, seen, is_whole }, manifest))
    }

    /// Names of the packs in the directory, whether they count or not; `None` if the directory doesn't exist.
    fn in_directory(&self) -> Result<Option<BTreeSet<NodeHash>>, StoreError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(FileError::failed_to("list", &self.dir)(error).into()),
        };
        let mut packs = BTreeSet::new();
        for entry in entries {
            let name = entry.map_err(FileError::failed_to("list", &self.dir))?.file_name();
            let name = name.to_str().and_then(|name| name.strip_suffix(EXTENSION));
            packs.extend(name.and_then(|name| name.parse::<NodeHash>().ok().filter(|hash| hash.to_string() == name)));
        }
        Ok(Some(packs))
    }

    /// Whether objects may be in packs at all.
    pub(crate) fn are_used(&self) -> Result<bool, StoreError> {
        Ok(self.view()?.is_used())
    }

    /// The place of an object; `None` if it is in no pack.
    pub(crate) fn find(&self, hash: NodeHash) -> Result<Option<PackedObject>, StoreError> {
        self.view()?.find(hash)
    }

    /// The bytes of an object.
    pub(crate) fn read(&self, found: &PackedObject) -> Result<Vec<u8>, StoreError> {
        let block =
            self.block(&found.pack, found.entry.block).map_err(|error| error.into_store_error(found.entry.hash))?;
        let object = found.pack.object(&found.entry, &block);
        Ok(object.map_err(|error| error.into_store_error(found.entry.hash))?.to_vec())
    }

    fn block(&self, pack: &PackFile, at: u64) -> Result<Arc<Vec<u8>>, PackError> {
        let blocks = || self.blocks.lock();
        if let Some(block) = blocks().get(pack.name(), at) {
            return Ok(block);
        }
        let block = Arc::new(pack.block(at)?);
        blocks().add(pack.name(), at, block.clone());
        Ok(block)
    }

    /// The objects in packs, optionally only with a prefix, in no particular order and possibly twice, and the packs that can't be read.
    pub(crate) fn list(&self, view: &PackSetView, prefix: Option<&HashPrefix>) -> Result<PackListing, StoreError> {
        let damaged = view.damaged.iter().cloned().map(|(path, reason)| DamagedPack { path, reason });
        let mut listed = PackListing { hashes: Vec::new(), damaged: damaged.collect() };
        for pack in view.packs() {
            let entries = match pack.entries(prefix) {
                Err(PackError::Damaged { path, reason }) => {
                    listed.damaged.push(DamagedPack { path, reason });
                    continue;
                }
                entries => entries?,
            };
            let counts = entries.iter().map(|entry| entry.hash).filter(|hash| !view.gone().contains(hash));
            listed.hashes.extend(counts);
        }
        Ok(listed)
    }

    /// Whether the packs have changed since a view.
    pub(crate) fn have_changed(&self, since: &PackSetView) -> Result<bool, StoreError> {
        Ok(!self.view()?.is_same(since))
    }

    /// When a packed object was last put, or found by a put.
    pub(crate) fn put_at(&self, entry: &PackEntry) -> Result<SystemTime, StoreError> {
        let path = self.young_file(entry.hash);
        match fs::symlink_metadata(&path).and_then(|meta| meta.modified()) {
            Ok(marked) => Ok(marked.max(entry.put_at())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(entry.put_at()),
            Err(error) => Err(FileError::failed_to("look at", &path)(error).into()),
        }
    }

    /// Makes a packed object young by touching its mark, an empty file.
    pub(crate) fn make_young(&self, hash: NodeHash) -> Result<(), StoreError> {
        let path = self.young_file(hash);
        match durable_files::touch(&path) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            // The mark belongs to another user, and only its owner may touch it. A new mark is just as young.
            Err(error) if error.source.kind() == io::ErrorKind::PermissionDenied => match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(FileError::failed_to("replace", &path)(error).into());
                }
                _ => {}
            },
            Err(error) => return Err(error.into()),
        }
        match regular::write(&path, &[]) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let dir = self.dir.join(YOUNG);
                fs::create_dir_all(&dir).map_err(FileError::failed_to("create", &dir))?;
                Ok(regular::write(&path, &[]).map_err(FileError::failed_to("create", &path))?)
            }
            other => Ok(other.map_err(FileError::failed_to("create", &path))?),
        }
    }

    fn young_file(&self, hash: NodeHash) -> PathBuf {
        self.dir.join(YOUNG).join(hash.to_string())
    }

    /// Removes marks that are too old to matter.
    pub(crate) fn remove_old_marks(&self) {
        // Ignore errors: a mark that stays costs only an empty file.
        for entry in fs::read_dir(self.dir.join(YOUNG)).into_iter().flatten().flatten() {
            let age = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
            if age.is_some_and(|age| age > YOUNG_FOR) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Problems for a report.
    pub(crate) fn strays(&self) -> Result<Vec<StrayEntry>, StoreError> {
        match self.view()?.source {
            PackSetSource::Listed { is_whole: false, .. } => Ok(vec![StrayEntry {
                name: format!("packs/{}", manifest::NAME),
                reason: "the list of packs is damaged, so all of them count".to_owned(),
            }]),
            _ => Ok(Vec::new()),
        }
    }

    /// Keeps others from changing which packs count.
    pub(crate) fn lock(&self) -> Result<FileLock, StoreError> {
        let busy = || StoreError::Busy {
            path: self.dir.clone(),
            waited_ms: u64::try_from(LOCK_WAIT.as_millis()).unwrap_or(u64::MAX),
        };
        FileLock::acquire_dir(&self.dir, LockMode::Exclusive, LOCK_WAIT)?.ok_or_else(busy)
    }

    /// Makes a pack count in place of others. Objects in the new pack that were gone exist again. Forgets gone objects that are in none of
    /// the remaining packs. Durable.
    pub(crate) fn exchange(&self, lock: &FileLock, new: Option<NodeHash>, old: &[NodeHash]) -> Result<(), StoreError> {
        let view = self.view()?;
        let mut manifest = view.manifest.clone();
        manifest.packs.retain(|name| !old.contains(name) && Some(*name) != new);
        // Keep a pack whose existence can't be checked.
        manifest.old.retain(|name| !matches!(self.path(*name).try_exists(), Ok(false)));
        manifest.old.extend(old);
        if let Some(name) = new {
            for entry in self.open(name)?.entries(None)? {
                manifest.gone.remove(&entry.hash);
            }
            manifest.old.remove(&name);
            manifest.packs.insert(0, name);
        }
        // The content of a damaged pack is unknown, so keep all gone objects then.
        if !old.is_empty() && view.damaged.is_empty() {
            let is_left = |pack: &&Arc<PackFile>| manifest.packs.contains(&pack.name());
            let left: Vec<Arc<PackFile>> = view.packs.iter().filter(is_left).cloned().collect();
            manifest.gone.retain(|hash| left.iter().any(|pack| !matches!(pack.find(*hash), Ok(None))));
        }
        self.save(lock, &manifest)
    }

    /// Opens an existing pack, whether it counts or not.
    pub(crate) fn open(&self, name: NodeHash) -> Result<PackFile, StoreError> {
        let path = self.path(name);
        let missing = || FileError::failed_to("open", &path)(io::ErrorKind::NotFound.into());
        Ok(PackFile::open(&path, name)?.ok_or_else(missing)?)
    }

    /// Marks packed objects as gone. Durable.
    pub(crate) fn remove(&self, lock: &FileLock, hashes: &[NodeHash]) -> Result<(), StoreError> {
        let mut manifest = self.view()?.manifest.clone();
        manifest.gone.extend(hashes);
        self.save(lock, &manifest)
    }

    fn save(&self, _lock: &FileLock, manifest: &PackManifest) -> Result<(), StoreError> {
        Ok(manifest.save(&self.dir)?)
    }

    /// Deletes replaced packs. No reader opens them any longer, and current readers have them open.
    pub(crate) fn remove_old(&self, _lock: &FileLock) -> Result<(), StoreError> {
        for name in &self.view()?.manifest.old {
            let path = self.path(*name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(FileError::failed_to("remove", &path)(error).into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes packs count that the list lacks, because their writer was killed before it changed the list, or because they were copied
    /// here. Objects that the list says are gone stay gone. Adopt packs before you remove objects, because otherwise the removed objects
    /// would exist again once such a pack counts. A missing or damaged list is rebuilt.
    pub(crate) fn adopt(&self, lock: &FileLock) -> Result<(), StoreError> {
        let view = self.view()?;
        let mut manifest = view.manifest.clone();
        match &view.source {
            PackSetSource::Listed { is_whole: true, .. } | PackSetSource::Nothing => {}
            PackSetSource::Directory(packs) if packs.is_empty() => {}
            PackSetSource::Listed { .. } | PackSetSource::Directory(_) => self.save(lock, &manifest)?,
        }
        let known = manifest.packs.len();
        for name in self.in_directory()?.unwrap_or_default() {
            let is_known = manifest.packs.contains(&name) || manifest.old.contains(&name);
            // Leave damaged packs alone.
            if !is_known && self.open(name).is_ok_and(|pack| pack.check().is_ok()) {
                manifest.packs.insert(0, name);
            }
        }
        if manifest.packs.len() > known { self.save(lock, &manifest) } else { Ok(()) }
    }
}

fn of_all(packs: &BTreeSet<NodeHash>) -> PackManifest {
    PackManifest { packs: packs.iter().copied().collect(), ..PackManifest::default() }
}

impl PackBlockCache {
    fn get(&self, pack: NodeHash, at: u64) -> Option<Arc<Vec<u8>>> {
        self.kept.iter().rev().find(|(name, block, _)| (*name, *block) == (pack, at)).map(|(_, _, block)| block.clone())
    }

    fn add(&mut self, pack: NodeHash, at: u64, block: Arc<Vec<u8>>) {
        self.size += block.len();
        self.kept.push_back((pack, at, block));
        while self.size > KEPT {
            let Some((_, _, block)) = self.kept.pop_front() else { break };
            self.size -= block.len();
        }
    }
}
