//! The command line of Cursor, `cursor-agent`.
//!
//! Its events (`stream-json`) report turns, tool calls and the chat id. Feedback goes to that chat (`--resume`). With `outputFormat: text`
//! only the answer is known.

use std::path::{Path, PathBuf};

use agent_kit::answer::{AgentAnswer, AgentTurn};
use agent_kit::{Agent, AgentContext, Error, Result};
use durable_files::regular;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_core::prompt::AgentPrompt;
use uwf_engine::attempt::recorded::AttemptOpening;
use uwf_engine::error::AtPath;
use uwf_engine::thread::steps::StepParts;

use crate::command::MAX_PROMPT_ARGUMENT;
use crate::last_call;
use crate::program::{AttemptProgram, ProgramRun};
use crate::progress;
use crate::settings;
use crate::trace::{ParsedTrace, TraceEnding, TraceFormat};
use crate::turn_end;

/// The program, unless `command` says otherwise.
const COMMAND: &str = "cursor-agent";

/// Prompt used if the real one is too long for an argument.
const READ_PROMPT: &str = "Read the whole file at this path and follow its instructions:";

/// Keys of an output or a task that name a working directory, most specific first.
const DIRECTORY_KEYS: [&str; 6] = ["workspace", "workingDirectory", "repoPath", "projectPath", "directory", "cwd"];

/// Settings in the `config` of the agent.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CursorAgentSettings {
    /// The program.
    pub(crate) command: String,
    /// Name of the model, in place of the agent's `model`.
    model: Option<String>,
    /// Directory it works in, relative to the thread's; `context` finds it in what was said before. By default the thread's.
    workspace: Option<String>,
    /// Its output format: `stream-json` reports turns and tool calls.
    output_format: CursorOutputFormat,
    /// Whether feedback on an unreadable answer goes to the same chat.
    resume: bool,
}

impl Default for CursorAgentSettings {
    fn default() -> CursorAgentSettings {
        CursorAgentSettings {
            command: COMMAND.to_owned(),
            model: None,
            workspace: None,
            output_format: CursorOutputFormat::StreamJson,
            resume: true,
        }
    }
}

impl settings::BuiltInSettings for CursorAgentSettings {}

/// Output of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum CursorOutputFormat {
    /// Its events, one JSON object a line.
    StreamJson,
    /// Its answer.
    Text,
}

impl CursorOutputFormat {
    fn as_str(self) -> &'static str {
        match self {
            CursorOutputFormat::StreamJson => "stream-json",
            CursorOutputFormat::Text => "text",
        }
    }
}

/// The agent of one step.
#[derive(Default)]
pub struct CursorAgent {
    exit_code: Option<i32>,
    chat: Option<String>,
}

impl CursorAgent {
    /// One run, in a new or existing chat. `asked` is the turn as far as it is known before the run.
    fn run(
        &mut self,
        context: &AgentContext<'_>,
        text: &str,
        asked: AgentTurn,
        resume: Option<&str>,
    ) -> Result<AgentAnswer> {
        let opened = context.opened()?;
        let settings: CursorAgentSettings = settings::read(&opened.agent)?;
        let model = settings::model_name(context, settings.model.as_ref().or(opened.agent.model.as_ref()))?;
        let workspace = workspace(context, &settings, opened)?;
        let argument = argument(context, opened, text)?;
        let mut program = AttemptProgram::new(opened, &settings.command)?;
        let command = program.command();
        command.current_dir(&workspace).args(["-p", &argument]);
        if let Some(model) = &model {
            command.args(["--model", model]);
        }
        command.arg("--workspace").arg(&workspace);
        command.args(["--output-format", settings.output_format.as_str(), "--trust", "--force"]);
        if let Some(chat) = resume {
            command.args(["--resume", chat]);
        }
        command.args(&opened.agent.args);
        let files = context.output_files()?;
        // A failed attempt keeps the work, not the feedback after it.
        let program = if resume.is_none() { program.keeping(&files) } else { program };
        let ran = program
            .run(|line| event(line).iter().for_each(|event| progress::line(&format!("cursor: {event}"))), || {})?;
        self.exit_code = ran.status.code();
        let trace =
            (settings.output_format == CursorOutputFormat::StreamJson).then(|| TraceFormat::Cursor.read(&ran.stdout));
        check(opened, &ran, trace.as_ref())?;
        let trace = trace.map(|trace| last_call::answered(context, opened, trace)).transpose()?;
        self.answer_of(ran, trace, asked, resume)
    }

    fn answer_of(
        &mut self,
        ran: ProgramRun,
        trace: Option<ParsedTrace>,
        asked: AgentTurn,
        resume: Option<&str>,
    ) -> Result<AgentAnswer> {
        let trace = trace.filter(|trace| trace.answer.is_some()).map(|trace| trace.with_input(&asked.input));
        let Some(trace) = trace else {
            let turns = vec![AgentTurn { output: ran.stdout.clone(), latency_ms: ran.duration_ms, ..asked }];
            return Ok(AgentAnswer { turns, duration_ms: ran.duration_ms, ..AgentAnswer::text(ran.stdout) });
        };
        if let (Some(wanted), Some(found)) = (resume, &trace.session_id)
            && wanted != found
        {
            let message = format!("cursor should have continued chat {wanted}, but answered in chat {found}");
            return Err(Error::agent_failed(message));
        }
        self.chat = trace.session_id.clone().or(self.chat.take());
        Ok(AgentAnswer {
            turns: trace.turns,
            duration_ms: ran.duration_ms,
            source: trace.source,
            session_id: trace.session_id,
            model: trace.model,
            tokens: trace.tokens,
            ..AgentAnswer::text(trace.answer.unwrap_or_default())
        })
    }
}

