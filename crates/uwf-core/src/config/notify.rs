//! Who is told when a thread stops going on by itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a person may want to be told of a thread.
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
    /// All of them.
    pub const ALL: [Happening; 4] = [Happening::Ended, Happening::Waiting, Happening::Limited, Happening::Stuck];

    /// Its name in config.yaml and in what is sent.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Happening::Ended => "ended",
            Happening::Waiting => "waiting",
            Happening::Limited => "limited",
            Happening::Stuck => "stuck",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Happening> {
        Happening::ALL.into_iter().find(|happening| happening.name() == name)
    }
}

/// One entry of `notify`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notify {
    /// `on`: what is told; all of it when absent.
    pub on: Vec<Happening>,
    /// How it is told.
    pub by: NotifyBy,
}

/// How somebody is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotifyBy {
    /// `command`: a command line for `sh -c`, with the report on stdin.
    Command(String),
    /// `webhook`: a URL the report is posted to.
    Webhook(String),
    /// `webhookEnv`: the variable that holds such a URL, for one that is a secret.
    WebhookEnv(String),
}
