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
use crate::root::ids;
use crate::thread::chain::role_key;
use crate::thread::load::Thread;
use crate::thread::nodes;

/// The children of a thread.
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

/// The id of the child thread of a role at a thread's head. It contains the time of the head, so that lists show the child where it began.
/// The time is never before the parent's start, because threads that share a node share the time at which it was first stored.
pub(crate) fn id_for(parent: &Thread<'_>, role: &str) -> ThreadId {
    let time = ids::started_at(&parent.id).unwrap_or(0).max(parent.head_timestamp_ms);
    ThreadId::from(Ulid::from_parts(time, random(&parent.id, parent.head, role)))
}

/// The 80 random bits in the id of a child thread, for a role at a head of its parent.
pub(crate) fn random(parent: &ThreadId, head: NodeHash, role: &str) -> u128 {
    let bytes = |salt: u8| {
        let text = format!("{salt} {parent} {head} {role}");
        u128::from(json_cas::xxh64(text.as_bytes()).as_u64())
    };
    Ulid::from_parts(0, bytes(0) << 64 | bytes(1)).random()
}

/// Child threads that did not become a step: of the current role, of roles that another agent then played, and failed branches of groups. A
/// group's step is of its own thread, so the failed branches below other child threads belong to them as well.
pub(crate) fn without_step(parent: &Thread<'_>) -> Result<Vec<ThreadId>> {
    let home = parent.home();
    let children = known(home, &parent.id)?;
    if children.is_empty() {
        return Ok(children);
    }
    let random_of = |id: &ThreadId| Ulid::from_string(id.as_str()).map(|ulid| ulid.random()).ok();
    let mut children: BTreeMap<u128, ThreadId> =
        children.into_iter().filter_map(|id| Some((random_of(&id)?, id))).collect();
    let workflow = parent.workflow()?;
    let is_group = workflow.planned_branches().is_some();
    let roles: HashMap<u64, &String> = workflow.roles.keys().map(|role| (role_key(role), role)).collect();
    let mut head = parent.start_hash;
    let mut with_step = Vec::new();
    for record in parent.chain()?.records() {
        // Branches begin before their group has steps. A role that resolved a conflict is not in the group's workflow.
        let (role, begun_at) = match is_group {
            true => (Some(nodes::step_node(home.store(), record.step)?.0.role), [parent.start_hash, head]),
            false => (roles.get(&record.role).map(|role| (*role).clone()), [head, head]),
        };
        head = record.step;
        let child = role.and_then(|role| {
            let mut ids = begun_at.into_iter().map(|head| random(&parent.id, head, &role));
            ids.find(|child| children.contains_key(child))
        });
        let Some(child) = child else { continue };
        let detail = nodes::get(home.store(), record.detail)?;
        // With any other detail, an agent played the role itself.
        if NodeKind::from_type_hash(detail.type_hash) == Some(NodeKind::StepNode) {
            with_step.extend(children.remove(&child));
        }
    }
    let mut found: Vec<ThreadId> = children.into_values().collect();
    for id in with_step {
        if !known(home, &id)?.is_empty()
            && let Some(child) = find(home, &id)?
        {
            found.extend(without_step(&child)?);
        }
    }
    Ok(found)
}

/// A child in its current state; `None` if it was removed.
pub(crate) fn find<'h>(home: &'h Home, id: &ThreadId) -> Result<Option<Thread<'h>>> {
    if let Some(head) = home.heads().read(id.as_str())? {
        return Thread::load_at(home, id.clone(), head.hash).map(Some);
    }
    history::newest_line(home, id)?.map(|line| Thread::ended(home, &line)).transpose()
}
