//! `--agent` and `--output`, for every command that binds agents to a thread.

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
    /// Output of the --agent command line: the answer as `text` under a header or as `json`, the exit code (`exit`),
    /// or the hash of the `step` it stored. By default a text; a step if one of its words is a program `uwf-…`.
    #[arg(long, value_name = "FORM", requires = "agents", value_parser = output_parser())]
    pub(crate) output: Option<OutputMode>,
}

/// Parses the name of an output mode.
pub(crate) fn output_parser() -> impl clap::builder::TypedValueParser<Value = OutputMode> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(OutputMode::ALL.map(OutputMode::as_str)).map(|word| {
        let found = OutputMode::ALL.into_iter().find(|mode| mode.as_str() == word);
        found.expect("the parser lets no other word pass")
    })
}

impl AgentArgs {
    /// The bindings in these arguments. `--output` applies to the command lines among them.
    pub(crate) fn bindings(self, config: &UwfConfig) -> Result<AgentBindings, CommandError> {
        let mut bindings = AgentBindings::default();
        let parts: Vec<_> = self.agents.iter().map(|text| role_and_agent(text)).collect::<Result<_, _>>()?;
        let is_alias = |agent: &str| config.agent(agent).is_some();
        let only_aliases = parts.iter().all(|(_, agent)| is_alias(agent));
        for (role, agent) in parts {
            let output = self.output.filter(|_| only_aliases || !is_alias(agent));
            let named = AgentReference { agent: agent.to_owned(), output };
            let earlier = match role {
                Some(role) => bindings.agents.insert(role.to_owned(), named),
                None => bindings.every_role.replace(named),
            };
            if earlier.is_some() {
                let whom = role.map_or_else(|| "all roles".to_owned(), |role| format!("role `{role}`"));
                return Err(CommandError::usage(format!("--agent names two agents for {whom}"))
                    .hint("one for a role is `--agent ROLE=AGENT`"));
            }
        }
        Ok(bindings)
    }
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
