//! The journal as a file: one line of JSON per removed name. Records are only appended.

use std::collections::HashSet;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use durable_files::FileError;
use durable_files::regular::{self, MAX_LIST, RegularFileError};
use memchr::{memchr, memmem};
use serde_json::Value;

use crate::journal::JournalRecords;

/// How many bytes of the end are read to find the newest records. More are read only if one line is longer.
const TAIL_BYTES: u64 = 4096;

/// How many of the newest records are examined. Only the newest one can have a name that is still in the index, because every holder of
/// the lock first finishes the removal that the last one began.
const TAIL_RECORDS: usize = 16;

/// The lines of a journal file.
#[derive(Clone, Copy)]
pub(super) struct JournalFile<'f> {
    pub(super) path: &'f Path,
    /// The key under which each record has its name.
    pub(super) name_key: &'f str,
}

impl JournalFile<'_> {
    /// All records, oldest first, and the lines that could not be read.
    pub(super) fn all(self) -> Result<JournalRecords, FileError> {
        let bytes = read(self.path)?;
        let mut records = JournalRecords::default();
        let ends_whole = bytes.last().is_none_or(|last| *last == b'\n');
        let mut lines = bytes.split(|byte| *byte == b'\n').enumerate().peekable();
        while let Some((number, line)) = lines.next() {
            // A last line without a line break is what a crash during an append leaves. It is harmless.
            let torn = lines.peek().is_none() && !ends_whole;
            if line.trim_ascii().is_empty() {
                continue;
            }
            match self.record(line) {
                Ok(record) => records.readable.push(record),
                Err(_) if torn => {}
                Err(reason) => records.problems.push(format!("line {}: {reason}", number + 1)),
            }
        }
        Ok(records)
    }

    /// The newest record of `name`. Only lines that mention the name are parsed.
    pub(super) fn newest_of(self, name: &str) -> Result<Option<Value>, FileError> {
        Ok(self.newest_in(&read(self.path)?, name))
    }

    /// Whether one of the newest records is about `name`.
    pub(super) fn removed_lately(self, name: &str) -> Result<bool, FileError> {
        Ok(self.newest_in(&tail(self.path)?, name).is_some())
    }

    /// The names of the newest records.
    pub(super) fn names_removed_lately(self) -> Result<Vec<String>, FileError> {
        let tail = tail(self.path)?;
        Ok(tail
            .rsplit(|byte| *byte == b'\n')
            .filter_map(|line| self.record(line).ok())
            .take(TAIL_RECORDS)
            .filter_map(|record| self.name_in(&record).map(str::to_owned))
            .collect())
    }

    /// Removes the records of names and leaves every other byte as it is. Returns how many of the names had records.
    pub(super) fn forget(self, names: &[&str]) -> Result<usize, FileError> {
        let names: HashSet<&str> = names.iter().copied().collect();
        let bytes = read(self.path)?;
        let mut forgotten = HashSet::new();
        let mut kept = Vec::with_capacity(bytes.len());
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let record = self.record(line).ok();
            match record.as_ref().and_then(|record| self.name_in(record)).and_then(|name| names.get(name)) {
                Some(name) => drop(forgotten.insert(*name)),
                None => kept.extend_from_slice(line),
            }
        }
        if !forgotten.is_empty() {
            durable_files::replace(self.path, &kept)?;
        }
        Ok(forgotten.len())
    }

    /// The name in a record.
    pub(super) fn name_in(self, record: &Value) -> Option<&str> {
        record.as_object()?.get(self.name_key)?.as_str()
    }

    fn newest_in(self, bytes: &[u8], name: &str) -> Option<Value> {
        let quoted = format!("\"{name}\"");
        let mentions = |line: &&[u8]| memmem::find(line, quoted.as_bytes()).is_some();
        let mut records =
            bytes.rsplit(|byte| *byte == b'\n').filter(mentions).filter_map(|line| self.record(line).ok());
        records.find(|record| self.name_in(record) == Some(name))
    }

    /// Parses one line as a record. A last line that lacks only its line break counts: the next append will add the line break, and the
    /// meaning must not depend on that.
    fn record(self, line: &[u8]) -> Result<Value, String> {
        let record: Value = serde_json::from_slice(line).map_err(|error| format!("not JSON: {}", reason(&error)))?;
        match self.name_in(&record) {
            Some(_) => Ok(record),
            None => Err(format!("not an object with a `{}`", self.name_key)),
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    match regular::read(path, MAX_LIST) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map_err(FileError::failed_to("read", path)),
    }
}

/// The last whole lines, and at least one if the file has any.
fn tail(path: &Path) -> Result<Vec<u8>, FileError> {
    let Some(mut file) = regular::open_if_there(path)? else {
        return Ok(Vec::new());
    };
    read_tail(&mut file).map_err(FileError::failed_to("read", path))
}

fn read_tail(file: &mut File) -> std::io::Result<Vec<u8>> {
    let len = file.seek(SeekFrom::End(0))?;
    if len > MAX_LIST {
        return Err(RegularFileError::TooLarge { limit: MAX_LIST }.into());
    }
    let mut wanted = TAIL_BYTES;
    loop {
        let start = len.saturating_sub(wanted);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(len - start).read_to_end(&mut bytes)?;
        if start == 0 {
            return Ok(bytes);
        }
        // Bytes before the first line break are the end of some line.
        let body = memchr(b'\n', &bytes).map_or(bytes.len(), |newline| newline + 1);
        if body < bytes.len() {
            return Ok(bytes.split_off(body));
        }
        wanted = wanted.saturating_mul(8);
    }
}

/// The message without `serde_json`'s own position.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).unwrap_or(&text).to_owned()
}
