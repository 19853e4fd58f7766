//! An agent in one call.

use std::io::Write;
use std::process::ExitCode;

use uwf_core::prompt::Prompt;
use uwf_core::thread::ThreadId;
use uwf_engine::attempts::{self, GaveUp};
use uwf_engine::error::{Error, Kind, Result};
use uwf_engine::home::Home;

use crate::answer::Answer;
use crate::context::Context;
use crate::play::{Agent, play};

/// Makes a program an agent: reads thread and role from its arguments (`THREAD ROLE`, or `-t THREAD -r ROLE`), lets
/// `work` answer, stores the step and prints its hash as the last line. Failures go to stderr and into the attempt's
/// record; the exit code tells which kind it was. No prompt is made for it: where `work` wants one, [`Context::prompt`]
/// makes it.
///
/// ```no_run
/// use agent_kit::{Answer, Context, create_agent};
/// use serde_json::json;
///
/// fn main() -> std::process::ExitCode {
///     create_agent(|context: &Context<'_>| {
///         let words = context.task().split_whitespace().count();
///         Ok(Answer::value(json!({ "words": words })))
///     })
/// }
/// ```
pub fn create_agent(work: impl FnOnce(&Context<'_>) -> Result<Answer>) -> ExitCode {
    let done = Home::from_environment().and_then(|home| {
        let (thread, role) = thread_and_role(std::env::args().skip(1))?;
        play(&home, &thread, &role, &mut Work(Some(work)), None)
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody may be reading; the exit code still tells.
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(error.kind.exit_code())
        }
    }
}

/// An agent that is one function.
struct Work<F>(Option<F>);

impl<F: FnOnce(&Context<'_>) -> Result<Answer>> Agent for Work<F> {
    fn is_prompted(&self) -> bool {
        false
    }

    fn answer(&mut self, context: &Context<'_>, _prompt: &Prompt) -> Result<Answer> {
        match self.0.take() {
            Some(work) => work(context),
            None => Err(Error::new(Kind::Internal, "a function answers once")),
        }
    }
}

/// Records why there is no result. The caller reports the error itself, so a record that cannot be written only costs
/// the engine the reason.
pub fn give_up(context: &Context<'_>, error: &Error, exit_code: Option<i32>) {
    if let Some(attempt) = context.attempt() {
        let thread = context.thread();
        // What an agent said last is part of the error, and it may have said a key.
        let error = match context.redactor() {
            Ok(redactor) => redactor.error(error),
            Err(unreadable) => Error::new(error.kind, unreadable.message),
        };
        let attempt = attempt.opened.attempt.clone();
        let line = GaveUp { attempt, kind: error.kind, error: error.message, hints: error.hints, exit_code };
        let _ = attempts::gave_up(thread.home(), &thread.id, line);
    }
}

/// Thread and role from an agent's arguments.
///
/// # Errors
/// `Usage` when they are not there.
pub fn thread_and_role(args: impl Iterator<Item = String>) -> Result<(ThreadId, String)> {
    let (mut thread, mut role, mut plain) = (None, None, Vec::new());
    let mut args = args;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "-t" | "--thread" => thread = args.next(),
            "-r" | "--role" => role = args.next(),
            _ => plain.push(arg),
        }
    }
    let mut plain = plain.into_iter();
    let thread = thread.or_else(|| plain.next());
    let role = role.or_else(|| plain.next());
    match (thread, role) {
        (Some(thread), Some(role)) => {
            let thread = thread.parse().map_err(|error| Error::new(Kind::Usage, format!("{error}")))?;
            Ok((thread, role))
        }
        _ => Err(Error::new(Kind::Usage, "an agent is called with THREAD ROLE (or -t THREAD -r ROLE)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Option<(String, String)> {
        let (thread, role) = thread_and_role(args.iter().map(ToString::to_string)).ok()?;
        Some((thread.to_string(), role))
    }

    #[test]
    fn both_forms_of_arguments_are_read() {
        let id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let expected = Some((id.to_owned(), "coder".to_owned()));
        assert_eq!(parse(&[id, "coder"]), expected);
        assert_eq!(parse(&["-t", id, "-r", "coder"]), expected);
        assert_eq!(parse(&["--role", "coder", id]), expected);
        assert_eq!(parse(&[id]), None);
        assert_eq!(parse(&["short", "coder"]), None);
    }
}
