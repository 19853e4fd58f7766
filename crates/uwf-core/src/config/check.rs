//! Checks that everything a config refers to is defined.

use std::collections::{BTreeMap, BTreeSet};

use super::UwfConfig;
use super::keys::{is_store_key, is_temporal_key};
use super::limits::{LONG_TIMEOUT, long_timeout};
use super::notify::{NotifyBy, NotifyRule};
use super::retry::LONGEST_RETRY_WAIT;
use super::secret::{is_variable, looks_like_key};
use crate::document::fields::MappingFields;
use crate::document::{ProblemCollector, parse_duration};
use json_cas::nearest::did_you_mean;
use yaml_tree::TextPosition;
use yaml_tree::{MappingEntry, YamlContent, YamlNode};

/// Checks references. An undefined agent is an error: a config that names it needs it. Models and providers are needed only when they are
/// used, so undefined ones get a warning.
pub(super) fn references(config: &UwfConfig, fields: MappingFields<'_>, problems: &mut ProblemCollector) {
    let agent = |node: &YamlNode, problems: &mut ProblemCollector| {
        if let Some(name) = undefined(node, &config.agents) {
            let hint = hint(name, config.agents.keys(), "agents", "{command: …}");
            problems.error("unknown-agent", node.at, format!("agent `{name}` is not in `agents`"), Some(hint));
        }
    };
    fields.get("defaultAgent").into_iter().for_each(|entry| agent(&entry.value, problems));
    for role in children(fields.get("agentOverrides")).flat_map(|workflow| children(Some(workflow))) {
        match &role.value.data {
            YamlContent::Sequence(copies) if copies.is_empty() => {
                let message = format!("`agentOverrides` gives `{}` no agent", role.key);
                let hint = "name an agent, or one for each copy of a group".to_owned();
                problems.error("bad-value", role.value.at, message, Some(hint));
            }
            YamlContent::Sequence(copies) => copies.iter().for_each(|copy| agent(copy, problems)),
            YamlContent::Scalar { .. } | YamlContent::Mapping(_) => agent(&role.value, problems),
        }
    }
    for entry in children(fields.get("agents")).flat_map(|agent| children(Some(agent))) {
        if entry.key == "fallback" {
            agent(&entry.value, problems);
        }
    }
    let mut model = |entry: &MappingEntry| {
        if let Some(name) = undefined(&entry.value, &config.models) {
            let hint = hint(name, config.models.keys(), "models", "{provider: …, name: …}");
            problems.warning("unknown-model", entry.value.at, format!("model `{name}` is not in `models`"), Some(hint));
        }
    };
    fields.get("defaultModel").into_iter().for_each(&mut model);
    children(fields.get("modelOverrides")).for_each(&mut model);
    for entry in
        children(fields.get("models")).flat_map(|model| children(Some(model))).filter(|entry| entry.key == "provider")
    {
        if let Some(name) = undefined(&entry.value, &config.providers) {
            let hint = hint(name, config.providers.keys(), "providers", "{baseUrl: …}");
            let message = format!("provider `{name}` is not in `providers`");
            problems.warning("unknown-provider", entry.value.at, message, Some(hint));
        }
    }
}

/// The keys below an entry; none if it is missing or not a mapping.
fn children(entry: Option<&MappingEntry>) -> std::slice::Iter<'_, MappingEntry> {
    entry.map_or(&[][..], |entry| entry.value.entries()).iter()
}

fn undefined<'n, T>(node: &'n YamlNode, defined: &BTreeMap<String, T>) -> Option<&'n str> {
    node.as_text().filter(|name| !defined.contains_key(*name))
}

fn hint<'n>(name: &str, defined: impl Iterator<Item = &'n String>, section: &str, form: &str) -> String {
    let near = did_you_mean(name, defined.map(String::as_str));
    near.unwrap_or_else(|| format!("add `{name}: {form}` to `{section}`"))
}

