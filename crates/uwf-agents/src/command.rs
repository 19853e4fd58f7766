//! The agent behind every `output: text` and `output: json`: runs a command that knows nothing of the store, gives it
//! the prompt, and does the rest.

use std::fs::File;
use std::io::{Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use agent_kit::answer::{Answer, Turn};
use agent_kit::play;
use agent_kit::spawn::without_secrets;
use agent_kit::{Agent, AgentContext, Error, Recorder, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use uwf_core::prompt::Prompt;
use uwf_engine::attempt::agent_process;
use uwf_engine::attempt::agents::{AgentSpec, CURSOR};
use uwf_engine::attempt::live_trace;
use uwf_engine::attempt::recorded::{self, Opened, OutputFiles, room_in};
use uwf_engine::error::AtPath;

use crate::acp;
use crate::last_call;
use crate::model_exchange::millis;
use crate::program::how_it_ended;
use crate::progress;
use crate::settings;
use crate::trace::{Ending, Format, Trace};
use crate::turn_end;

/// Longest prompt that is passed as an argument. The system refuses one of 131,072 bytes; `args` may add to it.
pub(crate) const MAX_PROMPT_ARGUMENT: usize = 120_000;

/// What `config` of the agent may hold, beside what the program it runs asks for.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Settings {
    /// The program's stdout is a trace in this format, and its answer the final message in it.
    trace: Option<Format>,
    /// The program has been given the server `uwf agent mcp` in its own configuration, so the prompt speaks of the tool `submit`.
    mcp: bool,
    /// A later visit of a role continues the program's session, whose id is in the `trace`.
    resume: bool,
    /// The arguments with which the program continues a session, `{session}` being its id, in place of `args`. Those of codex (`exec`)
    /// and claude are known.
    resume_args: Option<Vec<String>>,
}

impl settings::Settings for Settings {
    const OPEN: bool = true;
}

/// The agent of one attempt.
#[derive(Default)]
pub struct CommandAgent {
    exit_code: Option<i32>,
    /// A run that was to continue in a session, but was made in another one. It was paid for.
    given_up: Option<live_trace::Trace>,
}

/// What is to be run.
struct Run<'p> {
    prompt: &'p Prompt,
    args: &'p [String],
    /// The session it is to continue in.
    session: Option<&'p str>,
}

/// What came of a run.
enum Ran {
    Answered(Answer),
    /// It was not made in the session it was to continue in.
    Elsewhere(Option<Trace>),
}

impl Agent for CommandAgent {
    fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }

    fn prompt(&mut self, context: &AgentContext<'_>, prompt: Prompt) -> Result<Prompt> {
        Ok(acp::with_instruction(context, prompt, says_tool(&context.opened()?.agent)?))
    }

    fn answer(&mut self, context: &AgentContext<'_>, prompt: &Prompt) -> Result<Answer> {
        let args = &context.opened()?.agent.args;
        match self.run(context, &Run { prompt, args, session: None })? {
            Ran::Answered(answer) => Ok(match self.given_up.take() {
                Some(given_up) => answer.after(given_up),
                None => answer,
            }),
            Ran::Elsewhere(_) => Err(Error::internal("a run of no certain session was not made in it")),
        }
    }

    fn resumes(&self, context: &AgentContext<'_>) -> Result<bool> {
        resume_args(&context.opened()?.agent).map(|args| args.is_some())
    }

    fn resume(&mut self, context: &AgentContext<'_>, session: &str, prompt: &Prompt) -> Result<Option<Answer>> {
        let agent = &context.opened()?.agent;
        let Some(args) = resume_args(agent)? else { return Ok(None) };
        let args: Vec<String> = args.iter().map(|arg| arg.replace("{session}", session)).collect();
        match self.run(context, &Run { prompt, args: &args, session: Some(session) })? {
            // Of what codex counts in a session, nobody knows how much is of this visit.
            Ran::Answered(answer) if trace_format(agent)? == Some(Format::Codex) => {
                Ok(Some(Answer { tokens: None, ..answer }))
            }
            Ran::Answered(answer) => Ok(Some(answer)),
            Ran::Elsewhere(trace) => {
                progress::line(&format!("{}: session {session} is gone; a new one gets the whole prompt", agent.name));
                self.given_up = trace.map(Trace::into_recorded).filter(|session| !session.is_empty());
                // Before the program runs again: this run counts even if that one fails.
                if let Some(session) = &self.given_up {
                    Recorder::give_up(context, session)?;
                }
                // What it printed is not part of the answer to come.
                let files = context.output_files()?;
                agent_process::create(&files.raw)?.set_len(0).at("empty", &files.raw)?;
                Ok(None)
            }
        }
    }
}

