//! `--agent` and `--output`, for every command that binds agents to a thread.

use std::collections::BTreeMap;
use std::str::FromStr;

use clap_complete::engine::ArgValueCompleter;
use uwf_core::config::{OutputMode, UwfConfig};
use uwf_engine::attempt::bindings::{AgentBindings, AgentReference};

use crate::complete;
use crate::error::CommandError;

/// Agents a thread is bound to.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct AgentArgs {
    /// Agent for every role, or for one role (ROLE=AGENT): an alias, or a command line. Can be given several times.
    #[arg(long = "agent", value_name = "[ROLE=]AGENT")]
    #[arg(add = ArgValueCompleter::new(complete::roles_with_agents))]
    pub(crate) agents: Vec<String>,
    /// Form in which --agent command lines print, for all roles or for one (ROLE=FORM): the answer as `text` under a header or as `json`, the exit code (`exit`),
    /// or the hash of the `step` it stored. By default a text; a step if the command names a program `uwf-…`. Can be given several times.
    #[arg(long = "output", value_name = "[ROLE=]FORM", requires = "agents")]
    #[arg(add = ArgValueCompleter::new(complete::output_forms))]
    pub(crate) outputs: Vec<RoleOutput>,
}

/// Parses the name of an output mode.
pub(crate) fn output_parser() -> impl clap::builder::TypedValueParser<Value = OutputMode> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(OutputMode::ALL.map(OutputMode::as_str))
        .map(|word| OutputMode::named(&word).expect("the parser lets no other word pass"))
}

/// The output of the command line for one role, or for all roles.
#[derive(Debug, Clone)]
pub(crate) struct RoleOutput {
    role: Option<String>,
    mode: OutputMode,
}

impl FromStr for RoleOutput {
    type Err = String;

    fn from_str(text: &str) -> Result<RoleOutput, String> {
        let (role, word) = text.rsplit_once('=').map_or((None, text), |(role, word)| (Some(role.to_owned()), word));
        match OutputMode::named(word).filter(|_| role.as_deref() != Some("")) {
            Some(mode) => Ok(RoleOutput { role, mode }),
            None => Err(format!("it can be {} or ROLE=FORM", OutputMode::ALL.map(OutputMode::as_str).join(", "))),
        }
    }
}

impl AgentArgs {
    /// The bindings in these arguments. `--output` without a role applies to the command lines among them.
    pub(crate) fn bindings(self, config: &UwfConfig) -> Result<AgentBindings, CommandError> {
        let mut bindings = AgentBindings::default();
        let parts: Vec<_> = self.agents.iter().map(|text| role_and_agent(text)).collect::<Result<_, _>>()?;
        let outputs = outputs_by_role(&self.outputs, &parts)?;
        let is_alias = |agent: &str| config.agent(agent).is_some();
        let only_aliases = parts.iter().all(|(_, agent)| is_alias(agent));
        for (role, agent) in parts {
            let of_all = || outputs.get(&None).copied().filter(|_| only_aliases || !is_alias(agent));
            let output = role.and_then(|role| outputs.get(&Some(role)).copied()).or_else(of_all);
            let named = AgentReference { agent: agent.to_owned(), output };
            let earlier = match role {
                Some(role) => bindings.agents.insert(role.to_owned(), named),
                None => bindings.every_role.replace(named),
            };
            if earlier.is_some() {
                return Err(CommandError::usage(format!("--agent names two agents for {}", whom(role)))
                    .hint("one for a role is `--agent ROLE=AGENT`"));
            }
        }
        Ok(bindings)
    }
}

/// The outputs by role; the one for all roles has no role.
fn outputs_by_role<'a>(
    outputs: &'a [RoleOutput],
    agents: &[(Option<&str>, &str)],
) -> Result<BTreeMap<Option<&'a str>, OutputMode>, CommandError> {
    let mut by_role = BTreeMap::new();
    for RoleOutput { role, mode } in outputs {
        let role = role.as_deref();
        if let Some(named) = role.filter(|_| agents.iter().all(|(of, _)| *of != role)) {
            let mode = mode.as_str();
            return Err(CommandError::usage(format!("`--output {named}={mode}` needs an agent for role `{named}`"))
                .hint(format!("name the agent as well: `--agent '{named}=COMMAND' --output {named}={mode}`")));
        }
        if by_role.insert(role, *mode).is_some() {
            return Err(CommandError::usage(format!("--output names two forms for {}", whom(role)))
                .hint("one for a role is `--output ROLE=FORM`"));
        }
    }
    Ok(by_role)
}

fn whom(role: Option<&str>) -> String {
    role.map_or_else(|| "all roles".to_owned(), |role| format!("role `{role}`"))
}

/// A role before the first `=`, if that text can be a role: a command line has white space or slashes there.
fn role_and_agent(text: &str) -> Result<(Option<&str>, &str), CommandError> {
    let can_be_role = |role: &str| !role.starts_with(['-', '.']) && !role.contains([' ', '\t', '/']);
    match text.split_once('=').filter(|(role, _)| can_be_role(role)) {
        Some((role, agent)) if !role.is_empty() && !agent.trim().is_empty() => Ok((Some(role), agent)),
        None if !text.trim().is_empty() => Ok((None, text)),
        _ => Err(CommandError::usage(format!("`--agent {text}` names no agent"))
            .hint("it has the form AGENT, such as `codex`, or ROLE=AGENT, such as `coder=codex`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_distinguished_from_command_lines() {
        let read = |text: &'static str| role_and_agent(text).ok();
        assert_eq!(read("codex"), Some((None, "codex")));
        assert_eq!(read("coder=codex"), Some((Some("coder"), "codex")));
        assert_eq!(read("coder=run --x=1"), Some((Some("coder"), "run --x=1")));
        assert_eq!(read("run --x=1"), Some((None, "run --x=1")));
        assert_eq!(read("./a=b"), Some((None, "./a=b")));
        assert_eq!(read("--x=1"), Some((None, "--x=1")));
        assert_eq!([read("=codex"), read("coder="), read("coder= "), read(""), read(" ")], [None; 5]);
    }
}
