//! Deliveries of webhooks: one thread and one answer for each, on every machine.

use json_cas::NodeHash;
use serde_json::json;
use uwf_engine::verbs::hook::{self, answered};
use uwf_engine::verbs::rm;
use uwf_engine::verbs::start::{self, StartRequest};

use crate::memory::{HAS_PEERS, Machine};

#[test]
fn delivery_starts_one_thread_on_all_machines() {
    let machine = Machine::with_essay();
    let other = machine.beside();
    let workflow: NodeHash = machine.thread(&machine.start("essay")).start.workflow;
    let id = hook::thread_id("triage", "d-1").unwrap();
    let start = |at: &Machine| {
        let request = StartRequest { id: Some(id.clone()), ..at.request(&workflow.to_string(), "Issue #1") };
        start::start(&at.home, &request, &at.work()).unwrap()
    };
    assert!(!hook::has_started(&other.home, &id).unwrap());
    let (first, second) = (start(&machine), start(&other));
    assert_eq!((first.is_repeated, second.is_repeated), (false, true));
    assert_eq!((&first.thread, first.head), (&second.thread, second.head));
    assert!(hook::has_started(&machine.home, &id).unwrap() && hook::has_started(&other.home, &id).unwrap());
    assert_eq!(machine.active_heads().len(), 2);
}

#[test]
fn first_note_of_delivery_counts_on_all_machines() {
    let machine = Machine::with_essay();
    let other = machine.beside();
    let thread = machine.start("essay");
    let delivery = hook::thread_id("approve", "d-1").unwrap();
    assert_eq!(answered::noted(&machine.home, &delivery).unwrap(), None);
    let first = answered::question(&machine.home, &thread, machine.thread(&thread).head, true).unwrap();
    assert_eq!(answered::note(&machine.home, &delivery, &first).unwrap(), first);
    machine.answer(&thread, json!({ "text": "It rains." })).unwrap();
    let later = answered::question(&machine.home, &thread, machine.thread(&thread).head, true).unwrap();
    assert_ne!(later.head, first.head);
    assert_eq!(answered::note(&machine.home, &delivery, &later).unwrap(), first);
    // Without a shared store, each root has its own notes.
    let known = answered::noted(&other.home, &delivery).unwrap();
    assert_eq!(known, HAS_PEERS.then_some(first));
}

#[test]
fn removed_thread_can_start_again() {
    let machine = Machine::with_essay();
    let id = hook::thread_id("triage", "d-1").unwrap();
    let request = StartRequest { id: Some(id.clone()), ..machine.request("essay", "Issue #1") };
    start::start(&machine.home, &request, &machine.work()).unwrap();
    uwf_engine::verbs::kill::kill(&machine.home, &id, None).unwrap();
    assert!(hook::has_started(&machine.home, &id).unwrap(), "an ended thread has started");
    rm::remove(&machine.home, &id, false).unwrap();
    assert!(!hook::has_started(&machine.home, &id).unwrap());
}
