//! A project's own configuration. It comes with a repository, so its author may be unknown.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::agent::AgentConfig;
use crate::document::ProblemCollector;
use crate::document::fields::MappingFields;
use yaml_tree::YamlContent;

/// Keys that a project must not set: they say where secrets are, and where they are sent.
const OWN_KEYS: [&str; 7] = ["providers", "secrets", "notify", "otel", "store", "temporal", "hooks"];

/// Key of `worktree` that a project must not set: the remote gets the files of threads.
const OWN_WORKTREE_KEY: &str = "remote";

/// All whole keys that a project must not set, so that hints don't offer them.
pub(super) const FORBIDDEN_KEYS: [&str; OWN_KEYS.len() + 1] =
    ["providers", "secrets", "notify", "otel", "store", "temporal", "hooks", "worktree.remote"];

/// Rejects everything that says where secrets are, or gives them to agents.
pub(super) fn refuse_secrets(fields: MappingFields<'_>, problems: &mut ProblemCollector) {
    for entry in fields.iter().filter(|entry| OWN_KEYS.contains(&entry.key.as_str())) {
        let message = format!("a project cannot set `{}`", entry.key);
        let hint = "set it in your own config.yaml: it decides where secrets are read and sent".to_owned();
        problems.error("not-for-projects", entry.key_at, message, Some(hint));
    }
    let worktree = fields.get("worktree").into_iter().flat_map(|worktree| worktree.value.entries());
    for entry in worktree.filter(|entry| entry.key == OWN_WORKTREE_KEY) {
        let message = format!("a project cannot set `worktree.{OWN_WORKTREE_KEY}`");
        let hint = "set it in your own config.yaml: it decides where the files of threads are sent".to_owned();
        problems.error("not-for-projects", entry.key_at, message, Some(hint));
    }
    let agents = || fields.get("agents").into_iter().flat_map(|agents| agents.value.entries());
    let sandboxes = agents().flat_map(|agent| agent.value.entries()).filter(|entry| entry.key == "sandbox");
    for entry in sandboxes.flat_map(|sandbox| sandbox.value.entries()).filter(|entry| entry.key == "secrets") {
        let message = "a project cannot give secrets to agents".to_owned();
        let hint = "declare this agent in your own config.yaml: it decides where secrets are sent".to_owned();
        problems.error("not-for-projects", entry.key_at, message, Some(hint));
    }
    let env = agents().flat_map(|agent| agent.value.entries()).filter(|entry| entry.key == "env");
    for entry in env {
        let gives = match &entry.value.data {
            YamlContent::Mapping(variables) => variables.iter().any(|variable| variable.value.is_null()),
            YamlContent::Sequence(names) => !names.is_empty(),
            YamlContent::Scalar { .. } => false,
        };
        if gives {
            let message = "a project cannot give secrets to agents".to_owned();
            let hint = "declare this agent in your own config.yaml; the project can name it in `agentOverrides`";
            problems.error("not-for-projects", entry.key_at, message, Some(hint.to_owned()));
        }
    }
}

/// Gives agents the sandbox that the user's own configuration has for the same alias: a project cannot take it away.
pub(super) fn keep_sandboxes(agents: &mut BTreeMap<String, AgentConfig>, own: &BTreeMap<String, AgentConfig>) {
    for (alias, agent) in agents {
        if let Some(sandbox) = own.get(alias).and_then(|own| own.sandbox.as_ref()) {
            agent.sandbox = Some(sandbox.clone());
        }
    }
}

/// Makes the paths of an agent's program, or of the workflow it runs, absolute.
pub(super) fn make_absolute(agent: &mut AgentConfig, dir: &Path) {
    agent.command = in_dir(&agent.command, dir);
    // For a workflow as an agent, the first argument names it.
    if agent.command.ends_with("uwf-workflow")
        && let Some(workflow) = agent.args.first_mut()
    {
        *workflow = in_dir(workflow, dir);
    }
    for key in ["command", "workflow"] {
        if let Some(Value::String(path)) = agent.config.get_mut(key) {
            *path = in_dir(path, dir);
        }
    }
}

/// A path below a directory. A bare name is left for `PATH`, and an absolute path stays.
fn in_dir(command: &str, dir: &Path) -> String {
    if !command.contains('/') || command.starts_with(['/', '~']) {
        return command.to_owned();
    }
    dir.join(command.strip_prefix("./").unwrap_or(command)).to_string_lossy().into_owned()
}
