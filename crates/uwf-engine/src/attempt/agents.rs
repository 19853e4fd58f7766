//! An agent as a step runs it, and its command line.

mod account;
pub mod ask_program;
pub mod delegation;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uwf_core::agent_name::{AgentName, COMMAND_LINE};
use uwf_core::config::{self, EXTRACT, ExitMeaning, OutputMode, SandboxPolicy, UwfConfig};
use uwf_core::model_option;
use uwf_core::node;
use uwf_core::workflow::{GROUP_AGENT, RoleCommand};

use crate::attempt::program;
use crate::error::{Error, Result};
use crate::root::home::{Home, ROOT_VARIABLES};

/// Prefix of the commands that uwf itself provides if they are not on `PATH`.
pub const BUILT_IN_PREFIX: &str = "uwf-";

/// Names of the built-in agents.
pub const BUILT_IN: [&str; 11] =
    ["acp", "command", "cursor", "docx-diff", "hermes", "human", "llm", "mock", "office", "react", "workflow"];

/// Prefix of the protocol's variables.
const OWN_VARIABLES: &str = "UWF_";

/// The built-in agent that asks a person.
pub const HUMAN: &str = "human";

/// The built-in agent that runs a program and reads its output.
pub const COMMAND: &str = "command";

/// The built-in agent that runs a workflow.
pub const WORKFLOW: &str = "workflow";

/// The built-in agent for Cursor's command line.
pub const CURSOR: &str = "cursor";

/// The built-in agent that submits a kept text again. It cannot be configured.
pub const REEXTRACT: &str = "reextract";

/// The built-in agent for programs that speak the Agent Client Protocol.
pub const ACP: &str = "acp";

/// The built-in agent for hermes-agent.
pub const HERMES: &str = "hermes";

/// The built-in agent that plays a group. It cannot be configured.
pub const PLAY: &str = "play";

/// The built-in agent behind `output: exit`. It cannot be configured.
pub const EXIT: &str = "exit";

/// Exit codes of shells for a command that they cannot run.
const CANNOT_RUN: [u8; 2] = [126, 127];

/// Key in an agent's `config` for the format of its program's stdout, if that is a trace.
pub(crate) const TRACE_KEY: &str = "trace";

/// Key of an agent's `config` with the known program that it drives.
const PRESET_KEY: &str = "preset";

/// An agent as one attempt uses it. It is recorded with the attempt, so the agent process needs no configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSpec {
    /// Alias, or the command line as given.
    pub name: String,
    /// Program.
    pub command: String,
    /// Its arguments, with unfilled templates.
    pub args: Vec<String>,
    /// Its output mode: `step`, `json`, `text`, `exit`.
    pub output: String,
    /// Model alias.
    pub model: Option<String>,
    /// The version that the agent reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Secrets it receives.
    pub env: Vec<String>,
    /// Variables set for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Secrets that uwf needs when it is this agent's process: the keys of the agent's model and of the extraction
    /// model. Programs started inside don't get them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_keys: Vec<String>,
    /// Limit on the whole run, milliseconds.
    pub timeout_ms: Option<u64>,
    /// Limit on the time without output, milliseconds.
    pub idle_timeout_ms: Option<u64>,
    /// Exit codes and whether each counts as success. Pairs, because JSON keys cannot be numbers.
    pub exit_codes: Vec<(i32, bool)>,
    /// File that must exist after the run.
    pub expect_file: Option<String>,
    /// Settings the agent understands.
    pub config: Map<String, Value>,
    /// Hints of the role for it.
    #[serde(default, skip_serializing_if = "AgentHints::is_empty")]
    pub hints: AgentHints,
    /// Whether it is the command of a role: its arguments have no templates, and it gets no prompt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_role_command: bool,
    /// Whether it is a command line of one word, which is not an alias.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_word: bool,
    /// The sandbox of its program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxPolicy>,
    /// Its directory below the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// The hints of a role for its agent. An agent that can follow them does so unless its own settings say otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentHints {
    /// The model to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How much to think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
}

impl AgentHints {
    fn is_empty(&self) -> bool {
        *self == AgentHints::default()
    }
}

