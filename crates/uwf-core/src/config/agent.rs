//! How to run an agent.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::limits::DEFAULT_IDLE_TIMEOUT;
use super::retry::RetryPolicy;
use super::sandbox::SandboxPolicy;

/// One entry of `agents`.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentConfig {
    /// `command`: the program, a name on `PATH` or a path.
    pub command: String,
    /// `args`: arguments before those that the protocol adds. They can contain `{thread}`, `{role}`, `{prompt}`.
    pub args: Vec<String>,
    /// `output`: the form of its stdout.
    pub output: OutputMode,
    /// `model`: its model, an alias of `models` or a name that the program knows.
    pub model: Option<String>,
    /// `env`: names of the secrets it gets; in a mapping, those without a value.
    pub env: Vec<String>,
    /// `env`: variables set for it, if `env` is a mapping.
    pub set: BTreeMap<String, String>,
    /// `timeout`: limit on the whole run; `None` for no limit.
    pub timeout: Option<Duration>,
    /// `idleTimeout`: limit on a time without output. `None` (written `0`) means no limit; the default is [`DEFAULT_IDLE_TIMEOUT`].
    pub idle_timeout: Option<Duration>,
    /// `max`: most of its processes at work on this machine at the same time; unlimited by default.
    pub max: Option<u32>,
    /// `exitCodes`: exit status → meaning, where it differs from 0 = ok and anything else = failed.
    pub exit_codes: BTreeMap<i32, ExitMeaning>,
    /// `expectFile`: a path, relative to the workspace, that must exist after the run.
    pub expect_file: Option<String>,
    /// `config`: settings for the agent itself; always an object.
    pub config: Value,
    /// `retry`: when it tries again after a failed attempt.
    pub retry: RetryPolicy,
    /// `fallback`: the agent that plays its roles while it is at a usage limit, or after its last attempt.
    pub fallback: Option<String>,
    /// `sandbox`: the files and hosts that its program reaches; `None` for all.
    pub sandbox: Option<SandboxPolicy>,
    /// `describe`: its own description, or whether to ask its program for one; see [`AgentDescriptionSource`].
    pub describe: Option<AgentDescriptionSource>,
}

/// The argument that asks an agent's program for its description.
pub const DESCRIBE_ARGUMENT: &str = "--uwf-describe";

/// `describe` of an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentDescriptionSource {
    /// Whether to ask its program, with `--uwf-describe`.
    Asked(bool),
    /// The description itself.
    Given(AgentDescription),
}

/// An agent's description of itself. Every field is optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(deny_unknown_fields)]
pub struct AgentDescription {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its capabilities, as words that roles and programs can ask for.
    pub capabilities: Vec<String>,
    /// JSON Schema of the `config` it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_schema: Option<Value>,
}

/// The form of an agent's stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputMode {
    /// The hash of the `StepNode` it wrote, as the last line.
    #[default]
    Step,
    /// The structured output as one JSON value.
    Json,
    /// Markdown with frontmatter.
    Text,
    /// Anything: the output is the exit code and the end of what was printed.
    Exit,
}

/// The meaning of an agent's exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExitMeaning {
    /// The run counts as a success.
    Ok,
    /// The run counts as a failure.
    Fail,
}

impl AgentConfig {
    /// An agent from a command line, with defaults for everything else.
    #[must_use]
    pub fn from_command(command: impl Into<String>, args: Vec<String>) -> AgentConfig {
        AgentConfig {
            command: command.into(),
            args,
            output: OutputMode::default(),
            model: None,
            env: Vec::new(),
            set: BTreeMap::new(),
            timeout: None,
            idle_timeout: Some(DEFAULT_IDLE_TIMEOUT),
            max: None,
            retry: RetryPolicy::default(),
            fallback: None,
            exit_codes: BTreeMap::new(),
            expect_file: None,
            config: Value::Object(Map::new()),
            sandbox: None,
            describe: None,
        }
    }

    /// The meaning of the exit status `code` for this agent.
    #[must_use]
    pub fn meaning(&self, code: i32) -> ExitMeaning {
        match self.exit_codes.get(&code) {
            Some(meaning) => *meaning,
            None if code == 0 => ExitMeaning::Ok,
            None => ExitMeaning::Fail,
        }
    }
}

impl OutputMode {
    /// All modes, in the order of the documentation.
    pub const ALL: [OutputMode; 4] = [OutputMode::Step, OutputMode::Json, OutputMode::Text, OutputMode::Exit];

    /// The mode with this name in `config.yaml`.
    #[must_use]
    pub fn named(name: &str) -> Option<OutputMode> {
        OutputMode::ALL.into_iter().find(|mode| mode.as_str() == name)
    }

    /// Its name in `config.yaml`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            OutputMode::Step => "step",
            OutputMode::Json => "json",
            OutputMode::Text => "text",
            OutputMode::Exit => "exit",
        }
    }
}
