//! The password, from the same sources as libpq: the URL, `PGPASSWORD`, the password file.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::hosts::port;

/// Largest password file that is read: ten thousand lines.
const MAX_FILE: u64 = 1 << 20;

/// Socket directories that the password file lists as `localhost`, as libpq does with its own default.
const DEFAULT_SOCKET_DIRS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// The result of looking for a password.
pub(crate) struct PasswordLookup {
    pub text: Option<String>,
    /// Why an existing password file was not used: a line for users whom the server rejects without it.
    pub ignored: Option<String>,
}

/// The variable that holds the password.
const PASSWORD: &str = "PGPASSWORD";

/// The variable that names the password file.
const FILE: &str = "PGPASSFILE";

/// Password settings of the environment.
#[derive(Clone, Default)]
pub(crate) struct PasswordSource {
    password: Option<String>,
    file: Option<PathBuf>,
}

impl PasswordSource {
    pub(crate) fn new(variables: impl IntoIterator<Item = (String, String)>) -> PasswordSource {
        let mut given = PasswordSource::default();
        for (name, value) in variables.into_iter().filter(|(_, value)| !value.is_empty()) {
            match name.as_str() {
                PASSWORD => given.password = Some(value),
                FILE => given.file = Some(PathBuf::from(value)),
                _ => {}
            }
        }
        given
    }

    fn file(&self) -> Option<PathBuf> {
        self.file.clone().or_else(|| std::env::home_dir().map(|home| home.join(".pgpass")))
    }
}

/// Looks for the password now, so that changes to the file take effect.
pub(crate) fn password(config: &Config, given: &PasswordSource) -> PasswordLookup {
    if config.get_password().is_some() {
        return PasswordLookup { text: None, ignored: None };
    }
    if let Some(text) = &given.password {
        return PasswordLookup { text: Some(text.clone()), ignored: None };
    }
    let Some(path) = given.file() else { return PasswordLookup { text: None, ignored: None } };
    match lines(&path) {
        Ok(lines) => PasswordLookup { text: entry(&lines, config), ignored: None },
        Err(why) => {
            PasswordLookup { text: None, ignored: why.map(|why| format!("{} was not read: {why}", path.display())) }
        }
    }
}

/// The text of the password file; an error without a reason if the file doesn't exist.
fn lines(path: &Path) -> Result<String, Option<String>> {
    let found = path.metadata().map_err(|_| None)?;
    if !found.is_file() {
        return Err(Some("it is not a plain file".to_owned()));
    }
    if found.permissions().mode() & 0o077 != 0 {
        return Err(Some("others may read it; `chmod 600` takes that from them".to_owned()));
    }
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE).read_to_string(&mut text));
    read.map(|_| text).map_err(|error| Some(error.to_string()))
}

/// The password for the first host that has a matching line, from its first matching line.
fn entry(text: &str, config: &Config) -> Option<String> {
    let (user, database) = (config.get_user()?, config.get_dbname()?);
    let hosts = config.get_hosts().iter().enumerate();
    hosts
        .filter_map(|(position, host)| {
            found(text, [&known_as(host), &port(config, position).to_string(), database, user])
        })
        .next()
}

fn known_as(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(dir) if DEFAULT_SOCKET_DIRS.iter().any(|default| dir == Path::new(default)) => {
            "localhost".to_owned()
        }
        Host::Unix(dir) => dir.display().to_string(),
    }
}

fn found(text: &str, wanted: [&str; 4]) -> Option<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(fields).find_map(|mut fields| {
        let fits = fields.len() == 5 && fields.iter().zip(wanted).all(|(field, wanted)| field.fits(wanted));
        fits.then(|| fields.remove(4).text)
    })
}

/// One field of a line, between two colons.
#[derive(Default)]
struct PasswordFileField {
    text: String,
    /// Whether the field is a star without a backslash.
    is_any: bool,
}

impl PasswordFileField {
    fn fits(&self, wanted: &str) -> bool {
        self.is_any || self.text == wanted
    }
}

/// Splits a line into five fields. A backslash escapes a colon or a backslash. The password extends to the end of the line.
fn fields(line: &str) -> Vec<PasswordFileField> {
    let mut fields = vec![PasswordFileField::default()];
    let mut symbols = line.chars();
    while let Some(symbol) = symbols.next() {
        let is_last = fields.len() == 5;
        let Some(field) = fields.last_mut() else { break };
        match symbol {
            '\\' => field.text.extend(symbols.next()),
            ':' if !is_last => fields.push(PasswordFileField::default()),
            '*' if field.text.is_empty() => {
                field.text.push('*');
                field.is_any = true;
            }
            other => {
                field.text.push(other);
                field.is_any = false;
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "# a comment:*:*:*:no\n\
        short:line\n\
        db.example:5432:work:ann:first\n\
        db.example:*:work:ann:second\n\
        \\:\\:1:*:*:*:six\\:ty\\\\four:all\n\
        \\*:*:*:*:a star\n\
        *:*:*:bob:anywhere\n";

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let password = |host, port, database, user| found(LINES, [host, port, database, user]);
        assert_eq!(password("db.example", "5432", "work", "ann").as_deref(), Some("first"));
        assert_eq!(password("db.example", "5433", "work", "ann").as_deref(), Some("second"));
        assert_eq!(password("::1", "1", "x", "y").as_deref(), Some("six:ty\\four:all"));
        assert_eq!(password("elsewhere", "1", "x", "bob").as_deref(), Some("anywhere"));
        assert_eq!(password("elsewhere", "1", "x", "ann"), None, "a star with a backslash is a name");
    }

    #[test]
    fn the_usual_socket_is_localhost() {
        let config = |url: &str| url.parse::<Config>().unwrap();
        let file = "localhost:5432:work:ann:local\n/srv/pg:5432:work:ann:other\n";
        assert_eq!(entry(file, &config("postgres://ann@/work?host=/var/run/postgresql")).as_deref(), Some("local"));
        assert_eq!(entry(file, &config("postgres://ann@/work?host=/srv/pg")).as_deref(), Some("other"));
        assert_eq!(entry(file, &config("postgres://ann@away,localhost/work")).as_deref(), Some("local"));
    }
}
