//! Child threads of a thread, as recorded on this machine. The parent's nodes name a child only if it became a step.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use json_cas::NodeHash;
use ulid::Ulid;
use uwf_core::node::NodeKind;
use uwf_core::thread::ThreadId;

use crate::error::{AtPath, Result};
use crate::root::history;
use crate::root::home::Home;
use crate::thread::chain::role_key;
use crate::thread::load::Thread;
use crate::thread::nodes;

/// The children of a thread.
///
/// # Errors
/// `Io`.
pub(crate) fn known(home: &Home, parent: &ThreadId) -> Result<Vec<ThreadId>> {
    let dir: PathBuf = home.children_dir(parent);
    let entries = match fs::read_dir(&dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.path_context("list", &dir)?,
    };
    let mut ids: Vec<ThreadId> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    ids.sort_unstable();
    Ok(ids)
}

/// The 80 random bits in the id of a child thread, for a role at a head of its parent.
pub(crate) fn random(parent: &ThreadId, head: NodeHash, role: &str) -> u128 {
    let bytes = |salt: u8| {
        let text = format!("{salt} {parent} {head} {role}");
        u128::from(json_cas::xxh64(text.as_bytes()).as_u64())
    };
    Ulid::from_parts(0, bytes(0) << 64 | bytes(1)).random()
}

/// Child threads that did not become a step: of the current role, and of roles that another agent then played.
pub(crate) fn without_step(parent: &Thread<'_>) -> Result<Vec<ThreadId>> {
    let children = known(parent.home(), &parent.id)?;
    if children.is_empty() {
        return Ok(children);
    }
    let random_of = |id: &ThreadId| Ulid::from_string(id.as_str()).map(|ulid| ulid.random()).ok();
    let mut children: BTreeMap<u128, ThreadId> =
        children.into_iter().filter_map(|id| Some((random_of(&id)?, id))).collect();
    let workflow = parent.workflow()?;
    let roles: HashMap<u64, &String> = workflow.roles.keys().map(|role| (role_key(role), role)).collect();
    let mut head = parent.start_hash;
    for record in parent.chain()?.records() {
        let child = roles.get(&record.role).map(|role| random(&parent.id, head, role));
        head = record.step;
        let Some(child) = child.filter(|child| children.contains_key(child)) else { continue };
        let detail = nodes::get(parent.home().store(), record.detail)?;
        // With any other detail, an agent played the role itself.
        if NodeKind::from_type_hash(detail.type_hash) == Some(NodeKind::StepNode) {
            children.remove(&child);
        }
    }
    Ok(children.into_values().collect())
}

/// A child in its current state; `None` if it was removed.
pub(crate) fn find<'h>(home: &'h Home, id: &ThreadId) -> Result<Option<Thread<'h>>> {
    if let Some(head) = home.heads().read(id.as_str())? {
        return Thread::load_at(home, id.clone(), head.hash).map(Some);
    }
    history::newest_line(home, id)?.map(|line| Thread::ended(home, &line)).transpose()
}
