//! What can be done with a thread through the server: by scripts with JSON, by browsers with forms.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uwf_testing::server::{TestServer, TestServerResponse};
use uwf_testing::{TestHome, text};

const HUMAN: &str = "\
name: ask-person
roles:
  approver:
    goal: Decide.
    meta:
      type: object
      properties: { approved: { type: boolean }, note: { type: string } }
      required: [approved]
graph:
  $START: [ { role: approver } ]
  approver: [ { role: $END } ]
";

fn home() -> TestHome {
    TestHome::new(uwf_testing::uwf_program())
}

/// A thread of three rounds whose agent takes no time, and the server.
fn counting() -> (TestHome, TestServer, String) {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(3, "count");
    let server = TestServer::start(&home, &[]);
    (home, server, thread)
}

fn act(server: &TestServer, thread: &str, action: &str, body: &Value) -> TestServerResponse {
    server.post(&format!("/api/threads/{thread}/{action}"), body)
}

/// A form that a browser sends from a page of this server.
pub(crate) fn form(server: &TestServer, path: &str, body: &str) -> TestServerResponse {
    let headers = [
        ("cookie", &*server.cookie()),
        ("origin", &*format!("http://{}", server.address)),
        ("accept", "text/html"),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    server.send("POST", path, &headers, body)
}

fn head(server: &TestServer, thread: &str) -> String {
    text(&server.get(&format!("/api/threads/{thread}")).json(), "head")
}

#[test]
fn step_requested_twice_runs_once() {
    let (home, server, thread) = counting();
    let start = head(&server, &thread);
    let body = json!({ "expectedHead": start });
    let first = act(&server, &thread, "step", &body);
    assert_eq!(first.status, 200, "{first:?}");
    assert_eq!(first.json()["head"], json!(head(&server, &thread)));
    let second = act(&server, &thread, "step", &body);
    assert_eq!((second.status, &second.json()["error"]["exitCode"]), (409, &json!(75)));
    assert_eq!(home.json(&["thread", "show", &thread])["steps"], 1);
}

#[test]
fn changes_require_expected_head() {
    let (home, server, thread) = counting();
    for action in ["step", "run", "retry", "pause", "resume", "kill", "limit", "answer", "fork"] {
        let answer = act(&server, &thread, action, &json!({}));
        assert_eq!(answer.status, 400, "{action}: {answer:?}");
        assert!(answer.body.contains("expectedHead"), "{action}: {}", answer.body);
    }
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "active");
}

#[test]
fn thread_is_run_paused_resumed_and_killed() {
    let (home, server, thread) = counting();
    let at = json!({ "expectedHead": head(&server, &thread) });
    assert_eq!(act(&server, &thread, "pause", &at).json()["state"], "paused");
    assert_eq!(act(&server, &thread, "step", &at).status, 202, "a paused thread is news, not a failure");
    assert_eq!(act(&server, &thread, "resume", &at).json()["state"], "active");
    let run = act(&server, &thread, "run", &at);
    assert_eq!((run.status, &run.json()["done"]), (200, &json!(true)), "{run:?}");
    let fork = act(&server, &thread, "fork", &json!({ "step": start_of(&home, &thread) }));
    let other = text(&fork.json(), "thread");
    assert_eq!(act(&server, &other, "kill", &json!({ "expectedHead": head(&server, &other) })).status, 200);
    assert_eq!(home.json(&["thread", "show", &other])["state"], "killed");
}

fn start_of(home: &TestHome, thread: &str) -> String {
    text(&home.json(&["thread", "steps", thread])["steps"][0], "hash")
}

#[test]
fn limit_is_absolute_and_safe_to_resend() {
    let (_home, server, thread) = counting();
    let more = json!({ "expectedHead": head(&server, &thread), "steps": "+5" });
    assert_eq!(act(&server, &thread, "limit", &more).status, 400);
    let whole = json!({ "expectedHead": head(&server, &thread), "steps": 5 });
    for _ in 0..2 {
        assert_eq!(act(&server, &thread, "limit", &whole).json()["limits"]["maxSteps"], 5);
    }
}

