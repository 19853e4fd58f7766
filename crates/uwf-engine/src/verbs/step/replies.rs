//! Replies to the questions of agents.

use std::time::Duration;

use json_cas::NodeHash;

use crate::attempt::recorded::{self, AttemptReply, RecordedAttempt};
use crate::attempt::redactor::SecretRedactor;
use crate::attempt::turns::NodeBatch;
use crate::error::Result;
use crate::root::home::Home;
use crate::root::ids;
use crate::root::marks::{self, ThreadMark};

/// The author of a reply after the time-out: the key that sets it.
const TIME_OUT: &str = "askTimeout";

/// A reply, and the reply that counts.
pub(crate) struct RecordedReply {
    pub(crate) reply: NodeHash,
    pub(crate) counts: AttemptReply,
}

/// Records a reply to the question of an attempt, unless it has one. Its thread no longer waits.
pub(crate) fn record(
    home: &Home,
    last: &RecordedAttempt,
    question: &str,
    text: &str,
    by: &str,
) -> Result<RecordedReply> {
    let (id, redactor) = (&last.opened.thread, SecretRedactor::for_home(home)?);
    let mut batch = NodeBatch::default();
    let [question, reply] = [question, text].map(|text| batch.content(redactor.text(text)));
    let _hold = home.hold_nodes()?;
    let counts = match &last.replied {
        None => {
            home.store().put_all(&batch.drafts)?;
            recorded::replied(home, id, &last.opened.attempt, question, reply, by)?
        }
        Some(earlier) => earlier.clone(),
    };
    if counts.reply == reply {
        marks::clear(home, id, &[ThreadMark::Waiting])?;
    }
    Ok(RecordedReply { reply, counts })
}

/// When the question of an attempt is older than the limit, Unix milliseconds.
pub(super) fn end(last: &RecordedAttempt, limit: Duration) -> u64 {
    let waits_since = last.closed.as_ref().map_or(last.opened.opened_at, |closed| closed.closed_at);
    waits_since.saturating_add(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
}

/// Replies to a question that is older than the limit. Returns whether it is. The caller holds the lock of the thread.
pub(super) fn expire(home: &Home, last: &RecordedAttempt, question: &str, limit: Duration) -> Result<bool> {
    if ids::now_ms() < end(last, limit) {
        return Ok(false);
    }
    let text = format!(
        "There was no reply within {limit:?}. If you asked for permission, it is denied. Do as well as you can without a reply."
    );
    record(home, last, question, &text, TIME_OUT)?;
    Ok(true)
}
