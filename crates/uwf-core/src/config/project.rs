//! A project's own configuration, which comes with a repository and may be anybody's.

use std::path::Path;

use serde_json::Value;

use super::agent::Agent;
use super::read::{CONFIG_KEYS, ConfigReader};
use super::{Config, check};
use crate::document::fields::Fields;
use yaml_tree::{Data, Node};

/// Keys of a configuration that a project may not set: they say where secrets are, and where they go.
const OWN_KEYS: [&str; 2] = ["providers", "secrets"];

impl ConfigReader {
    /// The configuration of a person with a project's laid over it.
    pub(super) fn project(&mut self, root: &Node, dir: &Path, user: &Config) -> Config {
        let mut config = user.clone();
        let Some(fields) = Fields::of(root, "the file", &mut self.problems) else { return config };
        self.refuse_secrets(fields);
        fields.warn_unknown(&CONFIG_KEYS, &mut self.problems);
        config.models.extend(self.named(fields, "models", ConfigReader::model));
        let agents = self.named(fields, "agents", ConfigReader::agent);
        config.agents.extend(agents.into_iter().map(|(alias, agent)| (alias, in_project(agent, dir))));
        config.default_agent = self.text(fields, "defaultAgent").or(config.default_agent);
        for (workflow, roles) in self.named(fields, "agentOverrides", ConfigReader::overrides) {
            config.agent_overrides.entry(workflow).or_default().extend(roles);
        }
        config.default_model = self.text(fields, "defaultModel").or(config.default_model);
        config.model_overrides.extend(self.named(fields, "modelOverrides", ConfigReader::alias));
        config.limits = self.limits(fields, &user.limits);
        config.extract = self.extract(fields, user.extract);
        check::references(&config, fields, &mut self.problems);
        check::agents(&config, fields, &mut self.problems);
        check::secret_names(fields, &mut self.problems);
        config
    }

    fn refuse_secrets(&mut self, fields: Fields<'_>) {
        for entry in fields.iter().filter(|entry| OWN_KEYS.contains(&entry.key.as_str())) {
            let message = format!("`{}` is not for a project to say", entry.key);
            let hint = "it belongs into your own config.yaml: it says where secrets are, and where they go".to_owned();
            self.problems.error("not-for-projects", entry.key_at, message, Some(hint));
        }
        let agents = fields.get("agents").into_iter().flat_map(|agents| entries(&agents.value));
        let env = agents.flat_map(|agent| entries(&agent.value)).filter(|entry| entry.key == "env");
        for entry in env {
            let gives = match &entry.value.data {
                Data::Mapping(variables) => variables.iter().any(|variable| variable.value.is_null()),
                Data::Sequence(names) => !names.is_empty(),
                Data::Scalar { .. } => false,
            };
            if gives {
                let message = "a project gives no secrets to agents".to_owned();
                let hint = "declare this agent in your own config.yaml; the project can name it in `agentOverrides`";
                self.problems.error("not-for-projects", entry.key_at, message, Some(hint.to_owned()));
            }
        }
    }
}

fn entries(node: &Node) -> &[yaml_tree::Entry] {
    match &node.data {
        Data::Mapping(entries) => entries,
        Data::Scalar { .. } | Data::Sequence(_) => &[],
    }
}

/// The agent with the paths of its programs, and of the workflow it is, made absolute.
fn in_project(mut agent: Agent, dir: &Path) -> Agent {
    agent.command = in_dir(&agent.command, dir);
    // Of a workflow as an agent the first argument names it.
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
    agent
}

/// A path below a directory; a bare name is looked for elsewhere, and an absolute path stays.
fn in_dir(command: &str, dir: &Path) -> String {
    if !command.contains('/') || command.starts_with(['/', '~']) {
        return command.to_owned();
    }
    dir.join(command.strip_prefix("./").unwrap_or(command)).to_string_lossy().into_owned()
}
