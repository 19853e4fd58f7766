//! `uwf mcp`: the commands as tools of an MCP server, for agents that drive uwf.
//!
//! Each tool is a command line. So a tool can do exactly what its command does, and it returns the command's report.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_kit::mcp;
use agent_kit::mcp::protocol::{McpTool, ToolOutcome, ToolSet};
use serde_json::{Map, Value, json};
use uwf_call::{UwfCall, UwfCallEnd};
use uwf_engine::root::home::ROOT_VARIABLES;
use uwf_server::{CommandLine, WAIT_OPTION, json_name};

use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};

/// Seconds to wait for `step` and `run` by default. Clients give up after a minute or more.
const WAIT: u64 = 45;

/// Longest wait that a caller may set.
const MAX_WAIT: u64 = 3600;

/// Maximum size of a result in bytes; a model can't use more at once.
const MAX_ANSWER: usize = 200_000;

/// Arguments of `uwf mcp`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  claude mcp add uwf -- uwf mcp
  codex mcp add uwf -- uwf mcp
  uwf mcp --read-only     tools that only read

A server of the Model Context Protocol on stdin and stdout. Its tools are commands: workflows, validate, start, step, run, show,
read, why, answer, take, retry, list, kill. A step or run that takes longer than the client waits continues by itself; `show` returns its state.")]
pub(crate) struct Args {
    /// Offer only tools that change nothing.
    #[arg(long)]
    read_only: bool,
    /// The storage root, for clients that do not pass on their environment.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
}

