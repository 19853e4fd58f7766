//! Keys.

use serde_json::json;
use uwf_testing::TestHome;
use uwf_testing::server::Server;

use crate::showcase::Showcase;
use crate::{UWF, browse};

#[test]
fn every_key_of_a_list_does_what_it_says() {
    let showcase = Showcase::new();
    let server = Server::start(&showcase.home, &[]);
    browse(&showcase.home, &server, "keys.lists", json!({}));
}

#[test]
fn every_key_of_a_thread_does_what_it_says() {
    let showcase = Showcase::new();
    let server = Server::start(&showcase.home, &[]);
    browse(&showcase.home, &server, "keys.a_thread", json!({ "thread": showcase.done }));
}

#[test]
fn keys_are_listed_and_can_be_switched_off() {
    let showcase = Showcase::new();
    let server = Server::start(&showcase.home, &[]);
    browse(&showcase.home, &server, "keys.help", json!({}));
}

#[test]
fn keys_step_run_and_pause() {
    let home = TestHome::new(UWF);
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(3, "Count.");
    let server = Server::start(&home, &[]);
    browse(&home, &server, "keys.act", json!({ "thread": thread }));
}
