//! Descriptions of the built-in agents.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::settings::{self, AgentConfigFault, BuiltInSettings, NoSettings};
use crate::{acp, command, cursor, documents, hermes, llm, mock, react, workflow};

/// Description of an agent.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BuiltInDescription {
    /// Name of the built-in agent.
    pub name: &'static str,
    /// Its version, which is uwf's.
    pub version: &'static str,
    /// Its capabilities, as words that programs can look for.
    pub capabilities: &'static [&'static str],
    /// JSON Schema of `agents.<alias>.config`.
    pub config_schema: Value,
    /// Lists everything in a `config` that it cannot use.
    #[serde(skip)]
    pub(crate) wrong: fn(&Map<String, Value>) -> Vec<AgentConfigFault>,
}

/// Capability of an agent whose program has its own model names.
pub(crate) const OWN_MODELS: &str = "own-models";

/// Describes a built-in agent; `None` for an unknown name.
pub fn describe(name: &str) -> Option<BuiltInDescription> {
    Some(match name {
        "acp" => agent::<acp::settings::AcpSettings>(
            "acp",
            &["session", "feedback", "mcp-submit", "tool-calls", "permissions", "prompt-of-any-size", OWN_MODELS],
        ),
        "command" => agent::<command::CommandAgentSettings>(
            "command",
            &[
                "output-text",
                "output-json",
                "prompt-on-stdin",
                "prompt-as-argument",
                "exit-codes",
                "expect-file",
                "traces",
            ],
        ),
        "cursor" => agent::<cursor::CursorAgentSettings>("cursor", &["session", "feedback", "tool-calls", OWN_MODELS]),
        "docx-diff" => agent::<documents::DocumentAgentSettings>("docx-diff", &["docx-diff-cli", "docx-diff-report"]),
        "hermes" => agent::<hermes::installed::HermesSettings>(
            "hermes",
            &["session", "feedback", "mcp-submit", "tool-calls", "prompt-of-any-size", OWN_MODELS],
        ),
        // `uwf thread answer` takes the person's answer.
        "human" => agent::<NoSettings>("human", &["waits-for-a-person", "offline"]),
        "llm" => agent::<llm::LlmAgentSettings>("llm", &["structured-output", "feedback", "trace", "tokens"]),
        "mock" => agent::<mock::MockAgentSettings>("mock", &["scripted", "offline"]),
        "office" => {
            agent::<documents::DocumentAgentSettings>("office", &["office-agent-cli", "docx-generate", "docx-edit"])
        }
        "react" => agent::<react::ReactAgentSettings>(
            "react",
            &["tools", "read-files", "edit-files", "run-commands", "submit", "feedback", "trace", "tokens"],
        ),
        "workflow" => agent::<workflow::WorkflowAgentSettings>("workflow", &["child-thread", "resumes", "output-step"]),
        _ => return None,
    })
}

fn agent<S: BuiltInSettings>(name: &'static str, capabilities: &'static [&'static str]) -> BuiltInDescription {
    let version = env!("CARGO_PKG_VERSION");
    BuiltInDescription {
        name,
        version,
        capabilities,
        config_schema: settings::schema::<S>(),
        wrong: settings::wrong::<S>,
    }
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
            assert!(json_cas::CompiledSchema::compile(&schema).is_ok(), "{name}: {schema}");
        }
    }
}
