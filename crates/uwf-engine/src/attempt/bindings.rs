//! Which agent plays a role, by a person's choice or the configuration: an alias, or a command line.

use json_cas::nearest;
use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uwf_core::config::{self, OutputMode, UwfConfig};
use uwf_core::workflow::Workflow;

use crate::attempt::agents::{AgentSpec, BUILT_IN, BUILT_IN_PREFIX};
use crate::attempt::program::{self, ProgramFault};
use crate::attempt::redactor::SecretRedactor;
use crate::error::{Error, Result};

/// An agent as it was named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RecordedAgent", into = "RecordedAgent")]
pub struct AgentReference {
    /// An alias of the configuration, or a command line split as a shell splits.
    pub agent: String,
    /// The output of the command line, if given; for an alias the configuration has it.
    pub output: Option<OutputMode>,
}

/// An agent in a record: a text, unless it has an output mode.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum RecordedAgent {
    Plain(String),
    With { agent: String, output: OutputMode },
}

impl From<RecordedAgent> for AgentReference {
    fn from(written: RecordedAgent) -> AgentReference {
        match written {
            RecordedAgent::Plain(agent) => AgentReference { agent, output: None },
            RecordedAgent::With { agent, output } => AgentReference { agent, output: Some(output) },
        }
    }
}

impl From<AgentReference> for RecordedAgent {
    fn from(named: AgentReference) -> RecordedAgent {
        match named.output {
            None => RecordedAgent::Plain(named.agent),
            Some(output) => RecordedAgent::With { agent: named.agent, output },
        }
    }
}

/// The agents bound to a thread. They take precedence over the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentBindings {
    /// Agents of single roles.
    #[serde(default)]
    pub agents: BTreeMap<String, AgentReference>,
    /// Agent of all other roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_role: Option<AgentReference>,
}

impl AgentBindings {
    /// The agents for the child thread that the `config` of a workflow agent names.
    pub(crate) fn for_child(config: &Map<String, Value>) -> AgentBindings {
        let agents = config.get("agents").and_then(Value::as_object).into_iter().flatten();
        let named = agents.filter_map(|(role, agent)| Some((role.clone(), AgentReference::plain(agent.as_str()?))));
        AgentBindings { agents: named.collect(), every_role: None }
    }

    /// Whether each agent is a word without special characters, as most aliases are. A command line may contain a key.
    pub(crate) fn are_words(&self) -> bool {
        let is_plain = |symbol: char| symbol.is_ascii_alphanumeric() || "-_.".contains(symbol);
        let is_word = |agent: &AgentReference| agent.output.is_none() && agent.agent.chars().all(is_plain);
        self.agents.values().chain(&self.every_role).all(is_word)
    }

    /// Whether nothing is bound.
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty() && self.every_role.is_none()
    }

    /// The agent of a role.
    pub fn agent_for_role(&self, role: &str) -> Option<&AgentReference> {
        self.agents.get(role).or(self.every_role.as_ref())
    }

    /// These bindings with further ones added. A new binding for all roles replaces every earlier one.
    #[must_use]
    pub fn with(self, further: AgentBindings) -> AgentBindings {
        if further.every_role.is_some() {
            return further;
        }
        AgentBindings { agents: self.agents.into_iter().chain(further.agents).collect(), ..self }
    }

    /// These bindings without roles that no agent of this workflow plays.
    #[must_use]
    pub fn for_workflow(mut self, workflow: &Workflow) -> AgentBindings {
        let is_played = |role: &str| {
            workflow.roles.get(role).is_some_and(|role| role.more.play.is_none() && role.more.run.is_none())
        };
        self.agents.retain(|role, _| is_played(role));
        self
    }

    /// Rejects command lines that contain a secret.
    pub fn refuse_secrets(&self, redactor: &SecretRedactor) -> Result<()> {
        self.agents.values().chain(&self.every_role).try_for_each(|named| named.refuse_secret(redactor))
    }

    /// Checks that the workflow has each bound role, and that the agents exist. They will work in `dir`.
    ///
    /// # Errors
    /// `Usage` for a role, and the errors of [`AgentReference::spec`].
    pub fn check(&self, config: &UwfConfig, workflow: &Workflow, dir: &Path) -> Result<()> {
        for (role, agent) in &self.agents {
            if !workflow.roles.contains_key(role) {
                return Err(no_role(workflow, role)
                    .hints(nearest::did_you_mean(role, workflow.roles.keys().map(String::as_str))));
            }
            if let Some(own) = workflow.roles.get(role).map(|role| &role.more)
                && (own.run.is_some() || own.play.is_some())
            {
                let by = if own.run.is_some() { "its command" } else { "the roles of its group" };
                return Err(Error::usage(format!("role `{role}` is played by {by}, not by an agent")));
            }
            agent.spec(config, dir)?;
        }
        self.every_role.as_ref().map_or(Ok(()), |agent| agent.spec(config, dir).map(drop))
    }
}

/// Chooses the agent for a role: `--agent` of the step > bound to the thread > `agentOverrides` > `defaultAgent`. It
/// will work in `dir`.
///
/// # Errors
/// `Config` when none is configured or the chosen alias does not exist.
pub fn choose(
    config: &UwfConfig,
    bound: &AgentBindings,
    workflow: &str,
    role: &str,
    asked: Option<&AgentReference>,
    dir: &Path,
) -> Result<AgentSpec> {
    if let Some(named) = asked.or_else(|| bound.agent_for_role(role)) {
        return named.spec(config, dir);
    }
    let Some(alias) = config.agent_for(workflow, role) else {
        return Err(Error::config(format!("no agent is configured for role `{role}`"))
            .hint("set `defaultAgent` in config.yaml: `uwf setup`, or `uwf config set defaultAgent ALIAS`")
            .hint("or choose one for this thread: `--agent ALIAS`, or `--agent 'COMMAND ARGS'`"));
    };
    let agent = config.agent(alias).ok_or_else(|| unknown(config, alias))?;
    Ok(AgentSpec::new(alias, agent))
}

