//! `uwf mcp`: the commands as tools of an MCP server, for agents that drive uwf.
//!
//! Each tool is a command line. So a tool can do what the command does, no more, and what it answers is the command's report.

use std::fs::File;
use std::io::{Read, Seek, Write as _};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use agent_kit::mcp;
use agent_kit::mcp::protocol::{McpTool, ToolOutcome, ToolSet};
use serde_json::{Map, Value, json};
use uwf_engine::root::home::ROOT_VARIABLES;

use crate::context::Context;
use crate::printer::{CommandResult, Printed};

/// How long `step` and `run` are waited for when nobody says. Clients give up after a minute or more.
const WAIT: u64 = 45;

/// Longest time somebody may ask for.
const MAX_WAIT: u64 = 3600;

/// How often is looked whether a command has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Bytes of an answer: a model can use no more at once.
const MAX_ANSWER: u64 = 200_000;

/// Exit codes that report the state of a thread, not a failure of the call: done, killed by its supervisor, waiting, at a limit.
const NEWS: [i32; 5] = [0, 1, 10, 20, 30];

/// Arguments of `uwf mcp`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  claude mcp add uwf -- uwf mcp
  codex mcp add uwf -- uwf mcp
  uwf mcp --read-only     tools that only look

A server of the Model Context Protocol on stdin and stdout. Its tools are commands: workflows, validate, start, step, run, show,
read, why, answer, list, kill. A step or run that takes longer than the client waits continues by itself; `show` returns its state.")]
pub(crate) struct Args {
    /// Only tools that change nothing.
    #[arg(long)]
    read_only: bool,
    /// The storage root, for clients that do not pass their environment on.
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
}

/// An argument of a tool, and how it is given to the command.
struct Argument {
    name: &'static str,
    kind: &'static str,
    is_required: bool,
    /// The option; an argument without one comes as it is.
    option: Option<&'static str>,
    description: &'static str,
}

/// A tool: a command line, and what is added to it.
struct Tool {
    name: &'static str,
    description: &'static str,
    command: &'static [&'static str],
    arguments: &'static [Argument],
    changes: bool,
    /// Whether it can take long: then it continues in the background after the wait.
    is_long: bool,
}

const fn required(name: &'static str, description: &'static str) -> Argument {
    Argument { name, kind: "string", is_required: true, option: None, description }
}

const fn option(name: &'static str, kind: &'static str, option: &'static str, description: &'static str) -> Argument {
    Argument { name, kind, is_required: false, option: Some(option), description }
}

const THREAD: Argument =
    required("thread", "The thread: its id, a unique start or end of the id, or @ for the newest.");

const WAITED: Argument = Argument {
    name: "wait",
    kind: "integer",
    is_required: false,
    option: None,
    description: "Seconds to wait for the end, 45 unless given. A longer run continues by itself: ask `show`.",
};

/// The option of a task, which is given on stdin.
const PROMPT: &str = "--prompt";

