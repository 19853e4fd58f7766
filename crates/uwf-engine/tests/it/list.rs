//! `thread list`: what is active, and what has ended.

use std::collections::{BTreeMap, BTreeSet};

use json_cas::ObjectBackend;
use serde_json::json;
use uwf_core::thread::ThreadId;
use uwf_engine::root::registry::Registry;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::verbs::fork::{self, ForkChanges};
use uwf_engine::verbs::settings::label::{self, LabelChanges};
use uwf_engine::verbs::{kill, pause, rm, start};
use uwf_engine::views::list::{self, NamedThreadRow, ThreadFilter};
use uwf_engine::views::workflow_names::WorkflowNames;

use crate::memory::{ESSAY, Machine};

fn listed(machine: &Machine, filter: &ThreadFilter) -> Vec<(ThreadId, ThreadState)> {
    list::list(&machine.home, filter).unwrap().rows.into_iter().map(|row| (row.thread, row.state)).collect()
}

#[test]
fn list_is_newest_first_and_hides_ended_threads() {
    let machine = Machine::with_essay();
    let [first, second, third] = [(); 3].map(|()| machine.start("essay"));
    kill::kill(&machine.home, &second, None).unwrap();
    let active = [(third.clone(), ThreadState::Active), (first.clone(), ThreadState::Active)];
    assert_eq!(listed(&machine, &ThreadFilter::default()), active);
    let all = ThreadFilter { all: true, ..ThreadFilter::default() };
    let [newest, oldest] = active;
    assert_eq!(listed(&machine, &all), [newest, (second, ThreadState::Killed), oldest]);
}

#[test]
fn a_state_is_asked_for_by_its_name() {
    let machine = Machine::with_essay();
    let [paused, completed, active] = [(); 3].map(|()| machine.start("essay"));
    pause::pause(&machine.home, &paused, None, None).unwrap();
    machine.approved(&completed);
    let of = |state| listed(&machine, &ThreadFilter { states: vec![state], ..ThreadFilter::default() });
    assert_eq!(of(ThreadState::Paused), [(paused, ThreadState::Paused)]);
    assert_eq!(of(ThreadState::Completed), [(completed, ThreadState::Completed)], "without --all");
    assert_eq!(of(ThreadState::Active), [(active, ThreadState::Active)]);
    assert_eq!(of(ThreadState::Stuck), []);
}

#[test]
fn threads_are_listed_page_by_page() {
    let machine = Machine::with_essay();
    let mut ids: Vec<ThreadId> = (0..5).map(|_| machine.start("essay")).collect();
    ids.reverse();
    let page = |offset| {
        let listing =
            list::list(&machine.home, &ThreadFilter { limit: Some(2), offset, ..ThreadFilter::default() }).unwrap();
        (listing.rows.into_iter().map(|row| row.thread).collect::<Vec<_>>(), listing.matching)
    };
    assert_eq!(
        [page(0), page(2), page(4)].map(|(rows, _)| rows),
        [ids[..2].to_vec(), ids[2..4].to_vec(), ids[4..].to_vec()]
    );
    assert_eq!(page(9), (vec![], 5));
    let none = list::list(&machine.home, &ThreadFilter { limit: Some(0), ..ThreadFilter::default() }).unwrap();
    assert_eq!((none.rows, none.matching), (vec![], 5));
}

#[test]
fn workflow_filter_matches_hash_not_current_name() {
    let machine = Machine::new();
    let old = machine.put("essay", ESSAY);
    let before = machine.start("essay");
    machine.put("essay", &ESSAY.replace("Write it.", "Write it well."));
    machine.start("essay");
    let rows = listed(&machine, &ThreadFilter { workflows: Some(vec![old]), ..ThreadFilter::default() });
    assert_eq!(rows, [(before, ThreadState::Active)]);
}

#[test]
fn unreadable_thread_is_listed_as_corrupt() {
    let machine = Machine::with_essay();
    let whole = machine.start("essay");
    let broken = machine.start("essay");
    let head = machine.answer(&broken, json!({"text": "It rains."})).unwrap().head;
    machine.objects.replace(head, b"not a node").unwrap();
    assert_eq!(
        listed(&machine, &ThreadFilter::default()),
        [(broken.clone(), ThreadState::Corrupt), (whole, ThreadState::Active)]
    );
    let corrupt = ThreadFilter { states: vec![ThreadState::Corrupt], ..ThreadFilter::default() };
    assert_eq!(listed(&machine, &corrupt), [(broken, ThreadState::Corrupt)]);
}

