//! What is wrong with a configuration on this machine: programs that are not there, settings an agent does not take,
//! keys that are not set. What is wrong with its text alone is the core's business.

use serde_json::Value;
use uwf_core::config::{Agent, Config};
use uwf_core::workflow::nearest::did_you_mean;
use uwf_core::workflow::{Document, Problem};
use uwf_engine::agents::{BUILT_IN_PREFIX, find_program};

use crate::describe::describe;

/// Everything that is wrong, in no particular order. `is_set` says whether an environment variable has a value, be it
/// from the environment or from `.env`.
pub fn check(config: &Config, document: &Document, is_set: &dyn Fn(&str) -> bool) -> Vec<Problem> {
    let agents = config.agents.iter().flat_map(|(alias, agent)| {
        let at = Document::below("/agents", alias);
        let found = [program(document, &at, agent), model(config, document, &at, agent)];
        found.into_iter().flatten().chain(settings(document, &at, agent)).collect::<Vec<_>>()
    });
    agents.chain(keys(config, document, is_set)).chain(kinds(config, document)).collect()
}

/// The built-in agent that a command stands for on this machine.
fn built_in(agent: &Agent) -> Option<&str> {
    let name = agent.command.strip_prefix(BUILT_IN_PREFIX)?;
    find_program(&agent.command).is_none().then_some(name)
}

fn program(document: &Document, at: &str, agent: &Agent) -> Option<Problem> {
    let command = &agent.command;
    let at = Document::below(at, "command");
    if let Some(name) = built_in(agent) {
        if crate::NAMES.contains(&name) {
            return None;
        }
        let message = format!("there is no built-in agent `{name}`, and no program `{command}` on PATH");
        let hint =
            did_you_mean(name, crate::NAMES).unwrap_or_else(|| format!("built-in agents: {}", crate::NAMES.join(", ")));
        return Some(document.error(&at, "unknown-agent", message, Some(hint)));
    }
    // A relative path is looked for in the workspace of a thread, which may be anywhere.
    let is_relative = command.contains('/') && !command.starts_with('/');
    // What has arguments in it is told of by the core.
    if is_relative || command.contains(char::is_whitespace) || find_program(command).is_some() {
        return None;
    }
    let (message, hint) = if command.starts_with('/') {
        (format!("there is no program {command}"), "check the path, and that the file is executable")
    } else {
        (format!("there is no program `{command}` on PATH"), "install it, or give the program's whole path")
    };
    Some(document.warning(&at, "no-program", message, Some(hint.to_owned())))
}

/// The model of a built-in agent is one of the configuration; another program knows names of its own.
fn model(config: &Config, document: &Document, at: &str, agent: &Agent) -> Option<Problem> {
    let model = agent.model.as_deref().filter(|model| !config.models.contains_key(*model))?;
    built_in(agent)?;
    let hint = did_you_mean(model, config.models.keys().map(String::as_str))
        .unwrap_or_else(|| format!("add `{model}: {{provider: …, name: …}}` to `models`"));
    let message = format!("there is no model `{model}` in `models`");
    Some(document.warning(&Document::below(at, "model"), "unknown-model", message, Some(hint)))
}

/// `config` of a built-in agent, against what the agent says it takes.
fn settings(document: &Document, at: &str, agent: &Agent) -> Vec<Problem> {
    let Some(description) = built_in(agent).and_then(describe) else { return Vec::new() };
    let at = Document::below(at, "config");
    let schema = match json_cas::Schema::compile(&description.config_schema) {
        Ok(schema) => schema,
        Err(error) => return vec![document.error(&at, "bad-schema", error.to_string(), None)],
    };
    let violations = schema.violations(&agent.config).into_iter().map(|violation| {
        let message = format!("`config` of the agent `{}`: {}", description.name, violation.message);
        let hint = format!("`uwf agent describe {}` tells what it takes", description.name);
        document.error(&format!("{at}{}", violation.path), "bad-setting", message, Some(hint))
    });
    let known = description.config_schema.get("properties").and_then(Value::as_object);
    let known: Vec<&str> = known.into_iter().flat_map(|known| known.keys().map(String::as_str)).collect();
    let is_open = known.is_empty() || description.config_schema.get("additionalProperties").is_some();
    let given = agent.config.as_object().into_iter().flat_map(|given| given.keys());
    let unknown = given.filter(|key| !is_open && !known.contains(&key.as_str())).map(|key| {
        let message = format!("the agent `{}` does not know the setting `{key}`", description.name);
        let hint =
            did_you_mean(key, known.iter().copied()).unwrap_or_else(|| format!("it knows: {}", known.join(", ")));
        document.warning(&Document::below(&at, key), "unknown-setting", message, Some(hint))
    });
    violations.chain(unknown).collect()
}

fn keys(config: &Config, document: &Document, is_set: &dyn Fn(&str) -> bool) -> Vec<Problem> {
    let named = config.providers.iter().filter_map(|(name, provider)| Some((name, provider.api_key_env.as_deref()?)));
    let missing = named.filter(|(_, variable)| !is_set(variable));
    let problem = |(name, variable): (&String, &str)| {
        let at = Document::below(&Document::below("/providers", name), "apiKeyEnv");
        let message = format!("`{variable}` is set neither in the environment nor in .env");
        let hint = format!("add `{variable}=…` to .env of the storage root, or run `uwf setup`");
        document.warning(&at, "no-key", message, Some(hint))
    };
    missing.map(problem).collect()
}

fn kinds(config: &Config, document: &Document) -> Vec<Problem> {
    let named = config.providers.iter().filter_map(|(name, provider)| Some((name, provider.kind.as_deref()?)));
    let wrong = named.filter_map(|(name, kind)| {
        let message = kind.parse::<uwf_llm::Wire>().err()?;
        let at = Document::below(&Document::below("/providers", name), "kind");
        Some(document.error(&at, "unknown-kind", message, did_you_mean(kind, ["openai", "anthropic"])))
    });
    wrong.collect()
}
