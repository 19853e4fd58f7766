//! Which database and schema a URL names, and how to connect to it.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use json_cas::{RemoteError, RemoteFault};
use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, Host, SslMode};

use crate::fault::causes;
use crate::hosts::{port, with_named_hosts};
use crate::password::PasswordSource;
use crate::tls::TlsTrust;

/// Default schema.
const SCHEMA: &str = "uwf";

/// Longest schema name: PostgreSQL truncates longer ones.
const MAX_SCHEMA_LEN: usize = 63;

/// How long the server may work on one statement. Listing ten million nodes takes less.
const STATEMENT_TIMEOUT: Duration = Duration::from_mins(1);

/// How long to wait for sweepers or holders.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// How long connecting may take, including everything up to the first statement.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A parsed URL.
#[derive(Clone)]
pub(crate) struct PostgresAddress {
    /// The URL without secrets.
    pub name: String,
    pub config: Config,
    pub schema: String,
    pub trust: TlsTrust,
    /// `sslrootcert`, if given.
    pub roots: Option<PathBuf>,
    pub statement_timeout: Duration,
    pub lock_timeout: Duration,
    pub connect_timeout: Duration,
    /// Password settings of the environment.
    pub password: PasswordSource,
}

/// Parameters that the client library doesn't support, or supports only in part.
#[derive(Default)]
struct OwnParameters {
    schema: Option<String>,
    sslmode: Option<String>,
    sslrootcert: Option<String>,
    statement_timeout: Option<String>,
    lock_timeout: Option<String>,
}

impl OwnParameters {
    fn slot(&mut self, key: &str) -> Option<&mut Option<String>> {
        match key {
            "schema" => Some(&mut self.schema),
            "sslmode" => Some(&mut self.sslmode),
            "sslrootcert" => Some(&mut self.sslrootcert),
            "statement_timeout" => Some(&mut self.statement_timeout),
            "lock_timeout" => Some(&mut self.lock_timeout),
            _ => None,
        }
    }

    /// Takes our own parameters out of a URL and returns them with the remaining URL.
    fn taken_from(url: &str) -> Result<(OwnParameters, String), String> {
        let mut own = OwnParameters::default();
        let Some((base, query)) = url.split_once('?') else { return Ok((own, url.to_owned())) };
        let mut rest = String::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| format!("the parameter `{pair}` has no value"))?;
            match own.slot(key) {
                Some(slot) => *slot = Some(decoded(key, value)?),
                None => rest = format!("{rest}{}{pair}", if rest.is_empty() { '?' } else { '&' }),
            }
        }
        Ok((own, format!("{base}{rest}")))
    }
}

fn decoded(key: &str, value: &str) -> Result<String, String> {
    let text = percent_decode_str(value).decode_utf8().map_err(|_| format!("the value of {key} is not UTF-8"))?;
    Ok(text.into_owned())
}

impl PostgresAddress {
    /// Parses a URL like libpq does. Contacts no server.
    pub(crate) fn parse(url: &str) -> Result<PostgresAddress, RemoteError> {
        understood(url).map_err(|message| RemoteError {
            store: without_secrets(url),
            fault: RemoteFault::Misnamed,
            message,
            source: None,
        })
    }
}

