//! Why an attempt failed: the part that errors and records carry. `attempt/recorded/failure.rs` finds it out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uwf_core::failure_class::FailureClass;

use super::{Error, ErrorCause};

/// Why an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttemptFailure {
    /// Its class.
    pub class: FailureClass,
    /// For a usage limit: when it ends, Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Whether no notice says when the usage limit ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_assumed: bool,
    /// Whether every task of the agent fails for this reason.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_for_all_tasks: bool,
    /// Whether the agent printed nothing until `idleTimeout` ended it. Some programs wait like that for the end of a usage limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_silent: bool,
}

impl AttemptFailure {
    /// A failure with a known class and, for a usage limit, a known end.
    pub(crate) fn new(class: FailureClass, until: Option<u64>) -> AttemptFailure {
        AttemptFailure { class, until, is_assumed: false, is_for_all_tasks: false, is_silent: false }
    }

    /// The end of the usage limit that it is.
    pub fn limit_end(self) -> Option<u64> {
        self.until.filter(|_| self.class == FailureClass::UsageLimit)
    }
}

impl Error {
    /// Why an attempt failed, if that is known beside the message.
    pub fn failure(&self) -> Option<AttemptFailure> {
        match &self.cause {
            Some(ErrorCause::Attempt(failure)) => Some(*failure),
            _ => None,
        }
    }

    /// When the usage limit ends that is the reason of this error, Unix milliseconds.
    pub fn limit_end(&self) -> Option<u64> {
        self.failure().and_then(AttemptFailure::limit_end)
    }
}
