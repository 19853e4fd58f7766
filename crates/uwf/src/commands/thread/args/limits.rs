//! Arguments with a thread's limits, shared by all commands that start a thread.

use std::time::Duration;

use uwf_core::document::parse_duration;
use uwf_core::number::{self, MAX_WHOLE};
use uwf_core::usage::ThreadLimits;

/// How far a thread may go.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct LimitArgs {
    /// Limit of the thread: number of steps.
    #[arg(long, alias = "max-rounds", value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_WHOLE), allow_negative_numbers = true)]
    pub(crate) max_steps: Option<u64>,
    /// Limit of the thread: start no step after this much time. Seconds, or 90s, 15m, 2h, 1d.
    #[arg(long, value_name = "TIME", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) max_time: Option<u64>,
    /// Limit of the thread: tokens, as agents report them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_WHOLE), allow_negative_numbers = true)]
    pub(crate) max_tokens: Option<u64>,
    /// Limit of the thread: US dollars, as providers report them, or by the `prices` of the configuration.
    #[arg(long, value_name = "AMOUNT", value_parser = amount, allow_negative_numbers = true)]
    pub(crate) max_cost: Option<f64>,
    /// Refuse to start if an agent reports no tokens or no cost, so that a limit cannot stop it.
    #[arg(long)]
    pub(crate) strict_limits: bool,
}

impl LimitArgs {
    /// The given limits.
    pub(crate) fn limits(self) -> ThreadLimits {
        let LimitArgs { max_steps, max_time, max_tokens, max_cost, .. } = self;
        ThreadLimits { max_steps, max_time, max_tokens, max_cost }
    }

    /// Options of `uwf thread limit` that raise the first given limit by its value; `None` without limits.
    pub(crate) fn as_change(&self) -> Option<String> {
        let LimitArgs { max_steps, max_time, max_tokens, max_cost, .. } = self;
        let steps = max_steps.map(|steps| format!("--steps +{steps}"));
        let time = max_time.map(|seconds| format!("--time +{seconds}s"));
        let tokens = max_tokens.map(|tokens| format!("--tokens +{tokens}"));
        let cost = max_cost.map(|cost| format!("--cost +{cost}"));
        steps.or(time).or(tokens).or(cost)
    }
}

/// Parses a duration of at least a second.
pub(crate) fn seconds(text: &str) -> Result<u64, String> {
    let time = parse_duration(text).filter(|time| *time >= Duration::from_secs(1));
    time.map(|time| time.as_secs()).ok_or_else(|| "a time is seconds, or 90s, 15m, 2h, 1d".to_owned())
}

/// Parses an amount of money above 0.
pub(crate) fn amount(text: &str) -> Result<f64, String> {
    let amount = text.trim_start_matches('$').parse().ok().filter(|amount: &f64| amount.is_finite() && *amount > 0.0);
    let amount = amount.ok_or_else(|| "an amount is a number above 0, such as 2.50".to_owned())?;
    if number::is_money(amount) { Ok(amount) } else { Err("an amount is at most a trillion".to_owned()) }
}
