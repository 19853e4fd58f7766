//! The JSON Schema of scripts, for editors.

use serde_json::{Value, json};

use super::read::{KEYS, LONGEST_HANG};

/// JSON Schema of a script, without descriptions. It does not see that only the last entry of a role can be repeated.
///
/// # Panics
/// When it does not have the keys that are read: one was added in one place only.
#[must_use]
pub fn schema() -> Value {
    let text = json!({ "type": "string" });
    let texts = json!({ "anyOf": [text, { "type": "array", "items": text }] });
    let keys = json!({
        "reply": {},
        "garbage": text,
        "feedback": texts,
        "fail": { "type": "integer", "minimum": 1 },
        "hang": { "type": "number", "minimum": 0, "maximum": LONGEST_HANG },
        "expect-prompt": texts,
        "exit-code": { "type": "integer", "minimum": 1, "maximum": 255 },
        "stderr": text,
        "repeat": { "type": "boolean" },
    });
    assert!(KEYS.iter().all(|key| keys.get(key).is_some()), "a key that is read is not in the schema");
    let acts = ["reply", "garbage", "fail"];
    let does = |act: &str| json!({ "required": [act] });
    let no_act = json!({ "not": { "anyOf": acts.map(does) } });
    let mut one_act: Vec<Value> = acts.map(does).into();
    one_act.push(json!({ "allOf": [does("hang"), no_act] }));
    let entry = json!({
        "type": "object",
        "properties": keys,
        "additionalProperties": false,
        "oneOf": one_act,
        "dependencies": {
            "exit-code": ["fail"],
            "stderr": ["fail"],
            "feedback": ["garbage"],
            "repeat": { "anyOf": [does("reply"), { "properties": { "repeat": { "const": false } } }] },
        },
    });
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A script for the agent uwf-mock",
        "type": "object",
        "additionalProperties": { "type": "array", "items": entry },
    })
}
