//! The schema of workflow files.

use serde_json::{Value, json};

use super::{file, for_editors, list, mapping, named, not_blank, optional, text};
use crate::config::WorkspaceKind;
use crate::document::{OneOrMany, by_schema};
use crate::usage::LimitKeys;
use crate::workflow::{
    AttemptLimit, BRANCH_KEYS, BranchFiles, BranchMerge, CONDITION_KEYS, CommandShell, MAX_BRANCHES, MAX_NAME,
    ROLE_KEYS, TABLE_KEYS, TRANSITION_KEYS, WORKFLOW_KEYS,
};

/// Characters that a name must not contain: control characters and line ends.
const CONTROLS: &str = r"\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff";

/// JSON Schema of a workflow file, without descriptions.
#[must_use]
pub fn workflow() -> Value {
    let mut roles = named(role());
    roles["propertyNames"] = json!({
        "allOf": [name(r"\$\-"), { "not": { "pattern": "^__([sS][tT][aA][rR][tT]|[eE][nN][dD])__$" } }],
    });
    let mut conditions = named(json!({ "anyOf": [not_blank(), condition()] }));
    conditions["propertyNames"] = name(r"\$");
    let mut input = vec![json!({ "allOf": [{ "$ref": "#/definitions/schema" }, { "type": "object" }] })];
    input.extend(hash());
    let keys = json!({
        "name": { "type": "string", "allOf": [name(r"\-.$"), { "not": { "pattern": r"[/\\]" } }] },
        "description": optional(text()),
        "input": optional(json!({ "anyOf": input })),
        "roles": roles,
        "conditions": optional(conditions),
        "graph": optional(named(optional(list(transition())))),
        "moderator": optional(list(row())),
        "limits": for_editors(by_schema::schema_of_type::<Option<LimitKeys>>()),
        "workspace": for_editors(by_schema::schema_of_type::<Option<WorkspaceKind>>()),
    });
    let mut schema = file("A workflow of uwf", mapping(&WORKFLOW_KEYS, keys, &["name", "roles"]));
    // Exactly one of them; null counts as absent.
    schema["oneOf"] = json!([
        { "required": ["graph"], "properties": { "graph": { "type": "object" }, "moderator": { "type": "null" } } },
        { "required": ["moderator"], "properties": { "moderator": { "type": "array" }, "graph": { "type": "null" } } },
    ]);
    schema["definitions"] = json!({ "schema": output_schema() });
    schema
}

/// A name that must not begin with one of these.
fn name(not_first: &str) -> Value {
    let first = format!(r"[^{not_first}\s{CONTROLS}]");
    let last = format!(r"[^\s{CONTROLS}]");
    json!({ "maxLength": MAX_NAME, "pattern": format!("^{first}([^{CONTROLS}]*{last})?$") })
}

/// The forms of a hash. YAML parsers read a hash of digits alone as a number.
fn hash() -> [Value; 2] {
    let pattern = "^[0-9A-Fa-f][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{12}$";
    [json!({ "type": "string", "pattern": pattern }), json!({ "type": "number", "minimum": 1e12 })]
}

