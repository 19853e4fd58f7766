//! `uwf pack`: moves the nodes of ended threads into packs, and back.
//!
//! An ended thread is read rarely, and as a whole. So its nodes don't need a file each: they share one compressed file, in the order in
//! which they refer to one another. Readers don't notice the difference (`json_cas::FsObjects`).
//!
//! Nodes that every step of a named workflow needs keep their files, as do uwf's own types: there are few of them.

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use json_cas::{DamagedPack, ForgottenPack, Node, NodeHash, ObjectBackend, PackRequest, ReclaimScope, bootstrap};
use serde::Serialize;
use uwf_core::node::OWN_TYPES;

use crate::error::{Error, Result};
use crate::root::history::{self, HistoryLine};
use crate::root::home::Home;
use crate::root::{ids, registry};
use crate::verbs::gc;

/// Which threads to pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackThreads {
    /// Minimum time since they ended.
    pub older_than: Duration,
    /// Only count.
    pub dry_run: bool,
}

/// Nodes that were packed, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PackSummary {
    /// Ended threads whose nodes had files.
    pub packed_threads: usize,
    /// Nodes that moved into a pack.
    pub packed_nodes: usize,
    /// Nodes that keep their files: they are corrupt, or were stored again meanwhile.
    pub left_nodes: usize,
    /// Size of the nodes.
    pub bytes_before: u64,
    /// Size of their pack.
    pub bytes_after: u64,
    /// Disk space that their files used.
    pub disk_before: u64,
    /// Disk space that their pack uses.
    pub disk_after: u64,
    /// Current number of packs.
    pub packs: usize,
    /// Why small packs were not merged: the disk is too full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_reclaimed: Option<String>,
}

/// Result of taking nodes out of packs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnpackSummary {
    /// Nodes that have files again.
    pub unpacked_nodes: usize,
    /// Their size.
    pub bytes: u64,
    /// Packs that were removed.
    pub removed_packs: usize,
    /// Nodes that cannot be read. Their packs stay.
    pub unreadable: Vec<UnreadableNode>,
    /// Packs whose contents are unknown.
    pub damaged_packs: Vec<UnreadablePack>,
}

/// A node in a pack that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnreadableNode {
    /// The node.
    pub hash: NodeHash,
    /// The reason.
    pub reason: String,
}

/// A pack that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnreadablePack {
    /// Its file.
    pub path: PathBuf,
    /// The reason.
    pub reason: String,
}

impl From<json_cas::UnpackRunOutcome> for UnpackSummary {
    fn from(done: json_cas::UnpackRunOutcome) -> UnpackSummary {
        let node = |(hash, reason)| UnreadableNode { hash, reason };
        let pack = |DamagedPack { path, reason }| UnreadablePack { path, reason };
        UnpackSummary {
            unpacked_nodes: done.objects,
            bytes: done.bytes,
            removed_packs: done.packs,
            unreadable: done.unreadable.into_iter().map(node).collect(),
            damaged_packs: done.damaged.into_iter().map(pack).collect(),
        }
    }
}

/// An abandoned pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AbandonedPack {
    /// Its name.
    pub pack: NodeHash,
    /// Where its file is now; absent if it had no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<PathBuf>,
    /// Which of its nodes could still be read.
    #[serde(flatten)]
    pub unpacked: UnpackSummary,
}

/// Moves the nodes of ended threads into a pack, and merges small packs. Passes `progress` the number of nodes examined.
///
/// # Errors
/// `Usage` if the nodes are not in files. `Io` and `Busy`: no node is lost, and the same call again continues. `Data` if the disk does
/// not return what was written. Errors of history and registry.
pub fn pack(home: &Home, request: PackThreads, progress: &mut dyn FnMut(usize)) -> Result<PackSummary> {
    let files = home.files()?;
    // Don't create packs in an empty root.
    if !home.has_objects_dir()? {
        return Ok(PackSummary::default());
    }
    let _lock = if request.dry_run { None } else { Some(gc::lock(home)?) };
    let mut done = PackSummary::default();
    let mut walk = PackWalk { home, seen: needed(home)?, found: Vec::new(), corrupt: 0 };
    let now = ids::now_ms();
    let is_old =
        |line: &HistoryLine| Duration::from_millis(now.saturating_sub(line.completed_at)) >= request.older_than;
    for line in history::all(home)?.iter().filter(|line| is_old(line)) {
        // A thread's end moves last, so if it is in a pack, the other nodes are as well.
        if files.is_loose(line.end.unwrap_or(line.head))? {
            done.packed_threads += 1;
            walk.add(line, progress)?;
        }
    }
    let looked_at = walk.found.len();
    let packed = files.pack(PackRequest {
        objects: &walk.found,
        is_sound: &Node::is_stored_as,
        dry_run: request.dry_run,
        progress: &mut |count| progress(looked_at + count),
    })?;
    if !request.dry_run {
        done.not_reclaimed = gc::not_reclaimed(files.reclaim(ReclaimScope::Worthwhile))?;
    }
    Ok(PackSummary {
        packed_nodes: packed.objects,
        left_nodes: packed.left + walk.corrupt,
        bytes_before: packed.bytes_before,
        bytes_after: packed.bytes_after,
        disk_before: packed.disk_before,
        disk_after: packed.disk_after,
        packs: files.pack_count()?,
        ..done
    })
}

