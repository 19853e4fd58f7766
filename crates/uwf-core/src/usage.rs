//! The usage of a thread so far, and its limits.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yaml_tree::MappingEntry;

use crate::document::{DurationText, ProblemCollector, by_schema};
use crate::money::dollars;
use crate::number::{self, MAX_MONEY, MAX_WHOLE};

/// The usage of a thread or of one of its roles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageAmount {
    /// Steps.
    pub steps: u64,
    /// Input and output tokens, as far as agents report them.
    pub tokens: u64,
    /// US dollars, as far as providers report them.
    pub cost: f64,
    /// Seconds agents worked.
    pub seconds: f64,
}

impl UsageAmount {
    /// Adds another amount.
    pub fn add(&mut self, other: UsageAmount) {
        self.steps = number::sum(self.steps, other.steps);
        self.tokens = number::sum(self.tokens, other.tokens);
        self.cost = (self.cost + other.cost).min(number::MAX_MONEY);
        self.seconds += other.seconds;
    }
}

/// The usage of a thread, as conditions see it: `$usage`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadUsage {
    /// Usage of the whole thread.
    #[serde(flatten)]
    pub total: UsageAmount,
    /// Usage of each role that was played.
    pub roles: BTreeMap<String, UsageAmount>,
}

impl ThreadUsage {
    /// Adds the usage of a step.
    pub fn add(&mut self, role: &str, amount: UsageAmount) {
        self.total.add(amount);
        self.roles.entry(role.to_owned()).or_default().add(amount);
    }
}

/// The limits of a thread. An absent value is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadLimits {
    /// Maximum number of steps.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "number::nearest_if_any")]
    #[schemars(with = "Option<u64>")]
    pub max_steps: Option<u64>,
    /// Maximum time in seconds since the thread began.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "number::nearest_if_any")]
    #[schemars(with = "Option<u64>")]
    pub max_time: Option<u64>,
    /// Maximum number of tokens.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "number::nearest_if_any")]
    #[schemars(with = "Option<u64>")]
    pub max_tokens: Option<u64>,
    /// Maximum cost in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ReachedLimit {
    /// Limit of steps.
    #[error("the thread has {steps} {}; its limit is {limit}", if *steps == 1 { "step" } else { "steps" })]
    Steps {
        /// Steps so far.
        steps: u64,
        /// Maximum number of steps.
        limit: u64,
    },
    /// Limit of time.
    #[error("the thread started {} ago; its limit is {}", time(*.seconds), time(*.limit))]
    Time {
        /// Seconds since it began.
        seconds: u64,
        /// Maximum number of seconds.
        limit: u64,
    },
    /// Limit of tokens.
    #[error("the thread has used {tokens} tokens; its limit is {limit}")]
    Tokens {
        /// Tokens so far.
        tokens: u64,
        /// Maximum number of tokens.
        limit: u64,
    },
    /// Limit of money.
    #[error("the thread has cost {}; its limit is {}", dollars(*.cost), dollars(*.limit))]
    Cost {
        /// US dollars so far.
        cost: f64,
        /// Maximum in US dollars.
        limit: f64,
    },
}

/// The keys, in config.yaml and under `limits` of a workflow.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub(crate) struct LimitKeys {
    #[schemars(range(min = 1, max = MAX_WHOLE))]
    max_steps: Option<u64>,
    #[serde(default, deserialize_with = "DurationText::deserialize")]
    #[schemars(with = "Option<DurationText>")]
    max_time: Option<Duration>,
    #[schemars(range(min = 1, max = MAX_WHOLE))]
    max_tokens: Option<u64>,
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = MAX_MONEY, "x-hint" = "leave it out for no limit"))]
    max_cost: Option<f64>,
}

impl From<LimitKeys> for ThreadLimits {
    fn from(keys: LimitKeys) -> ThreadLimits {
        // As everywhere, 0 means no limit.
        let max_time = keys.max_time.filter(|time| !time.is_zero()).map(|time| time.as_secs().max(1));
        ThreadLimits { max_steps: keys.max_steps, max_time, max_tokens: keys.max_tokens, max_cost: keys.max_cost }
    }
}

