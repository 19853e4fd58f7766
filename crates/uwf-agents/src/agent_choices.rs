//! Agents a person can choose from, with the `config.yaml` entry of each.

pub mod command_permission;

use durable_files::regular;
use serde_json::{Value, json};
use uwf_core::config::{AgentConfig, UwfConfig};
use uwf_core::model_option;
use uwf_engine::attempt::agents::BUILT_IN_PREFIX;
use uwf_engine::attempt::program;

use crate::trace::codex_session::codex_home;

const CODEX: &str = "codex";

/// An agent available on this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentChoice {
    /// Its alias.
    pub alias: String,
    /// Its title for people.
    pub title: String,
    /// Its entry in `agents`, an object.
    pub entry: Value,
    /// Whether it needs a configured model.
    pub needs_model: bool,
}

/// A way to run a known agent.
struct KnownAgentEntry {
    alias: &'static str,
    title: &'static str,
    /// Program that must be on `PATH`, unless the agent is entirely built in.
    program: Option<&'static str>,
    /// Built-in agent that drives it.
    built_in: Option<&'static str>,
    /// Arguments of a program without a built-in agent.
    args: &'static [&'static str],
    /// Preset of the built-in agent.
    preset: Option<&'static str>,
}

const KNOWN: [KnownAgentEntry; 10] = [
    driven("hermes", "Hermes", "hermes", "hermes", None),
    driven("cursor", "Cursor", "cursor-agent", "cursor", None),
    plain(CODEX, "Codex", &["exec", "--json", "--skip-git-repo-check", "--sandbox", "workspace-write", "-"]),
    plain(
        "claude",
        "Claude Code",
        &["-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits"],
    ),
    driven("gemini", "Gemini CLI", "gemini", "acp", Some("gemini")),
    plain("gemini", "Gemini CLI", &["--yolo", "--output-format", "stream-json"]),
    driven("opencode", "opencode", "opencode", "acp", Some("opencode")),
    plain("opencode", "opencode", &["run", "--format", "json", "--print-logs", "--log-level", "ERROR", "{prompt}"]),
    own("react", "built in: a model with tools for files and a shell"),
    own("llm", "built in: one answer of a model, without tools"),
];

/// A program that prints its events. The format of its trace is named after it.
const fn plain(program: &'static str, title: &'static str, args: &'static [&'static str]) -> KnownAgentEntry {
    KnownAgentEntry { alias: program, title, program: Some(program), built_in: None, args, preset: None }
}

const fn driven(
    alias: &'static str,
    title: &'static str,
    program: &'static str,
    built_in: &'static str,
    preset: Option<&'static str>,
) -> KnownAgentEntry {
    KnownAgentEntry { alias, title, program: Some(program), built_in: Some(built_in), args: &[], preset }
}

const fn own(name: &'static str, title: &'static str) -> KnownAgentEntry {
    KnownAgentEntry { alias: name, title, program: None, built_in: Some(name), args: &[], preset: None }
}

/// The agents available here: first programs found on `PATH`, then built-in agents.
pub fn available() -> Vec<AgentChoice> {
    let mut found: Vec<AgentChoice> = Vec::new();
    for known in KNOWN.iter().filter(|known| known.works()) {
        // The first way to run an agent is the best.
        if !found.iter().any(|choice| choice.alias == known.alias) {
            found.push(known.choice());
        }
    }
    found
}

/// The agent that a user's text names: one of [`available`], a built-in one, or a command line. `None` if it names nothing runnable.
pub fn named(text: &str) -> Option<AgentChoice> {
    let name = text.strip_prefix(BUILT_IN_PREFIX).unwrap_or(text);
    if let Some(choice) = available().into_iter().find(|choice| choice.alias == name) {
        return Some(choice);
    }
    if crate::NAMES.contains(&name) {
        return Some(own_choice(name, format!("built in: {name}")));
    }
    let words = shlex::split(text)?;
    let (command, args) = words.split_first()?;
    program::find(command)?;
    let alias = command.rsplit('/').next().unwrap_or(command).to_owned();
    let entry = json!({"command": command, "args": args, "output": "text"});
    Some(AgentChoice { title: text.to_owned(), alias, entry, needs_model: false })
}

fn own_choice(name: &str, title: String) -> AgentChoice {
    let entry = json!({"command": format!("{BUILT_IN_PREFIX}{name}")});
    AgentChoice { alias: name.to_owned(), title, entry, needs_model: matches!(name, "react" | "llm") }
}

impl AgentChoice {
    /// The entry as the configuration reads it.
    pub fn config(&self) -> Option<AgentConfig> {
        let file = json!({"agents": {&self.alias: self.entry}}).to_string();
        UwfConfig::parse(&file, "config.json").0.agents.remove(&self.alias)
    }

    /// Whether its program takes the name of a model.
    pub fn takes_model(&self) -> bool {
        self.entry["command"].as_str().is_some_and(model_option::is_known) || self.takes_model_over_acp()
    }