/// An argument of a tool. Its description and type come from the command.
#[derive(Clone, Copy)]
enum McpToolArgument {
    /// A positional argument of the command.
    Plain(&'static str),
    /// A positional argument for which the tool has several names.
    EitherPlain(&'static str),
    /// The second argument without an option.
    SecondPlain(&'static str),
    /// An option.
    Option(&'static str),
    /// An option with another name in the tool.
    Named(&'static str, &'static str),
    /// The option with the task. The tool requires it, and passes it on stdin.
    Task,
    /// The values of the input, passed on stdin with the task.
    Input,
    /// The labels, as an object; an option for each.
    Labels,
    /// Seconds to wait.
    Wait,
}

/// A tool: a command line and its additions.
struct McpToolDefinition {
    name: &'static str,
    command: &'static str,
    /// Advice for a model, besides the command's own description.
    note: &'static str,
    arguments: &'static [McpToolArgument],
    changes: bool,
    /// Whether the report is text instead of JSON.
    is_text: bool,
    /// Whether the command can take long: after the wait it continues in the background.
    is_long: bool,
}

const THREAD: McpToolArgument = McpToolArgument::Plain("thread");

/// The option with the task.
const PROMPT: &str = "prompt";

/// The values of the input.
const INPUT: &str = "input";

/// The labels.
const LABELS: &str = "labels";

/// The argument for the server itself.
const WAITED: &str = "wait";

const fn reads(name: &'static str, command: &'static str, arguments: &'static [McpToolArgument]) -> McpToolDefinition {
    McpToolDefinition { name, command, note: "", arguments, changes: false, is_text: false, is_long: false }
}

/// The tools, in display order.
const TOOLS: &[McpToolDefinition] = &[
    reads("workflows", "workflow list", &[]),
    reads("validate", "workflow validate", &[McpToolArgument::Plain("workflow")]),
    McpToolDefinition {
        changes: true,
        note: "The thread does not see your conversation, so give it the full task. No agent runs yet; `step` or \
               `run` does that.",
        ..reads(
            "start",
            "thread start",
            &[
                McpToolArgument::Plain("workflow"),
                McpToolArgument::Task,
                McpToolArgument::Input,
                McpToolArgument::Labels,
                McpToolArgument::Option("cwd"),
                McpToolArgument::Option("max-steps"),
                McpToolArgument::Option("max-cost"),
            ],
        )
    },
    McpToolDefinition {
        changes: true,
        is_long: true,
        note: "Costs money.",
        ..reads("step", "thread step", &[THREAD, McpToolArgument::Option("agent"), McpToolArgument::Wait])
    },
    McpToolDefinition {
        changes: true,
        is_long: true,
        note: "Costs money.",
        ..reads(
            "run",
            "thread run",
            &[
                THREAD,
                McpToolArgument::Option("until"),
                McpToolArgument::Option("steps"),
                McpToolArgument::Option(WAIT_OPTION),
                McpToolArgument::Wait,
            ],
        )
    },
    reads("show", "thread show", &[THREAD]),
    McpToolDefinition { is_text: true, ..reads("read", "thread read", &[THREAD, McpToolArgument::Option("quota")]) },
    reads("why", "thread why", &[McpToolArgument::EitherPlain("thread"), McpToolArgument::EitherPlain("step")]),
    McpToolDefinition {
        changes: true,
        note: "Only with words of the person.",
        ..reads(
            "answer",
            "thread answer",
            &[
                THREAD,
                McpToolArgument::Named("text", "message"),
                McpToolArgument::Option("data"),
                McpToolArgument::Option("branch"),
            ],
        )
    },
    McpToolDefinition {
        changes: true,
        note: "Only with words of the person.",
        ..reads(
            "take",
            "thread take",
            &[THREAD, McpToolArgument::SecondPlain("copy"), McpToolArgument::Named("text", "message")],
        )
    },
    McpToolDefinition {
        changes: true,
        is_long: true,
        note: "Costs money.",
        ..reads("retry", "thread retry", &[THREAD, McpToolArgument::Option("agent"), McpToolArgument::Wait])
    },
    reads(
        "list",
        "thread list",
        &[
            McpToolArgument::Option("state"),
            McpToolArgument::Option("outcome"),
            McpToolArgument::Option("search"),
            McpToolArgument::Option("limit"),
        ],
    ),
    McpToolDefinition { changes: true, note: "Finished steps are kept.", ..reads("kill", "thread kill", &[THREAD]) },
];

impl McpToolArgument {
    fn name(self) -> String {
        match self {
            McpToolArgument::Plain(name)
            | McpToolArgument::SecondPlain(name)
            | McpToolArgument::EitherPlain(name)
            | McpToolArgument::Named(name, _) => name.to_owned(),
            McpToolArgument::Option(option) => json_name(option),
            McpToolArgument::Task => PROMPT.to_owned(),
            McpToolArgument::Input => INPUT.to_owned(),
            McpToolArgument::Labels => LABELS.to_owned(),
            McpToolArgument::Wait => WAITED.to_owned(),
        }
    }

    /// The option of the command that it is; empty for other arguments.
    fn option(self) -> &'static str {
        match self {
            McpToolArgument::Option(option) | McpToolArgument::Named(_, option) => option,
            _ => "",
        }
    }

    fn is_required(self) -> bool {
        matches!(self, McpToolArgument::Plain(_) | McpToolArgument::SecondPlain(_) | McpToolArgument::Task)
    }

    fn schema(self, command: &str, commands: &CommandLine) -> Value {
        match self {
            McpToolArgument::SecondPlain(_) => commands.positional_schema(command, 1),
            McpToolArgument::Plain(_) | McpToolArgument::EitherPlain(_) => match commands.positional_schema(command, 0)
            {
                // The command accepts several values; the tool accepts one.
                Value::Object(mut schema) => {
                    schema.insert("type".to_owned(), json!("string"));
                    schema.into()
                }
                other => other,
            },
            McpToolArgument::Option(option) | McpToolArgument::Named(_, option) => {
                commands.option_schema(command, option)
            }
            McpToolArgument::Task => commands.option_schema(command, PROMPT),
            McpToolArgument::Input => json!({
                "type": "object",
                "description": "Values of the workflow's input by name, if it has one; `workflows` lists them as `inputs`.",
            }),
            McpToolArgument::Labels => json!({
                "type": "object",
                "additionalProperties": { "type": "string" },
                "description": "Labels of the new thread, by key.",
            }),
            McpToolArgument::Wait => json!({
                "type": "integer",
                "description": format!("Seconds to wait for the end, {WAIT} unless given. A longer run continues by itself: ask `show`."),
            }),
        }
    }
}

impl McpToolDefinition {
    fn offered(&self, commands: &CommandLine) -> McpTool {
        let schemas = self.arguments.iter().map(|it| (it.name(), it.schema(self.command, commands)));
        let properties: Map<String, Value> = schemas.collect();
        let required: Vec<String> = self.arguments.iter().filter(|it| it.is_required()).map(|it| it.name()).collect();
        McpTool {
            name: self.name.to_owned(),
            description: format!("{} {}", commands.about(self.command), self.note).trim_end().to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            }),
        }
    }

    /// The command line for these arguments, without the server's own argument.
    fn call(&self, given: &Map<String, Value>, commands: &CommandLine) -> Result<ToolLine, String> {
        let known: Vec<String> = self.arguments.iter().map(|it| it.name()).collect();
        if let Some(unknown) = given.keys().find(|key| !known.contains(key)) {
            return Err(format!("`{}` has no argument `{unknown}`; it takes {}", self.name, known.join(", ")));
        }
        let mut line: Vec<String> = self.command.split(' ').map(str::to_owned).collect();
        let (mut plain, mut posted) = (Vec::new(), Map::new());
        for (argument, name) in self.arguments.iter().zip(&known).filter(|(_, name)| *name != WAITED) {
            let kind = argument.schema(self.command, commands)["type"].take();
            let value = match (given.get(name), kind.as_str()) {
                (None | Some(Value::Null), _) if argument.is_required() => {
                    return Err(format!("`{}` needs `{name}`", self.name));
                }
                (None | Some(Value::Null), _) => continue,
                (Some(Value::Object(labels)), _) if matches!(argument, McpToolArgument::Labels) => {
                    for (key, value) in labels {
                        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                        line.push(format!("--label={key}={value}"));
                    }
                    continue;
                }
                (Some(_), _) if matches!(argument, McpToolArgument::Labels) => {
                    return Err(format!("`{name}` must be an object"));
                }
                (Some(values @ Value::Object(_)), Some("object")) => {
                    posted.insert(name.clone(), values.clone());
                    continue;
                }
                (Some(Value::Bool(is_given)), Some("boolean")) => {
                    line.extend(is_given.then(|| format!("--{}", argument.option())));
                    continue;
                }
                (Some(_), Some("boolean")) => return Err(format!("`{name}` must be true or false")),
                (Some(Value::String(text)), _) => text.clone(),
                (Some(Value::Number(number)), Some("integer" | "number")) => number.to_string(),
                (Some(_), Some("object")) => return Err(format!("`{name}` must be an object")),
                (Some(_), kind) => return Err(format!("`{name}` must be a {}", kind.unwrap_or("string"))),
            };
            match argument {
                // On stdin, because a task may be longer than an argument can be, and may be just `-`.
                McpToolArgument::Task => {
                    line.push("--posted".to_owned());
                    posted.insert(name.clone(), value.into());
                }
                // A text of JSON or YAML is as good as an object.
                McpToolArgument::Input => {
                    posted.insert(name.clone(), value.into());
                }
                // One word, so that a value beginning with a dash is not parsed as an option.
                McpToolArgument::Option(option) | McpToolArgument::Named(_, option) => {
                    line.push(format!("--{option}={value}"));
                }
                _ => plain.push(value),
            }
        }
        line.push("--".to_owned());
        line.extend(plain);
        let input = if posted.is_empty() { String::new() } else { Value::Object(posted).to_string() };
        Ok(ToolLine { args: line, input })
    }
}

/// The command that implements a tool call.
struct ToolLine {
    args: Vec<String>,
    input: String,
}

/// The tools for one storage root.
struct CommandToolSet<'c> {
    bin: &'c Path,
    root: &'c Path,
    cwd: &'c Path,
    read_only: bool,
    described: CommandLine,
}

