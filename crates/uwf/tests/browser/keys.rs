//! Keys.

use serde_json::json;
use uwf_testing::TestHome;
use uwf_testing::server::TestServer;

use crate::browse;
use crate::showcase::{Showcase, waiting};

#[test]
fn list_keys_work_as_documented() {
    let showcase = Showcase::new();
    let server = TestServer::start(&showcase.home, &[]);
    browse(&showcase.home, &server, "keys.lists", json!({}));
}

#[test]
fn thread_keys_work_as_documented() {
    let showcase = Showcase::new();
    let server = TestServer::start(&showcase.home, &[]);
    browse(&showcase.home, &server, "keys.a_thread", json!({ "thread": showcase.done }));
}

#[test]
fn a_key_leads_to_the_answer() {
    let showcase = Showcase::new();
    let other = waiting(&showcase.home, "Announce what is left out.");
    let server = TestServer::start(&showcase.home, &[]);
    browse(&showcase.home, &server, "keys.answering", json!({ "thread": other, "other": showcase.waiting }));
}

#[test]
fn step_keys_work_as_documented() {
    let showcase = Showcase::new();
    let server = TestServer::start(&showcase.home, &[]);
    let steps: Vec<String> = (1..=3).map(|index| showcase.step(index)).collect();
    browse(&showcase.home, &server, "keys.a_step", json!({ "thread": showcase.done, "steps": steps }));
}

#[test]
fn workflow_keys_work_as_documented() {
    let showcase = Showcase::new();
    let server = TestServer::start(&showcase.home, &[]);
    browse(&showcase.home, &server, "keys.a_workflow", json!({ "workflow": "publish-post" }));
}

#[test]
fn keys_are_listed_and_can_be_switched_off() {
    let showcase = Showcase::new();
    let server = TestServer::start(&showcase.home, &[]);
    browse(&showcase.home, &server, "keys.help", json!({}));
}

#[test]
fn keys_step_run_and_pause() {
    let home = TestHome::new(uwf_testing::uwf_program());
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(3, "Count.");
    let server = TestServer::start(&home, &[]);
    browse(&home, &server, "keys.act", json!({ "thread": thread }));
}
