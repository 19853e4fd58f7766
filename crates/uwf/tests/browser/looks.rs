//! Each page, light, dark, on a phone and without JavaScript: nothing that axe finds, nothing that the policy forbids, and a
//! picture in `target/screenshots`. A new page gets a test here.

use serde_json::{Value, json};
use uwf_testing::server::Server;
use uwf_testing::text;

use crate::browse;
use crate::showcase::Showcase;

/// Looks at the page at a path in all modes; its text has to contain `says`.
fn looks_right(name: &str, path: impl FnOnce(&Showcase) -> String, says: &[&str]) {
    look(&Showcase::new(), name, path, json!({ "says": says }));
}

fn look(showcase: &Showcase, name: &str, path: impl FnOnce(&Showcase) -> String, more: Value) {
    let server = Server::start(&showcase.home, &[]);
    let mut with = json!({ "name": name, "path": path(showcase), "says": [], "status": 200, "logged_in": true });
    with.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    browse(&showcase.home, &server, "pages.looks_right", with);
}

#[test]
fn the_first_page() {
    looks_right("inbox", |_| "/".to_owned(), &["Announce the next release", "429 Too Many Requests", "Running"]);
}

#[test]
fn a_list_by_filter() {
    looks_right("list", |_| "/?all=1".to_owned(), &["Write a post about pages", "Describe how threads are forked"]);
}

#[test]
fn a_thread_that_is_done() {
    let says = ["Pages that follow", "reviewer", "editor"];
    looks_right("thread-done", |it| format!("/threads/{}", it.done), &says);
}

#[test]
fn a_thread_with_forks() {
    let forked = |it: &Showcase| {
        let fork = |at: &str| text(&it.home.json(&["thread", "fork", at]), "thread");
        let first = fork(&it.step(3));
        assert_eq!(it.home.uwf(&["run", &first]).code, Some(20));
        it.home.json(&["thread", "answer", &first, "--data", r#"{"out": false, "why": "It is too long."}"#]);
        fork(&first);
        it.home.json(&["thread", "kill", &fork(&it.step(1))]);
        format!("/threads/{first}")
    };
    looks_right("thread-forks", forked, &["4 threads that share steps", "parts after step 5", "this thread"]);
}

#[test]
fn a_thread_that_waits_for_a_person() {
    looks_right("thread-waiting", |it| format!("/threads/{}", it.waiting), &["editor", "Whether it goes out"]);
}

#[test]
fn a_thread_that_is_stuck() {
    looks_right("thread-stuck", |it| format!("/threads/{}", it.stuck), &["429 Too Many Requests"]);
}

#[test]
fn a_thread_that_runs() {
    looks_right("thread-running", |it| format!("/threads/{}", it.running), &["I read the post."]);
}

#[test]
fn a_step() {
    let says = ["writer", "Pages that follow"];
    looks_right("step", |it| format!("/threads/{}/steps/{}", it.done, it.step(1)), &says);
}

#[test]
fn two_threads_side_by_side() {
    looks_right("compare", |it| format!("/compare/{}..{}", it.done, it.waiting), &["editor"]);
}

#[test]
fn two_steps_side_by_side() {
    looks_right("compare-steps", |it| format!("/compare/{}..{}", it.step(1), it.step(3)), &["with figures"]);
}

#[test]
fn what_to_compare() {
    looks_right("compare-form", |it| format!("/compare?a={}", it.done), &["Compare"]);
}

#[test]
fn a_node() {
    looks_right("node", |it| format!("/cas/{}", it.step(1)), &["writer"]);
}

#[test]
fn a_search() {
    looks_right("search", |_| "/search?q=release".to_owned(), &["Announce the next release"]);
}

#[test]
fn the_workflows() {
    looks_right("workflows", |_| "/workflows".to_owned(), &["publish-post", "a person lets it out"]);
}

#[test]
fn a_workflow() {
    looks_right(
        "workflow",
        |_| "/workflows/publish-post".to_owned(),
        &["the reviewer misses something", "editor in chief"],
    );
}

#[test]
fn the_form_that_starts_a_thread() {
    looks_right("start", |_| "/workflows/publish-post/start".to_owned(), &["publish-post", "Start"]);
}

#[test]
fn what_it_cost() {
    looks_right("cost", |_| "/cost".to_owned(), &["Agents at work", "All rows as CSV"]);
}

#[test]
fn the_doctor() {
    looks_right("doctor", |_| "/doctor".to_owned(), &["Doctor"]);
}

#[test]
fn a_page_that_is_not_there() {
    look(&Showcase::new(), "missing", |_| "/nowhere".to_owned(), json!({ "status": 404, "says": ["no such page"] }));
}

#[test]
fn the_login_page() {
    look(
        &Showcase::new(),
        "login",
        |_| "/login".to_owned(),
        json!({ "logged_in": false, "says": ["Secret of this server"] }),
    );
}

#[test]
fn who_knows_the_secret_logs_in() {
    let showcase = Showcase::new();
    let server = Server::start(&showcase.home, &[]);
    browse(&showcase.home, &server, "pages.logs_in", json!({}));
}

#[test]
fn a_thread_on_paper() {
    let showcase = Showcase::new();
    let server = Server::start(&showcase.home, &[]);
    let path = format!("/threads/{}", showcase.done);
    browse(&showcase.home, &server, "pages.prints", json!({ "name": "thread-done", "path": path }));
}
