//! Reads typed fields of a parsed file and reports wrong types.

use yaml_tree::{MappingEntry, TextPosition, YamlContent, YamlNode};

use super::problem::ProblemCollector;
use json_cas::nearest::did_you_mean;

/// The fields of one mapping.
#[derive(Clone, Copy)]
pub(crate) struct MappingFields<'n> {
    pub(crate) at: TextPosition,
    entries: &'n [MappingEntry],
}

impl<'n> MappingFields<'n> {
    /// The fields of `node`; `name` is its name in messages. Null counts as a mapping without fields.
    pub(crate) fn from_mapping(
        node: &'n YamlNode,
        what: &str,
        problems: &mut ProblemCollector,
    ) -> Option<MappingFields<'n>> {
        match &node.data {
            YamlContent::Mapping(entries) => Some(MappingFields { at: node.at, entries }),
            YamlContent::Scalar { .. } if node.is_null() => Some(MappingFields { at: node.at, entries: &[] }),
            YamlContent::Scalar { .. } | YamlContent::Sequence(_) => {
                wrong_type(node, what, "a mapping", problems);
                None
            }
        }
    }

    /// The fields of a whole file; `name` is its name in messages.
    pub(crate) fn of_file(
        root: &'n YamlNode,
        name: &str,
        problems: &mut ProblemCollector,
    ) -> Option<MappingFields<'n>> {
        if let YamlContent::Mapping(entries) = &root.data {
            return Some(MappingFields { at: root.at, entries });
        }
        problems.error("wrong-type", root.at, format!("{name} must be a mapping, not {}", root.kind()), None);
        None
    }

    pub(crate) fn iter(self) -> std::slice::Iter<'n, MappingEntry> {
        self.entries.iter()
    }

    /// The entry of a key, unless its value is null, which counts as absent.
    pub(crate) fn get(self, key: &str) -> Option<&'n MappingEntry> {
        self.entries.iter().find(|entry| entry.key == key && !entry.value.is_null())
    }

    /// Rejects every key that is not in `known`, where ignoring it would change what the file does. `meant` maps words of other tools to
    /// our keys.
    pub(crate) fn refuse_unknown(self, known: &[&str], meant: &[(&str, &str)], problems: &mut ProblemCollector) {
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

    fn unknown(self, known: &[&str]) -> impl Iterator<Item = &'n MappingEntry> {
        self.entries.iter().filter(|entry| !known.contains(&entry.key.as_str()))
    }

    /// Warns about every key that is not in `known`.
    pub(crate) fn warn_unknown(self, known: &[&str], problems: &mut ProblemCollector) {
        for entry in self.unknown(known) {
            if problems.is_full() {
                return;
            }
            let message = format!("the key `{}` is not known here and is ignored", entry.key);
            problems.warning("unknown-key", entry.key_at, message, Some(hint_of(entry, known)));
        }
    }
}

fn hint_of(unknown: &MappingEntry, known: &[&str]) -> String {
    did_you_mean(&unknown.key, known.iter().copied()).unwrap_or_else(|| format!("known here: {}", known.join(", ")))
}

/// Reports that `what` (a key, or `key[]` for an item of its list) must be `wanted`.
pub(crate) fn wrong_type(node: &YamlNode, what: &str, wanted: &str, problems: &mut ProblemCollector) {
    let hint = match (wanted, node.as_raw()) {
        ("a text", Some(raw)) => Some(format!("put it in quotes: \"{raw}\"")),
        _ => None,
    };
    wrong_type_with(node, what, wanted, hint, problems);
}

/// Like [`wrong_type`], with a hint.
pub(super) fn wrong_type_with(
    node: &YamlNode,
    what: &str,
    wanted: &str,
    hint: Option<String>,
    problems: &mut ProblemCollector,
) {
    let subject = match what.strip_suffix("[]") {
        Some(list) => format!("each item of `{list}`"),
        None => format!("`{what}`"),
    };
    problems.error("wrong-type", node.at, format!("{subject} must be {wanted}, not {}", node.kind()), hint);
}

/// A text, or `None` and a problem.
pub(crate) fn text(node: &YamlNode, what: &str, problems: &mut ProblemCollector) -> Option<String> {
    let text = node.as_text().map(str::to_owned);
    if text.is_none() {
        wrong_type(node, what, "a text", problems);
    }
    text
}

/// The entries of a list; null counts as empty.
pub(crate) fn list<'n>(
    node: &'n YamlNode,
    what: &str,
    wanted: &str,
    problems: &mut ProblemCollector,
) -> Option<&'n [YamlNode]> {
    match &node.data {
        YamlContent::Sequence(items) => Some(items),
        YamlContent::Scalar { .. } if node.is_null() => Some(&[]),
        YamlContent::Scalar { .. } | YamlContent::Mapping(_) => {
            wrong_type(node, what, wanted, problems);
            None
        }
    }
}

/// A list of texts. Other items are reported and dropped.
pub(crate) fn texts(node: &YamlNode, what: &str, problems: &mut ProblemCollector) -> Option<Vec<String>> {
    let items = list(node, what, "a list of texts", problems)?;
    Some(items.iter().filter_map(|item| text(item, &format!("{what}[]"), problems)).collect())
}
