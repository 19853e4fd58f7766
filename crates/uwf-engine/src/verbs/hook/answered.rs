//! Deliveries that answer a thread: each is noted before its answer, so that a repeated delivery never answers a later question. The thread's
//! id proves nothing here, because the thread may ask again.

use std::time::Duration;

use durable_files::FileLock;
use json_cas::NodeHash;
use uwf_core::thread::ThreadId;

use super::deliveries::{self, AnsweredQuestion, DeliveryNote};
use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::root::ids;
use crate::verbs::step::newest_attempt;

/// How long a delivery waits for others.
const TURN_WAIT: Duration = Duration::from_mins(1);

/// The turn of a delivery that answers. Deliveries that arrive at the same time are carried out one after the other, so that each sees what
/// the others did.
#[derive(Debug)]
pub struct DeliveryTurn(#[expect(dead_code, reason = "it is held")] FileLock);

/// Waits for the turn of a delivery on this machine.
///
/// # Errors
/// `Busy` if another delivery takes too long, `Io`.
pub fn take_turn(home: &Home) -> Result<DeliveryTurn> {
    let path = home.answers_lock();
    let lock = FileLock::acquire(&path, TURN_WAIT)?
        .ok_or_else(|| Error::busy(format!("another delivery is giving its answer; its lock is {}", path.display())))?;
    Ok(DeliveryTurn(lock))
}

/// Notes the question that a delivery answers, unless it is noted already. Returns the question that counts. `delivery` is the id that
/// [`super::thread_id`] derives.
///
/// # Errors
/// `Io`, errors of a shared store; `Data` if the delivery has started a thread.
pub fn note(home: &Home, delivery: &ThreadId, question: &AnsweredQuestion) -> Result<AnsweredQuestion> {
    match deliveries::note(home, delivery, &DeliveryNote::Answer(question.clone()))? {
        DeliveryNote::Answer(question) => Ok(question),
        DeliveryNote::Start(started) => Err(has_started(&started.thread)),
    }
}

/// The question that a delivery answered, or was about to answer.
///
/// # Errors
/// `Io`, errors of a shared store; `Data` for a note that uwf did not write, or if the delivery has started a thread.
pub fn noted(home: &Home, delivery: &ThreadId) -> Result<Option<AnsweredQuestion>> {
    match deliveries::noted(home, delivery)? {
        None => Ok(None),
        Some(DeliveryNote::Answer(question)) => Ok(Some(question)),
        Some(DeliveryNote::Start(started)) => Err(has_started(&started.thread)),
    }
}

/// The error for a hook that started threads when the delivery arrived first.
fn has_started(thread: &ThreadId) -> Error {
    Error::data(format!("this delivery has started thread {thread} already, so it answers nothing"))
}

/// The question of a thread now, for [`note`].
///
/// # Errors
/// `Io` if the record cannot be read, and errors of a shared store.
pub fn question(home: &Home, thread: &ThreadId, head: NodeHash, run: bool) -> Result<AnsweredQuestion> {
    let attempt = newest_attempt::at_head(home, thread, head)?;
    Ok(AnsweredQuestion { thread: thread.clone(), head, attempt, at: ids::now_ms(), run })
}
