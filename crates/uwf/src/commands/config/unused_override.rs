//! Agents in `agentOverrides` that never play their role, because its command or its branches play it, or because the workflow has no such
//! role.

use json_cas::nearest::did_you_mean;
use uwf_core::config::UwfConfig;
use uwf_core::document::{FileProblem, SourceDocument};
use uwf_core::workflow::Role;
use uwf_engine::root::home::Home;
use uwf_engine::root::registry;
use uwf_engine::thread::nodes;

/// A warning for each such agent of a workflow with a name.
pub(super) fn problems(home: &Home, config: &UwfConfig, document: &SourceDocument) -> Vec<FileProblem> {
    if config.agent_overrides.is_empty() {
        return Vec::new();
    }
    // Other checks report unreadable names and workflows.
    let names = registry::read(home).unwrap_or_default();
    let mut problems = Vec::new();
    for (name, roles) in &config.agent_overrides {
        let Some(entry) = names.get(name) else { continue };
        let Ok(workflow) = nodes::workflow(home.store(), entry.hash) else { continue };
        for role in roles.keys() {
            let at = SourceDocument::below(&SourceDocument::below("/agentOverrides", name), role);
            let Some(known) = workflow.roles.get(role) else {
                let message = format!("workflow `{name}` has no role `{role}`");
                let hint = did_you_mean(role, workflow.roles.keys().map(String::as_str));
                let hint =
                    hint.unwrap_or_else(|| format!("remove it: `uwf config unset agentOverrides.{name}.{role}`"));
                problems.push(document.warning(&at, "unknown-role", message, Some(hint)));
                continue;
            };
            let Some(why) = other_player(known) else { continue };
            let message = format!("role `{role}` of workflow `{name}` {why}, so no agent plays it");
            let hint = format!("remove it: `uwf config unset agentOverrides.{name}.{role}`");
            problems.push(document.warning(&at, "unused-agent", message, Some(hint)));
        }
    }
    problems
}

/// The player of a role that no agent plays. Copies take the agents of their group.
fn other_player(role: &Role) -> Option<String> {
    let plays_without_agents = role.more.play.as_ref().is_some_and(|group| group.copies.is_none());
    match &role.more.run {
        Some(run) => Some(format!("is played by its command `{}`", run.command)),
        None => plays_without_agents.then(|| "plays other roles".to_owned()),
    }
}
