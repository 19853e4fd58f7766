//! The JSON Schema of scripts, for editors.

use serde_json::{Value, json};

use super::read::Roles;

/// JSON Schema of a script, without descriptions. It does not check that only the last entry of a role can be repeated.
#[must_use]
pub fn schema() -> Value {
    let mut schema = uwf_core::file_schema::schema_of_file::<Roles>("A script for the agent uwf-mock");
    let entry = &mut schema["additionalProperties"]["items"];
    let acts = ["reply", "garbage", "fail"];
    let does = |act: &str| json!({ "required": [act] });
    let no_act = json!({ "not": { "anyOf": acts.map(does) } });
    let mut one_act: Vec<Value> = acts.map(does).into();
    one_act.push(json!({ "allOf": [does("hang"), no_act] }));
    entry["oneOf"] = one_act.into();
    entry["dependencies"] = json!({
        "exit-code": ["fail"],
        "stderr": ["fail"],
        "feedback": ["garbage"],
        "repeat": { "anyOf": [does("reply"), { "properties": { "repeat": { "const": false } } }] },
    });
    schema
}