fn role() -> Value {
    let mut forms = vec![json!({ "$ref": "#/definitions/schema" })];
    forms.extend(hash());
    let meta = json!({ "anyOf": forms });
    let limits = for_editors(by_schema::schema_of_type::<Option<LimitKeys>>());
    let branch = json!({ "role": text(), "condition": optional(text()), "mayFail": optional_flag(), "limits": limits });
    let branch = mapping(&BRANCH_KEYS, branch, &["role"]);
    let keys = json!({
        "description": optional(text()),
        "goal": optional(text()),
        "capabilities": optional(list(text())),
        "procedure": optional(text()),
        "output": optional(text()),
        "meta": optional(meta.clone()),
        "with": optional(named(text())),
        "systemPrompt": optional(text()),
        "extractPrompt": optional(text()),
        "outputSchema": optional(meta.clone()),
        "schema": optional(meta),
        "sees": for_editors(by_schema::schema_of_type::<Option<OneOrMany<String>>>()),
        "model": optional(text()),
        "effort": optional(text()),
        "timeout": for_editors(by_schema::schema_of_type::<Option<AttemptLimit>>()),
        "run": optional(not_blank()),
        "shell": for_editors(by_schema::schema_of_type::<Option<CommandShell>>()),
        "env": optional(named(text())),
        "cwd": optional(text()),
        "fails": optional(list(json!({ "type": "integer", "minimum": 0, "maximum": 255 }))),
        "play": optional(json!({ "anyOf": [text(), branch, list(json!({ "anyOf": [text(), branch] }))] })),
        "each": optional(not_blank()),
        "key": optional(not_blank()),
        "copies": optional(json!({ "type": "integer", "minimum": 2, "maximum": MAX_BRANCHES })),
        "pick": optional(not_blank()),
        "max": optional(json!({ "type": "integer", "minimum": 1 })),
        "mayFail": optional_flag(),
        "files": for_editors(by_schema::schema_of_type::<Option<BranchFiles>>()),
        "merge": for_editors(by_schema::schema_of_type::<Option<BranchMerge>>()),
        "resolve": optional(not_blank()),
        "name": optional(text()),
    });
    mapping(&ROLE_KEYS, keys, &[])
}

fn optional_flag() -> Value {
    optional(json!({ "type": "boolean" }))
}

fn condition() -> Value {
    let keys = json!({ "description": optional(text()), "expression": not_blank() });
    mapping(&CONDITION_KEYS, keys, &["expression"])
}

fn transition() -> Value {
    mapping(
        &TRANSITION_KEYS,
        json!({ "role": text(), "condition": optional(text()), "outcome": optional(text()) }),
        &["role"],
    )
}

fn row() -> Value {
    mapping(&TABLE_KEYS, json!({ "from": text(), "to": text(), "when": optional(text()) }), &["from", "to"])
}

/// A JSON Schema of draft 2020-12, limited to the keywords that authors of workflows use.
fn output_schema() -> Value {
    let schema = json!({ "$ref": "#/definitions/schema" });
    let schemas = json!({ "type": "array", "minItems": 1, "items": schema });
    let of_keys = named(schema.clone());
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let size = json!({ "type": "integer", "minimum": 0 });
    let number = json!({ "type": "number" });
    let kind = json!({ "enum": ["array", "boolean", "integer", "null", "number", "object", "string"] });
    json!({
        "type": ["object", "boolean"],
        "properties": {
            "type": { "anyOf": [kind, { "type": "array", "items": kind, "minItems": 1 }] },
            "title": { "type": "string" },
            "description": { "type": "string" },
            "enum": { "type": "array" },
            "const": true,
            "default": true,
            "examples": { "type": "array" },
            "properties": of_keys,
            "required": texts,
            "additionalProperties": schema,
            "patternProperties": of_keys,
            "propertyNames": schema,
            "minProperties": size,
            "maxProperties": size,
            "items": { "anyOf": [schema, schemas] },
            "prefixItems": schemas,
            "contains": schema,
            "minItems": size,
            "maxItems": size,
            "uniqueItems": { "type": "boolean" },
            "minLength": size,
            "maxLength": size,
            "pattern": { "type": "string" },
            "format": { "type": "string" },
            "minimum": number,
            "maximum": number,
            "exclusiveMinimum": number,
            "exclusiveMaximum": number,
            "multipleOf": { "type": "number", "exclusiveMinimum": 0 },
            "allOf": schemas,
            "anyOf": schemas,
            "oneOf": schemas,
            "not": schema,
            "if": schema,
            "then": schema,
            "else": schema,
            "$ref": { "type": "string" },
            "$defs": of_keys,
        },
    })
}
