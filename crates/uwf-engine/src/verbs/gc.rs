//! `uwf gc`: removes nodes that nothing references.
//!
//! Works in two phases. First it reads everything that is reachable from the roots (`roots.rs`), while others continue; all other nodes are
//! candidates. Then it sweeps the store while no process holds nodes ([`Home::hold_nodes`]), so every reference is either stored or not
//! begun. It reads the roots again and drops every candidate that is reachable by now.
//!
//! # Why in this order
//!
//! The first phase may take minutes, so no process may wait for it. It reads without a lock, and its result is only a guess: a thread may start
//! from an old node at any time. A process that does so holds the nodes before it looks the node up, and releases them once the reference
//! is durable. Suppose it looked first: `gc` could remove the node between the look and the hold, and the new reference would name a node
//! that is missing. With the hold first, each process either had its reference in place when the sweep read the roots again, or it looks
//! the node up after the sweep, does not find it, and stores it again.
//!
//! The sweep therefore lists the candidates first and reads the roots last. The second reading is cheap: it follows only roots that are
//! new. Others wait during a sweep, so one lasts a second at most. After each pause the roots are read again, because what was certain in
//! the last sweep is a guess by now.
//!
//! Nodes younger than the grace stay, with everything they reference, because a program that does not use holds may be about to reference
//! them. Storing an existing node makes it young again. While an attempt is open, nodes younger than the attempt stay regardless of the
//! grace, because its agent may store nodes one by one.
//!
//! Referrers are removed before the nodes they reference, so a killed `gc` leaves no node that lacks another. Nodes in packs are gone at
//! once. At the end, `gc` rewrites packs that have lost enough nodes.

pub(crate) mod removed_files;
pub(crate) mod roots;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use durable_files::FileLock;
use json_cas::{
    MissingNodePolicy, NodeHash, NodeLayers, ObjectMetadata, READ_AT_ONCE, ReachFailure, ReachableNodes, ReclaimScope,
    StoreError,
};
use serde::Serialize;
use uwf_core::number;

use self::roots::{GcRoots, Root};
use crate::error::{Error, ErrorKind, Result};
use crate::root::home::Home;
use crate::verbs::rm::worktrees;

/// How long one sweep may remove nodes before it lets waiting processes continue.
const SWEEP: Duration = Duration::from_secs(1);

/// How long they may continue. Waiting processes check more often than that.
const LET_OTHERS: Duration = Duration::from_millis(30);

/// Nodes to remove between two looks at the clock, at first and at most. Each removal of nodes in packs writes a list.
const BETWEEN_LOOKS: usize = 256;
const MOST_BETWEEN_LOOKS: usize = 16_384;

/// Times of files are coarser than the system clock: by some milliseconds, on some file systems by two seconds.
const CLOCKS_DIFFER: Duration = Duration::from_secs(2);

/// How long to wait for another `gc`.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Options of `gc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GcRequest {
    /// Age up to which an unreferenced node stays.
    pub grace: Duration,
    /// Whether only to count.
    pub dry_run: bool,
}

/// Report of the removed nodes, or with `dry_run` of the removable ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GcSummary {
    /// Number of threads, active and ended.
    pub scanned_threads: usize,
    /// Nodes that something references.
    pub active_refs: usize,
    /// Nodes that stayed only because they, or nodes that reference them, are young.
    pub young_entries: usize,
    /// Nodes that were removed.
    pub deleted_entries: usize,
    /// Their size.
    pub bytes: u64,
    /// Unix milliseconds: nodes stored since this time stayed because an attempt is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_since: Option<u64>,
    /// The thread of that attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_thread: Option<String>,
    /// Why the space of nodes in packs was not freed: the disk is too full for new packs. The next `gc` frees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_reclaimed: Option<String>,
    /// Git worktrees of ended threads that were removed because removing them loses nothing.
    #[serde(skip_serializing_if = "number::is_zero")]
    pub removed_worktrees: usize,
    /// Git worktrees of ended threads that stay because they have uncommitted changes, or can't be checked.
    #[serde(skip_serializing_if = "number::is_zero")]
    pub kept_worktrees: usize,
    /// Refs in git repositories that were deleted: they referenced files of removed threads at removed nodes.
    #[serde(skip_serializing_if = "number::is_zero")]
    pub deleted_refs: usize,
}

