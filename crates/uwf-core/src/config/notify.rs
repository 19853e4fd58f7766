//! Notifications when a thread stops running by itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The server of ntfy if none is configured.
pub(super) const NTFY_SERVER: &str = "https://ntfy.sh";

/// The address of Slack if none is configured.
pub(super) const SLACK_SERVER: &str = "https://slack.com";

/// An event of a thread that people can be notified of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NotifyEvent {
    /// It has ended: done, or killed.
    Ended,
    /// It waits for a person.
    Waiting,
    /// It has reached a limit.
    Limited,
    /// An attempt failed.
    Stuck,
}

impl NotifyEvent {
    /// All events.
    pub const ALL: [NotifyEvent; 4] =
        [NotifyEvent::Ended, NotifyEvent::Waiting, NotifyEvent::Limited, NotifyEvent::Stuck];

    /// Its name in config.yaml and in notifications.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            NotifyEvent::Ended => "ended",
            NotifyEvent::Waiting => "waiting",
            NotifyEvent::Limited => "limited",
            NotifyEvent::Stuck => "stuck",
        }
    }

    /// The event with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<NotifyEvent> {
        NotifyEvent::ALL.into_iter().find(|happening| happening.name() == name)
    }
}

/// One entry of `notify`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyRule {
    /// `on`: events to report; all if absent.
    pub on: Vec<NotifyEvent>,
    /// `outcome`: the outcomes of ended threads to report; all if empty.
    pub outcomes: Vec<String>,
    /// How to report them.
    pub by: NotifyBy,
}

impl NotifyRule {
    /// Whether an event of a thread is to be reported; `outcome` is the outcome of an ended thread.
    #[must_use]
    pub fn wants(&self, happening: NotifyEvent, outcome: Option<&str>) -> bool {
        let has_outcome = || outcome.is_some_and(|outcome| self.outcomes.iter().any(|wanted| wanted == outcome));
        self.on.contains(&happening) && (happening != NotifyEvent::Ended || self.outcomes.is_empty() || has_outcome())
    }
}

/// A way to send a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotifyBy {
    /// `command`: a command line for `sh -c`, with the report on stdin.
    Command(String),
    /// `webhook`: a URL that gets the report by POST.
    Webhook(String),
    /// `webhookEnv`: the variable with such a URL, if it is a secret.
    WebhookEnv(String),
    /// `ntfy`: a message to a topic of ntfy.
    Ntfy(NtfyConfig),
    /// `slack`: a message in a channel of Slack.
    Slack(SlackConfig),
}

/// A topic of ntfy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NtfyConfig {
    /// `server`: its address.
    pub server: String,
    /// `topic` or `topicEnv`: the topic that gets messages.
    pub topic: NotifySetting,
    /// `replies` or `repliesEnv`: the topic on which people answer; `None` if they can't.
    pub replies: Option<NotifySetting>,
    /// `tokenEnv`: the variable with the access token that uwf sends.
    pub token_env: Option<String>,
    /// `replyTokenEnv`: the variable with the access token in the buttons of a message.
    pub reply_token_env: Option<String>,
    /// `run`: whether a thread continues after an answer.
    pub run: bool,
    /// `dashboard`: address of `uwf serve`, for links.
    pub dashboard: Option<String>,
}

/// A channel of Slack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlackConfig {
    /// `server`: address of Slack.
    pub server: String,
    /// `channel`: id of the channel.
    pub channel: String,
    /// `botTokenEnv`: the variable with the bot token.
    pub bot_token_env: String,
    /// `appTokenEnv`: the variable with the app token, with which people can answer.
    pub app_token_env: Option<String>,
    /// `users`: ids of the users who may answer; empty for all in the channel.
    pub users: Vec<String>,
    /// `run`: whether a thread continues after an answer.
    pub run: bool,
    /// `dashboard`: address of `uwf serve`, for links.
    pub dashboard: Option<String>,
}

/// A setting that may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotifySetting {
    /// Its text.
    Text(String),
    /// The variable with its text.
    Variable(String),
}

impl NtfyConfig {
    /// Whether a text can be a topic.
    #[must_use]
    pub fn is_topic(text: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        (1..=64).contains(&text.len()) && text.bytes().all(is_plain)
    }
}

impl NotifyBy {
    /// The variables with its secrets that agents must not get: with them, an agent could answer its own question, or write to a channel.
    pub(super) fn secret_variables(&self) -> Vec<String> {
        let of_setting = |setting: &NotifySetting| match setting {
            NotifySetting::Text(_) => None,
            NotifySetting::Variable(name) => Some(name.clone()),
        };
        match self {
            NotifyBy::Command(_) | NotifyBy::Webhook(_) => Vec::new(),
            NotifyBy::WebhookEnv(name) => vec![name.clone()],
            NotifyBy::Ntfy(ntfy) => {
                let settings = std::iter::once(&ntfy.topic).chain(&ntfy.replies).filter_map(of_setting);
                settings.chain(ntfy.token_env.clone()).chain(ntfy.reply_token_env.clone()).collect()
            }
            NotifyBy::Slack(slack) => {
                std::iter::once(slack.bot_token_env.clone()).chain(slack.app_token_env.clone()).collect()
            }
        }
    }
}
