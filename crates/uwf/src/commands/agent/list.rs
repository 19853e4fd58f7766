//! `uwf agent list`

use std::path::PathBuf;

use serde::Serialize;
use uwf_engine::attempt::agents::{self, AgentSpec, BUILT_IN, BUILT_IN_PREFIX};
use uwf_engine::attempt::program;

use crate::context::CommandContext;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;
use crate::table::TextTable;
use crate::terminal;

/// Arguments of `uwf agent list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf agent list
  uwf agent list | jq -r '.agents[] | select(.problem) | [.name, .problem] | @tsv'

Starts no program; `uwf agent describe NAME` asks one agent to describe itself, `uwf doctor` asks all.")]
pub(crate) struct Args {}

#[derive(Serialize)]
struct AgentRow {
    /// Agents in the configuration.
    agents: Vec<ListedAgent>,
    /// Built-in agents, which need no program.
    #[serde(rename = "builtIn")]
    built_in: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedAgent {
    name: String,
    command: String,
    args: Vec<String>,
    output: String,
    /// The built-in agent that runs.
    built_in: Option<String>,
    /// The program's file.
    program: Option<PathBuf>,
    /// Why it can't be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Whether it plays every role that has no agent of its own.
    default: bool,
}

impl CommandReport for AgentRow {
    fn text(&self) -> String {
        let mut table = TextTable::new(&["agent", "command", "prints", "program"]).flexible([1, 3]);
        for agent in &self.agents {
            let words: Vec<&str> = std::iter::once(&agent.command).chain(&agent.args).map(String::as_str).collect();
            let program = match (&agent.built_in, &agent.program, &agent.problem) {
                (Some(_), ..) => "built in".to_owned(),
                (None, Some(program), _) => program.display().to_string(),
                (None, None, problem) => style::red(problem.as_deref().unwrap_or("not found")),
            };
            let name = format!("{}{}", style::bold(&agent.name), if agent.default { " (default)" } else { "" });
            table.row(vec![name, words.join(" "), agent.output.clone(), program]);
        }
        let listed = if self.agents.is_empty() { "config.yaml declares no agents\n".to_owned() } else { table.text() };
        let columns = terminal::size(&std::io::stdout()).map_or(usize::MAX, |size| size.columns);
        format!("{listed}\n{}", built_in(&self.built_in, columns))
    }
}

/// The built-in agents, in lines of at most this many columns.
fn built_in(names: &[impl AsRef<str>], columns: usize) -> String {
    let mut text = "built in:".to_owned();
    let mut width = text.len();
    for (index, name) in names.iter().enumerate() {
        let word = format!("{}{}", name.as_ref(), if index + 1 < names.len() { "," } else { "" });
        if width + 1 + word.len() > columns {
            text.push_str("\n ");
            width = 1;
        }
        text.push(' ');
        text.push_str(&word);
        width += 1 + word.len();
    }
    text + "\n"
}

/// Lists the agents.
pub(crate) fn run(context: &CommandContext, _args: &Args) -> CommandResult {
    let config = context.config()?;
    let agent = |(alias, agent): (&String, _)| {
        let spec = AgentSpec::new(alias, agent);
        let built_in = spec.built_in().map(str::to_owned);
        let found = program::look_up(&spec.command, &context.cwd);
        let (program, problem) = match (&built_in, found) {
            (Some(name), _) if BUILT_IN.contains(&name.as_str()) => (None, None),
            (Some(name), _) => (None, Some(format!("`{name}` is not a built-in agent"))),
            (None, Ok(program)) => (Some(program), None),
            (None, Err(why)) => (None, Some(why.to_string())),
        };
        let built_in = built_in.filter(|_| problem.is_none());
        let default = config.default_agent.as_ref() == Some(alias);
        let AgentSpec { name, command, args, output, .. } = spec;
        ListedAgent { name, command, args, output, built_in, program, problem, default }
    };
    let agents = config.agents.iter().map(agent).collect();
    let built_in = agents::BUILT_IN.map(|name| format!("{BUILT_IN_PREFIX}{name}")).into();
    PrintableReport::new(&AgentRow { agents, built_in })
}
