//! Reads `.env`, and stores a secret in it. Only its owner can read the file, and all other lines stay unchanged.

mod format;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use durable_files::regular;

use self::format::{EnvAssignment, RejectedEnvLine};
use crate::error::{AtPath, Error, Result};
use crate::root::config_file;
use crate::root::config_text;
use crate::root::home::Home;

/// Variables of a `.env` file; none if the file is missing.
///
/// # Errors
/// `Config` for an ambiguous line, `Io`.
pub fn read(path: &Path) -> Result<Vec<(String, String)>> {
    // Read it whole, so that a read error is not reported as a malformed line.
    let text = match regular::read(path, regular::MAX_TEXT) {
        Err(missing) if missing.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.path_context("read", path)?,
    };
    let assignments = parse(&text, path)?;
    Ok(assignments.into_iter().map(|EnvAssignment { name, value, .. }| (name, value)).collect())
}

fn parse(text: &[u8], path: &Path) -> Result<Vec<EnvAssignment>> {
    format::parse(text).map_err(|RejectedEnvLine { line, why }| {
        Error::config(format!("{}, line {line}: {why}", path.display()))
            .hint("`uwf help configuration` describes the format of .env")
    })
}

/// Whether users other than its owner can read or change a `.env`; false if the file is missing.
pub(crate) fn is_open_to_others(path: &Path) -> Result<bool> {
    match std::fs::metadata(path) {
        Ok(meta) => Ok(meta.permissions().mode() & 0o077 != 0),
        Err(missing) if missing.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(Error::file("look at", path, source)),
    }
}

/// Restricts a `.env` that other users can read to its owner. Returns whether it was open.
pub(crate) fn protect(path: &Path) -> Result<bool> {
    if !is_open_to_others(path)? {
        return Ok(false);
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
        .map_err(|source| Error::file("restrict to its owner", path, source))?;
    Ok(true)
}

/// The value of a variable for agents: from the environment, otherwise from `.env`; a blank value counts as unset.
pub fn value_of(name: &str, env_file: &[(String, String)]) -> Option<String> {
    let inherited = std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    // If a name occurs twice, the last value counts, as it does for agents.
    let from_file = || env_file.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    inherited.or_else(|| from_file().filter(|value| !value.trim().is_empty()))
}

/// Sets a variable in `.env`, creating a missing file. Returns whether the file has changed.
///
/// # Errors
/// `Config` if a line of the file is not `NAME=value`, or the file cannot hold the value; `Busy`, `Io`. No message
/// contains the value.
pub fn set(home: &Home, name: &str, value: &str) -> Result<bool> {
    let path = home.env_file();
    let _lock = config_file::lock(home)?;
    config_file::stays_inside(home, &path)?;
    let before = config_text::read(&path)?;
    let assignments = parse(before.as_bytes(), &path)?;
    if last(&assignments, name) == Some(value) {
        protect(&path)?;
        return Ok(false);
    }
    let after =
        ["", "'", "\""].iter().map(|quote| with(&before, &assignments, name, &quoted(value, quote))).find(|text| {
            // All other variables must keep their values.
            parse(text.as_bytes(), &path)
                .is_ok_and(|now| last(&now, name) == Some(value) && others(&now, name).eq(others(&assignments, name)))
        });
    let after = after.ok_or_else(|| {
        Error::config(format!("{} cannot hold the value for `{name}`", path.display()))
            .hint("a key is one line without quotes; check the clipboard")
    })?;
    durable_files::replace_private(&path, after.as_bytes())?;
    Ok(true)
}

fn last<'v>(assignments: &'v [EnvAssignment], name: &str) -> Option<&'v str> {
    assignments.iter().rev().find(|known| known.name == name).map(|known| known.value.as_str())
}

fn others<'v>(assignments: &'v [EnvAssignment], name: &str) -> impl Iterator<Item = (&'v str, &'v str)> {
    let others = assignments.iter().filter(move |known| known.name != name);
    others.map(|known| (known.name.as_str(), known.value.as_str()))
}

fn quoted(value: &str, quote: &str) -> String {
    let value = if quote == "\"" {
        value.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$")
    } else {
        value.to_owned()
    };
    format!("{quote}{value}{quote}")
}

/// The text with the value in every assignment of the variable, or in a new last line.
fn with(text: &str, assignments: &[EnvAssignment], name: &str, value: &str) -> String {
    let mut out = text.to_owned();
    let places: Vec<_> =
        assignments.iter().filter(|known| known.name == name).map(|known| known.place.clone()).collect();
    // Replace from the last place to the first, so that earlier places keep their positions.
    places.iter().rev().for_each(|place| out.replace_range(place.clone(), value));
    if places.is_empty() {
        let newline = if out.is_empty() || out.ends_with('\n') { "" } else { "\n" };
        out.push_str(&format!("{newline}{name}={value}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn after(before: &str, value: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(dir.path(), "uwf");
        if !before.is_empty() {
            fs::write(home.env_file(), before).unwrap();
        }
        assert!(set(&home, "KEY", value).unwrap());
        assert!(!set(&home, "KEY", value).unwrap(), "the second time changes nothing");
        assert_eq!(fs::metadata(home.env_file()).unwrap().permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(home.env_file()).unwrap();
        assert_eq!(last(&parse(text.as_bytes(), &home.env_file()).unwrap(), "KEY"), Some(value));
        text
    }

    #[test]
    fn one_line_changes_and_the_others_stay() {
        assert_eq!(after("", "sk-1"), "KEY=sk-1\n");
        assert_eq!(after("# mine\nA=1", "sk-1"), "# mine\nA=1\nKEY=sk-1\n");
        assert_eq!(after("A=1\nexport KEY = old # note\nB='2'\n", "sk-1"), "A=1\nexport KEY = sk-1 # note\nB='2'\n");
        assert_eq!(after("KEY=a\r\nB=1\r\nKEY=b\r\n", "sk-1"), "KEY=sk-1\r\nB=1\r\nKEY=sk-1\r\n");
        assert_eq!(after("MY_KEY=1\nKEYS=2\n", "sk-1"), "MY_KEY=1\nKEYS=2\nKEY=sk-1\n");
    }

    #[test]
    fn values_are_read_back_as_they_are() {
        for value in [
            "a b", "a#b", "a #b", "a $HOME", "${HOME}", "it's", "'${A}'", "a\\b", "\"x\"", "a'\"$b", "äö", "a=b==",
            " a ", "a\nb", "",
        ] {
            after("A=1\nKEY='x\ny'\nB=2\n", value);
        }
    }

    #[test]
    fn unparsable_content_is_preserved() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(dir.path(), "uwf");
        for (before, value) in
            [("what is this\n", "sk-secret"), ("A=1\n", "sk-secret\nline"), ("A=\"x\nKEY=y\n\"\n", "sk-secret")]
        {
            fs::write(home.env_file(), before).unwrap();
            let outcome = set(&home, "KEY", value).map_err(|error| error.to_string());
            match outcome {
                Err(told) => assert!(!told.contains("secret"), "{told}"),
                Ok(_) => assert!(fs::read_to_string(home.env_file()).unwrap().starts_with(before), "{before}"),
            }
        }
    }
}
