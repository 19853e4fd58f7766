//! Records replies as answers: each becomes a `uwf thread answer` process.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;
use uwf_call::UwfCall;
use uwf_engine::attempt::child_threads;
use uwf_engine::error::{EarlierAnswer, Error, ErrorKind};
use uwf_engine::root::home::ROOT_VARIABLES;
use uwf_engine::root::messages::{MessageFiles, MessageName, QuestionName, ReceivedReply, ReplyContent, SentQuestion};
use uwf_engine::verbs::answer::question::{self, GivenAnswer, PersonQuestion};
use uwf_engine::verbs::answer::{self, AnswerPrecondition};
use uwf_engine::verbs::step::newest_attempt::NewestAttempt;

use super::{NotifyMessenger, wording};
use crate::context::CommandContext;
use crate::error::CommandError;

/// The first pause before a reply is recorded again; it doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Records the replies that were kept.
pub(crate) struct ReplyRecorder<'c> {
    context: &'c CommandContext,
    files: MessageFiles,
    messengers: Vec<NotifyMessenger>,
    /// Replies to record later: when, and the next pause.
    later: HashMap<PathBuf, (Instant, Duration)>,
}

/// The result for a reply.
enum ReplyOutcome {
    /// It was recorded; the text confirms it.
    Recorded(String),
    /// It was refused; the text says why.
    Refused(String),
    /// Another answer came first; the text says whose.
    Answered(String),
    /// It is not about a question of uwf.
    Ignored(String),
    /// Something failed that may pass.
    Later(String),
}