fn understood(url: &str) -> Result<PostgresAddress, String> {
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err("the URL does not begin with postgres://".to_owned());
    }
    let (mut own, rest) = OwnParameters::taken_from(url)?;
    own.sslmode = own.sslmode.or_else(|| variable("PGSSLMODE"));
    own.sslrootcert = own.sslrootcert.or_else(|| variable("PGSSLROOTCERT"));
    let mut config = Config::from_str(&rest).map_err(|error| format!("cannot read the URL: {}", causes(&error)))?;
    config = with_named_hosts(config);
    let host = || "the URL names no host: postgres://user@host:port/database, or ?host=/directory for a socket";
    config.get_hosts().first().ok_or_else(host)?;
    config.get_dbname().ok_or("the URL names no database: postgres://user@host:port/database")?;
    let schema = schema(own.schema)?;
    let (mode, trust) = mode(own.sslmode.as_deref(), own.sslrootcert.as_deref())?;
    with_defaults(&mut config, mode)?;
    let name = name(&config, &schema);
    Ok(PostgresAddress {
        name,
        schema,
        trust,
        roots: own.sslrootcert.map(PathBuf::from),
        statement_timeout: milliseconds("statement_timeout", own.statement_timeout, STATEMENT_TIMEOUT)?,
        lock_timeout: milliseconds("lock_timeout", own.lock_timeout, LOCK_TIMEOUT)?,
        connect_timeout: config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT),
        config,
        password: PasswordSource::default(),
    })
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn schema(given: Option<String>) -> Result<String, String> {
    let schema = given.unwrap_or_else(|| SCHEMA.to_owned());
    let is_symbol = |symbol: char| symbol.is_ascii_alphanumeric() || matches!(symbol, '_' | '-');
    if (1..=MAX_SCHEMA_LEN).contains(&schema.len()) && schema.chars().all(is_symbol) {
        Ok(schema)
    } else {
        Err(format!("the schema must be 1 to {MAX_SCHEMA_LEN} of A-Z a-z 0-9 _ -"))
    }
}

/// `sslmode` as in libpq, without `allow`: trying without TLS first protects no one.
fn mode(sslmode: Option<&str>, roots: Option<&str>) -> Result<(SslMode, TlsTrust), String> {
    let default = if roots == Some("system") { "verify-full" } else { "prefer" };
    match sslmode.unwrap_or(default) {
        "disable" => Ok((SslMode::Disable, TlsTrust::Any)),
        weak @ ("prefer" | "require" | "verify-ca") if roots == Some("system") => {
            Err(format!("sslrootcert=system needs sslmode=verify-full, not {weak}: any server can get a certificate"))
        }
        "prefer" => Ok((SslMode::Prefer, TlsTrust::Any)),
        "require" => Ok((SslMode::Require, TlsTrust::Any)),
        "verify-ca" => Ok((SslMode::Require, TlsTrust::Authority)),
        "verify-full" => Ok((SslMode::Require, TlsTrust::Host)),
        other => Err(format!("sslmode={other} is not one of disable, prefer, require, verify-ca, verify-full")),
    }
}

/// Adds what libpq takes from the environment, and the timeouts by which this machine notices that the server is gone.
fn with_defaults(config: &mut Config, mode: SslMode) -> Result<(), String> {
    if config.get_channel_binding() == ChannelBinding::Require {
        let message = "channel_binding=require is not supported: sslmode=verify-full verifies the server instead";
        return Err(message.to_owned());
    }
    if config.get_user().is_none() {
        let user = ["PGUSER", "USER"].into_iter().find_map(variable);
        config.user(user.ok_or("the URL names no user: postgres://user@host:port/database, or PGUSER")?);
    }
    if config.get_application_name().is_none() {
        config.application_name("uwf");
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(30));
    }
    if config.get_keepalives_interval().is_none() {
        config
            .keepalives_idle(Duration::from_secs(15))
            .keepalives_interval(Duration::from_secs(5))
            .keepalives_retries(3);
    }
    // PostgreSQL has no TLS on Unix sockets, and libpq does not request it there.
    let is_local = config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
    config.ssl_mode(if is_local { SslMode::Disable } else { mode });
    Ok(())
}

fn milliseconds(key: &str, given: Option<String>, default: Duration) -> Result<Duration, String> {
    let Some(text) = given else { return Ok(default) };
    match text.parse::<u32>() {
        Ok(number) if number > 0 => Ok(Duration::from_millis(u64::from(number))),
        _ => Err(format!("{key}={text} is not a number of milliseconds")),
    }
}

