//! `thread step --reextract`: reads the text of a failed attempt again, without paying its agent again.

use json_cas::NodeHash;
use uwf_core::node::ContentNode;

use crate::attempt::agents::AgentSpec;
use crate::attempt::child_threads;
use crate::error::{Error, Result};
use crate::thread::load::Thread;
use crate::thread::nodes;

/// An attempt whose text can be read again.
pub struct ReadableAttempt {
    /// The agent that wrote the text.
    pub agent: AgentSpec,
    /// The failed attempt with the text; `None` for a child thread, which its agent itself reads again.
    pub attempt: Option<NodeHash>,
}

/// The newest failed attempt at this position that can be read again. If it has answered, it needs no text.
///
/// # Errors
/// `NotFound` if no attempt can be read, `Usage` if it is a child thread that has not ended, and errors of the nodes.
pub fn readable(thread: &Thread<'_>, role: &str, failed: &[NodeHash], has_answered: bool) -> Result<ReadableAttempt> {
    let store = thread.home().store();
    for hash in failed.iter().rev() {
        let attempt = nodes::attempt(store, *hash)?;
        if attempt.role != role {
            continue;
        }
        let agent = AgentSpec::recorded(nodes::typed(store, attempt.agent)?);
        if agent.plays_by_threads() {
            return child_thread(thread, role).map(|()| ReadableAttempt { agent, attempt: None });
        }
        if has_answered || !text(thread, *hash)?.trim().is_empty() {
            return Ok(ReadableAttempt { agent, attempt: Some(*hash) });
        }
    }
    let id = &thread.id;
    Err(Error::not_found(format!("thread {id} has no failed attempt at role `{role}` whose text could be read again"))
        .hint(format!("`uwf thread step {id}` runs the agent")))
}

/// Checks that a role's child thread has ended, so that its result can be read.
fn child_thread(thread: &Thread<'_>, role: &str) -> Result<()> {
    if child_threads::has_ended(thread, role)? {
        return Ok(());
    }
    Err(Error::usage(format!("role `{role}` is played by a child thread that has not ended and has no result to read"))
        .hint(format!("`uwf thread step {}` continues with it", thread.id)))
}

/// The output of an attempt's agent.
pub fn text(thread: &Thread<'_>, attempt: NodeHash) -> Result<String> {
    let store = thread.home().store();
    let attempt = nodes::attempt(store, attempt)?;
    let raw: ContentNode = nodes::typed(store, attempt.raw)?;
    Ok(raw.text)
}
