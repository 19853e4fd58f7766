//! The secret for people and scripts.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use durable_files::regular;

/// The environment variable that sets the secret.
pub const SECRET_VARIABLE: &str = uwf_core::config::DASHBOARD_SECRET;

/// Fewest bytes of a chosen secret. At five attempts a minute, a shorter one could be guessed.
const SHORTEST: usize = 12;

/// Longest secret, and largest file with one.
const LONGEST: u64 = 1024;

/// Context for deriving the cookie. A leaked cookie does not reveal the secret, and becomes invalid with it.
const SESSION: &str = "uwf 2026-11 session cookie of the dashboard";

/// Context for deriving the server's own path.
const OWN_PATH: &str = "uwf 2026-11 path of the dashboard";

/// Result of comparing a given secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecretComparison {
    /// The right secret, with 160 bits.
    Strong,
    /// The right secret, chosen by a person, so it may be weak.
    Chosen,
    /// A wrong secret.
    Wrong,
}

/// A secret.
#[derive(Clone)]
pub struct ServerSecret {
    text: String,
    session: String,
    own_path: String,
    is_chosen: bool,
}

impl ServerSecret {
    /// A secret that a person chose.
    ///
    /// # Errors
    /// Why the text can't be a secret.
    pub fn chosen(text: impl Into<String>) -> Result<ServerSecret, String> {
        let text = text.into();
        if text.len() < SHORTEST || text.len() as u64 > LONGEST {
            return Err(format!("a secret has {SHORTEST} to {LONGEST} bytes; this one has {}", text.len()));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(
                "a secret has only visible ASCII symbols and no spaces, so that it fits into a header".to_owned()
            );
        }
        Ok(ServerSecret::derive_from_text(text, true))
    }

    /// The secret of a storage root: read from its file, or created there, readable only by the owner.
    ///
    /// # Errors
    /// The file can't be read or written.
    pub fn of_file(path: &Path) -> std::io::Result<ServerSecret> {
        match regular::read(path, LONGEST) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes).trim().to_owned();
                if text.len() < SHORTEST {
                    let why = format!("{} has no secret; delete the file, and uwf creates a new one", path.display());
                    return Err(std::io::Error::new(ErrorKind::InvalidData, why));
                }
                Ok(ServerSecret::derive_from_text(text, false))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => ServerSecret::make(path),
            Err(error) => Err(error),
        }
    }

    /// Creates a secret. If two servers do so at once, both use the first one.
    fn make(path: &Path) -> std::io::Result<ServerSecret> {
        let text = random()?;
        let dir = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new()
            .make_in(dir, |path| std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path))?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        match file.persist_noclobber(path) {
            Ok(_) => Ok(ServerSecret::derive_from_text(text, false)),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => ServerSecret::of_file(path),
            Err(error) => Err(error.error),
        }
    }

    fn derive_from_text(text: String, is_chosen: bool) -> ServerSecret {
        let derived = |of| blake3::Hash::from(blake3::derive_key(of, text.as_bytes())).to_hex();
        let (session, own_path) = (derived(SESSION).to_string(), format!("/~{}", &derived(OWN_PATH)[..20]));
        ServerSecret { text, session, own_path, is_chosen }
    }

    /// The secret itself.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a person chose it.
    pub fn is_chosen(&self) -> bool {
        self.is_chosen
    }

    /// The cookie's value, which a browser gets once it has proved that it knows the secret.
    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// The server's secret path: `/~` and 80 bits in hex.
    pub(crate) fn own_path(&self) -> &str {
        &self.own_path
    }

    /// The secret in the link that `uwf serve` prints; `None` if a person chose it. A log may keep what `uwf serve` prints, and must not
    /// open a server whose secret its owner keeps elsewhere.
    pub(crate) fn link_text(&self) -> Option<&str> {
        (!self.is_chosen).then_some(&*self.text)
    }

    /// Compares a given secret with this one.
    pub(crate) fn compare(&self, given: &str) -> SecretComparison {
        match (is_same(given, &self.text), self.is_chosen) {
            (true, false) => SecretComparison::Strong,
            (true, true) => SecretComparison::Chosen,
            (false, _) => SecretComparison::Wrong,
        }
    }

    /// Whether this is the cookie's value.
    pub(crate) fn is_session(&self, given: &str) -> bool {
        is_same(given, &self.session)
    }
}

impl std::fmt::Debug for ServerSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// An unguessable text of 160 bits.
pub(crate) fn random() -> std::io::Result<String> {
    let mut bytes = [0u8; 20];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Compares in a way that does not reveal by its timing how much is right: it compares hashes, which an attacker can't choose.
fn is_same(one: &str, other: &str) -> bool {
    blake3::hash(one.as_bytes()) == blake3::hash(other.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn secret_is_created_once_and_private_to_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("dashboard.token");
        let made = ServerSecret::of_file(&path).unwrap();
        assert_eq!(made.text().len(), 40);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(ServerSecret::of_file(&path).unwrap().text(), made.text());
        assert_eq!((made.compare(made.text()), made.link_text()), (SecretComparison::Strong, Some(made.text())));
        assert_eq!(
            (made.compare(""), made.compare(made.session())),
            (SecretComparison::Wrong, SecretComparison::Wrong)
        );
        assert!(made.is_session(made.session()) && !made.is_session(made.text()));
    }

    #[test]
    fn guessable_tokens_are_rejected() {
        assert_eq!(ServerSecret::chosen("short").unwrap_err(), "a secret has 12 to 1024 bytes; this one has 5");
        assert!(ServerSecret::chosen("with a space in it").unwrap_err().contains("no spaces"));
        let chosen = ServerSecret::chosen("long-enough-to-be-one").unwrap();
        assert!(chosen.is_chosen());
        assert_eq!((chosen.compare(chosen.text()), chosen.link_text()), (SecretComparison::Chosen, None));
        assert_eq!(chosen.compare(chosen.session()), SecretComparison::Wrong);
    }
}
