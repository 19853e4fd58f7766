//! What the built-in agents say of themselves.

use serde::Serialize;
use serde_json::{Value, json};

use crate::model;
use crate::react;

/// What an agent is and takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// Name of the built-in agent.
    pub name: &'static str,
    /// Its version, that of uwf.
    pub version: &'static str,
    /// What it can do, in words that programs may look for.
    pub capabilities: &'static [&'static str],
    /// JSON Schema of `agents.<alias>.config`.
    pub config_schema: Value,
}

/// Capability of an agent whose program knows models by names of its own.
pub const OWN_MODELS: &str = "own-models";

/// Describes a built-in agent; `None` for an unknown name.
pub fn describe(name: &str) -> Option<Description> {
    let version = env!("CARGO_PKG_VERSION");
    match name {
        "acp" => Some(Description {
            name: "acp",
            version,
            capabilities: &[
                "session",
                "feedback",
                "mcp-submit",
                "tool-calls",
                "permissions",
                "prompt-of-any-size",
                OWN_MODELS,
            ],
            config_schema: crate::acp::settings::config_schema(),
        }),
        "command" => Some(Description {
            name: "command",
            version,
            capabilities: &[
                "output-text",
                "output-json",
                "prompt-on-stdin",
                "prompt-as-argument",
                "exit-codes",
                "expect-file",
                "traces",
            ],
            config_schema: json!({
                "type": "object",
                "description": "The program it runs can ask for all of it with `uwf agent context`.",
                "properties": {
                    "trace": {
                        "enum": crate::trace::Format::ALL.map(crate::trace::Format::as_str),
                        "description": "The program's stdout is a trace in this format, and its answer the final message in it.",
                    },
                    "mcp": {
                        "type": "boolean",
                        "description": "The program has been given the server `uwf agent mcp` in its own configuration, so the prompt speaks of the tool `submit`; false by default.",
                    },
                },
            }),
        }),
        "cursor" => Some(Description {
            name: "cursor",
            version,
            capabilities: &["session", "feedback", "tool-calls", OWN_MODELS],
            config_schema: json!({
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "command": { "type": "string", "description": "The program; `cursor-agent` by default." },
                    "model": { "type": "string", "description": "Name of the model, in place of the agent's `model`." },
                    "workspace": { "type": "string", "description": "Directory it works in, relative to the thread's; `context` finds it in what was said before. That of the thread by default." },
                    "outputFormat": { "enum": ["stream-json", "text"], "description": "What it prints; `stream-json` by default, which tells turns and tool calls." },
                    "resume": { "type": "boolean", "description": "Whether feedback on an unreadable answer goes to the same chat; true by default." },
                },
            }),
        }),
        "docx-diff" => Some(Description {
            name: "docx-diff",
            version,
            capabilities: &["documents"],
            config_schema: document_settings("docx-diff"),
        }),
        "hermes" => Some(Description {
            name: "hermes",
            version,
            capabilities: &["session", "feedback", "mcp-submit", "tool-calls", "prompt-of-any-size", OWN_MODELS],
            config_schema: json!({
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "command": { "type": "string", "description": "The program; `hermes` by default." },
                    "maxTurns": { "type": "integer", "minimum": 1, "description": "Tool-calling rounds of one answer; 90 by default." },
                    "model": { "type": "string", "description": "Name of the model, in place of the agent's `model`." },
                    "home": { "type": "string", "description": "HERMES_HOME: its configuration and sessions. `~/` is your home directory, other paths are relative to the storage root. By default that of the environment, else ~/.hermes." },
                    "resume": { "type": "boolean", "description": "Whether feedback on an unreadable answer goes to the same session; true by default." },
                    "mcp": { "type": "boolean", "description": "Whether it is given the tool `submit`, by a configuration of the attempt that is laid over yours; false by default." },
                },
            }),
        }),
        "human" => Some(Description {
            name: "human",
            version,
            capabilities: &["waits-for-a-person", "offline"],
            config_schema: json!({
                "type": "object",
                "description": "A person needs no settings; `uwf thread answer` takes the answer.",
                "additionalProperties": false,
            }),
        }),
        "llm" => Some(Description {
            name: "llm",
            version,
            capabilities: &["structured-output", "feedback", "trace", "tokens"],
            config_schema: model_settings(json!({
                "structured": {
                    "type": "string",
                    "enum": ["auto", "tool", "tool_auto", "json_schema", "json_object", "text"],
                    "description": "how the output is asked for; auto (the default): as a value in the best way the model has, or as text under a header when the role's schema has no place for prose",
                },
                "system": { "type": "string", "description": "what the model is told before the prompt" },
            })),
        }),
        "mock" => Some(Description {
            name: "mock",
            version,
            capabilities: &["scripted", "offline"],
            config_schema: json!({
                "type": "object",
                "properties": {
                    "script": {
                        "type": "string",
                        "description": "YAML file with the answers per role and visit; relative to the storage root. UWF_MOCK_SCRIPT does the same.",
                    },
                },
            }),
        }),
        "office" => Some(Description {
            name: "office",
            version,
            capabilities: &["documents"],
            config_schema: document_settings("office-agent"),
        }),
        "react" => Some(Description {
            name: "react",
            version,
            capabilities: &[
                "tools",
                "read-files",
                "edit-files",
                "run-commands",
                "submit",
                "feedback",
                "trace",
                "tokens",
            ],
            config_schema: model_settings(json!({
                "maxRounds": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": react::MAX_ROUNDS,
                    "description": "requests to the model in one step; 50 by default",
                },
            })),
        }),
        "workflow" => Some(Description {
            name: "workflow",
            version,
            capabilities: &["child-thread", "resumes", "output-step"],
            config_schema: json!({
                "type": "object",
                "properties": {
                    "workflow": {
                        "type": "string",
                        "description": "The workflow that plays the role: path, name or hash. The agent's first argument does the same.",
                    },
                    "agents": {
                        "type": "object",
                        "additionalProperties": { "type": "string" },
                        "description": "Role of that workflow → agent, for its child threads. For all others agentOverrides and defaultAgent hold.",
                    },
                    "maxSteps": {
                        "type": "integer",
                        "minimum": 1,
                        "description": "Most steps a child thread may have; `maxSteps` of the configuration by default.",
                    },
                },
                "additionalProperties": false,
            }),
        }),
        _ => None,
    }
}

/// Settings of an agent that talks to a model itself: its own, and those they all have.
fn model_settings(own: Value) -> Value {
    let mut schema = json!({ "type": "object", "additionalProperties": false });
    let mut properties = own;
    if let (Some(all), Value::Object(common)) = (properties.as_object_mut(), model::settings_schema()) {
        all.extend(common);
    }
    schema["properties"] = properties;
    schema
}

/// The settings of an agent for documents that runs `program` by default.
fn document_settings(program: &str) -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "outputDir": { "type": "string", "description": "Where documents are put, below it a directory for each thread; `outputs` in the storage root by default." },
            "command": { "type": "string", "description": format!("The program; `{program}` by default. A path is relative to the thread's workspace.") },
            "timeout": { "type": ["string", "number"], "description": "Limit on one run of it: seconds, or 90s, 15m, 2h." },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_agent_describes_itself() {
        let described: Vec<&str> =
            crate::NAMES.iter().filter_map(|name| describe(name)).map(|description| description.name).collect();
        assert_eq!(described, crate::NAMES);
        for name in crate::NAMES {
            let schema = describe(name).unwrap().config_schema;
            assert!(json_cas::Schema::compile(&schema).is_ok(), "{name}: {schema}");
        }
    }
}