fn name(config: &Config, schema: &str) -> String {
    let mut name = format!("postgres://{}@", config.get_user().unwrap_or_default());
    for (position, host) in config.get_hosts().iter().enumerate() {
        let comma = if position > 0 { "," } else { "" };
        let host = match host {
            Host::Tcp(host) if host.contains(':') => format!("[{host}]"),
            Host::Tcp(host) => host.clone(),
            Host::Unix(path) => path.display().to_string().replace('/', "%2F"),
        };
        let _ = write!(name, "{comma}{host}:{}", port(config, position));
    }
    let _ = write!(name, "/{}?schema={schema}", config.get_dbname().unwrap_or_default());
    name
}

/// The parts of an invalid URL that can't contain a password.
fn without_secrets(url: &str) -> String {
    let url = url.split('?').next().unwrap_or_default();
    let Some((scheme, rest)) = url.split_once("://") else { return "postgres".to_owned() };
    match rest.rsplit_once('@') {
        Some((user, place)) => format!("{scheme}://{}@{place}", user.split(':').next().unwrap_or_default()),
        // The text after a colon may be a password with a question mark in it.
        None => format!("{scheme}://{}", rest.split(':').next().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(url: &str) -> String {
        match PostgresAddress::parse(url) {
            Ok(address) => panic!("understood: {}", address.name),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_name_has_everything_but_secrets() {
        let url = "postgresql://ann:s3cret@db.example:5433/work?schema=team-a&sslmode=verify-full&password=x";
        let address = PostgresAddress::parse(url).unwrap();
        assert_eq!(address.name, "postgres://ann@db.example:5433/work?schema=team-a");
        assert_eq!((address.trust, address.config.get_ssl_mode()), (TlsTrust::Host, SslMode::Require));
        let address = PostgresAddress::parse("postgres://ann@/work?host=/run/postgresql&sslmode=require").unwrap();
        assert_eq!(address.name, "postgres://ann@%2Frun%2Fpostgresql:5432/work?schema=uwf");
        assert_eq!(address.config.get_ssl_mode(), SslMode::Disable, "no TLS on a socket");
        let address = PostgresAddress::parse("postgres://ann@:6543/work?host=/run/postgresql").unwrap();
        assert_eq!(address.name, "postgres://ann@%2Frun%2Fpostgresql:6543/work?schema=uwf");
        let address = PostgresAddress::parse("postgres://ann@[::1],other:6000/work?lock_timeout=5").unwrap();
        assert_eq!(address.name, "postgres://ann@[::1]:5432,other:6000/work?schema=uwf");
        assert_eq!(address.lock_timeout, Duration::from_millis(5));
    }

    #[test]
    fn incomplete_url_is_explained_without_secrets() {
        assert_eq!(message("s3://bucket"), "the store s3://bucket: the URL does not begin with postgres://");
        assert_eq!(
            message("postgres://ann:s3cret@/work"),
            "the store postgres://ann@/work: the URL names no host: postgres://user@host:port/database, \
             or ?host=/directory for a socket"
        );
        assert_eq!(
            message("postgres://ann:s3cret@db?password=x"),
            "the store postgres://ann@db: the URL names no database: postgres://user@host:port/database"
        );
        assert!(!message("postgres://ann:s3?cret@db/work").contains("s3"));
        assert_eq!(
            message("postgres://ann@db/work?sslmode=allow"),
            "the store postgres://ann@db/work: sslmode=allow is not one of disable, prefer, require, verify-ca, \
             verify-full"
        );
        assert_eq!(
            message("postgres://ann@db/work?schema=a%22b"),
            "the store postgres://ann@db/work: the schema must be 1 to 63 of A-Z a-z 0-9 _ -"
        );
        assert_eq!(
            message("postgres://ann@db/work?colour=red"),
            "the store postgres://ann@db/work: cannot read the URL: invalid connection string: unknown option `colour`"
        );
        assert_eq!(
            message("postgres://ann@db/work?lock_timeout=long"),
            "the store postgres://ann@db/work: lock_timeout=long is not a number of milliseconds"
        );
        assert!(
            message("postgres://ann@db/work?sslmode=require&sslrootcert=system").contains("needs sslmode=verify-full")
        );
        assert!(message("postgres://ann@db/work?channel_binding=require").contains("is not supported"));
    }
}
