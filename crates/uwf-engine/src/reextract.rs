//! `thread step --reextract`: the text of a failed attempt is read again, without paying its agent again.

use json_cas::Hash;
use uwf_core::node::Content;

use crate::agents::{self, AgentSpec};
use crate::error::{Error, Kind, Result};
use crate::load::{self, Thread};

/// Name of the built-in agent that hands the kept text in again. It is none of those one can configure.
pub const AGENT: &str = "reextract";

/// The newest of the failed attempts at this position whose text can be read again, and the agent that wrote it.
///
/// # Errors
/// `NotFound` when there is none, `Usage` when it was a child thread, those of the nodes.
pub fn readable(thread: &Thread<'_>, role: &str, failed: &[Hash]) -> Result<(Hash, AgentSpec)> {
    let store = thread.home().store();
    for hash in failed.iter().rev() {
        let attempt = load::attempt(store, *hash)?;
        if attempt.role == role && !text(thread, *hash)?.trim().is_empty() {
            let agent = AgentSpec::recorded(load::typed(store, attempt.agent)?);
            if agent.is_built_in(agents::WORKFLOW) {
                return Err(Error::new(
                    Kind::Usage,
                    format!("role `{role}` was played by a child thread, which is read again at every step"),
                )
                .hint(format!("`uwf thread step {}` does it, and runs nobody", thread.id)));
            }
            return Ok((*hash, agent));
        }
    }
    Err(Error::new(
        Kind::NotFound,
        format!("thread {} has no failed attempt at role `{role}` whose text could be read again", thread.id),
    )
    .hint(format!("`uwf thread step {}` runs the agent", thread.id)))
}

/// What the agent of an attempt had printed.
///
/// # Errors
/// Those of the nodes.
pub fn text(thread: &Thread<'_>, attempt: Hash) -> Result<String> {
    let store = thread.home().store();
    let attempt = load::attempt(store, attempt)?;
    let raw: Content = load::typed(store, attempt.raw)?;
    Ok(raw.text)
}
