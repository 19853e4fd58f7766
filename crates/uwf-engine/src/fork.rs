//! `thread fork`: a new head on an old node. Nothing is copied but the settings.

use std::path::Path;

use json_cas::Hash;
use uwf_core::thread::ThreadId;
use uwf_core::workflow::nearest;

use crate::error::{Error, Kind, Result};
use crate::home::Home;
use crate::load::Thread;
use crate::settings::Settings;
use crate::{ids, start};

/// What was forked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forked {
    /// The new thread.
    pub thread: ThreadId,
    /// The node it begins at: a step, or the start when nothing came before.
    pub step: Hash,
}

/// Forks at a node. The new thread works in `cwd`, since nobody knows which thread the node came from.
///
/// # Errors
/// `Data` when the node is neither start nor step.
pub fn at_node(home: &Home, node: Hash, cwd: &Path) -> Result<Forked> {
    Thread::at(home, ids::new_thread_id(), node)?;
    let settings = Settings { workspace: cwd.to_owned(), ..Settings::default() };
    Ok(Forked { thread: start::create(home, node, &settings)?, step: node })
}

/// Forks a thread at its head, or before the last time a role was played, so that the role is played again.
///
/// # Errors
/// `NotFound` when the role was never played.
pub fn thread(home: &Home, id: &ThreadId, from_role: Option<&str>, cwd: &Path) -> Result<Forked> {
    let thread = Thread::any(home, id)?;
    let node = match from_role {
        None => thread.head,
        Some(role) => before_role(&thread, role)?,
    };
    let settings = Settings::load(home, id)?.unwrap_or_else(|| Settings { workspace: cwd.to_owned(), ..Settings::default() });
    Ok(Forked { thread: start::create(home, node, &settings)?, step: node })
}

fn before_role(thread: &Thread<'_>, role: &str) -> Result<Hash> {
    let chain = thread.chain()?;
    let Some((_, last)) = chain.span_of(role) else {
        let workflow = thread.workflow()?;
        let error = Error::new(Kind::NotFound, format!("role `{role}` was never played in thread {}", thread.id));
        let near = nearest::did_you_mean(role, workflow.roles.keys().map(String::as_str));
        return Err(near.into_iter().fold(error, Error::hint));
    };
    Ok(last.checked_sub(1).and_then(|before| chain.get(before)).map_or(thread.start_hash, |record| record.step))
}
