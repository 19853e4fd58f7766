//! The records of removed names.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use json_cas::{HeadsError, JournalRecords, RemoteFault, RemovalJournal, check_name};
use serde_json::Value;

use crate::bucket::{BucketWriteOutcome, ListedObject, StoreBucket};
use crate::name::{BucketNameState, finish_all, look_past, past_key, read_state};
use crate::parallel::{NODES_AT_ONCE, READS_AT_ONCE, each};
use crate::past::{NameHistory, json_bytes};
use crate::store::S3Store;
use crate::token;

/// How often forgetting a record is restarted because others change it.
const ROUNDS: usize = 8;

/// One object: the past of a name, or why it can't be read.
type Read = Result<NameHistory, String>;

impl S3Store {
    fn read_listed(&self, bucket: &StoreBucket, listed: &ListedObject) -> Result<Option<Read>, HeadsError> {
        if let Some(past) = self.inner.past_seen.get_unchanged(listed) {
            return Ok(Some(Ok(past)));
        }
        let Some(found) = bucket.get(&listed.key)? else { return Ok(None) };
        let read: Read = serde_json::from_slice(&found.bytes).map_err(|error| format!("{}: {error}", listed.key));
        if let Ok(past) = &read {
            self.inner.past_seen.learn(&listed.key, &found.tag, past.clone());
        }
        Ok(Some(read))
    }
}

/// Drops the record of a name; `true` if there was one.
fn forget_one(bucket: &StoreBucket, name: &str) -> Result<bool, HeadsError> {
    // A half-done removal must bring back neither the name nor its record.
    let BucketNameState::Removed { over, trace, .. } = read_state(bucket, name)? else { return Ok(false) };
    let token = Some(token::unique());
    let forgotten = json_bytes(&NameHistory { over, left: None, forgot: token.clone(), trace });
    for _ in 0..ROUNDS {
        let Some((tag, past)) = look_past(bucket, name)? else { return Ok(false) };
        if past.over != over || past.left.is_none() {
            // Perhaps by this very call, if its answer was lost.
            return Ok(past.forgot == token);
        }
        if let BucketWriteOutcome::Done { .. } = bucket.update(&past_key(name), &tag, &forgotten)? {
            return Ok(true);
        }
    }
    let message = format!("it refuses to forget {name}, which no other process is changing");
    Err(bucket.error(RemoteFault::Failed, message).into())
}

impl RemovalJournal for S3Store {
    /// Oldest first: by the seconds of the server's clock, and within one second by the clock of the machine that removed the name.
    fn records(&self) -> Result<JournalRecords, HeadsError> {
        let bucket = self.ready()?;
        finish_all(&bucket)?;
        let listed = bucket.list("history/")?;
        let read = each(&listed, READS_AT_ONCE, |object| self.read_listed(&bucket, object))?;
        self.inner.past_seen.keep(&listed);
        let (mut ordered, mut problems) = (Vec::new(), Vec::new());
        for (object, read) in listed.iter().zip(read) {
            match read {
                Some(Ok(NameHistory { left: Some(left), .. })) => {
                    ordered.push((seconds(object.modified), left.at_ms, &object.key, left.record));
                }
                Some(Ok(NameHistory { left: None, .. })) | None => (),
                Some(Err(problem)) => problems.push(problem),
            }
        }
        ordered.sort_by(|a, b| (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)));
        Ok(JournalRecords { readable: ordered.into_iter().map(|(.., record)| record).collect(), problems })
    }

    fn newest(&self, name: &str) -> Result<Option<Value>, HeadsError> {
        check_name(name)?;
        let bucket = self.ready()?;
        if let Some((_, NameHistory { left: Some(left), .. })) = look_past(&bucket, name)? {
            return Ok(Some(left.record));
        }
        // The removal of the name may be half done.
        match read_state(&bucket, name)? {
            BucketNameState::Removed { left, .. } => Ok(Some(left.record)),
            BucketNameState::Live(_) | BucketNameState::Absent { .. } => Ok(None),
        }
    }

    fn forget(&self, names: &[&str]) -> Result<usize, HeadsError> {
        names.iter().try_for_each(|name| check_name(name))?;
        let bucket = self.ready()?;
        let names: Vec<&str> = names.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let forgotten = each(&names, NODES_AT_ONCE, |name| forget_one(&bucket, name))?;
        Ok(forgotten.into_iter().filter(|was_there| *was_there).count())
    }
}

/// Whole seconds, because not all servers list more precise times.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