#[test]
fn long_step_continues_without_client_or_server() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\nsleep 6\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(1, "count");
    let mut server = TestServer::start(&home, &[]);
    let body = json!({ "expectedHead": head(&server, &thread), "wait": 0 });
    let begun = Instant::now();
    let answer = act(&server, &thread, "step", &body);
    assert_eq!(answer.status, 202, "{answer:?}");
    assert!(begun.elapsed() < Duration::from_secs(5), "it waited");
    // Nothing of it belongs to the server.
    server.kill();
    let done = || home.json(&["thread", "show", &thread])["state"] == "completed";
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(30), "the step did not go on without the server");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn answer_form_redirects_back() {
    let home = home();
    home.config("agents:\n  me: { command: uwf-human }\ndefaultAgent: me\n");
    home.put("ask-person", HUMAN);
    let thread = home.start("ask-person", "Ship it?");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/threads/{thread}"));
    assert!(page.body.contains("name=\"output.approved\""), "{}", page.body);
    let inbox = server.page("/").body;
    assert!(inbox.contains("name=\"output.approved\"") && !inbox.contains("Files changed"), "no worktree: {inbox}");
    let body = format!("expectedHead={}&output.approved=true&output.note=yes%3A+ship", head(&server, &thread));
    let answer = form(&server, &format!("/api/threads/{thread}/answer"), &body);
    assert_eq!((answer.status, answer.header("location")), (303, Some(&*format!("/threads/{thread}"))), "{answer:?}");
    assert_eq!(home.last_step(&thread)["output"], json!({ "approved": true, "note": "yes: ship" }));
    let again = form(&server, &format!("/api/threads/{thread}/answer"), &body);
    assert_eq!(again.status, 409, "the same answer again is refused: {again:?}");
}

/// Checks that a thread runs after a change. The report has the end of a run that ends at once, and null for one that continues.
fn is_run(home: &TestHome, thread: &str, report: &Value) {
    assert!(report["run"].is_null() || report["run"]["done"] == true, "{report}");
    until_completed(home, thread);
}

