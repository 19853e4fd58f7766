//! Labels of threads: a person's own words, to find threads and to group their costs.

use std::collections::BTreeMap;
use std::str::FromStr;

/// Most symbols of a key.
const KEY: usize = 64;

/// Most symbols of a value.
const VALUE: usize = 256;

/// Key of the label with the name of the hook that started a thread.
pub const HOOK_LABEL: &str = "hook";

/// Key of the label with the id of the delivery that started a thread.
pub const DELIVERY_LABEL: &str = "delivery";

/// The labels of a thread, by their keys.
pub type ThreadLabels = BTreeMap<String, String>;

/// A label, parsed from `KEY=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadLabel {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
}

impl FromStr for ThreadLabel {
    type Err = String;

    fn from_str(text: &str) -> Result<ThreadLabel, String> {
        let LabelFilter { key, value } = text.parse()?;
        let value = value.ok_or("a label is KEY=VALUE; this one has no `=`")?;
        Ok(ThreadLabel { key, value })
    }
}

/// Selects threads that have a label, parsed from `KEY=VALUE` or `KEY`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelFilter {
    /// The key.
    pub key: String,
    /// The value; `None` selects threads with any value.
    pub value: Option<String>,
}

impl LabelFilter {
    /// Whether a thread with these labels is selected.
    #[must_use]
    pub fn matches(&self, labels: &ThreadLabels) -> bool {
        labels.get(&self.key).is_some_and(|value| self.value.as_ref().is_none_or(|wanted| wanted == value))
    }
}

impl FromStr for LabelFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<LabelFilter, String> {
        let (key, value) = text.split_once('=').map_or((text, None), |(key, value)| (key, Some(value)));
        if key.is_empty() {
            return Err("the key before `=` is empty".to_owned());
        }
        if key.contains(|symbol: char| symbol.is_whitespace() || symbol.is_control()) {
            return Err("a key has no spaces and no control characters".to_owned());
        }
        if key.chars().count() > KEY {
            return Err(format!("a key has at most {KEY} characters"));
        }
        if value.is_some_and(|value| value.trim().is_empty()) {
            return Err(format!("the value of `{key}` is empty"));
        }
        if value.is_some_and(|value| value.contains(char::is_control)) {
            return Err("a value has no control characters, so it is one line".to_owned());
        }
        if value.is_some_and(|value| value.chars().count() > VALUE) {
            return Err(format!("a value has at most {VALUE} characters"));
        }
        Ok(LabelFilter { key: key.to_owned(), value: value.map(str::to_owned) })
    }
}

/// The labels of a thread, from those that were given for it.
///
/// # Errors
/// If a key has two values.
pub fn by_key(given: impl IntoIterator<Item = ThreadLabel>) -> Result<ThreadLabels, String> {
    let mut labels = ThreadLabels::new();
    for ThreadLabel { key, value } in given {
        if let Some(other) = labels.insert(key.clone(), value.clone()).filter(|other| *other != value) {
            return Err(format!("label `{key}` has two values: `{other}` and `{value}`"));
        }
    }
    Ok(labels)
}

/// Labels on one line, such as `team=blue, ticket=42`.
#[must_use]
pub fn in_line(labels: &ThreadLabels) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
}