impl Agent for CursorAgent {
    fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }

    fn answer(&mut self, context: &AgentContext<'_>, prompt: &AgentPrompt) -> Result<AgentAnswer> {
        self.run(context, &prompt.text(), AgentTurn::from_prompt(prompt, "", 0), None)
    }

    fn follow_up(&mut self, context: &AgentContext<'_>, text: &str) -> Result<Option<AgentAnswer>> {
        let resumes = settings::read::<CursorAgentSettings>(&context.opened()?.agent)?.resume;
        let Some(chat) = self.chat.clone().filter(|_| resumes) else { return Ok(None) };
        let asked = AgentTurn::asked(vec![text.to_owned()]);
        self.run(context, text, asked, Some(&chat)).map(Some)
    }
}

fn check(opened: &AttemptOpening, ran: &ProgramRun, trace: Option<&ParsedTrace>) -> Result<()> {
    let spec = &opened.agent;
    let succeeded = ran.status.code().is_some_and(|code| spec.succeeded(code));
    match trace.map(|trace| &trace.ending) {
        Some(TraceEnding::Failed(words)) => {
            let error = Error::agent_failed(format!("agent `{}` {}: {words}", spec.name, ran.how()));
            Err(error.with_last_words(words))
        }
        // Events are not an error message.
        _ if !succeeded => Err(ran.failure(&spec.name, |line| line.starts_with('{'))),
        _ => trace.map_or(Ok(()), |trace| turn_end::check(opened, trace)),
    }
}

/// The prompt, or the path of a file that has it if it is too long for an argument. The system rejects an argument of 131,072 bytes.
fn argument(context: &AgentContext<'_>, opened: &AttemptOpening, text: &str) -> Result<String> {
    if text.len() <= MAX_PROMPT_ARGUMENT {
        return Ok(text.to_owned());
    }
    // Put it beside the attempt's other files, which the next attempt removes.
    let dir = context.thread().home().attempts_dir(&opened.thread);
    let file = dir.join(format!("{}.prompt.md", opened.attempt));
    regular::write(&file, text.as_bytes()).path_context("write", &file)?;
    let file = std::path::absolute(&file).path_context("make absolute", &file)?;
    Ok(format!("{READ_PROMPT} {}", file.display()))
}

/// The working directory: the setting, otherwise the thread's. If the settings ask for it, the directory named last in the
/// thread's outputs or in its task.
fn workspace(context: &AgentContext<'_>, settings: &CursorAgentSettings, opened: &AttemptOpening) -> Result<PathBuf> {
    let of_thread = &opened.workspace;
    match settings.workspace.as_deref() {
        Some("context") => {}
        Some(dir) => return is_directory(of_thread.join(dir)),
        None => return Ok(of_thread.clone()),
    }
    let thread = context.thread();
    for index in (0..thread.chain()?.len()).rev() {
        if let Some(dir) = directory_in(&thread.step(index, StepParts::NONE)?.output) {
            return is_directory(of_thread.join(dir));
        }
    }
    let task = context.task();
    let named = serde_json::from_str::<Value>(task).ok().and_then(|task| directory_in(&task).map(str::to_owned));
    let named = named.or_else(|| path_in(task).map(str::to_owned));
    match named {
        Some(dir) => is_directory(of_thread.join(dir)),
        None => Err(Error::agent_failed("neither the thread's outputs nor its task name a directory to work in").hint(
            format!(
                "an output may name it in one of: {}; or set `workspace` in the agent's `config`",
                DIRECTORY_KEYS.join(", ")
            ),
        )),
    }
}

fn is_directory(dir: PathBuf) -> Result<PathBuf> {
    if dir.is_dir() {
        return Ok(dir);
    }
    Err(Error::agent_failed(format!("the directory to work in, {}, does not exist", dir.display())))
}

fn directory_in(output: &Value) -> Option<&str> {
    DIRECTORY_KEYS.iter().find_map(|key| output.get(key)?.as_str().filter(|dir| !dir.trim().is_empty()))
}

/// The first directory that a text names by an absolute path.
fn path_in(text: &str) -> Option<&str> {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '(' | ')' | '<' | '>'));
    let paths = words.map(|word| word.trim_end_matches(['.', ',', ';', ':', '!', '?']));
    paths.filter(|word| word.starts_with('/') && word.len() > 1).find(|word| Path::new(word).is_dir())
}

/// An event in words, for a person who is waiting.
fn event(line: &str) -> Option<String> {
    let event: Value = serde_json::from_str(line).ok()?;
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
    match (text("type"), text("subtype")) {
        ("tool_call", subtype) => {
            let tool = event.get("tool_call")?.as_object()?.keys().next()?;
            Some(format!("{} {subtype}", tool.trim_end_matches("ToolCall")))
        }
        ("assistant" | "thinking", _) => Some(text("type").to_owned()),
        ("result", subtype) => Some(format!("result {subtype}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn directories_are_found_where_they_are_named() {
        assert_eq!(directory_in(&json!({ "cwd": "/c", "repoPath": "/r", "workspace": " " })), Some("/r"));
        assert_eq!(directory_in(&json!({ "summary": "/r" })), None);
        assert_eq!(path_in("work in `/tmp`, please; not in /no-such-directory"), Some("/tmp"));
        assert_eq!(path_in("and/or / nothing"), None);
    }

    #[test]
    fn events_are_printed_in_few_words() {
        let call = r#"{"type":"tool_call","subtype":"started","tool_call":{"readToolCall":{"args":{}}}}"#;
        assert_eq!(event(call).as_deref(), Some("read started"));
        assert_eq!(event(r#"{"type":"result","subtype":"success"}"#).as_deref(), Some("result success"));
        assert_eq!(event(r#"{"type":"system"}"#), None);
        assert_eq!(event("words"), None);
    }
}