    /// Whether it is gemini over ACP, whose model is an argument. opencode has it only in its own configuration.
    fn takes_model_over_acp(&self) -> bool {
        self.entry["config"]["preset"] == "gemini"
    }

    /// The program's own name of the model it uses; `None` if that is unknown.
    pub fn model(&self) -> Option<&str> {
        self.entry["model"].as_str()
    }

    /// The same agent with this model.
    #[must_use]
    pub fn with_model(mut self, model: &str) -> AgentChoice {
        if self.takes_model_over_acp() {
            self.entry["args"] = json!([model_option::LONG, model]);
        } else {
            self.entry["model"] = Value::from(model);
        }
        self
    }

    /// Whether the cost of its runs is unknown unless its model is known.
    pub fn lacks_model(&self) -> bool {
        self.entry["command"] == CODEX && self.model().is_none()
    }
}

impl KnownAgentEntry {
    fn works(&self) -> bool {
        let is_there = self.program.is_none_or(|program| program::find(program).is_some());
        is_there && self.built_in.is_none_or(|name| crate::NAMES.contains(&name))
    }

    fn choice(&self) -> AgentChoice {
        match (self.program, self.built_in) {
            (None, Some(name)) => own_choice(name, self.title.to_owned()),
            (program, Some(name)) => {
                let mut entry = json!({"command": format!("{BUILT_IN_PREFIX}{name}")});
                if let Some(preset) = self.preset {
                    entry["config"] = json!({"preset": preset});
                }
                self.with(entry, program)
            }
            (program, None) => {
                let config = json!({"trace": self.alias});
                let mut entry = json!({"command": program, "args": self.args, "output": "text", "config": config});
                if let Some(model) = program.filter(|program| *program == CODEX).and_then(|_| codex_model()) {
                    entry["model"] = Value::from(model);
                }
                self.with(entry, program)
            }
        }
    }

    fn with(&self, entry: Value, program: Option<&str>) -> AgentChoice {
        let place =
            program.and_then(program::find).map(|program| format!(" ({})", program.display())).unwrap_or_default();
        AgentChoice { alias: self.alias.to_owned(), title: format!("{}{place}", self.title), entry, needs_model: false }
    }
}

/// The model in codex's own configuration. Codex doesn't report which model it used, so without it the cost is unknown.
fn codex_model() -> Option<String> {
    let text = regular::read_to_string(&codex_home()?.join("config.toml"), regular::MAX_TEXT).ok()?;
    top_level_model(&text)
}

/// The top-level `model` of a TOML file.
fn top_level_model(text: &str) -> Option<String> {
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with('['));
    let mut values = lines.filter_map(|line| line.strip_prefix("model")?.trim_start().strip_prefix('='));
    let value = values.next()?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let model = value[1..].split_once(quote)?.0;
    (!model.is_empty() && !model.contains('\\')).then(|| model.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_a_valid_configuration() {
        for known in &KNOWN {
            let choice = known.choice();
            let file = json!({"agents": {&choice.alias: choice.entry}}).to_string();
            let (config, problems) = uwf_core::config::UwfConfig::parse(&file, "config.json");
            assert_eq!(problems, [], "{file}");
            let built_in = crate::describe::describe(known.built_in.unwrap_or("command")).unwrap();
            let schema = json_cas::CompiledSchema::compile(&built_in.config_schema).unwrap();
            assert_eq!(schema.violations(&config.agents[&choice.alias].config), [], "{file}");
        }
    }

    #[test]
    fn top_level_model_is_read_from_toml() {
        let model = |text: &str| super::top_level_model(text);
        let big = Some("big".to_owned());
        assert_eq!(model("# mine\nmodel_provider = \"x\"\n model = \"big\" # fast\n"), big);
        assert_eq!(model("model='big'\n[profiles.o]\nmodel = \"other\"\n"), big);
        assert_eq!(model("[profiles.o]\nmodel = \"other\"\n"), None, "only of a profile");
        assert_eq!(
            [model(""), model("model = 5"), model("model = \"\""), model("model = \"open")],
            [None, None, None, None]
        );
    }

    #[test]
    fn agent_name_resolves_to_builtin_or_command_line() {
        assert_eq!(named("mock").map(|choice| choice.entry), Some(json!({"command": "uwf-mock"})));
        assert_eq!(named("uwf-mock").map(|choice| choice.alias), Some("mock".to_owned()));
        let sh = named("/bin/sh -c 'exit 0'").unwrap();
        assert_eq!(
            (sh.alias.as_str(), sh.entry),
            ("sh", json!({"command": "/bin/sh", "args": ["-c", "exit 0"], "output": "text"}))
        );
        assert_eq!(named("no-such-program-anywhere --x"), None);
        assert_eq!(named("'unbalanced"), None);
    }
}
