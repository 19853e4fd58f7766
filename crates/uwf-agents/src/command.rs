//! The agent behind every `output: text` and `output: json`: runs a command that knows nothing of the store, gives it
//! the prompt, and does the rest.

use std::fs::File;
use std::io::{Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use agent_kit::answer::{Answer, Turn};
use agent_kit::spawn::without_secrets;
use agent_kit::{Agent, Context, Error, Kind, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use uwf_core::prompt::Prompt;
use uwf_engine::agents::AgentSpec;
use uwf_engine::attempts::{self, Opened, OutputFiles};
use uwf_engine::child;

use crate::acp;
use crate::progress;
use crate::settings;
use crate::trace::{Format, Trace};

/// Longest prompt that is passed as an argument. The system refuses one of 131,072 bytes; `args` may add to it.
pub const MAX_PROMPT_ARGUMENT: usize = 120_000;

/// What `config` of the agent may hold, beside what the program it runs asks for.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Settings {
    trace: Option<Format>,
    /// Whether the program has been given the tool `submit`.
    mcp: bool,
}

impl settings::Settings for Settings {
    const OPEN: bool = true;

    fn properties() -> Value {
        json!({
            "trace": {
                "enum": Format::ALL.map(Format::as_str),
                "description": "The program's stdout is a trace in this format, and its answer the final message in it.",
            },
            "mcp": {
                "type": "boolean",
                "description": "The program has been given the server `uwf agent mcp` in its own configuration, so the prompt speaks of the tool `submit`; false by default.",
            },
        })
    }
}

/// The agent of one attempt.
#[derive(Default)]
pub struct CommandAgent {
    exit_code: Option<i32>,
}

impl Agent for CommandAgent {
    fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }

    fn prompt(&mut self, context: &Context<'_>, prompt: Prompt) -> Result<Prompt> {
        Ok(acp::with_instruction(context, prompt, says_tool(&context.opened()?.agent)?))
    }

    fn answer(&mut self, context: &Context<'_>, prompt: &Prompt) -> Result<Answer> {
        let opened = context.opened()?;
        let format = trace_format(&opened.agent)?;
        let files = OutputFiles::of(context.thread().home(), &opened.thread, &opened.attempt);
        let begun = Instant::now();
        let input = parts(prompt);
        let expected = Expected::before(opened);
        let status = execute(opened, &prompt.text(), &files, || context.expect(&input))?;
        self.exit_code = status.code();
        let spec = &opened.agent;
        let read = |format: Format| {
            child::read_capped(&files.raw, opened.output_cap).map(|raw| format.read(&raw).with_input(&input))
        };
        // That it cannot be read just now says nothing about the agent's work.
        let trace = format.map(read);
        let readable = trace.as_ref().and_then(|trace| trace.as_ref().ok());
        check_status(spec, status, &files, opened.output_cap, readable)?;
        if let Some(expected) = expected {
            expected.check()?;
        }
        // Should this process not come to its end, the answer is read by the next one. Without the line the agent is run
        // again, which is no reason to fail now.
        let _ = attempts::answered(context.thread().home(), &opened.thread, &opened.attempt);
        let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        if let Some((trace, format)) = trace.transpose()?.zip(format) {
            return told(&spec.name, trace, format, duration_ms);
        }
        let raw = child::read_capped(&files.raw, opened.output_cap)?;
        Ok(Answer {
            turns: vec![Turn { output: raw.clone(), latency_ms: duration_ms, ..Turn::asked(input) }],
            duration_ms,
            ..Answer::text(raw)
        })
    }
}

fn parts(prompt: &Prompt) -> Vec<String> {
    prompt.parts.iter().map(|part| part.text.clone()).collect()
}

/// The format its stdout is a trace in, when `config.trace` says that it is one.
pub(crate) fn trace_format(spec: &AgentSpec) -> Result<Option<Format>> {
    settings::read::<Settings>(spec).map(|settings| settings.trace)
}

