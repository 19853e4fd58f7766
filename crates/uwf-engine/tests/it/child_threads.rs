//! Threads that play a role of another one.

use serde_json::json;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::child_threads::{self, Child};
use uwf_engine::attempt::settings::ThreadSettings;
use uwf_engine::error::{Error, ErrorKind};
use uwf_engine::root::history;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::settings::limit;
use uwf_engine::verbs::start_child::{self, ChildTask};
use uwf_engine::verbs::{kill, pause};
use uwf_engine::views::show;

use crate::memory::{Machine, failure};

fn child(machine: &Machine, parent: &ThreadId, max_depth: u32) -> Result<Child, Error> {
    let task = || {
        let settings = ThreadSettings { workspace: machine.work(), ..ThreadSettings::default() };
        Ok(ChildTask { workflow: "essay".to_owned(), prompt: "On snow.".to_owned(), settings, worktree: None })
    };
    start_child::find_or_begin(&machine.thread(parent), "writer", max_depth, task)
}

fn active(child: Child) -> ThreadId {
    match child {
        Child::Active(id) => id,
        Child::Ended(line) => panic!("it has ended: {line:?}"),
    }
}

#[test]
fn child_is_created_once_and_reused_until_ended() {
    let machine = Machine::with_essay();
    let parent = machine.start("essay");
    let id = active(child(&machine, &parent, 3).unwrap());
    assert_eq!(active(child(&machine, &parent, 3).unwrap()), id);
    let shown = show::show(&machine.home, &id).unwrap();
    assert_eq!((shown.task.as_str(), shown.depth, shown.parent_thread.as_ref()), ("On snow.", Some(1), Some(&parent)));
    machine.approved(&id);
    let line = history::newest_line(&machine.home, &id).unwrap().unwrap();
    assert_eq!(child(&machine, &parent, 3).unwrap(), Child::Ended(line));
}

#[test]
fn new_parent_head_gets_another_child() {
    let machine = Machine::with_essay();
    let parent = machine.start("essay");
    let before = active(child(&machine, &parent, 3).unwrap());
    machine.answer(&parent, json!({"text": "It rains."})).unwrap();
    assert_ne!(active(child(&machine, &parent, 3).unwrap()), before);
}

#[test]
fn no_child_is_begun_deeper_than_the_limit() {
    let machine = Machine::with_essay();
    let parent = machine.start("essay");
    let first = active(child(&machine, &parent, 1).unwrap());
    let error = child(&machine, &first, 1).unwrap_err();
    let message = "role `writer` is played by a workflow, but its thread would be 2 threads deep, and `maxDepth` is 1";
    assert_eq!(failure(&error), (ErrorKind::Limit, message));
}

#[test]
fn a_child_pauses_and_ends_with_its_parent() {
    let machine = Machine::with_essay();
    let parent = machine.start("essay");
    let id = active(child(&machine, &parent, 3).unwrap());
    pause::pause(&machine.home, &parent, Some("lunch"), None).unwrap();
    assert_eq!(
        machine.answer(&id, json!({"text": "It snows."})).unwrap_err().message,
        format!("thread {id} is paused with its parent {parent}: lunch")
    );
    assert_eq!(show::show(&machine.home, &id).unwrap().state, ThreadState::Paused);
    assert_eq!(limit::show(&machine.home, &id).unwrap().state, ThreadState::Paused);
    kill::kill(&machine.home, &parent, None).unwrap();
    assert!(history::newest_line(&machine.home, &id).unwrap().is_some());
    assert_eq!(child_threads::active(&machine.home, &parent).unwrap(), []);
}

#[test]
fn a_thread_that_has_ended_begins_no_child() {
    let machine = Machine::with_essay();
    let parent = machine.start("essay");
    let seen = machine.thread(&parent);
    kill::kill(&machine.home, &parent, None).unwrap();
    let settings = ThreadSettings { workspace: machine.work(), ..ThreadSettings::default() };
    let task = ChildTask { workflow: "essay".to_owned(), prompt: "On snow.".to_owned(), settings, worktree: None };
    let error = start_child::find_or_begin(&seen, "writer", 3, || Ok(task)).unwrap_err();
    assert_eq!(failure(&error), (ErrorKind::NotFound, format!("thread {parent} is not active").as_str()));
    let ended: Vec<_> = history::all(&machine.home).unwrap().into_iter().map(|line| line.thread).collect();
    assert_eq!(ended.len(), 2, "what was begun was ended again: {ended:?}");
}
