//! The schema of config.yaml.

use serde_json::{Value, json};

use super::{
    add, count_to, duration, file, list, mapping, named, not_blank, one_of, optional, switch, text, thread_limits,
};
use crate::config::{
    AGENT_KEYS, CONFIG_KEYS, DESCRIBE_KEYS, EXTRACT_KEYS, Happening, MAX_OUTPUT_CAP, MAX_ROUNDS, MIN_PROMPT_BUDGET,
    MODEL_KEYS, NOTIFY_KEYS, OTEL_KEYS, OutputMode, PRICE_KEYS, PRICES_KEYS, PROVIDER_KEYS, STORE_KEYS, TEMPORAL_KEYS,
    WORKTREE_KEYS, Workspace,
};
use crate::number::MAX_WHOLE;

/// JSON Schema of config.yaml, without descriptions.
#[must_use]
pub fn config() -> Value {
    let mut keys = json!({
        "providers": optional(named(provider())),
        "models": optional(named(mapping(&MODEL_KEYS, json!({ "provider": not_blank(), "name": not_blank() }), &MODEL_KEYS))),
        "agents": optional(named(agent())),
        "defaultAgent": optional(text()),
        "agentOverrides": optional(named(optional(named(optional(text()))))),
        "defaultModel": optional(text()),
        "modelOverrides": optional(named(optional(text()))),
        "workspaces": optional(named(optional(one_of(&Workspace::words())))),
        "secrets": optional(list(variable())),
        "maxDepth": optional(count_to(0, u64::from(u32::MAX))),
        "supervisorInterval": optional(count_to(0, MAX_WHOLE)),
        "promptBudget": optional(count_to(MIN_PROMPT_BUDGET, u64::from(u32::MAX))),
        "outputCap": optional(count_to(1, MAX_OUTPUT_CAP)),
        "killGrace": optional(duration()),
        "extract": optional(mapping(&EXTRACT_KEYS, json!({
            "submit": optional(switch()),
            "frontmatter": optional(switch()),
            "feedback": optional(rounds()),
            "llm": optional(rounds()),
        }), &[])),
        "notify": { "anyOf": [notify(), list(notify()), { "type": "null" }] },
        "prices": optional(prices()),
        "otel": optional(otel()),
        "store": optional(store()),
        "temporal": optional(temporal()),
        "worktree": optional(worktree()),
    });
    add(&mut keys, thread_limits());
    file("config.yaml of uwf", mapping(&CONFIG_KEYS, keys, &[]))
}

fn provider() -> Value {
    let keys = json!({ "baseUrl": not_blank(), "apiKeyEnv": optional(variable()), "kind": optional(text()) });
    mapping(&PROVIDER_KEYS, keys, &["baseUrl"])
}

fn agent() -> Value {
    let keys = json!({
        "command": not_blank(),
        "args": optional(list(json!({ "type": ["string", "number", "boolean", "null"] }))),
        "output": optional(one_of(&OutputMode::ALL.map(OutputMode::as_str))),
        "model": optional(text()),
        "env": { "anyOf": [list(variable()), variables(), { "type": "null" }] },
        "timeout": optional(duration()),
        "idleTimeout": optional(duration()),
        "exitCodes": optional(exit_codes()),
        "expectFile": optional(text()),
        "config": { "type": ["object", "null"] },
        "describe": { "anyOf": [switch(), description(), { "type": "null" }] },
    });
    mapping(&AGENT_KEYS, keys, &["command"])
}

/// The name of an environment variable, and not the key of a provider.
fn variable() -> Value {
    let mut schema = json!({ "type": "string" });
    add(&mut schema, variable_name());
    schema
}

fn variable_name() -> Value {
    let key = json!({ "allOf": [{ "minLength": 20 }, { "pattern": "[a-z]" }, { "pattern": "[0-9]" }] });
    json!({ "pattern": "^[A-Za-z_][A-Za-z0-9_]*$", "not": key })
}

fn variables() -> Value {
    let mut schema = named(json!({ "type": ["string", "number", "boolean", "null"] }));
    schema["propertyNames"] = variable_name();
    schema
}

fn exit_codes() -> Value {
    let mut schema = named(one_of(&["ok", "fail"]));
    schema["propertyNames"] = json!({ "pattern": "^[+]?0*(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[0-9]{1,2})$" });
    schema
}

fn description() -> Value {
    let keys = json!({
        "name": optional(text()),
        "version": optional(text()),
        "capabilities": list(text()),
        "configSchema": true,
    });
    mapping(&DESCRIBE_KEYS, keys, &[])
}

fn rounds() -> Value {
    json!({ "type": ["boolean", "integer"], "minimum": 0, "maximum": MAX_ROUNDS })
}

fn notify() -> Value {
    let happening = one_of(&Happening::ALL.map(Happening::name));
    let keys = json!({
        "on": { "anyOf": [happening.clone(), list(happening), { "type": "null" }] },
        "command": optional(text()),
        "webhook": optional(text()),
        "webhookEnv": optional(text()),
    });
    let mut schema = mapping(&NOTIFY_KEYS, keys, &[]);
    let by = |key: &str| json!({ "required": [key], "properties": { key: { "type": "string" } } });
    schema["oneOf"] = json!(["command", "webhook", "webhookEnv"].map(by));
    schema
}

fn otel() -> Value {
    let headers = |value: Value| {
        let mut schema = named(value);
        schema["propertyNames"] = json!({ "pattern": "^[A-Za-z0-9_.-]+$" });
        optional(schema)
    };
    let keys = json!({
        "endpoint": { "type": "string", "pattern": "^https?://\\S+$" },
        "headers": headers(json!({ "type": "string", "pattern": "^[^\\x00-\\x1f\\x7f-\\x9f]*$" })),
        "headersEnv": headers(variable()),
        "content": optional(switch()),
    });
    mapping(&OTEL_KEYS, keys, &["endpoint"])
}

fn store() -> Value {
    let url = json!({ "type": "string", "pattern": "^(s3|gs|gcs|az|azure|abfss?|postgres|postgresql)://\\S+$" });
    let mut schema = mapping(&STORE_KEYS, json!({ "url": url, "lease": optional(duration()) }), &[]);
    schema["anyOf"] = json!([{ "required": ["url"] }, { "required": ["lease"] }]);
    schema
}

fn temporal() -> Value {
    let keys = json!({ "address": not_blank(), "namespace": optional(text()), "taskQueue": optional(text()) });
    mapping(&TEMPORAL_KEYS, keys, &["address"])
}

fn worktree() -> Value {
    let keys = json!({ "remote": { "type": "string", "pattern": "^[^-\\s]\\S*$" } });
    mapping(&WORKTREE_KEYS, keys, &["remote"])
}

fn prices() -> Value {
    let year = "([0-9]{3}[1-9]|[0-9]{2}[1-9][0-9]|[0-9][1-9][0-9]{2}|[1-9][0-9]{3})";
    let amount = json!({ "type": "number", "minimum": 0 });
    let price = json!({
        "input": amount,
        "output": amount,
        "cached": optional(amount.clone()),
        "reasoning": optional(amount.clone()),
    });
    let keys = json!({
        "date": { "type": "string", "pattern": format!("^{year}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$") },
        "currency": { "type": ["string", "null"], "pattern": "^[A-Z]{3}$" },
        "models": optional(named(mapping(&PRICE_KEYS, price, &["input", "output"]))),
    });
    mapping(&PRICES_KEYS, keys, &["date"])
}