fn until_completed(home: &TestHome, thread: &str) {
    let begun = Instant::now();
    while home.json(&["thread", "show", thread])["state"] != "completed" {
        assert!(begun.elapsed() < Duration::from_secs(50), "the thread did not run");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn thread_runs_after_a_change() {
    let (home, server, thread) = counting();
    let at = json!({ "expectedHead": head(&server, &thread) });
    act(&server, &thread, "pause", &at);
    let resumed = act(&server, &thread, "resume", &json!({ "expectedHead": head(&server, &thread), "run": true }));
    assert_eq!(resumed.status, 200, "{resumed:?}");
    is_run(&home, &thread, &resumed.json());
    let forked = act(&server, &thread, "fork", &json!({ "step": start_of(&home, &thread), "run": true })).json();
    assert_ne!(forked["thread"], json!(thread));
    is_run(&home, &text(&forked, "thread"), &forked);
    let unknown = act(&server, &text(&forked, "thread"), "kill", &json!({ "expectedHead": "x", "run": true }));
    assert_eq!(unknown.status, 400, "{unknown:?}");
    let word = act(&server, &thread, "resume", &json!({ "expectedHead": head(&server, &thread), "run": "perhaps" }));
    assert_eq!(word.status, 400, "{word:?}");
}

#[test]
fn run_after_slow_retry_needs_no_client() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\n[ -e ok ] || exit 3\nsleep 2\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(2, "count");
    assert_eq!(home.uwf(&["run", &thread]).code, Some(40));
    std::fs::write(home.work().join("ok"), "").unwrap();
    let server = TestServer::start(&home, &[]);
    let body = json!({ "expectedHead": head(&server, &thread), "wait": 0, "run": true });
    let answer = act(&server, &thread, "retry", &body);
    assert_eq!(answer.status, 202, "{answer:?}");
    until_completed(&home, &thread);
}

#[test]
fn retry_and_run_keeps_its_agent() {
    let home = home();
    home.script("bad", "#!/bin/sh\ncat > /dev/null\nexit 3\n");
    home.script("good", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    home.config(
        "agents:\n  bad: { command: bad, output: json }\n  good: { command: good, output: json }\ndefaultAgent: bad\n",
    );
    let thread = home.start_counting(3, "count");
    assert_eq!(home.uwf(&["run", &thread]).code, Some(40));
    let server = TestServer::start(&home, &[]);
    let retried = |run: bool| {
        act(
            &server,
            &thread,
            "retry",
            &json!({ "expectedHead": head(&server, &thread), "agent": "good", "wait": 30, "run": run }),
        )
    };
    assert_eq!(retried(false).status, 200);
    assert_eq!(home.uwf(&["run", &thread]).code, Some(40), "the agent was only for one attempt");
    assert_eq!(retried(true).status, 200);
    until_completed(&home, &thread);
}

#[test]
fn a_form_of_another_site_changes_nothing() {
    let (home, server, thread) = counting();
    let body = format!("expectedHead={}", head(&server, &thread));
    let path = format!("/api/threads/{thread}/kill");
    let cookie = server.cookie();
    for (name, value) in [("origin", "https://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site")] {
        let headers = [("cookie", &*cookie), (name, value), ("content-type", "application/x-www-form-urlencoded")];
        assert_eq!(server.send("POST", &path, &headers, &body).status, 403, "{name}: {value}");
    }
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "active");
}

#[test]
fn read_only_server_shows_pages_without_changes() {
    let (home, _, thread) = counting();
    let server = TestServer::start(&home, &["--read-only"]);
    assert_eq!(act(&server, &thread, "step", &json!({ "expectedHead": head(&server, &thread) })).status, 403);
    let page = server.page(&format!("/threads/{thread}")).body;
    assert!(page.contains("read-only") && !page.contains("<form method=\"post\""), "{page}");
}

#[test]
fn failed_action_returns_the_commands_report() {
    let (home, server, thread) = counting();
    home.worker("output: json", "#!/bin/sh\necho 'no money left' >&2\nexit 3\n");
    let failed = act(&server, &thread, "step", &json!({ "expectedHead": head(&server, &thread) }));
    assert_eq!((failed.status, &failed.json()["error"]["exitCode"]), (422, &json!(40)), "{failed:?}");
    assert!(failed.body.contains("no money left"));
    assert_eq!(server.get("/api/threads/ZZZZZ").status, 404);
    assert_eq!(act(&server, &thread, "frobnicate", &json!({})).status, 404);
    let unknown = act(&server, &thread, "step", &json!({ "expectedHead": "0", "agnet": "w" }));
    assert_eq!(unknown.status, 400);
    assert!(unknown.body.contains("`step` has no field `agnet`"), "{}", unknown.body);
    let of_another = act(&server, &thread, "kill", &json!({ "expectedHead": "0", "data": "{}" }));
    assert_eq!(
        (of_another.status, of_another.body.contains("`kill` has no field `data`")),
        (400, true),
        "{of_another:?}"
    );
    let unknown = act(&server, &thread, "answer", &json!({ "expectedHead": "0", "dta": "{}" }));
    assert!(unknown.body.contains("expectedHead, data, text, question, output.KEY"), "{}", unknown.body);
    let page = server.page("/threads/ZZZZZ");
    assert_eq!(page.status, 404);
    assert!(page.body.contains("<h1>Not found</h1>"), "{}", page.body);
}

/// The body that a browser would send of the form for an action on the page of a thread, with what somebody has filled in.
fn drawn(server: &TestServer, thread: &str, action: &str, filled_in: &str) -> String {
    let page = server.page(&format!("/threads/{thread}")).body;
    let (_, form) =
        page.split_once(&format!("action=\"/api/threads/{thread}/{action}\"")).unwrap_or_else(|| panic!("{page}"));
    let (form, _) = form.split_once("</form>").unwrap();
    let hidden = form.split("type=\"hidden\" name=\"").skip(1).map(|input| {
        let (name, rest) = input.split_once("\" value=\"").unwrap();
        format!("{name}={}&", rest.split('"').next().unwrap())
    });
    hidden.collect::<String>() + filled_in
}

fn lines(home: &TestHome, file: &str) -> usize {
    std::fs::read_to_string(home.work().join(file)).unwrap_or_default().lines().count()
}

#[test]
fn retry_form_sent_twice_runs_one_attempt() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho ran >> runs\nexit 3\n");
    let thread = home.start_counting(1, "count");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let server = TestServer::start(&home, &[]);
    let path = format!("/api/threads/{thread}/retry");
    let body = drawn(&server, &thread, "retry", "agent=");
    assert_eq!((form(&server, &path, &body).status, lines(&home, "runs")), (303, 2));
    let again = form(&server, &path, &body);
    assert_eq!((again.status, lines(&home, "runs")), (409, 2), "{again:?}");
    assert!(again.body.contains("has a newer attempt"), "{}", again.body);
    let of_now = drawn(&server, &thread, "retry", "agent=");
    assert_eq!((form(&server, &path, &of_now).status, lines(&home, "runs")), (303, 3), "a form of now is done");
    assert!(server.page("/").body.contains("name=\"expectedAttempt\""), "the inbox names it, too");
}