impl CommandAgent {
    fn run(&mut self, context: &AgentContext<'_>, run: &Run<'_>) -> Result<Ran> {
        let opened = context.opened()?;
        let format = trace_format(&opened.agent)?;
        let files = context.output_files()?;
        let begun = Instant::now();
        let input = run.prompt.texts();
        let expected = Expected::before(opened);
        let status = execute(opened, run.args, &run.prompt.text(), &files)?;
        self.exit_code = status.code();
        let spec = &opened.agent;
        let read = |format: Format| {
            agent_process::read_capped(&files.raw, opened.output_cap).map(|raw| format.read(&raw).with_input(&input))
        };
        // That it cannot be read just now says nothing about the agent's work.
        let trace = format.map(read);
        let readable = trace.as_ref().and_then(|trace| trace.as_ref().ok());
        if run.session.is_some_and(|session| !went_on(readable, session, spec, status)) {
            return Ok(Ran::Elsewhere(trace.and_then(Result::ok)));
        }
        check_status(spec, status, &files, opened.output_cap, readable)?;
        if let Some(expected) = expected {
            expected.check()?;
        }
        if let Some(Ok(trace)) = &trace {
            turn_end::check(opened, trace)?;
        }
        // Should this process not come to its end, the answer is read by the next one. Without the line the agent is run
        // again, which is no reason to fail now. Nothing checks the end of the turn then, so it comes after the check.
        let _ = recorded::answered(context.thread().home(), &opened.thread, &opened.attempt);
        let duration_ms = millis(begun.elapsed());
        if let Some((trace, format)) = trace.transpose()?.zip(format) {
            return answer_of(context, opened, trace, format, duration_ms).map(Ran::Answered);
        }
        let raw = agent_process::read_capped(&files.raw, opened.output_cap)?;
        Ok(Ran::Answered(Answer {
            turns: vec![Turn { output: raw.clone(), latency_ms: duration_ms, ..Turn::asked(input) }],
            duration_ms,
            ..Answer::text(raw)
        }))
    }
}

/// Whether a run continued in a session. Claude names the session that it did not find as its own, so a run that failed before
/// anything was said or done in it did not.
fn went_on(trace: Option<&Trace>, session: &str, spec: &AgentSpec, status: ExitStatus) -> bool {
    let succeeded = status.code().is_some_and(|code| spec.succeeded(code));
    trace.is_some_and(|trace| trace.session_id.as_deref() == Some(session) && (succeeded || !trace.turns.is_empty()))
}

/// The arguments with which the program continues in a session, `{session}` being its id; `None` when it is not to do so.
///
/// # Errors
/// `Config` when it is to do so, and nobody knows how.
fn resume_args(spec: &AgentSpec) -> Result<Option<Vec<String>>> {
    let settings: Settings = settings::read(spec)?;
    if !settings.resume {
        return Ok(None);
    }
    let refused = |why: &str| Error::config(format!("`config.resume` of agent `{}`: {why}", spec.name));
    let Some(format) = settings.trace else {
        return Err(refused(
            "the id of a session is known only where `config.trace` says in which format it is printed",
        ));
    };
    let known = || match format {
        // `codex exec … resume SESSION -`: the options before the subcommand hold for it too.
        Format::Codex if spec.args.first().is_some_and(|arg| arg == "exec") => {
            let (prompt, options) = spec.args.split_last()?;
            Some([options, &["resume".to_owned(), "{session}".to_owned(), prompt.clone()]].concat())
        }
        Format::Claude => Some([&["--resume".to_owned(), "{session}".to_owned()], &spec.args[..]].concat()),
        _ => None,
    };
    let args = settings.resume_args.or_else(known);
    args.filter(|args| args.iter().any(|arg| arg.contains("{session}"))).map(Some).ok_or_else(|| {
        refused("uwf does not know how this program continues a session")
            .hint("name its arguments for that in `config.resumeArgs`, `{session}` being the id of the session")
    })
}

/// Checks the settings of an agent.
///
/// # Errors
/// `Config`.
pub(crate) fn check(spec: &AgentSpec) -> Result<()> {
    resume_args(spec).map(drop)
}

/// The format its stdout is a trace in, when `config.trace` says that it is one.
fn trace_format(spec: &AgentSpec) -> Result<Option<Format>> {
    settings::read::<Settings>(spec).map(|settings| settings.trace)
}

/// A trace without totals that count earlier visits, too: codex counts from the beginning of its session.
///
/// # Errors
/// Those of the context and of the agent's settings.
pub(crate) fn without_earlier_visits(context: &AgentContext<'_>, trace: Trace) -> Result<Trace> {
    if trace_format(&context.opened()?.agent)? != Some(Format::Codex) || trace.session_id.is_none() {
        return Ok(trace);
    }
    let session = play::prompt(context, &mut CommandAgent::default())?.session;
    Ok(if session == trace.session_id { Trace { tokens: None, ..trace } } else { trace })
}

/// What the agent's program printed, read as the trace that it is; `None` if it is none.
pub(crate) fn printed_trace(spec: &AgentSpec, printed: &str) -> Result<Option<Trace>> {
    let format = match trace_format(spec)? {
        None if spec.is_built_in(CURSOR) => Format::of(printed),
        format => format,
    };
    Ok(format.map(|format| format.read(printed)))
}

