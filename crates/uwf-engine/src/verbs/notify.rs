//! `notify` of config.yaml: sends a notification when a thread has ended, waits, is at a limit or is stuck.
//!
//! A separate process sends it after the step, so that it cannot fail or delay the step. Child threads send no notifications: their
//! parent does.

pub(crate) mod after_step;

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use uwf_core::config::{NotifyBy, NotifyEvent, NotifyRule};
use uwf_core::thread::ThreadId;

use crate::attempt::child_threads;
use crate::attempt::settings::ThreadSettings;
use crate::error::Result;
use crate::root::env_file;
use crate::root::home::Home;
use crate::root::log::{LogFile, log};
use crate::root::marks::{self, MarkReason, ThreadMark};
use crate::views::{show, workflow_names};

/// Hidden argument of the notifying process, followed by the thread and the event.
pub const NOTIFY_ARGUMENT: &str = "__notify";

/// Time limit of a notification command.
const LIMIT: Duration = Duration::from_mins(1);

/// How often to check whether it has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Events that a mark announces.
const MARKED: [(ThreadMark, NotifyEvent); 3] = [
    (ThreadMark::Waiting, NotifyEvent::Waiting),
    (ThreadMark::Limited, NotifyEvent::Limited),
    (ThreadMark::Stuck, NotifyEvent::Stuck),
];

/// The marks of a thread before a step.
pub(crate) struct NotifyBaseline([Option<MarkReason>; 3]);

impl NotifyBaseline {
    pub(crate) fn read(home: &Home, thread: &ThreadId) -> NotifyBaseline {
        NotifyBaseline(MARKED.map(|(mark, _)| marks::get(home, thread, mark)))
    }

    /// Notifies of the step's result. Skips what was already true before the step: a waiting thread is checked often.
    pub(crate) fn notify_changes(self, home: &Home, thread: &ThreadId, has_ended: bool) {
        if has_ended {
            return spawn_notifier(home, thread, NotifyEvent::Ended);
        }
        for ((mark, happening), before) in MARKED.into_iter().zip(self.0) {
            let Some(now) = marks::get(home, thread, mark) else { continue };
            let is_new = before.is_none_or(|before| match mark {
                // Every failed attempt is a new event.
                ThreadMark::Stuck => before.since != now.since,
                _ => before.why != now.why,
            });
            if is_new {
                spawn_notifier(home, thread, happening);
            }
        }
    }
}

/// Starts the notifying process, if any notification is configured.
pub(crate) fn spawn_notifier(home: &Home, thread: &ThreadId, happening: NotifyEvent) {
    let wanted = wanted(home, happening);
    if wanted.is_empty() || child_threads::parent_of(home, thread).is_some() {
        return;
    }
    if let Err(error) = after_step::start(home, &[NOTIFY_ARGUMENT, thread.as_str(), happening.name()]) {
        let log = LogFile::open(&home.log_file(thread));
        log!(log, "W4T6N9QB", Error, "cannot report that the thread is {}: {error}", happening.name());
    }
}

/// Configured notifications for an event; none if the configuration is unreadable.
fn wanted(home: &Home, happening: NotifyEvent) -> Vec<NotifyRule> {
    let all = home.config().map(|config| config.notify).unwrap_or_default();
    all.into_iter().filter(|entry| entry.on.contains(&happening)).collect()
}

/// The notifying process: runs the commands, and sends the report to the URLs with `post`.
///
/// # Errors
/// Errors of the thread. Failed notifications are only logged.
pub fn perform(
    home: &Home,
    thread: &ThreadId,
    happening: NotifyEvent,
    post: &dyn Fn(&str, &Value) -> std::result::Result<(), String>,
) -> Result<()> {
    let log = LogFile::open(&home.log_file(thread));
    let report = report(home, thread, happening)?;
    let outcome = report.get("outcome").and_then(Value::as_str);
    for entry in wanted(home, happening).iter().filter(|entry| entry.wants(happening, outcome)) {
        let told = match &entry.by {
            NotifyBy::Command(command) => run(home, thread, command, &report, happening),
            NotifyBy::Webhook(url) => post(url, &report),
            NotifyBy::WebhookEnv(name) => match env_file::value_of(name, &env_file::read(&home.env_file())?) {
                Some(url) => post(&url, &report).map_err(|why| without(&why, &url, name)),
                None => Err(format!("{name} is not set")),
            },
        };
        match told {
            Ok(()) => log!(log, "H2V8K3ZD", Info, "notified: the thread is {}", happening.name()),
            Err(why) => log!(log, "E5B1X7MJ", Error, "could not notify that the thread is {}: {why}", happening.name()),
        }
    }
    Ok(())
}

/// The output of `thread show`, with the event and the name of the workflow.
fn report(home: &Home, thread: &ThreadId, happening: NotifyEvent) -> Result<Value> {
    let shown = show::show(home, thread)?;
    let name = workflow_names::own_name(home, shown.workflow);
    let mut report = json!({ "event": happening.name(), "workflowName": name });
    if let (Some(report), Ok(Value::Object(shown))) = (report.as_object_mut(), serde_json::to_value(shown)) {
        report.extend(shown);
    }
    Ok(report)
}

/// An error message without the webhook URL, which is a secret, and without its path, which a server may repeat.
fn without(why: &str, url: &str, name: &str) -> String {
    let path = url.split_once("://").and_then(|(_, rest)| rest.find('/').map(|at| &rest[at..]));
    let why = why.replace(url, &format!("${name}"));
    path.filter(|path| path.len() > 1).map_or(why.clone(), |path| why.replace(path, "/…"))
}

fn run(
    home: &Home,
    thread: &ThreadId,
    command: &str,
    report: &Value,
    happening: NotifyEvent,
) -> std::result::Result<(), String> {
    let settings = ThreadSettings::load(home, thread).ok().flatten();
    let workspace = settings.map(|settings| settings.workspace).filter(|dir| dir.is_dir());
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).current_dir(workspace.as_deref().unwrap_or(home.root()));
    shell.env("UWF_THREAD", thread.as_str()).env("UWF_EVENT", happening.name()).env("UWF_BIN", home.bin());
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut child = shell.spawn().map_err(|error| format!("cannot start `{command}`: {error}"))?;
    let group = Pid::from_child(&child);
    if let Some(mut stdin) = child.stdin.take() {
        let text = format!("{report}\n");
        // A command may never read the report.
        std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    }
    let deadline = Instant::now() + LIMIT;
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("`{command}` ended with {status}")),
            None if Instant::now() >= deadline => {
                let _ = kill_process_group(group, Signal::KILL);
                return Err(format!("`{command}` was ended after {} s", LIMIT.as_secs()));
            }
            None => std::thread::sleep(LOOK),
        }
    }
}
