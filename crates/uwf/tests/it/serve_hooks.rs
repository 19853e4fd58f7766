//! `uwf serve --hooks`: signed deliveries start threads, each at most one.

use std::fs;
use std::io::Read;

use serde_json::{Value, json};
use uwf_testing::processes::{of_home, signal, until};
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, text};

use crate::fixtures::hooks::{
    COUNTING, SECRET, TRIAGE, deliver, deliver_text, home_with_hooks, opened, signature, signature_with,
    standard_signature,
};

fn threads(home: &TestHome) -> Vec<Value> {
    home.json(&["thread", "list", "--all"]).as_array().expect("a list").clone()
}

fn starts(home: &TestHome) -> usize {
    fs::read_to_string(home.work().join("starts.txt")).unwrap_or_default().lines().count()
}

fn state(home: &TestHome, thread: &str) -> String {
    text(&home.json(&["thread", "show", thread]), "state")
}

#[test]
fn signed_delivery_starts_and_runs_thread() {
    let home = home_with_hooks(COUNTING, TRIAGE);
    let server = TestServer::start(&home, &["--hooks"]);
    let answer = deliver(&server, "triage", "72d3162e-cc78", &opened(42, "It crashes"));
    assert_eq!(answer.status, 201, "{answer:?}");
    let report = answer.json();
    let thread = text(&report, "thread");
    assert_eq!(answer.header("location"), Some(&*format!("/api/threads/{thread}")));
    assert_eq!(
        (&report["status"], &report["hook"], &report["delivery"]),
        (&json!("started"), &json!("triage"), &json!("72d3162e-cc78"))
    );
    until("the thread has run to its end", || state(&home, &thread) == "completed");
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!((&shown["task"], &shown["steps"]), (&json!("Triage issue #42: It crashes"), &json!(2)));
    assert_eq!(shown["input"], json!({ "number": 42, "labels": ["bug"] }));
    // A label without a value is left out.
    assert_eq!(shown["labels"], json!({ "delivery": "72d3162e-cc78", "hook": "triage", "issue": "42" }));
    assert_eq!(shown["workspace"], json!(home.work()));
    let listed = home.json(&["thread", "list", "--all", "--label", "hook=triage"]);
    assert_eq!(text(&listed[0], "thread"), thread);
    assert!(shown["startedAt"].as_u64().is_some_and(|at| at > 1_700_000_000_000), "{shown}");
    assert_eq!(text(&home.json(&["thread", "show", "@"]), "thread"), thread, "it is the newest thread");
}

#[test]
fn hook_thread_continues_after_usage_limit() {
    let limited = "#!/bin/sh\ncat > /dev/null\nif [ -e tried ]; then echo '{\"n\": 1}'; else touch tried; echo \"limit reached|$(($(date +%s) + 2))\"; exit 1; fi\n";
    let home = home_with_hooks(limited, TRIAGE);
    let server = TestServer::start(&home, &["--hooks"]);
    let answer = deliver(&server, "triage", "d-1", &opened(42, "It crashes"));
    assert_eq!(answer.status, 201, "{answer:?}");
    let thread = text(&answer.json(), "thread");
    until("the thread has run to its end", || state(&home, &thread) == "completed");
}

/// Reaches a usage limit that ends 4 seconds later, and then answers. It counts its starts.
const LIMITED_ONCE: &str = "#!/bin/sh\ncat > /dev/null\necho start >> starts.txt\nif [ -e tried ]; then echo '{\"n\": 1}'; else touch tried; echo \"limit reached|$(($(date +%s) + 4))\"; exit 1; fi\n";

/// Ends the processes of a home, as a restart of the machine does.
fn end_processes(home: &TestHome) {
    let user = home.root().parent().unwrap().to_owned();
    let all = of_home(&user);
    assert!(all.iter().any(|(_, words)| words.contains(&"--wait".to_owned())), "the run waits: {all:?}");
    for (pid, _) in all {
        signal(pid, "KILL");
    }
    until("all processes have ended", || of_home(&user).is_empty());
}

