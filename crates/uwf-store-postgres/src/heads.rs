//! Heads, and the records of removed ones: one row for each name.
//!
//! A write whose answer was lost is repeated. Either the first write failed and the second one is made, or the row has the write's token
//! among the last ones that wrote it.

use json_cas::{
    Head, HeadBackend, HeadsError, JournalRecords, NameVersion, NodeHash, RemoteFault, RemovalJournal, SwapOutcome,
    check_name,
};
use serde_json::Value;
use tokio_postgres::types::Type;

use crate::fault::PostgresFailure;
use crate::nodes::{hash, number};
use crate::store::{PostgresStore, PostgresStoreInner, Typed};

/// `$1` of a write is the name, `$2` the token, `$3` the new content, and `$4` the expected version. The `_HELD` statements are for writes
/// under a hold. Their last parameter is the highest number of sweeps that is allowed. They lock the row of `meta`, so that a sweep that
/// is about to begin waits for this head and then sees it.
const CREATE: &str =
    "insert into heads (name, hash, writers) values ($1, $3, array[$2::bigint]) on conflict do nothing";
const CREATE_HELD: &str = "insert into heads (name, hash, writers)
    select $1, $3, array[$2::bigint] from meta where sweeps <= $4 for share on conflict do nothing";
const SWAP: &str = "update heads set hash = $3, version = nextval('versions'), writers = ($2::bigint || writers)[1:16]
    where name = $1 and version = $4 and record is null";
const SWAP_HELD: &str = "with unswept as materialized (select from meta where sweeps <= $5 for share)
    update heads set hash = $3, version = nextval('versions'), writers = ($2::bigint || writers)[1:16]
    from unswept where name = $1 and version = $4 and record is null";
const REMOVE: &str = "update heads set hash = null, record = $3, version = nextval('versions'),
    writers = ($2::bigint || writers)[1:16] where name = $1 and version = $4 and record is null";

const READ: &str = "select hash, version from heads where name = $1 and record is null";
const LIST: &str = "select name, hash from heads where record is null order by name";
const LOOK: &str = "select hash, version, $2 = any (writers) from heads where name = $1";
const RECORDS: &str = "select name, record from heads where record is not null order by version";
const NEWEST: &str = "select record from heads where name = $1 and record is not null";
const FORGET: &str = "delete from heads where name = any ($1) and record is not null";

/// The state of a name after a write that changed nothing.
enum NameState {
    /// The write was made, and its answer was lost.
    Ours,
    At(Head),
    Removed,
    Nowhere,
}

pub(crate) fn version(number: i64) -> NameVersion {
    NameVersion::new(number.to_string())
}

/// The number of a version; 0, which no head has, for a version that this store did not issue.
pub(crate) fn expected(version: &NameVersion) -> i64 {
    version.token().parse().unwrap_or(0)
}

/// A token that identifies one write.
pub(crate) fn token() -> i64 {
    fastrand::i64(..)
}

impl PostgresStoreInner {
    /// Whether a write changed something. Under a hold, the second statement is used, which checks the number of sweeps.
    fn wrote(&self, doing: &str, [free, held]: [&str; 2], parameters: Vec<Typed<'_>>) -> Result<bool, HeadsError> {
        let since = self.gate.since();
        let statement = if since.is_some() { held } else { free };
        // `since` may not live as long as the given parameters.
        let mut parameters: Vec<Typed<'_>> = parameters;
        if let Some(sweeps) = &since {
            parameters.push((sweeps, Type::INT8));
        }
        Ok(self.changed(doing, statement, &parameters)? == 1)
    }

    fn read_name_state(&self, name: &str, token: i64) -> Result<NameState, HeadsError> {
        let doing = format!("read head {name}");
        let rows = self.rows(&doing, LOOK, &[(&name, Type::TEXT), (&token, Type::INT8)])?;
        let Some(row) = rows.first() else { return Ok(NameState::Nowhere) };
        if self.column(&doing, row, 2)? {
            return Ok(NameState::Ours);
        }
        let points_at: Option<i64> = self.column(&doing, row, 0)?;
        let number = self.column(&doing, row, 1)?;
        Ok(points_at.map_or(NameState::Removed, |at| NameState::At(Head { hash: hash(at), version: version(number) })))
    }

    fn swept_since(&self, name: &str) -> HeadsError {
        let why = "the hold on the nodes was lost with its connection, and nodes were removed since; store them again";
        let failure = PostgresFailure::Refused(RemoteFault::Failed, why.to_owned());
        self.pool.error(&format!("move head {name}"), failure, 1).into()
    }

    /// The outcome of a write that expected the head at a version.
    fn moved(&self, name: &str, token: i64, expected: i64) -> Result<SwapOutcome, HeadsError> {
        match self.read_name_state(name, token)? {
            NameState::Ours => Ok(SwapOutcome::Done),
            NameState::At(head) if head.version == version(expected) => Err(self.swept_since(name)),
            NameState::At(head) => Ok(SwapOutcome::Moved(Some(head))),
            NameState::Removed | NameState::Nowhere => Ok(SwapOutcome::Moved(None)),
        }
    }
}

