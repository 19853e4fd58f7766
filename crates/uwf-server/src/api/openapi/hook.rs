//! Describes deliveries of webhooks. They are not below `/api`, and a signature admits them instead of the secret.

use schemars::SchemaGenerator;
use serde_json::{Value, json};
use uwf_engine::verbs::step::StepReport;

use super::{JSON, failure_reference};

/// The path, below the server's own.
pub(super) const PATH: &str = "/hooks/{name}";

/// The statuses with their meanings, which differ from other operations.
const STATUSES: [(&str, &str); 11] = [
    ("200", "The delivery, or an equal one, has answered or started its thread before, is ignored, or is a ping."),
    ("201", "It has started a thread; the header Location says where it is."),
    ("400", "The body or the id of the delivery can't be used."),
    ("401", "The signature is missing, wrong or too old."),
    ("404", "No hook has this name, or the server was started without --hooks."),
    ("409", "The thread of an answer does not wait, or several threads have its label."),
    ("413", "The body is larger than 1 MiB."),
    ("415", "The body is neither JSON nor a form."),
    (
        "422",
        "An expression fails, the input does not fit the workflow, or the workflow can't run. Nothing was started.",
    ),
    ("429", "Too many wrong signatures; the header Retry-After says when to try again."),
    ("503", "The configuration is not valid, or the secret of the hook is not set."),
];

/// The headers with their meanings.
const HEADERS: [(&str, &str); 6] = [
    ("x-hub-signature-256", "With `signature: github`: `sha256=` and the signature of the body."),
    ("x-github-delivery", "The id of the delivery; else `webhook-id`, `idempotency-key` or a digest of the body."),
    ("x-github-event", "The kind of the event."),
    ("webhook-id", "With `signature: standard`: the id of the delivery."),
    ("webhook-timestamp", "With `signature: standard`: Unix seconds, at most five minutes from now."),
    ("webhook-signature", "With `signature: standard`: `v1,` and the signature; spaces separate several."),
];

/// The operations of the path.
pub(super) fn path_item(generator: &mut SchemaGenerator) -> Value {
    let text = json!({ "type": "string" });
    let header = |(name, description): (&str, &str)| json!({ "name": name, "in": "header", "description": description, "schema": text });
    let hook = json!({ "name": "name", "in": "path", "required": true, "description": "Name of the hook in config.yaml.", "schema": text });
    let parameters: Vec<Value> = std::iter::once(hook).chain(HEADERS.map(header)).collect();
    let report = report(generator);
    let responses = STATUSES.map(|(status, meaning)| {
        let schema = if status.starts_with('2') { report.clone() } else { failure_reference() };
        (status.to_owned(), json!({ "description": meaning, "content": { JSON: { "schema": schema } } }))
    });
    let payload = json!({ "type": "string", "description": "The JSON object." });
    let form = json!({ "type": "object", "properties": { "payload": payload }, "required": ["payload"] });
    json!({ "post": {
        "operationId": "post-hooks-name",
        "summary": "Take a delivery of a webhook, if the server was started with --hooks. The path is not below `/api`.",
        "description": "A signature of the delivery replaces the secret of the server.",
        "servers": [{ "url": "/" }],
        "security": [],
        "parameters": parameters,
        "requestBody": { "required": true, "content": {
            JSON: { "schema": { "type": "object", "properties": {} } },
            "application/x-www-form-urlencoded": { "schema": form },
        } },
        "responses": Value::Object(responses.into_iter().collect()),
    } })
}

fn report(generator: &mut SchemaGenerator) -> Value {
    let text = json!({ "type": "string" });
    json!({
        "type": "object",
        "required": ["status", "hook", "delivery"],
        "properties": {
            "status": { "enum": ["started", "already started", "answered", "already answered", "removed", "ignored", "pong"] },
            "hook": text,
            "delivery": { "type": "string", "description": "Its id. Each delivery starts or answers at most one thread." },
            "thread": text,
            "workflow": text,
            "role": text,
            "notes": { "type": "array", "items": text },
            "run": {
                "description": "The report of the first steps, the failure, or null if they are not over yet.",
                "anyOf": [generator.subschema_for::<StepReport>(), failure_reference(), { "type": "null" }],
            },
        },
    })
}
