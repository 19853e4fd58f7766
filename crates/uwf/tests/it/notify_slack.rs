//! Questions in Slack, and answers from there: `notify.slack` and `uwf notify listen`.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use uwf_testing::processes::until;
use uwf_testing::slack_server::SlackServer;
use uwf_testing::{TestHome, text};

use crate::fixtures::listening::{ReplyListener, answer, message, notify_of_questions, steps};
use crate::fixtures::people::{answers, staffed, waiting};

const ADA: (&str, &str) = ("U1", "ada");

/// A home whose questions go to a channel of a server.
fn connected(server: &SlackServer, more: &str) -> TestHome {
    let home = staffed();
    let tokens = "botTokenEnv: SLACK_BOT_TOKEN, appTokenEnv: SLACK_APP_TOKEN";
    notify_of_questions(&home, &format!("slack: {{ server: \"{}\", channel: C0100, {tokens}{more} }}", server.url));
    fs::write(home.root().join(".env"), "SLACK_BOT_TOKEN=xoxb-good\nSLACK_APP_TOKEN=xapp-good\n").unwrap();
    home
}

/// The message with this number, once uwf knows its name.
fn question(home: &TestHome, server: &SlackServer, number: usize) -> Value {
    let asked = message(|| server.messages(), number);
    let ts = asked["ts"].as_str().unwrap().to_owned();
    let sent = home.root().join("messages/sent.jsonl");
    until("the message is recorded", || fs::read_to_string(&sent).unwrap_or_default().contains(&ts));
    asked
}

/// The response with this number.
fn response(server: &SlackServer, number: usize) -> String {
    until("there is a response", || server.responses().len() > number);
    server.responses()[number].clone()
}

#[test]
fn button_answers_question_and_disappears() {
    let server = SlackServer::start();
    let home = connected(&server, "");
    let thread = waiting(&home);
    let asked = question(&home, &server, 0);
    assert_eq!(asked["channel"], "C0100");
    let listener = ReplyListener::start(&home);
    let pressed = server.press(&asked, 0, ADA);
    assert_eq!(response(&server, 0), "Recorded. The thread has ended.");
    assert_eq!(answer(&home, &thread), (json!("slack:ada (U1)"), json!({ "approved": true })));
    assert_eq!(server.acknowledged(), [pressed["envelope_id"].as_str().unwrap()]);
    let closed = &server.calls("chat.update")[0];
    assert_eq!(closed["ts"], asked["ts"]);
    assert!(closed["text"].as_str().unwrap().ends_with("answered by slack:ada (U1)"), "{closed:#}");
    listener.until_said("answered by slack:ada (U1): Recorded.");
}

#[test]
fn reply_in_thread_answers_as_typed() {
    let server = SlackServer::start();
    let home = connected(&server, "");
    let thread = home.start("dictate-note", "Say something.");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    let asked = question(&home, &server, 0);
    let _listener = ReplyListener::start(&home);
    let elsewhere = json!({ "ts": "5.5" });
    server.reply(&elsewhere, "U2", "lunch?");
    server.reply(&asked, "U2", "a &lt;b&gt; &amp;amp; <http://x.example|x.example>, <@U9> {\"note\": 1}");
    assert_eq!(response(&server, 0), "Recorded. The thread has ended.");
    let words = "a <b> &amp; x.example, @U9 {\"note\": 1}";
    assert_eq!(answer(&home, &thread), (json!("slack:U2"), json!({ "note": words })));
    assert_eq!(server.responses().len(), 1, "other threads of the channel get no response");
}

