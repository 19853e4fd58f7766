//! Asks a person at a terminal for the answers.

use uwf_agents::agent_choices::{self, AgentChoice};
use uwf_llm::{LlmApiKey, LlmWireFormat, PRESETS, ProviderPreset};

use super::CurrentSetup;
use super::answers::{SetupAgent, SetupAnswers, SetupModel, SetupProviderKey};
use super::flags::{checked, variable_for};
use super::proof::{self, ModelTestReply};
use crate::ask::{MenuChoice, TerminalAsker};
use crate::error::CommandError;
use crate::printer::CommandPrinter;
use crate::style;

/// How often to ask for a key that the provider rejects; after that, the provider may be the problem.
const KEY_TRIES: usize = 3;

/// Asks all questions, and tests the answers unless `no_check`. If the test fails, asks whether to save anyway, and otherwise starts over.
///
/// # Errors
/// `Interrupted` if the person gives up; nothing was written.
pub(super) fn answers(
    printer: CommandPrinter,
    known: &CurrentSetup<'_>,
    no_check: bool,
) -> Result<(SetupAnswers, Option<ModelTestReply>), CommandError> {
    let asker = TerminalAsker::new(printer);
    loop {
        let model = model(&asker, known)?;
        let has_model = model.is_some() || known.config.default_model.is_some();
        let agent = agent(&asker, known, has_model)?;
        let mut answers = SetupAnswers { model, agent, may_run_commands: None };
        if answers.can_decide_commands(known.config) {
            asker.print_line("Yes: agents run your tests and builds. No: they only read and edit files.");
            answers
                .lost_without_commands(known.config)
                .iter()
                .for_each(|lost| asker.print_line(&format!("With no, {lost}.")));
            answers.may_run_commands = Some(asker.yes("May agents run commands, such as your tests?")?);
        }
        let Some(checked) = answers.model.as_ref().filter(|_| !no_check) else {
            return Ok((answers, None));
        };
        match proof::prove(printer, checked) {
            Ok(proof) => return Ok((answers, Some(proof))),
            Err(failure) => {
                asker.print_line(&format!("{} {}", style::red("✗"), failure.error));
                if let Some(hint) = failure.hints.first() {
                    asker.print_line(&format!("{} {hint}", style::dim("hint:")));
                }
                if asker.yes("save it anyway?")? {
                    return Ok((answers, None));
                }
                asker.print_line("Try again; Ctrl-C changes nothing.");
            }
        }
    }
}

fn model(asker: &TerminalAsker, known: &CurrentSetup<'_>) -> Result<Option<SetupModel>, CommandError> {
    let mut choices: Vec<MenuChoice<'_>> =
        PRESETS.iter().map(|preset| MenuChoice { name: preset.name, title: preset.title }).collect();
    choices.push(MenuChoice { name: "custom", title: "another, by its URL" });
    choices.push(MenuChoice { name: "none", title: "none: agents bring their own models" });
    let chosen = asker.choose("Which provider of models?", &choices)?;
    let preset = PRESETS.get(chosen);
    if preset.is_none() && choices[chosen].name == "none" {
        return Ok(None);
    }
    let (provider, base_url) = place(asker, known, preset)?;
    let configured = known.config.providers.get(&provider);
    let kind = configured.and_then(|provider| provider.kind.as_deref());
    let wire = kind.and_then(|kind| kind.parse().ok()).unwrap_or_else(|| LlmWireFormat::for_base_url(&base_url));
    let usual = configured.and_then(|provider| provider.api_key_env.clone());
    let usual = usual.or(preset.and_then(|preset| preset.key_variable).map(str::to_owned));
    let ask_key = |asker: &TerminalAsker| match (&usual, preset) {
        // A preset that needs no key, such as a local server.
        (None, Some(_)) => Ok(SetupProviderKey::None),
        (variable, _) => key(asker, known, variable.clone(), &provider, preset.is_none()),
    };
    let key = ask_key(asker)?;
    let mut model = SetupModel { provider: provider.clone(), base_url, wire, key, name: String::new() };
    let mut listed = proof::models(model.endpoint());
    for _ in 1..KEY_TRIES {
        let Err(refused @ uwf_llm::Error::Auth { .. }) = &listed else { break };
        asker.print_line(&format!("{} {refused}", style::red("✗")));
        model.key = ask_key(asker)?;
        listed = proof::models(model.endpoint());
    }
    model.name = name(asker, known, &model, listed)?;
    Ok(Some(model))
}

