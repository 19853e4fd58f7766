//! What people do on pages.

use serde_json::json;
use uwf_testing::server::Server;
use uwf_testing::text;

use crate::browse;
use crate::showcase::Showcase;

#[test]
fn a_person_answers_on_the_first_page() {
    let showcase = Showcase::new();
    let server = Server::start(&showcase.home, &[]);
    browse(&showcase.home, &server, "actions.answers", json!({ "thread": showcase.waiting }));
    let last = showcase.home.json(&["thread", "steps", &showcase.waiting]);
    let steps = last["steps"].as_array().unwrap();
    assert!(steps.iter().any(|step| step["role"] == "editor"), "{last}");
}

#[test]
fn ending_a_thread_is_asked_about_first() {
    let showcase = Showcase::new();
    let server = Server::start(&showcase.home, &[]);
    browse(&showcase.home, &server, "actions.kills", json!({ "thread": showcase.active }));
    assert_eq!(text(&showcase.home.json(&["thread", "show", &showcase.active]), "state"), "killed");
}