#[test]
fn restarted_server_continues_limited_thread() {
    let home = home_with_hooks(LIMITED_ONCE, TRIAGE);
    let server = TestServer::start(&home, &["--hooks"]);
    let thread = text(&deliver(&server, "triage", "d-1", &opened(42, "It crashes")).json(), "thread");
    until("the thread is at its limit", || state(&home, &thread) == "limited");
    end_processes(&home);
    drop(server);
    // Threads that no hook runs stay alone.
    let other = text(&home.json(&["thread", "start", "triage", "-p", "x", "--set", "number=1"]), "thread");
    let _servers = [TestServer::start(&home, &["--hooks"]), TestServer::start(&home, &["--hooks"])];
    until("the thread has run to its end", || state(&home, &thread) == "completed");
    assert_eq!((starts(&home), state(&home, &other).as_str()), (3, "active"), "one agent per attempt");
}

#[test]
fn server_and_living_run_continue_thread_once() {
    let home = home_with_hooks(LIMITED_ONCE, TRIAGE);
    let server = TestServer::start(&home, &["--hooks"]);
    let thread = text(&deliver(&server, "triage", "d-1", &opened(42, "It crashes")).json(), "thread");
    until("the thread is at its limit", || state(&home, &thread) == "limited");
    drop(server);
    let _server = TestServer::start(&home, &["--hooks"]);
    until("the thread has run to its end", || state(&home, &thread) == "completed");
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!(starts(&home), 3);
}

#[test]
fn restarted_server_continues_question_in_time() {
    let asking = "#!/bin/sh\nprompt=$(cat)\necho start >> starts.txt\ncase $prompt in *'no reply within'*|*Pears*) echo '{\"n\": 1}' ;; *) echo '{\"status\": \"needs_input\", \"question\": \"Apples?\"}' ;; esac\n";
    for reply in [None, Some("Pears")] {
        let limit = if reply.is_some() { "1h" } else { "4s" };
        let home = home_with_hooks(asking, &format!("askTimeout: {limit}\n{TRIAGE}"));
        let server = TestServer::start(&home, &["--hooks"]);
        let thread = text(&deliver(&server, "triage", "d-1", &opened(42, "It crashes")).json(), "thread");
        until("it asks", || state(&home, &thread) == "waiting");
        end_processes(&home);
        drop(server);
        let _server = TestServer::start(&home, &["--hooks"]);
        if let Some(reply) = reply {
            home.json(&["thread", "answer", &thread, "-m", reply]);
        }
        until("the thread has continued", || starts(&home) >= 2);
    }
}

#[test]
fn delivery_of_removed_thread_starts_nothing() {
    let home = home_with_hooks(COUNTING, TRIAGE);
    let server = TestServer::start(&home, &["--hooks"]);
    let thread = text(&deliver(&server, "triage", "d-1", &opened(42, "It crashes")).json(), "thread");
    until("the thread has run to its end", || state(&home, &thread) == "completed");
    assert_eq!(home.uwf(&["thread", "rm", &thread]).code, Some(0));
    for _ in 0..2 {
        let again = deliver(&server, "triage", "d-1", &opened(42, "It crashes"));
        let report = again.json();
        assert_eq!((again.status, &report["status"]), (200, &json!("removed")), "{again:?}");
        assert_eq!((text(&report, "thread"), report.get("run")), (thread.clone(), None), "{again:?}");
        assert!(again.body.contains("was removed, so nothing was started"), "{again:?}");
    }
    assert_eq!((threads(&home).len(), starts(&home)), (0, 2));
    assert_eq!(deliver(&server, "triage", "d-2", &opened(42, "It crashes")).status, 201);
}