impl AgentSpec {
    /// The agent of an entry in `agents`.
    pub fn new(name: &str, agent: &config::AgentConfig) -> AgentSpec {
        let millis = |limit: Duration| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let mut exit_codes: Vec<(i32, bool)> =
            agent.exit_codes.iter().map(|(code, meaning)| (*code, *meaning == ExitMeaning::Ok)).collect();
        if agent.output == OutputMode::Exit {
            // As for a role with `run`. The configuration may say otherwise.
            let cannot_run = CANNOT_RUN.map(|code| (i32::from(code), false));
            exit_codes.extend(cannot_run.iter().filter(|(code, _)| !agent.exit_codes.contains_key(code)));
        }
        AgentSpec {
            name: name.to_owned(),
            command: agent.command.clone(),
            args: agent.args.clone(),
            output: agent.output.as_str().to_owned(),
            model: agent.model.clone(),
            version: None,
            env: agent.env.clone(),
            set: agent.set.clone(),
            own_keys: Vec::new(),
            timeout_ms: agent.timeout.map(millis),
            idle_timeout_ms: agent.idle_timeout.map(millis),
            exit_codes,
            expect_file: agent.expect_file.clone(),
            config: agent.config.as_object().cloned().unwrap_or_default(),
            hints: AgentHints::default(),
            is_role_command: false,
            is_word: false,
            sandbox: agent.sandbox.clone(),
            cwd: None,
        }
    }

    /// The agent that plays a group.
    pub(crate) fn of_group() -> AgentSpec {
        let agent = config::AgentConfig::from_command(GROUP_AGENT, Vec::new());
        AgentSpec { idle_timeout_ms: None, ..AgentSpec::new(GROUP_AGENT, &agent) }
    }

    /// The command that plays a role.
    pub(crate) fn of_command(run: &RoleCommand) -> AgentSpec {
        let mut words = run.words().into_iter();
        let agent = config::AgentConfig::from_command(words.next().unwrap_or_default(), words.collect());
        let fails = run.fails.as_deref().unwrap_or(&CANNOT_RUN);
        AgentSpec {
            output: OutputMode::Exit.as_str().to_owned(),
            set: run.env.clone(),
            idle_timeout_ms: None,
            exit_codes: fails.iter().map(|code| (i32::from(*code), false)).collect(),
            is_role_command: true,
            is_word: agent.args.is_empty(),
            cwd: run.cwd.clone(),
            ..AgentSpec::new(&run.command, &agent)
        }
    }

    /// An agent as recorded in a trace, which has no limits.
    pub fn recorded(agent: node::AgentNode) -> AgentSpec {
        let mut config = agent.config;
        let output = config.shift_remove("output").and_then(|output| output.as_str().map(str::to_owned));
        let is_word = config.shift_remove(COMMAND_LINE).is_some();
        AgentSpec {
            is_word,
            name: agent.name,
            args: agent.args,
            output: output.unwrap_or_else(|| OutputMode::Step.as_str().to_owned()),
            model: agent.model,
            version: agent.version,
            config,
            ..AgentSpec::new("", &config::AgentConfig::from_command(agent.command, Vec::new()))
        }
    }

    /// Whether both are the same agent. Versions are ignored: they change with every update of uwf or of the program.
    pub(crate) fn is_same(&self, other: &AgentSpec) -> bool {
        let unversioned = |spec: &AgentSpec| AgentSpec { version: None, ..spec.clone() };
        unversioned(self) == unversioned(other)
    }

    /// Its names in reports.
    pub fn names(&self) -> AgentName {
        if self.is_word {
            return AgentName { alias: None, agent: self.command.clone() };
        }
        AgentName::new(&self.name, &self.command, &self.args)
    }

    /// Its output mode.
    pub fn output_mode(&self) -> OutputMode {
        OutputMode::named(&self.output).unwrap_or_default()
    }

    /// Whether an exit code means success.
    pub fn succeeded(&self, code: i32) -> bool {
        self.exit_codes.iter().find(|(known, _)| *known == code).map_or(code == 0, |(_, succeeded)| *succeeded)
    }

    /// The node that represents it in traces.
    pub fn payload(&self) -> node::AgentNode {
        let mut config = self.config.clone();
        if self.output != OutputMode::Step.as_str() {
            config.insert("output".to_owned(), Value::from(self.output.as_str()));
        }
        if self.is_word {
            config.insert(COMMAND_LINE.to_owned(), Value::Bool(true));
        }
        node::AgentNode {
            name: self.name.clone(),
            command: self.command.clone(),
            args: self.args.clone(),
            config,
            version: self.version.clone(),
            model: self.model.clone().or_else(|| self.hinted_model()),
        }
    }

    /// The model of the role that its program is given.
    fn hinted_model(&self) -> Option<String> {
        let is_followed =
            model_option::is_known(&self.command) && model_option::in_arguments(&self.command, &self.args).is_none();
        self.hints.model.clone().filter(|_| is_followed)
    }

