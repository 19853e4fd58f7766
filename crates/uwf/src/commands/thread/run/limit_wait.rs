//! Waiting for the end of a usage limit, or for the reply to a question until `askTimeout`.

use std::time::{Duration, Instant};

use json_cas::NodeHash;
use uwf_core::config::{LONGEST_RETRY_WAIT, USUAL_RETRY_WAIT};
use uwf_core::text::one_line;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::agent_process::SignalListener;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::ids;
use uwf_engine::root::marks::{self, ThreadMark};
use uwf_engine::views::show;

use crate::context::{CommandContext, reply_end};
use crate::error::CommandError;
use crate::table;

/// Most usage limits in a row at one head of a thread.
const MOST_LIMITS: u32 = 30;

/// Time between two looks whether a person has replied, in milliseconds.
const LOOK: u64 = 200;

/// Time between two looks whether a thread has ended on another machine.
const STORE_LOOK: Duration = Duration::from_secs(10);

/// The usage limits in a row at the head of a thread. A notice may say again and again that its limit ends at once.
#[derive(Debug, Clone, Default)]
pub(super) struct LimitStreak {
    head: Option<NodeHash>,
    count: u32,
}

impl LimitStreak {
    /// When to continue a thread that has reached a usage limit with this end, Unix milliseconds. The waits grow as with `retry`. `None`
    /// after too many limits.
    pub(super) fn next(&mut self, context: &CommandContext, thread: &ThreadId, until: u64) -> Option<u64> {
        let head = context.home.heads().read(thread.as_str()).ok().flatten().map(|head| head.hash);
        self.next_at(head, until, ids::now_ms())
    }

    fn next_at(&mut self, head: Option<NodeHash>, until: u64, now: u64) -> Option<u64> {
        self.count = if self.head == head { self.count + 1 } else { 1 };
        self.head = head;
        let wait = match self.count {
            0 | 1 => Duration::ZERO,
            count => USUAL_RETRY_WAIT.saturating_mul(2_u32.saturating_pow(count - 2)).min(LONGEST_RETRY_WAIT),
        };
        let least = now.saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        (self.count <= MOST_LIMITS).then(|| until.max(least))
    }
}

/// When a thread that stopped with an error can continue, Unix milliseconds.
pub(super) fn end(context: &CommandContext, thread: &ThreadId, error: &CommandError) -> Option<u64> {
    error.until.or_else(|| reply_end(error, &show::show(&context.home, thread).ok()?))
}

/// Whether a thread still waits for a reply.
pub(super) fn waits(context: &CommandContext, thread: &ThreadId) -> bool {
    marks::get(&context.home, thread, ThreadMark::Waiting).is_some()
}

/// Looks whether a thread that waits has ended meanwhile.
#[derive(Debug, Clone, Default)]
pub(super) struct EndWatch {
    /// When the head was read last.
    looked_at: Option<Instant>,
}

impl EndWatch {
    /// Whether the thread has ended. Its end on this machine is seen at once.
    pub(super) fn has_ended(&mut self, context: &CommandContext, thread: &ThreadId) -> bool {
        let has = |mark| marks::get(&context.home, thread, mark).is_some();
        let is_marked = has(ThreadMark::Limited) || has(ThreadMark::Waiting);
        // Don't read the head at each look: the store may be far away. An end on this machine removes the marks.
        if is_marked && self.looked_at.is_some_and(|at| at.elapsed() < STORE_LOOK) {
            return false;
        }
        self.looked_at = Some(Instant::now());
        matches!(context.home.heads().read(thread.as_str()), Ok(None))
    }
}

/// Waits until a time in Unix milliseconds, until a stop signal, until a person has replied, or until the thread has ended. Says why.
pub(super) fn wait(
    context: &CommandContext,
    thread: &ThreadId,
    why: &CommandError,
    until: u64,
    signals: &mut SignalListener,
) {
    let left = left(until);
    if !left.is_zero() {
        let left = table::duration(left);
        context.printer.talk(&match why.kind {
            // A question and its options have lines of their own.
            ErrorKind::Waiting => format!("{}\nwaiting {left} for a reply", why.error.trim_end()),
            _ => format!("waiting {left}: {}", one_line(&why.error)),
        });
    }
    let mut watch = EndWatch::default();
    let continues = |watch: &mut EndWatch| {
        (why.kind == ErrorKind::Waiting && !waits(context, thread)) || watch.has_ended(context, thread)
    };
    while !self::left(until).is_zero() && !continues(&mut watch) {
        // The next step reports the signal.
        if signals.wait_until(until.min(ids::now_ms().saturating_add(LOOK))).is_some() {
            return;
        }
    }
}

/// The time until then.
pub(super) fn left(until: u64) -> Duration {
    Duration::from_millis(until.saturating_sub(ids::now_ms()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_until_too_many_limits() {
        let head = |text: &[u8]| Some(json_cas::xxh64(text));
        let mut streak = LimitStreak::default();
        let mut next = |head, until| streak.next_at(head, until, 1_000_000).map(|at| at - 1_000_000);
        assert_eq!(next(head(b"a"), 1_000_020), Some(20), "the first notice is believed");
        assert_eq!(next(head(b"a"), 1_000_020), Some(10_000));
        assert_eq!(next(head(b"a"), 1_000_020), Some(20_000));
        assert_eq!(next(head(b"a"), 4_600_000), Some(3_600_000));
        assert_eq!(next(head(b"b"), 1_000_020), Some(20), "the thread has made a step");
        let waits: Vec<_> = (0..MOST_LIMITS).map(|_| next(head(b"b"), 0)).collect();
        assert_eq!(waits[10], Some(600_000));
        assert_eq!(waits.last(), Some(&None));
    }
}
