//! Starting the child thread of a role that a workflow plays, or finding the existing one.

use std::fs;

use durable_files::regular;
use json_cas::{Hash, Swap};
use uwf_core::node::StartNode;
use uwf_core::thread::ThreadId;

use crate::attempt::child_threads::{self, Child};
use crate::attempt::settings::Settings;
use crate::error::{AtPath, Error, Result};
use crate::root::home::Home;
use crate::root::missing_thread;
use crate::thread::load::Thread;
use crate::verbs::kill;
use crate::verbs::start::{self, new_thread};

/// Task of a child thread that is not yet started.
pub struct Task {
    /// The workflow as the configuration names it.
    pub workflow: String,
    /// Its prompt.
    pub prompt: String,
    /// Its workspace, agents and limits; the parent is filled in.
    pub settings: Settings,
    /// Whether it is a branch of the parent, which is a group. Group and branches are one level of nesting.
    pub is_branch: bool,
}

/// The child thread of a role at the parent's head; starts one if it does not exist.
///
/// # Errors
/// `Limit` if it would be deeper than `maxDepth`, `Config` if the workflow does not exist; errors of `task`, store and index.
pub fn find_or_begin(
    parent: &Thread<'_>,
    role: &str,
    max_depth: u32,
    task: impl FnOnce() -> Result<Task>,
) -> Result<Child> {
    let home = parent.home();
    let id = child_threads::id_for(parent, role);
    if let Some(child) = child_threads::find(home, &id)? {
        if matches!(child, Child::Active(_)) && Settings::load(home, &id)?.is_none() {
            go_on_here(parent, &id, task()?)?;
        }
        return Ok(child);
    }
    let task = task()?;
    let depth = parent.start.depth.unwrap_or(0).saturating_add(u32::from(!task.is_branch));
    if depth > max_depth {
        return Err(Error::limit(format!(
            "role `{role}` is played by a workflow, but its thread would be {depth} threads deep, and `maxDepth` is {max_depth}"
        ))
        .hint("a workflow that plays a role of itself never ends; otherwise raise `maxDepth` in config.yaml"));
    }
    let settings = of_child(parent, task.settings)?;
    let _hold = home.hold_nodes()?;
    let (workflow, workflows) = start::pinned(home, &task.workflow, &settings)?;
    let start = StartNode { workflow, prompt: task.prompt, parent: Some(parent.head), depth: Some(depth), input: None };
    let head = start::put_start(home, &start)?;
    begin(home, parent, id, head, &Settings { workflows, ..settings })
}

/// The settings of a child thread, derived from its parent.
fn of_child(parent: &Thread<'_>, settings: Settings) -> Result<Settings> {
    let decided = Settings::load(parent.home(), &parent.id)?.map(|settings| settings.workflows).unwrap_or_default();
    Ok(Settings { parent: Some(parent.id.clone()), workflows: decided, ..settings })
}

/// Lets a child thread that started on another machine continue on this one, like its parent.
fn go_on_here(parent: &Thread<'_>, id: &ThreadId, task: Task) -> Result<()> {
    let (child, head) = Thread::active(parent.home(), id)?;
    note_child(parent, id)?;
    let settings = of_child(parent, task.settings)?;
    settings.begun_at(head.hash).save(child.home(), id)
}

/// Records the child thread with its parent.
fn note_child(parent: &Thread<'_>, id: &ThreadId) -> Result<()> {
    let dir = parent.home().children_dir(&parent.id);
    fs::create_dir_all(&dir).at("create", &dir)?;
    let note = dir.join(id.as_str());
    regular::write(&note, b"").at("write", &note)
}

/// Starts a child thread. Its parent knows it before the index does. So a process that kills the parent finds the child thread, or this
/// function finds the parent killed.
fn begin(home: &Home, parent: &Thread<'_>, id: ThreadId, head: Hash, settings: &Settings) -> Result<Child> {
    note_child(parent, &id)?;
    match new_thread::begin(home, &id, head, settings, None)? {
        Swap::Done | Swap::Moved(Some(_)) => {}
        Swap::Moved(None) => return Err(Error::internal(format!("child thread {id} cannot be started"))),
    }
    if home.heads().read(parent.id.as_str())?.is_none() {
        kill::kill(home, &id, None)?;
        return Err(missing_thread::not_in_index(&parent.id));
    }
    Ok(Child::Active(id))
}
