//! The JSON Schemas of files, with descriptions: an editor shows the same text about a key as the reference page.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use uwf_core::file_schema;

use crate::topics;

/// A schema of a file.
pub(crate) struct FileSchema {
    /// The name in `uwf schema NAME`.
    pub(crate) name: &'static str,
    /// The files it is for.
    pub(crate) about: &'static str,
    /// Returns the schema without the page's descriptions.
    structure: fn() -> Value,
    /// The page whose tables describe the keys; `None` if the schema includes descriptions.
    page: Option<&'static str>,
}

/// Every schema.
pub(crate) const ALL: [FileSchema; 4] = [
    FileSchema {
        name: "workflow",
        about: "workflow files",
        structure: file_schema::workflow,
        page: Some("workflow-format"),
    },
    FileSchema { name: "config", about: "config.yaml", structure: file_schema::config, page: Some("configuration") },
    FileSchema {
        name: "mock",
        about: "scripts for the agent uwf-mock",
        structure: uwf_agents::mock::schema,
        page: Some("mock-scripts"),
    },
    FileSchema {
        name: "events",
        about: "events, one line of `uwf thread live --format json`",
        structure: file_schema::events,
        page: None,
    },
];

/// The schema with this name.
pub(crate) fn find(name: &str) -> Option<&'static FileSchema> {
    ALL.iter().find(|schema| schema.name == name)
}

impl FileSchema {
    /// The schema with descriptions.
    pub(crate) fn value(&self) -> Value {
        let mut schema = (self.structure)();
        if let Some(text) = self.page.and_then(topics::text_of) {
            describe(&mut schema, "", &rows(&text));
        }
        schema
    }

    /// The keys with their descriptions, in the order of the page.
    pub(crate) fn keys(&self) -> Vec<(String, String)> {
        let text = self.page.and_then(topics::text_of).unwrap_or_default();
        let structure = (self.structure)();
        let is_key =
            |path: &str| path.split('.').next().is_some_and(|first| structure["properties"].get(first).is_some());
        table(&text).into_iter().filter(|(path, _)| is_key(path)).collect()
    }

    /// The schema as formatted JSON, for a file.
    pub(crate) fn text(&self) -> String {
        format!("{:#}\n", self.value())
    }
}

/// Descriptions in a page's tables, by key path. A part in capitals stands for any name.
fn rows(page: &str) -> BTreeMap<String, String> {
    let any = |path: &str| {
        let parts = path.split('.').map(|part| if is_any(part) { "*" } else { part });
        parts.collect::<Vec<_>>().join(".")
    };
    table(page).into_iter().map(|(path, description)| (any(&path), description)).collect()
}

/// The path and description of each row whose first cell is code.
fn table(page: &str) -> Vec<(String, String)> {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_end_matches('|').trim().to_owned()).collect()
    };
    let row = |line: &str| {
        let cells = cells(line.strip_prefix("| `").map(|_| line)?);
        let path = cells.first()?.strip_prefix('`')?.strip_suffix('`')?;
        let default = cells.get(2).filter(|default| default.starts_with('`'));
        let default = default.map(|default| format!(". Default: {default}")).unwrap_or_default();
        Some((path.to_owned(), format!("{}{default}.", unlinked(cells.get(1)?))))
    };
    page.lines().filter_map(row).collect()
}

fn is_any(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// A text with links replaced by their labels.
fn unlinked(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, (label, after))) =
        rest.split_once('[').and_then(|(before, rest)| Some((before, rest.split_once("](")?)))
    {
        plain.push_str(before);
        plain.push_str(label);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    plain + rest
}

/// Adds descriptions to the keys below `path`.
fn describe(schema: &mut Value, path: &str, rows: &BTreeMap<String, String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    let Some(map) = schema.as_object_mut() else { return };
    if let Some(Value::Object(keys)) = map.get_mut("properties") {
        for (key, value) in keys.iter_mut() {
            describe_key(value, &below(key), rows);
        }
    }
    if let Some(any) = map.get_mut("additionalProperties").filter(|any| any.is_object()) {
        describe_key(any, &below("*"), rows);
    }
    if let Some(items) = map.get_mut("items") {
        describe(items, path, rows);
    }
    for branch in map.get_mut("anyOf").and_then(Value::as_array_mut).into_iter().flatten() {
        describe(branch, path, rows);
    }
}

fn describe_key(schema: &mut Value, path: &str, rows: &BTreeMap<String, String>) {
    describe(schema, path, rows);
    if let Some(description) = rows.get(path) {
        match schema {
            Value::Object(map) => drop(map.insert("description".to_owned(), json!(description))),
            _ => *schema = json!({ "description": description }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Collects the paths of all keys in files, except keys of output schemas, which are JSON Schema.
    fn keys(schema: &Value, path: &str, found: &mut BTreeMap<String, bool>) {
        let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        for (key, value) in schema["properties"].as_object().into_iter().flatten() {
            *found.entry(below(key)).or_default() |= value["description"].is_string();
            keys(value, &below(key), found);
        }
        keys_of_any(&schema["additionalProperties"], &below("*"), found);
        if schema["items"].is_object() {
            keys(&schema["items"], path, found);
        }
        for branch in schema["anyOf"].as_array().into_iter().flatten() {
            // A branch that only requires a key has no description.
            let is_shape = ["type", "items", "anyOf"].iter().any(|keyword| branch.get(keyword).is_some());
            if is_shape {
                keys(branch, path, found);
            }
        }
    }

    fn keys_of_any(schema: &Value, path: &str, found: &mut BTreeMap<String, bool>) {
        if schema.is_object() {
            if schema["description"].is_string() {
                found.insert(path.to_owned(), true);
            }
            keys(schema, path, found);
        }
    }

    #[test]
    fn keys_and_documented_rows_match() {
        for schema in ALL {
            let Some(page) = schema.page else { continue };
            let mut found = BTreeMap::new();
            keys(&schema.value(), "", &mut found);
            let without: Vec<&String> =
                found.iter().filter(|(_, described)| !**described).map(|(key, _)| key).collect();
            assert_eq!(without, Vec::<&String>::new(), "keys that the page {page} does not describe");
            let rows = rows(&topics::text_of(page).unwrap());
            let of_keys =
                |path: &&String| path.split('.').next().is_some_and(|first| first == "*" || found.contains_key(first));
            let more: Vec<&String> = rows.keys().filter(of_keys).filter(|path| !found.contains_key(*path)).collect();
            assert_eq!(more, Vec::<&String>::new(), "rows of the page {page} that are no keys");
        }
    }

    #[test]
    fn key_description_comes_from_page() {
        let page = "| key | holds | default |\n|---|---|---|\n| `a.NAME.b` | what [x](y.md#z) does; `c` | `5` |\n| `d` | text | none |\n";
        let rows = rows(page);
        assert_eq!(rows["a.*.b"], "what x does; `c`. Default: `5`.");
        assert_eq!(rows["d"], "text.");
    }
}
