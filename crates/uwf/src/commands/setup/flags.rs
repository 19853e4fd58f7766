//! Answers given on the command line.

use uwf_agents::agent_choices::{self, AgentChoice};
use uwf_core::model_option;
use uwf_llm::{LlmApiKey, LlmWireFormat, PRESETS, ProviderPreset, preset};

use super::answers::{SetupAgent, SetupAnswers, SetupModel, SetupProviderKey};
use super::{Args, CurrentSetup};
use crate::error::CommandError;
use crate::input;

/// The answers from the arguments, with defaults for the rest.
pub(super) fn answers(known: &CurrentSetup<'_>, args: &Args) -> Result<SetupAnswers, CommandError> {
    let Args { provider, base_url, kind, api_key, api_key_env, model, .. } = args;
    let may_run_commands = args.may_run_commands.as_deref().map(|answer| answer == "yes");
    let about_provider = [provider, base_url, kind, api_key, api_key_env].into_iter().any(Option::is_some);
    if let (false, Some(model), Some(named)) = (about_provider, model, &args.agent)
        && let Some(agent) = with_own_model(known, agent(known, Some(named), false)?, model)
    {
        return Ok(SetupAnswers { model: None, agent: Some(agent), may_run_commands });
    }
    let about_model = about_provider || model.is_some();
    let model = about_model.then(|| self::model(known, args)).transpose()?;
    let has_model = model.is_some() || known.config.default_model.is_some();
    let agent = agent(known, args.agent.as_deref(), has_model)?;
    Ok(SetupAnswers { model, agent, may_run_commands })
}

/// The agent with this model; `None` if its program takes no model, so that the model is one of a provider.
fn with_own_model(known: &CurrentSetup<'_>, agent: Option<SetupAgent>, model: &str) -> Option<SetupAgent> {
    match agent? {
        SetupAgent::New(choice) if choice.takes_model() => Some(SetupAgent::New(choice.with_model(model))),
        SetupAgent::Known { alias, .. } if model_option::is_known(&known.config.agents.get(&alias)?.command) => {
            Some(SetupAgent::Known { alias, model: Some(model.to_owned()) })
        }
        SetupAgent::New(_) | SetupAgent::Known { .. } => None,
    }
}

fn model(known: &CurrentSetup<'_>, args: &Args) -> Result<SetupModel, CommandError> {
    let Some(provider) = args.provider.clone() else {
        let error = CommandError::usage("--provider is missing").hint(presets_hint());
        return Err(match &args.agent {
            Some(agent) => error.hint(format!(
                "uwf can't set the model of `{agent}`: name it in the configuration of its program, and leave --model out"
            )),
            None => error,
        });
    };
    let preset = preset(&provider);
    let configured = known.config.providers.get(&provider);
    let base_url = args.base_url.clone().or(configured.map(|provider| provider.base_url.clone()));
    let Some(base_url) = base_url.or(preset.map(|preset| preset.base_url.to_owned())) else {
        return Err(CommandError::usage(format!("`{provider}` is not a provider uwf knows, so --base-url is needed"))
            .hint(presets_hint()));
    };
    let kind = args.kind.as_deref().or(configured.and_then(|provider| provider.kind.as_deref()));
    let wire = match kind {
        Some(kind) => kind.parse().map_err(CommandError::usage)?,
        None => LlmWireFormat::for_base_url(&base_url),
    };
    let of_provider = |alias: &String| known.config.models.get(alias).filter(|model| model.provider == provider);
    let same = known.config.default_model.as_ref().and_then(of_provider).map(|model| model.name.clone());
    let Some(name) = args.model.clone().or(same) else {
        return Err(CommandError::usage("--model is missing")
            .hint("give the provider's own name for the model; `uwf setup` at a terminal lists them"));
    };
    let variable = args.api_key_env.clone().or(configured.and_then(|provider| provider.api_key_env.clone()));
    let key = key(known, args.api_key.as_deref(), variable, &provider, preset)?;
    Ok(SetupModel { base_url: base_url.trim_end_matches('/').to_owned(), provider, wire, key, name })
}

