//! `uwf setup`

mod answers;
mod flags;
mod proof;
mod questions;

use serde::Serialize;
use uwf_core::config::UwfConfig;
use uwf_engine::root::{config_file, env_file};

use crate::ask::TerminalAsker;
use crate::commands::config::validate::problems_of;
use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;
use answers::{SetupAgent, SetupAnswers, SetupProviderKey};
use proof::ModelTestReply;

/// Arguments of `uwf setup`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf setup                                                 asks for everything
  uwf setup --provider openai --model gpt-4o-mini --api-key - < key.txt
  uwf setup --provider anthropic --model claude-sonnet-4-5 --api-key-env ANTHROPIC_API_KEY
  uwf setup --provider here --base-url http://localhost:8080/v1 --model qwen3 --agent react
  uwf setup --agent codex                                   only the agent; it brings its own model
  uwf setup --may-run-commands yes                          for all agents in config.yaml
  uwf setup --agent codex --model gpt-5-codex               the agent, and the model it is run with

Providers: openai, anthropic, openrouter, deepseek, gemini, mistral, xai, groq, ollama, lmstudio; any other with
--base-url. The key goes into .env of the storage root, everything else into config.yaml, whose comments stay. If the
test call fails, nothing is written: exit 78.")]
pub(crate) struct Args {
    /// Name of the provider.
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Its API, as its documentation gives it; most end in /v1.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// API of the provider, if its URL does not identify it.
    #[arg(long, value_name = "KIND", value_parser = ["openai", "anthropic"])]
    kind: Option<String>,
    /// The key; `-` reads it from stdin. If you give the key itself here, every user of the machine can see it.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    api_key: Option<String>,
    /// Variable of the key: the one it is in already, or the one --api-key is stored as.
    #[arg(long, value_name = "VARIABLE")]
    api_key_env: Option<String>,
    /// The provider's name of the model; without a provider, the model of the agent.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Default agent: an alias, a built-in agent, codex, claude, hermes … or a command line.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Whether agents may run commands, such as your tests: written to each agent as its program needs it.
    #[arg(long, value_name = "YES|NO", value_parser = ["yes", "no"])]
    may_run_commands: Option<String>,
    /// Do not test the model with a call.
    #[arg(long)]
    no_check: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SetupReport {
    config_path: String,
    env_path: String,
    /// Absent if no model was set up.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    model: Option<SetupModelReport>,
    /// Alias of the default agent; null without one.
    default_agent: Option<String>,
    /// Whether agents may run commands; absent if that was not decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    may_run_commands: Option<bool>,
    /// Agents for which that answer does not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    undecided: Vec<String>,
    /// Whether the configuration or the key changed.
    changed: bool,
    /// The result of the test call; null without one.
    proof: Option<ModelTestReply>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SetupModelReport {
    provider: String,
    /// The provider's name of the model.
    model: String,
    /// Its alias in the configuration.
    model_alias: String,
    base_url: String,
    /// Variable with the key; null for a provider that needs none.
    api_key_env: Option<String>,
}

impl CommandReport for SetupReport {
    fn text(&self) -> String {
        let mut text = String::new();
        if let Some(SetupModelReport { model_alias: alias, model: name, provider, .. }) = &self.model {
            text.push_str(&format!("model {}: {name} of {provider}\n", style::bold(alias)));
        }
        if let Some(proof) = &self.proof {
            text.push_str(&format!("{} {}\n", style::green("✓"), proof.line()));
        }
        match &self.default_agent {
            Some(agent) => text.push_str(&format!("default agent: {}\n", style::bold(agent))),
            None => text.push_str("no default agent; `uwf setup --agent AGENT` sets one\n"),
        }
        let answer = self.may_run_commands.map(|may_run| if may_run { "may" } else { "may not" });
        if let Some(answer) = answer {
            let undecided = self.undecided.join(", ");
            let except = if undecided.is_empty() {
                String::new()
            } else {
                format!(", except {undecided}, which uwf can't configure")
            };
            text.push_str(&format!("agents {answer} run commands{except}\n"));
        }
        if self.may_run_commands == Some(false) {
            text.push_str("to change that: `uwf setup --may-run-commands yes`\n");
        }
        let written = if self.changed { "written to" } else { "nothing new for" };
        text.push_str(&format!("{written} {}\n", self.config_path));
        text
    }
}

/// The existing setup.
struct CurrentSetup<'k> {
    config: &'k UwfConfig,
    env_file: &'k [(String, String)],
}

impl CurrentSetup<'_> {
    /// The value of a variable, as agents see it.
    fn variable(&self, name: &str) -> Option<String> {
        env_file::value_of(name, self.env_file)
    }
}

