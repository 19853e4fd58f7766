//! Probes the configured programs for their version and the configured providers for their models.

pub(crate) mod program;
mod provider;

use std::collections::BTreeSet;

use uwf_core::config::UwfConfig;
use uwf_engine::verbs::doctor::DoctorFinding;

/// The value of an environment variable, from the environment or from `.env`.
pub(crate) type Lookup<'l> = &'l (dyn Fn(&str) -> Option<String> + Sync);

/// Findings about every agent, one check `agent:ALIAS` each.
pub fn agents(config: &UwfConfig, secrets: &BTreeSet<String>) -> Vec<DoctorFinding> {
    if config.agents.is_empty() {
        let hint = "`uwf setup` chooses one, or declare them: `uwf help agent-protocol`";
        return vec![DoctorFinding::warn("agents", "config.yaml declares no agents").hint(hint)];
    }
    program::findings(config, secrets)
}

/// Findings about every provider, one check `provider:NAME` each. Each provider is asked for its list of models.
pub fn providers(config: &UwfConfig, lookup: Lookup<'_>) -> Vec<DoctorFinding> {
    std::thread::scope(|scope| {
        let asked: Vec<_> = config
            .providers
            .iter()
            .map(|(name, provider)| scope.spawn(move || provider::finding(config, name, provider, lookup)))
            .collect();
        asked.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

/// Aliases of agents that play some role.
fn used_agents(config: &UwfConfig) -> BTreeSet<&str> {
    let overrides = config.agent_overrides.values().flat_map(|roles| roles.values().flatten());
    overrides.chain(&config.default_agent).map(String::as_str).collect()
}

/// Names of providers that some call uses.
fn used_providers(config: &UwfConfig) -> BTreeSet<&str> {
    let agents = config.agents.values().filter_map(|agent| agent.model.as_ref());
    let aliases = config.model_overrides.values().flatten().chain(&config.default_model).chain(agents);
    aliases.filter_map(|alias| config.models.get(alias)).map(|model| model.provider.as_str()).collect()
}