/// Whether the prompt speaks of the tool `submit`, which the user has set up for the program.
fn says_tool(spec: &AgentSpec) -> Result<bool> {
    settings::read::<Settings>(spec).map(|settings| settings.mcp)
}

/// The answer a trace tells: its final message, with everything before it.
fn told(agent: &str, trace: Trace, format: Format, duration_ms: u64) -> Result<Answer> {
    if let Some(gaps) = trace.gaps() {
        progress::line(&format!("{agent}: trace: {gaps}"));
    }
    let Some(raw) = trace.answer else {
        let why =
            trace.error.unwrap_or_else(|| format!("nothing in its stdout is one in the format of {}", format.as_str()));
        return Err(Error::new(Kind::AgentFailed, format!("agent `{agent}` ended without a final message: {why}")));
    };
    Ok(Answer {
        raw,
        value: None,
        turns: trace.turns,
        duration_ms,
        source: trace.source,
        session_id: trace.session_id,
        tokens: trace.tokens,
    })
}

/// Runs the command with the prompt on stdin, or in its arguments when they ask for it. Time limits are the keeper's.
fn execute(opened: &Opened, text: &str, files: &OutputFiles, meanwhile: impl FnOnce()) -> Result<ExitStatus> {
    let spec = &opened.agent;
    let by_argument = spec.args.iter().any(|arg| arg.contains("{prompt}"));
    if by_argument && text.len() > MAX_PROMPT_ARGUMENT {
        return Err(Error::new(
            Kind::Config,
            format!(
                "the prompt has {} bytes, too many for an argument of `{}` (at most {MAX_PROMPT_ARGUMENT})",
                text.len(),
                spec.command
            ),
        )
        .hint("leave `{prompt}` out of `args`: then the prompt comes on stdin; or lower `promptBudget`"));
    }
    let stdin = if by_argument {
        Stdio::null()
    } else {
        Stdio::from(holding(text).map_err(|error| {
            Error::new(Kind::Io, format!("cannot hold the prompt of {} bytes: {error}", text.len()))
        })?)
    };
    let args: Vec<String> = spec.args.iter().map(|arg| fill(arg, opened, Some(text))).collect();
    let mut command = Command::new(&spec.command);
    without_secrets(&mut command, opened);
    let mut process = command
        .args(&args)
        .stdin(stdin)
        .stdout(child::create(&files.raw)?)
        .spawn()
        .map_err(|source| child::cannot_start(&spec.command, &args, &opened.workspace, &source))?;
    meanwhile();
    process
        .wait()
        .map_err(|source| Error::new(Kind::AgentFailed, format!("cannot wait for agent `{}`: {source}", spec.name)))
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
    let how = match (status.code(), status.signal()) {
        (Some(code), _) if spec.succeeded(code) => return Ok(()),
        (Some(code), _) => format!("exited with {code}"),
        (None, signal) => format!("was ended by signal {}", signal.unwrap_or(0)),
    };
    let said = match trace.and_then(|trace| trace.error.clone()) {
        Some(error) => error,
        // Whatever became of the file, this is not why the agent failed.
        None => child::read_kept(&files.err, cap)?,
    };
    let last = said.trim_end().lines().last().unwrap_or_default().trim();
    let words = if last.is_empty() { String::new() } else { format!("; its last words: {last}") };
    Err(Error::new(Kind::AgentFailed, format!("agent `{}` {how}{words}", spec.name)))
}

/// The file that the run is to make or change, as it was before.
struct Expected {
    path: PathBuf,
    before: Option<Stamp>,
}

/// What tells a file from itself at another time: device, inode, size, and the times (seconds, nanoseconds) of its last
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
        Err(Error::new(Kind::AgentFailed, format!("the expected file {} {problem}", self.path.display())))
    }
}

impl Stamp {
    fn of(path: &Path) -> Option<Stamp> {
        let meta = path.metadata().ok()?;
        let times = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
        Some(Stamp(times, [meta.dev(), meta.ino(), meta.size()]))
    }
}
