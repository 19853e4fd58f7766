//! `thread why`: what a step was decided by, and how its output was obtained.

use std::fs;
use std::path::Path;

use json_cas::{NodeHash, ObjectBackend};
use serde_json::{Value, json};
use uwf_core::node::EndStatus;
use uwf_core::thread::ThreadId;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::history;
use uwf_engine::thread::nodes;
use uwf_engine::verbs::fork::{self, ForkChanges};
use uwf_engine::verbs::{kill, rm};
use uwf_engine::views::thread_now::ThreadNow;
use uwf_engine::views::why;
use uwf_testing::counting_workflow;

use crate::memory::{Machine, Player, failure};

/// A writer whose texts an editor rejects once: four steps to the end.
fn reviewed() -> (Machine, ThreadId) {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    for output in [json!({"text": "a"}), json!({"approved": false}), json!({"text": "b"}), json!({"approved": true})] {
        machine.play(&id, &Player::new("agent", "agent"), output).unwrap();
    }
    (machine, id)
}

fn of_step(machine: &Machine, step: NodeHash) -> Value {
    json!(why::of_step(&machine.home, step).unwrap())
}

fn of_thread(machine: &Machine, id: &ThreadId) -> Value {
    json!(why::of_thread(&machine.home, id).unwrap())
}

#[test]
fn a_step_is_explained_by_what_decided_it() {
    let (machine, id) = reviewed();
    let third = machine.steps(&id)[2];
    let report = of_step(&machine, third);
    assert_eq!(
        report["step"]["routing"],
        json!({
            "next": "writer",
            "considered": [
                {
                    "role": "$END",
                    "condition": "approved",
                    "description": "the editor is content",
                    "expression": "steps[-1].output.approved = true",
                    "reads": [{ "what": "steps[-1].output.approved", "value": false }],
                    "value": false,
                    "matched": false,
                    "why": "the expression gave false",
                },
                { "role": "writer", "matched": true, "why": "it has no condition" },
            ],
        })
    );
    let step = &report["step"];
    assert_eq!(json!([step["index"], step["after"], step["asChosen"]]), json!([3, "editor", true]));
    assert_eq!(json!([step["role"], step["agent"], step["alias"]]), json!(["writer", "agent", "agent"]));
    assert_eq!(step["output"]["extractedBy"], "frontmatter");
    assert_eq!(step["output"]["rungs"], json!([{ "rung": "frontmatter", "errors": [], "fixes": [] }]));
    assert_eq!(json!([report["thread"], report["workflowName"]]), json!([id, "essay"]));
    assert_eq!(report.get("next"), None, "only of a thread");
}

#[test]
fn a_thread_is_explained_by_what_comes_next() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let new = of_thread(&machine, &id);
    assert_eq!(
        json!([new.get("step"), new["next"]["state"], new["next"]["routing"]["next"]]),
        json!([null, "active", "writer"])
    );
    machine.refused(&id, 1);
    let refused = of_thread(&machine, &id);
    assert_eq!(json!([refused["step"]["role"], refused["step"]["after"]]), json!(["editor", "writer"]));
    assert_eq!(refused["next"]["routing"]["next"], "writer");
    machine.approved(&id);
    let ended = of_thread(&machine, &id);
    let next = &ended["next"];
    assert_eq!(json!([ended["step"]["index"], next["state"], next["why"]]), json!([4, "completed", "end"]));
    assert_eq!(json!([next["routing"]["next"], next["routing"]["considered"][0]["matched"]]), json!(["$END", true]));
}

#[test]
fn a_killed_thread_shows_what_would_come() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    machine.answer(&id, json!({"text": "It rains."})).unwrap();
    kill::kill(&machine.home, &id, None).unwrap();
    let next = &of_thread(&machine, &id)["next"];
    assert_eq!(json!([next["state"], next["routing"]["next"]]), json!(["killed", "editor"]));
}

/// Files below a directory with their bytes.
fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}

#[test]
fn asking_changes_no_file() {
    let machine = Machine::new();
    machine.put("count-rounds", &counting_workflow(6));
    let id = machine.start("count-rounds");
    for n in 0..4 {
        machine.play(&id, &Player::new("agent", "agent"), json!({ "n": n })).unwrap();
    }
    let before = files(machine.home.root());
    assert!(before.iter().any(|(path, _)| path.contains("/cache/")), "{before:?}");
    for step in machine.steps(&id) {
        of_step(&machine, step);
    }
    assert!(files(machine.home.root()) == before, "the cache of the thread is as long as it was");
}

