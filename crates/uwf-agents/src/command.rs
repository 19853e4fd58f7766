//! The agent behind every `output: text` and `output: json`: runs a command that knows nothing of the store, passes it the prompt, and does
//! the rest.

pub(crate) mod exit;
pub(crate) mod run_file;

use std::fs::File;
use std::io::{Seek, Write};
use std::process::{ExitStatus, Stdio};
use std::time::Instant;

use agent_kit::answer::{AgentAnswer, AgentTurn};
use agent_kit::play;
use agent_kit::{Agent, AgentContext, Error, Result, TurnRecorder};
use schemars::JsonSchema;
use serde::Deserialize;
use uwf_core::prompt::AgentPrompt;
use uwf_engine::attempt::agent_process;
use uwf_engine::attempt::agents::{AgentSpec, CURSOR};
use uwf_engine::attempt::live_trace;
use uwf_engine::attempt::recorded::{self, AttemptOpening, AttemptOutputFiles};
use uwf_engine::error::AtPath;
use uwf_platform::host;

use crate::acp;
use crate::last_call;
use crate::model_exchange::millis;
use crate::model_hints;
use crate::program::how_it_ended;
use crate::progress;
use crate::sandbox;
use crate::settings;
use crate::trace::{ParsedTrace, TraceEnding, TraceFormat, follow};
use crate::turn_end;

use run_file::{EndedRun, ProgramStart, RunBaseline};

/// Longest prompt passed as an argument. The system rejects an argument of 131,072 bytes, and `args` may add text to it.
pub(crate) const MAX_PROMPT_ARGUMENT: usize = 120_000;

/// Settings in the `config` of the agent, besides the program's own settings.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CommandAgentSettings {
    /// The program's stdout is a trace in this format, and its answer the final message in it.
    trace: Option<TraceFormat>,
    /// The program has been given the server `uwf agent mcp` in its own configuration, so the prompt speaks of the tool `submit`.
    mcp: bool,
    /// A later visit of a role continues the program's session, whose id is in the `trace`.
    resume: bool,
    /// The arguments with which the program continues a session, `{session}` being its id, in place of `args`. Those of codex (`exec`)
    /// and claude are known.
    resume_args: Option<Vec<String>>,
}

impl settings::BuiltInSettings for CommandAgentSettings {
    const OPEN: bool = true;
}

/// The agent of one attempt.
#[derive(Default)]
pub struct CommandAgent {
    exit_code: Option<i32>,
    /// A paid run that should have continued a session, but began another.
    given_up: Option<live_trace::LiveTrace>,
}

/// A run of the program.
struct CommandAgentRun<'p> {
    prompt: &'p AgentPrompt,
    args: &'p [String],
    /// The session to continue.
    session: Option<&'p str>,
}

/// Result of a run.
enum CommandRun {
    Answered(AgentAnswer),
    /// It was not made in the session it should have continued.
    Elsewhere(Option<ParsedTrace>),
}

impl Agent for CommandAgent {
    fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }

    fn prompt(&mut self, context: &AgentContext<'_>, prompt: AgentPrompt) -> Result<AgentPrompt> {
        Ok(acp::with_instruction(context, prompt, says_tool(&context.opened()?.agent)?))
    }

    fn answer(&mut self, context: &AgentContext<'_>, prompt: &AgentPrompt) -> Result<AgentAnswer> {
        let args = &context.opened()?.agent.args;
        match self.run(context, &CommandAgentRun { prompt, args, session: None })? {
            CommandRun::Answered(answer) => Ok(match self.given_up.take() {
                Some(given_up) => answer.after(given_up),
                None => answer,
            }),
            CommandRun::Elsewhere(_) => Err(Error::internal("a run of no certain session was not made in it")),
        }
    }

    fn resumes(&self, context: &AgentContext<'_>) -> Result<bool> {
        resume_args(&context.opened()?.agent).map(|args| args.is_some())
    }

    fn resume(
        &mut self,
        context: &AgentContext<'_>,
        session: &str,
        prompt: &AgentPrompt,
    ) -> Result<Option<AgentAnswer>> {
        let agent = &context.opened()?.agent;
        let Some(args) = resume_args(agent)? else { return Ok(None) };
        let args: Vec<String> = args.iter().map(|arg| arg.replace("{session}", session)).collect();
        match self.run(context, &CommandAgentRun { prompt, args: &args, session: Some(session) })? {
            CommandRun::Answered(answer) => Ok(Some(answer)),
            CommandRun::Elsewhere(trace) => {
                progress::line(&format!("{}: session {session} is gone; a new one gets the whole prompt", agent.name));
                self.given_up = trace.map(ParsedTrace::into_recorded).filter(|session| !session.is_empty());
                // Record it before the program runs again: this run counts even if the next one fails.
                if let Some(session) = &self.given_up {
                    TurnRecorder::give_up(context, session)?;
                }
                // Its output is not part of the coming answer.
                let files = context.output_files()?;
                agent_process::create(&files.raw)?.set_len(0).path_context("empty", &files.raw)?;
                Ok(None)
            }
        }
    }
}

