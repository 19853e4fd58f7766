//! Messages to people, and their replies: ntfy and Slack.
//!
//! This machine connects to both services, so it can be behind a firewall. A reply becomes an answer through `uwf thread answer`, like an
//! answer in the dashboard.

mod backoff;
mod ntfy;
mod post;
mod recorder;
mod settings;
mod slack;
mod wording;

use std::sync::mpsc::Sender;

use uwf_core::config::NotifyBy;
use uwf_engine::root::home::Home;
use uwf_engine::root::messages::{MessageFiles, MessageName, SentQuestion, SourcePosition};
use uwf_engine::verbs::notifier::{NotifyMessage, NotifySender};

use self::ntfy::NtfyTopic;
use self::slack::SlackChannel;
use crate::error::CommandError;

pub(crate) use self::recorder::ReplyRecorder;

/// A topic or a channel, with the values of its settings.
#[derive(Debug, Clone)]
pub(crate) enum NotifyMessenger {
    Ntfy(NtfyTopic),
    Slack(SlackChannel),
}

/// News from a source of replies.
pub(crate) enum SourceNews {
    /// Something to report.
    Said(String),
    /// A reply was kept.
    Kept,
    /// The source can't be used, and waiting would not help.
    Refused(CommandError),
}

impl NotifyMessenger {
    /// The messenger of a rule; `None` for commands and webhooks.
    ///
    /// # Errors
    /// `Config` if a variable is not set or a setting can't be used.
    pub(crate) fn of_rule(home: &Home, by: &NotifyBy) -> Result<Option<NotifyMessenger>, CommandError> {
        Ok(match by {
            NotifyBy::Command(_) | NotifyBy::Webhook(_) | NotifyBy::WebhookEnv(_) => None,
            NotifyBy::Ntfy(ntfy) => Some(NotifyMessenger::Ntfy(NtfyTopic::new(home, ntfy)?)),
            NotifyBy::Slack(slack) => Some(NotifyMessenger::Slack(SlackChannel::new(home, slack)?)),
        })
    }

    /// The name of the rule, without secrets.
    fn rule(&self) -> &str {
        match self {
            NotifyMessenger::Ntfy(ntfy) => &ntfy.rule,
            NotifyMessenger::Slack(slack) => &slack.rule,
        }
    }

    /// The name of the source of its replies, without secrets; `None` if people can't reply.
    pub(crate) fn source(&self) -> Option<&str> {
        match self {
            NotifyMessenger::Ntfy(ntfy) => ntfy.source.as_deref(),
            NotifyMessenger::Slack(slack) => slack.source.as_deref(),
        }
    }

    /// Whether a thread continues after an answer.
    fn runs(&self) -> bool {
        match self {
            NotifyMessenger::Ntfy(ntfy) => ntfy.run,
            NotifyMessenger::Slack(slack) => slack.run,
        }
    }

    /// Whether a user may answer.
    fn admits(&self, user: Option<&str>) -> bool {
        match self {
            NotifyMessenger::Ntfy(_) => true,
            NotifyMessenger::Slack(slack) => {
                slack.users.is_empty() || user.is_some_and(|user| slack.users.iter().any(|known| known == user))
            }
        }
    }

    /// Says something to the person who replied.
    fn respond(&self, text: &str, at: Option<&MessageName>) -> Result<(), String> {
        match self {
            NotifyMessenger::Ntfy(ntfy) => ntfy.respond(text),
            NotifyMessenger::Slack(slack) => slack.respond(text, at),
        }
    }

    /// Removes the buttons of an answered question.
    fn close(&self, message: &MessageName, text: &str) -> Result<(), String> {
        match self {
            NotifyMessenger::Ntfy(_) => Ok(()),
            NotifyMessenger::Slack(slack) => slack.close(message, text),
        }
    }

    /// Receives replies until the source refuses. Each is kept before the service learns that it arrived.
    pub(crate) fn listen(&self, files: &MessageFiles, position: SourcePosition, news: &Sender<SourceNews>) {
        let refused = match self {
            NotifyMessenger::Ntfy(ntfy) => ntfy.listen(files, position, news),
            NotifyMessenger::Slack(slack) => slack.listen(files, position, news),
        };
        if let Err(refused) = refused {
            let _ = news.send(SourceNews::Refused(refused));
        }
    }
}

/// Sends messages, and records the questions in them.
pub(crate) struct MessageSender<'h>(pub(crate) &'h Home);

impl NotifySender for MessageSender<'_> {
    fn post(&self, url: &str, report: &serde_json::Value) -> Result<(), String> {
        uwf_llm::post_json(url, &[], report, post::LIMIT).map(drop).map_err(|error| error.to_string())
    }

    fn message(&self, by: &NotifyBy, message: &NotifyMessage) -> Result<(), String> {
        let Some(messenger) = NotifyMessenger::of_rule(self.0, by).map_err(|error| error.error)? else { return Ok(()) };
        let sent = message.question.as_ref().map(|question| SentQuestion {
            rule: messenger.rule().to_owned(),
            code: wording::code(question),
            thread: question.thread.clone(),
            head: question.head,
            attempt: question.attempt.clone(),
            message: None,
        });
        let sent = sent.filter(|_| messenger.source().is_some());
        let files = MessageFiles::of_home(self.0);
        // Record it first: a person may press a button at once.
        sent.iter().try_for_each(|sent| files.record_sent(sent)).map_err(|error| error.message)?;
        let name = match &messenger {
            NotifyMessenger::Ntfy(ntfy) => ntfy.send(message, sent.as_ref()).map(|()| None),
            NotifyMessenger::Slack(slack) => slack.send(message, sent.as_ref()).map(Some),
        }?;
        match (sent, name) {
            (Some(sent), Some(name)) => {
                files.record_sent(&SentQuestion { message: Some(name), ..sent }).map_err(|error| error.message)
            }
            _ => Ok(()),
        }
    }
}
