//! `uwf otel export`, and `otel` of config.yaml: what threads did, as spans for a collector of OpenTelemetry.
//!
//! After a step a process of its own sends what the step added, so that no collector can fail a step or keep it waiting. Ids
//! follow from the thread and its nodes: whoever sends a span again sends the same one.

mod agents;
mod content;
mod ids;
mod otlp;
mod spans;

use json_cas::Hash;
use serde_json::Value;
use uwf_core::config::{Config, Otel};
use uwf_core::thread::ThreadId;

use self::otlp::Span;
use self::spans::Range;
use crate::attempt::redactor::Redactor;
use crate::attempt::settings::Settings;
use crate::error::{Error, Result};
use crate::root::env_file;
use crate::root::home::Home;
use crate::root::log::{Log, log};
use crate::root::project;
use crate::verbs::{after_step, child_threads};

/// Hidden argument of the process that sends; thread, head before the step and when that began follow it.
pub const OTEL_ARGUMENT: &str = "__otel";

/// Stands for the head of a thread that was not readable before a step.
const NO_HEAD: &str = "-";

/// Stands for the beginning of a step when all of a thread is to be sent.
const ALL: u64 = 0;

/// Bytes of the spans of one request. Collectors take some megabytes, and one span has at most some hundred kilobytes.
const BYTES_AT_ONCE: usize = 1 << 20;

/// What there is to send of a thread.
#[derive(Debug, Clone)]
pub struct Exported {
    /// The thread.
    pub thread: ThreadId,
    /// Its trace, hexadecimal: that of the topmost thread above it.
    pub trace_id: String,
    /// Whether the thread has ended. The span of the thread itself is there only then.
    pub has_ended: bool,
    /// What is not readable and so is missing.
    pub unreadable: Vec<String>,
    spans: Vec<Span>,
    redactor: Redactor,
}

impl Exported {
    /// How many spans there are.
    pub fn count(&self) -> usize {
        self.spans.len()
    }

    /// All of them in one `ExportTraceServiceRequest`, as JSON.
    pub fn whole(&self) -> Value {
        self.redactor.value(&otlp::request(&self.spans))
    }

    /// The same as requests that collectors take.
    pub fn requests(&self) -> impl Iterator<Item = Value> {
        otlp::requests(&self.spans, BYTES_AT_ONCE).map(|request| self.redactor.value(&request))
    }
}

/// All spans of a thread and its child threads; `content`: with tasks, prompts, answers and what tools were given and said.
///
/// # Errors
/// `NotFound` if there is no such thread; those of its steps, not of what lies below them.
pub fn export(home: &Home, thread: &ThreadId, content: bool) -> Result<Exported> {
    exported(home, thread, content, Range::All)
}

fn exported(home: &Home, thread: &ThreadId, content: bool, range: Range) -> Result<Exported> {
    let redactor = Redactor::of(home)?;
    let traced = spans::of(home, &config_of(home, thread)?, thread, content, range)?;
    let (trace_id, has_ended) = (traced.trace.hex(), traced.has_ended);
    Ok(Exported {
        thread: thread.clone(),
        trace_id,
        has_ended,
        unreadable: traced.unreadable,
        spans: traced.spans,
        redactor,
    })
}

/// The configuration that says which models agents of a thread have: that of its project, if there is a sound one.
fn config_of(home: &Home, thread: &ThreadId) -> Result<Config> {
    let settings = Settings::load(home, thread)?;
    let of_project = settings.and_then(|settings| project::config(home, &settings.workspace).ok());
    of_project.map_or_else(|| home.config(), Ok)
}

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The URL.
    pub url: String,
    /// Headers, names and values. Values may be secrets.
    pub headers: Vec<(String, String)>,
}

/// The collector of the configuration, with the values of its headers.
///
/// # Errors
/// `Config` if a variable that holds a header is not set, or `.env` is not readable.
pub fn destination(home: &Home, otel: &Otel) -> Result<Destination> {
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
    Ok(Destination { url: otel.traces_url(), headers })
}

/// How a thread stood before a step; nothing is looked at unless spans are to be sent.
///
/// A child thread sends nothing itself: the keeper of its parent ends all that the role's process has left behind, and so
/// would end that, too. The parent's step sends the child's spans with its own.
pub(crate) struct Before(Option<(Option<Hash>, u64)>);

impl Before {
    pub(crate) fn of(home: &Home, thread: &ThreadId) -> Before {
        let is_wanted = is_wanted(home) && child_threads::parent_of(home, thread).is_none();
        let head = || home.heads().read(thread.as_str()).ok().flatten().map(|head| head.hash);
        Before(is_wanted.then(|| (head(), crate::root::ids::now_ms())))
    }

    /// For a child thread that is killed, which plays no step of its parent any more: all of it.
    pub(crate) fn of_killed(home: &Home, thread: &ThreadId) -> Before {
        match child_threads::parent_of(home, thread) {
            Some(_) => Before(is_wanted(home).then_some((None, ALL))),
            None => Before::of(home, thread),
        }
    }

    /// As [`Before::send`], for a step that has succeeded or failed. A thread that has ended under a step was killed, and
    /// whoever did so sends what there is.
    pub(crate) fn send_step(self, home: &Home, thread: &ThreadId, has_succeeded: bool) {
        let was_killed = || matches!(home.heads().read(thread.as_str()), Ok(None));
        if self.0.is_some() && (has_succeeded || !was_killed()) {
            self.send(home, thread);
        }
    }

    /// Starts the process that sends what has come since.
    pub(crate) fn send(self, home: &Home, thread: &ThreadId) {
        let Some((head, at)) = self.0 else { return };
        let head = head.map_or_else(|| NO_HEAD.to_owned(), |head| head.to_string());
        if let Err(error) = after_step::start(home, &[OTEL_ARGUMENT, thread.as_str(), &head, &at.to_string()]) {
            let log = Log::open(&home.log_file(thread));
            log!(log, "9N4XD2RE", Error, "no spans were sent: {error}");
        }
    }
}

fn is_wanted(home: &Home) -> bool {
    home.config().is_ok_and(|config| config.otel.is_some())
}

/// The side of the process that sends: what came after `head`, and what failed or ended since `at` (Unix milliseconds). `post`
/// sends a request, and says what the collector finds wrong with it.
///
/// # Errors
/// None, since nobody would see one: what was not sent is logged.
pub fn perform(
    home: &Home,
    thread: &ThreadId,
    head: &str,
    at: u64,
    post: &dyn Fn(&Destination, &Value) -> std::result::Result<(), String>,
) {
    let log = Log::open(&home.log_file(thread));
    let again = format!("`uwf otel export {thread}` sends all of it again");
    let range = if at == ALL { Range::All } else { Range::Since { head: head.parse().ok(), at } };
    match send_since(home, thread, range, post) {
        Ok(None) => {}
        Ok(Some(sent)) => log!(log, "3QK7M5WT", Info, "sent spans: {sent}"),
        Err(why) => log!(log, "Y6C8T0HB", Error, "could not send spans: {why}; {again}"),
    }
}

/// How many spans were sent; `None` if there was nothing to send.
fn send_since(
    home: &Home,
    thread: &ThreadId,
    range: Range,
    post: &dyn Fn(&Destination, &Value) -> std::result::Result<(), String>,
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
