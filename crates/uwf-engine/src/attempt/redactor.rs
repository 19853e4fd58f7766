//! Redacts secrets before text is stored, logged or shown.

mod secret_parts;

use std::collections::BTreeSet;
use std::sync::Arc;

use json_cas::NodeDraft;
use serde_json::Value;
use uwf_core::secret_search::{FoundSecret, SHORTEST, SecretSearch};

use crate::error::{Error, Result};
use crate::root::broker_link::BrokerLink;
use crate::root::env_file;
use crate::root::home::Home;
use crate::root::{received_keys, store_keys};

/// Replaces secrets in everything that is about to be stored, logged or shown: a node is permanent.
#[derive(Debug, Clone, Default)]
pub struct SecretRedactor {
    /// Names, in the order of the values in `search`.
    names: Vec<String>,
    search: Arc<SecretSearch>,
    /// The attempt's broker, which knows secrets that this process lacks.
    broker: Option<Arc<BrokerLink>>,
}

impl SecretRedactor {
    /// A redactor for every configured secret, and for variables in `.env` or the environment that are named like
    /// secrets.
    pub fn new(names: impl IntoIterator<Item = String>, env_file: &[(String, String)]) -> SecretRedactor {
        SecretRedactor::knowing(names, env_file, &own_environment())
    }

    /// A redactor for a root, whose configuration names the secrets.
    ///
    /// # Errors
    /// `Config` when configuration or `.env` is not readable.
    pub(crate) fn for_home(home: &Home) -> Result<SecretRedactor> {
        let env_file = env_file::read(&home.env_file())?;
        let mut names = home.config()?.secret_names();
        names.extend(store_keys::names(home, &env_file));
        Ok(SecretRedactor::new(names, &env_file).asking_broker_of(home))
    }

    /// A redactor for a process whose own environment lacks some secrets: `environment` has the variables of other
    /// processes.
    pub fn knowing(
        names: impl IntoIterator<Item = String>,
        env_file: &[(String, String)],
        environment: &[(String, String)],
    ) -> SecretRedactor {
        let names: BTreeSet<String> = names.into_iter().collect();
        let in_file = env_file.iter().filter(|(name, _)| names.contains(name) || looks_secret(name));
        let in_environment = environment
            .iter()
            .filter(|(name, value)| names.contains(name) || is_named_secret(name) && !value.starts_with('/'));
        let mut secrets: Vec<(String, String)> = in_file
            .chain(in_environment)
            // White space around a key is not sent, so it does not come back either.
            .map(|(name, value)| (name, value.trim().to_owned()))
            .flat_map(|(name, value)| secret_parts::value_and_parts(value).into_iter().map(move |part| (name, part)))
            .map(|(name, value)| (name.clone(), value))
            .filter(|(_, value)| value.len() >= SHORTEST)
            .collect();
        // If several variables have the same value, report the first one by name.
        secrets.sort();
        secrets.dedup();
        let search = Arc::new(SecretSearch::new(secrets.iter().map(|(_, value)| value.as_str())));
        SecretRedactor { names: secrets.into_iter().map(|(name, _)| name).collect(), search, broker: None }
    }

    /// Adds the secrets of the attempt's broker, for a process of an agent.
    #[must_use]
    pub fn asking_broker_of(self, home: &Home) -> SecretRedactor {
        SecretRedactor { broker: home.broker().cloned(), ..self }
    }

    /// The name of a secret that occurs in a text.
    pub fn found_in(&self, text: &str) -> Option<&str> {
        let found = self.search.found(text.as_bytes());
        found.first().map(|found| self.names[found.value].as_str())
    }

    /// The node, with all its texts redacted.
    pub fn draft(&self, draft: NodeDraft) -> NodeDraft {
        let clean = self.value(draft.payload());
        if clean == *draft.payload() {
            return draft;
        }
        // Only texts have changed, so it can still be written.
        NodeDraft::new(draft.type_hash(), clean).map_or(draft, NodeDraft::trusted)
    }

    /// The text without secrets. Also finds secrets that contain invisible characters or are encoded as base64,
    /// hexadecimal digits, JSON or URLs. A text without secrets is unchanged.
    pub fn text(&self, text: &str) -> String {
        match self.value(&Value::from(text)) {
            Value::String(clean) => clean,
            _ => self.own_text(text),
        }
    }

    /// An error with its message and hints redacted.
    pub fn error(&self, error: &Error) -> Error {
        let hints = error.hints.iter().map(|hint| self.text(hint)).collect();
        Error { hints, cause: error.cause.clone(), ..Error::new(error.kind, self.text(&error.message)) }
    }

