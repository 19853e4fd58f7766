//! Heads: one object for each life of a name, changed only by conditional writes.
//!
//! A name has lives. The first begins when the name is created and ends when it is removed. Once its record is forgotten, the name can be
//! created again, which is its next life. `heads/NAME@LIFE` is the head of one life, `history/NAME` says how many lives are over.
//!
//! **Removing** writes the record into the head's object, on the condition that no one moved it: from then on the name is removed. The
//! rest is tidying. Every process does it that finds the removal half done: it writes the record to `history/NAME`, then deletes the
//! head's object. Deleting has no condition in S3, and we use none elsewhere, so it may only hit objects that can never be in use again.
//!
//! **Why that is safe.** A life that `history/NAME` counts as over is over for good, because that object is never deleted and its count
//! only grows (each write of it is conditional). So an object of such a life is waste, no matter which process wrote it and how late, and
//! deleting it is right at any time. Even a process that was suspended for hours deletes no live head.
//!
//! **Creating** writes the head's object on the condition that it doesn't exist, and then checks whether that life is already over: the
//! creator may have been suspended while others created, removed and tidied up the same name. Readers do not rely on the creator's check.
//! They check every object that was never moved (`moves` is 1) themselves. A moved object needs no check: the process that moved it had
//! found it alive, and each move makes every conditional write of others fail. So a name never comes back to life, not even for a moment:
//! at no time does a reader take the waste of a late creator for a head.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use json_cas::{
    Head, HeadBackend, HeadsError, NameVersion, NodeHash, Pointing, RemoteError, RemoteFault, SwapOutcome, check_name,
};
use serde_json::Value;

use crate::bucket::{BucketWriteOutcome, StoreBucket};
use crate::damaged;
use crate::name::{BucketNameState, LiveName, finish, head_key, look_past, parse_key, read_state, settle_all};
use crate::past::{HeadObject, LiveHeadObject, MoveTrace, NameHistory, RemovalRecord, RemovedHeadObject};
use crate::store::S3Store;
use crate::token;

/// How often a change is restarted if it was rejected although nothing had changed, or if it met a half-done change.
const ROUNDS: usize = 8;

/// Why a change was rejected.
enum ChangeRejection {
    /// This very change made the condition fail: the answer to its first attempt was lost.
    Ours,
    /// Nothing has changed, so try again.
    Same,
    Moved(Option<Head>),
}

/// A change that was rejected, or made twice.
struct HeadMove<'t> {
    life: u64,
    /// Number of the move in that life; the creation is number 1.
    number: u64,
    token: &'t str,
}

impl HeadMove<'_> {
    /// Whether the change is part of the current state.
    ///
    /// The danger: a change is made but its answer is lost, and the second attempt is rejected because of the first. Reporting that change
    /// as lost would make the user pay again for a step that is already in the chain. So each head has the tokens of its newest moves, and
    /// so does the past of a name for its last life. If others have made so many moves meanwhile that the tokens no longer show whether
    /// the change was made, that is an error which says so.
    fn was_made(
        &self,
        bucket: &StoreBucket,
        name: &str,
        state: &BucketNameState,
        doubt: bool,
    ) -> Result<bool, HeadsError> {
        let trace = match state {
            BucketNameState::Live(now) if now.life == self.life => Some(now.trace.clone()),
            BucketNameState::Removed { over, trace, .. } if *over == self.life => Some(trace.clone()),
            BucketNameState::Absent { next } if *next == self.life => return Ok(false),
            _ if doubt => {
                let past = look_past(bucket, name)?.map(|(_, past)| past);
                past.filter(|past| past.over == self.life).map(|past| past.trace)
            }
            _ => None,
        };
        match trace {
            Some(trace) if trace.has(self.token) => Ok(true),
            Some(trace) if doubt && !trace.reaches(self.number) => Err(unknown(bucket, name)),
            None if doubt => Err(unknown(bucket, name)),
            Some(_) | None => Ok(false),
        }
    }
}

