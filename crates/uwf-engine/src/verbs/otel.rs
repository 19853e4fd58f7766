//! `uwf otel export`, and `otel` of config.yaml: the history of threads, as spans for an OpenTelemetry collector.
//!
//! After a step a separate process sends the new spans, so that a collector cannot fail or delay the step. Ids are derived from the
//! thread and its nodes, so a span that is sent again is identical.

mod agents;
mod content;
mod ids;
mod otlp;
mod spans;

use json_cas::NodeHash;
use serde_json::Value;
use uwf_core::config::{OtelConfig, UwfConfig};
use uwf_core::thread::ThreadId;

use self::otlp::OtelSpan;
use self::spans::SpanRange;
use crate::attempt::child_threads;
use crate::attempt::redactor::SecretRedactor;
use crate::attempt::settings::ThreadSettings;
use crate::error::{Error, Result};
use crate::root::env_file;
use crate::root::home::Home;
use crate::root::log::{LogFile, log};
use crate::root::project;
use crate::verbs::notify::after_step;

/// Hidden argument of the sending process, followed by the thread, the head before the step and the step's start time.
pub const OTEL_ARGUMENT: &str = "__otel";

/// Placeholder for an unreadable head before a step.
const NO_HEAD: &str = "-";

/// Placeholder start time: send the whole thread.
const ALL: u64 = 0;

/// Bytes of spans per request. Collectors accept a few megabytes, and a span has at most a few hundred kilobytes.
const BYTES_AT_ONCE: usize = 1 << 20;

/// The spans of a thread.
#[derive(Debug, Clone)]
pub struct SpanExport {
    /// The thread.
    pub thread: ThreadId,
    /// Its trace id, hexadecimal: the trace id of its topmost ancestor.
    pub trace_id: String,
    /// Whether the thread has ended. Only then does it have a span of its own.
    pub has_ended: bool,
    /// Unreadable parts, whose spans are missing.
    pub unreadable: Vec<String>,
    spans: Vec<OtelSpan>,
    redactor: SecretRedactor,
}

impl SpanExport {
    /// Number of spans.
    pub fn count(&self) -> usize {
        self.spans.len()
    }

    /// All spans in one `ExportTraceServiceRequest`, as JSON.
    pub fn whole(&self) -> Value {
        self.redactor.value(&otlp::request(&self.spans))
    }

    /// All spans in requests of a size that collectors accept.
    pub fn requests(&self) -> impl Iterator<Item = Value> {
        otlp::requests(&self.spans, BYTES_AT_ONCE).map(|request| self.redactor.value(&request))
    }
}

/// All spans of a thread and its child threads. With `content`, includes tasks, prompts, answers, and the input and output of tools.
///
/// # Errors
/// `NotFound` if the thread does not exist, and errors of its steps. Unreadable nodes below a step are listed in the result.
pub fn export(home: &Home, thread: &ThreadId, content: bool) -> Result<SpanExport> {
    exported(home, thread, content, SpanRange::All)
}

fn exported(home: &Home, thread: &ThreadId, content: bool, range: SpanRange) -> Result<SpanExport> {
    let redactor = SecretRedactor::for_home(home)?;
    let traced = spans::thread_spans(home, &config_of(home, thread)?, thread, content, range)?;
    let (trace_id, has_ended) = (traced.trace.hex(), traced.has_ended);
    Ok(SpanExport {
        thread: thread.clone(),
        trace_id,
        has_ended,
        unreadable: traced.unreadable,
        spans: traced.spans,
        redactor,
    })
}

/// The configuration that names the models of a thread's agents: its project's, if that is sound.
fn config_of(home: &Home, thread: &ThreadId) -> Result<UwfConfig> {
    let settings = ThreadSettings::load(home, thread)?;
    let of_project = settings.and_then(|settings| project::config(home, &settings.workspace).ok());
    of_project.map_or_else(|| home.config(), Ok)
}

/// Destination of the requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtelDestination {
    /// The URL.
    pub url: String,
    /// Names and values of headers. Values may be secrets.
    pub headers: Vec<(String, String)>,
}

/// The configured collector, with the values of its headers.
///
/// # Errors
/// `Config` if a header's variable is not set, or `.env` is not readable.
pub fn destination(home: &Home, otel: &OtelConfig) -> Result<OtelDestination> {
    let mut headers: Vec<(String, String)> = otel.headers.clone().into_iter().collect();
    let env_file = env_file::read(&home.env_file())?;
    for (header, variable) in &otel.headers_env {
        let value = env_file::value_of(variable, &env_file);
        let value = value.ok_or_else(|| {
            Error::config(format!("{variable} is not set, which holds a header for `otel`"))
                .hint(format!("put it into the environment or into `.env`: {variable}=…"))
        })?;
        headers.push((header.clone(), value.trim().to_owned()));
    }
    Ok(OtelDestination { url: otel.traces_url(), headers })
}

