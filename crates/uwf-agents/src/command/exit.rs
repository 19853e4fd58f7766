//! The agent behind `output: exit` and behind roles with `run`: runs a command whose exit code is the output. A failing test run is an
//! output that routes, not a failed agent.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Instant;

use agent_kit::answer::{AgentAnswer, AgentTurn};
use agent_kit::{Agent, AgentContext, Error, Result};
use serde_json::{Map, Value, json};
use uwf_core::escapes::without_escapes;
use uwf_core::failure_class::{FailureClass, FailureNotice};
use uwf_core::node::COMMAND_SOURCE;
use uwf_core::prompt::AgentPrompt;
use uwf_engine::attempt::agent_process;
use uwf_engine::attempt::program::{self, ProgramFault};
use uwf_engine::attempt::recorded::{self, AttemptOpening, AttemptOutputFiles};

use crate::command::run_file::{self, EndedRun, ProgramStart, RunBaseline, with_room};
use crate::command::{arguments, prompt_input};
use crate::model_exchange::millis;
use crate::program::how_it_ended;

/// Most bytes of what the command printed in the output: the end, where tools say what failed.
const TAIL: usize = 64 << 10;

/// The agent of one attempt.
#[derive(Default)]
pub(crate) struct ExitAgent {
    exit_code: Option<i32>,
}

impl Agent for ExitAgent {
    fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }

    fn answer(&mut self, context: &AgentContext<'_>, prompt: &AgentPrompt) -> Result<AgentAnswer> {
        let opened = context.opened()?;
        let files = context.output_files()?;
        let begun = Instant::now();
        let ended = execute(opened, prompt, &files)?;
        self.exit_code = ended.status.code();
        let printed = agent_process::read_capped(&files.raw, opened.output_cap)?;
        let code = output_code(opened, ended.status, &printed)?;
        // If this process dies, the next one reads the output. Without the line the command runs again.
        let _ = recorded::answered(context.thread().home(), &opened.thread, &opened.attempt, Some(code));
        let duration_ms = millis(begun.elapsed());
        let input = if opened.agent.is_role_command { vec![opened.agent.name.clone()] } else { prompt.texts() };
        let turn = AgentTurn { output: printed.clone(), latency_ms: duration_ms, ..AgentTurn::asked(input) };
        let value = output(context, code, &printed);
        let source = COMMAND_SOURCE.to_owned();
        Ok(AgentAnswer { raw: printed, turns: vec![turn], duration_ms, source, ..AgentAnswer::made_by_uwf(value) })
    }
}

/// The exit code as part of the output.
///
/// # Errors
/// `AgentFailed` if a signal ended the command, or for an exit code that means failure.
fn output_code(opened: &AttemptOpening, status: ExitStatus, printed: &str) -> Result<i32> {
    let spec = &opened.agent;
    let is_failure = |code: &i32| spec.exit_codes.iter().any(|(known, succeeded)| known == code && !succeeded);
    if let Some(code) = status.code().filter(|code| !is_failure(code)) {
        return Ok(code);
    }
    let last = printed.trim_end().lines().last().unwrap_or_default().trim();
    let words = if last.is_empty() { String::new() } else { format!("; its last words: {last}") };
    let error = Error::agent_failed(format!("`{}` {}{words}", spec.name, how_it_ended(status)));
    Err(match missing_program(opened, status, printed) {
        Some(fault) => {
            let notice = FailureNotice { class: FailureClass::Fatal, end: None, is_for_all_tasks: true };
            error.with_notice(&notice).hint(fault.hint())
        }
        None => spec.with_last_printed(error, printed),
    })
}

/// Why a shell found no program with the name that a role's command begins with.
fn missing_program(opened: &AttemptOpening, status: ExitStatus, printed: &str) -> Option<ProgramFault> {
    let spec = &opened.agent;
    if !spec.is_role_command || status.code() != Some(run_file::NOT_FOUND) {
        return None;
    }
    let words = shlex::split(&spec.name)?;
    let word = words.iter().find(|word| !is_assignment(word))?;
    // A word that the shell itself understands is not in `PATH` either. The shell complains only about what it did not find.
    let complaint = format!("{word}: ");
    let is_named = printed.lines().any(|line| line.contains(&complaint));
    program::look_up(word, &directory(opened).ok()?).err().filter(|_| is_named)
}

