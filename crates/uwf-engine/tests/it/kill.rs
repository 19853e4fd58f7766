//! `thread kill`: out of the index first, so that no later swap can succeed.

use json_cas::{ObjectBackend, RemovalJournal};
use serde_json::json;
use uwf_core::node::{EndStatus, ThreadEnd};
use uwf_engine::error::ErrorKind;
use uwf_engine::root::history;
use uwf_engine::thread::nodes;
use uwf_engine::verbs::{kill, recover};

use crate::memory::{Machine, failure, names};

#[test]
fn killed_thread_moves_from_index_to_history() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let head = machine.answer(&id, json!({"text": "It rains."})).unwrap().head;
    let end = kill::kill(&machine.home, &id, None).unwrap().unwrap();
    assert_eq!(machine.active_heads(), []);
    let line = history::newest_line(&machine.home, &id).unwrap().unwrap();
    assert_eq!((line.head, line.status, line.end), (head, EndStatus::Killed, Some(end)));
    let end: ThreadEnd = nodes::typed(machine.home.store(), end).unwrap();
    assert_eq!((end.last_step, end.reason.as_str(), end.return_code), (Some(head), "killed", 130));
}

#[test]
fn kill_before_first_step_records_no_last_step() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let start = machine.thread(&id).head;
    let end = kill::kill(&machine.home, &id, None).unwrap().unwrap();
    let end: ThreadEnd = nodes::typed(machine.home.store(), end).unwrap();
    assert_eq!((end.start, end.last_step, end.status), (start, None, EndStatus::Killed));
}

#[test]
fn a_thread_is_killed_once() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    kill::kill(&machine.home, &id, None).unwrap();
    let again = kill::kill(&machine.home, &id, None).unwrap_err();
    assert_eq!(failure(&again), (ErrorKind::NotFound, format!("thread {id} was killed").as_str()));
    assert_eq!(machine.heads.records().unwrap().readable.len(), 1);
}

#[test]
fn one_of_many_concurrent_kills_succeeds() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let killed = std::thread::scope(|scope| {
        let killers: Vec<_> = (0..6).map(|_| scope.spawn(|| kill::kill(&machine.home, &id, None).is_ok())).collect();
        killers.into_iter().map(|killer| killer.join().unwrap()).filter(|done| *done).count()
    });
    assert_eq!((killed, machine.heads.records().unwrap().readable.len()), (1, 1));
}

#[test]
fn an_unknown_thread_cannot_be_killed() {
    let machine = Machine::with_essay();
    let id = uwf_engine::root::ids::new_thread_id();
    let error = kill::kill(&machine.home, &id, None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert_eq!(names(&machine.home.thread_dir(&id)), Vec::<String>::new(), "nothing is made for it");
}

#[test]
fn thread_without_nodes_is_killed_without_end_node() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let head = machine.thread(&id).head;
    machine.objects.replace(head, b"\0\0\0\0").unwrap();
    assert_eq!(kill::kill(&machine.home, &id, None).unwrap(), None);
    let line = history::newest_line(&machine.home, &id).unwrap().unwrap();
    assert_eq!((line.head, line.workflow, line.end), (head, None, None));
}

#[test]
fn nothing_is_missing_after_threads_have_ended() {
    let machine = Machine::with_essay();
    let killed = machine.start("essay");
    kill::kill(&machine.home, &killed, None).unwrap();
    let completed = machine.start("essay");
    machine.approved(&completed);
    machine.start("essay");
    assert_eq!(recover::missing(&machine.home).unwrap(), []);
    let ended: Vec<_> = history::all(&machine.home).unwrap().into_iter().map(|line| line.thread).collect();
    assert_eq!(ended, [killed, completed], "oldest first");
}
