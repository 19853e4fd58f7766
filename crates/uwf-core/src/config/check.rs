//! What a config refers to must be in it.

use std::collections::{BTreeMap, BTreeSet};

use super::Config;
use super::keys::{is_store_key, is_temporal_key};
use super::secret::{is_variable, looks_like_key};
use crate::document::Problems;
use crate::document::fields::Fields;
use json_cas::nearest::did_you_mean;
use yaml_tree::Position;
use yaml_tree::{Data, Entry, Node};

/// Agents named but not defined are errors: whoever names one means to use it. Models and providers are
/// needed only once one is used, so they get a warning.
pub(super) fn references(config: &Config, fields: Fields<'_>, problems: &mut Problems) {
    let mut agent = |entry: &Entry| {
        if let Some(name) = undefined(&entry.value, &config.agents) {
            let hint = hint(name, config.agents.keys(), "agents", "{command: …}");
            problems.error(
                "unknown-agent",
                entry.value.at,
                format!("there is no agent `{name}` in `agents`"),
                Some(hint),
            );
        }
    };
    fields.get("defaultAgent").into_iter().for_each(&mut agent);
    for workflow in children(fields.get("agentOverrides")) {
        children(Some(workflow)).for_each(&mut agent);
    }
    let mut model = |entry: &Entry| {
        if let Some(name) = undefined(&entry.value, &config.models) {
            let hint = hint(name, config.models.keys(), "models", "{provider: …, name: …}");
            problems.warning(
                "unknown-model",
                entry.value.at,
                format!("there is no model `{name}` in `models`"),
                Some(hint),
            );
        }
    };
    fields.get("defaultModel").into_iter().for_each(&mut model);
    children(fields.get("modelOverrides")).for_each(&mut model);
    for entry in
        children(fields.get("models")).flat_map(|model| children(Some(model))).filter(|entry| entry.key == "provider")
    {
        if let Some(name) = undefined(&entry.value, &config.providers) {
            let hint = hint(name, config.providers.keys(), "providers", "{baseUrl: …}");
            let message = format!("there is no provider `{name}` in `providers`");
            problems.warning("unknown-provider", entry.value.at, message, Some(hint));
        }
    }
}

/// The keys below an entry; none if it is missing or not a mapping.
fn children(entry: Option<&Entry>) -> std::slice::Iter<'_, Entry> {
    entry.map_or(&[][..], |entry| entry.value.entries()).iter()
}

fn undefined<'n, T>(node: &'n Node, defined: &BTreeMap<String, T>) -> Option<&'n str> {
    node.as_text().filter(|name| !defined.contains_key(*name))
}

fn hint<'n>(name: &str, defined: impl Iterator<Item = &'n String>, section: &str, form: &str) -> String {
    let near = did_you_mean(name, defined.map(String::as_str));
    near.unwrap_or_else(|| format!("add `{name}: {form}` to `{section}`"))
}

/// Warns about slips that are not errors by themselves: arguments written into `command`, and a secret given to an agent
/// that no other part of the config calls a secret.
pub(super) fn agents(config: &Config, fields: Fields<'_>, problems: &mut Problems) {
    let secrets = config.secret_names();
    for agent in children(fields.get("agents")) {
        for entry in children(Some(agent)) {
            match (entry.key.as_str(), &entry.value.data) {
                ("command", Data::Scalar { text, .. }) if is_command_line(text) => {
                    let message = format!("`{text}` is taken for the name of one program");
                    let hint = "put arguments into `args`".to_owned();
                    problems.warning("command-line", entry.value.at, message, Some(hint));
                }
                ("env", Data::Sequence(items)) => {
                    let names = items.iter().filter_map(|item| Some((item.as_text()?, item.at)));
                    names.for_each(|(name, at)| given(name, at, &secrets, problems));
                }
                ("env", Data::Mapping(variables)) => {
                    for variable in variables {
                        match variable.value.as_raw() {
                            _ if variable.value.is_null() => {
                                given(&variable.key, variable.key_at, &secrets, problems);
                            }
                            Some(value) => set(variable, value, &secrets, problems),
                            None => {}
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

/// Whether a command has white space that is not part of a path.
fn is_command_line(command: &str) -> bool {
    command.trim().split_once(char::is_whitespace).is_some_and(|(program, _)| !program.contains(['/', '\\']))
}

/// A variable that is set: the value of a secret does not stand in a config.
fn set(variable: &Entry, value: &str, secrets: &BTreeSet<String>, problems: &mut Problems) {
    let name = &variable.key;
    if secrets.contains(name) || looks_like_key(value) {
        let message = format!("the value of `{name}` stands here, and it is a secret or looks like one");
        let hint = format!("put it into `.env`, and write `{name}: null` here, which passes it on");
        problems.error("secret-in-config", variable.value.at, message, Some(hint));
    }
}

fn given(name: &str, at: Position, secrets: &BTreeSet<String>, problems: &mut Problems) {
    // Keys of a shared store and of Temporal are kept from agents without being among the secrets.
    if !is_variable(name) || secrets.contains(name) || is_store_key(name) || is_temporal_key(name) {
        return;
    }
    let near = did_you_mean(name, secrets.iter().map(String::as_str));
    let hint =
        near.unwrap_or_else(|| "variables that are not in `secrets` or an `apiKeyEnv` are inherited anyway".to_owned());
    problems.warning("unknown-secret", at, format!("`{name}` is not among the secrets of this config"), Some(hint));
}

/// Places that hold the name of an environment variable must not hold its value: a config is shown, copied
/// and committed. The message does not repeat what stands there.
pub(super) fn secret_names(fields: Fields<'_>, problems: &mut Problems) {
    let keys = children(fields.get("providers")).flat_map(|provider| children(Some(provider)));
    for entry in keys.filter(|entry| entry.key == "apiKeyEnv") {
        check_name(&entry.value, "apiKeyEnv", problems);
    }
    let env = children(fields.get("agents")).flat_map(|agent| children(Some(agent))).filter(|entry| entry.key == "env");
    for entry in env.chain(fields.get("secrets")) {
        match &entry.value.data {
            Data::Sequence(items) => items.iter().for_each(|item| check_name(item, &entry.key, problems)),
            Data::Mapping(variables) => {
                let keys = variables.iter().map(|variable| (variable.key.as_str(), variable.key_at));
                keys.for_each(|(name, at)| check_text(name, at, &entry.key, problems));
            }
            Data::Scalar { .. } => {}
        }
    }
}

fn check_name(node: &Node, key: &str, problems: &mut Problems) {
    if let Some(text) = node.as_text() {
        check_text(text, node.at, key, problems);
    }
}

fn check_text(text: &str, at: Position, key: &str, problems: &mut Problems) {
    if !is_variable(text) {
        let message = format!("`{key}` holds something that is not the name of an environment variable");
        let hint = "put the secret itself into `.env`, and the variable's name here".to_owned();
        problems.error("not-a-variable", at, message, Some(hint));
    }
}
