//! Agents in spans: name, model, provider.

use json_cas::NodeHash;
use uwf_core::config::UwfConfig;
use uwf_core::node::AgentNode;
use uwf_core::spending::SpendingAgent;

use crate::attempt::agents::BUILT_IN_PREFIX;
use crate::attempt::program;

/// Hosts of providers with a name in OpenTelemetry.
const PROVIDERS: [(&str, &str); 12] = [
    ("api.openai.com", "openai"),
    ("api.anthropic.com", "anthropic"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("openai.azure.com", "azure.ai.openai"),
    ("api.mistral.ai", "mistral_ai"),
    ("api.groq.com", "groq"),
    ("api.deepseek.com", "deepseek"),
    ("api.x.ai", "x_ai"),
    ("api.perplexity.ai", "perplexity"),
    ("api.cohere.com", "cohere"),
    ("api.moonshot.ai", "moonshot_ai"),
];

/// An agent in a span.
#[derive(Clone, Default)]
pub(super) struct SpanAgent {
    pub(super) node: Option<NodeHash>,
    pub(super) name: Option<String>,
    pub(super) version: Option<String>,
    pub(super) model: Option<String>,
    pub(super) provider: String,
}

impl SpanAgent {
    /// The agent of a node.
    pub(super) fn from_node(config: &UwfConfig, hash: NodeHash, agent: AgentNode) -> SpanAgent {
        let alias = SpendingAgent::from_agent(&agent, config).model;
        let model = alias.as_ref().and_then(|alias| config.models.get(alias));
        let provider = model.map(|model| {
            let address = config.providers.get(&model.provider).map_or("", |provider| provider.base_url.as_str());
            well_known(address).unwrap_or(&model.provider).to_owned()
        });
        SpanAgent {
            node: Some(hash),
            provider: provider.unwrap_or_else(|| provider_of_program(&agent.command)),
            model: model.map(|model| model.name.clone()).or(alias),
            name: Some(agent.name),
            version: agent.version,
        }
    }

    /// An agent known only by its command.
    pub(super) fn of_command(command: &str) -> SpanAgent {
        SpanAgent { name: Some(command.to_owned()), provider: provider_of_program(command), ..SpanAgent::default() }
    }

    /// Name of an attempt's span.
    pub(super) fn span_name(&self) -> String {
        ["invoke_agent"].into_iter().chain(self.name.as_deref()).collect::<Vec<_>>().join(" ")
    }
}

/// OpenTelemetry's name for the provider at an address.
fn well_known(address: &str) -> Option<&'static str> {
    let host = address.split_once("://")?.1.split(['/', ':']).next()?;
    let is_of = |known: &str| host == known || host.strip_suffix(known).is_some_and(|rest| rest.ends_with('.'));
    PROVIDERS.iter().find(|(known, _)| is_of(known)).map(|(_, name)| *name)
}

/// The provider of an agent with an unknown model: its program.
fn provider_of_program(command: &str) -> String {
    let name = program::file_name(command);
    name.strip_prefix(BUILT_IN_PREFIX).unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_are_known_by_their_host() {
        for (address, name) in [
            ("https://api.openai.com/v1", Some("openai")),
            ("https://mine.openai.azure.com/openai", Some("azure.ai.openai")),
            ("https://notapi.openai.com/v1", None),
            ("http://localhost:11434/v1", None),
            ("", None),
        ] {
            assert_eq!(well_known(address), name, "{address}");
        }
        assert_eq!(provider_of_program("uwf-hermes"), "hermes");
        assert_eq!(provider_of_program("/usr/bin/codex"), "codex");
    }
}
