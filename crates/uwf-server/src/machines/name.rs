//! Names of machines. They are used in paths, headers and pages.

use std::fmt;
use std::str::FromStr;

/// Longest name, as long as a label of a host name.
const LONGEST: usize = 63;

/// The name of a machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MachineName(String);

/// Why a text is not a valid machine name.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0:?} cannot name a machine: a name consists of 1 to 63 letters, digits, dots, dashes and underscores, and \
     begins with a letter or digit"
)]
pub struct NotAName(String);

impl MachineName {
    /// The name as a text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// This machine's host name.
    ///
    /// # Errors
    /// [`NotAName`] if the host name is not a valid machine name.
    pub fn of_host() -> Result<MachineName, NotAName> {
        rustix::system::uname().nodename().to_string_lossy().parse()
    }

    /// Path of the machine's pages on the gateway.
    pub(crate) fn prefix(&self) -> String {
        format!("/m/{}", self.0)
    }
}

impl FromStr for MachineName {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<MachineName, NotAName> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let begins_well = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if begins_well && text.len() <= LONGEST && text.bytes().all(allowed) {
            return Ok(MachineName(text.to_owned()));
        }
        Err(NotAName(text.chars().take(LONGEST).collect()))
    }
}

impl fmt::Display for MachineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::MachineName;

    #[test]
    fn a_name_needs_no_escaping_anywhere() {
        for name in ["laptop", "build-3.example", "A_1", &"x".repeat(63)] {
            assert_eq!(name.parse::<MachineName>().map(|name| name.to_string()).ok().as_deref(), Some(name));
        }
        for other in ["", ".", "..", "-x", "a/b", "a b", "a%2f", "ä", "a\"", &"x".repeat(64)] {
            assert!(other.parse::<MachineName>().is_err(), "{other}");
        }
    }
}
