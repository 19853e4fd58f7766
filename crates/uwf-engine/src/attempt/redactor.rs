//! What is redacted before it is stored, logged or shown.

use std::collections::BTreeSet;
use std::sync::Arc;

use json_cas::Draft;
use serde_json::Value;

use crate::attempt::error::Result;
use crate::attempt::secret_parts;
use crate::root::broker_link::BrokerLink;
use crate::root::env_file;
use crate::root::home::Home;
use crate::root::received_keys;
use crate::root::store_keys;

/// Shorter values are not redacted: they would turn up by chance all over an answer.
const SHORTEST_SECRET: usize = 8;

/// Replaces secrets in everything that is about to be stored, logged or shown: a node is for ever.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    /// Names, and values in every form they are written in, the longest first.
    secrets: Vec<(String, String)>,
    /// The broker of the attempt, which knows secrets that this process does not have.
    broker: Option<Arc<BrokerLink>>,
}

impl Redactor {
    /// Knows every configured secret by name, and whatever in `.env` or the environment is named like one.
    pub fn new(names: impl IntoIterator<Item = String>, env_file: &[(String, String)]) -> Redactor {
        Redactor::knowing(names, env_file, &own_environment())
    }

    /// The same for a root, whose configuration names the secrets.
    ///
    /// # Errors
    /// `Config` when configuration or `.env` is not readable.
    pub fn of(home: &Home) -> Result<Redactor> {
        let env_file = env_file::read(&home.env_file())?;
        let mut names = home.config()?.secret_names();
        names.extend(store_keys::names(home, &env_file));
        Ok(Redactor::new(names, &env_file).asking_broker_of(home))
    }

    /// The same for a process that does not have every secret in its own environment: `environment` is what others have.
    pub fn knowing(
        names: impl IntoIterator<Item = String>,
        env_file: &[(String, String)],
        environment: &[(String, String)],
    ) -> Redactor {
        let names: BTreeSet<String> = names.into_iter().collect();
        let in_file = env_file.iter().filter(|(name, _)| names.contains(name) || looks_secret(name));
        let in_environment = environment
            .iter()
            .filter(|(name, value)| names.contains(name) || is_named_secret(name) && !value.starts_with('/'));
        let mut secrets: Vec<(String, String)> = in_file
            .chain(in_environment)
            // White space around a key is no part of what is sent, and so of what comes back.
            .map(|(name, value)| (name, value.trim().to_owned()))
            .flat_map(|(name, value)| secret_parts::of(value).into_iter().map(move |part| (name, part)))
            .filter(|(_, value)| value.len() >= SHORTEST_SECRET)
            .flat_map(|(name, value)| written(&value).into_iter().map(move |form| (name.clone(), form)))
            .collect();
        // The longest first, so that a secret that contains another is replaced whole.
        secrets.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        Redactor { secrets, broker: None }
    }

    /// The same for the process of an agent, which lets its broker replace what only that knows.
    #[must_use]
    pub fn asking_broker_of(self, home: &Home) -> Redactor {
        Redactor { broker: home.broker().cloned(), ..self }
    }

    /// The name of a secret that is in a text.
    pub fn found_in(&self, text: &str) -> Option<&str> {
        self.secrets.iter().find(|(_, value)| text.contains(value.as_str())).map(|(name, _)| name.as_str())
    }

    /// The node without secrets in any text of it.
    pub fn draft(&self, draft: Draft) -> Draft {
        let clean = self.value(draft.payload());
        if clean == *draft.payload() {
            return draft;
        }
        // Only texts are others, so what could be written before can be now.
        Draft::new(draft.type_hash(), clean).map_or(draft, Draft::trusted)
    }

    /// The text without secrets.
    pub fn text(&self, text: &str) -> String {
        match self.value(&Value::from(text)) {
            Value::String(clean) => clean,
            _ => self.own_text(text),
        }
    }

    fn own_text(&self, text: &str) -> String {
        let mut clean = text.to_owned();
        for (name, value) in &self.secrets {
            if clean.contains(value.as_str()) {
                clean = clean.replace(value.as_str(), &format!("[redacted {name}]"));
            }
        }
        clean
    }

    /// How much of a text that goes on can be shown: what follows could be the beginning of a secret.
    pub(crate) fn settled(&self, text: &[u8]) -> usize {
        let values = || self.secrets.iter().map(|(_, value)| value.as_bytes());
        let begun = |value: &[u8]| (1..value.len()).rev().find(|&length| text.ends_with(&value[..length])).unwrap_or(0);
        let mut settled = text.len() - values().map(begun).max().unwrap_or(0);
        // A secret that ends as one begins must not be cut in two.
        while let Some(start) = values().find_map(|value| {
            let reach = (settled + value.len() - 1).min(text.len());
            let first = (settled + 1).saturating_sub(value.len());
            let around = text.get(first..reach)?;
            let at = around.windows(value.len()).position(|window| window == value)?;
            Some(first + at)
        }) {
            settled = start;
        }
        settled
    }

