//! `workflow put`, `rollback`: files become nodes, names stand for them.

use json_cas::ObjectBackend;
use uwf_engine::error::ErrorKind;
use uwf_engine::root::registry;

use crate::memory::{ESSAY, Machine, failure};

fn second() -> String {
    ESSAY.replace("Write it.", "Write it well.")
}

#[test]
fn the_same_file_put_twice_is_one_version() {
    let machine = Machine::new();
    let first = machine.put("essay", ESSAY);
    let nodes = machine.objects.list(None).unwrap();
    assert_eq!(machine.put("essay", ESSAY), first);
    assert_eq!(machine.objects.list(None).unwrap(), nodes);
    assert!(registry::read(&machine.home).unwrap()["essay"].history.is_empty());
}

#[test]
fn new_version_takes_name_and_old_becomes_history() {
    let machine = Machine::new();
    let old = machine.put("essay", ESSAY);
    let new = machine.put("essay", &second());
    let entry = &registry::read(&machine.home).unwrap()["essay"];
    assert_eq!((entry.hash, entry.history[0].hash, entry.history.len()), (new, old, 1));
}

#[test]
fn file_with_errors_reports_all_and_stores_nothing() {
    let machine = Machine::new();
    let text = ESSAY.replace("role: editor", "role: editr").replace("condition: approved", "condition: aproved");
    let refused = machine.try_put("essay", &text).unwrap();
    let told: Vec<String> = refused.problems.iter().map(ToString::to_string).collect();
    assert!(refused.stored.is_none());
    assert!(
        told.iter().any(|line| line.contains("editr")) && told.iter().any(|line| line.contains("aproved")),
        "{told:?}"
    );
    assert_eq!(machine.objects.list(None).unwrap(), []);
    assert!(registry::read(&machine.home).unwrap().is_empty());
}

#[test]
fn role_may_reference_only_stored_schema() {
    let machine = Machine::new();
    let text = |schema: &str| {
        let inline =
            "\n      type: object\n      properties: { text: { type: string } }\n      required: [text]\n  editor";
        ESSAY.replace(inline, &format!(" {schema}\n  editor"))
    };
    let refused = machine.try_put("essay", &text("0000000000001")).unwrap();
    let problem = refused.problems.iter().find(|problem| problem.is_error()).unwrap();
    assert!(problem.to_string().contains("0000000000001"), "{problem}");
    assert!(refused.stored.is_none());
    let schema = machine.home.store().put_schema(serde_json::json!({"type": "object"})).unwrap();
    machine.put("essay", &text(&schema.to_string()));
}

#[test]
fn workflow_containing_secret_is_rejected() {
    let machine = Machine::new();
    std::fs::write(machine.home.env_file(), "API_KEY=sk-0123456789abcdef\n").unwrap();
    let error = machine.try_put("essay", &ESSAY.replace("Write it.", "Use sk-0123456789abcdef.")).unwrap_err();
    assert_eq!(failure(&error), (ErrorKind::Data, "the workflow has the value of API_KEY in it"));
}

#[test]
fn a_rollback_swaps_the_two_newest_versions() {
    let machine = Machine::new();
    let old = machine.put("essay", ESSAY);
    let new = machine.put("essay", &second());
    let roll_back = || registry::update(&machine.home, |names| registry::roll_back(names, "essay", None, 7)).unwrap();
    assert_eq!(roll_back(), (new, old));
    assert_eq!(roll_back(), (old, new));
    assert_eq!(registry::read(&machine.home).unwrap()["essay"].history.len(), 1);
}

#[test]
fn rollback_without_earlier_version_gives_hint() {
    let machine = Machine::with_essay();
    let roll_back =
        |name: &str, to| registry::update(&machine.home, |names| registry::roll_back(names, name, to, 7)).unwrap_err();
    let error = roll_back("essay", None);
    assert_eq!(failure(&error), (ErrorKind::NotFound, "workflow `essay` has no earlier version"));
    assert_eq!(error.hints, ["`uwf workflow history essay` lists the versions that exist"]);
    let unknown = roll_back("essay", Some(json_cas::NodeHash::from_u64(1)));
    assert_eq!(unknown.message, "workflow `essay` has no version 0000000000001 in its history");
    assert_eq!(roll_back("essey", None).message, "workflow `essey` is not in the registry");
}
