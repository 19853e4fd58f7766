//! What looks for damage, and what repairs it: `recover`, `thread repair`, `thread verify`, `cas reindex`, `doctor`.

use json_cas::{ObjectBackend, ProblemKind};
use serde_json::json;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::ids;
use uwf_engine::thread::digest::ThreadDigest;
use uwf_engine::thread::steps::StepParts;
use uwf_engine::verbs::doctor::{self, DoctorStatus};
use uwf_engine::verbs::recover::{self, RecoveryFinding};
use uwf_engine::verbs::reindex;
use uwf_engine::verbs::repair::{self, RepairAction};
use uwf_engine::verbs::verify::{self, ThreadIntegrity};

use crate::memory::Machine;

#[test]
fn heads_without_an_index_file_are_kept() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    for dry_run in [true, false] {
        let recovered = recover::recover(&machine.home, dry_run).unwrap();
        assert_eq!((recovered.index, recovered.store), (None, Some(machine.home.place())));
        assert!(!recovered.changed);
        assert_eq!(recovered.threads[0].finding, RecoveryFinding::Kept);
    }
    machine.approved(&id);
}

#[test]
fn of_a_sound_thread_nothing_is_repaired() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    machine.refused(&id, 1);
    let head = machine.thread(&id).head;
    let repaired = repair::repair(&machine.home, &id, false).unwrap();
    assert_eq!((repaired.head, repaired.before, repaired.steps), (head, None, vec![]));
}

#[test]
fn step_with_damaged_detail_is_replaced_and_marked() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    machine.refused(&id, 1);
    let steps = machine.steps(&id);
    let detail = machine.thread(&id).step(0, StepParts::NONE).unwrap().detail;
    machine.objects.replace(detail, b"\xa0").unwrap();

    let looked = repair::repair(&machine.home, &id, true).unwrap();
    let actions: Vec<_> = looked.steps.iter().map(|row| (row.index, row.step, row.action)).collect();
    assert_eq!(actions, [(1, steps[0], RepairAction::Noted)], "the sound one after it is only linked anew");
    assert_eq!(machine.thread(&id).head, steps[1], "it was only looked");

    let repaired = repair::repair(&machine.home, &id, false).unwrap();
    assert_eq!((repaired.head, repaired.before), (looked.head, Some(steps[1])));
    let outputs = |number| machine.thread(&id).step(number, StepParts::NONE).unwrap().output;
    assert_eq!((outputs(0), outputs(1)), (json!({"text": "draft 0"}), json!({"approved": false})));
    machine.approved(&id);
}

#[test]
fn a_thread_without_its_first_output_begins_anew() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    machine.refused(&id, 1);
    let step = machine.steps(&id)[0];
    let (first, _) = uwf_engine::thread::nodes::step_node(machine.home.store(), step).unwrap();
    machine.objects.replace(first.output, b"\xa0").unwrap();
    let repaired = repair::repair(&machine.home, &id, false).unwrap();
    assert_eq!(repaired.steps.iter().map(|row| row.action).collect::<Vec<_>>(), [RepairAction::Dropped]);
    assert_eq!(repaired.head, machine.thread(&id).start_hash);
    machine.approved(&id);
}

#[test]
fn thread_is_verified_by_record_and_noted_digest() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    machine.refused(&id, 1);
    let noted = verify::verify(&machine.home, &id, None).unwrap();
    assert_eq!((noted.verdict, noted.steps, noted.recorded), (ThreadIntegrity::Intact, 2, Some(noted.digest)));
    machine.refused(&id, 1);
    let verdict = |home, expected| verify::verify(home, &id, expected).unwrap().verdict;
    assert_eq!(verdict(&machine.home, Some(noted.digest)), ThreadIntegrity::Intact, "it was noted two steps ago");
    let wrong: ThreadDigest = "0".repeat(64).parse().unwrap();
    assert_eq!(verdict(&machine.home, Some(wrong)), ThreadIntegrity::Tampered);
    // A machine that never ran it knows no digest of it.
    let other = machine.beside();
    assert_eq!(
        (verdict(&other.home, None), verdict(&other.home, Some(noted.digest))),
        (ThreadIntegrity::Unrecorded, ThreadIntegrity::Unrecorded)
    );
}

#[test]
fn derived_data_is_rebuilt() {
    let machine = Machine::with_essay();
    let [short, long] = [(); 2].map(|()| machine.start("essay"));
    machine.approved(&short);
    machine.refused(&long, 2);
    let nodes = machine.objects.list(None).unwrap().len();
    std::fs::remove_dir_all(machine.home.cache_dir()).unwrap();
    let done = reindex::reindex(&machine.home, &mut |_| ()).unwrap();
    assert_eq!((done.nodes, done.threads, done.steps, done.problems), (nodes, 2, 6, vec![]));
    assert!(machine.home.chain_file(&long).exists());
}

#[test]
fn doctor_counts_nodes_and_threads_in_shared_store() {
    let machine = Machine::with_essay();
    let [ended, _active] = [(); 2].map(|()| machine.start("essay"));
    machine.approved(&ended);
    let nodes = machine.objects.list(None).unwrap().len();
    let findings = doctor::examine(&machine.home, doctor::DoctorMode::Tell);
    let message = |check: &str| findings.iter().find(|finding| finding.check == check).unwrap().message.clone();
    assert_eq!(message("store"), format!("{nodes} nodes"));
    assert_eq!(message("threads"), "1 active thread, 1 finished");
    let failed: Vec<_> = findings.iter().filter(|finding| finding.status == DoctorStatus::Fail).collect();
    assert_eq!(failed, Vec::<&doctor::DoctorFinding>::new());
}

#[test]
fn thread_missing_from_heads_is_reported() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let elsewhere = Machine::with_essay();
    std::fs::create_dir_all(elsewhere.home.threads_dir()).unwrap();
    std::fs::copy(machine.home.record_file(&id), elsewhere.home.record_file(&id)).unwrap();
    assert_eq!(recover::missing(&elsewhere.home).unwrap(), [id]);
    assert_eq!(recover::missing(&machine.home).unwrap(), []);
}

#[test]
fn walk_from_all_roots_finds_missing_node() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let head = machine.approved(&id).head;
    let output = machine.thread(&id).last.clone().unwrap().output;
    machine.objects.replace(output, b"").unwrap();
    let (roots, unread) = uwf_engine::root::named_nodes::all(&machine.home);
    assert!(unread.is_empty());
    assert!(roots.contains(&(head, format!("the head of thread {id}"))), "{roots:?}");
    let roots: Vec<_> = roots.into_iter().map(|(root, _)| root).collect();
    let problems = machine.home.store().verify(Some(&roots)).unwrap().problems;
    assert_eq!(
        problems.iter().map(|problem| (problem.hash, problem.kind)).collect::<Vec<_>>(),
        [(Some(output), ProblemKind::Corrupt)]
    );
    assert_eq!(repair::repair(&machine.home, &ids::new_thread_id(), false).unwrap_err().kind, ErrorKind::NotFound);
}
