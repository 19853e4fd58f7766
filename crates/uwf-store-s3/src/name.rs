//! The state of a name.

use std::collections::HashSet;
use std::path::PathBuf;

use json_cas::{Hash, Head, HeadsError, RemoteError, RemoteFault, Version, check_name};

use crate::bucket::{Bucket, Found, Listed, Written};
use crate::parallel::{READS_AT_ONCE, each};
use crate::past::{Left, Past, REMOVED_BYTES, Removed, Said, Trace, json_bytes};
use crate::tag::Tag;

/// How often writing the record of a name is repeated because others write it as well. They write the same content.
const ROUNDS: usize = 8;

/// The key of one life of a name. The number prevents names like `..` from being a path.
pub(crate) fn head_key(name: &str, life: u64) -> String {
    format!("heads/{name}@{life}")
}

/// Name and life of a listed object; `None` if it is not ours.
pub(crate) fn parse_key(listed: &Listed) -> Option<Named<'_>> {
    let (name, life) = listed.key.strip_prefix("heads/")?.rsplit_once('@')?;
    let named = Named { key: &listed.key, name, life: life.parse().ok()? };
    (check_name(name).is_ok() && head_key(name, named.life) == named.key).then_some(named)
}

/// A live name as it was read, with everything that is needed to move it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) life: u64,
    pub(crate) tag: Tag,
    pub(crate) head: Hash,
    pub(crate) trace: Trace,
}

impl Seat {
    /// The head as callers get it.
    pub(crate) fn head(self) -> Head {
        let Seat { life, tag, head, trace } = self;
        Head { hash: head, version: Version::new(format!("{tag}\n{life}\n{head}\n{}\n{}", trace.moves, trace.tokens)) }
    }

    /// Decodes a version that this store issued.
    pub(crate) fn of(version: &Version) -> Option<Seat> {
        let mut lines = version.token().split('\n');
        let (tag, life, head) = (Tag::parse(lines.next()?), lines.next()?.parse().ok()?, lines.next()?.parse().ok()?);
        let trace = Trace { moves: lines.next()?.parse().ok()?, tokens: lines.next()?.to_owned() };
        Some(Seat { life, tag, head, trace })
    }
}

/// The state of a name.
#[derive(Debug, Clone)]
pub(crate) enum State {
    Live(Seat),
    /// The name is removed, and its record is kept.
    Removed {
        /// The number of its last life.
        over: u64,
        left: Left,
        trace: Trace,
    },
    /// The name can be created.
    Absent {
        /// The number of its next life.
        next: u64,
    },
}

/// The state of one life's object, valid as long as the object has the same tag.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Settled {
    Live(Hash),
    /// The life is over, or was already over when its object was created.
    Over,
}

impl Settled {
    /// The node that the head points at, if the life is not over.
    pub(crate) fn head(&self) -> Option<Hash> {
        match self {
            Settled::Live(hash) => Some(*hash),
            Settled::Over => None,
        }
    }
}

pub(crate) fn past_key(name: &str) -> String {
    format!("history/{name}.json")
}

/// The place of an object, for messages.
fn place(bucket: &Bucket, key: &str) -> PathBuf {
    PathBuf::from(format!("{}/{key}", bucket.name()))
}

fn unreadable(bucket: &Bucket, key: &str, reason: String) -> HeadsError {
    HeadsError::Unreadable { path: place(bucket, key), line: None, reason }
}

fn read_head(bucket: &Bucket, name: &str, life: u64) -> Result<Option<(Tag, Said)>, HeadsError> {
    let key = head_key(name, life);
    let Some(Found { bytes, tag, .. }) = bucket.get(&key)? else { return Ok(None) };
    Said::parse(&bytes).map(|said| Some((tag, said))).map_err(|reason| unreadable(bucket, &key, reason))
}

/// The past of a name, and the tag of its object.
pub(crate) fn look_past(bucket: &Bucket, name: &str) -> Result<Option<(Tag, Past)>, HeadsError> {
    let key = past_key(name);
    let Some(Found { bytes, tag, .. }) = bucket.get(&key)? else { return Ok(None) };
    let past = serde_json::from_slice(&bytes).map_err(|error| unreadable(bucket, &key, error.to_string()))?;
    Ok(Some((tag, past)))
}

/// Reads the state of a name, and finishes half-done removals.
///
/// The order matters: for a head that was never moved, read the past after the head. If the life is over then, it may have been over when
/// its creator wrote the head.
pub(crate) fn look(bucket: &Bucket, name: &str) -> Result<State, HeadsError> {
    let mut life = 1;
    loop {
        let found = read_head(bucket, name, life)?;
        let mut young = None;
        match found {
            None => (),
            Some((tag, Said::Live(live))) => {
                let is_moved = live.trace.moves > 1;
                let seat = Seat { life, tag, head: live.head, trace: live.trace };
                if is_moved {
                    return Ok(State::Live(seat));
                }
                young = Some(seat);
            }
            Some((_, Said::Removed(removed))) => finish(bucket, name, life, &removed)?,
        }
        let past = look_past(bucket, name)?.map(|(_, past)| past);
        let over = past.as_ref().map_or(0, |past| past.over);
        match young {
            Some(seat) if over < life => return Ok(State::Live(seat)),
            None if over < life => return Ok(State::Absent { next: life }),
            // This life is over, so the object is the waste of a late creator.
            Some(_) => bucket.delete(&head_key(name, life))?,
            None => (),
        }
        if let Some(Past { over, left: Some(left), trace, .. }) = past {
            return Ok(State::Removed { over, left, trace });
        }
        // Lives only grow, so the loop ends.
        life = over + 1;
    }
}