    /// The built-in agent that its command names, if no such program is on `PATH` or the program is a link to this one.
    pub fn built_in(&self) -> Option<&str> {
        built_in(&self.command)
    }

    /// Whether its command is the built-in agent of this name, even if that is installed on `PATH`.
    pub fn is_built_in(&self, name: &str) -> bool {
        program::file_name(&self.command).strip_prefix(BUILT_IN_PREFIX) == Some(name)
    }

    /// Whether uwf is the agent process, runs the command, and records the result.
    pub fn is_wrapped(&self) -> bool {
        self.output_mode() != OutputMode::Step && self.built_in().is_none()
    }

    /// The built-in agent that runs as its process: its command names that agent, or that agent wraps its program.
    /// `None` for a program that implements the agent protocol itself.
    pub fn played_by(&self) -> Option<&str> {
        self.built_in().or(match self.output_mode() {
            OutputMode::Step => None,
            OutputMode::Exit => Some(EXIT),
            OutputMode::Json | OutputMode::Text => Some(COMMAND),
        })
    }

    /// Whether its program logs the usage limits that it waits for silently.
    pub(crate) fn logs_limits(&self) -> bool {
        [TRACE_KEY, PRESET_KEY].iter().any(|key| self.config.get(*key).is_some_and(|name| name == "opencode"))
    }

    /// Whether uwf knows how its program words its notices: one of the known agents, or a built-in agent.
    fn has_known_notices(&self) -> bool {
        let name = program::file_name(&self.command);
        self.built_in().is_some() || model_option::is_known(name) || name == "hermes"
    }

    /// Adds to an error what the last words of its program say about the failure.
    pub fn with_last_words(&self, error: Error, text: &str) -> Error {
        match self.has_known_notices() {
            true => error.with_last_words(text),
            false => error.with_last_words_of_unknown(text),
        }
    }

    /// Adds to an error what its program says about the failure among the work that it printed.
    pub fn with_last_printed(&self, error: Error, text: &str) -> Error {
        match self.has_known_notices() {
            true => error.with_last_printed(text),
            false => error.with_last_printed_of_unknown(text),
        }
    }

    /// Whether it asks a model of the configuration.
    pub(crate) fn asks_model(&self) -> bool {
        matches!(self.built_in(), Some("llm" | "react"))
    }

    /// The variables set for its program, without those that uwf and its agents use among themselves.
    pub fn variables(&self) -> impl Iterator<Item = (&String, &String)> {
        self.set.iter().filter(|(name, _)| !is_own_variable(OsStr::new(name)))
    }

    /// Whether child threads play its roles: one for a workflow, one for each branch of a group.
    pub fn plays_by_threads(&self) -> bool {
        self.is_built_in(WORKFLOW) || self.is_built_in(PLAY)
    }

    /// Whether its process is uwf, starting the keepers of another thread. It needs the shared store as they do, and
    /// runs nothing that an agent chose.
    pub(crate) fn holds_store(&self) -> bool {
        matches!(self.built_in(), Some(WORKFLOW | PLAY))
    }

    /// Whether it contains a third-party program, which may miss a secret that it was not given.
    pub(crate) fn runs_a_program(&self) -> bool {
        !matches!(self.built_in(), Some("human" | "llm" | "mock" | "play" | "react" | "workflow"))
    }

    /// Why a sandbox cannot hold it, if it has one. uwf puts only programs into a sandbox that it starts itself.
    ///
    /// # Errors
    /// `Config`.
    pub fn check_sandbox(&self) -> Result<()> {
        if self.sandbox.is_none() {
            return Ok(());
        }
        let why = match self.played_by() {
            Some(EXIT | COMMAND | CURSOR | HERMES | ACP) => return Ok(()),
            Some(name @ ("llm" | "react")) => format!("the built-in agent `{name}` works in a process of uwf"),
            Some(name @ ("office" | "docx-diff")) => {
                format!("the built-in agent `{name}` writes into the storage root")
            }
            Some(name) => format!("the built-in agent `{name}` runs no program"),
            None => "its program stores its steps itself (`output: step`)".to_owned(),
        };
        let error = Error::config(format!("agent `{}` cannot have a sandbox: {why}", self.name));
        Err(match self.played_by() {
            None => error.hint("let it print its answer: `output: text` or `output: json`"),
            Some(_) => error.hint("remove `sandbox`, or choose an agent that runs a program"),
        })
    }