/// Sets up a model and a default agent.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let config = context.home.config()?;
    let env_file = env_file::read(&context.home.env_file())?;
    let known = CurrentSetup { config: &config, env_file: &env_file };
    if args.is_given() {
        let answers = flags::answers(&known, args)?;
        let proof = answers.model.as_ref().filter(|_| !args.no_check).map(|model| proof::prove(context.printer, model));
        return save(context, &known, answers, proof.transpose()?);
    }
    if !TerminalAsker::has_person() {
        return Err(nobody_to_ask());
    }
    let (answers, proof) = questions::answers(context.printer, &known, args.no_check)?;
    save(context, &known, answers, proof)
}

impl Args {
    /// Whether a flag sets something, so that no question is asked.
    fn is_given(&self) -> bool {
        let Args { provider, base_url, kind, api_key, api_key_env, model, agent, may_run_commands, .. } = self;
        let texts = [provider, base_url, kind, api_key, api_key_env, model, agent, may_run_commands];
        texts.into_iter().any(Option::is_some)
    }
}

fn nobody_to_ask() -> CommandError {
    CommandError::usage("uwf needs a terminal to ask questions")
        .hint("uwf setup --provider NAME --model NAME [--base-url URL] [--api-key - | --api-key-env VARIABLE] [--agent AGENT] [--may-run-commands yes|no] [--no-check]")
        .hint("`uwf setup --help` has examples")
}

/// Writes the answers. Every check comes before the first write, so rejected answers change nothing.
fn save(
    context: &CommandContext,
    known: &CurrentSetup<'_>,
    answers: SetupAnswers,
    proof: Option<ModelTestReply>,
) -> CommandResult {
    let home = &context.home;
    let (changes, alias) = answers.changes(known.config);
    let judge = |text: &str| problems_of(home, text);
    config_file::preview(home, &changes, &judge)?;
    let mut changed = false;
    if let Some(SetupProviderKey::New { variable, value }) = answers.model.as_ref().map(|model| &model.key) {
        changed |= env_file::set(home, variable, value.reveal())?;
        if std::env::var(variable).is_ok_and(|other| !other.is_empty() && other != value.reveal()) {
            let message = format!("{variable} has another value in this environment, which wins over the one in .env");
            context.printer.warn(&message);
        }
    }
    let configured = config_file::change(home, &changes, &judge)?;
    let undecided = answers.undecided(known.config);
    undecided.iter().for_each(|(_, why)| context.printer.warn(why));
    if answers.may_run_commands == Some(false) {
        answers.lost_without_commands(known.config).iter().for_each(|lost| context.printer.warn(lost));
    }
    let may_run_commands = answers.may_run_commands;
    for problem in &configured.warnings {
        context.printer.warn(&problem.message);
    }
    changed |= configured.changed;
    if let Some(SetupAgent::New(choice)) = &answers.agent
        && choice.lacks_model()
    {
        let alias = &choice.alias;
        let key = format!("`uwf config set agents.{alias}.model NAME`");
        context
            .printer
            .warn(&format!("{alias} does not say which model it uses, so its cost is unknown: {key} names one"));
    }
    let agent = answers.agent.as_ref().map(|agent| agent.alias().to_owned()).or(known.config.default_agent.clone());
    let model = answers.model.zip(alias).map(|(model, alias)| SetupModelReport {
        model_alias: alias,
        api_key_env: model.key.variable().map(str::to_owned),
        model: model.name,
        provider: model.provider,
        base_url: model.base_url,
    });
    let config_path = home.config_file().display().to_string();
    let env_path = home.env_file().display().to_string();
    PrintableReport::new(&SetupReport {
        config_path,
        env_path,
        model,
        default_agent: agent,
        may_run_commands,
        undecided: undecided.into_iter().map(|(alias, _)| alias).collect(),
        changed,
        proof,
    })
}
