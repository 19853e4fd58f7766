//! Typed values of `config.yaml`, each with its own complaint.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::agent::{Describe, ExitMeaning, OutputMode};
use super::read::ConfigReader;
use crate::document;
use crate::document::fields::{self, Fields, wrong_type};
use json_cas::nearest::did_you_mean;
use yaml_tree::{Data, Entry};

/// Rounds of feedback or extraction one may ask for. Each costs a model call, so a large number is a slip.
pub(crate) const MAX_ROUNDS: u64 = 10;

/// Keys of a description in place.
pub(crate) const DESCRIBE_KEYS: [&str; 4] = ["name", "version", "capabilities", "configSchema"];

/// No single run of an agent is known to take longer.
const DAY: Duration = Duration::from_hours(24);

/// Code of the warning of [`long_timeout`].
pub const LONG_TIMEOUT: &str = "long-timeout";

/// Message and hint about a limit on a run that was probably meant in milliseconds: one of more than a day.
#[must_use]
pub fn long_timeout(key: &str, written: &str, limit: Duration) -> Option<(String, String)> {
    if limit <= DAY {
        return None;
    }
    let message = format!("`{key}` is more than a day: a number is counted in seconds");
    let hint = match written.parse::<u64>() {
        Ok(number) => format!("if milliseconds are meant, write `{number}ms`; a day is `24h`"),
        Err(_) => "a day is `24h`; 0 means no limit".to_owned(),
    };
    Some((message, hint))
}

impl ConfigReader {
    pub(super) fn required(&mut self, fields: Fields<'_>, entry: &Entry, key: &str, what: &str) -> Option<String> {
        if fields.get(key).is_none() {
            let message = format!("the {what} `{}` has no `{key}`", entry.key);
            self.problems.error("missing-key", entry.key_at, message, None);
        }
        let value = self.text(fields, key)?;
        if value.trim().is_empty() {
            let message = format!("`{key}` of the {what} `{}` is empty", entry.key);
            self.problems.error("wrong-type", fields.get(key)?.value.at, message, None);
            return None;
        }
        Some(value)
    }

    pub(super) fn text(&mut self, fields: Fields<'_>, key: &str) -> Option<String> {
        let entry = fields.get(key)?;
        fields::text(&entry.value, key, &mut self.problems)
    }

    pub(super) fn texts(&mut self, fields: Fields<'_>, key: &str) -> Vec<String> {
        let entry = fields.get(key);
        entry.and_then(|entry| fields::texts(&entry.value, key, &mut self.problems)).unwrap_or_default()
    }

    /// Arguments are texts to every program, so numbers and booleans need no quotes here.
    pub(super) fn args(&mut self, fields: Fields<'_>) -> Vec<String> {
        let Some(entry) = fields.get("args") else {
            return Vec::new();
        };
        let items = fields::list(&entry.value, "args", "a list of texts", &mut self.problems).unwrap_or_default();
        let mut args = Vec::with_capacity(items.len());
        for item in items {
            match item.as_raw() {
                Some(raw) => args.push(raw.to_owned()),
                None => wrong_type(item, "args[]", "a text", &mut self.problems),
            }
        }
        args
    }

    pub(super) fn output(&mut self, fields: Fields<'_>) -> OutputMode {
        let Some(written) = self.text(fields, "output") else {
            return OutputMode::default();
        };
        let words = OutputMode::ALL.map(OutputMode::as_str);
        let found = OutputMode::ALL.into_iter().find(|mode| mode.as_str() == written);
        found.unwrap_or_else(|| {
            self.bad_word(fields, "output", &written, &words);
            OutputMode::default()
        })
    }

    fn bad_word(&mut self, fields: Fields<'_>, key: &str, written: &str, words: &[&str]) {
        let Some(entry) = fields.get(key) else { return };
        let message = format!("`{key}` is `{written}`; it can be {}", words.join(", "));
        self.problems.error("bad-value", entry.value.at, message, did_you_mean(written, words.iter().copied()));
    }

    pub(super) fn duration(&mut self, fields: Fields<'_>, key: &str) -> Option<Duration> {
        fields::duration(fields, key, &mut self.problems)
    }

    /// A limit on a run.
    pub(super) fn timeout(&mut self, fields: Fields<'_>, key: &str) -> Option<Duration> {
        let limit = self.duration(fields, key)?;
        if let Some(entry) = fields.get(key)
            && let Some((message, hint)) = long_timeout(key, entry.value.as_raw().unwrap_or_default(), limit)
        {
            self.problems.warning(LONG_TIMEOUT, entry.value.at, message, Some(hint));
        }
        Some(limit)
    }

