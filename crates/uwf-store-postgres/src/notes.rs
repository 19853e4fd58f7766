//! Notes: one row for each, which is overwritten.
//!
//! A write whose answer was lost is repeated. Either the first write failed and the second one is made, or the row has the write's token.

use std::time::Duration;

use json_cas::{HeadsError, ListedNote, NoteBackend, NoteWriteCondition, NoteWritten, StoredNote, check_name};
use serde_json::Value;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::heads::{expected as number_of, token, version};
use crate::store::{PostgresStore, PostgresStoreInner, Typed};

/// `$1` of a write is the name, `$2` the token, `$3` the value, and `$4` the expected version.
const CREATE: &str =
    "insert into notes (name, writer, value) values ($1, $2, $3) on conflict do nothing returning version";
const UPDATE: &str = "update notes set writer = $2, value = $3, version = nextval('versions'),
    written_at = clock_timestamp() where name = $1 and version = $4 returning version";
const OVERWRITE: &str = "insert into notes (name, writer, value) values ($1, $2, $3) on conflict (name) do update set
    writer = excluded.writer, value = excluded.value, version = nextval('versions'), written_at = clock_timestamp()
    returning version";
const READ: &str = "select extract(epoch from clock_timestamp() - written_at)::float8, value, version, writer
    from notes where name = $1";
const READ_ALL: &str =
    "select extract(epoch from clock_timestamp() - written_at)::float8, value, version, writer, notes.name
    from unnest($1) with ordinality as wanted (name, place) join notes on notes.name = wanted.name order by place";
const LIST: &str = "select extract(epoch from clock_timestamp() - written_at)::float8, name, version
    from notes where starts_with(name, $1) order by name";
const REMOVE: &str = "delete from notes where name = $1";

impl PostgresStoreInner {
    /// A note, and the token of the write that produced it.
    fn read_note(&self, name: &str) -> Result<Option<(StoredNote, i64)>, HeadsError> {
        let doing = format!("read note {name}");
        let rows = self.rows(&doing, READ, &[(&name, Type::TEXT)])?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some((self.note_of(&doing, row)?, self.column(&doing, row, 3)?)))
    }

    /// The note in the first three columns of a row.
    fn note_of(&self, doing: &str, row: &Row) -> Result<StoredNote, HeadsError> {
        let text: &str = self.column(doing, row, 1)?;
        let value = serde_json::from_str(text).unwrap_or_default();
        Ok(StoredNote { value, version: version(self.column(doing, row, 2)?), age: self.age(doing, row)? })
    }

    /// The age in the first column of a row.
    fn age(&self, doing: &str, row: &Row) -> Result<Duration, HeadsError> {
        let seconds: f64 = self.column(doing, row, 0)?;
        // Negative if the server's clock was set back.
        Ok(Duration::try_from_secs_f64(seconds).unwrap_or_default())
    }
}

impl NoteBackend for PostgresStore {
    fn note(&self, name: &str) -> Result<Option<StoredNote>, HeadsError> {
        check_name(name)?;
        Ok(self.inner.read_note(name)?.map(|(note, _)| note))
    }

    fn notes(&self, begin: &str) -> Result<Vec<ListedNote>, HeadsError> {
        if !begin.is_empty() {
            check_name(begin)?;
        }
        let doing = "list the notes";
        let rows = self.inner.rows(doing, LIST, &[(&begin, Type::TEXT)])?;
        let listed = |row: &Row| {
            let (name, number) = (self.inner.column(doing, row, 1)?, self.inner.column(doing, row, 2)?);
            Ok(ListedNote { name, age: self.inner.age(doing, row)?, version: version(number) })
        };
        let mut notes = rows.iter().map(listed).collect::<Result<Vec<ListedNote>, HeadsError>>()?;
        // Skip names that can't be notes: uwf didn't write them.
        notes.retain(|note| check_name(&note.name).is_ok());
        Ok(notes)
    }

    fn read_notes(&self, names: &[String]) -> Result<Vec<(String, StoredNote)>, HeadsError> {
        names.iter().try_for_each(|name| check_name(name))?;
        let doing = "read notes";
        let rows = self.inner.rows(doing, READ_ALL, &[(&names, Type::TEXT_ARRAY)])?;
        rows.iter().map(|row| Ok((self.inner.column(doing, row, 4)?, self.inner.note_of(doing, row)?))).collect()
    }

    fn write_note(
        &self,
        name: &str,
        expected: NoteWriteCondition<'_>,
        value: &Value,
    ) -> Result<NoteWritten, HeadsError> {
        check_name(name)?;
        let doing = format!("write note {name}");
        let (token, text) = (token(), value.to_string());
        let mut parameters: Vec<Typed<'_>> = vec![(&name, Type::TEXT), (&token, Type::INT8), (&text, Type::TEXT)];
        let from;
        let statement = match expected {
            NoteWriteCondition::Anything => OVERWRITE,
            NoteWriteCondition::Nothing => CREATE,
            NoteWriteCondition::At(version) => {
                from = number_of(version);
                parameters.push((&from, Type::INT8));
                UPDATE
            }
        };
        if let Some(row) = self.inner.rows(&doing, statement, &parameters)?.first() {
            return Ok(NoteWritten::Done(version(self.inner.column(&doing, row, 0)?)));
        }
        Ok(match self.inner.read_note(name)? {
            Some((note, writer)) if writer == token => NoteWritten::Done(note.version),
            now => NoteWritten::Moved(now.map(|(note, _)| note)),
        })
    }

    fn remove_note(&self, name: &str) -> Result<(), HeadsError> {
        check_name(name)?;
        self.inner.changed(&format!("remove note {name}"), REMOVE, &[(&name, Type::TEXT)])?;
        Ok(())
    }
}
