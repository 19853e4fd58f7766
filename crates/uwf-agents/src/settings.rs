//! The parser of `agents.<alias>.config` for built-in agents. Each agent has a struct of settings and, with it, their description, which
//! `uwf agent describe` shows. Both are checked only here, so that `uwf config validate` reports the same problems as a step.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use agent_kit::{AgentContext, Error, Result};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use uwf_core::document::SourceDocument;
use uwf_core::document::parse_duration;
use uwf_core::file_schema;
use uwf_engine::attempt::agents::AgentSpec;
use uwf_engine::root::home::Home;
use uwf_engine::root::project;

/// The possible `config` of a built-in agent. No setting is required: every field has a default. The doc comment of a field is its
/// published description.
pub(crate) trait BuiltInSettings: DeserializeOwned + JsonSchema {
    /// Whether other keys are allowed, for a program that the agent runs.
    const OPEN: bool = false;
}

/// The settings of an agent that has none.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct NoSettings {}

impl BuiltInSettings for NoSettings {}

/// An unusable part of a `config`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentConfigFault {
    /// Its place: a JSON pointer, starting at `config`.
    pub(crate) pointer: String,
    /// Its name: `config`, or one of its keys such as `config.maxTurns`.
    pub(crate) what: String,
    /// Why it is unusable, and what is usable.
    pub(crate) why: String,
}

/// JSON Schema of `config`.
pub(crate) fn schema<S: BuiltInSettings>() -> Value {
    let others = if S::OPEN {
        json!({ "description": "Settings of the program itself, which can read them with `uwf agent context`." })
    } else {
        json!(false)
    };
    let mut keys = file_schema::schema_of_file::<S>("")["properties"].take();
    keys.as_object_mut().into_iter().flatten().for_each(|(_, key)| describe(key));
    json!({ "type": "object", "properties": keys.as_object().cloned().unwrap_or_default(), "additionalProperties": others })
}

/// Simplifies the schema of a key for readers: lists words, describes the default and times in words, and omits null, which means the same
/// as a missing key.
fn describe(key: &mut Value) {
    let mut description = key["description"].as_str().unwrap_or_default().replace('\n', " ");
    let default = key["default"].take();
    if let Some(shape) = key["anyOf"].as_array().and_then(|shapes| shapes.iter().find(|shape| shape["type"] != "null"))
    {
        *key = shape.clone();
    }
    let Some(map) = key.as_object_mut() else { return };
    map.remove("default");
    if let Some(Value::Array(words)) = map.remove("oneOf") {
        map.insert("enum".to_owned(), words.iter().map(|word| word["const"].clone()).collect());
    }
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            map.insert("type".to_owned(), only);
        }
    }
    let default = match default {
        Value::String(word) => Some(format!("`{word}`")),
        Value::Bool(_) | Value::Number(_) => Some(default.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    if let Some(default) = default {
        description = format!("{}; {default} by default.", description.trim_end_matches('.'));
    }
    if is_time_limit(key) {
        description += " Seconds as a number, or 500ms, 90s, 15m, 2h; 0 means no limit.";
    }
    key["description"] = description.into();
}

/// The settings of an agent.
pub(crate) fn read<S: BuiltInSettings>(spec: &AgentSpec) -> Result<S> {
    check(spec, wrong::<S>)?;
    S::deserialize(Value::Object(given(&spec.config)))
        .map_err(|error| refused(spec, format!("`config` of agent `{}`: {error}", spec.name)))
}

/// Checks the settings of an agent with its function that finds everything unusable.
pub(crate) fn check(spec: &AgentSpec, wrong: fn(&Map<String, Value>) -> Vec<AgentConfigFault>) -> Result<()> {
    let wrong = wrong(&spec.config);
    let listed: Vec<String> = wrong
        .iter()
        .map(|AgentConfigFault { what, why, .. }| format!("`{what}` of agent `{}`: {why}", spec.name))
        .collect();
    if listed.is_empty() { Ok(()) } else { Err(refused(spec, listed.join("; "))) }
}

fn refused(spec: &AgentSpec, why: String) -> Error {
    Error::config(why)
        .hint(format!("`uwf agent describe {}` lists the settings it has", spec.built_in().unwrap_or(&spec.name)))
}

/// Everything in a `config` that the agent cannot use.
pub(crate) fn wrong<S: BuiltInSettings>(config: &Map<String, Value>) -> Vec<AgentConfigFault> {
    let given = given(config);
    // Most agents have no settings, and compiling a schema takes a quarter of the CPU time of a step's agent process.
    if given.is_empty() {
        return Vec::new();
    }
    match json_cas::CompiledSchema::compile(&schema::<S>()) {
        Ok(schema) => given.iter().flat_map(|(key, value)| wrong_in::<S>(&schema, key, value)).collect(),
        Err(error) => {
            vec![AgentConfigFault { pointer: String::new(), what: "config".to_owned(), why: error.to_string() }]
        }
    }
}

/// Problems with one key: first by the description, which explains them best, then by the struct. Each key is tried alone, because serde
/// does not report which one failed.
fn wrong_in<S: BuiltInSettings>(schema: &json_cas::CompiledSchema, key: &str, value: &Value) -> Vec<AgentConfigFault> {
    let alone = Value::Object(Map::from_iter([(key.to_owned(), value.clone())]));
    let found = schema.violations(&alone);
    if found.is_empty() {
        let refused = S::deserialize(alone).err();
        return refused
            .into_iter()
            .map(|error| AgentConfigFault::at_pointer(&SourceDocument::below("", key), error.to_string()))
            .collect();
    }
    let is_unknown = |path: &str| path.is_empty();
    found
        .into_iter()
        .map(|violation| match is_unknown(&violation.path) {
            true => AgentConfigFault {
                pointer: SourceDocument::below("", key),
                what: "config".to_owned(),
                why: violation.message,
            },
            false => AgentConfigFault::at_pointer(&violation.path, violation.message),
        })
        .collect()
}

impl AgentConfigFault {
    fn at_pointer(pointer: &str, why: String) -> AgentConfigFault {
        AgentConfigFault { pointer: pointer.to_owned(), what: format!("config{}", pointer.replace('/', ".")), why }
    }
}

/// The given settings. A key without a value counts as missing.
fn given(config: &Map<String, Value>) -> Map<String, Value> {
    config.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The name of a model in an agent's program: the name behind an alias of `models`, otherwise the word itself, which the program may know.
///
/// # Errors
/// `Config` if `config.yaml` cannot be read.
pub(crate) fn model_name(context: &AgentContext<'_>, model: Option<&String>) -> Result<Option<String>> {
    let Some(model) = model else { return Ok(None) };
    let config = project::config_here(context.thread().home())?;
    Ok(Some(config.models.get(model).map_or_else(|| model.clone(), |known| known.name.clone())))
}

/// A directory in the settings: `~/` is the user's home; any other path is relative to the storage root.
pub(crate) fn directory(home: &Home, written: &str) -> PathBuf {
    match (written.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(user)) => user.join(rest),
        _ => home.root().join(written),
    }
}

/// A time limit as users write it: seconds as a number, or `500ms`, `90s`, `15m`, `2h`; 0 means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TimeLimit(pub(crate) Option<Duration>);

impl JsonSchema for TimeLimit {
    fn schema_name() -> Cow<'static, str> {
        "TimeLimit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number"] })
    }
}

