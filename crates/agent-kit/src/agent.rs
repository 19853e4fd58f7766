//! Turns a function into an agent.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use uwf_core::config::{AgentDescription, DESCRIBE_ARGUMENT};
use uwf_core::prompt::AgentPrompt;
use uwf_core::thread::ThreadId;
use uwf_engine::error::{Error, Result};
use uwf_engine::root::home::Home;

use crate::answer::AgentAnswer;
use crate::context::AgentContext;
use crate::play::{Agent, play};

/// Turns a program into an agent: reads thread and role from the arguments (`THREAD ROLE`, or `-t THREAD -r ROLE`), calls `work` for the
/// answer, stores the step, and prints its hash as the last line. Failures go to stderr and into the attempt's record; the exit code shows
/// the kind of failure. No prompt is built; `work` can call [`AgentContext::prompt`]. With `--uwf-describe`, the program prints only its
/// name; use [`create_described_agent`] to print more.
///
/// ```no_run
/// use agent_kit::{AgentAnswer, AgentContext, create_agent};
/// use serde_json::json;
///
/// fn main() -> std::process::ExitCode {
///     create_agent(|context: &AgentContext<'_>| {
///         let words = context.task().split_whitespace().count();
///         Ok(AgentAnswer::value(json!({ "words": words })))
///     })
/// }
/// ```
pub fn create_agent(work: impl FnOnce(&AgentContext<'_>) -> Result<AgentAnswer>) -> ExitCode {
    create_described_agent(AgentDescription::default(), work)
}

/// Like [`create_agent`], for an agent with a description. `uwf agent describe`, `config validate` and `doctor` call the agent with
/// `--uwf-describe`: it prints the description as JSON and exits. The default name is the name of the program's file.
pub fn create_described_agent(
    description: AgentDescription,
    work: impl FnOnce(&AgentContext<'_>) -> Result<AgentAnswer>,
) -> ExitCode {
    if std::env::args().skip(1).any(|arg| arg == DESCRIBE_ARGUMENT) {
        let file = std::env::args().next().and_then(|path| Some(Path::new(&path).file_name()?.to_str()?.to_owned()));
        let name = description.name.clone().or(file);
        // stdout may be closed.
        let _ = writeln!(std::io::stdout(), "{}", serde_json::json!(AgentDescription { name, ..description }));
        return ExitCode::SUCCESS;
    }
    let done = Home::of_agent(None, None).and_then(|home| {
        let AgentProgramArguments { thread, role, .. } = arguments(std::env::args().skip(1))?;
        let thread: ThreadId = thread.parse().map_err(|error| Error::usage(format!("{error}")))?;
        play(&home, &thread, &role, &mut FunctionAgent(Some(work)), None)
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // stderr may be closed; the exit code still shows the failure.
            let _ = writeln!(std::io::stderr(), "error: {error}");
            error.hints.iter().for_each(|hint| drop(writeln!(std::io::stderr(), "hint: {hint}")));
            ExitCode::from(error.kind.exit_code())
        }
    }
}

/// An agent that is one function.
struct FunctionAgent<F>(Option<F>);

impl<F: FnOnce(&AgentContext<'_>) -> Result<AgentAnswer>> Agent for FunctionAgent<F> {
    fn is_prompted(&self) -> bool {
        false
    }

    fn answer(&mut self, context: &AgentContext<'_>, _prompt: &AgentPrompt) -> Result<AgentAnswer> {
        match self.0.take() {
            Some(work) => work(context),
            None => Err(Error::internal("a function answers once")),
        }
    }
}

/// Arguments of an agent's program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentProgramArguments {
    /// The thread, as typed.
    pub thread: String,
    /// The role.
    pub role: String,
    /// The agent's own arguments, which come first.
    pub own: Vec<String>,
}

/// Parses the arguments of an agent: its own arguments, then `THREAD ROLE`. These two can also be anywhere as `-t THREAD -r ROLE`
/// (`--thread`, `--role`).
///
/// # Errors
/// `Usage` if thread or role is missing.
pub fn arguments(args: impl Iterator<Item = String>) -> Result<AgentProgramArguments> {
    let (mut thread, mut role, mut own) = (None, None, Vec::new());
    let mut args = args;
    while let Some(arg) = args.next() {
        let (option, attached) = match arg.split_once('=').filter(|_| arg.starts_with("--")) {
            Some((option, value)) => (option, Some(value.to_owned())),
            None => (arg.as_str(), None),
        };
        let place = match option {
            "-t" | "--thread" => &mut thread,
            "-r" | "--role" => &mut role,
            _ => {
                own.push(arg);
                continue;
            }
        };
        let value = attached.or_else(|| args.next()).filter(|value| !value.is_empty());
        *place = Some(value.ok_or_else(|| misused(&format!("{arg} needs a value")))?);
    }
    // The role is last, and the thread before it.
    let role = role.or_else(|| own.pop());
    let thread = thread.or_else(|| own.pop());
    match (thread, role) {
        (Some(thread), Some(role)) => Ok(AgentProgramArguments { thread, role, own }),
        (Some(_), None) => Err(misused("the role is missing")),
        (None, Some(_)) => Err(misused("the thread is missing, or the role")),
        (None, None) => Err(misused("thread and role are missing")),
    }
}

fn misused(what: &str) -> Error {
    Error::usage(what).hint("an agent is called as `AGENT THREAD ROLE`, or `AGENT -t THREAD -r ROLE`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Option<(String, String)> {
        let read = arguments(args.iter().map(ToString::to_string)).ok()?;
        Some((read.thread, read.role))
    }

    #[test]
    fn both_forms_of_arguments_are_read() {
        let id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let expected = Some((id.to_owned(), "coder".to_owned()));
        assert_eq!(parse(&[id, "coder"]), expected);
        assert_eq!(parse(&["-t", id, "-r", "coder"]), expected);
        assert_eq!(parse(&["--role", "coder", id]), expected);
        assert_eq!(parse(&["--role=coder", &format!("--thread={id}")]), expected);
        assert_eq!(parse(&["--fast", "-x", id, "coder"]), expected, "its own arguments come first");
        assert_eq!([parse(&[id]), parse(&[]), parse(&["-t"]), parse(&["-t", id])], [None, None, None, None]);
    }
}