/// Whether a word before a command sets a variable.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}

/// Whether the command of an attempt has ended with an exit code that is an output.
pub(crate) fn is_answered(opened: &AttemptOpening, ended: &EndedRun) -> bool {
    output_code(opened, ended.status, "").is_ok()
}

/// The output of a command with this exit code, which printed this, with the keys that the role's schema allows.
pub(crate) fn output(context: &AgentContext<'_>, code: i32, printed: &str) -> Value {
    let printed = tail(&without_escapes(printed));
    let schema = context.schema().value();
    let whole = json!({ "passed": code == 0, "exitCode": code, "output": printed });
    if context.violations(&whole).is_empty() {
        return whole;
    }
    let listed = schema.get("properties").and_then(Value::as_object);
    let keys: Map<String, Value> = whole
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| listed.is_none_or(|listed| listed.contains_key(*key)))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    Value::Object(keys)
}

/// The end of a text, with a mark if something is left out. It begins with a line, unless that line is very long.
fn tail(text: &str) -> String {
    if text.len() <= TAIL {
        return text.to_owned();
    }
    let mut from = text.len() - TAIL;
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let line = text[from..].find('\n').filter(|line| *line < TAIL / 2);
    let from = line.map_or(from, |line| from + line + 1);
    format!("[… {from} bytes left out]\n{}", &text[from..])
}

/// Runs the command with stdout and stderr in one file.
fn execute(opened: &AttemptOpening, prompt: &AgentPrompt, files: &AttemptOutputFiles) -> Result<EndedRun> {
    let spec = &opened.agent;
    let text = prompt.text();
    let (args, stdin) = match spec.is_role_command {
        true => (spec.args.clone(), Stdio::null()),
        false => (arguments(opened, &spec.args, &text), prompt_input(opened, &spec.args, &text)?),
    };
    let dir = directory(opened)?;
    let stdout = with_room(&files.raw)?;
    let also = stdout.try_clone().map_err(|error| Error::io(format!("cannot open the output file twice: {error}")))?;
    let start = ProgramStart { args: &args, dir: &dir, stdin, stdout, stderr: Some(also) };
    run_file::run(opened, files, RunBaseline::default(), start)
}

/// The directory of a command.
///
/// # Errors
/// `Config` if it is missing, or if a link leads out of the workspace.
pub(crate) fn directory(opened: &AttemptOpening) -> Result<PathBuf> {
    let workspace = &opened.workspace;
    let Some(below) = &opened.agent.cwd else { return Ok(workspace.clone()) };
    let dir = workspace.join(below);
    let refused = |why: String| Error::config(format!("the `cwd` of role `{}`: {why}", opened.role));
    let real = |path: &Path| match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(refused(format!("the directory {} does not exist", path.display())))
        }
        found => found.map_err(|error| refused(format!("{}: {error}", path.display()))),
    };
    let found = real(&dir)?;
    if !found.starts_with(real(workspace)?) {
        return Err(refused(format!("{} leads out of the workspace, to {}", dir.display(), found.display())));
    }
    if !found.is_dir() {
        return Err(refused(format!("{} is not a directory", dir.display())));
    }
    Ok(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_begins_with_a_line() {
        let text: String = (0..20_000).map(|line| format!("line {line} ä\n")).collect();
        let end = tail(&text);
        assert!(end.len() <= TAIL + 64 && end.ends_with("line 19999 ä\n"));
        let mut lines = end.lines();
        assert!(lines.next().is_some_and(|mark| mark.starts_with("[… ")));
        assert!(lines.next().is_some_and(|line| line.starts_with("line ")));
        assert_eq!(tail("short"), "short");
        for (long, end) in
            [("x".repeat(TAIL + 9), "xx"), (format!("{} 3 failed\n", "x".repeat(TAIL + 9)), "xx 3 failed\n")]
        {
            let shown = tail(&long);
            assert!(shown.ends_with(end) && shown.len() >= TAIL, "{} bytes", shown.len());
        }
    }
}