impl CommandAgent {
    fn run(&mut self, context: &AgentContext<'_>, run: &CommandAgentRun<'_>) -> Result<CommandRun> {
        let opened = context.opened()?;
        check(&opened.agent)?;
        let format = trace_format(&opened.agent)?;
        let files = context.output_files()?;
        let begun = Instant::now();
        let input = run.prompt.texts();
        let baseline = RunBaseline::before(opened, run.session);
        let execute = || execute(opened, run.args, &run.prompt.text(), &files, baseline);
        let (ended, session) = follow::during(context, format, (run.prompt, run.session), execute)?;
        self.exit_code = ended.status.code();
        let spec = &opened.agent;
        let read = |format: TraceFormat| {
            agent_process::read_capped(&files.raw, opened.output_cap).map(|raw| format.read(&raw).with_input(&input))
        };
        // A trace that cannot be read now says nothing about the agent's work.
        let trace = format.map(read);
        let readable = trace.as_ref().and_then(|trace| trace.as_ref().ok());
        if !continued(readable, &ended, spec) {
            return Ok(CommandRun::Elsewhere(trace.and_then(Result::ok)));
        }
        check_run(opened, &files, &ended, readable)?;
        // If this process dies, the next one reads the answer. Without the line the agent runs again, so a failure to write it is ignored.
        // Nothing checks the run in that case, so this comes after the check.
        if has_answer(&files, readable) {
            let _ = recorded::answered(context.thread().home(), &opened.thread, &opened.attempt, self.exit_code);
        }
        let duration_ms = millis(begun.elapsed());
        if let Some((trace, format)) = trace.transpose()?.zip(format) {
            let trace = session.complete(trace);
            return answer_of(context, opened, trace, format, duration_ms).map(CommandRun::Answered);
        }
        let raw = agent_process::read_capped(&files.raw, opened.output_cap)?;
        Ok(CommandRun::Answered(AgentAnswer {
            turns: vec![AgentTurn { output: raw.clone(), latency_ms: duration_ms, ..AgentTurn::asked(input) }],
            duration_ms,
            ..AgentAnswer::text(raw)
        }))
    }
}

/// Whether the program of an attempt has ended well, and its output is the whole answer. Its process of uwf may have been killed before.
///
/// # Errors
/// `Config`; `Io` if the output cannot be read.
pub(crate) fn is_answered(opened: &AttemptOpening, files: &AttemptOutputFiles, ended: &EndedRun) -> Result<bool> {
    let trace = printed_trace(&opened.agent, &agent_process::read_capped(&files.raw, opened.output_cap)?)?;
    let trace = trace.as_ref();
    Ok(continued(trace, ended, &opened.agent)
        && check_run(opened, files, ended, trace).is_ok()
        && has_answer(files, trace))
}

/// Checks that a run ended well.
fn check_run(
    opened: &AttemptOpening,
    files: &AttemptOutputFiles,
    ended: &EndedRun,
    trace: Option<&ParsedTrace>,
) -> Result<()> {
    check_status(&opened.agent, ended.status, files, opened.output_cap, trace)?;
    ended.baseline.check_file(opened)?;
    trace.map_or(Ok(()), |trace| turn_end::check(opened, trace))
}

/// Whether a run that ended well has an answer. One without a final message has only a submitted value.
fn has_answer(files: &AttemptOutputFiles, trace: Option<&ParsedTrace>) -> bool {
    trace.is_none_or(|trace| trace.answer.is_some() || files.submitted.exists())
}