/// Asks a second thing once it has been told one.
const ASKS_TWICE: &str = r#"#!/bin/sh
cat > prompt.txt
echo ran >> runs
if grep -q blue prompt.txt; then echo "---\nstatus: needs_input\n---\nDelete everything?"; exit; fi
echo "---\nstatus: needs_input\n---\nWhich colour?"
"#;

#[test]
fn reply_sent_twice_answers_one_question() {
    let home = home();
    home.worker("output: text", ASKS_TWICE);
    let thread = home.start_counting(1, "paint");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    let server = TestServer::start(&home, &[]);
    let path = format!("/api/threads/{thread}/answer");
    let body = drawn(&server, &thread, "answer", "text=blue");
    assert_eq!(form(&server, &path, &body).status, 303);
    assert_eq!(form(&server, &path, &body).status, 409, "it has a reply");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20), "the agent asks something else");
    let asks = |home: &TestHome| text(&home.json(&["thread", "show", &thread]), "why");
    assert!(asks(&home).contains("Delete everything?"), "{}", asks(&home));
    assert_eq!(form(&server, &path, &body).status, 409, "it was no reply to that");
    assert!(asks(&home).contains("Delete everything?"), "{}", asks(&home));
    let of_now = drawn(&server, &thread, "answer", "text=no");
    assert_eq!((form(&server, &path, &of_now).status, lines(&home, "runs")), (303, 2));
}

#[test]
fn failed_form_keeps_typed_values() {
    let home = home();
    home.config("agents:\n  person: { command: uwf-human }\ndefaultAgent: person\n");
    home.put("ask-person", HUMAN);
    let thread = home.start("ask-person", "Is it good?");
    home.uwf(&["thread", "step", &thread]);
    let server = TestServer::start(&home, &[]);
    let head = head(&server, &thread);
    let path = format!("/api/threads/{thread}/answer");
    let typed = |approved: &str| {
        let note = "%3Cb%3Etwo%0D%0Alines";
        format!("expectedHead={head}&back=%2F%3Fall%3D1&output.approved={approved}&output.note={note}")
    };
    let failed = form(&server, &path, &typed("maybe"));
    assert_eq!(failed.status, 422, "{failed:?}");
    let has = |text: &str| assert!(failed.body.contains(text), "no {text} in {}", failed.body);
    has("expected a boolean, found the string &quot;maybe&quot;");
    has(&format!("<form method=\"post\" action=\"{path}\">"));
    has(&format!("<input type=\"hidden\" name=\"expectedHead\" value=\"{head}\">"));
    has(
        "name=\"output.approved\" rows=\"1\" autofocus aria-invalid=\"true\" aria-errormessage=\"fault\">\nmaybe</textarea>",
    );
    has("name=\"output.note\" rows=\"2\">\n&lt;b&gt;two\nlines</textarea>");
    has("<a class=\"button\" href=\"/?all=1\">Back</a>");
    assert_eq!(form(&server, &path, &typed("true")).status, 303, "the same once more, put right");
    let late = form(&server, &path, &typed("true"));
    assert_eq!(late.status, 409, "it was answered: {late:?}");
    assert!(late.body.contains("lines</textarea>") && !late.body.contains("Send again"), "{}", late.body);
    let nothing_typed = form(&server, &format!("/api/threads/{thread}/pause"), &format!("expectedHead={head}"));
    assert!(
        nothing_typed.body.contains(&format!("href=\"/threads/{thread}\">Back to where you were")),
        "{nothing_typed:?}"
    );
}