#[test]
fn a_listing_says_which_role_was_played_last() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let role = || list::list(&machine.home, &ThreadFilter::default()).unwrap().rows[0].role.clone();
    assert_eq!(role(), None);
    machine.refused(&id, 1);
    assert_eq!(role().as_deref(), Some("editor"));
}

#[test]
fn state_counts_ignore_other_filters() {
    let machine = Machine::with_essay();
    let [killed, paused, completed, active] = [(); 4].map(|()| machine.start("essay"));
    kill::kill(&machine.home, &killed, None).unwrap();
    pause::pause(&machine.home, &paused, None, None).unwrap();
    machine.approved(&completed);
    let counts = |filter| list::list(&machine.home, &filter).unwrap().counts;
    let of_active = BTreeMap::from([(ThreadState::Active, 1), (ThreadState::Paused, 1)]);
    let of_all =
        BTreeMap::from([(ThreadState::Completed, 1), (ThreadState::Killed, 1)]).into_iter().chain(of_active.clone());
    assert_eq!(counts(ThreadFilter::default()), of_active);
    let narrow = ThreadFilter {
        all: true,
        after: Some(active),
        limit: Some(1),
        states: vec![ThreadState::Stuck],
        ..ThreadFilter::default()
    };
    assert_eq!(counts(narrow), of_all.collect());
}

#[test]
fn several_states_are_asked_for_at_once() {
    let machine = Machine::with_essay();
    let [paused, completed, _active] = [(); 3].map(|()| machine.start("essay"));
    pause::pause(&machine.home, &paused, None, None).unwrap();
    machine.approved(&completed);
    let states = vec![ThreadState::Paused, ThreadState::Completed];
    let rows = listed(&machine, &ThreadFilter { states, ..ThreadFilter::default() });
    assert_eq!(rows, [(completed, ThreadState::Completed), (paused, ThreadState::Paused)]);
}

#[test]
fn threads_are_found_by_role_they_are_at() {
    let machine = Machine::with_essay();
    let [written, refused, killed, new] = [(); 4].map(|()| machine.start("essay"));
    machine.answer(&written, json!({"text": "It rains."})).unwrap();
    machine.refused(&refused, 1);
    machine.refused(&killed, 1);
    kill::kill(&machine.home, &killed, None).unwrap();
    let of = |role: &str, all| {
        listed(&machine, &ThreadFilter { role: Some(role.to_owned()), all, ..ThreadFilter::default() })
    };
    assert_eq!(of("writer", true), [(new, ThreadState::Active), (refused, ThreadState::Active)]);
    assert_eq!(of("editor", false), [(written.clone(), ThreadState::Active)]);
    assert_eq!(of("editor", true), [(killed, ThreadState::Killed), (written, ThreadState::Active)]);
    assert_eq!(of("nobody", true), []);
    let filter = ThreadFilter { role: Some("editor".to_owned()), all: true, ..ThreadFilter::default() };
    let rows = list::list(&machine.home, &filter).unwrap().rows;
    let roles: Vec<_> = rows.iter().map(|row| (row.role.as_deref(), row.current_role.as_deref())).collect();
    assert_eq!(roles, [(Some("editor"), None), (Some("writer"), Some("editor"))], "an ended thread is at no role");
}

#[test]
fn threads_are_found_by_id_workflow_and_task() {
    let machine = Machine::with_essay();
    machine.put("poem", &ESSAY.replace("name: essay", "name: poem"));
    let start = |workflow, prompt| {
        start::start(&machine.home, &machine.request(workflow, prompt), &machine.work()).unwrap().thread
    };
    let rain = start("essay", "On Rain and ÖSTERREICH.");
    let poem = start("poem", "On snow.");
    machine.answer(&poem, json!({"text": "It snows."})).unwrap();
    let killed = start("essay", "On rain again.");
    kill::kill(&machine.home, &killed, None).unwrap();
    let found = |text: &str, all| {
        let filter = ThreadFilter { search: Some(text.to_owned()), all, ..ThreadFilter::default() };
        listed(&machine, &filter).into_iter().map(|(id, _)| id).collect::<BTreeSet<_>>()
    };
    assert_eq!(found("RAIN", false), BTreeSet::from([rain.clone()]));
    assert_eq!(found("rain", true), BTreeSet::from([rain.clone(), killed.clone()]));
    assert_eq!(found("österreich", true), BTreeSet::from([rain.clone()]));
    assert_eq!(found("Poe", true), BTreeSet::from([poem.clone()]));
    assert_eq!(found("snow", true), BTreeSet::from([poem.clone()]), "a thread with a step");
    assert_eq!(found(&killed.as_str()[16..].to_lowercase(), true), BTreeSet::from([killed]));
    assert_eq!(found("hail", true), BTreeSet::new());
}

