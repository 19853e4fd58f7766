//! The state of a name.

use std::collections::HashSet;
use std::path::PathBuf;

use json_cas::{Head, HeadsError, NameVersion, NodeHash, RemoteError, RemoteFault, check_name};

use crate::bucket::{BucketObject, BucketWriteOutcome, ListedObject, StoreBucket};
use crate::parallel::{READS_AT_ONCE, each};
use crate::past::{HeadObject, MoveTrace, NameHistory, REMOVED_BYTES, RemovalRecord, RemovedHeadObject, json_bytes};
use crate::tag::ObjectTag;

/// How often writing the record of a name is repeated because others write it as well. They write the same content.
const ROUNDS: usize = 8;

/// The key of one life of a name. The number prevents names like `..` from being a path.
pub(crate) fn head_key(name: &str, life: u64) -> String {
    format!("heads/{name}@{life}")
}

/// Name and life of a listed object; `None` if it is not ours.
pub(crate) fn parse_key(listed: &ListedObject) -> Option<ListedNameLife<'_>> {
    let (name, life) = listed.key.strip_prefix("heads/")?.rsplit_once('@')?;
    let named = ListedNameLife { key: &listed.key, name, life: life.parse().ok()? };
    (check_name(name).is_ok() && head_key(name, named.life) == named.key).then_some(named)
}

/// A live name as it was read, with everything that is needed to move it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LiveName {
    pub(crate) life: u64,
    pub(crate) tag: ObjectTag,
    pub(crate) head: NodeHash,
    pub(crate) trace: MoveTrace,
}

impl LiveName {
    /// The head as callers get it.
    pub(crate) fn head(self) -> Head {
        let LiveName { life, tag, head, trace } = self;
        Head {
            hash: head,
            version: NameVersion::new(format!("{tag}\n{life}\n{head}\n{}\n{}", trace.moves, trace.tokens)),
        }
    }

    /// Decodes a version that this store issued.
    pub(crate) fn from_version(version: &NameVersion) -> Option<LiveName> {
        let mut lines = version.token().split('\n');
        let (tag, life, head) =
            (ObjectTag::parse(lines.next()?), lines.next()?.parse().ok()?, lines.next()?.parse().ok()?);
        let trace = MoveTrace { moves: lines.next()?.parse().ok()?, tokens: lines.next()?.to_owned() };
        Some(LiveName { life, tag, head, trace })
    }
}

/// The state of a name.
#[derive(Debug, Clone)]
pub(crate) enum BucketNameState {
    Live(LiveName),
    /// The name is removed, and its record is kept.
    Removed {
        /// The number of its last life.
        over: u64,
        left: RemovalRecord,
        trace: MoveTrace,
    },
    /// The name can be created.
    Absent {
        /// The number of its next life.
        next: u64,
    },
}

/// The state of one life's object, valid as long as the object has the same tag.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NameLifeState {
    Live(NodeHash),
    /// The life is over, or was already over when its object was created.
    Over,
}

impl NameLifeState {
    /// The node that the head points at, if the life is not over.
    pub(crate) fn head(&self) -> Option<NodeHash> {
        match self {
            NameLifeState::Live(hash) => Some(*hash),
            NameLifeState::Over => None,
        }
    }
}

pub(crate) fn past_key(name: &str) -> String {
    format!("history/{name}.json")
}

/// The place of an object, for messages.
fn place(bucket: &StoreBucket, key: &str) -> PathBuf {
    PathBuf::from(format!("{}/{key}", bucket.name()))
}

fn unreadable(bucket: &StoreBucket, key: &str, reason: String) -> HeadsError {
    HeadsError::Unreadable { path: place(bucket, key), line: None, reason }
}

fn read_head(bucket: &StoreBucket, name: &str, life: u64) -> Result<Option<(ObjectTag, HeadObject)>, HeadsError> {
    let key = head_key(name, life);
    let Some(BucketObject { bytes, tag, .. }) = bucket.get(&key)? else { return Ok(None) };
    HeadObject::parse(&bytes).map(|said| Some((tag, said))).map_err(|reason| unreadable(bucket, &key, reason))
}

/// The past of a name, and the tag of its object.
pub(crate) fn look_past(bucket: &StoreBucket, name: &str) -> Result<Option<(ObjectTag, NameHistory)>, HeadsError> {
    let key = past_key(name);
    let Some(BucketObject { bytes, tag, .. }) = bucket.get(&key)? else { return Ok(None) };
    let past = serde_json::from_slice(&bytes).map_err(|error| unreadable(bucket, &key, error.to_string()))?;
    Ok(Some((tag, past)))
}

/// Reads the state of a name, and finishes half-done removals.
///
/// The order matters: for a head that was never moved, read the past after the head. If the life is over then, it may have been over when
/// its creator wrote the head.
pub(crate) fn read_state(bucket: &StoreBucket, name: &str) -> Result<BucketNameState, HeadsError> {
    let mut life = 1;
    loop {
        let found = read_head(bucket, name, life)?;
        let mut young = None;
        match found {
            None => (),
            Some((tag, HeadObject::Live(live))) => {
                let is_moved = live.trace.moves > 1;
                let seat = LiveName { life, tag, head: live.head, trace: live.trace };
                if is_moved {
                    return Ok(BucketNameState::Live(seat));
                }
                young = Some(seat);
            }
            Some((_, HeadObject::Removed(removed))) => finish(bucket, name, life, &removed)?,
        }
        let past = look_past(bucket, name)?.map(|(_, past)| past);
        let over = past.as_ref().map_or(0, |past| past.over);
        match young {
            Some(seat) if over < life => return Ok(BucketNameState::Live(seat)),
            None if over < life => return Ok(BucketNameState::Absent { next: life }),
            // This life is over, so the object is the waste of a late creator.
            Some(_) => bucket.delete(&head_key(name, life))?,
            None => (),
        }
        if let Some(NameHistory { over, left: Some(left), trace, .. }) = past {
            return Ok(BucketNameState::Removed { over, left, trace });
        }
        // Lives only grow, so the loop ends.
        life = over + 1;
    }
}