/// Removes every unreferenced node that is older than the grace, then worktrees of ended threads and git refs to the files of removed
/// threads. Calls `progress` with the number of nodes read.
///
/// # Errors
/// `Data` and `Io` when a root or a reachable node can't be read; nothing is removed then. `Busy` when another `gc` is running, or when
/// others hold the nodes for too long.
pub fn collect(home: &Home, request: GcRequest, progress: &mut dyn FnMut(usize)) -> Result<GcSummary> {
    let request = GcRequest { grace: request.grace.max(home.peers().least_grace()), ..request };
    let begun = SystemTime::now();
    let (mut done, going) = collect_nodes(home, request, begun, progress)?;
    // Run git without the lock: git may wait for a process that an agent left, and others must not wait for git.
    let ended_before = begun.checked_sub(request.grace).unwrap_or(UNIX_EPOCH).duration_since(UNIX_EPOCH);
    let ended_before = u64::try_from(ended_before.unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
    let swept = worktrees::sweep(home, ended_before, request.dry_run)?;
    (done.removed_worktrees, done.kept_worktrees) = (swept.removed, swept.kept);
    done.deleted_refs = removed_files::sweep(home, &|node| going.contains(&node), request.dry_run)?;
    Ok(done)
}

/// Removes nodes. With `dry_run`, counts and returns them.
fn collect_nodes(
    home: &Home,
    request: GcRequest,
    begun: SystemTime,
    progress: &mut dyn FnMut(usize),
) -> Result<(GcSummary, HashSet<NodeHash>)> {
    // Don't create a storage root only to lock it.
    let _lock = if home.exists()? && !request.dry_run { Some(lock(home)?) } else { None };
    if !request.dry_run {
        // Adopt the pack of a killed process now, before its nodes are removed elsewhere. Rewrite no pack before nodes were removed: the
        // disk may be full.
        home.store().objects().reclaim(ReclaimScope::Nothing)?;
    }
    let mut marked = GcReachability::new(home);
    let first = marked.update(progress)?;
    let young_since = first.young_since(begun, request.grace);
    // Count only nodes that exist: a named one may be missing.
    let mut candidates = home.store().objects().list(None)?;
    let all = candidates.len();
    candidates.retain(|hash| !marked.reached.has(*hash));
    let unused = candidates.len();
    marked.keep_young(&candidates, young_since)?;
    candidates.retain(|hash| !marked.reached.has(*hash));
    let mut done = GcSummary {
        scanned_threads: first.threads.len(),
        active_refs: all - unused,
        young_entries: unused - candidates.len(),
        ..GcSummary::default()
    };
    if let Some(open) = first.open.filter(|open| is_held_back(open.since, begun, request.grace)) {
        done.open_since = Some(open.since);
        done.open_thread = Some(open.thread.to_string());
    }
    if request.dry_run {
        for some in candidates.chunks(READ_AT_ONCE) {
            for stored in home.store().objects().stored_all(some)?.into_iter().flatten() {
                done.deleted_entries += 1;
                done.bytes += stored.bytes;
            }
        }
        return Ok((done, candidates.into_iter().collect()));
    }
    let layers = home.store().layers(&candidates)?;
    sweep(home, &mut marked, layers, (begun, request.grace), &mut done)?;
    done.not_reclaimed = not_reclaimed(home.store().objects().reclaim(ReclaimScope::Worthwhile))?;
    // The removed nodes are missing from the store by now, so the caller needs no list.
    Ok((done, HashSet::new()))
}

/// Why packs were not rewritten, if the disk is too full for that. Everything before that has succeeded nevertheless.
pub(crate) fn not_reclaimed(reclaimed: Result<(), StoreError>) -> Result<Option<String>> {
    match reclaimed {
        Err(error) if error.is_disk_full() => Ok(Some(error.to_string())),
        reclaimed => Ok(reclaimed.map(|()| None)?),
    }
}

/// Locks out other `gc` processes: another one could remove a marked node before this one has read it.
pub(crate) fn lock(home: &Home) -> Result<FileLock> {
    let path = home.gc_lock();
    let lock = FileLock::acquire(&path, LOCK_WAIT)?;
    lock.ok_or_else(|| {
        Error::busy(format!("another process removes or packs nodes: {} stayed locked", path.display()))
            .hint("try again when it has finished")
    })
}

/// Removes candidates in order. After each second, lets others continue and reads the roots again. Others wait for the sweep, so it queries
/// only the nodes that it removes.
fn sweep(
    home: &Home,
    marked: &mut GcReachability<'_>,
    mut layers: NodeLayers,
    (begun, grace): (SystemTime, Duration),
    done: &mut GcSummary,
) -> Result<()> {
    let objects = home.store().objects();
    while !layers.is_empty() {
        let sweep = objects.sweep()?;
        let young_since = marked.update(&mut |_| ())?.young_since(begun, grace);
        let until = Instant::now() + SWEEP;
        let mut at_once = BETWEEN_LOOKS;
        while !layers.is_empty() {
            let turn = Instant::now();
            let part = layers.take(at_once);
            let (part, sizes) = marked.without_young(part, young_since)?;
            let gone = objects.remove_all(&sweep, &part.slices())?;
            for (hash, _) in part.nodes().into_iter().zip(gone).filter(|(_, was_there)| *was_there) {
                done.deleted_entries += 1;
                done.bytes += sizes.get(&hash).copied().unwrap_or_default();
            }
            if Instant::now() >= until {
                break;
            }
            // Removing many nodes in packs takes little longer than removing a few.
            if turn.elapsed() < SWEEP / 8 {
                at_once = (at_once * 2).min(MOST_BETWEEN_LOOKS);
            }
        }
        drop(sweep);
        if !layers.is_empty() {
            std::thread::sleep(LET_OTHERS);
        }
    }
    Ok(())
}

fn is_held_back(open_since_ms: u64, begun: SystemTime, grace: Duration) -> bool {
    UNIX_EPOCH + Duration::from_millis(open_since_ms) < begun.checked_sub(grace).unwrap_or(UNIX_EPOCH)
}

impl GcRoots {
    /// Time from which on nodes are young.
    fn young_since(&self, begun: SystemTime, grace: Duration) -> SystemTime {
        let by_grace = begun.checked_sub(grace).unwrap_or(UNIX_EPOCH);
        let by_attempt = self.open.as_ref().map(|open| UNIX_EPOCH + Duration::from_millis(open.since));
        let by_attempt = by_attempt.and_then(|since| since.checked_sub(CLOCKS_DIFFER));
        by_attempt.map_or(by_grace, |since| since.min(by_grace))
    }
}

/// Reachable nodes, and the roots that were followed to find them.
pub(crate) struct GcReachability<'h> {
    home: &'h Home,
    pub(crate) reached: ReachableNodes<'h>,
    /// Roots that were followed, so that none is followed twice.
    followed: HashSet<NodeHash>,
}

