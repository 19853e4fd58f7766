//! `uwf serve`: steps, why they are as they are and what they cost, as JSON and as pages.

use uwf_testing::TestHome;
use uwf_testing::server::TestServer;

use crate::fixtures::child_threads;
use crate::fixtures::review::{hashes, reviewing_home, step};

/// A reviewed text: four steps, the second review approves.
fn reviewed() -> (TestHome, String) {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats");
    step(&home, &thread, 4);
    (home, thread)
}

#[test]
fn the_api_reports_what_the_commands_report() {
    let (home, thread) = reviewed();
    let hash = &hashes(&home, &thread)[3];
    let server = TestServer::start(&home, &[]);
    let same = |path: &str, args: &[&str]| {
        let answer = server.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        let ran = home.uwf(&[args, &["--format", "json"]].concat());
        assert_eq!(answer.body, ran.stdout.trim_end(), "{path} and uwf {args:?}");
    };
    let of_thread = format!("/api/threads/{thread}");
    same(&format!("{of_thread}/steps"), &["thread", "steps", &thread]);
    same(&format!("{of_thread}/steps/{hash}"), &["thread", "step-details", hash]);
    same(&format!("{of_thread}/why"), &["thread", "why", &thread]);
    same(&format!("{of_thread}/steps/{hash}/why"), &["thread", "why", hash]);
    same(&format!("{of_thread}/cost"), &["thread", "cost", &thread]);
    same("/api/cost", &["thread", "cost"]);
    same("/api/cost?by=role&since=1d", &["thread", "cost", "--by", "role", "--since", "1d"]);
    same(&format!("/api/cas/{hash}"), &["cas", "get", hash]);
    // A step's page is the same to whoever asks for JSON.
    same(&format!("/threads/{thread}/steps/{hash}"), &["thread", "step-details", hash]);
}

#[test]
fn missing_steps_are_not_found() {
    let (home, thread) = reviewed();
    let other = home.start("review-text", "Write about dogs");
    let hash = &hashes(&home, &thread)[3];
    let server = TestServer::start(&home, &[]);
    let status = |path: &str| server.get(path).status;
    assert_eq!(status(&format!("/api/threads/{other}/steps/{hash}/why")), 404);
    assert_eq!(status("/api/threads/ZZZZ/steps"), 404);
    assert_eq!(status("/api/cas/0000000000000"), 404);
    assert_eq!(status("/api/cost?by=planet"), 400);
    assert_eq!(status("/api/cost?since=yesterday"), 400);
    let page = server.page(&format!("/threads/{other}/steps/{hash}"));
    assert_eq!(page.status, 404);
    assert!(page.body.contains(&format!("/cas/{hash}")), "{}", page.body);
}

#[test]
fn page_shows_output_extraction_and_routing_reasons() {
    let (home, thread) = reviewed();
    let [_, first, second, third, fourth] = hashes(&home, &thread).try_into().unwrap();
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/threads/{thread}/steps/{third}")).body;
    let has = |text: &str| assert!(page.contains(text), "no {text} in {page}");
    has("<h1><span class=\"quiet\">3. </span>writer</h1>");
    has("<title>3. writer · Write about cats · uwf</title>");
    has(">Write about cats</a>");
    let place = |id: &str| page.find(&format!("<section id=\"{id}\"")).unwrap();
    assert!(place("why") < place("turns") && place("turns") < place("prompt") && place("prompt") < place("obtained"));
    has("Fix #42");
    has("<h3>What I did</h3>");
    // Why: the reviewer rejected it, and where another value would have led.
    has("taken: <strong>writer</strong> if <code>rejected</code>");
    has("not good yet");
    has("steps[-1].output.approved = false");
    has("not tried, next: <strong>the end</strong>");
    // How: the ladder, and the raw text.
    has("<strong>frontmatter</strong> gave the output");
    has(&format!("rel=\"prev\" href=\"/threads/{thread}/steps/{second}\""));
    has(&format!("rel=\"next\" href=\"/threads/{thread}/steps/{fourth}\""));
    has(&format!("href=\"/compare/{first}..{third}\""));
    has(&format!("new since the role's <a href=\"/threads/{thread}/steps/{first}\">last visit</a>"));
    has(&format!("action=\"/api/threads/{thread}/fork\""));
    has(&format!("name=\"step\" value=\"{third}\""));
    // The end was chosen by the same transitions, the first of which did not match.
    let status = server.page(&format!("/threads/{thread}/steps/{fourth}")).body;
    assert!(!status.contains("rel=\"next\""), "{status}");
}

#[test]
fn abbreviated_names_redirect_to_step_page() {
    let (home, thread) = reviewed();
    let hash = &hashes(&home, &thread)[1];
    let server = TestServer::start(&home, &[]);
    let answer = server.page(&format!("/threads/@/steps/{}", &hash[..10]));
    assert_eq!((answer.status, answer.header("location")), (303, Some(&*format!("/threads/{thread}/steps/{hash}"))));
}

#[test]
fn page_lists_earlier_failed_attempts() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write");
    assert_eq!(home.uwf(&["thread", "step", &thread, "--agent", "broken"]).code, Some(40));
    step(&home, &thread, 1);
    let hash = &hashes(&home, &thread)[1];
    let server = TestServer::start(&home, &["--read-only"]);
    let page = server.page(&format!("/threads/{thread}/steps/{hash}")).body;
    for text in ["Failed by <strong>broken</strong>, exit code 3", "no licence for `claude`", "half an answer"] {
        assert!(page.contains(text), "no {text} in {page}");
    }
    assert!(!page.contains("Fork from here"), "nothing can be changed here: {page}");
}

#[test]
fn step_of_workflow_links_to_child_thread() {
    let home = child_threads::staffed();
    let thread = child_threads::planned(&home);
    child_threads::go(&home);
    step(&home, &thread, 1);
    let child = child_threads::child_of(&home, &thread);
    let hash = &hashes(&home, &thread)[2];
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/threads/{thread}/steps/{hash}")).body;
    assert!(page.contains(&format!("href=\"/threads/{child}\"")), "{page}");
    assert!(page.contains("A child thread played the role"), "{page}");
}

#[test]
fn agent_output_is_never_page_markup() {
    let home = crate::home();
    let script = r"#!/bin/sh
cat > /dev/null
cat <<'TEXT'
---
n: 1
note: '<img src=x onerror=alert(1)>'
---
# Done <script>alert(2)</script>

[here](javascript:alert(3))
TEXT
";
    home.worker("output: text", script);
    home.put(
        "inject",
        &uwf_testing::counting_workflow(1)
            .replace("count-rounds", "inject")
            .replace("n: { type: integer }", "n: { type: integer }, note: { type: string }"),
    );
    let thread = home.start("inject", "</main><script>alert(4)</script>");
    step(&home, &thread, 1);
    let hash = &hashes(&home, &thread)[1];
    let server = TestServer::start(&home, &[]);
    for path in [format!("/threads/{thread}/steps/{hash}"), format!("/cas/{hash}"), format!("/compare/{hash}..{hash}")]
    {
        let page = server.page(&path).body;
        assert!(
            !page.contains("<script>") && !page.contains("<img") && !page.contains("\"javascript:"),
            "{path}: {page}"
        );
        assert_eq!(page.matches("</main>").count(), 1, "{path}");
    }
    let page = server.page(&format!("/threads/{thread}/steps/{hash}")).body;
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;"), "{page}");
}
