//! Notifications when a thread stops running by itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
}
