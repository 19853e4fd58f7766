//! Pages that follow what happens.

use serde_json::json;
use uwf_testing::TestHome;
use uwf_testing::server::TestServer;

use crate::browse;
use crate::showcase::{Showcase, staffed, waiting};

/// Steps whose way to the page is timed.
const STEPS: usize = 5;

fn counting(rounds: usize) -> (TestHome, String) {
    let home = TestHome::new(uwf_testing::uwf_program());
    home.worker("output: text", "#!/bin/sh\nprintf -- '---\\nn: 1\\n---\\nIt is *one*.\\n'\n");
    let thread = home.start_counting(rounds, "Count.");
    (home, thread)
}

#[test]
fn thread_shows_step_within_half_second() {
    let (home, thread) = counting(STEPS + 1);
    let server = TestServer::start(&home, &[]);
    let path = format!("/threads/{thread}");
    let selector = "[data-row]:nth-of-type(NUMBER)";
    let with = json!({ "thread": thread, "path": path, "selector": selector, "steps": STEPS });
    browse(&home, &server, "live.follows", with);
}

#[test]
fn list_shows_thread_end_within_half_second() {
    let (home, thread) = counting(1);
    let server = TestServer::start(&home, &[]);
    let selector = format!("#done #t-{thread}");
    let with = json!({ "thread": thread, "path": "/", "selector": selector, "steps": 1 });
    browse(&home, &server, "live.follows", with);
}

#[test]
fn focus_selection_and_open_sections_stay() {
    let (home, thread) = counting(5);
    home.json(&["thread", "step", &thread]);
    home.json(&["thread", "step", &thread]);
    let server = TestServer::start(&home, &[]);
    browse(&home, &server, "live.keeps_what_a_person_does", json!({ "thread": thread }));
}

#[test]
fn typed_text_survives_updates() {
    let home = staffed();
    waiting(&home, "Announce it.");
    let server = TestServer::start(&home, &[]);
    browse(&home, &server, "live.keeps_what_was_typed", json!({ "workflow": "publish-post" }));
}

#[test]
fn next_question_has_an_empty_form() {
    let home = staffed();
    let thread = waiting(&home, "Announce it.");
    let server = TestServer::start(&home, &[]);
    browse(&home, &server, "live.forgets_answers_to_old_questions", json!({ "thread": thread }));
}

#[test]
fn two_tabs_share_a_connection() {
    let (home, _) = counting(2);
    let server = TestServer::start(&home, &[]);
    browse(&home, &server, "live.one_tab_listens_for_all", json!({ "workflow": "count-rounds" }));
}

#[test]
fn following_can_be_switched_off() {
    let (home, _) = counting(2);
    let server = TestServer::start(&home, &[]);
    browse(&home, &server, "live.can_be_switched_off", json!({ "workflow": "count-rounds" }));
}

#[test]
fn page_reconnects_after_connection_loss() {
    let (home, _) = counting(2);
    let server = TestServer::start(&home, &[]);
    browse(&home, &server, "live.comes_back", json!({ "workflow": "count-rounds" }));
}

#[test]
fn times_count_on() {
    let showcase = Showcase::new();
    let server = TestServer::start(&showcase.home, &[]);
    browse(&showcase.home, &server, "live.says_how_long", json!({}));
}

#[test]
fn page_notices_a_silent_server() {
    let (home, _) = counting(2);
    let server = TestServer::start(&home, &[]);
    browse(&home, &server, "live.notices_a_dead_server", json!({ "server": server.pid() }));
}