/// Whether a run continued the session that it should, if any. Claude reports the id of a session it did not find as its own. A run that
/// failed before anything was said or done therefore did not continue it.
fn continued(trace: Option<&ParsedTrace>, ended: &EndedRun, spec: &AgentSpec) -> bool {
    let Some(session) = &ended.baseline.session else { return true };
    let succeeded = ended.status.code().is_some_and(|code| spec.succeeded(code));
    trace.is_some_and(|trace| trace.session_id.as_ref() == Some(session) && (succeeded || !trace.turns.is_empty()))
}

/// The arguments that continue a session, where `{session}` is its id; `None` if it should not be continued.
///
/// # Errors
/// `Config` if it should continue, but the arguments are unknown.
fn resume_args(spec: &AgentSpec) -> Result<Option<Vec<String>>> {
    let settings: CommandAgentSettings = settings::read(spec)?;
    if !settings.resume {
        return Ok(None);
    }
    let refused = |why: &str| Error::config(format!("`config.resume` of agent `{}`: {why}", spec.name));
    let Some(format) = settings.trace else {
        return Err(refused("uwf finds the id of a session only if `config.trace` names its format"));
    };
    let known = || match format {
        // `codex exec … resume SESSION -`: options before the subcommand apply to it as well.
        TraceFormat::Codex if spec.args.first().is_some_and(|arg| arg == "exec") => {
            let (prompt, options) = spec.args.split_last()?;
            Some([options, &["resume".to_owned(), "{session}".to_owned(), prompt.clone()]].concat())
        }
        TraceFormat::Claude => Some([&["--resume".to_owned(), "{session}".to_owned()], &spec.args[..]].concat()),
        _ => None,
    };
    let args = settings.resume_args.or_else(known);
    args.filter(|args| args.iter().any(|arg| arg.contains("{session}"))).map(Some).ok_or_else(|| {
        refused("uwf does not know how this program continues a session")
            .hint("set its arguments in `config.resumeArgs`, with `{session}` for the id of the session")
    })
}

/// Checks the settings of an agent.
pub(crate) fn check(spec: &AgentSpec) -> Result<()> {
    sandbox::refuse_tool(spec, says_tool(spec)?)?;
    resume_args(spec).map(drop)
}

/// The trace format of its stdout, if `config.trace` says that it prints one.
fn trace_format(spec: &AgentSpec) -> Result<Option<TraceFormat>> {
    settings::read::<CommandAgentSettings>(spec).map(|settings| settings.trace)
}

/// A trace without totals that include earlier visits. Codex counts from the beginning of its session.
pub(crate) fn without_earlier_visits(context: &AgentContext<'_>, trace: ParsedTrace) -> Result<ParsedTrace> {
    if trace_format(&context.opened()?.agent)? != Some(TraceFormat::Codex) || trace.session_id.is_none() {
        return Ok(trace);
    }
    let session = play::prompt(context, &mut CommandAgent::default())?.session;
    Ok(if session == trace.session_id { ParsedTrace { tokens: None, ..trace } } else { trace })
}

/// Parses the program's output as a trace; `None` if its output is not a trace.
pub(crate) fn printed_trace(spec: &AgentSpec, printed: &str) -> Result<Option<ParsedTrace>> {
    let format = match trace_format(spec)? {
        None if spec.is_built_in(CURSOR) => TraceFormat::detect(printed),
        format => format,
    };
    Ok(format.map(|format| format.read(printed)))
}

/// Whether the prompt mentions the tool `submit`, which the user has set up for the program.
fn says_tool(spec: &AgentSpec) -> Result<bool> {
    settings::read::<CommandAgentSettings>(spec).map(|settings| settings.mcp)
}

/// The answer in a trace: its final message, with everything before it.
fn answer_of(
    context: &AgentContext<'_>,
    opened: &AttemptOpening,
    trace: ParsedTrace,
    format: TraceFormat,
    duration_ms: u64,
) -> Result<AgentAnswer> {
    let agent = &opened.agent.name;
    if let Some(gaps) = trace.gaps() {
        progress::line(&format!("{agent}: trace: {gaps}"));
    }
    let trace = last_call::answered(context, opened, trace)?;
    let Some(raw) = trace.answer else {
        let why = format!("nothing in its stdout is one in the format of {}", format.as_str());
        return Err(last_call::no_final_message(agent, &why));
    };
    Ok(AgentAnswer {
        turns: trace.turns,
        duration_ms,
        source: trace.source,
        session_id: trace.session_id,
        model: trace.model,
        tokens: trace.tokens,
        ..AgentAnswer::text(raw)
    })
}