fn key(
    known: &CurrentSetup<'_>,
    given: Option<&str>,
    variable: Option<String>,
    provider: &str,
    preset: Option<&ProviderPreset>,
) -> Result<SetupProviderKey, CommandError> {
    if let Some(given) = given {
        let value = if given == "-" { LlmApiKey::new(&input::from_stdin()?) } else { LlmApiKey::new(given) };
        let variable = variable.or(preset.and_then(|preset| preset.key_variable).map(str::to_owned));
        let variable = variable.unwrap_or_else(|| variable_for(provider));
        return checked(value).map(|value| SetupProviderKey::New { variable, value });
    }
    let Some(variable) = variable.or(preset.and_then(|preset| preset.key_variable).map(str::to_owned)) else {
        return Ok(SetupProviderKey::None);
    };
    match known.variable(&variable) {
        Some(value) => Ok(SetupProviderKey::Known { variable, value: LlmApiKey::new(&value) }),
        None => Err(CommandError::usage(format!(
            "`{provider}` needs a key, and {variable} is set neither in the environment nor in .env"
        ))
        .hint("give it on stdin: `--api-key - < FILE`, or name the variable it is in: `--api-key-env VARIABLE`")),
    }
}

/// Accepts a key that is a single word.
///
/// # Errors
/// `Usage`, without the text of the key.
pub(super) fn checked(key: LlmApiKey) -> Result<LlmApiKey, CommandError> {
    let text = key.reveal();
    if text.is_empty() {
        return Err(CommandError::usage("the key is empty"));
    }
    if text.contains(|symbol: char| symbol.is_whitespace() || symbol.is_control()) {
        return Err(CommandError::usage("the key is more than one word").hint("check the file or the clipboard"));
    }
    Ok(key)
}

/// The variable for the key of a provider without a usual one.
pub(super) fn variable_for(provider: &str) -> String {
    let name: String =
        provider.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    let digit = name.starts_with(|c: char| c.is_ascii_digit());
    format!("{}{name}_API_KEY", if digit { "_" } else { "" })
}

/// The named agent; without a name, the first usable agent, unless there is a default agent already.
fn agent(known: &CurrentSetup<'_>, named: Option<&str>, has_model: bool) -> Result<Option<SetupAgent>, CommandError> {
    let config = known.config;
    let Some(named) = named else {
        let usable = |choice: &AgentChoice| has_model || !choice.needs_model;
        let first = || {
            agent_choices::available().into_iter().find(usable).map(|choice| SetupAgent::from_choice(config, choice))
        };
        return Ok(if config.default_agent.is_some() { None } else { first() });
    };
    if config.agents.contains_key(named) {
        return Ok(Some(SetupAgent::known(named)));
    }
    let Some(choice) = agent_choices::named(named) else {
        let works: Vec<String> = agent_choices::available().into_iter().map(|choice| choice.alias).collect();
        let hint = if works.is_empty() {
            "any program on PATH can be an agent".to_owned()
        } else {
            format!("here there are: {}", works.join(", "))
        };
        return Err(CommandError::usage(format!("`{named}` is neither an agent nor a program on PATH")).hint(hint));
    };
    if choice.needs_model && !has_model {
        return Err(CommandError::usage(format!("the agent `{}` needs a model", choice.alias))
            .hint("add --provider and --model"));
    }
    if !config.agents.contains_key(&choice.alias) {
        return Ok(Some(SetupAgent::New(choice)));
    }
    if named == choice.alias {
        return Ok(Some(SetupAgent::known(choice.alias)));
    }
    Err(CommandError::usage(format!("config.yaml has another agent `{}` already", choice.alias)).hint(format!(
        "change that one with `uwf config set agents.{}.command …`, or add yours under another alias",
        choice.alias
    )))
}

fn presets_hint() -> String {
    let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    format!("providers: {}; or any name with --base-url", names.join(", "))
}