/// Whether a setting's schema describes a time limit.
pub(crate) fn is_time_limit(schema: &Value) -> bool {
    schema["type"] == json!(["string", "number"])
}

impl<'de> Deserialize<'de> for TimeLimit {
    fn deserialize<D: serde::Deserializer<'de>>(source: D) -> std::result::Result<TimeLimit, D::Error> {
        let written = match Value::deserialize(source)? {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let limit = parse_duration(&written).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "`{written}` is not a duration; write seconds as a number, or 500ms, 90s, 15m, 2h"
            ))
        })?;
        Ok(TimeLimit(Some(limit).filter(|limit| !limit.is_zero())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Default, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase", default)]
    struct Sample {
        #[schemars(range(min = 1, max = 10))]
        max_rounds: Option<u32>,
        /// Limit.
        timeout: TimeLimit,
        how: Option<Way>,
        again: bool,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Way {
        /// In little time.
        Fast,
        /// With care.
        Well,
    }

    #[test]
    fn a_struct_describes_its_settings() {
        let described = schema::<Sample>();
        assert_eq!(
            described["properties"],
            json!({
                "maxRounds": { "type": "integer", "minimum": 1, "maximum": 10, "description": "" },
                "timeout": {
                    "type": ["string", "number"],
                    "description": "Limit. Seconds as a number, or 500ms, 90s, 15m, 2h; 0 means no limit.",
                },
                "how": { "enum": ["fast", "well"], "description": "" },
                "again": { "type": "boolean", "description": "; false by default." },
            })
        );
    }

    impl BuiltInSettings for Sample {}

    fn wrong_keys(config: Value) -> Vec<String> {
        let wrong = wrong::<Sample>(config.as_object().unwrap());
        wrong.into_iter().map(|wrong| format!("{} {}: {}", wrong.pointer, wrong.what, wrong.why)).collect()
    }

    #[test]
    fn unusable_keys_are_reported_by_name() {
        assert_eq!(wrong_keys(json!({ "maxRounds": 10, "timeout": "90s", "how": "well" })), [""; 0]);
        assert_eq!(wrong_keys(json!({ "maxRounds": null })), [""; 0], "a key without a value is none");
        assert_eq!(
            wrong_keys(json!({ "maxRounds": 11, "timeout": "soon", "how": "slowly", "maxRound": 1, "colour": "red" })),
            [
                "/maxRounds config.maxRounds: expected 10 or less, found 11",
                "/timeout config.timeout: `soon` is not a duration; write seconds as a number, or 500ms, 90s, 15m, 2h",
                "/how config.how: expected \"fast\" or \"well\", found \"slowly\"",
                "/maxRound config: unknown key `maxRound`; did you mean `maxRounds`?",
                "/colour config: unknown key `colour`; allowed are `maxRounds`, `timeout`, `how` and `again`",
            ]
        );
    }

    #[test]
    fn times_are_read_as_everywhere_in_the_configuration() {
        let read = |written: Value| TimeLimit::deserialize(written).ok();
        let limit = |millis: u64| Some(TimeLimit(Some(Duration::from_millis(millis))));
        assert_eq!(read(json!("90s")), limit(90_000));
        assert_eq!(read(json!(0.5)), limit(500));
        assert_eq!(read(json!(2)), limit(2_000));
        assert_eq!(read(json!(0)), Some(TimeLimit(None)));
        assert_eq!((read(json!("soon")), read(json!(-1)), read(json!(true))), (None, None, None));
    }
}