/// The state of a thread before a step; read only if spans are to be sent.
///
/// A child thread sends nothing itself: the keeper of its parent ends all remaining processes of the role, and so would end the sender.
/// The parent's step sends the child's spans with its own.
pub(crate) struct OtelBaseline(Option<(Option<NodeHash>, u64)>);

impl OtelBaseline {
    pub(crate) fn read(home: &Home, thread: &ThreadId) -> OtelBaseline {
        let is_wanted = is_wanted(home) && child_threads::parent_of(home, thread).is_none();
        let head = || home.heads().read(thread.as_str()).ok().flatten().map(|head| head.hash);
        OtelBaseline(is_wanted.then(|| (head(), crate::root::ids::now_ms())))
    }

    /// For a killed child thread, which no longer belongs to a step of its parent: all of its spans.
    pub(crate) fn of_killed(home: &Home, thread: &ThreadId) -> OtelBaseline {
        match child_threads::parent_of(home, thread) {
            Some(_) => OtelBaseline(is_wanted(home).then_some((None, ALL))),
            None => OtelBaseline::read(home, thread),
        }
    }

    /// Like [`OtelBaseline::send`], for a step that has succeeded or failed. If the thread ended during a step, it was killed, and the `kill`
    /// command sends the spans.
    pub(crate) fn send_step(self, home: &Home, thread: &ThreadId, has_succeeded: bool) {
        let was_killed = || matches!(home.heads().read(thread.as_str()), Ok(None));
        if self.0.is_some() && (has_succeeded || !was_killed()) {
            self.send(home, thread);
        }
    }

    /// Starts the process that sends the new spans.
    pub(crate) fn send(self, home: &Home, thread: &ThreadId) {
        let Some((head, at)) = self.0 else { return };
        let head = head.map_or_else(|| NO_HEAD.to_owned(), |head| head.to_string());
        if let Err(error) = after_step::start(home, &[OTEL_ARGUMENT, thread.as_str(), &head, &at.to_string()]) {
            let log = LogFile::open(&home.log_file(thread));
            log!(log, "9N4XD2RE", Error, "no spans were sent: {error}");
        }
    }
}

fn is_wanted(home: &Home) -> bool {
    home.config().is_ok_and(|config| config.otel.is_some())
}

/// The sending process: sends the spans of steps after `head`, and of attempts that failed or ended since `at` (Unix milliseconds).
/// `post` sends a request, and returns the collector's complaint.
///
/// # Errors
/// None, since no caller would show one. Failures are logged.
pub fn perform(
    home: &Home,
    thread: &ThreadId,
    head: &str,
    at: u64,
    post: &dyn Fn(&OtelDestination, &Value) -> std::result::Result<(), String>,
) {
    let log = LogFile::open(&home.log_file(thread));
    let again = format!("`uwf otel export {thread}` sends all spans again");
    let range = if at == ALL { SpanRange::All } else { SpanRange::Since { head: head.parse().ok(), at } };
    match send_since(home, thread, range, post) {
        Ok(None) => {}
        Ok(Some(sent)) => log!(log, "3QK7M5WT", Info, "sent spans: {sent}"),
        Err(why) => log!(log, "Y6C8T0HB", Error, "could not send spans: {why}; {again}"),
    }
}

/// Returns the number of spans sent; `None` if there were none to send.
fn send_since(
    home: &Home,
    thread: &ThreadId,
    range: SpanRange,
    post: &dyn Fn(&OtelDestination, &Value) -> std::result::Result<(), String>,
) -> std::result::Result<Option<usize>, String> {
    let message = |error: crate::error::Error| error.message;
    let config = home.config().map_err(|error| error.to_string())?;
    let Some(otel) = &config.otel else { return Ok(None) };
    let exported = exported(home, thread, otel.content, range).map_err(message)?;
    if exported.count() == 0 {
        return Ok(None);
    }
    let destination = destination(home, otel).map_err(message)?;
    exported.requests().try_for_each(|request| post(&destination, &request))?;
    match exported.unreadable.first() {
        Some(unreadable) => Err(format!("some are missing, because {unreadable}")),
        None => Ok(Some(exported.count())),
    }
}