impl CommandToolSet<'_> {
    fn tools(&self) -> impl Iterator<Item = &'static McpToolDefinition> {
        let read_only = self.read_only;
        TOOLS.iter().filter(move |tool| !(read_only && tool.changes))
    }

    fn outcome(&self, tool: &McpToolDefinition, arguments: &Value) -> Result<ToolOutcome, String> {
        let none = Map::new();
        let given = arguments.as_object().unwrap_or(&none);
        let line = tool.call(given, &self.described)?;
        let wait = match given.get(WAITED) {
            None | Some(Value::Null) => WAIT,
            Some(wait) => wait.as_u64().filter(|wait| *wait <= MAX_WAIT).ok_or("`wait` is 0 to 3600 seconds")?,
        };
        let limit = tool.is_long.then(|| Duration::from_secs(wait));
        self.run(line, tool.is_text, limit).map_err(|error| format!("cannot run uwf: {error}"))
    }

    /// Runs a command to its end or until the limit; after the limit the command continues by itself.
    fn run(&self, line: ToolLine, is_text: bool, limit: Option<Duration>) -> std::io::Result<ToolOutcome> {
        let format = if is_text { "text" } else { "json" };
        let args = ["--format", format].into_iter().chain(line.args.iter().map(String::as_str));
        let mut call = UwfCall::new(self.bin, self.cwd, args).variable(ROOT_VARIABLES[0], self.root);
        call.input = line.input;
        let outcome = call.run(limit)?;
        let (said, talk) = (shortened(&outcome.stdout), shortened(&outcome.stderr));
        if outcome.end == UwfCallEnd::Running {
            let told = format!("It is still running and continues by itself; `show` returns its state.\n{talk}");
            return Ok(ToolOutcome::done(told));
        }
        // stderr is returned as a separate text, so that the report remains valid JSON.
        let texts = match said.is_empty() {
            true => vec![talk],
            false => [said, talk].into_iter().filter(|text| !text.is_empty()).collect(),
        };
        Ok(ToolOutcome { texts, is_error: !outcome.is_news() })
    }
}