impl<'c> ReplyRecorder<'c> {
    pub(crate) fn new(
        context: &'c CommandContext,
        files: MessageFiles,
        messengers: Vec<NotifyMessenger>,
    ) -> ReplyRecorder<'c> {
        ReplyRecorder { context, files, messengers, later: HashMap::new() }
    }

    /// Records all replies that are due.
    pub(crate) fn record_all(&mut self) -> Result<(), CommandError> {
        for (path, reply) in self.files.kept()? {
            if self.later.get(&path).is_some_and(|(due, _)| *due > Instant::now()) {
                continue;
            }
            let sent = self.sent(&reply)?;
            let messenger = self.messenger(&reply, sent.as_ref());
            let outcome = match messenger {
                Some(messenger) => self.record(&path, &reply, sent.as_ref(), messenger),
                None => ReplyOutcome::Ignored("no rule of `notify` has its topic or channel".to_owned()),
            };
            self.conclude(&path, &reply, sent.as_ref(), outcome)?;
        }
        Ok(())
    }

    /// The question that a reply is about.
    fn sent(&self, reply: &ReceivedReply) -> Result<Option<SentQuestion>, CommandError> {
        let all = self.files.sent()?;
        let is_meant = |sent: &&SentQuestion| match &reply.question {
            QuestionName::Code { code, head, .. } => sent.code == *code && head.is_none_or(|head| head == sent.head),
            QuestionName::Message(message) => sent.message.as_ref() == Some(message),
        };
        // People who write to one topic can't answer the questions of another.
        let is_of_source = |sent: &&SentQuestion| {
            self.messengers
                .iter()
                .any(|messenger| messenger.rule() == sent.rule && messenger.source() == Some(&reply.source))
        };
        Ok(all.iter().filter(is_meant).find(is_of_source).cloned())
    }

    /// The messenger of the question, or else one with the same source, for the response.
    fn messenger(&self, reply: &ReceivedReply, sent: Option<&SentQuestion>) -> Option<&NotifyMessenger> {
        let mut of_source = self.messengers.iter().filter(|messenger| messenger.source() == Some(&reply.source));
        match sent {
            Some(sent) => of_source.find(|messenger| messenger.rule() == sent.rule),
            None => of_source.next(),
        }
    }

    fn record(
        &self,
        path: &Path,
        reply: &ReceivedReply,
        sent: Option<&SentQuestion>,
        messenger: &NotifyMessenger,
    ) -> ReplyOutcome {
        let Some(sent) = sent else { return unknown(reply, messenger) };
        if !messenger.admits(reply.user.as_deref()) {
            return ReplyOutcome::Refused("You may not answer here: `users` does not list you.".to_owned());
        }
        let question = match self.question(sent) {
            Ok(question) => question,
            Err(error) => return self.refused(reply, &error),
        };
        let given = match &reply.content {
            ReplyContent::Option(position) => {
                question.form.option(*position).ok_or_else(|| "This option does not exist.".to_owned())
            }
            ReplyContent::Text(words) => question.form.answer(words),
        };
        match given {
            Ok(given) => self.answer(path, reply, sent, &given, messenger),
            Err(why) => ReplyOutcome::Refused(why),
        }
    }

    /// The question, if it is still open.
    fn question(&self, sent: &SentQuestion) -> Result<PersonQuestion, Error> {
        let home = &self.context.home;
        let attempt = sent.attempt.as_ref().and_then(|attempt| attempt.parse().ok()).map(NewestAttempt::Is);
        let asked = answer::asked(home, &sent.thread, AnswerPrecondition { head: Some(sent.head), attempt })?;
        question::describe(home, &asked)
    }

    fn answer(
        &self,
        path: &Path,
        reply: &ReceivedReply,
        sent: &SentQuestion,
        given: &GivenAnswer,
        messenger: &NotifyMessenger,
    ) -> ReplyOutcome {
        if let Err(error) = self.files.begin(path, reply) {
            return ReplyOutcome::Later(error.message);
        }
        let mut line = vec![
            "thread".to_owned(),
            "answer".to_owned(),
            sent.thread.to_string(),
            format!("--expect-head={}", sent.head),
            format!("--by={}", reply.by),
        ];
        line.extend(sent.attempt.iter().map(|attempt| format!("--expect-attempt={attempt}")));
        let input = match given {
            GivenAnswer::Reply(text) => {
                line.push("--file=-".to_owned());
                text.clone()
            }
            GivenAnswer::Output(output) => {
                line.push("--data=-".to_owned());
                output.to_string()
            }
        };
        let outcome = match (UwfCall { input, ..self.call(line) }).run(None) {
            Ok(outcome) => outcome,
            Err(error) => return ReplyOutcome::Later(format!("cannot run uwf: {error}")),
        };
        let report = outcome.report();
        if outcome.is_news() {
            return ReplyOutcome::Recorded(self.confirm(sent, &report, messenger));
        }
        let earlier = report.pointer("/error/answered").and_then(|answer| EarlierAnswer::deserialize(answer).ok());
        let message = report.pointer("/error/message").and_then(Value::as_str).unwrap_or("uwf failed").to_owned();
        if let Some(earlier) = earlier {
            return answered(reply, &earlier, &message);
        }
        match report.pointer("/error/exitCode").and_then(Value::as_i64) {
            Some(75) => match self.question(sent) {
                // It is still open: another process holds the thread.
                Ok(_) => ReplyOutcome::Later(message),
                Err(error) => self.refused(reply, &error),
            },
            Some(41 | 64 | 65 | 69 | 78) => {
                let hints = report.pointer("/error/hints").and_then(Value::as_array).into_iter().flatten();
                // A person at a phone runs no commands.
                let hints = hints.filter_map(Value::as_str).filter(|hint| !hint.contains("`uwf "));
                let lines = [format!("Not recorded: {message}")].into_iter().chain(hints.map(str::to_owned));
                ReplyOutcome::Refused(lines.collect::<Vec<_>>().join("\n"))
            }
            _ => ReplyOutcome::Later(message),
        }
    }

    /// Says what follows, and continues the thread if the rule says so.
    fn confirm(&self, sent: &SentQuestion, report: &Value, messenger: &NotifyMessenger) -> String {
        if report["done"] == true {
            return "Recorded. The thread has ended.".to_owned();
        }
        let next = report.pointer("/next/role").and_then(Value::as_str);
        let next = next.map(|role| format!(" Next: {role}.")).unwrap_or_default();
        if !messenger.runs() {
            return format!("Recorded.{next}");
        }
        let thread = child_threads::topmost(&self.context.home, &sent.thread);
        // Further questions of its agents are sent as well.
        let line = ["thread", "run", thread.as_str()].map(str::to_owned);
        // It continues by itself.
        match self.call(line.into()).run(Some(Duration::ZERO)) {
            Ok(_) => format!("Recorded.{next} The thread continues."),
            Err(error) => format!("Recorded.{next} The thread could not be continued: {error}"),
        }
    }

    fn call(&self, line: Vec<String>) -> UwfCall {
        let home = &self.context.home;
        let args = ["--format".to_owned(), "json".to_owned()].into_iter().chain(line);
        UwfCall::new(home.bin(), home.root(), args).variable(ROOT_VARIABLES[0], home.root())
    }

    /// The outcome for a question that is already closed.
    fn refused(&self, reply: &ReceivedReply, error: &Error) -> ReplyOutcome {
        if matches!(error.kind, ErrorKind::Io) {
            return ReplyOutcome::Later(error.message.clone());
        }
        if let Some(earlier) = error.earlier_answer() {
            return answered(reply, earlier, &error.message);
        }
        ReplyOutcome::Refused(format!("Not recorded: {}.", error.message))
    }

    /// Responds to the person, and forgets the reply or keeps it for later.
    fn conclude(
        &mut self,
        path: &Path,
        reply: &ReceivedReply,
        sent: Option<&SentQuestion>,
        outcome: ReplyOutcome,
    ) -> Result<(), CommandError> {
        let printer = self.context.printer;
        let code = sent.map_or("an unknown question", |sent| sent.code.as_str());
        let closes = matches!(outcome, ReplyOutcome::Recorded(_) | ReplyOutcome::Answered(_));
        let (response, is_recorded) = match outcome {
            ReplyOutcome::Later(why) => {
                let pause = self.later.get(path).map_or(FIRST_PAUSE, |(_, pause)| *pause);
                self.later.insert(path.to_owned(), (Instant::now() + pause, LONGEST_PAUSE.min(pause * 2)));
                printer.talk(&format!("{code}: {} answers; trying again: {why}", reply.by));
                return Ok(());
            }
            ReplyOutcome::Ignored(why) => {
                printer.talk(&format!("{code}: a reply by {} is ignored: {why}", reply.by));
                self.later.remove(path);
                return Ok(self.files.forget(path)?);
            }
            ReplyOutcome::Recorded(text) => (text, true),
            ReplyOutcome::Refused(text) | ReplyOutcome::Answered(text) => (text, false),
        };
        self.later.remove(path);
        printer.talk(&format!("{code}, answered by {}: {response}", reply.by));
        // The answer counts, even if the person gets no response.
        self.files.forget(path)?;
        if let Some(messenger) = self.messenger(reply, sent) {
            let message = named_message(reply, sent);
            let closed = sent.zip(message).filter(|_| closes).map_or(Ok(()), |(sent, message)| {
                messenger.close(message, &closing(sent, reply, &response, is_recorded))
            });
            for failure in [closed, messenger.respond(&response, message)].into_iter().filter_map(Result::err) {
                printer.warn(&format!("{code}: {} got no response: {failure}", reply.by));
            }
        }
        Ok(())
    }
}