/// The prompt as the command gets it: on stdin, unless its arguments have a template for it.
///
/// # Errors
/// `Config` if the prompt is too long for an argument, `Io`.
pub(crate) fn prompt_input(opened: &AttemptOpening, args: &[String], text: &str) -> Result<Stdio> {
    let spec = &opened.agent;
    let by_argument = args.iter().any(|arg| arg.contains("{prompt}"));
    if by_argument && text.len() > MAX_PROMPT_ARGUMENT {
        return Err(Error::config(format!(
            "the prompt has {} bytes, too many for an argument of `{}` (at most {MAX_PROMPT_ARGUMENT})",
            text.len(),
            spec.command
        ))
        .hint("leave `{prompt}` out of `args`: then the prompt comes on stdin; or lower `promptBudget`"));
    }
    if by_argument {
        return Ok(Stdio::null());
    }
    let held =
        holding(text).map_err(|error| Error::io(format!("cannot hold the prompt of {} bytes: {error}", text.len())))?;
    Ok(Stdio::from(held))
}

/// The arguments with their templates filled in.
pub(crate) fn arguments(opened: &AttemptOpening, args: &[String], text: &str) -> Vec<String> {
    args.iter().map(|arg| fill(arg, opened, Some(text))).collect()
}

/// Runs the command with the prompt on stdin, or in its arguments if they ask for it.
fn execute(
    opened: &AttemptOpening,
    args: &[String],
    text: &str,
    files: &AttemptOutputFiles,
    baseline: RunBaseline,
) -> Result<EndedRun> {
    let stdin = prompt_input(opened, args, text)?;
    let args = model_hints::with(&opened.agent, arguments(opened, args, text));
    let stdout = run_file::with_room(&files.raw)?;
    let start = ProgramStart { args: &args, dir: &opened.workspace, stdin, stdout, stderr: None };
    run_file::run(opened, files, baseline, start)
}

/// An unnamed file that contains a text, ready to read. Unlike a pipe it takes any size before the reader starts, and no other process can
/// find it.
fn holding(text: &str) -> std::io::Result<File> {
    let mut file = host().unnamed_file()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// Fills in an argument's templates in a single pass, so that `{role}` in a prompt stays as it is.
pub(crate) fn fill(template: &str, opened: &AttemptOpening, prompt: Option<&str>) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let known =
            [("{thread}", Some(opened.thread.as_str())), ("{role}", Some(opened.role.as_str())), ("{prompt}", prompt)];
        match known.iter().find(|(name, value)| value.is_some() && rest.starts_with(name)) {
            Some((name, value)) => {
                filled.push_str(value.unwrap_or_default());
                rest = &rest[name.len()..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

fn check_status(
    spec: &AgentSpec,
    status: ExitStatus,
    files: &AttemptOutputFiles,
    cap: u64,
    trace: Option<&ParsedTrace>,
) -> Result<()> {
    if status.code().is_some_and(|code| spec.succeeded(code)) {
        return Ok(());
    }
    let errors = || agent_process::read_kept(&files.err, cap);
    let (said, is_work) = match trace.map(|trace| &trace.ending) {
        Some(TraceEnding::Failed(words)) => (words.clone(), false),
        Some(TraceEnding::Bad(how)) => (format!("it {how}"), false),
        // Whatever happened to the file, it is not why the agent failed.
        Some(TraceEnding::Good | TraceEnding::Unknown) => (errors()?, false),
        None => match errors()? {
            // `claude -p` prints its notices to stdout.
            errors if errors.trim().is_empty() => (agent_process::read_kept(&files.raw, cap)?, true),
            errors => (errors, false),
        },
    };
    let last = said.trim_end().lines().last().unwrap_or_default().trim();
    let words = if last.is_empty() { String::new() } else { format!("; its last words: {last}") };
    let error = Error::agent_failed(format!("agent `{}` {}{words}", spec.name, how_it_ended(status)));
    Err(match is_work {
        true => spec.with_last_printed(error, &said),
        false if trace.is_none() => spec.with_last_words(error, &said),
        false => turn_end::with_notice(error, trace.and_then(|trace| trace.notice.as_ref()), &said),
    })
}
