//! The activity of other machines on all threads, for lists.
//!
//! Every thread that was ever stepped has a claim, and a list must know all of them. So this machine remembers what a
//! claim says, and reads it again only when the store lists a new version. A machine that is running a step writes a
//! new version every few seconds.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use json_cas::{ListedNote, NodeHash, StoredNote};
use serde::{Deserialize, Serialize};
use uwf_core::thread::ThreadId;

use super::{PeerActivity, PostAttemptState, is_news};
use crate::attempt::recorded::claim::{self, Claim};
use crate::attempt::recorded::{self, RecordedAttempt};
use crate::error::Result;
use crate::root::cache_file;
use crate::root::home::Home;

/// Claims at most this old may belong to a running machine: other machines may have a longer lease than this one.
const RECENT: Duration = Duration::from_mins(1);

/// The current or last activity of other machines on threads at these heads, by thread name. Leaves out threads about
/// which the local record knows as much.
pub(crate) fn all(home: &Home, heads: &[(String, NodeHash)]) -> Result<BTreeMap<String, PeerActivity>> {
    let Some(path) = home.claims_cache() else { return Ok(BTreeMap::new()) };
    let recent = home.config()?.lease().max(RECENT);
    let heads: HashMap<&str, NodeHash> = heads.iter().map(|(name, head)| (name.as_str(), *head)).collect();
    let listed = listed_claims(home, &heads)?;
    let mut memory = ClaimCache::load(path);
    // The age of a claim shows whether its machine is running; the rest is in the claim.
    let may_be_at_work = |listed: &ListedNote, said: &ClaimVersion| said.over.is_none() && listed.age < recent;
    let unknown =
        listed.iter().filter(|listed| memory.matching_version(listed).is_none_or(|said| may_be_at_work(listed, said)));
    let unknown: Vec<String> = unknown.map(|listed| listed.name.clone()).collect();
    let read: HashMap<String, StoredNote> = home.notes().read_notes(&unknown)?.into_iter().collect();
    let mut all = BTreeMap::new();
    for listed in &listed {
        let Some(thread) = claim::thread_of(&listed.name) else { continue };
        let Some(head) = heads.get(thread.as_str()) else { continue };
        let found = match read.get(&listed.name) {
            Some(note) => memory.learn(home, listed, &thread, *head, note)?,
            None => memory.matching_version(listed).and_then(|said| said.stand_at(*head)),
        };
        let found = match found {
            Some(ClaimSearch::AtWork(elsewhere)) => Some(elsewhere),
            Some(ClaimSearch::Over(over)) => over.told_to(home, &thread)?,
            None => None,
        };
        all.extend(found.map(|elsewhere| (thread.to_string(), elsewhere)));
    }
    memory.save(home, &listed);
    Ok(all)
}

/// The lease of a running step on a shared store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldLease {
    /// The machine that runs the step.
    pub machine: String,
    /// Time since the machine renewed it, by the clock of the store.
    pub age: Duration,
    /// How long it counts without a renewal. If it is older, its machine is gone, and the next step of its thread takes the step over.
    pub lease: Duration,
}

/// The leases of all machines, this one included; none without a shared store.
///
/// # Errors
/// Errors of the store.
pub fn leases(home: &Home) -> Result<Vec<HeldLease>> {
    let Some(path) = home.claims_cache() else { return Ok(Vec::new()) };
    let heads = home.heads().list()?;
    let heads: HashMap<&str, NodeHash> = heads.iter().map(|(name, head)| (name.as_str(), *head)).collect();
    let memory = ClaimCache::load(path);
    let is_over = |listed: &ListedNote| memory.matching_version(listed).is_some_and(|said| said.over.is_some());
    let open: Vec<String> =
        listed_claims(home, &heads)?.into_iter().filter(|it| !is_over(it)).map(|it| it.name).collect();
    let notes = home.notes().read_notes(&open)?;
    let held = notes.into_iter().filter_map(|(name, note)| {
        let thread = claim::thread_of(&name)?;
        let (attempt, claim) = Claim::with_attempt(&note, &thread)?;
        let is_next = heads.get(thread.as_str()) == Some(&attempt.opened.expected_head);
        let lease = claim.lease();
        (attempt.closed.is_none() && is_next).then_some(HeldLease { machine: claim.machine, age: note.age, lease })
    });
    Ok(held.collect())
}

