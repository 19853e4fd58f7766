//! The schema of events.

use serde_json::{Value, json};

use super::file;
use crate::event::VERSION;

/// The hash of a node.
const HASH: &str = "^[0-9A-F][0-9A-HJKMNP-TV-Z]{12}$";

/// Description of the field `denied`.
const DENIED_CALLS: &str = "Tool calls that were denied to the agent, like `Bash(cargo test)`.";

/// JSON Schema of one event. Further events and fields are allowed: readers ignore them.
#[must_use]
pub fn events() -> Value {
    let known = known();
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let of_event = |(name, schema): (&str, Value)| json!({ "if": { "properties": { "event": { "const": name } } }, "then": schema });
    let mut schema = file(
        "An event of a thread, one line of `uwf thread live --format json`",
        with(
            fields(&[
                ("v", json!({ "const": VERSION }), "Version of the format."),
                ("thread", json!({ "type": "string", "pattern": "^[0-9A-HJKMNP-TV-Z]{26}$" }), "Id of the thread."),
                ("depth", count(), "0 for the watched thread, 1 for its child threads, and so on."),
                ("at", count(), "Unix milliseconds at which it happened, or was seen."),
                ("event", json!({ "type": "string", "examples": names }), "What happened."),
            ]),
            &[
                ("branch", text(), "Path of the branch that the thread is, `GROUP.BRANCH`, if it is one."),
                ("within", text(), "Path of the branch above the thread, if a workflow plays the branch."),
            ],
        ),
    );
    schema["allOf"] = known.into_iter().map(of_event).collect();
    schema
}

/// The events of this version, with the schema of their fields.
fn known() -> [(&'static str, Value); 8] {
    let attempt = ("attempt", text(), "Id of the attempt.");
    let role = ("role", text(), "The role.");
    let agent = ("agent", text(), "Configured command of the agent, or the whole command line it was given as.");
    let alias = ("alias", text(), "Alias of the agent in the configuration, if it has one.");
    [
        ("thread", fields(&[("workflow", text(), "Name of its workflow."), ("prompt", text(), "Its task.")])),
        (
            "attempt",
            with(
                fields(&[attempt.clone(), role.clone(), agent.clone()]),
                &[alias.clone(), ("pid", count(), "Process of the agent, on the machine that runs it.")],
            ),
        ),
        (
            "turn",
            with(
                fields(&[
                    attempt.clone(),
                    ("turn", json!({ "type": "integer", "minimum": 1 }), "Position of the turn in the attempt."),
                    ("text", text(), "Text of the agent."),
                    ("toolCalls", json!({ "type": "array", "items": tool_call() }), "Tools it called."),
                    ("done", json!({ "type": "boolean" }), "Whether the turn is over."),
                ]),
                &[("tokens", tokens(), "Tokens of the turn, if they were counted.")],
            ),
        ),
        (
            "output",
            fields(&[
                attempt.clone(),
                ("stream", json!({ "enum": ["stdout", "stderr"] }), "Where it was printed to."),
                ("text", text(), "New output, without the output of earlier events."),
            ]),
        ),
        (
            "failed",
            with(
                fields(&[attempt, role.clone(), ("error", text(), "Why it failed.")]),
                &[
                    ("node", hash(), "Node with the record of the agent's work."),
                    ("denied", denied_calls(), DENIED_CALLS),
                ],
            ),
        ),
        ("step", step(role, agent, alias)),
        (
            "state",
            with(
                fields(&[("state", text(), "The state, as `thread list` has it.")]),
                &[
                    ("why", text(), "Why, if there is a reason."),
                    (
                        "until",
                        count(),
                        "For a thread at the usage limit of an agent: when the limit ends, in Unix milliseconds.",
                    ),
                ],
            ),
        ),
        (
            "end",
            with(
                fields(&[("status", json!({ "enum": ["completed", "killed"] }), "How it ended.")]),
                &[
                    ("reason", text(), "Why, if there is a reason."),
                    (
                        "outcome",
                        text(),
                        "The outcome: `succeeded`, another word of the workflow, `no-match`, `stopped` or `killed`.",
                    ),
                    ("condition", text(), "Name of the condition of the last transition."),
                ],
            ),
        ),
    ]
}

fn step(role: Field, agent: Field, alias: Field) -> Value {
    with(
        fields(&[
            ("index", json!({ "type": "integer", "minimum": 1 }), "Position of the step in the thread."),
            ("hash", hash(), "The StepNode."),
            role,
            ("output", json!(true), "Its output, valid under the role's schema; null when it is not readable."),
            ("text", json!({ "type": ["string", "null"] }), "Text of the agent beside its output."),
            agent,
            ("detail", hash(), "Node with the record of how the output was made."),
            ("timestamp", count(), "Unix milliseconds the StepNode was first put at."),
        ]),
        &[alias, ("extractedBy", text(), "How the output was obtained."), ("denied", denied_calls(), DENIED_CALLS)],
    )
}

fn denied_calls() -> Value {
    json!({ "type": "array", "items": text() })
}

fn tool_call() -> Value {
    fields(&[
        ("name", text(), "The tool."),
        ("arguments", text(), "Its arguments as the model wrote them."),
        ("result", text(), "Result of the tool; empty while it runs."),
        ("durationMs", count(), "Milliseconds it took."),
    ])
}

fn tokens() -> Value {
    let known = json!({ "type": ["integer", "null"], "minimum": 0 });
    with(
        json!({ "type": "object", "properties": {} }),
        &[
            ("input", known.clone(), "Tokens read."),
            ("output", known.clone(), "Tokens written."),
            ("cached", known.clone(), "Part of `input` that came from a cache."),
            ("cacheWrite", known.clone(), "Part of `input` that was written to a cache."),
            ("reasoning", known, "Part of `output` spent on reasoning."),
            ("cost", json!({ "type": ["number", "null"] }), "US dollars as the provider reported them."),
        ],
    )
}

/// Name, schema and description.
type Field = (&'static str, Value, &'static str);

/// An object with these fields.
fn fields(required: &[Field]) -> Value {
    let names: Vec<&str> = required.iter().map(|(name, ..)| *name).collect();
    with(json!({ "type": "object", "properties": {}, "required": names }), required)
}

/// The schema with additional fields.
fn with(mut schema: Value, more: &[Field]) -> Value {
    for (name, field, description) in more {
        let mut described = if field.is_object() { field.clone() } else { json!({}) };
        described["description"] = json!(description);
        schema["properties"][name] = described;
    }
    schema
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn hash() -> Value {
    json!({ "type": "string", "pattern": HASH })
}
