//! `thread rm`: a finished thread leaves the listings, its nodes stay.

use json_cas::{ObjectBackend, RemovalJournal};
use uwf_engine::error::ErrorKind;
use uwf_engine::root::{history, ids};
use uwf_engine::verbs::rm;
use uwf_engine::views::show;

use crate::memory::{Machine, failure};

#[test]
fn removed_thread_leaves_only_its_nodes() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    machine.approved(&id);
    let nodes = machine.objects.list(None).unwrap();
    rm::remove(&machine.home, &id, false).unwrap();
    assert_eq!(machine.heads.records().unwrap().readable, Vec::<serde_json::Value>::new());
    assert_eq!(machine.objects.list(None).unwrap(), nodes);
    for path in [machine.home.record_file(&id), machine.home.thread_dir(&id), machine.home.chain_file(&id)] {
        assert!(!path.exists(), "{}", path.display());
    }
    assert_eq!(show::show(&machine.home, &id).unwrap_err().kind, ErrorKind::NotFound);
}

#[test]
fn an_active_thread_is_not_removed() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let error = rm::remove(&machine.home, &id, false).unwrap_err();
    assert_eq!(failure(&error), (ErrorKind::Usage, format!("thread {id} is active").as_str()));
    assert_eq!(error.hints, [format!("`uwf thread kill {id}` ends it first")]);
    assert_eq!(machine.active_heads().len(), 1);
}

#[test]
fn unknown_threads_cannot_be_removed() {
    let machine = Machine::with_essay();
    assert_eq!(rm::remove(&machine.home, &ids::new_thread_id(), false).unwrap_err().kind, ErrorKind::NotFound);
}

#[test]
fn the_history_of_other_threads_stays() {
    let machine = Machine::with_essay();
    let [first, second] = [(); 2].map(|()| machine.start("essay"));
    machine.approved(&first);
    machine.approved(&second);
    rm::remove(&machine.home, &first, false).unwrap();
    let left: Vec<_> = history::all(&machine.home).unwrap().into_iter().map(|line| line.thread).collect();
    assert_eq!(left, [second]);
}
