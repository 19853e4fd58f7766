//! `thread fork`: a new head on an old node.

use json_cas::ObjectBackend;
use serde_json::json;
use uwf_core::usage::ThreadLimits;
use uwf_engine::attempt::settings::ThreadSettings;
use uwf_engine::error::{Error, ErrorKind};
use uwf_engine::verbs::fork::{self, ForkChanges, ForkReport};
use uwf_engine::verbs::kill;
use uwf_engine::views::list;

use crate::memory::{Machine, failure};

fn fork(machine: &Machine, id: &uwf_core::thread::ThreadId, from: Option<&str>) -> Result<ForkReport, Error> {
    fork::thread(&machine.home, id, from, &ForkChanges::default(), &machine.work())
}

#[test]
fn fork_starts_at_head_and_stores_no_node() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    machine.refused(&id, 1);
    let nodes = machine.objects.list(None).unwrap();
    let forked = fork(&machine, &id, None).unwrap();
    assert_eq!((forked.forked_from.step, machine.objects.list(None).unwrap()), (machine.thread(&id).head, nodes));
    assert_eq!(machine.steps(&forked.thread).len(), 2);
}

#[test]
fn fork_and_origin_are_independent() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    machine.refused(&id, 1);
    let forked = fork(&machine, &id, None).unwrap().thread;
    machine.approved(&forked);
    assert_eq!(machine.steps(&id).len(), 2);
    assert_eq!(machine.active_heads().len(), 1, "the fork has ended");
    machine.answer(&id, json!({"text": "It still rains."})).unwrap();
}

#[test]
fn fork_from_role_starts_before_its_last_step() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    machine.refused(&id, 2);
    let steps = machine.steps(&id);
    assert_eq!(fork(&machine, &id, Some("editor")).unwrap().forked_from.step, steps[2]);
    assert_eq!(fork(&machine, &id, Some("writer")).unwrap().forked_from.step, steps[1]);
}

#[test]
fn before_its_first_step_there_is_the_start() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let start = machine.thread(&id).head;
    machine.answer(&id, json!({"text": "It rains."})).unwrap();
    assert_eq!(fork(&machine, &id, Some("writer")).unwrap().forked_from.step, start);
}

#[test]
fn unplayed_role_is_rejected_with_hint() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let unplayed = fork(&machine, &id, Some("editor")).unwrap_err();
    assert_eq!(
        failure(&unplayed),
        (ErrorKind::NotFound, format!("role `editor` was never played in thread {id}").as_str())
    );
    assert_eq!(unplayed.hints, [format!("it has no steps yet: `uwf thread fork {id}` forks it at its start")]);
    machine.answer(&id, json!({"text": "It rains."})).unwrap();
    let later = fork(&machine, &id, Some("editor")).unwrap_err();
    assert_eq!(later.hints, [format!("`uwf thread steps {id}` lists the roles that were")]);
    let misspelt = fork(&machine, &id, Some("writter")).unwrap_err();
    assert!(misspelt.hints[0].contains("writer"), "{:?}", misspelt.hints);
}

#[test]
fn ended_threads_can_be_forked() {
    let machine = Machine::with_essay();
    let completed = machine.start("essay");
    let head = machine.approved(&completed).head;
    assert_eq!(fork(&machine, &completed, None).unwrap().forked_from.step, head);
    let killed = machine.start("essay");
    kill::kill(&machine.home, &killed, None).unwrap();
    let forked = fork(&machine, &killed, None).unwrap();
    machine.approved(&forked.thread);
}

#[test]
fn only_starts_and_steps_can_be_forked() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let output = {
        machine.answer(&id, json!({"text": "It rains."})).unwrap();
        machine.thread(&id).last.clone().unwrap().output
    };
    let error = fork::at_node(&machine.home, output, &ForkChanges::default(), &machine.work()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Data);
    assert_eq!(error.hints, ["`uwf thread steps THREAD` lists the nodes that can be forked"]);
    let nowhere =
        fork::at_node(&machine.home, json_cas::NodeHash::from_u64(1), &ForkChanges::default(), &machine.work());
    assert_eq!(failure(&nowhere.unwrap_err()), (ErrorKind::NotFound, "node 0000000000001 does not exist"));
}

#[test]
fn fork_keeps_unchanged_settings_of_origin() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let elsewhere = machine.file("elsewhere/note", "").parent().unwrap().to_owned();
    let changes = ForkChanges {
        workspace: Some(elsewhere.clone()),
        limits: ThreadLimits { max_steps: Some(3), ..ThreadLimits::default() },
        ..ForkChanges::default()
    };
    let forked = fork::thread(&machine.home, &id, None, &changes, &machine.work()).unwrap();
    let [before, after] = [&id, &forked.thread].map(|id| ThreadSettings::load(&machine.home, id).unwrap().unwrap());
    assert_eq!((after.workspace, after.limits.max_steps), (elsewhere.canonicalize().unwrap(), Some(3)));
    assert_eq!((after.bound, after.begun_at, after.digest), (before.bound, before.begun_at, before.digest));
}

#[test]
fn a_repeated_fork_reports_the_first_fork() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let step = machine.answer(&id, json!({"text": "It rains."})).unwrap().head;
    let chosen = ForkChanges { id: Some("01M84K4HXK6RPPA24KREJ5JEHH".parse().unwrap()), ..ForkChanges::default() };
    let fork = |changes: &ForkChanges| fork::thread(&machine.home, &id, None, changes, &machine.work());
    let at = |node| fork::at_node(&machine.home, node, &chosen, &machine.work());
    let first = fork(&chosen).unwrap();
    assert_eq!((Some(&first.thread), first.forked_from.step), (chosen.id.as_ref(), step));
    assert_eq!(fork(&chosen).unwrap(), first);
    assert_eq!(at(step).unwrap(), first, "the step it was forked at");
    let later = machine.answer(&id, json!({"approved": false})).unwrap().head;
    machine.answer(&first.thread, json!({"approved": true})).unwrap();
    assert_eq!(fork(&chosen).unwrap(), first, "both have continued");
    assert_eq!(at(later).unwrap_err().kind, ErrorKind::Usage, "another step");
    let other = ForkChanges { prompt: Some("On snow.".to_owned()), ..chosen.clone() };
    assert_eq!(fork(&other).unwrap_err().kind, ErrorKind::Usage);
    let all = list::ThreadFilter { all: true, ..list::ThreadFilter::default() };
    assert_eq!(list::list(&machine.home, &all).unwrap().matching, 2);
}

#[test]
fn fork_works_on_machine_that_never_ran_thread() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    machine.refused(&id, 1);
    let other = machine.beside();
    let forked = fork(&other, &id, None).unwrap();
    other.approved(&forked.thread);
    assert_eq!(machine.steps(&forked.thread).len(), 4);
}
