//! Waiting for the end of a usage limit.

use std::time::Duration;

use uwf_core::text::one_line;
use uwf_engine::attempt::agent_process::SignalListener;
use uwf_engine::root::ids;

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::table;

/// Time between two looks at the clock. It may jump, for example while a laptop sleeps.
const LOOK: Duration = Duration::from_secs(1);

/// Waits until a time in Unix milliseconds, or until a stop signal. Says why.
pub(super) fn wait(context: &CommandContext, why: &CommandError, until: u64, signals: &mut SignalListener) {
    let left = left(until);
    if !left.is_zero() {
        context.printer.talk(&format!("waiting {}: {}", table::duration(left), one_line(&why.error)));
    }
    while !self::left(until).is_zero() && signals.stop().is_none() {
        signals.wait(self::left(until).min(LOOK));
    }
}

/// The time until then.
pub(super) fn left(until: u64) -> Duration {
    Duration::from_millis(until.saturating_sub(ids::now_ms()))
}
