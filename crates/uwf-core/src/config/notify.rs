//! Notifications when a thread stops running by itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An event of a thread that people can be notified of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Happening {
    /// It has ended: done, or killed.
    Ended,
    /// It waits for a person.
    Waiting,
    /// It has reached a limit.
    Limited,
    /// An attempt failed.
    Stuck,
}

impl Happening {
    /// All events.
    pub const ALL: [Happening; 4] = [Happening::Ended, Happening::Waiting, Happening::Limited, Happening::Stuck];

    /// Its name in config.yaml and in notifications.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Happening::Ended => "ended",
            Happening::Waiting => "waiting",
            Happening::Limited => "limited",
            Happening::Stuck => "stuck",
        }
    }

    /// The event with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Happening> {
        Happening::ALL.into_iter().find(|happening| happening.name() == name)
    }
}

/// One entry of `notify`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notify {
    /// `on`: events to report; all if absent.
    pub on: Vec<Happening>,
    /// `outcome`: the outcomes of ended threads to report; all if empty.
    pub outcomes: Vec<String>,
    /// How to report them.
    pub by: NotifyBy,
}

impl Notify {
    /// Whether an event of a thread is to be reported; `outcome` is the outcome of an ended thread.
    #[must_use]
    pub fn wants(&self, happening: Happening, outcome: Option<&str>) -> bool {
        let has_outcome = || outcome.is_some_and(|outcome| self.outcomes.iter().any(|wanted| wanted == outcome));
        self.on.contains(&happening) && (happening != Happening::Ended || self.outcomes.is_empty() || has_outcome())
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