/// The object of one life of a name, from a listing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named<'l> {
    pub(crate) key: &'l str,
    pub(crate) name: &'l str,
    pub(crate) life: u64,
}

/// The result of reading one such object.
enum NameRead {
    Settled(Settled),
    /// It points to this node, unless its life is over.
    Young(Hash),
}

fn meet(bucket: &Bucket, named: &Named<'_>) -> Result<(Tag, NameRead), HeadsError> {
    // If the object is gone, its life is over. The empty tag keeps this from being taken for an object that is listed later.
    let Some((tag, said)) = read_head(bucket, named.name, named.life)? else {
        return Ok((Tag::default(), NameRead::Settled(Settled::Over)));
    };
    let met = match said {
        Said::Live(live) if live.trace.moves > 1 => NameRead::Settled(Settled::Live(live.head)),
        Said::Live(live) => NameRead::Young(live.head),
        Said::Removed(removed) => {
            finish(bucket, named.name, named.life, &removed)?;
            NameRead::Settled(Settled::Over)
        }
    };
    Ok((tag, met))
}

/// The state of a head that was never moved and has just been read.
fn settle_young(bucket: &Bucket, named: &Named<'_>, head: Hash) -> Result<Settled, HeadsError> {
    if look_past(bucket, named.name)?.is_none_or(|(_, past)| past.over < named.life) {
        return Ok(Settled::Live(head));
    }
    // The waste of a late creator.
    bucket.delete(named.key)?;
    Ok(Settled::Over)
}

/// The states of listed objects, with the tags for which they are valid.
///
/// Each object is read. Those that were never moved also need their past. If there are many of them, a listing of the whole past shows
/// that most have none. The listing is abandoned once it gets so long that reading would be as quick.
pub(crate) fn settle_all(bucket: &Bucket, all: &[Named<'_>]) -> Result<Vec<(Tag, Settled)>, HeadsError> {
    let met = each(all, READS_AT_ONCE, |named| meet(bucket, named))?;
    let young = met.iter().filter(|(_, met)| matches!(met, NameRead::Young(_))).count();
    let past = match young / READS_AT_ONCE {
        0 => None,
        pages => bucket.list_pages("history/", pages)?,
    };
    let past: Option<HashSet<String>> = past.map(|past| past.into_iter().map(|object| object.key).collect());
    let has_no_past = |name: &str| past.as_ref().is_some_and(|past| !past.contains(&past_key(name)));
    let pairs: Vec<(&Named<'_>, (Tag, NameRead))> = all.iter().zip(met).collect();
    each(&pairs, READS_AT_ONCE, |(named, (tag, met))| {
        let settled = match met {
            NameRead::Settled(settled) => settled.clone(),
            NameRead::Young(head) if has_no_past(named.name) => Settled::Live(*head),
            NameRead::Young(head) => settle_young(bucket, named, *head)?,
        };
        Ok((tag.clone(), settled))
    })
}

/// Finishes the removal of a name: first writes the record, which ends that life for good, then deletes the head.
pub(crate) fn finish(bucket: &Bucket, name: &str, life: u64, removed: &Removed) -> Result<(), HeadsError> {
    let past =
        json_bytes(&Past { over: life, left: Some(removed.left.clone()), forgot: None, trace: removed.trace.clone() });
    let key = past_key(name);
    // Most names have only one life.
    let mut before = if life == 1 { None } else { look_past(bucket, name)? };
    for _ in 0..ROUNDS {
        let written = match &before {
            Some((_, past)) if past.over >= life => return Ok(bucket.delete(&head_key(name, life))?),
            Some((tag, _)) => bucket.update(&key, tag, &past)?,
            None => bucket.create(&key, &past)?,
        };
        if let Written::Done { .. } = written {
            return Ok(bucket.delete(&head_key(name, life))?);
        }
        before = look_past(bucket, name)?;
    }
    Err(HeadsError::Remote(stuck(bucket, name)))
}

fn stuck(bucket: &Bucket, name: &str) -> RemoteError {
    bucket.error(RemoteFault::Failed, format!("it refuses the record of {name}, which no other process is writing"))
}

/// Finishes all half-done removals, which a listing shows by their size. A corrupted head may be as large; it is left to a survey.
pub(crate) fn finish_all(bucket: &Bucket) -> Result<(), HeadsError> {
    let listed = bucket.list("heads/")?;
    let is_removed = |object: &&Listed| object.size >= REMOVED_BYTES as u64;
    let removed: Vec<Named<'_>> = listed.iter().filter(is_removed).filter_map(parse_key).collect();
    let finish_one = |named: &Named<'_>| match settle_all(bucket, std::slice::from_ref(named)) {
        Ok(_) | Err(HeadsError::Unreadable { .. }) => Ok(()),
        Err(error) => Err(error),
    };
    each(&removed, READS_AT_ONCE, finish_one).map(|_| ())
}