/// The outcome for a question that has an answer.
fn answered(reply: &ReceivedReply, earlier: &EarlierAnswer, message: &str) -> ReplyOutcome {
    // A process that was killed may have recorded this reply.
    if reply.is_begun && earlier.by.as_ref() == Some(&reply.by) {
        return ReplyOutcome::Recorded("Recorded.".to_owned());
    }
    ReplyOutcome::Answered(format!("Not recorded: {message}."))
}

/// The text that replaces an answered question.
fn closing(sent: &SentQuestion, reply: &ReceivedReply, response: &str, is_recorded: bool) -> String {
    match is_recorded {
        true => format!("{}: answered by {}", sent.code, wording::person(&reply.by)),
        false => format!("{}: {response}", sent.code),
    }
}

/// The message with the question of a reply.
fn named_message<'r>(reply: &'r ReceivedReply, sent: Option<&'r SentQuestion>) -> Option<&'r MessageName> {
    let named = match &reply.question {
        QuestionName::Code { message, .. } => message.as_ref(),
        QuestionName::Message(message) => Some(message),
    };
    named.or_else(|| sent?.message.as_ref())
}

/// The outcome for a reply without a known question. In a channel, people also talk about other things.
fn unknown(reply: &ReceivedReply, messenger: &NotifyMessenger) -> ReplyOutcome {
    match (&reply.question, messenger) {
        (QuestionName::Code { code, .. }, NotifyMessenger::Ntfy(_)) => ReplyOutcome::Refused(format!(
            "Unknown question `{code}`. Begin an answer with the code of its question, such as `7Q2M-K3X`."
        )),
        (QuestionName::Code { .. }, NotifyMessenger::Slack(_)) => {
            ReplyOutcome::Refused("This question is not known here.".to_owned())
        }
        (QuestionName::Message(_), _) => ReplyOutcome::Ignored("its thread does not begin with a question".to_owned()),
    }
}