#[test]
fn failed_attempts_belong_to_their_step() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let broken = Player::new("broken", "broken");
    let attempt = machine.fail(&id, &broken, "agent `broken` exited with 3");
    let failed = json!([{ "attempt": attempt, "alias": "broken", "agent": "broken", "exitCode": 3, "error": "agent `broken` exited with 3" }]);
    let report = of_thread(&machine, &id);
    assert_eq!(json!([report["next"]["failed"], report.get("step")]), json!([failed, null]));
    machine.play(&id, &Player::new("agent", "agent"), json!({"text": "It rains."})).unwrap();
    let report = of_thread(&machine, &id);
    assert_eq!(json!([report["step"]["output"]["failed"], report["next"].get("failed")]), json!([failed, null]));
}

#[test]
fn a_step_without_a_thread_is_explained() {
    let (machine, id) = reviewed();
    let third = machine.steps(&id)[2];
    let known = of_step(&machine, third);
    rm::remove(&machine.home, &id, false).unwrap();
    let report = of_step(&machine, third);
    assert_eq!(report.get("thread"), None);
    assert_eq!(report["step"]["routing"], known["step"]["routing"]);
}

#[test]
fn a_shared_step_is_of_the_newest_fork() {
    let (machine, id) = reviewed();
    let [first, second, ..] = machine.steps(&id)[..] else { panic!("four steps") };
    let fork = fork::at_node(&machine.home, second, &ForkChanges::default(), &machine.work()).unwrap().thread;
    assert_eq!(of_step(&machine, second)["thread"], json!(fork));
    assert_eq!(of_step(&machine, first)["step"]["index"], 1);
}

#[test]
fn step_is_explained_within_given_thread() {
    let (machine, id) = reviewed();
    let [first, second, ..] = machine.steps(&id)[..] else { panic!("four steps") };
    let fork = fork::at_node(&machine.home, first, &ForkChanges::default(), &machine.work()).unwrap().thread;
    let within = |id: &ThreadId, step| {
        let now = ThreadNow::read(&machine.home, id).unwrap();
        why::of_step_in(&now.thread, &now.record, step).unwrap().map(|reasons| reasons.thread)
    };
    assert_eq!([within(&id, first), within(&fork, first)], [Some(Some(id)), Some(Some(fork.clone()))]);
    assert_eq!(within(&fork, second), None);
}

#[test]
fn damage_is_reported_beside_what_is_readable() {
    let (machine, id) = reviewed();
    let [_, second, third, _] = machine.steps(&id)[..] else { panic!("four steps") };
    let node = |step| nodes::step_node(machine.home.store(), step).unwrap().0;
    let damage = |hash| machine.objects.replace(hash, b"not a node").unwrap();
    damage(node(second).output);
    damage(node(third).detail);
    let step = &of_step(&machine, third)["step"];
    for why in [&step["routing"]["error"], &step["output"]["unreadable"]] {
        assert!(why.as_str().unwrap().contains("corrupt"), "{step}");
    }
    assert_eq!(step["role"], "writer");
    damage(third);
    assert_eq!(why::of_step(&machine.home, third).unwrap_err().kind, ErrorKind::Data);
}

#[test]
fn only_steps_are_explained() {
    let (machine, id) = reviewed();
    let output = nodes::step_node(machine.home.store(), machine.steps(&id)[0]).unwrap().0.output;
    let refused = |hash| {
        let error = why::of_step(&machine.home, hash).unwrap_err();
        (error.kind, error.message)
    };
    for (hash, kind, message) in [
        (output, ErrorKind::Data, "a StepNode was expected"),
        (machine.thread(&id).start_hash, ErrorKind::Data, "is a StartNode, a StepNode was expected"),
    ] {
        let (refused, why) = refused(hash);
        assert!(refused == kind && why.contains(message), "{refused:?}: {why}");
    }
    let unknown = uwf_engine::root::ids::new_thread_id();
    let error = why::of_thread(&machine.home, &unknown).unwrap_err();
    assert_eq!(failure(&error), (ErrorKind::NotFound, format!("thread {unknown} does not exist").as_str()));
}

#[test]
fn step_of_child_names_last_step_of_child() {
    let machine = Machine::new();
    machine.put("count-rounds", &counting_workflow(1));
    machine.put("outer", &counting_workflow(1).replace("name: count-rounds", "name: outer"));
    let [parent, child] = ["outer", "count-rounds"].map(|workflow| machine.start(workflow));
    machine.play(&child, &Player::new("agent", "agent"), json!({"n": 1})).unwrap();
    let last = history::newest_line(&machine.home, &child).unwrap().unwrap();
    assert_eq!(last.status, EndStatus::Completed);
    machine.play_by_child(&parent, last.head, json!({"n": 1}));
    let output = &of_thread(&machine, &parent)["step"]["output"];
    assert_eq!(json!([output["childStep"], output["extractedBy"]]), json!([last.head, "frontmatter"]));
    assert_eq!(json!([output["detail"], output.get("unreadable")]), json!([last.head, null]));
    assert_eq!(of_step(&machine, last.head)["thread"], json!(child));
}
