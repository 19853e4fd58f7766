//! The text of the names: a YAML mapping of each name to its workflows.

use std::path::Path;

use json_cas::{HashError, NodeHash};
use yaml_tree::{TextPosition, YamlContent, YamlNode};

use super::{FormerWorkflow, Registry, RegistryEntry};
use crate::error::{Error, Result};

/// Position of the names in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RegistryLayout {
    AtTop,
    BelowWorkflows,
}

/// Reads the names in a text; `path` is for the error.
///
/// # Errors
/// `Data` with the place of the problem.
pub(super) fn parse(path: &Path, text: &str, names: RegistryLayout) -> Result<Registry> {
    if text.trim().is_empty() {
        return Err(unreadable(path, "it is empty"));
    }
    let root = yaml_tree::parse(text).map_err(|error| unreadable_at(path, error.at, &error.message))?;
    let root = root.ok_or_else(|| unreadable(path, "it is empty"))?;
    let names = match names {
        RegistryLayout::AtTop => &root,
        RegistryLayout::BelowWorkflows => {
            root.get("workflows").ok_or_else(|| unreadable(path, "it has no `workflows`"))?
        }
    };
    if !matches!(names.data, YamlContent::Mapping(_)) {
        return Err(unreadable_at(path, names.at, "a mapping of names is expected"));
    }
    let mut registry = Registry::new();
    for name in names.entries() {
        let entry = entry(&name.value).map_err(|(at, why)| unreadable_at(path, at, &why))?;
        if registry.insert(name.key.clone(), entry).is_some() {
            return Err(unreadable_at(path, name.key_at, &format!("the name `{}` occurs twice", name.key)));
        }
    }
    Ok(registry)
}

type Unreadable = (TextPosition, String);

/// One entry: the full form, or only the hash. Takes hashes as they are written, even if they are numbers to YAML.
fn entry(node: &YamlNode) -> Result<RegistryEntry, Unreadable> {
    match &node.data {
        YamlContent::Scalar { .. } => Ok(RegistryEntry { hash: hash(node)?, timestamp: 0, history: Vec::new() }),
        YamlContent::Mapping(_) => {
            let FormerWorkflow { hash, timestamp } = past(node)?;
            let history = match node.get("history").map(|history| &history.data) {
                Some(YamlContent::Sequence(items)) => items.iter().map(past).collect::<Result<_, _>>()?,
                Some(YamlContent::Scalar { .. } | YamlContent::Mapping(_)) => {
                    return Err((node.at, "`history` is not a list".to_owned()));
                }
                None => Vec::new(),
            };
            Ok(RegistryEntry { hash, timestamp, history })
        }
        YamlContent::Sequence(_) => Err(neither(node)),
    }
}

fn past(node: &YamlNode) -> Result<FormerWorkflow, Unreadable> {
    let hash = hash(node.get("hash").ok_or_else(|| neither(node))?)?;
    let timestamp = node.get("timestamp").and_then(|timestamp| timestamp.as_number()?.as_u64());
    Ok(FormerWorkflow { hash, timestamp: timestamp.ok_or_else(|| neither(node))? })
}

fn hash(node: &YamlNode) -> Result<NodeHash, Unreadable> {
    let text = node.as_written().ok_or_else(|| neither(node))?;
    text.parse().map_err(|error: HashError| (node.at, error.to_string()))
}

fn neither(node: &YamlNode) -> Unreadable {
    (node.at, "an entry is neither a hash nor `{hash, timestamp, history}`".to_owned())
}

fn unreadable_at(path: &Path, TextPosition { line, column }: TextPosition, why: &str) -> Error {
    unreadable(path, &format!("line {line} column {column}: {why}"))
}

/// The error of a registry that cannot be read.
pub(super) fn unreadable(path: &Path, why: &str) -> Error {
    Error::data(format!("{} is not readable: {why}", path.display()))
        .hint("repair it or restore it from a backup; the workflows themselves are safe in the store")
}

/// Most bytes of a key that YAML readers accept without a mark before it. Names that uwf assigns are far shorter.
const LONGEST_SIMPLE_KEY: usize = 1_000;

/// Always quotes hashes: a hash of digits only is a number to YAML readers.
pub(super) fn write(registry: &Registry) -> String {
    use std::fmt::Write as _;
    if registry.is_empty() {
        return "{}\n".to_owned();
    }
    let mut text = String::new();
    for (name, entry) in registry {
        let name = serde_json::Value::from(name.as_str()).to_string();
        let key = if name.len() > LONGEST_SIMPLE_KEY { format!("? {name}\n") } else { name };
        // Writing to a String never fails.
        let _ = write!(text, "{key}:\n  hash: \"{}\"\n  timestamp: {}\n", entry.hash, entry.timestamp);
        if entry.history.is_empty() {
            text.push_str("  history: []\n");
            continue;
        }
        text.push_str("  history:\n");
        for past in &entry.history {
            let _ = write!(text, "    - hash: \"{}\"\n      timestamp: {}\n", past.hash, past.timestamp);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_round_trip() {
        let past = FormerWorkflow { hash: NodeHash::from_u64(1), timestamp: 3 };
        let entry = RegistryEntry { hash: NodeHash::from_u64(7), timestamp: 5, history: vec![past] };
        let long = ["a".repeat(999), "b".repeat(1_100), "\"\n: #{".repeat(700), "é".repeat(5_000)];
        let names = ["short", "~", "null"].into_iter().map(str::to_owned).chain(long);
        let registry: Registry = names.map(|name| (name, entry.clone())).collect();
        assert_eq!(parse(Path::new("registry.yaml"), &write(&registry), RegistryLayout::AtTop).unwrap(), registry);
    }
}