impl S3Store {
    /// Finds out why a move from `from` with this token was rejected.
    fn find_out(
        bucket: &StoreBucket,
        name: &str,
        from: &LiveName,
        token: &str,
        doubt: bool,
    ) -> Result<ChangeRejection, HeadsError> {
        let state = read_state(bucket, name)?;
        if matches!(&state, BucketNameState::Live(now) if now.tag == from.tag) {
            return Ok(ChangeRejection::Same);
        }
        let change = HeadMove { life: from.life, number: from.trace.moves + 1, token };
        if change.was_made(bucket, name, &state, doubt)? {
            return Ok(ChangeRejection::Ours);
        }
        Ok(ChangeRejection::Moved(match state {
            BucketNameState::Live(now) => Some(now.head()),
            BucketNameState::Removed { .. } | BucketNameState::Absent { .. } => None,
        }))
    }

    /// Makes a move: writes the result of `next` if the name is still at the expected version. `Ok(Ok(…))` contains what was written.
    fn moved(
        &self,
        bucket: &StoreBucket,
        name: &str,
        expected: &NameVersion,
        next: impl Fn(MoveTrace) -> HeadObject,
    ) -> Result<Result<(LiveName, HeadObject), SwapOutcome>, HeadsError> {
        let Some(from) = LiveName::from_version(expected) else {
            return Ok(Err(SwapOutcome::Moved(self.read(name)?)));
        };
        let token = token::unique();
        let said = next(from.trace.then(&token));
        for _ in 0..ROUNDS {
            let BucketWriteOutcome::Refused { doubt } =
                bucket.update(&head_key(name, from.life), &from.tag, &said.bytes())?
            else {
                return Ok(Ok((from, said)));
            };
            match S3Store::find_out(bucket, name, &from, &token, doubt)? {
                ChangeRejection::Ours => return Ok(Ok((from, said))),
                ChangeRejection::Same => (),
                ChangeRejection::Moved(now) => return Ok(Err(SwapOutcome::Moved(now))),
            }
        }
        Err(restless(bucket, name).into())
    }
}

/// The outcome of a change is unknown. Don't treat this as a change that was not made.
fn unknown(bucket: &StoreBucket, name: &str) -> HeadsError {
    let message = format!(
        "it did not report whether {name} was changed, and other processes have changed it since: check its head"
    );
    bucket.error(RemoteFault::Failed, message).into()
}

