//! The mark that a prefix is a store, and whether its server is fit to be one.

use json_cas::{RemoteError, RemoteFault};
use serde_json::{Value, json};

use crate::bucket::{Bucket, Written};
use crate::token;

/// The object that says so.
const KEY: &str = "format.json";

const FORMAT: &str = "uwf-store";
const VERSION: u64 = 1;

/// What is written to try the server out, and deleted again.
const PROBE: &str = "probe/";

/// What the keys of a store's objects begin with.
const OURS: [&str; 5] = ["heads/", "history/", "locks/", "nodes/", "notes/"];

/// More objects than those that are tried out by machines that make the store ready at the same time.
const A_FEW: usize = 100;

/// Whether the store is there and of our format.
pub(crate) fn check(bucket: &Bucket) -> Result<(), RemoteError> {
    match found(bucket)? {
        true => Ok(()),
        false => Err(bucket.error(RemoteFault::NotReady, "it has not been made ready")),
    }
}

fn found(bucket: &Bucket) -> Result<bool, RemoteError> {
    let Some(found) = bucket.get(KEY)? else { return Ok(false) };
    let foreign = |message: String| Err(bucket.error(RemoteFault::Foreign, message));
    let said: Value = serde_json::from_slice(&found.bytes).unwrap_or_default();
    match (said["format"].as_str(), said["version"].as_u64()) {
        (Some(FORMAT), Some(VERSION)) => {
            bucket.was_made_at(found.modified);
            Ok(true)
        }
        (Some(FORMAT), Some(version)) => {
            let message = format!("its format has the version {version}, and this program knows only {VERSION}");
            Err(bucket.error(RemoteFault::Newer, message))
        }
        _ => foreign(format!("its {KEY} is not one of a store of uwf")),
    }
}

/// Makes it ready; `true` if it was not.
pub(crate) fn init(bucket: &Bucket) -> Result<bool, RemoteError> {
    let is_new = !found(bucket)?;
    if is_new {
        is_empty(bucket)?;
    }
    probe(bucket)?;
    if !is_new {
        return Ok(false);
    }
    match bucket.create(KEY, mark().as_bytes())? {
        Written::Done { .. } => Ok(true),
        // Another machine was faster, or it was this one after all.
        Written::Refused { doubt } => check(bucket).map(|()| doubt),
    }
}

fn mark() -> String {
    json!({ "format": FORMAT, "version": VERSION }).to_string()
}

/// Nobody loses their objects among ours.
fn is_empty(bucket: &Bucket) -> Result<(), RemoteError> {
    let there = bucket.list_some("", A_FEW)?;
    match there.iter().find(|object| !object.key.starts_with(PROBE) && object.key != KEY) {
        None => Ok(()),
        Some(ours) if OURS.iter().any(|part| ours.key.starts_with(part)) => {
            let mark = mark();
            let message = format!("there are objects of a store, {}, and {KEY} is gone, which says `{mark}`", ours.key);
            Err(bucket.error(RemoteFault::Incomplete, message))
        }
        Some(other) => {
            let message = format!("there is something else already, {}: a store wants a prefix of its own", other.key);
            Err(bucket.error(RemoteFault::Foreign, message))
        }
    }
}

/// Tests what everything else relies on: the server sends its time, and refuses a conditional write.
///
/// The danger: a server that does not know `If-None-Match` and `If-Match`, or what Google has for them, ignores them, and answers
/// that all went well. Two machines that step one thread would then overwrite each other's head, and both would be told that theirs is the one.
fn probe(bucket: &Bucket) -> Result<(), RemoteError> {
    // It has answered before. How old a lease is only its clock says.
    if bucket.transport.server_now().is_none() {
        let what = "does not tell the time: its answers have no `Date`, so what a machine leaves that is gone would never get old";
        return Err(unfit(bucket, what));
    }
    let key = format!("{PROBE}{}", token::unique());
    let outcome = probe_at(bucket, &key);
    // Whatever came of it.
    let deleted = bucket.delete(&key);
    outcome.and(deleted)
}

fn probe_at(bucket: &Bucket, key: &str) -> Result<(), RemoteError> {
    let (if_none, if_same) = bucket.provider().conditions();
    let refused = |written: Written| matches!(written, Written::Refused { .. });
    if refused(bucket.update(key, &bucket.provider().tag_of_nothing(), b"-")?) {
        // As it must be: there is nothing yet.
    } else {
        let what = format!("it writes what is to replace an object that is not there ({if_same})");
        return Err(unconditional(bucket, &what));
    }
    // A try whose answer was lost may have written it.
    let _ = bucket.create(key, b"one")?;
    if !refused(bucket.create(key, b"two")?) {
        let what = format!("it replaces what is there although that is to stay ({if_none})");
        return Err(unconditional(bucket, &what));
    }
    let Some(one) = bucket.get(key)? else {
        return Err(unconditional(bucket, "it does not find what was just written"));
    };
    let _ = bucket.update(key, &one.tag, b"three")?;
    let is_three = bucket.get(key)?.is_some_and(|found| found.bytes == b"three");
    if !is_three {
        let what = format!("it does not replace what is there although it is what was expected ({if_same})");
        return Err(unconditional(bucket, &what));
    }
    if !refused(bucket.update(key, &one.tag, b"four")?) {
        let what = format!("it replaces what is no longer what was expected ({if_same})");
        return Err(unconditional(bucket, &what));
    }
    Ok(())
}

fn unconditional(bucket: &Bucket, what: &str) -> RemoteError {
    unfit(bucket, &format!("has no conditional writes: {what}"))
}

fn unfit(bucket: &Bucket, what: &str) -> RemoteError {
    let server = bucket.transport.server().map_or_else(String::new, |server| format!(" `{server}`"));
    bucket.error(RemoteFault::Unfit, format!("the server{server} {what}"))
}