impl<'h> GcReachability<'h> {
    pub(crate) fn new(home: &'h Home) -> GcReachability<'h> {
        GcReachability { home, reached: home.store().reach(), followed: HashSet::new() }
    }

    /// Reads the current roots and follows the new ones, many nodes at once.
    pub(crate) fn update(&mut self, progress: &mut dyn FnMut(usize)) -> Result<GcRoots> {
        let roots = GcRoots::read(self.home)?;
        for (roots, missing) in [(&roots.needed, MissingNodePolicy::Fails), (&roots.named, MissingNodePolicy::IsFine)] {
            let new: Vec<NodeHash> =
                roots.iter().map(|(hash, _)| *hash).filter(|hash| self.followed.insert(*hash)).collect();
            self.reached.add_all(&new, missing, progress).map_err(|ReachFailure { root, source }| {
                let by = roots.iter().find(|(hash, _)| *hash == root);
                stopped(by.map_or(&Root::OwnType, |(_, root)| root), source)
            })?;
        }
        Ok(roots)
    }

    /// A root from which a node is reachable. Follows one root after the other.
    pub(crate) fn root_of(&mut self, node: NodeHash) -> Result<Option<Root>> {
        let roots = GcRoots::read(self.home)?;
        let needed = roots.needed.into_iter().map(|root| (root, MissingNodePolicy::Fails));
        let named = roots.named.into_iter().map(|root| (root, MissingNodePolicy::IsFine));
        for ((hash, root), missing) in needed.chain(named) {
            if self.followed.insert(hash) {
                self.reached.add(hash, missing).map_err(|source| stopped(&root, source))?;
            }
            if self.reached.has(node) {
                return Ok(Some(root));
            }
        }
        Ok(None)
    }

    /// Keeps the young ones of these nodes, with everything they reference.
    fn keep_young(&mut self, nodes: &[NodeHash], young_since: SystemTime) -> Result<()> {
        for some in nodes.chunks(READ_AT_ONCE) {
            let stored = self.home.store().objects().stored_all(some)?;
            self.follow_young(some, &stored, young_since)?;
        }
        Ok(())
    }

    /// The next candidates that are still unreachable, and the sizes of the existing ones. Nodes that young candidates reference are in
    /// this part or come later, because referrers come first.
    fn without_young(
        &mut self,
        mut part: NodeLayers,
        young_since: SystemTime,
    ) -> Result<(NodeLayers, HashMap<NodeHash, u64>)> {
        part.retain(|hash| !self.reached.has(hash));
        let nodes = part.nodes();
        let stored = self.home.store().objects().stored_all(&nodes)?;
        self.follow_young(&nodes, &stored, young_since)?;
        part.retain(|hash| !self.reached.has(hash));
        let sizes = nodes.into_iter().zip(stored).filter_map(|(hash, stored)| Some((hash, stored?.bytes)));
        Ok((part, sizes.collect()))
    }

    fn follow_young(
        &mut self,
        nodes: &[NodeHash],
        stored: &[Option<ObjectMetadata>],
        young_since: SystemTime,
    ) -> Result<()> {
        let is_young = |stored: &Option<ObjectMetadata>| stored.is_some_and(|stored| stored.put_at >= young_since);
        let young = nodes.iter().zip(stored).filter(|(_, stored)| is_young(stored));
        let young: Vec<NodeHash> = young.map(|(hash, _)| *hash).collect();
        let reached = self.reached.add_all(&young, MissingNodePolicy::IsFine, &mut |_| ());
        reached.map_err(|ReachFailure { root, source }| {
            unfollowed(&format!("node {root}, which is younger than the grace"), source)
        })
    }
}

/// The error for removing nothing because the reachable nodes are unknown.
fn unfollowed(from: &str, source: StoreError) -> Error {
    let message = format!("cannot follow {from}: {source}; nothing was removed");
    let error = Error::from(source);
    let kind = if error.kind == ErrorKind::Io { ErrorKind::Io } else { ErrorKind::Data };
    Error { kind, message, ..error }
}

fn stopped(root: &Root, source: StoreError) -> Error {
    let hint = match root {
        Root::Thread(thread) => {
            Some(format!("if the nodes are lost for good: `uwf thread kill {thread}`, then `uwf thread rm {thread}`"))
        }
        Root::Ended(thread) => Some(format!("if the nodes are lost for good: `uwf thread rm {thread}`")),
        Root::Name(name) | Root::Version(name) => Some(format!(
            "if the nodes are lost for good: `uwf workflow rm {name}`, then `uwf workflow put` names it again"
        )),
        Root::Names | Root::Record(_) | Root::Configuration | Root::OwnType => None,
    };
    unfollowed(&root.to_string(), source).hints(hint)
}