/// The tools, in the order they are shown.
const TOOLS: &[Tool] = &[
    Tool {
        name: "workflows",
        description: "List the workflows that can be started: of this project and those that are registered.",
        command: &["workflow", "list"],
        arguments: &[],
        changes: false,
        is_long: false,
    },
    Tool {
        name: "validate",
        description: "Say everything that is wrong with a workflow file. Nothing is stored.",
        command: &["workflow", "validate"],
        arguments: &[required("workflow", "A file, a name, or a hash.")],
        changes: false,
        is_long: false,
    },
    Tool {
        name: "start",
        description: "Begin a thread: a run of a workflow with a task. No agent runs yet; `step` or `run` does that.",
        command: &["thread", "start"],
        arguments: &[
            required("workflow", "A workflow: path, name or hash."),
            Argument {
                name: "prompt",
                kind: "string",
                is_required: true,
                option: Some(PROMPT),
                description: "What the thread is to do, in full: it sees nothing else of what you know.",
            },
            option("cwd", "string", "--cwd", "Directory its agents work in; this project's unless given."),
            option("maxSteps", "integer", "--max-steps", "Most steps it may have."),
            option("maxCost", "number", "--max-cost", "Most US dollars it may cost."),
        ],
        changes: true,
        is_long: false,
    },
    Tool {
        name: "step",
        description: "Do one step of a thread: choose the next role, let its agent play it, keep the result. Costs money.",
        command: &["thread", "step"],
        arguments: &[THREAD, option("agent", "string", "--agent", "Another agent for this step."), WAITED],
        changes: true,
        is_long: true,
    },
    Tool {
        name: "run",
        description: "Step a thread until it is done, waits for a person, is stuck or at a limit. Costs money.",
        command: &["run"],
        arguments: &[
            THREAD,
            option("until", "string", "--until", "Stop before this role would be played."),
            option("steps", "integer", "--steps", "Stop after this many steps."),
            WAITED,
        ],
        changes: true,
        is_long: true,
    },
    Tool {
        name: "show",
        description: "Where a thread stands: state, role, steps, and why it does not continue.",
        command: &["thread", "show"],
        arguments: &[THREAD],
        changes: false,
        is_long: false,
    },
    Tool {
        name: "read",
        description: "A thread as a page of markdown: what each role wrote, newest in full.",
        command: &["--format", "text", "thread", "read"],
        arguments: &[THREAD, option("quota", "integer", "--quota", "Most characters.")],
        changes: false,
        is_long: false,
    },
    Tool {
        name: "why",
        description: "Why a step was done: the transitions that were tried, the values they read, how the output was obtained.",
        command: &["thread", "why"],
        arguments: &[
            Argument { is_required: false, ..required("thread", "The thread whose newest step it is; or `step`.") },
            Argument { is_required: false, ..required("step", "Any step, by its hash.") },
        ],
        changes: false,
        is_long: false,
    },
    Tool {
        name: "answer",
        description: "Answer for a role that a person plays. Only with what the person has told you.",
        command: &["thread", "answer"],
        arguments: &[
            THREAD,
            option(
                "text",
                "string",
                "--message",
                "The answer as text, with a header if the role asks for keys; or the reply to an agent's question.",
            ),
            option("data", "string", "--data", "The answer as JSON, valid under the role's schema."),
        ],
        changes: true,
        is_long: false,
    },
    Tool {
        name: "list",
        description: "List threads, newest first.",
        command: &["thread", "list"],
        arguments: &[
            option("state", "string", "--state", "Only those: active, running, waiting, stuck, completed, …"),
            option("search", "string", "--search", "Only those with this text in id, task or name of the workflow."),
            option("limit", "integer", "--limit", "At most so many."),
        ],
        changes: false,
        is_long: false,
    },
    Tool {
        name: "kill",
        description: "End a thread and its running agent. What was done is kept.",
        command: &["thread", "kill"],
        arguments: &[THREAD],
        changes: true,
        is_long: false,
    },
];

impl Tool {
    fn offered(&self) -> McpTool {
        let properties: Map<String, Value> = self
            .arguments
            .iter()
            .map(|it| (it.name.to_owned(), json!({ "type": it.kind, "description": it.description })))
            .collect();
        let required: Vec<&str> = self.arguments.iter().filter(|it| it.is_required).map(|it| it.name).collect();
        McpTool {
            name: self.name.to_owned(),
            description: self.description.to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            }),
        }
    }

    /// The command for these arguments, without what is asked of the server itself.
    fn call(&self, given: &Map<String, Value>) -> Result<Call, String> {
        if let Some(unknown) = given.keys().find(|key| self.arguments.iter().all(|it| it.name != **key)) {
            let known: Vec<&str> = self.arguments.iter().map(|it| it.name).collect();
            return Err(format!("`{}` has no argument `{unknown}`; it takes {}", self.name, known.join(", ")));
        }
        let mut line: Vec<String> = self.command.iter().map(|&word| word.to_owned()).collect();
        let (mut plain, mut input) = (Vec::new(), String::new());
        for argument in self.arguments.iter().filter(|it| it.name != WAITED.name) {
            let value = match (given.get(argument.name), argument.kind) {
                (None | Some(Value::Null), _) if argument.is_required => {
                    return Err(format!("`{}` needs `{}`", self.name, argument.name));
                }
                (None | Some(Value::Null), _) => continue,
                (Some(Value::String(text)), _) => text.clone(),
                (Some(Value::Number(number)), "integer" | "number") => number.to_string(),
                (Some(_), kind) => return Err(format!("`{}` must be a {kind}", argument.name)),
            };
            match argument.option {
                // It may be longer than an argument, and `-` may be all of it.
                Some(PROMPT) => {
                    line.push(format!("{PROMPT}=-"));
                    input = value;
                }
                // One word, so that a value that begins with a dash is none of our options.
                Some(option) => line.push(format!("{option}={value}")),
                None => plain.push(value),
            }
        }
        line.push("--".to_owned());
        line.extend(plain);
        Ok(Call { line, input })
    }
}

