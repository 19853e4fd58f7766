//! `thread fork`: a new head on an old node. Nothing is copied but the settings.

use std::path::{Path, PathBuf};

use json_cas::Hash;
use uwf_core::node::{self, StartNode};
use uwf_core::thread::ThreadId;
use uwf_core::usage::ThreadLimits;

use crate::attempt::environment::Redactor;
use crate::attempt::recorded_digest;
use crate::attempt::settings::{self, Settings};
use crate::error::{Error, Result, VerbError};
use crate::root::home::Home;
use crate::root::ids;
use crate::thread::load::Thread;
use crate::verbs::start;

/// What was forked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forked {
    /// The new thread.
    pub thread: ThreadId,
    /// The node it begins at: a step, or the start when nothing came before.
    pub step: Hash,
}

/// What is different about the new thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// Directory its agents work in.
    pub workspace: Option<PathBuf>,
    /// How far it may go, the steps before the fork included.
    pub limits: ThreadLimits,
    /// Its task. Only a thread without steps can have another one: steps are answers to theirs.
    pub prompt: Option<String>,
}

/// Forks at a node. Nobody knows which thread it came from, so the new one works in `cwd` unless told otherwise.
///
/// # Errors
/// `Data` when the node is neither start nor step, `Usage` for another task of a step, `Io` when the workspace does not exist.
pub fn at_node(home: &Home, at: Hash, changes: &Changes, cwd: &Path) -> Result<Forked> {
    let thread = Thread::at(home, ids::new_thread_id(), at).map_err(Error::from).map_err(|error| {
        if is_other(home, at) {
            error.hint("`uwf thread steps THREAD` lists the nodes that can be forked")
        } else {
            error
        }
    })?;
    let settings = settings(None, changes, cwd)?;
    let step = with_task(&thread, at, changes)?;
    let (thread, _) = start::create(home, step, settings, None)?;
    Ok(Forked { thread, step })
}

/// The node that a fork begins at: with another task a StartNode of its own, whose thread is nobody's child.
fn with_task(thread: &Thread<'_>, node: Hash, changes: &Changes) -> Result<Hash> {
    let Some(prompt) = &changes.prompt else { return Ok(node) };
    if prompt.trim().is_empty() {
        return Err(VerbError::EmptyPrompt.into());
    }
    if node != thread.start_hash {
        return Err(VerbError::TaskOfStep { step: node, start: thread.start_hash }.into());
    }
    let prompt = Redactor::of(thread.home())?.text(prompt);
    start::put_start(thread.home(), &StartNode { prompt, parent: None, depth: None, ..thread.start.clone() })
}

/// Whether a node is readable and no place to fork.
fn is_other(home: &Home, at: Hash) -> bool {
    let kind = home.store().get(at).map(|found| node::NodeKind::of(found.type_hash));
    kind.is_ok_and(|kind| !matches!(kind, Some(node::NodeKind::StartNode | node::NodeKind::StepNode)))
}

/// Forks a thread at its head, or before the last time a role was played, so that the role is played again; with another task at
/// its start. The new one has the settings of the old, as far as this machine knows them.
///
/// # Errors
/// `NotFound` when the role was never played, `Usage` for another task of a step, `Io` when the workspace does not exist.
pub fn thread(home: &Home, id: &ThreadId, from_role: Option<&str>, changes: &Changes, cwd: &Path) -> Result<Forked> {
    let thread = Thread::any(home, id)?;
    let node = match (from_role, &changes.prompt) {
        (Some(role), _) => before_role(&thread, role)?,
        (None, Some(_)) => thread.start_hash,
        (None, None) => thread.head,
    };
    let node = with_task(&thread, node, changes)?;
    let digest = recorded_digest::at(home, id, node)?;
    let settings = Settings { digest, ..settings(Settings::load(home, id)?, changes, cwd)? };
    let (thread, _) = start::create(home, node, settings, None)?;
    Ok(Forked { thread, step: node })
}

fn settings(known: Option<Settings>, changes: &Changes, cwd: &Path) -> Result<Settings> {
    let mut settings = match (known, &changes.workspace) {
        (known, Some(dir)) => Settings { workspace: settings::workspace(cwd, dir)?, ..known.unwrap_or_default() },
        (Some(known), None) => known,
        (None, None) => Settings { workspace: settings::workspace(cwd, cwd)?, ..Settings::default() },
    };
    settings.limits = changes.limits.or(settings.limits);
    // Whoever forks a child thread goes on with it alone.
    settings.parent = None;
    Ok(settings)
}

fn before_role(thread: &Thread<'_>, role: &str) -> Result<Hash> {
    let chain = thread.chain()?;
    let Some(last) = chain.last_of(role) else {
        let roles = thread.workflow()?.roles.into_keys().collect();
        let (thread, role, has_steps) = (thread.id.clone(), role.to_owned(), !chain.is_empty());
        return Err(VerbError::NeverPlayed { thread, role, roles, has_steps }.into());
    };
    let before = last.checked_sub(1).and_then(|before| chain.get(before));
    Ok(before.map_or(thread.start_hash, |record| record.step))
}
