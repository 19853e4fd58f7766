//! `thread start`: a StartNode, a record, a head.

use std::fs;
use std::path::Path;

use json_cas::{HeadBackend, HeadsError, ObjectBackend, RemovalJournal, SwapOutcome};
use serde_json::json;
use uwf_engine::attempt::bindings::{AgentBindings, AgentReference};
use uwf_engine::attempt::settings::ThreadSettings;
use uwf_engine::error::{Error, ErrorKind};
use uwf_engine::verbs::start::{self, StartReport, StartRequest};
use uwf_engine::verbs::{kill, rm};
use uwf_engine::views::list::{self, ThreadFilter};
use uwf_engine::views::show;

use crate::memory::{ESSAY, HAS_PEERS, Machine, failure};

fn start(machine: &Machine, request: &StartRequest) -> Result<StartReport, Error> {
    start::start(&machine.home, request, &machine.work())
}

#[test]
fn a_task_without_a_word_is_refused() {
    let machine = Machine::with_essay();
    let error = start(&machine, &machine.request("essay", " \n\t")).unwrap_err();
    assert_eq!(failure(&error), (ErrorKind::Usage, "the prompt is empty"));
    assert_eq!(machine.active_heads(), []);
}

#[test]
fn unknown_workflow_gets_nearest_name() {
    let machine = Machine::with_essay();
    let error = start(&machine, &machine.request("esay", "On rain.")).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.hints.iter().any(|hint| hint.contains("essay")), "{:?}", error.hints);
}

#[test]
fn missing_workspace_leaves_no_thread() {
    let machine = Machine::with_essay();
    let request = StartRequest { workspace: "none".into(), ..machine.request("essay", "On rain.") };
    assert!(start(&machine, &request).is_err());
    assert_eq!(machine.active_heads(), []);
    assert!(!machine.home.threads_dir().exists());
}

#[test]
fn workflow_is_found_by_hash_prefix() {
    let machine = Machine::new();
    let hash = machine.put("essay", ESSAY);
    let started = start(&machine, &machine.request(&hash.to_string()[..8], "On rain.")).unwrap();
    assert_eq!((started.workflow, started.notes), (hash, vec![]));
}

#[test]
fn project_file_shadows_registry_with_note() {
    let machine = Machine::new();
    let named = machine.put("essay", ESSAY);
    machine.file(".workflows/essay.yaml", &ESSAY.replace("Write it.", "Write it here."));
    let started = start(&machine, &machine.request("essay", "On rain.")).unwrap();
    assert_ne!(started.workflow, named);
    assert!(started.notes[0].ends_with("shadows the registry's `essay`"), "{:?}", started.notes);
}

#[test]
fn same_task_twice_gives_one_node_two_threads() {
    let machine = Machine::with_essay();
    let first = start(&machine, &machine.request("essay", "On rain.")).unwrap();
    let nodes = machine.objects.list(None).unwrap();
    let second = start(&machine, &machine.request("essay", "On rain.")).unwrap();
    assert_eq!((first.head, machine.objects.list(None).unwrap()), (second.head, nodes));
    assert_eq!(machine.active_heads().len(), 2);
}

#[test]
fn secret_in_task_is_redacted_before_storing() {
    let machine = Machine::with_essay();
    fs::write(machine.home.env_file(), "API_KEY=sk-0123456789abcdef\n").unwrap();
    let started = start(&machine, &machine.request("essay", "Call it with sk-0123456789abcdef.")).unwrap();
    assert_eq!(machine.thread(&started.thread).start.prompt, "Call it with [redacted API_KEY].");
    assert!(started.notes[0].contains("API_KEY"), "{:?}", started.notes);
}

#[test]
fn unknown_role_cannot_be_bound() {
    let machine = Machine::with_essay();
    let person = AgentReference { agent: "person".to_owned(), output: None };
    let bound = AgentBindings { agents: [("reader".to_owned(), person)].into(), every_role: None };
    let error = start(&machine, &StartRequest { bound, ..machine.request("essay", "On rain.") }).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Usage);
    assert!(error.message.contains("`reader`"), "{}", error.message);
}

/// A request with an id that was chosen.
fn chosen(machine: &Machine, prompt: &str) -> StartRequest {
    let id = "01M84K4HXK7T9NNASSVRDMQ22G".parse().unwrap();
    StartRequest { id: Some(id), ..machine.request("essay", prompt) }
}

#[test]
fn a_repeated_start_reports_the_first_thread() {
    let machine = Machine::with_essay();
    let request = chosen(&machine, "On rain.");
    let first = start(&machine, &request).unwrap();
    assert_eq!(Some(&first.thread), request.id.as_ref());
    let again = |when: &str| {
        let before = show::show(&machine.home, &first.thread).unwrap();
        let repeated = StartReport { is_repeated: true, ..first.clone() };
        assert_eq!(start(&machine, &request).unwrap(), repeated, "{when}");
        assert_eq!(show::show(&machine.home, &first.thread).unwrap(), before, "{when}");
        let all = ThreadFilter { all: true, ..ThreadFilter::default() };
        assert_eq!(list::list(&machine.home, &all).unwrap().matching, 1, "{when}");
    };
    again("at once");
    machine.answer(&first.thread, json!({"text": "It rains."})).unwrap();
    again("after a step");
    kill::kill(&machine.home, &first.thread, None).unwrap();
    again("after its end");
}