impl HeadBackend for PostgresStore {
    fn read(&self, name: &str) -> Result<Option<Head>, HeadsError> {
        check_name(name)?;
        let doing = format!("read head {name}");
        let rows = self.inner.rows(&doing, READ, &[(&name, Type::TEXT)])?;
        let Some(row) = rows.first() else { return Ok(None) };
        let (at, number) = (self.inner.column(&doing, row, 0)?, self.inner.column(&doing, row, 1)?);
        Ok(Some(Head { hash: hash(at), version: version(number) }))
    }

    fn list(&self) -> Result<Vec<(String, NodeHash)>, HeadsError> {
        let doing = "list the heads";
        let rows = self.inner.rows(doing, LIST, &[])?;
        let heads =
            rows.iter().map(|row| Ok((self.inner.column(doing, row, 0)?, hash(self.inner.column(doing, row, 1)?))));
        heads.collect()
    }

    fn create(&self, name: &str, new: NodeHash) -> Result<SwapOutcome, HeadsError> {
        check_name(name)?;
        let doing = format!("create head {name}");
        let (token, at) = (token(), number(new));
        loop {
            let parameters: Vec<Typed<'_>> = vec![(&name, Type::TEXT), (&token, Type::INT8), (&at, Type::INT8)];
            if self.inner.wrote(&doing, [CREATE, CREATE_HELD], parameters)? {
                return Ok(SwapOutcome::Done);
            }
            match self.inner.read_name_state(name, token)? {
                NameState::Ours => return Ok(SwapOutcome::Done),
                NameState::At(head) => return Ok(SwapOutcome::Moved(Some(head))),
                NameState::Removed => return Err(HeadsError::Removed { name: name.to_owned() }),
                NameState::Nowhere if self.inner.gate.since().is_some() => return Err(self.inner.swept_since(name)),
                // The head was removed and forgotten between the two statements.
                NameState::Nowhere => {}
            }
        }
    }

    fn swap(&self, name: &str, expected: &NameVersion, new: NodeHash) -> Result<SwapOutcome, HeadsError> {
        check_name(name)?;
        let doing = format!("move head {name}");
        let (token, at, from) = (token(), number(new), self::expected(expected));
        let parameters: Vec<Typed<'_>> =
            vec![(&name, Type::TEXT), (&token, Type::INT8), (&at, Type::INT8), (&from, Type::INT8)];
        match self.inner.wrote(&doing, [SWAP, SWAP_HELD], parameters)? {
            true => Ok(SwapOutcome::Done),
            false => self.inner.moved(name, token, from),
        }
    }

    fn remove(&self, name: &str, expected: &NameVersion, record: &Value) -> Result<SwapOutcome, HeadsError> {
        check_name(name)?;
        let doing = format!("remove head {name}");
        let (token, text, from) = (token(), record.to_string(), self::expected(expected));
        let parameters: Vec<Typed<'_>> =
            vec![(&name, Type::TEXT), (&token, Type::INT8), (&text, Type::TEXT), (&from, Type::INT8)];
        match self.inner.changed(&doing, REMOVE, &parameters)? {
            1 => Ok(SwapOutcome::Done),
            _ => self.inner.moved(name, token, from),
        }
    }
}

impl RemovalJournal for PostgresStore {
    fn records(&self) -> Result<JournalRecords, HeadsError> {
        let doing = "read the records";
        let mut records = JournalRecords::default();
        for row in self.inner.rows(doing, RECORDS, &[])? {
            let (name, text): (&str, &str) = (self.inner.column(doing, &row, 0)?, self.inner.column(doing, &row, 1)?);
            match serde_json::from_str(text) {
                Ok(record) => records.readable.push(record),
                Err(error) => records.problems.push(format!("the record of {name} is not JSON: {error}")),
            }
        }
        Ok(records)
    }

    fn newest(&self, name: &str) -> Result<Option<Value>, HeadsError> {
        check_name(name)?;
        let doing = format!("read the record of {name}");
        let rows = self.inner.rows(&doing, NEWEST, &[(&name, Type::TEXT)])?;
        let Some(row) = rows.first() else { return Ok(None) };
        let text: &str = self.inner.column(&doing, row, 0)?;
        Ok(serde_json::from_str(text).ok())
    }

    fn forget(&self, names: &[&str]) -> Result<usize, HeadsError> {
        names.iter().try_for_each(|name| check_name(name))?;
        let forgotten = self.inner.changed("forget records", FORGET, &[(&names, Type::TEXT_ARRAY)])?;
        Ok(usize::try_from(forgotten).unwrap_or(usize::MAX))
    }
}
