//! `uwf serve --hooks`: signed deliveries answer threads that wait for a person.

use serde_json::{Value, json};
use uwf_testing::processes::until;
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, text};

use crate::fixtures::hooks::{SECRET, deliver, signature};
use crate::fixtures::people::PUBLISH;
use crate::home;

const APPROVE: &str = r#"
hooks:
  approve:
    secretEnv: TRIAGE_SECRET
    when: action = 'submitted'
    answer:
      thread: "'pr=' & pull_request.number"
      output: "{ 'approved': review.state = 'approved', 'why': review.body }"
"#;

/// A home with a thread that waits for its approver, labelled `pr=7`.
fn waiting() -> (TestHome, String) {
    let home = home();
    home.script("writer", "#!/bin/sh\ncat > /dev/null\necho write >> written.txt\necho '{\"post\": \"Rain.\"}'\n");
    home.config(&format!(
        "agents:\n  w: {{ command: writer, output: json }}\n  human: {{ command: uwf-human }}\ndefaultAgent: w\n\
         agentOverrides:\n  publish-post: {{ approver: human }}\n{APPROVE}"
    ));
    std::fs::write(home.root().join(".env"), format!("TRIAGE_SECRET=\"{SECRET}\"\n")).unwrap();
    home.put("publish-post", PUBLISH);
    let start = ["thread", "start", "publish-post", "-p", "On rain", "--label", "pr=7"];
    let thread = text(&home.json(&start), "thread");
    assert_eq!(home.uwf(&["run", &thread]).code, Some(20));
    (home, thread)
}

fn review(state: &str, body: &str) -> Value {
    json!({
        "action": "submitted", "pull_request": { "number": 7 }, "review": { "state": state, "body": body },
        "sender": { "login": "octocat" },
    })
}

fn shown(home: &TestHome, thread: &str) -> Value {
    home.json(&["thread", "show", thread])
}

#[test]
fn delivery_answers_waiting_thread_and_continues_it() {
    let (home, thread) = waiting();
    let server = TestServer::start(&home, &["--hooks"]);
    let answer = deliver(&server, "approve", "d-1", &review("approved", "Fine."));
    assert_eq!(answer.status, 200, "{answer:?}");
    let report = answer.json();
    assert_eq!((&report["status"], &report["role"]), (&json!("answered"), &json!("approver")));
    assert_eq!(text(&report, "thread"), thread);
    until("the thread has ended", || shown(&home, &thread)["state"] == "completed");
    let step = home.last_step(&thread);
    assert_eq!(step["output"], json!({ "approved": true, "why": "Fine." }));
    assert!(step.to_string().contains("hook:approve octocat"), "{step}");
}

#[test]
fn repeated_delivery_never_answers_later_question() {
    let (home, thread) = waiting();
    let server = TestServer::start(&home, &["--hooks"]);
    let rejected = review("changes_requested", "Too short.");
    assert_eq!(deliver(&server, "approve", "d-1", &rejected).json()["status"], "answered");
    until("the thread waits again", || {
        let shown = shown(&home, &thread);
        shown["state"] == "waiting" && shown["steps"] == 3
    });
    let again = deliver(&server, "approve", "d-1", &rejected);
    assert_eq!((again.status, &again.json()["status"]), (200, &json!("already answered")), "{again:?}");
    assert_eq!(shown(&home, &thread)["steps"], 3);
    assert_eq!(deliver(&server, "approve", "d-2", &review("approved", "Now.")).json()["status"], "answered");
    until("the thread has ended", || shown(&home, &thread)["state"] == "completed");
    assert_eq!(shown(&home, &thread)["steps"], 4);
}

#[test]
fn thread_that_does_not_wait_is_conflict() {
    let (home, thread) = waiting();
    let server = TestServer::start(&home, &["--hooks"]);
    let unfit = deliver(
        &server,
        "approve",
        "d-0",
        &json!({ "action": "submitted", "pull_request": { "number": 7 }, "review": { "state": "approved", "body": 7 } }),
    );
    assert_eq!(unfit.status, 422, "{unfit:?}");
    assert_eq!(shown(&home, &thread)["state"], "waiting");
    // The same delivery, corrected: an answer that did not fit was not given.
    assert_eq!(deliver(&server, "approve", "d-0", &review("approved", "Fine.")).json()["status"], "answered");
    until("the thread has ended", || shown(&home, &thread)["state"] == "completed");
    let late = deliver(&server, "approve", "d-1", &review("approved", "Fine."));
    assert_eq!(late.status, 409, "{late:?}");
    assert!(text(&late.json()["error"], "message").contains("no thread with the label pr=7 waits"), "{late:?}");
    assert_eq!(deliver(&server, "approve", "d-2", &json!({ "action": "edited" })).json()["status"], "ignored");
}

