//! The mark that makes a prefix a store, and the check whether the server is suitable.

use json_cas::{RemoteError, RemoteFault};
use serde_json::{Value, json};

use crate::bucket::{BucketWriteOutcome, StoreBucket};
use crate::token;

/// The object with the mark.
const KEY: &str = "format.json";

const FORMAT: &str = "uwf-store";
const VERSION: u64 = 1;

/// Prefix of the objects that are written to test the server, and then deleted.
const PROBE: &str = "probe/";

/// Key prefixes of a store's objects.
const OURS: [&str; 5] = ["heads/", "history/", "locks/", "nodes/", "notes/"];

/// More than the test objects of all machines that may initialize the store at the same time.
const A_FEW: usize = 100;

/// Checks that the store exists and has our format.
pub(crate) fn check(bucket: &StoreBucket) -> Result<(), RemoteError> {
    match found(bucket)? {
        true => Ok(()),
        false => Err(bucket.error(RemoteFault::NotReady, "it is not initialized")),
    }
}

fn found(bucket: &StoreBucket) -> Result<bool, RemoteError> {
    let Some(found) = bucket.get(KEY)? else { return Ok(false) };
    let foreign = |message: String| Err(bucket.error(RemoteFault::Foreign, message));
    let said: Value = serde_json::from_slice(&found.bytes).unwrap_or_default();
    match (said["format"].as_str(), said["version"].as_u64()) {
        (Some(FORMAT), Some(VERSION)) => {
            bucket.was_made_at(found.modified);
            Ok(true)
        }
        (Some(FORMAT), Some(version)) => {
            let message = format!("its format has version {version}, and this program supports only {VERSION}");
            Err(bucket.error(RemoteFault::Newer, message))
        }
        _ => foreign(format!("its {KEY} does not belong to a uwf store")),
    }
}

/// Initializes the store; `true` if it was not initialized before.
pub(crate) fn init(bucket: &StoreBucket) -> Result<bool, RemoteError> {
    let is_new = !found(bucket)?;
    if is_new {
        is_empty(bucket)?;
    }
    probe(bucket)?;
    if !is_new {
        return Ok(false);
    }
    match bucket.create(KEY, mark().as_bytes())? {
        BucketWriteOutcome::Done { .. } => Ok(true),
        // Another machine was faster. Or this call wrote the mark in an attempt whose answer was lost.
        BucketWriteOutcome::Refused { doubt } => check(bucket).map(|()| doubt),
    }
}

fn mark() -> String {
    json!({ "format": FORMAT, "version": VERSION }).to_string()
}

/// Rejects a prefix that already has objects, so that foreign ones don't get lost among ours.
fn is_empty(bucket: &StoreBucket) -> Result<(), RemoteError> {
    let there = bucket.list_some("", A_FEW)?;
    match there.iter().find(|object| !object.key.starts_with(PROBE) && object.key != KEY) {
        None => Ok(()),
        Some(ours) if OURS.iter().any(|part| ours.key.starts_with(part)) => {
            let mark = mark();
            let message =
                format!("the store has objects, such as {}, but its {KEY}, with the text `{mark}`, is gone", ours.key);
            Err(bucket.error(RemoteFault::Incomplete, message))
        }
        Some(other) => {
            let message =
                format!("the prefix already has objects, such as {}: a store needs a separate prefix", other.key);
            Err(bucket.error(RemoteFault::Foreign, message))
        }
    }
}

/// Tests the properties that everything else relies on: the server sends its time, and it rejects a conditional write whose condition
/// fails.
///
/// The danger: a server that does not support `If-None-Match` and `If-Match` (or Google's equivalents) ignores them and reports success.
/// Two machines that step the same thread would then overwrite each other's head, and both would believe that their step counts.
fn probe(bucket: &StoreBucket) -> Result<(), RemoteError> {
    // The server has answered before. Only its clock says how old a lease is.
    if bucket.transport.server_now().is_none() {
        let what = "does not send the time: its answers have no `Date`, so the leases of a machine that is gone would \
                    never expire";
        return Err(unfit(bucket, what));
    }
    let key = format!("{PROBE}{}", token::unique());
    let outcome = probe_at(bucket, &key);
    // Delete the object whatever the outcome.
    let deleted = bucket.delete(&key);
    outcome.and(deleted)
}

fn probe_at(bucket: &StoreBucket, key: &str) -> Result<(), RemoteError> {
    let (if_none, if_same) = bucket.provider().conditions();
    let refused = |written: BucketWriteOutcome| matches!(written, BucketWriteOutcome::Refused { .. });
    if refused(bucket.update(key, &bucket.provider().tag_of_nothing(), b"-")?) {
        // Correct: no object exists yet.
    } else {
        let what = format!("it writes a replacement for an object that does not exist ({if_same})");
        return Err(unconditional(bucket, &what));
    }
    // An attempt whose answer was lost may have written it.
    let _ = bucket.create(key, b"one")?;
    if !refused(bucket.create(key, b"two")?) {
        let what = format!("it replaces an object that must stay ({if_none})");
        return Err(unconditional(bucket, &what));
    }
    let Some(one) = bucket.get(key)? else {
        return Err(unconditional(bucket, "it does not find an object that was just written"));
    };
    let _ = bucket.update(key, &one.tag, b"three")?;
    let is_three = bucket.get(key)?.is_some_and(|found| found.bytes == b"three");
    if !is_three {
        let what = format!("it does not replace the expected object ({if_same})");
        return Err(unconditional(bucket, &what));
    }
    if !refused(bucket.update(key, &one.tag, b"four")?) {
        let what = format!("it replaces an object that has changed ({if_same})");
        return Err(unconditional(bucket, &what));
    }
    Ok(())
}

fn unconditional(bucket: &StoreBucket, what: &str) -> RemoteError {
    unfit(bucket, &format!("has no conditional writes, because {what}"))
}

fn unfit(bucket: &StoreBucket, what: &str) -> RemoteError {
    let server = bucket.transport.server().map_or_else(String::new, |server| format!(" `{server}`"));
    bucket.error(RemoteFault::Unfit, format!("the server{server} {what}"))
}