/// Gives every node a file again, as other implementations require, and removes the packs.
///
/// # Errors
/// As of [`pack`]. Unreadable nodes are in the report.
pub fn unpack(home: &Home, progress: &mut dyn FnMut(usize)) -> Result<UnpackSummary> {
    let files = home.files()?;
    if !home.has_objects_dir()? {
        return Ok(UnpackSummary::default());
    }
    let _lock = gc::lock(home)?;
    Ok(files.unpack(&Node::is_stored_as, progress)?.into())
}

/// Abandons a damaged or missing pack permanently: its readable nodes get files, and the others are lost.
///
/// # Errors
/// As of [`pack`]; `NotFound` if there is no such pack, `Usage` if the pack is intact.
pub fn forget(home: &Home, pack: NodeHash) -> Result<AbandonedPack> {
    let files = home.files()?;
    if !home.has_objects_dir()? {
        return Err(no_pack(pack));
    }
    let _lock = gc::lock(home)?;
    match files.forget_pack(pack, &Node::is_stored_as)? {
        ForgottenPack::Unknown => Err(no_pack(pack)),
        ForgottenPack::Whole => Err(Error::usage(format!("pack {pack} is whole: all nodes in it can be read"))
            .hint("`uwf pack --undo` gives every node a file again")),
        ForgottenPack::Done { unpacked, moved_to } => Ok(AbandonedPack { pack, moved_to, unpacked: unpacked.into() }),
    }
}

fn no_pack(pack: NodeHash) -> Error {
    Error::not_found(format!("pack {pack} does not exist")).hint("`uwf doctor` names packs that are damaged or missing")
}

/// Nodes that keep their files: workflows with a name, their schemas, and uwf's own types.
fn needed(home: &Home) -> Result<HashSet<NodeHash>> {
    let own = OWN_TYPES.iter().map(|own| own.hash).chain([bootstrap::HASH]);
    let named: Vec<NodeHash> = registry::read(home)?.values().map(|entry| entry.hash).collect();
    let mut needed = PackWalk { home, seen: HashSet::new(), found: Vec::new(), corrupt: 0 };
    needed.follow(own.chain(named), &mut |_| ())?;
    Ok(needed.seen)
}

/// Visits threads from their ends, each node once.
struct PackWalk<'h> {
    home: &'h Home,
    seen: HashSet<NodeHash>,
    /// Nodes found, in reading order.
    found: Vec<NodeHash>,
    corrupt: usize,
}

impl PackWalk<'_> {
    fn add(&mut self, line: &HistoryLine, progress: &mut dyn FnMut(usize)) -> Result<()> {
        let roots = [line.end, Some(line.head), line.workflow];
        let before = self.found.len();
        self.follow(roots.into_iter().flatten(), progress)?;
        // Files are removed in this order, so if `pack` is killed, the end of the thread still has its file.
        self.found[before..].reverse();
        Ok(())
    }

    /// Breadth-first, so that a step's nodes are close to it in the pack.
    fn follow(&mut self, roots: impl Iterator<Item = NodeHash>, progress: &mut dyn FnMut(usize)) -> Result<()> {
        let store = self.home.store();
        let mut open: VecDeque<NodeHash> = roots.filter(|root| self.seen.insert(*root)).collect();
        while let Some(hash) = open.pop_front() {
            let node = match store.try_get(hash) {
                Ok(Some(node)) => node,
                Ok(None) => continue,
                Err(error) if error.is_of_the_moment() => return Err(error.into()),
                // A corrupt node keeps its file. Nodes it referenced are found only through other nodes.
                Err(_) => {
                    self.corrupt += 1;
                    continue;
                }
            };
            self.found.push(hash);
            progress(self.found.len());
            let below = match store.refs(&node) {
                Err(error) if error.is_of_the_moment() => return Err(error.into()),
                other => other.unwrap_or_default(),
            };
            open.extend(below.into_iter().chain([node.type_hash]).filter(|hash| self.seen.insert(*hash)));
        }
        Ok(())
    }
}
