//! Checks a configuration against this machine: missing programs, settings an agent does not take, missing keys. The core checks its text.

use std::path::Path;

use json_cas::nearest::did_you_mean;
use serde_json::Value;
use uwf_core::config::{AgentConfig, AgentDescription, LONG_TIMEOUT, UwfConfig, long_timeout};
use uwf_core::document::{FileProblem, SourceDocument, parse_duration};
use uwf_engine::attempt::agents::{self, AgentSpec};
use uwf_engine::attempt::bindings;
use uwf_engine::attempt::program::look_up;
use uwf_engine::attempt::self_description;

use crate::describe::{OWN_MODELS, describe};
use crate::settings::{self, AgentConfigFault};

/// All problems, in no particular order. `is_set` says whether an environment variable has a value, in the environment or in `.env`.
pub fn check(config: &UwfConfig, document: &SourceDocument, is_set: &dyn Fn(&str) -> bool) -> Vec<FileProblem> {
    let described = self_description::of_all(config, &config.secret_names());
    let agents = config.agents.iter().flat_map(|(alias, agent)| {
        let at = SourceDocument::below("/agents", alias);
        let found = [
            program(document, &at, agent),
            output(document, &at, alias, agent),
            model(config, document, &at, agent),
            sandbox(document, &at, alias, agent),
        ];
        let settings = match described.get(alias) {
            Some(described) => described_settings(document, &at, agent, described.as_ref()),
            None => settings(document, &at, agent),
        };
        let slips = time_limits(document, &at, agent);
        found.into_iter().flatten().chain(settings).chain(slips).collect::<Vec<_>>()
    });
    agents.chain(keys(config, document, is_set)).chain(kinds(config, document)).collect()
}

/// The built-in agent that a command means on this machine.
fn built_in(agent: &AgentConfig) -> Option<&str> {
    agents::built_in(&agent.command)
}

fn program(document: &SourceDocument, at: &str, agent: &AgentConfig) -> Option<FileProblem> {
    let command = &agent.command;
    let at = SourceDocument::below(at, "command");
    if let Some(name) = built_in(agent) {
        if crate::NAMES.contains(&name) {
            return None;
        }
        let message = format!("`{name}` is not a built-in agent, and program `{command}` is not on PATH");
        let hint =
            did_you_mean(name, crate::NAMES).unwrap_or_else(|| format!("built-in agents: {}", crate::NAMES.join(", ")));
        return Some(document.error(&at, "unknown-agent", message, Some(hint)));
    }
    // A relative path is resolved in the workspace of a thread, which is unknown here.
    let is_relative = command.contains('/') && !command.starts_with('/');
    // The core reports a command that contains arguments.
    if is_relative || command.contains(char::is_whitespace) {
        return None;
    }
    let why = look_up(command, Path::new("/")).err()?;
    Some(document.warning(&at, "no-program", why.to_string(), Some(why.hint())))
}

/// Warns about an agent without `output`: uwf assumes that it stores its step itself, which few programs do.
fn output(document: &SourceDocument, at: &str, alias: &str, agent: &AgentConfig) -> Option<FileProblem> {
    let is_said = document.value.pointer(at).is_some_and(|entry| entry.get("output").is_some());
    let words = std::iter::once(&agent.command).chain(&agent.args);
    if is_said || words.map(String::as_str).any(bindings::is_uwf_program) {
        return None;
    }
    let message = format!("the agent `{alias}` has no `output`, so it must print the hash of a step that it stored");
    let hint = "add `output: text` (an answer under a header) or `output: json`; `output: step` if it does store steps";
    Some(document.warning(at, "no-output", message, Some(hint.to_owned())))
}

/// Rejects a sandbox for an agent that cannot have one.
fn sandbox(document: &SourceDocument, at: &str, alias: &str, agent: &AgentConfig) -> Option<FileProblem> {
    let error = AgentSpec::new(alias, agent).check_sandbox().err()?;
    let hint = error.hints.first().cloned();
    Some(document.error(&SourceDocument::below(at, "sandbox"), "no-sandbox", error.to_string(), hint))
}

