//! Asks a person at a terminal for the answers.

use uwf_agents::agent_choices::{self, AgentChoice};
use uwf_llm::{PRESETS, Preset, Secret, Wire};

use super::CurrentSetup;
use super::answers::{Agent, Answers, Key, Model};
use super::flags::{checked, variable_for};
use super::proof::{self, Proof};
use crate::ask::{Asker, Choice};
use crate::error::CommandError;
use crate::printer::Printer;
use crate::style;

/// How often to ask for a key that the provider rejects; after that, the provider may be the problem.
const KEY_TRIES: usize = 3;

/// Asks all questions, and tests the answers unless `no_check`. If the test fails, asks whether to save anyway, and otherwise starts over.
///
/// # Errors
/// `Interrupted` if the person gives up; nothing was written.
pub(super) fn answers(
    printer: Printer,
    known: &CurrentSetup<'_>,
    no_check: bool,
) -> Result<(Answers, Option<Proof>), CommandError> {
    let asker = Asker::new(printer);
    loop {
        let model = model(&asker, known)?;
        let has_model = model.is_some() || known.config.default_model.is_some();
        let agent = agent(&asker, known, has_model)?;
        let Some(checked) = model.as_ref().filter(|_| !no_check) else {
            return Ok((Answers { model, agent }, None));
        };
        match proof::prove(printer, checked) {
            Ok(proof) => return Ok((Answers { model, agent }, Some(proof))),
            Err(failure) => {
                asker.say(&format!("{} {}", style::red("✗"), failure.error));
                if let Some(hint) = failure.hints.first() {
                    asker.say(&format!("{} {hint}", style::dim("hint:")));
                }
                if asker.yes("save it anyway?")? {
                    return Ok((Answers { model, agent }, None));
                }
                asker.say("Try again; Ctrl-C changes nothing.");
            }
        }
    }
}

fn model(asker: &Asker, known: &CurrentSetup<'_>) -> Result<Option<Model>, CommandError> {
    let mut choices: Vec<Choice<'_>> =
        PRESETS.iter().map(|preset| Choice { name: preset.name, title: preset.title }).collect();
    choices.push(Choice { name: "custom", title: "another, by its URL" });
    choices.push(Choice { name: "none", title: "none: agents bring their own models" });
    let chosen = asker.choose("Which provider of models?", &choices)?;
    let preset = PRESETS.get(chosen);
    if preset.is_none() && choices[chosen].name == "none" {
        return Ok(None);
    }
    let (provider, base_url) = place(asker, known, preset)?;
    let configured = known.config.providers.get(&provider);
    let kind = configured.and_then(|provider| provider.kind.as_deref());
    let wire = kind.and_then(|kind| kind.parse().ok()).unwrap_or_else(|| Wire::of(&base_url));
    let usual = configured.and_then(|provider| provider.api_key_env.clone());
    let usual = usual.or(preset.and_then(|preset| preset.key_variable).map(str::to_owned));
    let ask_key = |asker: &Asker| match (&usual, preset) {
        // A preset that needs no key, such as a local server.
        (None, Some(_)) => Ok(Key::None),
        (variable, _) => key(asker, known, variable.clone(), &provider, preset.is_none()),
    };
    let key = ask_key(asker)?;
    let mut model = Model { provider: provider.clone(), base_url, wire, key, name: String::new() };
    let mut listed = proof::models(model.endpoint());
    for _ in 1..KEY_TRIES {
        let Err(refused @ uwf_llm::Error::Auth { .. }) = &listed else { break };
        asker.say(&format!("{} {refused}", style::red("✗")));
        model.key = ask_key(asker)?;
        listed = proof::models(model.endpoint());
    }
    model.name = name(asker, known, &model, listed)?;
    Ok(Some(model))
}

/// Asks for name and URL of the provider.
fn place(asker: &Asker, known: &CurrentSetup<'_>, preset: Option<&Preset>) -> Result<(String, String), CommandError> {
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
    asker: &Asker,
    known: &CurrentSetup<'_>,
    variable: Option<String>,
    provider: &str,
    may_be_none: bool,
) -> Result<Key, CommandError> {
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
            (true, Some(value)) => return Ok(Key::Known { variable, value: Secret::new(value) }),
            (true, None) if may_be_none => return Ok(Key::None),
            (true, None) => asker.say("this provider needs a key"),
            (false, _) => match checked(Secret::new(&typed)) {
                Ok(value) => return Ok(Key::New { variable, value }),
                Err(error) => asker.say(&error.error),
            },
        }
    }
}

/// Asks for the model, from the provider's list if there is one.
fn name(
    asker: &Asker,
    known: &CurrentSetup<'_>,
    model: &Model,
    listed: uwf_llm::Result<Vec<String>>,
) -> Result<String, CommandError> {
    let before = known.config.default_model.as_ref().and_then(|alias| known.config.models.get(alias));
    let before = before.filter(|before| before.provider == model.provider).map(|before| before.name.as_str());
    match listed {
        Ok(names) if !names.is_empty() => {
            asker.say(&format!("models of {}, {} in all:", model.provider, names.len()));
            asker.find("model", &names, before)
        }
        Ok(_) => {
            asker.say(&format!("{} gives an empty list of models", model.provider));
            asker.line("model, by the provider's own name", before)
        }
        Err(error) => {
            asker.say(&format!("{} no list of models: {error}", style::yellow("!")));
            asker.line("model, by the provider's own name", before)
        }
    }
}

fn agent(asker: &Asker, known: &CurrentSetup<'_>, has_model: bool) -> Result<Option<Agent>, CommandError> {
    let config = known.config;
    let own = config.agents.keys().map(|alias| (Agent::Known(alias.clone()), format!("{alias} (in config.yaml)")));
    let usable =
        |choice: &AgentChoice| (has_model || !choice.needs_model) && !config.agents.contains_key(&choice.alias);
    let found = agent_choices::available().into_iter().filter(usable);
    let mut agents: Vec<(Agent, String)> = own.collect();
    // List the current default first.
    agents.sort_by_key(|(agent, _)| config.default_agent.as_deref() != Some(agent.alias()));
    agents.extend(found.map(|choice| {
        let title = format!("{}: {}", choice.alias, choice.title);
        (Agent::New(choice), title)
    }));
    if agents.is_empty() {
        asker.say("No agent was found; declare one later: `uwf setup --agent 'COMMAND ARGS'`.");
        return Ok(None);
    }
    let mut choices: Vec<Choice<'_>> =
        agents.iter().map(|(agent, title)| Choice { name: agent.alias(), title }).collect();
    choices.push(Choice { name: "none", title: "none for now" });
    let chosen = asker.choose("Which agent plays roles by default?", &choices)?;
    Ok(agents.into_iter().nth(chosen).map(|(agent, _)| agent))
}
