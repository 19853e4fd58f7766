//! `thread list`: what is active, and what has ended.

use json_cas::Objects;
use serde_json::json;
use uwf_core::thread::ThreadId;
use uwf_engine::thread::state::State;
use uwf_engine::verbs::list::{self, Filter};
use uwf_engine::verbs::{kill, pause};

use crate::memory::{ESSAY, Machine};

fn listed(machine: &Machine, filter: &Filter) -> Vec<(ThreadId, State)> {
    list::list(&machine.home, filter).unwrap().rows.into_iter().map(|row| (row.thread, row.state)).collect()
}

#[test]
fn active_threads_are_listed_newest_first_and_ended_ones_only_with_all() {
    let machine = Machine::with_essay();
    let [first, second, third] = [(); 3].map(|()| machine.start("essay"));
    kill::kill(&machine.home, &second).unwrap();
    let active = [(third.clone(), State::Active), (first.clone(), State::Active)];
    assert_eq!(listed(&machine, &Filter::default()), active);
    let all = Filter { all: true, ..Filter::default() };
    let [newest, oldest] = active;
    assert_eq!(listed(&machine, &all), [newest, (second, State::Killed), oldest]);
}

#[test]
fn a_state_is_asked_for_by_its_name() {
    let machine = Machine::with_essay();
    let [paused, completed, active] = [(); 3].map(|()| machine.start("essay"));
    pause::pause(&machine.home, &paused, None).unwrap();
    machine.approved(&completed);
    let of = |state| listed(&machine, &Filter { state: Some(state), ..Filter::default() });
    assert_eq!(of(State::Paused), [(paused, State::Paused)]);
    assert_eq!(of(State::Completed), [(completed, State::Completed)], "without --all");
    assert_eq!(of(State::Active), [(active, State::Active)]);
    assert_eq!(of(State::Stuck), []);
}

#[test]
fn threads_are_listed_page_by_page() {
    let machine = Machine::with_essay();
    let mut ids: Vec<ThreadId> = (0..5).map(|_| machine.start("essay")).collect();
    ids.reverse();
    let page = |offset| {
        let listing = list::list(&machine.home, &Filter { limit: Some(2), offset, ..Filter::default() }).unwrap();
        (listing.rows.into_iter().map(|row| row.thread).collect::<Vec<_>>(), listing.matching)
    };
    assert_eq!(
        [page(0), page(2), page(4)].map(|(rows, _)| rows),
        [ids[..2].to_vec(), ids[2..4].to_vec(), ids[4..].to_vec()]
    );
    assert_eq!(page(9), (vec![], 5));
}

#[test]
fn threads_of_a_workflow_are_found_whatever_its_name_is_now() {
    let machine = Machine::new();
    let old = machine.put("essay", ESSAY);
    let before = machine.start("essay");
    machine.put("essay", &ESSAY.replace("Write it.", "Write it well."));
    machine.start("essay");
    let rows = listed(&machine, &Filter { workflows: Some(vec![old]), ..Filter::default() });
    assert_eq!(rows, [(before, State::Active)]);
}

#[test]
fn one_thread_that_cannot_be_read_is_a_row_that_says_so() {
    let machine = Machine::with_essay();
    let whole = machine.start("essay");
    let broken = machine.start("essay");
    let head = machine.answer(&broken, json!({"text": "It rains."})).unwrap().head;
    machine.objects.replace(head, b"not a node").unwrap();
    assert_eq!(listed(&machine, &Filter::default()), [(broken.clone(), State::Corrupt), (whole, State::Active)]);
    let corrupt = Filter { state: Some(State::Corrupt), ..Filter::default() };
    assert_eq!(listed(&machine, &corrupt), [(broken, State::Corrupt)]);
}

#[test]
fn a_listing_says_which_role_was_played_last() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let role = || list::list(&machine.home, &Filter::default()).unwrap().rows[0].role.clone();
    assert_eq!(role(), None);
    machine.refused(&id, 1);
    assert_eq!(role().as_deref(), Some("editor"));
}
