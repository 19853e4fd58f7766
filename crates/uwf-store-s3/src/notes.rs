//! Notes: one object for each, which is overwritten.

use std::time::{Duration, SystemTime};

use json_cas::{
    HeadsError, ListedNote, NameVersion, NoteBackend, NoteWriteCondition, NoteWritten, StoredNote, check_name,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bucket::{BucketObject, BucketWriteOutcome, ListedObject, StoreBucket};
use crate::parallel::{READS_AT_ONCE, each};
use crate::past::json_bytes;
use crate::store::S3Store;
use crate::tag::ObjectTag;
use crate::token;

const NOTES: &str = "notes/";
const SUFFIX: &str = ".json";

/// The server reports whole seconds, so a note may be older than it seems by this much.
const CLOCK_STEP: Duration = Duration::from_secs(1);

/// The content of `notes/NAME.json`.
#[derive(Debug, Default, Serialize, Deserialize)]
struct NoteContent {
    value: Value,
    /// A new token for each write, so that no two writes have the same tag, and a write whose answer was lost is recognised.
    write: String,
}

fn key(name: &str) -> String {
    format!("{NOTES}{name}{SUFFIX}")
}

/// The age by the server's clock. If the server has no clock, nothing ages.
fn age(bucket: &StoreBucket, written: SystemTime) -> Duration {
    let now = bucket.transport.server_now();
    now.map_or(Duration::ZERO, |now| now.duration_since(written).unwrap_or_default() + CLOCK_STEP)
}

/// The version of a listed note, which changes with every write. If a server lists no tags, each listing has a new version.
fn version_of(listed: &ListedObject) -> NameVersion {
    let tag = listed.tag.to_string();
    NameVersion::new(if tag.is_empty() { token::unique() } else { tag })
}

/// A note, and the token of the write that produced it.
fn read(bucket: &StoreBucket, name: &str) -> Result<Option<(StoredNote, String)>, HeadsError> {
    let key = key(name);
    let Some(BucketObject { bytes, tag, modified }) = bucket.get(&key)? else { return Ok(None) };
    let NoteContent { value, write } = serde_json::from_slice(&bytes).unwrap_or_default();
    Ok(Some((StoredNote { value, version: NameVersion::new(tag.to_string()), age: age(bucket, modified) }, write)))
}

impl NoteBackend for S3Store {
    fn note(&self, name: &str) -> Result<Option<StoredNote>, HeadsError> {
        check_name(name)?;
        Ok(read(&*self.ready()?, name)?.map(|(note, _)| note))
    }

    fn notes(&self, begin: &str) -> Result<Vec<ListedNote>, HeadsError> {
        if !begin.is_empty() {
            check_name(begin)?;
        }
        let bucket = self.ready()?;
        let listed = bucket.list(&format!("{NOTES}{begin}"))?;
        let mut notes: Vec<ListedNote> = listed
            .iter()
            .filter_map(|listed| {
                // The prefix `ab.` also matches the key of `ab`.
                let name =
                    listed.key.strip_prefix(NOTES)?.strip_suffix(SUFFIX).filter(|name| name.starts_with(begin))?;
                // Skip names that can't be notes: uwf didn't write them.
                check_name(name).ok()?;
                Some(ListedNote {
                    name: name.to_owned(),
                    age: age(&bucket, listed.modified),
                    version: version_of(listed),
                })
            })
            .collect();
        notes.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(notes)
    }

    fn read_notes(&self, names: &[String]) -> Result<Vec<(String, StoredNote)>, HeadsError> {
        names.iter().try_for_each(|name| check_name(name))?;
        let bucket = self.ready()?;
        let found = each(names, READS_AT_ONCE, |name| read(&bucket, name))?;
        let pairs = names.iter().zip(found);
        Ok(pairs.filter_map(|(name, found)| found.map(|(note, _)| (name.clone(), note))).collect())
    }

    fn write_note(
        &self,
        name: &str,
        expected: NoteWriteCondition<'_>,
        value: &Value,
    ) -> Result<NoteWritten, HeadsError> {
        check_name(name)?;
        let bucket = self.ready()?;
        let said = NoteContent { value: value.clone(), write: token::unique() };
        let bytes = json_bytes(&said);
        let written = match expected {
            NoteWriteCondition::Anything => BucketWriteOutcome::Done { tag: bucket.overwrite(&key(name), &bytes)? },
            NoteWriteCondition::Nothing => bucket.create(&key(name), &bytes)?,
            NoteWriteCondition::At(version) => bucket.update(&key(name), &ObjectTag::parse(version.token()), &bytes)?,
        };
        match written {
            BucketWriteOutcome::Done { tag } => Ok(NoteWritten::Done(NameVersion::new(tag.to_string()))),
            BucketWriteOutcome::Refused { .. } => Ok(match read(&bucket, name)? {
                // The answer was lost, and the write was repeated.
                Some((note, write)) if write == said.write => NoteWritten::Done(note.version),
                now => NoteWritten::Moved(now.map(|(note, _)| note)),
            }),
        }
    }

    fn remove_note(&self, name: &str) -> Result<(), HeadsError> {
        check_name(name)?;
        Ok(self.ready()?.delete(&key(name))?)
    }
}