#[test]
fn several_waiting_threads_are_conflict() {
    let (home, _) = waiting();
    let start = ["thread", "start", "publish-post", "-p", "On snow", "--label", "pr=7"];
    let other = text(&home.json(&start), "thread");
    assert_eq!(home.uwf(&["run", &other]).code, Some(20));
    let server = TestServer::start(&home, &["--hooks"]);
    let refused = deliver(&server, "approve", "d-1", &review("approved", "Fine."));
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(refused.body.contains(&other), "{refused:?}");
}

#[test]
fn simultaneous_answers_of_one_delivery_count_once() {
    let (home, thread) = waiting();
    let server = TestServer::start(&home, &["--hooks"]);
    let payload = review("approved", "Fine.");
    let answers: Vec<_> = std::thread::scope(|scope| {
        let sent: Vec<_> = (0..4).map(|_| scope.spawn(|| deliver(&server, "approve", "d-1", &payload))).collect();
        sent.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let answered =
        answers.iter().filter(|answer| answer.status == 200 && answer.json()["status"] == "answered").count();
    assert_eq!(answered, 1, "{answers:?}");
    let repeated =
        answers.iter().filter(|answer| answer.status == 200 && answer.json()["status"] == "already answered");
    assert_eq!(repeated.count(), 3, "{answers:?}");
    until("the thread has ended", || shown(&home, &thread)["state"] == "completed");
    assert_eq!(shown(&home, &thread)["steps"], 2);
}

#[test]
fn simultaneous_deliveries_follow_each_other() {
    let (home, thread) = waiting();
    let server = TestServer::start(&home, &["--hooks"]);
    let payload = review("approved", "Fine.");
    let answers: Vec<_> = std::thread::scope(|scope| {
        let (server, payload) = (&server, &payload);
        let send = |number: u32| scope.spawn(move || deliver(server, "approve", &format!("d-{number}"), payload));
        let sent: Vec<_> = (0..5).map(send).collect();
        sent.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let (answered, late): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!((answered.len(), &answered[0].json()["status"]), (1, &json!("answered")), "{answers:?}");
    for answer in late {
        let message = text(&answer.json()["error"], "message");
        assert!(answer.status == 409 && message.contains("no thread with the label pr=7 waits"), "{answers:?}");
    }
    until("the thread has ended", || shown(&home, &thread)["state"] == "completed");
}

#[test]
fn text_replies_to_question_of_agent() {
    let home = home();
    home.script(
        "worker",
        "#!/bin/sh\nif grep -q 'PostgreSQL, please'; then printf -- '---\\nn: 2\\n---\\nDone.\\n'; exit; fi\n\
         printf -- '---\\nstatus: needs_input\\n---\\nWhich database?\\n'\n",
    );
    home.config(
        "agents:\n  w: { command: worker, output: text }\ndefaultAgent: w\nkillGrace: 1\n\
         hooks:\n  reply: { secretEnv: TRIAGE_SECRET, answer: { thread: thread, output: comment.body } }\n",
    );
    std::fs::write(home.root().join(".env"), format!("TRIAGE_SECRET=\"{SECRET}\"\n")).unwrap();
    let thread = home.start_counting(1, "choose");
    assert_eq!(home.uwf(&["run", &thread]).code, Some(20));
    let server = TestServer::start(&home, &["--hooks"]);
    let payload =
        json!({ "thread": thread, "comment": { "body": "PostgreSQL, please" }, "sender": { "login": "octocat" } });
    assert_eq!(deliver(&server, "reply", "d-1", &payload).json()["status"], "answered");
    until("the thread has ended", || shown(&home, &thread)["state"] == "completed");
    let record = std::fs::read_to_string(home.record_file(&thread)).unwrap();
    assert!(record.contains("hook:reply octocat"), "{record}");
    assert_eq!(deliver(&server, "reply", "d-1", &payload).json()["status"], "already answered");
    let invalid = json!({ "thread": "everything", "comment": { "body": "x" } });
    assert_eq!(deliver(&server, "reply", "d-2", &invalid).status, 422);
}

#[test]
fn redelivery_completes_interrupted_answer() {
    for wait in [0, 15, 40, 80, 300] {
        let (home, thread) = waiting();
        let mut server = TestServer::start(&home, &["--hooks"]);
        let payload = review("approved", "Fine.");
        let body = payload.to_string();
        let signed = signature(&body);
        let headers =
            [("content-type", "application/json"), ("x-github-delivery", "d-1"), ("x-hub-signature-256", &*signed)];
        let sent = server.open("POST", "/hooks/approve", &headers, &body);
        std::thread::sleep(std::time::Duration::from_millis(wait));
        server.kill();
        drop(sent);
        let server = TestServer::start(&home, &["--hooks"]);
        // The command of the killed server may still be at work.
        until("the delivery is accepted", || deliver(&server, "approve", "d-1", &payload).status == 200);
        until("the thread has ended", || shown(&home, &thread)["state"] == "completed");
        assert_eq!(shown(&home, &thread)["steps"], 2, "after {wait} ms");
    }
}