    /// Whether uwf can read turns that the agent did not record itself, from its program's output or from the session
    /// the program keeps.
    pub(crate) fn leaves_trace(&self) -> bool {
        match self.built_in() {
            Some(name) => matches!(name, CURSOR | HERMES),
            None => self.is_wrapped() && self.config.contains_key(TRACE_KEY),
        }
    }

    /// The command line of the agent process: for `output: step` the program itself, otherwise uwf, which wraps the
    /// program.
    pub(crate) fn command_line(&self, bin: &Path, thread: &str, role: &str) -> Vec<String> {
        match self.played_by() {
            Some(name) => built_in_command_line(bin, name, thread, role),
            None => {
                let program = std::iter::once(&self.command).chain(&self.args).cloned();
                program.chain([thread.to_owned(), role.to_owned()]).collect()
            }
        }
    }
}

/// Whether uwf and its agents use this variable among themselves.
pub(crate) fn is_own_variable(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(OWN_VARIABLES) || ROOT_VARIABLES.contains(&name))
}

/// The built-in agent that a command names, if no such program is on `PATH` or the program is a link to this one.
pub fn built_in(command: &str) -> Option<&str> {
    let name = program::file_name(command).strip_prefix(BUILT_IN_PREFIX)?;
    match program::find(command) {
        Some(file) => (BUILT_IN.contains(&name) && program::is_own(&file)).then_some(name),
        None => (name.len() + BUILT_IN_PREFIX.len() == command.len()).then_some(name),
    }
}

/// The command line that runs a built-in agent.
pub(crate) fn built_in_command_line(bin: &Path, name: &str, thread: &str, role: &str) -> Vec<String> {
    let bin = bin.to_string_lossy().into_owned();
    [&bin, "agent", "run", name, thread, role].map(str::to_owned).into()
}

/// Variables with the keys that uwf needs when it is the agent's process: the key of a built-in agent's model, and the
/// key of the extraction model. Empty for an agent that is its own program.
pub(crate) fn own_keys(config: &UwfConfig, spec: &AgentSpec) -> Vec<String> {
    let is_built_in = spec.built_in().is_some();
    let own = spec.model.as_deref().or(config.default_model.as_deref()).filter(|_| is_built_in);
    let own = own.and_then(|alias| model_key(config, alias));
    let extracting = extraction_key(config).filter(|_| is_built_in || spec.is_wrapped());
    // uwf puts them into requests.
    let of_sandbox = spec.sandbox.iter().flat_map(|sandbox| sandbox.secrets.keys().map(String::as_str));
    let mut keys: Vec<String> = own.into_iter().chain(extracting).chain(of_sandbox).map(str::to_owned).collect();
    keys.dedup();
    keys
}

/// Variables with the secrets that the steps of a child thread may need: secrets of the configured agents, and keys of
/// the models that agents and advisors use.
pub fn keys_of_all(config: &UwfConfig) -> Vec<String> {
    let of_agents = config.agents.iter().flat_map(|(name, agent)| {
        let spec = AgentSpec::new(name, agent);
        own_keys(config, &spec).into_iter().chain(spec.env)
    });
    let models = config.model_overrides.values().flatten().chain(&config.default_model);
    let of_models = models.filter_map(|alias| model_key(config, alias)).map(str::to_owned);
    let keys: BTreeSet<String> = of_agents.chain(of_models).chain(extraction_key(config).map(str::to_owned)).collect();
    keys.into_iter().collect()
}

/// The variable that holds the key of the extraction model.
pub(crate) fn extraction_key(config: &UwfConfig) -> Option<&str> {
    model_key(config, config.model_for(EXTRACT)?)
}

/// The variable that holds the key of a model, by the model's alias.
pub(crate) fn model_key<'c>(config: &'c UwfConfig, alias: &str) -> Option<&'c str> {
    let model = config.models.get(alias)?;
    config.providers.get(&model.provider)?.api_key_env.as_deref()
}

/// The variables that give the programs of an attempt their thread, role and storage root.
pub(crate) fn protocol_variables(home: &Home, thread: &str, role: &str, attempt: &str) -> [(OsString, OsString); 6] {
    [
        ("UWF_THREAD".into(), thread.into()),
        ("UWF_ROLE".into(), role.into()),
        ("UWF_STORE".into(), home.root().join("cas").into()),
        ("UWF_BIN".into(), home.bin().into()),
        ("UWF_ATTEMPT".into(), attempt.into()),
        (ROOT_VARIABLES[0].into(), home.root().into()),
    ]
}
