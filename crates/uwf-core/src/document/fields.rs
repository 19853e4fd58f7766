//! Reads typed fields of a parsed file and reports wrong types.

use yaml_tree::{Data, Entry, Node, Position};

use super::problem::Problems;
use json_cas::nearest::did_you_mean;

/// The fields of one mapping.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'n> {
    pub(crate) at: Position,
    entries: &'n [Entry],
}

impl<'n> Fields<'n> {
    /// The fields of `node`; `name` is its name in messages. Null counts as a mapping without fields.
    pub(crate) fn of(node: &'n Node, what: &str, problems: &mut Problems) -> Option<Fields<'n>> {
        match &node.data {
            Data::Mapping(entries) => Some(Fields { at: node.at, entries }),
            Data::Scalar { .. } if node.is_null() => Some(Fields { at: node.at, entries: &[] }),
            Data::Scalar { .. } | Data::Sequence(_) => {
                wrong_type(node, what, "a mapping", problems);
                None
            }
        }
    }

    /// The fields of a whole file; `name` is its name in messages.
    pub(crate) fn of_file(root: &'n Node, name: &str, problems: &mut Problems) -> Option<Fields<'n>> {
        if let Data::Mapping(entries) = &root.data {
            return Some(Fields { at: root.at, entries });
        }
        problems.error("wrong-type", root.at, format!("{name} must be a mapping, not {}", root.kind()), None);
        None
    }

    pub(crate) fn iter(self) -> std::slice::Iter<'n, Entry> {
        self.entries.iter()
    }

    /// The entry of a key, unless its value is null, which counts as absent.
    pub(crate) fn get(self, key: &str) -> Option<&'n Entry> {
        self.entries.iter().find(|entry| entry.key == key && !entry.value.is_null())
    }

    /// Rejects every key that is not in `known`, where ignoring it would change what the file does. `meant` maps words of other tools to
    /// our keys.
    pub(crate) fn refuse_unknown(self, known: &[&str], meant: &[(&str, &str)], problems: &mut Problems) {
        for entry in self.unknown(known) {
            if problems.is_full() {
                return;
            }
            let meant = meant.iter().find(|(word, _)| *word == entry.key);
            let hint = meant.map(|(_, key)| format!("did you mean `{key}`?"));
            let hint = hint.unwrap_or_else(|| hint_of(entry, known));
            problems.error(
                "unknown-key",
                entry.key_at,
                format!("the key `{}` is not known here", entry.key),
                Some(hint),
            );
        }
    }

    fn unknown(self, known: &[&str]) -> impl Iterator<Item = &'n Entry> {
        self.entries.iter().filter(|entry| !known.contains(&entry.key.as_str()))
    }

    /// Warns about every key that is not in `known`.
    pub(crate) fn warn_unknown(self, known: &[&str], problems: &mut Problems) {
        for entry in self.unknown(known) {
            if problems.is_full() {
                return;
            }
            let message = format!("the key `{}` is not known here and is ignored", entry.key);
            problems.warning("unknown-key", entry.key_at, message, Some(hint_of(entry, known)));
        }
    }
}

fn hint_of(unknown: &Entry, known: &[&str]) -> String {
    did_you_mean(&unknown.key, known.iter().copied()).unwrap_or_else(|| format!("known here: {}", known.join(", ")))
}

/// Reports that `what` (a key, or `key[]` for an item of its list) must be `wanted`.
pub(crate) fn wrong_type(node: &Node, what: &str, wanted: &str, problems: &mut Problems) {
    let hint = match (wanted, node.as_raw()) {
        ("a text", Some(raw)) => Some(format!("put it in quotes: \"{raw}\"")),
        _ => None,
    };
    wrong_type_with(node, what, wanted, hint, problems);
}

/// Like [`wrong_type`], with a hint.
pub(super) fn wrong_type_with(node: &Node, what: &str, wanted: &str, hint: Option<String>, problems: &mut Problems) {
    let subject = match what.strip_suffix("[]") {
        Some(list) => format!("each item of `{list}`"),
        None => format!("`{what}`"),
    };
    problems.error("wrong-type", node.at, format!("{subject} must be {wanted}, not {}", node.kind()), hint);
}

/// A text, or `None` and a problem.
pub(crate) fn text(node: &Node, what: &str, problems: &mut Problems) -> Option<String> {
    let text = node.as_text().map(str::to_owned);
    if text.is_none() {
        wrong_type(node, what, "a text", problems);
    }
    text
}

/// The entries of a list; null counts as empty.
pub(crate) fn list<'n>(node: &'n Node, what: &str, wanted: &str, problems: &mut Problems) -> Option<&'n [Node]> {
    match &node.data {
        Data::Sequence(items) => Some(items),
        Data::Scalar { .. } if node.is_null() => Some(&[]),
        Data::Scalar { .. } | Data::Mapping(_) => {
            wrong_type(node, what, wanted, problems);
            None
        }
    }
}

/// A list of texts. Other items are reported and dropped.
pub(crate) fn texts(node: &Node, what: &str, problems: &mut Problems) -> Option<Vec<String>> {
    let items = list(node, what, "a list of texts", problems)?;
    Some(items.iter().filter_map(|item| text(item, &format!("{what}[]"), problems)).collect())
}