/// The object of one life of a name, from a listing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListedNameLife<'l> {
    pub(crate) key: &'l str,
    pub(crate) name: &'l str,
    pub(crate) life: u64,
}

/// The result of reading one such object.
enum NameRead {
    Settled(NameLifeState),
    /// It points to this node, unless its life is over.
    Young(NodeHash),
}

fn meet(bucket: &StoreBucket, named: &ListedNameLife<'_>) -> Result<(ObjectTag, NameRead), HeadsError> {
    // If the object is gone, its life is over. The empty tag keeps this from being taken for an object that is listed later.
    let Some((tag, said)) = read_head(bucket, named.name, named.life)? else {
        return Ok((ObjectTag::default(), NameRead::Settled(NameLifeState::Over)));
    };
    let met = match said {
        HeadObject::Live(live) if live.trace.moves > 1 => NameRead::Settled(NameLifeState::Live(live.head)),
        HeadObject::Live(live) => NameRead::Young(live.head),
        HeadObject::Removed(removed) => {
            finish(bucket, named.name, named.life, &removed)?;
            NameRead::Settled(NameLifeState::Over)
        }
    };
    Ok((tag, met))
}

/// The state of a head that was never moved and has just been read.
fn settle_young(bucket: &StoreBucket, named: &ListedNameLife<'_>, head: NodeHash) -> Result<NameLifeState, HeadsError> {
    if look_past(bucket, named.name)?.is_none_or(|(_, past)| past.over < named.life) {
        return Ok(NameLifeState::Live(head));
    }
    // The waste of a late creator.
    bucket.delete(named.key)?;
    Ok(NameLifeState::Over)
}

/// The states of listed objects, with the tags for which they are valid.
///
/// Each object is read. Those that were never moved also need their past. If there are many of them, a listing of the whole past shows
/// that most have none. The listing is abandoned once it gets so long that reading would be as quick.
pub(crate) fn settle_all(
    bucket: &StoreBucket,
    all: &[ListedNameLife<'_>],
) -> Result<Vec<(ObjectTag, NameLifeState)>, HeadsError> {
    let met = each(all, READS_AT_ONCE, |named| meet(bucket, named))?;
    let young = met.iter().filter(|(_, met)| matches!(met, NameRead::Young(_))).count();
    let past = match young / READS_AT_ONCE {
        0 => None,
        pages => bucket.list_pages("history/", pages)?,
    };
    let past: Option<HashSet<String>> = past.map(|past| past.into_iter().map(|object| object.key).collect());
    let has_no_past = |name: &str| past.as_ref().is_some_and(|past| !past.contains(&past_key(name)));
    let pairs: Vec<(&ListedNameLife<'_>, (ObjectTag, NameRead))> = all.iter().zip(met).collect();
    each(&pairs, READS_AT_ONCE, |(named, (tag, met))| {
        let settled = match met {
            NameRead::Settled(settled) => settled.clone(),
            NameRead::Young(head) if has_no_past(named.name) => NameLifeState::Live(*head),
            NameRead::Young(head) => settle_young(bucket, named, *head)?,
        };
        Ok((tag.clone(), settled))
    })
}

/// Finishes the removal of a name: first writes the record, which ends that life for good, then deletes the head.
pub(crate) fn finish(
    bucket: &StoreBucket,
    name: &str,
    life: u64,
    removed: &RemovedHeadObject,
) -> Result<(), HeadsError> {
    let past = json_bytes(&NameHistory {
        over: life,
        left: Some(removed.left.clone()),
        forgot: None,
        trace: removed.trace.clone(),
    });
    let key = past_key(name);
    // Most names have only one life.
    let mut before = if life == 1 { None } else { look_past(bucket, name)? };
    for _ in 0..ROUNDS {
        let written = match &before {
            Some((_, past)) if past.over >= life => return Ok(bucket.delete(&head_key(name, life))?),
            Some((tag, _)) => bucket.update(&key, tag, &past)?,
            None => bucket.create(&key, &past)?,
        };
        if let BucketWriteOutcome::Done { .. } = written {
            return Ok(bucket.delete(&head_key(name, life))?);
        }
        before = look_past(bucket, name)?;
    }
    Err(HeadsError::Remote(stuck(bucket, name)))
}

fn stuck(bucket: &StoreBucket, name: &str) -> RemoteError {
    bucket.error(RemoteFault::Failed, format!("it refuses the record of {name}, which no other process is writing"))
}

/// Finishes all half-done removals, which a listing shows by their size. A corrupted head may be as large; it is left to a survey.
pub(crate) fn finish_all(bucket: &StoreBucket) -> Result<(), HeadsError> {
    let listed = bucket.list("heads/")?;
    let is_removed = |object: &&ListedObject| object.size >= REMOVED_BYTES as u64;
    let removed: Vec<ListedNameLife<'_>> = listed.iter().filter(is_removed).filter_map(parse_key).collect();
    let finish_one = |named: &ListedNameLife<'_>| match settle_all(bucket, std::slice::from_ref(named)) {
        Ok(_) | Err(HeadsError::Unreadable { .. }) => Ok(()),
        Err(error) => Err(error),
    };
    each(&removed, READS_AT_ONCE, finish_one).map(|_| ())
}