    fn own_text(&self, text: &str) -> String {
        let mut clean = String::with_capacity(text.len());
        let mut from = 0;
        for FoundSecret { range, value } in self.search.found(text.as_bytes()) {
            clean.push_str(&text[from..range.start]);
            clean.push_str(&format!("[redacted {}]", self.names[value]));
            from = range.end;
        }
        clean + &text[from..]
    }

    /// Length of a growing text that can already be shown.
    pub(crate) fn settled(&self, text: &[u8]) -> usize {
        self.search.settled(text)
    }

    /// The value with every text in it redacted, including keys.
    pub fn value(&self, value: &Value) -> Value {
        let clean = self.own_value(value);
        // Without the broker nothing is stored, and text kept in files is redacted again before it is stored.
        self.broker.as_ref().and_then(|broker| broker.redacted(&clean)).unwrap_or(clean)
    }

    fn own_value(&self, value: &Value) -> Value {
        if self.names.is_empty() {
            return value.clone();
        }
        match value {
            Value::String(text) => Value::String(self.own_text(text)),
            Value::Array(items) => items.iter().map(|item| self.own_value(item)).collect(),
            Value::Object(map) => {
                Value::Object(map.iter().map(|(key, item)| (self.own_text(key), self.own_value(item))).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

/// The variables of this process and the keys it received, as far as they are text.
pub fn own_environment() -> Vec<(String, String)> {
    received_keys::text_variables().collect()
}

/// Words that occur only in names of secrets.
const SECRET_WORDS: [&str; 10] =
    ["KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "PGPASSWORD"];

/// Names of secrets without such a word: the first is Azure's and includes an account's key, and a machine sends the
/// second to get a token.
const SECRET_NAMES: [&str; 2] = ["AZURE_STORAGE_CONNECTION_STRING", "IDENTITY_HEADER"];

/// Whether an environment variable is named like a secret. Unlike `.env`, an environment has many other variables, so
/// only whole words count: `KEYCLOAK_URL` is not a secret.
fn is_named_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_NAMES.contains(&&*name) || name.split('_').any(|word| SECRET_WORDS.contains(&word))
}

fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"].iter().any(|word| name.contains(word))
        || SECRET_NAMES.contains(&&*name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn secrets_are_redacted_by_name_longest_first() {
        let file =
            [pair("A_KEY", "sk-0123456789"), pair("LONGER_TOKEN", "sk-0123456789-more"), pair("TINY_KEY", "abc")];
        let redactor = SecretRedactor::new([], &file);
        assert_eq!(
            redactor.text("first sk-0123456789, then sk-0123456789-more, abc stays"),
            "first [redacted A_KEY], then [redacted LONGER_TOKEN], abc stays"
        );
        assert_eq!(
            redactor.value(&serde_json::json!({"k": ["sk-0123456789", 1]})),
            serde_json::json!({"k": ["[redacted A_KEY]", 1]})
        );
    }

    #[test]
    fn secret_is_found_in_every_encoding() {
        let redactor = SecretRedactor::knowing([], &[pair("A_KEY", "q\"b\\s/n\nt\tä")], &[]);
        let json = r#"q\"b\\s/n\nt\tä"#;
        let texts = [
            "q\"b\\s/n\nt\tä".to_owned(),
            json.to_owned(),
            json.replace('/', "\\/"),
            json.replace('ä', "\\u00e4"),
            serde_json::json!(json).to_string().trim_matches('"').to_owned(),
        ];
        for text in texts {
            assert_eq!(redactor.text(&format!("<{text}>")), "<[redacted A_KEY]>", "{text}");
            assert_eq!(redactor.found_in(&text), Some("A_KEY"));
        }
        assert_eq!(redactor.found_in("q"), None);
    }

    #[test]
    fn secret_with_invisible_symbols_is_redacted() {
        let redactor = SecretRedactor::knowing([], &[pair("A_KEY", "sk-0123456789")], &[]);
        for within in [
            "\u{1b}[01;31m\u{1b}[K",
            "\u{1b}]8;;https://e.example\u{1b}\\",
            "\u{9b}31m",
            "\u{9d}0;x\u{9c}",
            "\u{85}",
            "\0",
            "\u{7f}",
            "\u{feff}",
            "\u{200b}\u{ad}",
            "\u{1b}",
            "\u{fffd}",
            r"\u001b[31m",
            r"\\u001b[31m",
            r"\u0000",
            "%1b",
            "%00",
        ] {
            for at in 1..13 {
                let (before, after) = "sk-0123456789".split_at(at);
                let text = format!("é {before}{within}{after}!");
                let clean = redactor.text(&text);
                assert!(clean.starts_with("é [redacted A_KEY]") && clean.ends_with('!'), "{text:?}: {clean:?}");
            }
            let without = format!("é sk-01234{within}5678!");
            assert_eq!(redactor.text(&without), without);
        }
    }

    #[test]
    fn a_secret_in_another_encoding_is_replaced() {
        let secret = "sk/ü 0123456789?";
        let redactor = SecretRedactor::knowing([], &[pair("A_KEY", secret)], &[]);
        let of = |encoding: &data_encoding::Encoding, text: &str| encoding.encode(text.as_bytes());
        let wrapped = |text: &str| {
            text.as_bytes().chunks(7).map(|line| format!("{}\n", String::from_utf8_lossy(line))).collect::<String>()
        };
        let around = |before: &str| format!("{before}{secret} and more");
        let mut texts = vec![
            "sk%2F%C3%BC%200123456789%3F".to_owned(),
            "sk%2f%c3%bc+0123456789%3f".to_owned(),
            "sk/%C3%BC%200123456789?".to_owned(),
            of(&data_encoding::HEXLOWER, secret),
            of(&data_encoding::HEXUPPER, secret),
            wrapped(&of(&data_encoding::HEXLOWER, &around("user:"))),
            secret.bytes().map(|byte| format!("%{byte:02x}")).collect(),
            secret.bytes().map(|byte| format!(" {byte:02x}")).collect(),
            secret.bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
        ];
        for before in ["", "u", "u:", "user"] {
            for encoding in [&data_encoding::BASE64, &data_encoding::BASE64URL, &data_encoding::BASE64_NOPAD] {
                texts.extend([of(encoding, &around(before)), wrapped(&of(encoding, &around(before)))]);
            }
        }
        for text in texts {
            let clean = redactor.text(&text);
            assert!(clean.contains("[redacted A_KEY]"), "{text}: {clean}");
            assert_eq!(redactor.found_in(&text), Some("A_KEY"));
        }
        assert_eq!(redactor.text(&format!("<{}>", of(&data_encoding::BASE64, secret))), "<[redacted A_KEY]>");
        let other = of(&data_encoding::BASE64, "sk/ü 012345678x");
        assert_eq!(redactor.text(&other), other);
    }

    #[test]
    fn mostly_invisible_secret_does_not_redact_visible_part() {
        let redactor = SecretRedactor::knowing([], &[pair("A_KEY", "a\u{200b}\u{200b}\u{200b}b")], &[]);
        assert_eq!(redactor.text("a, ab and a\u{200b}\u{200b}\u{200b}b"), "a, ab and [redacted A_KEY]");
    }

    #[test]
    fn an_environment_has_more_than_secrets() {
        let environment = [
            pair("GITHUB_TOKEN", "ghp-0123456789"),
            pair("KEYCLOAK_URL", "https://keycloak.example"),
            pair("SSH_KEY", "/home/me/.ssh/id"),
            pair("CONFIGURED", "configured-value"),
        ];
        let redactor = SecretRedactor::knowing(["CONFIGURED".to_owned()], &[], &environment);
        assert_eq!(
            redactor.text("ghp-0123456789 https://keycloak.example /home/me/.ssh/id configured-value"),
            "[redacted GITHUB_TOKEN] https://keycloak.example /home/me/.ssh/id [redacted CONFIGURED]"
        );
    }

    #[test]
    fn secret_part_of_value_is_redacted_alone() {
        let connection = "AccountName=me;AccountKey=a+b/c0123456789==;EndpointSuffix=core.windows.net";
        let account = r#"{"type": "service_account", "private_key": "-----BEGIN\nxyz\n"}"#;
        let environment =
            [pair("AZURE_STORAGE_CONNECTION_STRING", connection), pair("GOOGLE_SERVICE_ACCOUNT_KEY", account)];
        let redactor = SecretRedactor::knowing([], &[], &environment);
        for text in [connection, "a+b/c0123456789=="] {
            assert_eq!(redactor.text(text), "[redacted AZURE_STORAGE_CONNECTION_STRING]");
        }
        for text in [account, "-----BEGIN\nxyz", r"-----BEGIN\nxyz"] {
            assert_eq!(redactor.text(text), "[redacted GOOGLE_SERVICE_ACCOUNT_KEY]");
        }
        assert_eq!(redactor.text("me at core.windows.net"), "me at core.windows.net");
    }

    #[test]
    fn every_value_of_secret_is_redacted_without_whitespace() {
        let file = [pair("ACCOUNT", "first-value"), pair("ACCOUNT", " second-value\n")];
        let redactor = SecretRedactor::new(["ACCOUNT".to_owned()], &file);
        assert_eq!(redactor.text("first-value, second-value."), "[redacted ACCOUNT], [redacted ACCOUNT].");
    }
}