#[test]
fn second_answer_learns_who_was_first() {
    let server = SlackServer::start();
    let home = connected(&server, "");
    let thread = waiting(&home);
    let asked = question(&home, &server, 0);
    let _listener = ReplyListener::start(&home);
    server.press(&asked, 1, ADA);
    assert_eq!(response(&server, 0), "Recorded. Next: writer.");
    server.press(&asked, 0, ("U2", "bob"));
    let refused = response(&server, 1);
    let expected = format!("role `approver` of thread {thread} was already answered by slack:ada (U1) at ");
    assert!(refused.contains(&expected), "{refused}");
    let head = asked.to_string().split_once("\\\"head\\\":\\\"").unwrap().1[..13].to_owned();
    let ran = answers(&home, &thread, &["--data", "{\"approved\": true}", "--expect-head", &head]);
    assert_eq!(ran.code, Some(75));
    assert!(ran.stdout.contains("already answered by slack:ada (U1) at "), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let first = &report["error"]["answered"];
    assert_eq!(first["by"], "slack:ada (U1)");
    assert!(first["at"].as_u64().is_some_and(|at| at > 1_700_000_000_000), "{first}");
    assert_eq!((steps(&home, &thread), answer(&home, &thread).1), (2, json!({ "approved": false })));
}

/// The refusal of a reply that is no option lists the options, in words like those about an earlier answer.
#[test]
fn refused_reply_leaves_question_open() {
    let server = SlackServer::start();
    let home = connected(&server, "");
    home.put(
        "sort-mail",
        "name: sort-mail
roles:
  clerk:
    goal: Sort it.
    meta: { type: object, properties: { letter: { enum: [was already answered by me, open] } }, required: [letter] }
graph:
  $START: [ { role: clerk } ]
  clerk: [ { role: $END } ]
",
    );
    let started = home.json(&["thread", "start", "sort-mail", "-p", "A letter.", "--agent", "human"]);
    let thread = text(&started, "thread");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    let asked = question(&home, &server, 0);
    let _listener = ReplyListener::start(&home);
    server.reply(&asked, "U2", "perhaps");
    assert_eq!(response(&server, 0), "Expected one of: was already answered by me, open.");
    assert_eq!(server.calls("chat.update"), Vec::<Value>::new());

    let ran = answers(&home, &thread, &["--data", "{\"letter\": \"open\"}", "--by", "bob"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    server.press(&asked, 0, ADA);
    until("the question is closed", || !server.calls("chat.update").is_empty());
    let closed = &server.calls("chat.update")[0]["text"];
    assert!(closed.as_str().unwrap().contains("was already answered by bob at "), "{closed}");
}

#[test]
fn envelope_that_arrives_again_counts_once() {
    let server = SlackServer::start();
    let home = connected(&server, "");
    let thread = waiting(&home);
    let asked = question(&home, &server, 0);
    server.be_deaf(true);
    let pressed = server.press(&asked, 1, ADA);
    for milliseconds in [100, 300, 600] {
        ReplyListener::start(&home).kill_after(Duration::from_millis(milliseconds));
    }
    let _listener = ReplyListener::start(&home);
    until("it is answered", || steps(&home, &thread) == 2);
    server.be_deaf(false);
    server.drop_sockets();
    until("it was acknowledged", || !server.acknowledged().is_empty());
    let mut again = pressed.clone();
    again["envelope_id"] = "another".into();
    server.send(&again);
    until("the copy was acknowledged", || server.acknowledged().contains(&"another".to_owned()));
    server.press(&asked, 0, ("U2", "bob"));
    until("another person is refused", || server.responses().iter().any(|text| text.contains("already answered by")));
    let responses = server.responses();
    assert_eq!(responses.iter().filter(|text| text.contains("already answered by")).count(), 1, "{responses:?}");
    assert_eq!((steps(&home, &thread), answer(&home, &thread).1), (2, json!({ "approved": false })));
}

#[test]
fn misbehaving_server_is_survived() {
    let server = SlackServer::start();
    let home = connected(&server, "");
    let thread = waiting(&home);
    let asked = question(&home, &server, 0);
    let huge = "x".repeat(200_000);
    let disconnect = json!({ "type": "disconnect", "reason": "refresh_requested" }).to_string();
    server.misbehave(&["", "null", "{", &huge, "{\"type\": \"interactive\", \"envelope_id\": \"e\"}", &disconnect], 1);
    let _listener = ReplyListener::start(&home);
    until("the odd envelope was acknowledged", || server.acknowledged().contains(&"e".to_owned()));
    until("it is connected again", || server.sockets() == 1);
    // A message that is too long ends the connection.
    server.misbehave(&[&"y".repeat(3 << 20)], 0);
    server.drop_sockets();
    server.press(&asked, 0, ADA);
    assert_eq!(response(&server, 0), "Recorded. The thread has ended.");
    assert_eq!(steps(&home, &thread), 2);
}

#[test]
fn only_listed_users_may_answer() {
    let server = SlackServer::start();
    let home = connected(&server, ", users: [U1, U7]");
    let thread = waiting(&home);
    let asked = question(&home, &server, 0);
    let _listener = ReplyListener::start(&home);
    server.press(&asked, 0, ("U2", "U1"));
    assert_eq!(response(&server, 0), "You may not answer here: `users` does not list you.");
    assert_eq!((steps(&home, &thread), server.calls("chat.update").len()), (1, 0));
    server.reply(&asked, "U7", "Perhaps");
    assert_eq!(response(&server, 1), "Expected one of: approved: yes, approved: no.");
    server.reply(&asked, "U7", "yes");
    assert_eq!(response(&server, 2), "Recorded. The thread has ended.");
}

#[test]
fn wrong_tokens_are_reported() {
    let server = SlackServer::start();
    let home = connected(&server, "");
    fs::write(home.root().join(".env"), "SLACK_BOT_TOKEN=xoxb-bad\nSLACK_APP_TOKEN=xapp-bad\n").unwrap();
    let thread = waiting(&home);
    let log = home.root().join("threads").join(&thread).join("log.jsonl");
    until("the failure is in the log", || fs::read_to_string(&log).unwrap_or_default().contains("invalid_auth"));
    let mut listener = ReplyListener::start(&home);
    assert_eq!(listener.code(), Some(78));
    assert!(!listener.said().contains("xapp-bad"));
    let ran = home.uwf(&["notify", "listen"]);
    assert!(ran.stdout.contains("invalid_auth"), "{ran:?}");
}

#[test]
fn hostile_text_mentions_nobody() {
    let server = SlackServer::start();
    let home = connected(&server, "");
    let thread = home.start("dictate-note", "<!channel> <@U1> & <http://evil.example|bank>");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    let asked = question(&home, &server, 0).to_string();
    assert!(asked.contains("&lt;!channel&gt; &lt;@U1&gt; &amp;") && !asked.contains('<'), "{asked}");
}

#[test]
fn form_with_several_keys_needs_another_way() {
    let server = SlackServer::start();
    let home = connected(&server, ", dashboard: \"http://uwf.example\"");
    let workflow = crate::fixtures::people::DICTATE.replace("required: [note]", "required: [note, mood]");
    home.put("dictate-note", &workflow);
    let thread = home.start("dictate-note", "Say something.");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    let asked = question(&home, &server, 0);
    assert!(asked.to_string().contains(&format!("http://uwf.example/threads/{thread}")), "{asked:#}");
    let _listener = ReplyListener::start(&home);
    server.reply(&asked, "U1", "Something.");
    assert_eq!(response(&server, 0), "The answer needs several values, so a single reply can't give it.");
}

#[test]
fn socket_is_encrypted_with_checked_certificate() {
    let certificate = |name: &str| rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let (made, other) = (certificate("localhost"), certificate("localhost"));
    let server = SlackServer::start_encrypted(&made.cert.pem(), &made.signing_key.serialize_pem());
    let home = connected(&server, "");
    let thread = waiting(&home);
    let asked = question(&home, &server, 0);
    server.press(&asked, 0, ADA);
    let other = home.file("other.pem", &other.cert.pem());
    let distrusting = ReplyListener::start_with(&home, &[("SSL_CERT_FILE", &other.to_string_lossy())]);
    distrusting.until_said("trying again");
    assert!(distrusting.said().contains("certificate"), "{}", distrusting.said());
    drop(distrusting);
    assert_eq!((steps(&home, &thread), server.sockets()), (1, 0));
    let trusted = home.file("trusted.pem", &made.cert.pem());
    let _listener = ReplyListener::start_with(&home, &[("SSL_CERT_FILE", &trusted.to_string_lossy())]);
    assert_eq!(response(&server, 0), "Recorded. The thread has ended.");
}
