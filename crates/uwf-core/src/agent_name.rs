//! Names of an agent: its alias in the configuration, and its command.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::node;
use crate::text::one_line;

/// The two names of an agent, as in every report.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct AgentName {
    /// Alias in the configuration; absent for a command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The name that steps store and conditions read: the configured command of an alias, or the whole command line.
    pub agent: String,
}

impl AgentName {
    /// Creates the names of an agent that was chosen by `name`, an alias or a command line, and that runs `command` with `args`.
    ///
    /// An alias without arguments that is equal to its command has both names.
    #[must_use]
    pub fn new(name: &str, command: &str, args: &[String]) -> AgentName {
        let is_line = || {
            let words = shlex::split(name).unwrap_or_default();
            let is_shell = matches!(args, [option, line] if option == "-c" && line == name);
            is_shell
                || words.len() > 1 && words.iter().eq(std::iter::once(command).chain(args.iter().map(String::as_str)))
        };
        if command.is_empty() || is_line() {
            return AgentName { alias: None, agent: name.to_owned() };
        }
        AgentName { alias: Some(name.to_owned()), agent: command.to_owned() }
    }

    /// The shorter name, for a line of text.
    #[must_use]
    pub fn short(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.agent)
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A command of a role may have several lines.
        out.write_str(&one_line(self.short()))
    }
}

/// Key in the stored configuration of an agent that is a command line of one word. Without it, its name and its command are equal, as they
/// may be for an alias.
pub const COMMAND_LINE: &str = "commandLine";

impl From<&node::AgentNode> for AgentName {
    fn from(agent: &node::AgentNode) -> AgentName {
        if agent.config.contains_key(COMMAND_LINE) {
            return AgentName { alias: None, agent: agent.command.clone() };
        }
        AgentName::new(&agent.name, &agent.command, &agent.args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alias_is_stored_with_command_line_without() {
        let names = |name: &str, command: &str, args: &[&str]| {
            let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
            let AgentName { alias, agent } = AgentName::new(name, command, &args);
            (alias, agent)
        };
        let alias = |alias: &str, agent: &str| (Some(alias.to_owned()), agent.to_owned());
        let line = |agent: &str| (None, agent.to_owned());
        assert_eq!(names("bunx uwf-cursor", "bunx", &["uwf-cursor"]), line("bunx uwf-cursor"));
        assert_eq!(names("sh -c 'exit 1'", "sh", &["-c", "exit 1"]), line("sh -c 'exit 1'"));
        assert_eq!(names("external", "", &[]), line("external"));
        assert_eq!(names("cursor", "bunx", &["uwf-cursor"]), alias("cursor", "bunx"));
        assert_eq!(names("codex", "codex", &[]), alias("codex", "codex"));
    }
}