/// Whether the prompt speaks of the tool `submit`, which the user has set up for the program.
fn says_tool(spec: &AgentSpec) -> Result<bool> {
    settings::read::<Settings>(spec).map(|settings| settings.mcp)
}

/// The answer in a trace: its final message, with everything before it.
fn answer_of(
    context: &AgentContext<'_>,
    opened: &Opened,
    trace: Trace,
    format: Format,
    duration_ms: u64,
) -> Result<Answer> {
    let agent = &opened.agent.name;
    if let Some(gaps) = trace.gaps() {
        progress::line(&format!("{agent}: trace: {gaps}"));
    }
    let trace = last_call::answered(context, opened, trace)?;
    let Some(raw) = trace.answer else {
        let why = format!("nothing in its stdout is one in the format of {}", format.as_str());
        return Err(last_call::no_final_message(agent, &why));
    };
    Ok(Answer {
        turns: trace.turns,
        duration_ms,
        source: trace.source,
        session_id: trace.session_id,
        tokens: trace.tokens,
        ..Answer::text(raw)
    })
}

/// Creates a program's output file and reserves space for an answer.
fn with_room(path: &Path) -> Result<File> {
    let file = agent_process::create(path)?;
    room_in(&file).at("reserve space for an answer in", path)?;
    Ok(file)
}

/// Runs the command with the prompt on stdin, or in its arguments when they ask for it. Time limits are the keeper's.
fn execute(opened: &Opened, args: &[String], text: &str, files: &OutputFiles) -> Result<ExitStatus> {
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
    let stdin = if by_argument {
        Stdio::null()
    } else {
        Stdio::from(
            holding(text)
                .map_err(|error| Error::io(format!("cannot hold the prompt of {} bytes: {error}", text.len())))?,
        )
    };
    let args: Vec<String> = args.iter().map(|arg| fill(arg, opened, Some(text))).collect();
    let mut command = Command::new(&spec.command);
    without_secrets(&mut command, opened);
    let mut process = command
        .args(&args)
        .stdin(stdin)
        .stdout(with_room(&files.raw)?)
        .spawn()
        .map_err(|source| agent_process::cannot_start(&spec.command, &args, &opened.workspace, &source))?;
    process.wait().map_err(|source| Error::agent_failed(format!("cannot wait for agent `{}`: {source}", spec.name)))
}

/// A file without a name that holds a text, ready to be read: unlike a pipe it takes any size before anybody reads, and
/// nobody else can find it.
fn holding(text: &str) -> std::io::Result<File> {
    #[cfg(target_os = "linux")]
    let mut file = File::from(rustix::fs::memfd_create("prompt", rustix::fs::MemfdFlags::CLOEXEC)?);
    #[cfg(not(target_os = "linux"))]
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// Fills in the templates of one argument in a single pass, so that a prompt that contains `{role}` stays as it is.
fn fill(template: &str, opened: &Opened, prompt: Option<&str>) -> String {
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
    files: &OutputFiles,
    cap: u64,
    trace: Option<&Trace>,
) -> Result<()> {
    if status.code().is_some_and(|code| spec.succeeded(code)) {
        return Ok(());
    }
    let said = match trace.map(|trace| &trace.ending) {
        Some(Ending::Failed(words)) => words.clone(),
        Some(Ending::Bad(how)) => format!("it {how}"),
        // Whatever became of the file, this is not why the agent failed.
        Some(Ending::Good | Ending::Unknown) | None => agent_process::read_kept(&files.err, cap)?,
    };
    let last = said.trim_end().lines().last().unwrap_or_default().trim();
    let words = if last.is_empty() { String::new() } else { format!("; its last words: {last}") };
    Err(Error::agent_failed(format!("agent `{}` {}{words}", spec.name, how_it_ended(status))))
}

/// The file that the run is to make or change, as it was before.
struct Expected {
    path: PathBuf,
    before: Option<Stamp>,
}

/// What distinguishes a file from itself at another time: device, inode, size, and the times (seconds, nanoseconds) of its last
/// change in content and in anything. They are compared with each other, never with a clock: that of a file system is
/// coarser than ours, and may be another machine's.
#[derive(PartialEq, Eq)]
struct Stamp([i64; 4], [u64; 3]);

impl Expected {
    fn before(opened: &Opened) -> Option<Expected> {
        let path = opened.workspace.join(fill(opened.agent.expect_file.as_ref()?, opened, None));
        Some(Expected { before: Stamp::of(&path), path })
    }

    fn check(&self) -> Result<()> {
        let problem = match Stamp::of(&self.path) {
            None => "does not exist",
            after if after == self.before => "is the one that was there before the run",
            Some(_) => return Ok(()),
        };
        Err(Error::agent_failed(format!("the expected file {} {problem}", self.path.display())))
    }
}

impl Stamp {
    fn of(path: &Path) -> Option<Stamp> {
        let meta = path.metadata().ok()?;
        let times = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
        Some(Stamp(times, [meta.dev(), meta.ino(), meta.size()]))
    }
}