/// The text, cut to the size a model can use.
fn shortened(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_ANSWER)].trim_end().to_owned()
}

impl ToolSet for CommandToolSet<'_> {
    fn list(&self) -> Vec<McpTool> {
        self.tools().map(|tool| tool.offered(&self.described)).collect()
    }

    fn call(&mut self, name: &str, arguments: &Value) -> Option<ToolOutcome> {
        let tool = self.tools().find(|tool| tool.name == name)?;
        Some(self.outcome(tool, arguments).unwrap_or_else(ToolOutcome::failed))
    }
}

/// Runs the server.
pub(crate) fn run(context: &CommandContext, args: &Args, described: CommandLine) -> CommandResult {
    let CommandContext { home, cwd, .. } = context;
    let commands = CommandToolSet { bin: home.bin(), root: home.root(), cwd, read_only: args.read_only, described };
    mcp::serve_tools(commands, &mut std::io::stdin().lock(), &mut std::io::stdout().lock())?;
    Ok(PrintableReport::nothing())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If the command lacked an option of a tool, every call with that argument would fail.
    #[test]
    fn tools_and_their_arguments_are_described() {
        let commands = crate::described::command_line(crate::cli::command());
        for tool in TOOLS {
            assert!(!commands.about(tool.command).is_empty(), "{}", tool.command);
            for argument in tool.arguments {
                let schema = argument.schema(tool.command, &commands);
                let described = schema["description"].as_str().unwrap_or_default();
                assert!(!described.is_empty(), "`{}` of `{}`", argument.name(), tool.command);
            }
        }
    }
}