/// Checks that the model of a built-in agent is configured, unless its program has its own model names, as other programs do.
fn model(config: &UwfConfig, document: &SourceDocument, at: &str, agent: &AgentConfig) -> Option<FileProblem> {
    let model = agent.model.as_deref().filter(|model| !config.models.contains_key(*model))?;
    let description = describe(built_in(agent)?);
    if description.is_some_and(|description| description.capabilities.contains(&OWN_MODELS)) {
        return None;
    }
    let hint = did_you_mean(model, config.models.keys().map(String::as_str))
        .unwrap_or_else(|| format!("add `{model}: {{provider: …, name: …}}` to `models`"));
    let message = format!("model `{model}` is not in `models`");
    Some(document.warning(&SourceDocument::below(at, "model"), "unknown-model", message, Some(hint)))
}

/// Problems in the `config` of a built-in agent.
fn settings(document: &SourceDocument, at: &str, agent: &AgentConfig) -> Vec<FileProblem> {
    let (Some(description), Some(config)) = (built_in(agent).and_then(describe), agent.config.as_object()) else {
        return Vec::new();
    };
    let problem = |AgentConfigFault { pointer, what, why }| {
        let message = format!("`{what}` of the agent `{}`: {why}", description.name);
        let hint = format!("`uwf agent describe {}` shows its settings", description.name);
        document.error(&format!("{at}/config{pointer}"), "bad-setting", message, Some(hint))
    };
    (description.wrong)(config).into_iter().map(problem).collect()
}

/// Time limits among the settings that were probably meant in milliseconds. The core warns about limits outside `config`.
fn time_limits(document: &SourceDocument, at: &str, agent: &AgentConfig) -> Vec<FileProblem> {
    let schema = built_in(agent).and_then(describe).map(|description| description.config_schema);
    let settings = schema.iter().flat_map(|schema| schema["properties"].as_object()).flatten();
    let slip = |key: &String| {
        let at = format!("{at}/config/{key}");
        let written = match document.value.pointer(&at)? {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let (message, hint) = long_timeout(&format!("config.{key}"), &written, parse_duration(&written)?)?;
        Some(document.warning(&at, LONG_TIMEOUT, message, Some(hint)))
    };
    let limits = settings.filter(|(_, schema)| settings::is_time_limit(schema));
    limits.filter_map(|(key, _)| slip(key)).collect()
}

/// Problems in the `config` of an agent that describes its own settings.
fn described_settings(
    document: &SourceDocument,
    at: &str,
    agent: &AgentConfig,
    described: Result<&AgentDescription, &String>,
) -> Vec<FileProblem> {
    let at_describe = SourceDocument::below(at, "describe");
    let schema = match described {
        Ok(AgentDescription { config_schema: Some(schema), .. }) => json_cas::CompiledSchema::compile(schema),
        Ok(_) => return Vec::new(),
        Err(why) => return vec![document.warning(&at_describe, "no-description", why.clone(), None)],
    };
    let schema = match schema {
        Ok(schema) => schema,
        Err(error) => {
            let message = format!("`configSchema` of the agent's description is not a JSON Schema: {error}");
            return vec![document.warning(&at_describe, "bad-description", message, None)];
        }
    };
    let problem = |violation: json_cas::SchemaViolation| {
        let message = format!("`config{}`: {}", violation.path.replace('/', "."), violation.message);
        document.error(&format!("{at}/config{}", violation.path), "bad-setting", message, None)
    };
    schema.violations(&agent.config).into_iter().map(problem).collect()
}

fn keys(config: &UwfConfig, document: &SourceDocument, is_set: &dyn Fn(&str) -> bool) -> Vec<FileProblem> {
    let named = config.providers.iter().filter_map(|(name, provider)| Some((name, provider.api_key_env.as_deref()?)));
    let missing = named.filter(|(_, variable)| !is_set(variable));
    let problem = |(name, variable): (&String, &str)| {
        let at = SourceDocument::below(&SourceDocument::below("/providers", name), "apiKeyEnv");
        let message = format!("`{variable}` is set neither in the environment nor in .env");
        let hint = format!("add `{variable}=…` to .env of the storage root, or run `uwf setup`");
        document.warning(&at, "no-key", message, Some(hint))
    };
    missing.map(problem).collect()
}

fn kinds(config: &UwfConfig, document: &SourceDocument) -> Vec<FileProblem> {
    let named = config.providers.iter().filter_map(|(name, provider)| Some((name, provider.kind.as_deref()?)));
    let wrong = named.filter_map(|(name, kind)| {
        let message = kind.parse::<uwf_llm::LlmWireFormat>().err()?;
        let at = SourceDocument::below(&SourceDocument::below("/providers", name), "kind");
        Some(document.error(&at, "unknown-kind", message, did_you_mean(kind, ["openai", "anthropic"])))
    });
    wrong.collect()
}