/// The claims on these threads.
fn listed_claims(home: &Home, heads: &HashMap<&str, NodeHash>) -> Result<Vec<ListedNote>> {
    let mut listed = home.notes().notes(claim::KIND)?;
    listed.retain(|listed| listed.name.strip_prefix(claim::KIND).is_some_and(|thread| heads.contains_key(thread)));
    Ok(listed)
}

enum ClaimSearch {
    AtWork(PeerActivity),
    Over(ConcludedAttempt),
}

/// An attempt that has ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ConcludedAttempt {
    head: NodeHash,
    attempt: String,
    was_replied_to: bool,
    stand: PostAttemptState,
}

impl ConcludedAttempt {
    fn from_recorded_attempt(attempt: &RecordedAttempt) -> Option<ConcludedAttempt> {
        attempt.closed.as_ref().map(|_| ConcludedAttempt {
            head: attempt.opened.expected_head,
            attempt: attempt.opened.attempt.clone(),
            was_replied_to: attempt.replied.is_some(),
            stand: PostAttemptState::after(attempt),
        })
    }

    /// The thread's state after it; `None` if the record of this machine knows as much.
    fn told_to(self, home: &Home, thread: &ThreadId) -> Result<Option<PeerActivity>> {
        let own = recorded::read(home, thread)?;
        Ok(is_news(own.as_ref(), &self.attempt, self.was_replied_to).then_some(PeerActivity::Stands(self.stand)))
    }
}

/// The remembered content of one version of a claim. It has no attempt that is still open: such an attempt counts for
/// nothing once its machine is gone.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ClaimVersion {
    name: String,
    version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    over: Option<ConcludedAttempt>,
}

impl ClaimVersion {
    fn stand_at(&self, head: NodeHash) -> Option<ClaimSearch> {
        self.over.clone().filter(|over| over.head == head).map(ClaimSearch::Over)
    }
}

/// Remembered contents of claims.
struct ClaimCache {
    path: PathBuf,
    by_name: HashMap<String, ClaimVersion>,
    has_learned: bool,
}

impl ClaimCache {
    fn load(path: PathBuf) -> ClaimCache {
        let bytes = cache_file::read(&path).unwrap_or_default();
        let known: Vec<ClaimVersion> = serde_json::from_slice(&bytes).unwrap_or_default();
        let by_name = known.into_iter().map(|said| (said.name.clone(), said)).collect();
        ClaimCache { path, by_name, has_learned: false }
    }

    fn matching_version(&self, listed: &ListedNote) -> Option<&ClaimVersion> {
        self.by_name.get(&listed.name).filter(|said| said.version == listed.version.token())
    }

    /// Remembers what a note said. It may be newer than the list: then the next list has another version.
    fn learn(
        &mut self,
        home: &Home,
        listed: &ListedNote,
        thread: &ThreadId,
        head: NodeHash,
        note: &StoredNote,
    ) -> Result<Option<ClaimSearch>> {
        let there = Claim::with_attempt(note, thread);
        let over = there.as_ref().and_then(|(attempt, _)| ConcludedAttempt::from_recorded_attempt(attempt));
        let said = ClaimVersion { name: listed.name.clone(), version: listed.version.token().to_owned(), over };
        let found = said.stand_at(head);
        if self.matching_version(listed).is_none() {
            self.by_name.insert(said.name.clone(), said);
            self.has_learned = true;
        }
        let Some((attempt, claim)) = there.filter(|(attempt, _)| attempt.opened.expected_head == head) else {
            return Ok(None);
        };
        let at_work = super::at_work_elsewhere(attempt, &claim, note.age, || recorded::read(home, thread))?;
        Ok(at_work.map(|at_work| ClaimSearch::AtWork(PeerActivity::AtWork(Box::new(at_work)))).or(found))
    }

    /// Saves what is known about the listed notes.
    fn save(&self, home: &Home, listed: &[ListedNote]) {
        if self.has_learned {
            let known: Vec<&ClaimVersion> = listed.iter().filter_map(|listed| self.matching_version(listed)).collect();
            let body = serde_json::to_vec(&known).expect("a claim has only texts and numbers");
            cache_file::write(home, &self.path, &body);
        }
    }
}
