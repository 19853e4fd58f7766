//! The tables, and how older versions are upgraded.

use json_cas::{RemoteFault, xxh64};
use tokio_postgres::{Client, Error};

use crate::fault::PostgresFailure;

/// The value of `meta.format` in a store.
const FORMAT: &str = "uwf-store";

/// Each migration upgrades the tables from the previous version. Never change a released one.
const MIGRATIONS: &[&str] = &[include_str!("migrations/1.sql"), include_str!("migrations/2.sql")];

/// The table version that this program works with.
fn version() -> i32 {
    MIGRATIONS.len() as i32
}

/// Columns that report what a schema is and lacks, for `select … from meta` in its search path.
pub(crate) const WHAT: &str = "format, version, coalesce((select string_agg(name, ', ')
    from unnest(array['nodes', 'heads', 'notes', 'versions']) name where to_regclass(name) is null), '')";

/// Properties that a schema reports about itself.
pub(crate) struct PostgresSchemaProperties {
    format: String,
    version: i32,
    /// Missing tables; empty if all exist.
    lacks: String,
}

impl PostgresSchemaProperties {
    pub(crate) fn new(format: &str, version: i32, lacks: &str) -> PostgresSchemaProperties {
        PostgresSchemaProperties { format: format.to_owned(), version, lacks: lacks.to_owned() }
    }
}

/// The outcome of a migration.
pub(crate) enum MigrationOutcome {
    Made,
    WasReady,
    Unusable(PostgresFailure),
}

pub(crate) fn not_ready(schema: &str) -> PostgresFailure {
    PostgresFailure::Refused(RemoteFault::NotReady, format!("the schema {schema} has no tables of a store"))
}

pub(crate) fn foreign(schema: &str) -> PostgresFailure {
    PostgresFailure::Refused(RemoteFault::Foreign, format!("the schema {schema} has other tables than a uwf store"))
}

fn incomplete(what: String) -> PostgresFailure {
    PostgresFailure::Refused(RemoteFault::Incomplete, what)
}

/// Checks that this program can work with a store.
pub(crate) fn checked(found: Option<&PostgresSchemaProperties>, schema: &str) -> Result<(), PostgresFailure> {
    let Some(found) = found else { return Err(incomplete(format!("the table meta in {schema} is empty"))) };
    if found.format != FORMAT {
        return Err(foreign(schema));
    }
    let known = version();
    if found.version > known {
        let message = format!(
            "the tables in {schema} have version {}, and this program supports up to version {known}",
            found.version
        );
        return Err(PostgresFailure::Refused(RemoteFault::Newer, message));
    }
    if !found.lacks.is_empty() {
        return Err(incomplete(format!("the store in the schema {schema} lacks {}", found.lacks)));
    }
    if found.version < known {
        let message =
            format!("the tables in {schema} have version {}, and this program needs version {known}", found.version);
        return Err(PostgresFailure::Refused(RemoteFault::NotReady, message));
    }
    Ok(())
}

/// Creates or upgrades the tables in one transaction, completely or not at all. Only one migration runs at a time.
pub(crate) async fn migrate(client: &mut Client, schema: &str) -> Result<MigrationOutcome, Error> {
    let transaction = client.transaction().await?;
    let lock = xxh64(format!("uwf init {schema}").as_bytes()).as_u64().cast_signed();
    transaction.execute("select pg_advisory_xact_lock($1)", &[&lock]).await?;
    let found = match inspect_schema(&transaction, schema).await? {
        PostgresSchemaContent::None { is_schema_there } => {
            if !is_schema_there {
                transaction.batch_execute(&format!("create schema \"{schema}\"")).await?;
            }
            None
        }
        PostgresSchemaContent::Ours(found) => match checked(Some(&found), schema) {
            Ok(()) => return Ok(MigrationOutcome::WasReady),
            Err(PostgresFailure::Refused(RemoteFault::NotReady, _)) if found.version > 0 => Some(found.version),
            Err(failure) => return Ok(MigrationOutcome::Unusable(failure)),
        },
        PostgresSchemaContent::Empty => {
            return Ok(MigrationOutcome::Unusable(incomplete(format!("the table meta in {schema} is empty"))));
        }
        PostgresSchemaContent::Others => return Ok(MigrationOutcome::Unusable(foreign(schema))),
        PostgresSchemaContent::Unfit(why) => {
            return Ok(MigrationOutcome::Unusable(PostgresFailure::Refused(RemoteFault::Unfit, why)));
        }
    };
    for migration in &MIGRATIONS[found.unwrap_or(0) as usize..] {
        transaction.batch_execute(migration).await?;
    }
    let known = version();
    let sealed = match found {
        None => transaction.execute("insert into meta (format, version) values ($1, $2)", &[&FORMAT, &known]).await?,
        Some(_) => transaction.execute("update meta set version = $1", &[&known]).await?,
    };
    debug_assert_eq!(sealed, 1, "meta has one row");
    transaction.commit().await?;
    Ok(MigrationOutcome::Made)
}

/// The content of a schema.
enum PostgresSchemaContent {
    None {
        is_schema_there: bool,
    },
    Ours(PostgresSchemaProperties),
    /// The tables are ours, but don't say which version they are.
    Empty,
    Others,
    /// This server or database can't be a store, whatever the schema contains.
    Unfit(String),
}

async fn inspect_schema(
    transaction: &tokio_postgres::Transaction<'_>,
    schema: &str,
) -> Result<PostgresSchemaContent, Error> {
    let row = transaction
        .query_one(
            "select version(), current_setting('server_encoding'),
                exists (select from pg_namespace where nspname = $1),
                exists (select from pg_class join pg_namespace on pg_namespace.oid = relnamespace where nspname = $1),
                (select count(*) from pg_attribute join pg_class on pg_class.oid = attrelid
                    join pg_namespace on pg_namespace.oid = relnamespace
                    where nspname = $1 and relname = 'meta' and attname in ('format', 'version', 'sweeps'))",
            &[&schema],
        )
        .await?;
    let (server, encoding): (String, String) = (row.try_get(0)?, row.try_get(1)?);
    if !server.starts_with("PostgreSQL") {
        // Other servers with the same protocol accept advisory locks but lock nothing.
        return Ok(PostgresSchemaContent::Unfit(format!("the server is not PostgreSQL but {server}")));
    }
    if encoding != "UTF8" {
        return Ok(PostgresSchemaContent::Unfit(format!(
            "the encoding of the database is {encoding} and must be UTF8"
        )));
    }
    let (is_schema_there, has_tables, columns): (bool, bool, i64) = (row.try_get(2)?, row.try_get(3)?, row.try_get(4)?);
    match (has_tables, columns) {
        (false, _) => Ok(PostgresSchemaContent::None { is_schema_there }),
        (true, 3) => {
            let meta = transaction.query_opt(&format!("select {WHAT} from meta"), &[]).await?;
            Ok(match meta {
                Some(row) => PostgresSchemaContent::Ours(PostgresSchemaProperties::new(
                    row.try_get(0)?,
                    row.try_get(1)?,
                    row.try_get(2)?,
                )),
                None => PostgresSchemaContent::Empty,
            })
        }
        (true, _) => Ok(PostgresSchemaContent::Others),
    }
}