#[test]
fn page_starts_after_thread_even_if_removed() {
    let machine = Machine::with_essay();
    let ids = [(); 4].map(|()| machine.start("essay"));
    let after = |id: &ThreadId, limit| {
        let filter = ThreadFilter { after: Some(id.clone()), limit, all: true, ..ThreadFilter::default() };
        let listing = list::list(&machine.home, &filter).unwrap();
        (listing.rows.into_iter().map(|row| row.thread).collect::<Vec<_>>(), listing.matching)
    };
    assert_eq!(after(&ids[3], Some(2)), (vec![ids[2].clone(), ids[1].clone()], 3));
    assert_eq!(after(&ids[1], Some(2)), (vec![ids[0].clone()], 1));
    kill::kill(&machine.home, &ids[2], None).unwrap();
    rm::remove(&machine.home, &ids[2], false).unwrap();
    assert_eq!(after(&ids[2], None).0, [ids[1].clone(), ids[0].clone()]);
}

#[test]
fn heads_of_finished_threads_are_cached() {
    let machine = Machine::with_essay();
    let first = machine.start("essay");
    machine.refused(&first, 1);
    let head = machine.thread(&first).head;
    for _ in 0..=200 {
        let forked = fork::thread(&machine.home, &first, None, &ForkChanges::default(), &machine.work()).unwrap();
        kill::kill(&machine.home, &forked.thread, None).unwrap();
    }
    let finished = ThreadFilter { states: vec![ThreadState::Killed], ..ThreadFilter::default() };
    let roles = || {
        let rows = list::list(&machine.home, &finished).unwrap().rows;
        rows.into_iter().map(|row| row.role).collect::<BTreeSet<_>>()
    };
    let editor = BTreeSet::from([Some("editor".to_owned())]);
    assert_eq!(roles(), editor);
    machine.objects.replace(head, b"not a node").unwrap();
    assert_eq!(roles(), editor, "without reading");
    list::list(&machine.home, &ThreadFilter::default()).unwrap();
    assert_eq!(roles(), editor, "a listing of few active threads has not forgotten them");
    let cache = machine.home.cache_dir().join("finished-heads-3");
    let mut bytes = std::fs::read(&cache).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&cache, bytes).unwrap();
    assert_eq!(roles(), BTreeSet::from([None]), "what is damaged is read anew");
}

#[test]
fn large_listing_has_labels_given_since() {
    let machine = Machine::with_essay();
    let first = machine.start("essay");
    for _ in 0..=200 {
        fork::thread(&machine.home, &first, None, &ForkChanges::default(), &machine.work()).unwrap();
    }
    let label = |team: &str| {
        let changes = LabelChanges { set: [("team".to_owned(), team.to_owned())].into(), remove: Vec::new() };
        label::change(&machine.home, &first, &changes, None).unwrap();
    };
    let labelled = || {
        let rows = list::list(&machine.home, &ThreadFilter::default()).unwrap().rows;
        let mut names = WorkflowNames::from_registry(&Registry::default());
        let rows = rows.into_iter().map(|row| NamedThreadRow::from_row(row, &mut names, &machine.home));
        let labels = rows.filter(|named| !named.labels.is_empty()).map(|named| (named.row.thread, named.labels));
        labels.collect::<Vec<_>>()
    };
    assert_eq!(labelled(), []);
    for team in ["web", "app"] {
        label(team);
        let labels = [("team".to_owned(), team.to_owned())].into();
        assert_eq!(labelled(), [(first.clone(), labels)], "what the listing before kept is not used");
    }
    assert_eq!(labelled().len(), 1, "nothing changed since");
}