/// Warns about likely mistakes: arguments in `command`, and a secret given to an agent although the rest of the config does not list it as
/// a secret.
pub(super) fn agents(config: &UwfConfig, fields: MappingFields<'_>, problems: &mut ProblemCollector) {
    let secrets = config.secret_names();
    let own = config.own_secret_names();
    for agent in children(fields.get("agents")) {
        for entry in children(Some(agent)) {
            match (entry.key.as_str(), &entry.value.data) {
                ("fallback", _) => fallback(config, &agent.key, entry, problems),
                ("retry", _) => retry(&agent.key, entry, problems),
                ("command", YamlContent::Scalar { text, .. }) if is_command_line(text) => {
                    let message = format!("uwf takes `{text}` for the name of one program");
                    let hint = "put arguments into `args`".to_owned();
                    problems.warning("command-line", entry.value.at, message, Some(hint));
                }
                (key @ ("timeout" | "idleTimeout"), YamlContent::Scalar { text, .. }) => {
                    let long = parse_duration(text).and_then(|limit| long_timeout(key, text, limit));
                    if let Some((message, hint)) = long {
                        problems.warning(LONG_TIMEOUT, entry.value.at, message, Some(hint));
                    }
                }
                ("env", YamlContent::Sequence(items)) => {
                    let names = items.iter().filter_map(|item| Some((item.as_text()?, item.at)));
                    names.for_each(|(name, at)| given(name, at, (&secrets, &own), problems));
                }
                ("env", YamlContent::Mapping(variables)) => {
                    for variable in variables {
                        match variable.value.as_raw() {
                            _ if variable.value.is_null() => {
                                given(&variable.key, variable.key_at, (&secrets, &own), problems);
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

/// Rejects a fallback that leads back to its agent.
fn fallback(config: &UwfConfig, agent: &str, entry: &MappingEntry, problems: &mut ProblemCollector) {
    let next = |alias: &str| config.agents.get(alias).and_then(|agent| agent.fallback.as_deref());
    let mut path = vec![agent];
    while let Some(alias) = path.last().and_then(|last| next(last)) {
        let is_known = path.contains(&alias);
        path.push(alias);
        if is_known {
            break;
        }
    }
    if path.len() > 1 && path.last() == path.first() {
        let message = match path.len() {
            2 => format!("agent `{agent}` is its own fallback"),
            _ => format!("the fallbacks of agent `{agent}` lead back to it: {}", path.join(" → ")),
        };
        problems.error(
            "fallback-cycle",
            entry.value.at,
            message,
            Some("name an agent that needs no fallback".to_owned()),
        );
    }
}

/// Rejects a wait that is too long.
fn retry(alias: &str, entry: &MappingEntry, problems: &mut ProblemCollector) {
    for key in entry.value.entries().iter().filter(|key| key.key == "wait") {
        let wait = key.value.as_raw().and_then(parse_duration);
        if wait.is_some_and(|wait| wait > LONGEST_RETRY_WAIT) {
            let minutes = LONGEST_RETRY_WAIT.as_secs() / 60;
            let message = format!("`agents.{alias}.retry.wait` is longer than {minutes} minutes");
            let hint =
                "a usage limit that lasts longer needs no `retry`: `uwf run --wait` waits for its end".to_owned();
            problems.error("bad-value", key.value.at, message, Some(hint));
        }
    }
}

/// Whether a command contains white space that is not part of a path.
fn is_command_line(command: &str) -> bool {
    command.trim().split_once(char::is_whitespace).is_some_and(|(program, _)| !program.contains(['/', '\\']))
}

/// Checks a variable with a value: a config must not contain the value of a secret.
fn set(variable: &MappingEntry, value: &str, secrets: &BTreeSet<String>, problems: &mut ProblemCollector) {
    let name = &variable.key;
    if secrets.contains(name) || looks_like_key(value) {
        let message = format!("the value of `{name}` is a secret or looks like one");
        let hint = format!("put it into `.env`, and write `{name}: null` here, which passes it on");
        problems.error("secret-in-config", variable.value.at, message, Some(hint));
    }
}

/// Checks a variable that an agent gets. `own` are the secrets that only uwf may have.
fn given(
    name: &str,
    at: TextPosition,
    (secrets, own): (&BTreeSet<String>, &BTreeSet<String>),
    problems: &mut ProblemCollector,
) {
    if own.contains(name) {
        let message = format!("`{name}` is a secret of uwf, which no agent gets");
        let hint = "an agent that has it could start threads or answer in your name; give the agent another variable";
        return problems.error("own-secret", at, message, Some(hint.to_owned()));
    }
    // Keys of shared stores and of Temporal are kept from agents although they are not listed as secrets.
    if !is_variable(name) || secrets.contains(name) || is_store_key(name) || is_temporal_key(name) {
        return;
    }
    let near = did_you_mean(name, secrets.iter().map(String::as_str));
    let hint =
        near.unwrap_or_else(|| "variables that are not in `secrets` or an `apiKeyEnv` are inherited anyway".to_owned());
    problems.warning("unknown-secret", at, format!("`{name}` is not among the secrets of this config"), Some(hint));
}

/// Reports a topic of ntfy that is also the one for replies: uwf would take its own messages for answers.
pub(super) fn reply_topics(config: &UwfConfig, fields: MappingFields<'_>, problems: &mut ProblemCollector) {
    let is_own = |rule: &NotifyRule| match &rule.by {
        NotifyBy::Ntfy(ntfy) => ntfy.replies.as_ref() == Some(&ntfy.topic),
        _ => false,
    };
    if let Some(entry) = fields.get("notify").filter(|_| config.notify.iter().any(is_own)) {
        let message = "`topic` and `replies` of `ntfy` are one topic".to_owned();
        let hint = "name another topic for replies: uwf would take its own messages for answers".to_owned();
        problems.error("same-topic", entry.value.at, message, Some(hint));
    }
}

/// Rejects header values that look like secrets.
pub(super) fn headers(fields: MappingFields<'_>, problems: &mut ProblemCollector) {
    let of_otel = children(fields.get("otel")).filter(|entry| entry.key == "headers");
    for header in of_otel.flat_map(|headers| children(Some(headers))) {
        if header.value.as_raw().is_some_and(|value| value.split_whitespace().any(looks_like_key)) {
            let name = &header.key;
            let message = format!("the value of `{name}` looks like a secret");
            let hint = format!("put it into `.env`, and the name of its variable here: `headersEnv.{name}`");
            problems.error("secret-in-config", header.value.at, message, Some(hint));
        }
    }
}