impl AgentReference {
    /// Rejects a command line that contains a secret: it would show up in the process list and in every record of the
    /// step.
    pub(crate) fn refuse_secret(&self, redactor: &SecretRedactor) -> Result<()> {
        match redactor.found_in(&self.agent) {
            None => Ok(()),
            Some(variable) => Err(Error::usage(format!("the agent's command line has the value of {variable} in it"))
                .hint(format!("leave it out and give the agent the variable: `env: [{variable}]` in config.yaml"))),
        }
    }

    /// An agent by its alias or command line.
    pub fn plain(agent: impl Into<String>) -> AgentReference {
        AgentReference { agent: agent.into(), output: None }
    }

    /// The agent that is meant. A command line prints a text, unless one of its words is a program `uwf-…`, which
    /// stores its step itself. Relative paths are below `dir`, where the agent will work.
    ///
    /// # Errors
    /// `Config` when it is neither an alias nor a program that can be started. `Usage` for an alias with an output
    /// mode, and for a text that is not a command line.
    pub fn spec(&self, config: &UwfConfig, dir: &Path) -> Result<AgentSpec> {
        let text = &self.agent;
        if let Some(agent) = config.agent(text) {
            if let Some(output) = self.output {
                let output = output.as_str();
                return Err(Error::usage(format!("`{text}` is an alias: --output belongs to a command line")).hint(
                    format!("config.yaml says what an alias prints: `uwf config set agents.{text}.output {output}`"),
                ));
            }
            return Ok(AgentSpec::new(text, agent));
        }
        let words = shlex::split(text).filter(|words| !words.is_empty()).ok_or_else(|| {
            Error::usage(format!("`{text}` is neither an agent alias nor a command line (unbalanced quotes?)"))
        })?;
        if let Err(why) = program::look_up(&words[0], dir)
            && !words[0].strip_prefix(BUILT_IN_PREFIX).is_some_and(|name| BUILT_IN.contains(&name))
        {
            return Err(match why {
                ProgramFault::Missing(_) => unknown(config, text),
                why => why.refusal(text),
            });
        }
        let output = self.output.unwrap_or_else(|| of_command_line(&words));
        let agent = config::AgentConfig { output, ..config::AgentConfig::from_command(&words[0], words[1..].to_vec()) };
        Ok(AgentSpec { is_word: words.len() == 1, ..AgentSpec::new(text, &agent) })
    }
}

/// The default output mode of a command line.
fn of_command_line(words: &[String]) -> OutputMode {
    if words.iter().any(|word| is_uwf_program(word)) { OutputMode::Step } else { OutputMode::Text }
}

/// Whether a word of a command line names a program that stores its step itself.
pub fn is_uwf_program(word: &str) -> bool {
    program::file_name(word).starts_with(BUILT_IN_PREFIX)
}

/// The error for a role that the workflow does not have.
pub(crate) fn no_role(workflow: &Workflow, role: &str) -> Error {
    Error::usage(format!("workflow `{}` has no role `{role}`", workflow.name))
}

fn unknown(config: &UwfConfig, alias: &str) -> Error {
    let error = Error::config(format!("unknown agent `{alias}`"));
    let known = || config.agents.keys().map(String::as_str);
    if BUILT_IN.contains(&alias) {
        return error.hint(format!("the built-in agent of that name is `{BUILT_IN_PREFIX}{alias}`"));
    }
    let built_in = BUILT_IN.map(|name| format!("{BUILT_IN_PREFIX}{name}"));
    let near = nearest::nearest(alias, known());
    if let Some(near) = near.or_else(|| nearest::nearest(alias, built_in.iter().map(String::as_str))) {
        return error.hint(format!("did you mean `{near}`?"));
    }
    let error = if config.agents.is_empty() {
        error.hint("config.yaml has no `agents`; you can also give a command line: `--agent 'COMMAND ARGS'`")
    } else {
        error.hint(format!("agents of config.yaml: {}", known().collect::<Vec<_>>().join(", ")))
    };
    error.hint("a program is found on PATH, or by a path relative to the thread's workspace")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn command_line_prints_text_unless_running_uwf_program() {
        let output = |line: &str| {
            AgentReference::plain(line).spec(&UwfConfig::default(), Path::new("/")).map(|spec| spec.output)
        };
        for (line, expected) in [
            ("sh agent.sh", "text"),
            ("uwf-mock", "step"),
            ("env A=1 uwf-mock", "step"),
            ("env /opt/some/uwf-thing --x", "step"),
            ("sh -c 'cat; echo uwf-mock'", "text"),
            ("sh my-uwf-like.sh", "text"),
        ] {
            assert_eq!(output(line).unwrap(), expected, "{line}");
        }
        let said = AgentReference { agent: "uwf-mock".to_owned(), output: Some(OutputMode::Json) };
        assert_eq!(said.spec(&UwfConfig::default(), Path::new("/")).unwrap().output, "json");
    }

    #[test]
    fn a_record_says_no_more_than_there_is() {
        let bindings = AgentBindings {
            agents: [("coder".to_owned(), AgentReference::plain("codex"))].into(),
            every_role: Some(AgentReference { agent: "cat".to_owned(), output: Some(OutputMode::Json) }),
        };
        let written = json!({"agents": {"coder": "codex"}, "everyRole": {"agent": "cat", "output": "json"}});
        assert_eq!(serde_json::to_value(&bindings).unwrap(), written);
        assert_eq!(serde_json::from_value::<AgentBindings>(written).unwrap(), bindings);
    }
}