#[test]
fn repeated_delivery_starts_nothing() {
    let home = home_with_hooks(COUNTING, TRIAGE);
    let server = TestServer::start(&home, &["--hooks"]);
    let thread = text(&deliver(&server, "triage", "d-1", &opened(42, "It crashes")).json(), "thread");
    until("the thread has run to its end", || state(&home, &thread) == "completed");
    let again = deliver(&server, "triage", "d-1", &opened(42, "It crashes"));
    assert_eq!((again.status, &again.json()["status"]), (200, &json!("already started")), "{again:?}");
    assert_eq!(text(&again.json(), "thread"), thread);
    // The first start counts, whatever the hook and the payload say by now.
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&config.replace("Triage issue", "Look at issue"));
    let changed = deliver(&server, "triage", "d-1", &opened(43, "Another"));
    assert_eq!((changed.status, text(&changed.json(), "thread")), (200, thread));
    assert_eq!((threads(&home).len(), starts(&home)), (1, 2));
    assert_eq!(deliver(&server, "triage", "d-2", &opened(42, "It crashes")).status, 201);
    assert_eq!(threads(&home).len(), 2);
}

#[test]
fn simultaneous_deliveries_to_two_servers_start_one_thread() {
    let home = home_with_hooks(COUNTING, TRIAGE);
    let servers = [TestServer::start(&home, &["--hooks"]), TestServer::start(&home, &["--hooks"])];
    let payload = opened(42, "It crashes");
    let answers: Vec<_> = std::thread::scope(|scope| {
        let sent: Vec<_> = (0..6)
            .map(|number| {
                scope.spawn({
                    let (servers, payload) = (&servers, &payload);
                    move || deliver(&servers[number % 2], "triage", "d-1", payload)
                })
            })
            .collect();
        sent.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let started = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!((started, answers.iter().filter(|answer| answer.status == 200).count()), (1, 5), "{answers:?}");
    let [thread] = &threads(&home)[..] else { panic!("one thread: {answers:?}") };
    let thread = text(thread, "thread");
    assert!(answers.iter().all(|answer| text(&answer.json(), "thread") == thread), "{answers:?}");
    until("the thread has run to its end", || state(&home, &thread) == "completed");
    assert_eq!(starts(&home), 2, "each step ran once");
}

#[test]
fn wrong_or_missing_signature_is_rejected() {
    let home = home_with_hooks(COUNTING, TRIAGE);
    let server = TestServer::start(&home, &["--hooks"]);
    let body = opened(42, "It crashes").to_string();
    let right = signature(&body);
    let send = |headers: &[(&str, &str)], body: &str| {
        let kind = [("content-type", "application/json"), ("x-github-delivery", "d-1"), ("x-github-event", "issues")];
        server.send("POST", "/hooks/triage", &[&kind[..], headers].concat(), body)
    };
    let none = send(&[], &body);
    assert_eq!(none.status, 401, "{none:?}");
    let sha1 = "sha1=0123456789012345678901234567890123456789";
    let cut = &right[..right.len() - 2];
    for wrong in [&right.replace("sha256=", "sha256=0"), cut, "sha256=", sha1, &signature(&format!("{body} "))] {
        // Too many wrong signatures would get another answer.
        let server = TestServer::start(&home, &["--hooks"]);
        let kind = [("content-type", "application/json"), ("x-github-delivery", "d-1"), ("x-github-event", "issues")];
        let signed = [&kind[..], &[("x-hub-signature-256", wrong)]].concat();
        let answer = server.send("POST", "/hooks/triage", &signed, &body);
        // Neither says which it is: that would help a forger.
        assert_eq!((answer.status, &answer.body), (401, &none.body), "{wrong}");
    }
    assert_eq!(send(&[("x-hub-signature-256", &right)], &body.replace("42", "43")).status, 401);
    // The secret of the dashboard is no secret of a hook.
    assert_eq!(send(&[("authorization", &server.bearer())], &body).status, 401);
    assert!(!none.body.contains("TRIAGE_SECRET") && !none.body.contains(SECRET));
    assert_eq!(threads(&home), Vec::<Value>::new());
}

/// Neither a forger nor a sender with an old key locks out those with the right key, or the dashboard.
#[test]
fn wrong_signatures_are_limited() {
    let home = home_with_hooks(COUNTING, TRIAGE);
    let server = TestServer::start(&home, &["--hooks"]);
    let (body, kind) = (opened(42, "It crashes").to_string(), ("content-type", "application/json"));
    let wrong = signature(&format!("{body} "));
    let forged = || server.send("POST", "/hooks/triage", &[kind, ("x-hub-signature-256", &wrong)], &body);
    for _ in 0..5 {
        assert_eq!(forged().status, 401);
    }
    let limited = forged();
    assert_eq!(limited.status, 429, "{limited:?}");
    assert!(limited.body.contains("too many wrong signatures; try again in "), "{limited:?}");
    let seconds: u64 = limited.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    assert_eq!(
        deliver(&server, "triage", "d-1", &opened(42, "It crashes")).status,
        201,
        "the key is too long to guess"
    );
    assert_eq!(server.get("/api/threads").status, 200);

    // A short key could be guessed, so the right one is not tried either.
    std::fs::write(home.root().join(".env"), "TRIAGE_SECRET=short\n").unwrap();
    let right = signature_with("short", &body);
    let short = |server: &TestServer| {
        let headers =
            [kind, ("x-github-event", "issues"), ("x-github-delivery", "d-2"), ("x-hub-signature-256", &right)];
        server.send("POST", "/hooks/triage", &headers, &body).status
    };
    assert_eq!(short(&server), 429);
    assert_eq!(short(&TestServer::start(&home, &["--hooks"])), 201);
}

#[test]
fn other_events_are_ignored() {
    let home = home_with_hooks(COUNTING, TRIAGE);
    let server = TestServer::start(&home, &["--hooks"]);
    let ignored = deliver(&server, "triage", "d-1", &json!({ "action": "closed", "issue": {} }));
    assert_eq!(ignored.status, 200);
    assert_eq!(ignored.json(), json!({ "status": "ignored", "hook": "triage", "delivery": "d-1" }));
    let body = json!({ "zen": "Keep it logically awesome." }).to_string();
    let signed = signature(&body);
    let headers = [
        ("content-type", "application/json"),
        ("x-github-event", "ping"),
        ("x-github-delivery", "d-2"),
        ("x-hub-signature-256", &*signed),
    ];
    let ping = server.send("POST", "/hooks/triage", &headers, &body);
    assert_eq!((ping.status, &ping.json()["status"]), (200, &json!("pong")));
    assert_eq!(server.send("POST", "/hooks/triage", &headers[..3], &body).status, 401, "a ping is signed as well");
    assert_eq!(threads(&home), Vec::<Value>::new());
}

#[test]
fn hooks_are_served_only_on_request() {
    let home = home_with_hooks(COUNTING, TRIAGE);
    let (with, without) = (TestServer::start(&home, &["--hooks"]), TestServer::start(&home, &[]));
    let refused = deliver(&without, "triage", "d-1", &opened(42, "x"));
    assert_eq!(refused.status, 404, "{refused:?}");
    assert!(refused.body.contains("--hooks"), "{refused:?}");
    let unknown = deliver(&with, "trage", "d-1", &opened(42, "x"));
    assert_eq!(unknown.status, 404);
    // Names of hooks stay private.
    assert!(!unknown.body.contains("triage"), "{unknown:?}");
    assert_eq!(with.send("GET", "/hooks/triage", &[], "").status, 405);
    let body = opened(42, "x").to_string();
    let signed = signature(&body);
    let foreign = [("host", "evil.example"), ("content-type", "application/json"), ("x-hub-signature-256", &*signed)];
    assert_eq!(with.send("POST", "/hooks/triage", &foreign, &body).status, 421);
    let both = home.uwf(&["serve", "--hooks", "--read-only"]);
    assert_eq!(both.code, Some(64), "{both:?}");
    assert_eq!(threads(&home), Vec::<Value>::new());
}

#[test]
fn form_encoded_delivery_starts_thread() {
    let home = home_with_hooks(COUNTING, TRIAGE);
    let server = TestServer::start(&home, &["--hooks"]);
    let payload = opened(42, "Ümlaut & more").to_string();
    let encoded: String = payload.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let body = format!("payload={encoded}");
    let signed = signature(&body);
    let send = |kind: &str, body: &str, signed: &str| {
        let headers = [
            ("content-type", kind),
            ("x-github-event", "issues"),
            ("x-github-delivery", "d-1"),
            ("x-hub-signature-256", signed),
        ];
        server.send("POST", "/hooks/triage", &headers, body)
    };
    let started = send("application/x-www-form-urlencoded", &body, &signed);
    assert_eq!(started.status, 201, "{started:?}");
    let thread = text(&started.json(), "thread");
    assert_eq!(home.json(&["thread", "show", &thread])["task"], "Triage issue #42: Ümlaut & more");
    assert_eq!(send("application/x-www-form-urlencoded", "a=b", &signature("a=b")).status, 400);
    assert_eq!(send("text/plain", &payload, &signature(&payload)).status, 415);
}

#[test]
fn below_own_path_delivery_starts_thread() {
    let home = home_with_hooks(COUNTING, TRIAGE);
    let server = TestServer::start(&home, &["--hooks"]);
    let body = opened(42, "x").to_string();
    let signed = signature(&body);
    let headers = [
        ("content-type", "application/json; charset=utf-8"),
        ("x-github-event", "issues"),
        ("x-hub-signature-256", &*signed),
    ];
    let path = format!("{}/hooks/triage", server.own_path());
    let started = server.send("POST", &path, &headers, &body);
    assert_eq!(started.status, 201, "{started:?}");
    // Without an id, the body identifies a delivery.
    let again = server.send("POST", "/hooks/triage", &headers, &body);
    assert_eq!((again.status, text(&again.json(), "thread")), (200, text(&started.json(), "thread")));
}

#[test]
fn unsuitable_payloads_are_reported_with_every_problem() {
    let hooks = TRIAGE.replace("    when: $headers.\"x-github-event\" = 'issues' and action = 'opened'\n", "");
    let home = home_with_hooks(COUNTING, &hooks);
    let server = TestServer::start(&home, &["--hooks"]);
    let failing = json!({ "issue": { "number": { "a": 1 }, "title": "x", "labels": [] } });
    let answer = deliver(&server, "triage", "d-1", &failing);
    assert_eq!(answer.status, 422, "{answer:?}");
    let message = text(&answer.json()["error"], "message");
    assert!(message.contains("`start.labels.issue` gives an object"), "{message}");
    let unfit = json!({ "issue": { "number": 0, "title": "x", "labels": [{ "name": 7 }] } });
    let answer = deliver(&server, "triage", "d-2", &unfit);
    assert_eq!(answer.status, 422, "{answer:?}");
    let message = text(&answer.json()["error"], "message");
    assert!(message.contains("`number`") && message.contains("`labels.0`"), "{message}");
    let several = home_with_hooks(
        COUNTING,
        "hooks:\n  triage:\n    secretEnv: TRIAGE_SECRET\n    start: { workflow: triage, prompt: issue.none, input: '[1, 2]', labels: { a: \"1 + 'a'\" } }\n",
    );
    let server = TestServer::start(&several, &["--hooks"]);
    let answer = deliver(&server, "triage", "d-3", &failing);
    let message = text(&answer.json()["error"], "message");
    for part in ["`start.prompt` gives nothing", "`start.input` gives a list", "`start.labels.a`:"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!((threads(&home), threads(&several)), (Vec::new(), Vec::new()));
}

#[test]
fn hostile_bodies_start_nothing() {
    let home = home_with_hooks(COUNTING, TRIAGE);
    let server = TestServer::start(&home, &["--hooks"]);
    let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let in_issue = |title: &str| format!(r#"{{"action":"opened","issue":{{"number":1,"title":{title}}}}}"#);
    for (status, body) in [
        (400, String::new()),
        (400, "not json".to_owned()),
        (400, r#"{"a":1"#.to_owned()),
        (400, nested(101)),
        (400, nested(100_000)),
        (400, in_issue(r#""\ud800""#)),
        (400, r#"{"a": 1e400}"#.to_owned()),
        (200, nested(100)),
        (200, "null".to_owned()),
        (400, in_issue("{}").replace(r#""number":1"#, r#""number":123456789012345678901234567890"#)),
        (422, in_issue(r#""x""#).replace(r#""number":1"#, r#""number":1,"labels":[{"name":["a",{}]}]"#)),
        (413, format!(r#"{{"a":"{}"}}"#, "x".repeat(1 << 20))),
    ] {
        let answer = deliver_text(&server, "triage", &format!("d-{status}"), &body);
        assert_eq!(answer.status, status, "{}: {answer:?}", &body[..body.len().min(80)]);
        let _: Value = answer.json();
    }
    for id in ["", "a b", &"x".repeat(201)] {
        assert_eq!(deliver(&server, "triage", id, &opened(1, "x")).status, 400, "{id}");
    }
    assert_eq!(threads(&home), Vec::<Value>::new());
    // Text of strangers stays text.
    let title = "-x --help '$(touch hacked)' \u{1b}[31m\n\u{0}{{prompt}}";
    let started = deliver(&server, "triage", "d-2", &opened(1, title));
    assert_eq!(started.status, 201, "{started:?}");
    let task = home.json(&["thread", "show", &text(&started.json(), "thread")])["task"].clone();
    assert_eq!(task, json!(format!("Triage issue #1: {title}")));
}

#[test]
fn endless_expression_is_stopped() {
    let endless = "($f := function($n) { $f($n + 1) }; $f(issue.number))";
    let hooks = format!(
        "hooks:\n  triage:\n    secretEnv: TRIAGE_SECRET\n    start: {{ workflow: triage, prompt: \"{endless}\", input: \"{{ 'number': issue.number, 'labels': [1..9999999].$string() }}\" }}\n"
    );
    let home = home_with_hooks(COUNTING, &hooks);
    let server = TestServer::start(&home, &["--hooks"]);
    let answer = deliver(&server, "triage", "d-1", &opened(42, "x"));
    assert_eq!(answer.status, 422, "{answer:?}");
    let message = text(&answer.json()["error"], "message");
    assert!(message.contains("`start.prompt`:") && message.contains("`start.input`:"), "{message}");
    assert_eq!(threads(&home), Vec::<Value>::new());
}

#[test]
fn redelivery_completes_interrupted_delivery() {
    // The server is killed while the command that starts the thread is at work, or right after it.
    let home = home_with_hooks(COUNTING, TRIAGE);
    for (number, wait) in [0_u64, 10, 30, 60, 120, 400].into_iter().enumerate() {
        let mut server = TestServer::start(&home, &["--hooks"]);
        let (id, body) = (format!("d-{number}"), opened(number as u64 + 1, "x").to_string());
        let signed = signature(&body);
        let headers = [
            ("content-type", "application/json"),
            ("x-github-event", "issues"),
            ("x-github-delivery", &*id),
            ("x-hub-signature-256", &*signed),
        ];
        let mut sent = server.open("POST", "/hooks/triage", &headers, &body);
        std::thread::sleep(std::time::Duration::from_millis(wait));
        server.kill();
        let _ = sent.read_to_end(&mut Vec::new());
        let server = TestServer::start(&home, &["--hooks"]);
        let answer = deliver_text(&server, "triage", &id, &body);
        assert!([200, 201].contains(&answer.status), "{answer:?}");
        let thread = text(&answer.json(), "thread");
        assert_eq!(threads(&home).len(), number + 1);
        until("the thread has run to its end", || state(&home, &thread) == "completed");
        assert_eq!(starts(&home), 2 * (number + 1), "each step ran once");
    }
}

#[test]
fn sender_that_hangs_up_still_starts_thread() {
    let home = home_with_hooks(COUNTING, TRIAGE);
    let server = TestServer::start(&home, &["--hooks"]);
    let body = opened(42, "x").to_string();
    let signed = signature(&body);
    let headers =
        [("content-type", "application/json"), ("x-github-event", "issues"), ("x-hub-signature-256", &*signed)];
    drop(server.open("POST", "/hooks/triage", &headers, &body));
    until("the thread has run to its end", || {
        threads(&home).first().is_some_and(|thread| state(&home, &text(thread, "thread")) == "completed")
    });
}

#[test]
fn redelivery_does_not_repeat_failed_attempt() {
    let home = home_with_hooks("#!/bin/sh\ncat > /dev/null\necho start >> starts.txt\nexit 3\n", TRIAGE);
    let server = TestServer::start(&home, &["--hooks"]);
    let thread = text(&deliver(&server, "triage", "d-1", &opened(42, "x")).json(), "thread");
    until("the first attempt has failed", || state(&home, &thread) == "stuck");
    let attempts = starts(&home);
    assert_eq!(deliver(&server, "triage", "d-1", &opened(42, "x")).json()["status"], "already started");
    assert_eq!((starts(&home), state(&home, &thread)), (attempts, "stuck".to_owned()));
}

#[test]
fn hook_without_run_only_starts() {
    let home = home_with_hooks(COUNTING, &format!("{TRIAGE}      run: false\n      cwd: elsewhere\n"));
    fs::create_dir(home.work().join("elsewhere")).unwrap();
    let server = TestServer::start(&home, &["--hooks"]);
    let report = deliver(&server, "triage", "d-1", &opened(42, "x")).json();
    let shown = home.json(&["thread", "show", &text(&report, "thread")]);
    assert_eq!((&shown["state"], &report["run"]), (&json!("active"), &Value::Null));
    assert_eq!((&shown["workspace"], starts(&home)), (&json!(home.work().join("elsewhere")), 0));
}

#[test]
fn hook_that_cannot_run_starts_nothing() {
    let home = home_with_hooks(COUNTING, TRIAGE);
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&config.replace("command: worker", "command: no-such-program"));
    let server = TestServer::start(&home, &["--hooks"]);
    let answer = deliver(&server, "triage", "d-1", &opened(42, "x"));
    assert_eq!(answer.status, 422, "{answer:?}");
    home.config(&config.replace("workflow: triage", "workflow: trigae"));
    let unknown = deliver(&server, "triage", "d-1", &opened(42, "x"));
    assert!(unknown.status == 422 && unknown.body.contains("trigae"), "{unknown:?}");
    home.config(&config.replace("action = 'opened'", "action = = 'opened'"));
    let invalid = deliver(&server, "triage", "d-1", &opened(42, "x"));
    assert_eq!(invalid.status, 503, "a hook without its `when` would start too much: {invalid:?}");
    assert!(!invalid.body.contains("line") && !invalid.body.contains("opened"), "{invalid:?}");
    home.config(&config);
    fs::write(home.root().join(".env"), "").unwrap();
    let locked = deliver(&server, "triage", "d-1", &opened(42, "x"));
    assert_eq!(locked.status, 503, "{locked:?}");
    assert!(!locked.body.contains("TRIAGE_SECRET"), "{locked:?}");
    assert_eq!(threads(&home), Vec::<Value>::new());
}

#[test]
fn standard_webhook_starts_thread() {
    const KEY: &str = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let hooks = "hooks:\n  orders:\n    secretEnv: ORDERS\n    signature: standard\n    start: { workflow: triage, prompt: \"'Order ' & data.id\", input: \"{ 'number': data.id }\" }\n";
    let home = home_with_hooks(COUNTING, hooks);
    let server = TestServer::start_with(&home, &["--hooks"], &[("ORDERS", &format!("whsec_{KEY}"))]);
    let body = json!({ "type": "order.created", "data": { "id": 7 } }).to_string();
    let send = |id: &str, signed_id: &str, age: i64| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let at = now.saturating_add_signed(-age);
        let signed = standard_signature(KEY, signed_id, at, &body);
        let at = at.to_string();
        let headers = [
            ("content-type", "application/json"),
            ("webhook-id", id),
            ("webhook-timestamp", &*at),
            ("webhook-signature", &*signed),
        ];
        server.send("POST", "/hooks/orders", &headers, &body)
    };
    assert_eq!(send("msg-1", "msg-1", 310).status, 401, "it is too old");
    assert_eq!(send("msg-2", "msg-1", 0).status, 401, "its id is signed");
    let started = send("msg-1", "msg-1", 60);
    assert_eq!((started.status, &started.json()["delivery"]), (201, &json!("msg-1")), "{started:?}");
    assert_eq!(send("msg-1", "msg-1", 0).json()["status"], "already started");
    assert_eq!(threads(&home).len(), 1);
}
