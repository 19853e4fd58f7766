//! Each page, light, dark, on a phone and without JavaScript: nothing that axe finds, nothing that the policy forbids, and a
//! picture in `target/screenshots`. A new page gets a row here.
//!
//! One browser looks at many pages of one server, because starting both takes longer than looking at a page.

use serde_json::{Value, json};
use uwf_testing::server::TestServer;
use uwf_testing::text;

use crate::browse;
use crate::showcase::Showcase;

/// A page to look at, and what it has to show.
pub(crate) struct Page<'a> {
    pub(crate) name: &'a str,
    pub(crate) path: String,
    pub(crate) says: &'a [&'a str],
    pub(crate) status: u16,
    pub(crate) logged_in: bool,
}

impl<'a> Page<'a> {
    /// A page that is there, for a person who is logged in.
    pub(crate) fn new(name: &'a str, path: impl Into<String>, says: &'a [&'a str]) -> Page<'a> {
        Page { name, path: path.into(), says, status: 200, logged_in: true }
    }
}

/// Pages as `pages.look_right` reads them.
pub(crate) fn described(pages: &[Page]) -> Value {
    let page = |it: &Page| {
        let Page { name, path, says, status, logged_in } = it;
        json!({ "name": name, "path": path, "says": says, "status": status, "logged_in": logged_in })
    };
    pages.iter().map(page).collect()
}

fn look(showcase: &Showcase, pages: &[Page]) {
    let server = TestServer::start(&showcase.home, &[]);
    browse(&showcase.home, &server, "pages.look_right", json!({ "pages": described(pages) }));
}

#[test]
fn pages_of_threads() {
    let it = Showcase::new();
    let of = |thread: &str| format!("/threads/{thread}");
    look(
        &it,
        &[
            Page::new("inbox", "/", &["Announce the next release", "503 Service Unavailable", "Running"]),
            Page::new("list", "/?all=1", &["Write a post about pages", "Describe how threads are forked"]),
            Page::new("thread-done", of(&it.done), &["Pages that follow", "reviewer", "editor"]),
            Page::new("thread-waiting", of(&it.waiting), &["editor", "Whether it goes out"]),
            Page::new("thread-stuck", of(&it.stuck), &["503 Service Unavailable"]),
            Page::new("thread-running", of(&it.running), &["I read the post."]),
        ],
    );
}

#[test]
fn a_thread_with_forks() {
    let it = Showcase::new();
    let fork = |at: &str| text(&it.home.json(&["thread", "fork", at]), "thread");
    let first = fork(&it.step(3));
    assert_eq!(it.home.uwf(&["run", &first]).code, Some(20));
    it.home.json(&["thread", "answer", &first, "--data", r#"{"out": false, "why": "It is too long."}"#]);
    fork(&first);
    it.home.json(&["thread", "kill", &fork(&it.step(1))]);
    let says = ["4 threads that share steps", "forked after step 5", "this thread"];
    look(&it, &[Page::new("thread-forks", format!("/threads/{first}"), &says)]);
}

#[test]
fn pages_of_steps_and_comparisons() {
    let it = Showcase::new();
    let (first, third) = (it.step(1), it.step(3));
    look(
        &it,
        &[
            Page::new("step", format!("/threads/{}/steps/{first}", it.done), &["writer", "Pages that follow"]),
            Page::new("compare", format!("/compare/{}..{}", it.done, it.waiting), &["editor"]),
            Page::new("compare-steps", format!("/compare/{first}..{third}"), &["with figures"]),
            Page::new("compare-form", format!("/compare?a={}", it.done), &["Compare"]),
            Page::new("node", format!("/cas/{first}"), &["writer"]),
            Page::new("search", "/search?q=release", &["Announce the next release"]),
        ],
    );
}

#[test]
fn pages_of_workflows_and_of_the_root() {
    let workflow = ["the reviewer misses something", "editor in chief"];
    look(
        &Showcase::new(),
        &[
            Page::new("workflows", "/workflows", &["publish-post", "a person lets it out"]),
            Page::new("workflow", "/workflows/publish-post", &workflow),
            Page::new("start", "/workflows/publish-post/start", &["publish-post", "Start"]),
            Page::new("editor", "/workflows/publish-post/edit", &["Edit publish-post", "Save as a new version"]),
            Page::new("cost", "/cost", &["Agent time", "All rows as CSV"]),
            Page::new("doctor", "/doctor", &["Doctor"]),
            Page { status: 404, ..Page::new("missing", "/nowhere", &["This page does not exist"]) },
            // Last, because it clears the cookies.
            Page { logged_in: false, ..Page::new("login", "/login", &["Server secret"]) },
        ],
    );
}

#[test]
fn days_are_those_of_the_browser() {
    let showcase = Showcase::new();
    let server = TestServer::start_with(&showcase.home, &[], &[("TZ", "UTC")]);
    browse(&showcase.home, &server, "pages.draws_days_of_the_reader", json!({}));
}

#[test]
fn secret_logs_in() {
    let showcase = Showcase::new();
    let server = TestServer::start(&showcase.home, &[]);
    browse(&showcase.home, &server, "pages.logs_in", json!({}));
}

#[test]
fn a_thread_on_paper() {
    let showcase = Showcase::new();
    let server = TestServer::start(&showcase.home, &[]);
    let path = format!("/threads/{}", showcase.done);
    browse(&showcase.home, &server, "pages.prints", json!({ "name": "thread-done", "path": path }));
}