impl ThreadLimits {
    /// These limits, with missing ones from `others`.
    #[must_use]
    pub fn or(self, others: ThreadLimits) -> ThreadLimits {
        ThreadLimits {
            max_steps: self.max_steps.or(others.max_steps),
            max_time: self.max_time.or(others.max_time),
            max_tokens: self.max_tokens.or(others.max_tokens),
            max_cost: self.max_cost.or(others.max_cost),
        }
    }

    /// Whether no limit is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == ThreadLimits::default()
    }

    /// Whether a limit applies to more than the number of steps and the time, so that the usage of the steps must be read.
    #[must_use]
    pub fn read_usage(&self) -> bool {
        self.max_tokens.is_some() || self.max_cost.is_some()
    }

    /// The first limit that a thread has reached with this usage, `age` after it began.
    #[must_use]
    pub fn reached(&self, used: UsageAmount, age: Duration) -> Option<ReachedLimit> {
        let UsageAmount { steps, tokens, cost, .. } = used;
        let seconds = age.as_secs();
        let of_steps = self.max_steps.filter(|limit| steps >= *limit).map(|limit| ReachedLimit::Steps { steps, limit });
        let of_time =
            self.max_time.filter(|limit| seconds >= *limit).map(|limit| ReachedLimit::Time { seconds, limit });
        let of_tokens =
            self.max_tokens.filter(|limit| tokens >= *limit).map(|limit| ReachedLimit::Tokens { tokens, limit });
        let of_cost = self.max_cost.filter(|limit| cost >= *limit).map(|limit| ReachedLimit::Cost { cost, limit });
        of_steps.or(of_time).or(of_tokens).or(of_cost)
    }

    /// Reads `limits` of a workflow.
    pub(crate) fn read(entry: &MappingEntry, problems: &mut ProblemCollector) -> ThreadLimits {
        by_schema::entry::<LimitKeys>(entry, DurationText::fault, problems).unwrap_or_default().into()
    }
}

/// `90 s`, `5 min`, `2.5 h`.
fn time(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        _ => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USED: UsageAmount = UsageAmount { steps: 3, tokens: 1000, cost: 0.5, seconds: 60.0 };

    fn reached(limits: ThreadLimits) -> Option<String> {
        limits.reached(USED, Duration::from_mins(5)).map(|reached| reached.to_string())
    }

    #[test]
    fn a_limit_is_reached_at_its_value() {
        let none = ThreadLimits::default();
        assert_eq!(reached(none), None);
        for (not_yet, reached_now, told) in [
            (
                ThreadLimits { max_steps: Some(4), ..none },
                ThreadLimits { max_steps: Some(3), ..none },
                "the thread has 3 steps; its limit is 3",
            ),
            (
                ThreadLimits { max_time: Some(301), ..none },
                ThreadLimits { max_time: Some(300), ..none },
                "the thread started 5 min ago; its limit is 5 min",
            ),
            (
                ThreadLimits { max_tokens: Some(1001), ..none },
                ThreadLimits { max_tokens: Some(900), ..none },
                "the thread has used 1000 tokens; its limit is 900",
            ),
            (
                ThreadLimits { max_cost: Some(0.51), ..none },
                ThreadLimits { max_cost: Some(0.5), ..none },
                "the thread has cost $0.50; its limit is $0.50",
            ),
        ] {
            assert_eq!(reached(not_yet), None);
            assert_eq!(reached(reached_now).as_deref(), Some(told));
        }
    }

    #[test]
    fn usage_is_counted_by_role() {
        let mut usage = ThreadUsage::default();
        usage.add("coder", USED);
        usage.add("tester", UsageAmount { steps: 1, ..UsageAmount::default() });
        usage.add("coder", USED);
        let json = serde_json::to_value(&usage).unwrap();
        assert_eq!(json["steps"], 7);
        assert_eq!(json["tokens"], 2000);
        assert_eq!(json["roles"]["coder"]["cost"], 1.0);
        assert_eq!(json["roles"]["tester"]["steps"], 1);
    }
}
