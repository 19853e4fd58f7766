//! Compares a role's `capabilities` with those that its agent describes.
//!
//! Only an agent's own description counts. Built-in agents describe how uwf runs a program, not the abilities of its model. An agent
//! without a description may be able to do anything.

use std::collections::{BTreeMap, BTreeSet};

use uwf_core::config::{AgentDescription, UwfConfig};
use uwf_core::document::{FileProblem, SourceDocument};
use uwf_engine::attempt::self_description;
use uwf_engine::root::home::Home;
use uwf_engine::root::registry;
use uwf_engine::thread::nodes;
use uwf_engine::verbs::doctor::DoctorFinding;

/// A role that needs something its agent does not describe.
#[derive(Debug, PartialEq, Eq)]
struct CapabilityMismatch<'a> {
    role: &'a str,
    /// Position among the role's capabilities.
    index: usize,
    capability: &'a str,
    /// Alias of the agent.
    agent: &'a str,
    /// The agent's capabilities.
    named: &'a [String],
}

impl CapabilityMismatch<'_> {
    fn message(&self) -> String {
        let CapabilityMismatch { role, capability, agent, .. } = self;
        format!("role `{role}` needs the capability `{capability}`, which its agent `{agent}` does not list")
    }

    fn hint(&self, workflow: &str) -> String {
        let CapabilityMismatch { role, agent, named, .. } = self;
        format!(
            "`{agent}` lists {}; choose another agent for the role: uwf config set agentOverrides.{workflow}.{role} \
             AGENT",
            named.join(", ")
        )
    }
}

/// Capabilities of the configured agents, by alias.
pub struct AgentCapabilities(BTreeMap<String, Vec<String>>);

impl AgentCapabilities {
    /// The capabilities in all available descriptions. Runs only programs that may be asked for one.
    pub fn collect(config: &UwfConfig) -> AgentCapabilities {
        let described = self_description::of_all(config, &config.secret_names());
        // The check of the configuration reports why an agent does not answer.
        let named = |(alias, described): (String, Result<AgentDescription, String>)| {
            Some((alias, described.ok()?.capabilities)).filter(|(_, named)| !named.is_empty())
        };
        AgentCapabilities(described.into_iter().filter_map(named).collect())
    }

    fn mismatches<'a>(
        &'a self,
        config: &'a UwfConfig,
        workflow: &str,
        roles: impl Iterator<Item = (&'a str, Vec<&'a str>)>,
    ) -> Vec<CapabilityMismatch<'a>> {
        let mut found = Vec::new();
        for (role, capabilities) in roles {
            let Some((agent, named)) =
                config.agent_for(workflow, role).and_then(|agent| Some((agent, self.0.get(agent)?)))
            else {
                continue;
            };
            let can: BTreeSet<String> = named.iter().map(|word| plain(word)).collect();
            let missing = capabilities.into_iter().enumerate().filter(|(_, word)| !can.contains(&plain(word)));
            found.extend(missing.map(|(index, capability)| CapabilityMismatch {
                role,
                index,
                capability,
                agent,
                named,
            }));
        }
        found
    }
}

/// A word, normalised for differences in spelling.
fn plain(word: &str) -> String {
    word.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Warnings for a workflow whose roles need more than their configured agents describe.
pub fn problems(config: &UwfConfig, text: &str, origin: &str) -> Vec<FileProblem> {
    let Ok(document) = SourceDocument::parse(text, origin) else { return Vec::new() };
    let Some(roles) = document.value.get("roles").and_then(|roles| roles.as_object()) else { return Vec::new() };
    let asked: Vec<_> = roles
        .iter()
        .map(|(role, fields)| {
            let words = fields.get("capabilities").and_then(|words| words.as_array()).into_iter().flatten();
            (role.as_str(), words.map(|word| word.as_str().unwrap_or_default()).collect::<Vec<_>>())
        })
        .collect();
    if asked.iter().all(|(_, words)| words.is_empty()) {
        return Vec::new();
    }
    let workflow = document.value.get("name").and_then(|name| name.as_str()).unwrap_or_default();
    let capabilities = AgentCapabilities::collect(config);
    let problem = |mismatch: CapabilityMismatch<'_>| {
        let at = SourceDocument::below(&SourceDocument::below("/roles", mismatch.role), "capabilities");
        let at = format!("{at}/{}", mismatch.index);
        document.warning(&at, "capability", mismatch.message(), Some(mismatch.hint(workflow)))
    };
    capabilities.mismatches(config, workflow, asked.into_iter()).into_iter().map(problem).collect()
}

/// The same for every named workflow: one check `capabilities:WORKFLOW` for each mismatch.
pub fn findings(home: &Home, config: &UwfConfig) -> Vec<DoctorFinding> {
    let capabilities = AgentCapabilities::collect(config);
    // Other checks report unreadable names and workflows.
    let names = registry::read(home).unwrap_or_default();
    let mut findings = Vec::new();
    for (name, entry) in &names {
        let Ok(workflow) = nodes::workflow(home.store(), entry.hash) else { continue };
        let roles = workflow
            .roles
            .iter()
            .map(|(name, role)| (name.as_str(), role.capabilities.iter().map(String::as_str).collect()));
        for mismatch in capabilities.mismatches(config, name, roles) {
            let finding = DoctorFinding::warn(format!("capabilities:{name}"), mismatch.message());
            findings.push(finding.hint(mismatch.hint(name)));
        }
    }
    findings
}