    /// The value with every text in it, keys included, without secrets.
    pub fn value(&self, value: &Value) -> Value {
        let clean = self.own_value(value);
        // Without it nothing is stored either, and what is kept in files is cleaned again before it is.
        self.broker.as_ref().and_then(|broker| broker.redacted(&clean)).unwrap_or(clean)
    }

    fn own_value(&self, value: &Value) -> Value {
        if self.secrets.is_empty() {
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

/// The variables of this process and the keys that were handed to it, as far as they are text.
pub fn own_environment() -> Vec<(String, String)> {
    received_keys::text_variables().collect()
}

/// A secret as it stands in texts: as it is, and as JSON has it, also within a text that is JSON itself (the arguments of a
/// tool), with other symbols than ASCII as they are or by number, with `/` as it is or as `\\/`.
fn written(value: &str) -> BTreeSet<String> {
    let quoted = |text: &str| {
        let quoted = serde_json::Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let once = [quoted(value), by_number(&quoted(value))];
    let slashed = once.clone().map(|form| form.replace('/', "\\/"));
    let twice = once.clone().map(|form| quoted(&form));
    [value.to_owned()].into_iter().chain(once).chain(slashed).chain(twice).collect()
}

/// JSON with symbols beyond ASCII by their numbers, as many programs write it.
fn by_number(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for symbol in json.chars() {
        match symbol.is_ascii() {
            true => ascii.push(symbol),
            false => symbol.encode_utf16(&mut [0; 2]).iter().for_each(|unit| ascii.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    ascii
}

/// Words of names that only secrets have.
const SECRET_WORDS: [&str; 10] =
    ["KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "PGPASSWORD"];

/// Names of secrets without such a word: of Azure, the key of an account among other things, and what a machine shows to get a token.
const SECRET_NAMES: [&str; 2] = ["AZURE_STORAGE_CONNECTION_STRING", "IDENTITY_HEADER"];

/// Whether a variable of an environment is named like a secret. Unlike a `.env` an environment is full of other things, so
/// only whole words count: `KEYCLOAK_URL` is none.
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
    fn secrets_are_redacted_by_name_and_the_longest_first() {
        let file =
            [pair("A_KEY", "sk-0123456789"), pair("LONGER_TOKEN", "sk-0123456789-more"), pair("TINY_KEY", "abc")];
        let redactor = Redactor::new([], &file);
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
    fn a_secret_is_found_in_every_form_it_is_written_in() {
        let redactor = Redactor::knowing([], &[pair("A_KEY", "q\"b\\s/n\nt\tä")], &[]);
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
    fn an_environment_has_more_than_secrets() {
        let environment = [
            pair("GITHUB_TOKEN", "ghp-0123456789"),
            pair("KEYCLOAK_URL", "https://keycloak.example"),
            pair("SSH_KEY", "/home/me/.ssh/id"),
            pair("CONFIGURED", "configured-value"),
        ];
        let redactor = Redactor::knowing(["CONFIGURED".to_owned()], &[], &environment);
        assert_eq!(
            redactor.text("ghp-0123456789 https://keycloak.example /home/me/.ssh/id configured-value"),
            "[redacted GITHUB_TOKEN] https://keycloak.example /home/me/.ssh/id [redacted CONFIGURED]"
        );
    }

    #[test]
    fn what_is_secret_within_a_value_is_redacted_alone_too() {
        let connection = "AccountName=me;AccountKey=a+b/c0123456789==;EndpointSuffix=core.windows.net";
        let account = r#"{"type": "service_account", "private_key": "-----BEGIN\nxyz\n"}"#;
        let environment =
            [pair("AZURE_STORAGE_CONNECTION_STRING", connection), pair("GOOGLE_SERVICE_ACCOUNT_KEY", account)];
        let redactor = Redactor::knowing([], &[], &environment);
        for text in [connection, "a+b/c0123456789=="] {
            assert_eq!(redactor.text(text), "[redacted AZURE_STORAGE_CONNECTION_STRING]");
        }
        for text in [account, "-----BEGIN\nxyz", r"-----BEGIN\nxyz"] {
            assert_eq!(redactor.text(text), "[redacted GOOGLE_SERVICE_ACCOUNT_KEY]");
        }
        assert_eq!(redactor.text("me at core.windows.net"), "me at core.windows.net");
    }

    #[test]
    fn every_value_of_a_secret_is_redacted_without_the_white_space_around_it() {
        let file = [pair("ACCOUNT", "first-value"), pair("ACCOUNT", " second-value\n")];
        let redactor = Redactor::new(["ACCOUNT".to_owned()], &file);
        assert_eq!(redactor.text("first-value, second-value."), "[redacted ACCOUNT], [redacted ACCOUNT].");
    }
}
