//! The process that sends the notifications about an event of a thread.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use uwf_core::config::{NotifyBy, NotifyEvent};
use uwf_core::text::one_line;
use uwf_core::thread::ThreadId;

use crate::attempt::redactor::SecretRedactor;
use crate::attempt::settings::ThreadSettings;
use crate::error::{Error, Result};
use crate::root::env_file;
use crate::root::home::Home;
use crate::root::log::{LogFile, log};
use crate::thread::load::Thread;
use crate::verbs::answer::question::{self, PersonQuestion, QuestionForm};
use crate::verbs::answer::{self, OpenQuestion};
use crate::verbs::notify;
use crate::views::{pages, show, workflow_names};

/// Time limit of a notification command.
const LIMIT: Duration = Duration::from_mins(1);

/// How often to check whether it has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Sends notifications over the network.
pub trait NotifySender {
    /// Posts a report to a URL.
    ///
    /// # Errors
    /// Why it failed.
    fn post(&self, url: &str, report: &Value) -> std::result::Result<(), String>;

    /// Sends a message to a topic of ntfy or a channel of Slack. Each question in it is a message of its own.
    ///
    /// # Errors
    /// Why it failed.
    fn message(&self, by: &NotifyBy, message: &NotifyMessage) -> std::result::Result<(), String>;
}

/// Bytes of the last step in a message with a question.
const STEP_SHOWN: usize = 1000;

/// A message about a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct NotifyMessage {
    /// The thread.
    pub thread: ThreadId,
    /// Its title, one line.
    pub title: String,
    /// Its text.
    pub text: String,
    /// The task of the thread, for a message with a question.
    pub task: Option<String>,
    /// The question that it asks.
    pub question: Option<PersonQuestion>,
}

/// The notifying process: runs the commands, and sends reports and messages with `sender`.
///
/// # Errors
/// Errors of the thread. Failed notifications are only logged.
pub fn perform(home: &Home, thread: &ThreadId, happening: NotifyEvent, sender: &dyn NotifySender) -> Result<()> {
    let log = LogFile::open(&home.log_file(thread));
    let report = report(home, thread, happening)?;
    let outcome = report.get("outcome").and_then(Value::as_str);
    for entry in notify::wanted(home, happening).iter().filter(|entry| entry.wants(happening, outcome)) {
        let told = match &entry.by {
            NotifyBy::Ntfy(_) | NotifyBy::Slack(_) => send_messages(home, thread, &report, &entry.by, sender),
            NotifyBy::Command(command) => run(home, thread, command, &report, happening),
            NotifyBy::Webhook(url) => sender.post(url, &report),
            NotifyBy::WebhookEnv(name) => match env_file::value_of(name, &env_file::read(&home.env_file())?) {
                Some(url) => sender.post(&url, &report).map_err(|why| without(&why, &url, name)),
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

/// Sends a message for each question of a thread that waits for a person, or a single message.
fn send_messages(
    home: &Home,
    thread: &ThreadId,
    report: &Value,
    by: &NotifyBy,
    sender: &dyn NotifySender,
) -> std::result::Result<(), String> {
    let failed = |error: Error| error.message;
    let messages = messages(home, thread, report).map_err(failed)?;
    let redactor = SecretRedactor::for_home(home).map_err(failed)?;
    let failures: Vec<String> = messages
        .into_iter()
        .map(|message| NotifyMessage {
            title: redactor.text(&message.title),
            text: redactor.text(&message.text),
            task: message.task.as_deref().map(|task| redactor.text(task)),
            ..message
        })
        .filter_map(|message| sender.message(by, &message).err())
        .collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
}

fn messages(home: &Home, thread: &ThreadId, report: &Value) -> Result<Vec<NotifyMessage>> {
    let event = report.get("event").and_then(Value::as_str);
    let asked = match event == Some(NotifyEvent::Waiting.name()) {
        true => answer::all_asked(home, thread)?,
        false => Vec::new(),
    };
    if asked.is_empty() {
        return Ok(vec![news(thread, report)]);
    }
    let message = |asked: &OpenQuestion| {
        let question = question::describe(home, asked)?;
        let title = format!("{}: {} asks", one_line(&question.workflow), one_line(&question.role));
        let text = match question.form {
            QuestionForm::Reply(_) => question.text.clone(),
            // A person who plays a role usually decides about the last step.
            _ => format!("{}{}", last_step(home, &question)?, question.text),
        };
        let thread = thread.clone();
        let task = report.get("task").and_then(Value::as_str).map(str::to_owned);
        Ok(NotifyMessage { thread, title, text, task, question: Some(question) })
    };
    asked.iter().map(message).collect()
}

/// The last step of the thread that asks, as far as a message has room for it.
fn last_step(home: &Home, question: &PersonQuestion) -> Result<String> {
    let thread = Thread::load_at(home, question.thread.clone(), question.head)?;
    let step = pages::last_step(&thread, STEP_SHOWN)?;
    Ok(step.map(|step| format!("{}\n", step.text)).unwrap_or_default())
}

/// A message without a question.
fn news(thread: &ThreadId, report: &Value) -> NotifyMessage {
    let text = |key: &str| report.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let workflow = text("workflowName").unwrap_or("a thread");
    let outcome = text("outcome").or_else(|| text("event")).unwrap_or_default();
    let read = format!("uwf thread read {thread}");
    let body: Vec<&str> = [text("task"), text("why"), Some(&read)].into_iter().flatten().collect();
    NotifyMessage {
        thread: thread.clone(),
        title: format!("{}: {}", one_line(workflow), one_line(outcome)),
        text: body.join("\n\n"),
        task: None,
        question: None,
    }
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