/// A command to run.
struct Call {
    /// Its arguments.
    line: Vec<String>,
    /// Its stdin.
    input: String,
}

/// The tools over one storage root.
struct Commands<'c> {
    bin: &'c Path,
    root: &'c Path,
    cwd: &'c Path,
    read_only: bool,
}

impl Commands<'_> {
    fn tools(&self) -> impl Iterator<Item = &'static Tool> {
        let read_only = self.read_only;
        TOOLS.iter().filter(move |tool| !(read_only && tool.changes))
    }

    fn outcome(&self, tool: &Tool, arguments: &Value) -> Result<ToolOutcome, String> {
        let none = Map::new();
        let given = arguments.as_object().unwrap_or(&none);
        let call = tool.call(given)?;
        let wait = match given.get(WAITED.name) {
            None | Some(Value::Null) => WAIT,
            Some(wait) => wait.as_u64().filter(|wait| *wait <= MAX_WAIT).ok_or("`wait` is 0 to 3600 seconds")?,
        };
        let limit = tool.is_long.then(|| Duration::from_secs(wait));
        self.run(&call, limit).map_err(|error| format!("cannot run uwf: {error}"))
    }

    /// Runs a command to its end, or for so long: then it continues alone.
    fn run(&self, call: &Call, limit: Option<Duration>) -> std::io::Result<ToolOutcome> {
        let line = &call.line;
        let (mut stdin, mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?, tempfile::tempfile()?);
        stdin.write_all(call.input.as_bytes())?;
        stdin.rewind()?;
        let mut command = Command::new(self.bin);
        command.args(["--format", "json"].into_iter().filter(|_| line[0] != "--format")).args(line);
        command.env(ROOT_VARIABLES[0], self.root).current_dir(self.cwd).stdin(stdin);
        command.stdout(stdout.try_clone()?).stderr(stderr.try_clone()?).process_group(0);
        let mut child = command.spawn()?;
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if limit.is_some_and(|limit| begun.elapsed() >= limit) {
                // It stays a zombie until it is waited for.
                std::thread::spawn(move || child.wait());
                break None;
            }
            std::thread::sleep(LOOK);
        };
        let (said, talk) = (text(&mut stdout)?, text(&mut stderr)?);
        let Some(status) = status else {
            let told = format!("It is still running and continues by itself; `show` returns its state.\n{talk}");
            return Ok(ToolOutcome::done(told));
        };
        let is_news = status.code().is_some_and(|code| NEWS.contains(&code));
        // What was said beside the report is a text of its own, so that the report stays JSON.
        let texts = match said.is_empty() {
            true => vec![talk],
            false => [said, talk].into_iter().filter(|text| !text.is_empty()).collect(),
        };
        Ok(ToolOutcome { texts, is_error: !is_news })
    }
}

/// What was written into a file.
fn text(file: &mut File) -> std::io::Result<String> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(MAX_ANSWER).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

impl ToolSet for Commands<'_> {
    fn list(&self) -> Vec<McpTool> {
        self.tools().map(Tool::offered).collect()
    }

    fn call(&mut self, name: &str, arguments: &Value) -> Option<ToolOutcome> {
        let tool = self.tools().find(|tool| tool.name == name)?;
        Some(self.outcome(tool, arguments).unwrap_or_else(ToolOutcome::failed))
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let Context { home, cwd, .. } = context;
    let commands = Commands { bin: home.bin(), root: home.root(), cwd, read_only: args.read_only };
    mcp::serve_tools(commands, &mut std::io::stdin().lock(), &mut std::io::stdout().lock())?;
    Ok(Printed::nothing())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    /// An option that the command does not have would make every call with that argument fail.
    #[test]
    fn each_tool_is_a_command_with_these_options() {
        for tool in TOOLS {
            let mut command = Cli::command();
            let words = tool.command.iter().skip_while(|word| word.starts_with("--") || **word == "text");
            for word in words {
                command =
                    command.find_subcommand(word).unwrap_or_else(|| panic!("`{word}` of `{}`", tool.name)).clone();
            }
            for option in tool.arguments.iter().filter_map(|argument| argument.option) {
                let long = option.trim_start_matches("--");
                let has = command.get_arguments().any(|arg| arg.get_long() == Some(long));
                assert!(has, "`{}` has no {option}", tool.command.join(" "));
            }
        }
    }
}