fn restless(bucket: &StoreBucket, name: &str) -> RemoteError {
    bucket.error(RemoteFault::Failed, format!("it refuses to move {name}, which no other process has moved"))
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl HeadBackend for S3Store {
    fn read(&self, name: &str) -> Result<Option<Head>, HeadsError> {
        check_name(name)?;
        match read_state(&*self.ready()?, name)? {
            BucketNameState::Live(seat) => Ok(Some(seat.head())),
            BucketNameState::Removed { .. } | BucketNameState::Absent { .. } => Ok(None),
        }
    }

    fn list(&self) -> Result<Vec<(String, NodeHash)>, HeadsError> {
        let bucket = self.ready()?;
        let listed = bucket.list("heads/")?;
        let seen = &self.inner.heads_seen;
        let (mut live, mut unknown) = (BTreeMap::new(), Vec::new());
        for (object, named) in listed.iter().filter_map(|object| Some((object, parse_key(object)?))) {
            match seen.get_unchanged(object) {
                Some(settled) => live.extend(settled.head().map(|head| (named.name, head))),
                None => unknown.push(named),
            }
        }
        for (named, (tag, settled)) in unknown.iter().zip(settle_all(&bucket, &unknown)?) {
            live.extend(settled.head().map(|head| (named.name, head)));
            seen.learn(named.key, &tag, settled);
        }
        seen.keep(&listed);
        Ok(live.into_iter().map(|(name, hash)| (name.to_owned(), hash)).collect())
    }

    fn survey(&self) -> Result<Vec<(String, Pointing)>, HeadsError> {
        match self.list() {
            Err(HeadsError::Unreadable { .. }) => {}
            listed => return Ok(listed?.into_iter().map(|(name, hash)| (name, Ok(hash))).collect()),
        }
        let bucket = self.ready()?;
        let listed = bucket.list("heads/")?;
        damaged::survey(&bucket, &listed.iter().filter_map(parse_key).collect::<Vec<_>>())
    }

    fn mend(&self, name: &str, damaged: &NameVersion, new: NodeHash) -> Result<SwapOutcome, HeadsError> {
        check_name(name)?;
        match damaged::mend(&*self.ready()?, name, damaged, new)? {
            Some(swap) => Ok(swap),
            None => self.swap(name, damaged, new),
        }
    }

    fn create(&self, name: &str, new: NodeHash) -> Result<SwapOutcome, HeadsError> {
        check_name(name)?;
        let bucket = self.ready()?;
        let token = token::unique();
        let first = HeadObject::Live(LiveHeadObject { head: new, trace: MoveTrace::first(&token) }).bytes();
        // Look before the first attempt as well, so that an old past is not mistaken for one that was found after a lost answer.
        let mut life = match look_past(&bucket, name)? {
            Some((_, NameHistory { left: Some(_), .. })) => return Err(HeadsError::Removed { name: name.to_owned() }),
            Some((_, past)) => past.over + 1,
            None => 1,
        };
        for _ in 0..ROUNDS {
            let doubt = match bucket.create(&head_key(name, life), &first)? {
                BucketWriteOutcome::Done { .. }
                    if look_past(&bucket, name)?.is_none_or(|(_, past)| past.over < life) =>
                {
                    return Ok(SwapOutcome::Done);
                }
                // The life is already over. Either the written object is waste, or it was a head until others quickly removed it.
                BucketWriteOutcome::Done { .. } => true,
                BucketWriteOutcome::Refused { doubt } => doubt,
            };
            let state = read_state(&bucket, name)?;
            let is_ours = HeadMove { life, number: 1, token: &token }.was_made(&bucket, name, &state, doubt)?;
            match state {
                _ if is_ours => return Ok(SwapOutcome::Done),
                BucketNameState::Live(seat) => return Ok(SwapOutcome::Moved(Some(seat.head()))),
                BucketNameState::Removed { .. } => return Err(HeadsError::Removed { name: name.to_owned() }),
                BucketNameState::Absent { next } => life = next,
            }
        }
        Err(restless(&bucket, name).into())
    }

    fn swap(&self, name: &str, expected: &NameVersion, new: NodeHash) -> Result<SwapOutcome, HeadsError> {
        check_name(name)?;
        let bucket = self.ready()?;
        let moved =
            self.moved(&bucket, name, expected, |trace| HeadObject::Live(LiveHeadObject { head: new, trace }))?;
        Ok(moved.map_or_else(|lost| lost, |_| SwapOutcome::Done))
    }

    fn remove(&self, name: &str, expected: &NameVersion, record: &Value) -> Result<SwapOutcome, HeadsError> {
        check_name(name)?;
        let bucket = self.ready()?;
        let removed = |trace| {
            HeadObject::Removed(RemovedHeadObject {
                left: RemovalRecord { record: record.clone(), at_ms: now_ms() },
                trace,
            })
        };
        match self.moved(&bucket, name, expected, removed)? {
            Ok((from, HeadObject::Removed(removed))) => {
                // The name is removed even if tidying fails now: the next process that finds it half done tidies up.
                let _ = finish(&bucket, name, from.life, &removed);
                Ok(SwapOutcome::Done)
            }
            Ok((_, HeadObject::Live(_))) => Ok(SwapOutcome::Done),
            Err(lost) => Ok(lost),
        }
    }
}