#[test]
fn a_chosen_id_names_one_thread() {
    let machine = Machine::with_essay();
    let first = start(&machine, &chosen(&machine, "On rain.")).unwrap();
    let other = chosen(&machine, "On snow.");
    let error = start(&machine, &other).unwrap_err();
    let StartReport { thread, head, .. } = first;
    let message = format!("thread id {thread} is taken: the thread with this id has a different start, {head}");
    assert_eq!(failure(&error), (ErrorKind::Usage, message.as_str()));
    assert_eq!(error.hints, [format!("choose another id; `uwf thread show {thread}` shows that thread")]);
    kill::kill(&machine.home, &thread, None).unwrap();
    assert_eq!(start(&machine, &other).unwrap_err().kind, ErrorKind::Usage);
    rm::remove(&machine.home, &thread, false).unwrap();
    let begun = start(&machine, &other).unwrap();
    assert_eq!(begun.thread, thread, "nothing is known of a removed thread");
    assert_ne!(begun.head, head);
}

#[test]
fn an_id_with_records_only_is_taken() {
    let machine = Machine::with_essay();
    let request = chosen(&machine, "On rain.");
    let lost = start(&machine, &request).unwrap().thread;
    // As an index that was lost: the record stays.
    let version = machine.heads.read(lost.as_str()).unwrap().unwrap().version;
    assert_eq!(machine.heads.remove(lost.as_str(), &version, &json!({})).unwrap(), SwapOutcome::Done);
    machine.heads.forget(&[lost.as_str()]).unwrap();
    let error = start(&machine, &request).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Usage);
    assert!(error.hints[0].contains("`uwf recover --dry-run`"), "{:?}", error.hints);
    assert_eq!(machine.active_heads(), []);
}

#[test]
fn a_start_that_was_interrupted_is_completed() {
    let machine = Machine::with_essay();
    let request = chosen(&machine, "On rain.");
    let first = start(&machine, &request).unwrap();
    // As a command leaves it that was killed before the head was set.
    let version = machine.heads.read(first.thread.as_str()).unwrap().unwrap().version;
    assert_eq!(machine.heads.remove(first.thread.as_str(), &version, &json!({})).unwrap(), SwapOutcome::Done);
    machine.heads.forget(&[first.thread.as_str()]).unwrap();
    let record = machine.home.record_file(&first.thread);
    let whole = fs::read_to_string(&record).unwrap();
    let settings = whole.lines().find(|line| line.contains("settings")).unwrap();
    fs::write(&record, format!("\n{settings}\n")).unwrap();
    assert_eq!(start(&machine, &request).unwrap(), first);
    machine.approved(&first.thread);
}

#[test]
fn record_has_start_position_and_start_event() {
    let machine = Machine::with_essay();
    let StartReport { thread, head, .. } = start(&machine, &machine.request("essay", "On rain.")).unwrap();
    let record = fs::read_to_string(machine.home.record_file(&thread)).unwrap();
    let events: Vec<String> = record
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["event"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(events, ["settings", "begun"]);
    let settings = ThreadSettings::load(&machine.home, &thread).unwrap().unwrap();
    assert_eq!((settings.begun_at, settings.workspace.as_path()), (Some(head), canonical(&machine.work()).as_path()));
}

fn canonical(path: &Path) -> std::path::PathBuf {
    path.canonicalize().unwrap()
}

#[test]
fn thread_is_active_on_machines_sharing_heads() {
    let machine = Machine::with_essay();
    let other = machine.beside();
    let id = machine.start("essay");
    machine.answer(&id, json!({"text": "It rains."})).unwrap();
    assert_eq!(other.thread(&id).head, machine.thread(&id).head);
    // Where it works is a matter of each machine.
    let error = other.answer(&id, json!({"approved": true})).unwrap_err();
    if HAS_PEERS {
        assert_eq!(error.kind, ErrorKind::Busy, "the other machine has noted it: {}", error.message);
        assert!(error.message.contains(&machine.work().display().to_string()), "{}", error.message);
        return;
    }
    let unknown = format!("this machine does not know where thread {id} works");
    assert_eq!(failure(&error), (ErrorKind::Usage, unknown.as_str()));
    assert_eq!(error.hints, [format!("set it once: `uwf thread step {id} --cwd DIR`")]);
}

#[test]
fn ended_id_is_never_reused() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let head = machine.approved(&id).head;
    let again = machine.heads.create(id.as_str(), head);
    assert!(matches!(again, Err(HeadsError::Removed { name }) if name == id.as_str()));
}