    pub(super) fn exit_codes(&mut self, fields: Fields<'_>) -> BTreeMap<i32, ExitMeaning> {
        let Some(entry) = fields.get("exitCodes") else {
            return BTreeMap::new();
        };
        let Some(codes) = Fields::of(&entry.value, "exitCodes", &mut self.problems) else {
            return BTreeMap::new();
        };
        codes.iter().filter_map(|entry| self.exit_code(entry)).collect()
    }

    fn exit_code(&mut self, entry: &Entry) -> Option<(i32, ExitMeaning)> {
        let code = entry.key.parse().ok().filter(|code| (0..=255).contains(code));
        if code.is_none() {
            let message = format!("`{}` is not an exit status; those are 0 to 255", entry.key);
            self.problems.error("bad-value", entry.key_at, message, None);
        }
        let meaning = match entry.value.as_text() {
            Some("ok") => Some(ExitMeaning::Ok),
            Some("fail") => Some(ExitMeaning::Fail),
            Some(_) | None => {
                let written = entry.value.as_raw().unwrap_or_else(|| entry.value.kind());
                let message = format!("the exit status {} means `{written}`; it can mean ok or fail", entry.key);
                self.problems.error("bad-value", entry.value.at, message, None);
                None
            }
        };
        Some((code?, meaning?))
    }

    /// Names of secrets to pass on, and variables to set: a list holds only the former, a mapping both.
    pub(super) fn env(&mut self, fields: Fields<'_>) -> (Vec<String>, BTreeMap<String, String>) {
        let Some(entry) = fields.get("env") else { return Default::default() };
        if !matches!(entry.value.data, Data::Mapping(_)) {
            return (self.texts(fields, "env"), BTreeMap::new());
        }
        let (mut given, mut set) = (Vec::new(), BTreeMap::new());
        for variable in Fields::of(&entry.value, "env", &mut self.problems).into_iter().flat_map(Fields::iter) {
            match variable.value.as_raw() {
                _ if variable.value.is_null() => given.push(variable.key.clone()),
                Some(value) => drop(set.insert(variable.key.clone(), value.to_owned())),
                None => wrong_type(&variable.value, &variable.key, "a text, or null", &mut self.problems),
            }
        }
        (given, set)
    }

    /// A description, or whether the program is asked for one.
    pub(super) fn describe(&mut self, fields: Fields<'_>) -> Option<Describe> {
        let entry = fields.get("describe")?;
        if let Some(is_asked) = entry.value.as_bool() {
            return Some(Describe::Asked(is_asked));
        }
        if !matches!(entry.value.data, Data::Mapping(_)) {
            wrong_type(&entry.value, "describe", "true, false or a mapping", &mut self.problems);
            return None;
        }
        Fields::of(&entry.value, "describe", &mut self.problems)?.warn_unknown(&DESCRIBE_KEYS, &mut self.problems);
        match serde_json::from_value(Value::Object(self.object(fields, "describe"))) {
            Ok(description) => Some(Describe::Given(description)),
            Err(error) => {
                let message = format!("`describe` is not a description of an agent: {error}");
                let hint = "it has the form {name: …, version: …, capabilities: […], configSchema: {…}}".to_owned();
                self.problems.error("bad-value", entry.value.at, message, Some(hint));
                None
            }
        }
    }

    pub(super) fn object(&mut self, fields: Fields<'_>, key: &str) -> Map<String, Value> {
        let Some(entry) = fields.get(key) else {
            return Map::new();
        };
        match &entry.value.data {
            Data::Mapping(_) => match document::to_json(&entry.value, &mut self.problems) {
                Value::Object(map) => map,
                _ => Map::new(),
            },
            Data::Scalar { .. } | Data::Sequence(_) => {
                wrong_type(&entry.value, key, "a mapping", &mut self.problems);
                Map::new()
            }
        }
    }

    /// A number of rounds; `false` is none, `true` the usual ones.
    pub(super) fn rounds(&mut self, fields: Fields<'_>, key: &str, usual: u32) -> u32 {
        match fields.get(key).and_then(|entry| entry.value.as_bool()) {
            Some(true) => usual,
            Some(false) => 0,
            None => self.number(fields, key, 0, MAX_ROUNDS).and_then(|n| u32::try_from(n).ok()).unwrap_or(usual),
        }
    }

    pub(super) fn number(&mut self, fields: Fields<'_>, key: &str, least: u64, most: u64) -> Option<u64> {
        fields::number(fields, key, least, most, &mut self.problems)
    }
}