/// Asks for name and URL of the provider.
fn place(
    asker: &TerminalAsker,
    known: &CurrentSetup<'_>,
    preset: Option<&ProviderPreset>,
) -> Result<(String, String), CommandError> {
    let name = match preset {
        Some(preset) => preset.name.to_owned(),
        None => asker.line("a name for it", Some("custom"))?,
    };
    let configured = known.config.providers.get(&name).map(|provider| provider.base_url.as_str());
    let url = match (configured, preset) {
        // A company's API has a fixed URL, but a local server may be anywhere.
        (Some(url), Some(preset)) if preset.key_variable.is_some() => url.to_owned(),
        (None, Some(preset)) if preset.key_variable.is_some() => preset.base_url.to_owned(),
        (configured, preset) => asker.line("base URL", configured.or(preset.map(|preset| preset.base_url)))?,
    };
    Ok((name, url.trim_end_matches('/').to_owned()))
}

fn key(
    asker: &TerminalAsker,
    known: &CurrentSetup<'_>,
    variable: Option<String>,
    provider: &str,
    may_be_none: bool,
) -> Result<SetupProviderKey, CommandError> {
    let variable = variable.unwrap_or_else(|| variable_for(provider));
    let set = known.variable(&variable);
    let question = match (&set, may_be_none) {
        (Some(_), _) => format!("key; empty keeps the one in {variable}"),
        (None, true) => "key; empty for none".to_owned(),
        (None, false) => "key".to_owned(),
    };
    loop {
        let typed = asker.hidden(&question)?;
        match (typed.is_empty(), &set) {
            (true, Some(value)) => return Ok(SetupProviderKey::Known { variable, value: LlmApiKey::new(value) }),
            (true, None) if may_be_none => return Ok(SetupProviderKey::None),
            (true, None) => asker.print_line("this provider needs a key"),
            (false, _) => match checked(LlmApiKey::new(&typed)) {
                Ok(value) => return Ok(SetupProviderKey::New { variable, value }),
                Err(error) => asker.print_line(&error.error),
            },
        }
    }
}

/// Asks for the model, from the provider's list if there is one.
fn name(
    asker: &TerminalAsker,
    known: &CurrentSetup<'_>,
    model: &SetupModel,
    listed: uwf_llm::Result<Vec<String>>,
) -> Result<String, CommandError> {
    let before = known.config.default_model.as_ref().and_then(|alias| known.config.models.get(alias));
    let before = before.filter(|before| before.provider == model.provider).map(|before| before.name.as_str());
    match listed {
        Ok(names) if !names.is_empty() => {
            asker.print_line(&format!("models of {}, {} in all:", model.provider, names.len()));
            asker.find("model", &names, before)
        }
        Ok(_) => {
            asker.print_line(&format!("{} gives an empty list of models", model.provider));
            asker.line("model, by the provider's own name", before)
        }
        Err(error) => {
            asker.print_line(&format!("{} no list of models: {error}", style::yellow("!")));
            asker.line("model, by the provider's own name", before)
        }
    }
}

fn agent(asker: &TerminalAsker, known: &CurrentSetup<'_>, has_model: bool) -> Result<Option<SetupAgent>, CommandError> {
    let config = known.config;
    let own = config.agents.keys().map(|alias| (SetupAgent::known(alias), format!("{alias} (in config.yaml)")));
    let usable =
        |choice: &AgentChoice| (has_model || !choice.needs_model) && !config.agents.contains_key(&choice.alias);
    let found = agent_choices::available().into_iter().filter(usable);
    let mut agents: Vec<(SetupAgent, String)> = own.collect();
    // List the current default first.
    agents.sort_by_key(|(agent, _)| config.default_agent.as_deref() != Some(agent.alias()));
    agents.extend(found.map(|choice| {
        let title = format!("{}: {}", choice.alias, choice.title);
        (SetupAgent::New(choice), title)
    }));
    if agents.is_empty() {
        asker.print_line("No agent was found; declare one later: `uwf setup --agent 'COMMAND ARGS'`.");
        return Ok(None);
    }
    let mut choices: Vec<MenuChoice<'_>> =
        agents.iter().map(|(agent, title)| MenuChoice { name: agent.alias(), title }).collect();
    choices.push(MenuChoice { name: "none", title: "none for now" });
    let chosen = asker.choose("Which agent plays roles by default?", &choices)?;
    Ok(agents.into_iter().nth(chosen).map(|(agent, _)| agent))
}
