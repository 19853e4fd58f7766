//! Questions on ntfy, and answers from there: `notify.ntfy` and `uwf notify listen`.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use uwf_testing::TestHome;
use uwf_testing::ntfy_server::NtfyServer;
use uwf_testing::processes::{signal, until};

use crate::fixtures::listening::{ReplyListener, answer, message, notify_of_questions, steps};
use crate::fixtures::people::{answers, staffed, waiting};
use crate::home;

/// A home whose questions go to `news` of a server, with answers on `answers`.
fn connected(server: &NtfyServer, more: &str) -> TestHome {
    let home = staffed();
    notify_of_questions(&home, &format!("ntfy: {{ server: \"{}\", topic: news, replies: answers{more} }}", server.url));
    home
}

fn question(server: &NtfyServer, number: usize) -> Value {
    message(|| server.messages("news"), number)
}

/// The text of the last message, once there are so many.
fn told(server: &NtfyServer, messages: usize) -> String {
    text_of(&question(server, messages - 1))
}

fn text_of(message: &Value) -> String {
    message["message"].as_str().unwrap_or_default().to_owned()
}

/// The code of the question in a message.
fn code(message: &Value) -> String {
    let text = text_of(message);
    let code = text.split_once("send `").and_then(|(_, rest)| rest.split_once(" YOUR ANSWER`"));
    code.unwrap_or_else(|| panic!("no code in {text}")).0.to_owned()
}

#[test]
fn button_answers_question() {
    let server = NtfyServer::start(None);
    let home = connected(&server, "");
    let thread = waiting(&home);
    let asked = question(&server, 0);
    assert_eq!(asked["title"], "publish-post: approver asks");
    let text = text_of(&asked);
    assert!(text.contains("Decide whether the post goes out.") && text.contains("Hello"), "{asked:#}");
    let labels: Vec<&Value> = asked["actions"].as_array().unwrap().iter().map(|action| &action["label"]).collect();
    assert_eq!(labels, ["approved: yes", "approved: no"]);
    let listener = ReplyListener::start(&home);
    server.press(&asked, 0);
    assert_eq!(told(&server, 2), "Recorded. The thread has ended.");
    assert_eq!(answer(&home, &thread), (json!("ntfy:answers"), json!({ "approved": true })));
    let read = home.uwf(&["thread", "read", &thread]).stdout;
    assert!(read.contains("answered by ntfy:answers"), "{read}");
    signal(listener.pid(), "INT");
    let mut listener = listener;
    assert_eq!(listener.code(), Some(0));
    listener.until_said("stopped");
}

#[test]
fn text_answers_question_as_typed() {
    let server = NtfyServer::start(None);
    let home = connected(&server, "");
    let thread = home.start("dictate-note", "Say something.");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    let asked = question(&server, 0);
    assert_eq!(asked.get("actions"), None);
    let _listener = ReplyListener::start(&home);
    server.write("answers", &format!("{} ab", code(&asked)));
    let refused = told(&server, 2);
    assert!(refused.starts_with("Not recorded: the answer does not fit role `author`"), "{refused}");
    server.write("answers", "What a day");
    assert!(told(&server, 3).starts_with("Unknown question `WHAT`."), "{}", told(&server, 3));
    assert_eq!(steps(&home, &thread), 0);
    let words = "---\nmood: bad\n---\n{\"note\": \"other\"}\n`rm -rf $HOME` --data=x";
    server.write("answers", &format!("{}: {words}", code(&asked).to_lowercase()));
    assert_eq!(told(&server, 4), "Recorded. The thread has ended.");
    assert_eq!(answer(&home, &thread).1, json!({ "note": words }));
}

#[test]
fn second_answer_learns_who_was_first() {
    let server = NtfyServer::start(None);
    let home = connected(&server, "");
    let thread = waiting(&home);
    let asked = question(&server, 0);
    let ran = answers(&home, &thread, &["--data", "{\"approved\": false}", "--by", "bob"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    home.json(&["thread", "step", &thread]);
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    let next = question(&server, 1);
    let _listener = ReplyListener::start(&home);
    server.press(&asked, 0);
    let refused = told(&server, 3);
    let expected = format!("Not recorded: role `approver` of thread {thread} was already answered by bob at ");
    assert!(refused.starts_with(&expected), "{refused}");
    assert_eq!(steps(&home, &thread), 3, "the late answer is for no other question");
    server.write("answers", &format!("{} Yes.", code(&next)));
    assert_eq!(told(&server, 4), "Recorded. The thread has ended.");
    server.press(&next, 1);
    assert!(told(&server, 5).contains("was already answered by ntfy:answers at "), "{}", told(&server, 5));
    assert_eq!(answer(&home, &thread).1, json!({ "approved": true }));
}

/// Asks until the reply names a fruit.
const ASKING: &str = r"#!/bin/sh
if grep -q 'Apples, please'; then printf -- '---\nn: 1\n---\n'; exit; fi
printf -- '---\nstatus: needs_input\n---\nApples or pears?\n'
";

#[test]
fn agent_gets_reply_of_a_person() {
    let server = NtfyServer::start(None);
    let home = home();
    home.worker("output: text", ASKING);
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    let rule = format!("ntfy: {{ server: \"{}\", topic: news, replies: answers }}", server.url);
    home.config(&format!("{config}notify: {{ on: waiting, {rule} }}\n"));
    let thread = home.start_counting(1, "choose");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    let asked = question(&server, 0);
    assert!(text_of(&asked).starts_with("Apples or pears?"), "{asked:#}");
    let _listener = ReplyListener::start(&home);
    server.write("answers", &format!("{} Apples, please", code(&asked)));
    assert_eq!(told(&server, 2), "Recorded. Next: worker.");
    assert_eq!(home.json(&["thread", "show", &thread])["answeredBy"], "ntfy:answers");
    let ran = answers(&home, &thread, &["-m", "Apples, please", "--by", "bob"]);
    assert_eq!(ran.code, Some(75), "{ran:?}");
    assert!(ran.stdout.contains("already answered by ntfy:answers at "), "{ran:?}");
    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    server.write("answers", &format!("{} Pears, please", code(&asked)));
    assert!(told(&server, 3).contains("was already answered by ntfy:answers at "), "{}", told(&server, 3));
}

#[test]
fn killed_listener_loses_and_repeats_nothing() {
    let server = NtfyServer::start(None);
    let home = connected(&server, "");
    // Its answer arrives before the first listener starts.
    let threads: Vec<String> = (0..6).map(|_| waiting(&home)).collect();
    until("all were asked", || server.messages("news").len() == threads.len());
    for asked in server.messages("news") {
        server.press(&asked, 0);
    }
    for milliseconds in [0, 60, 150, 300, 500, 800] {
        ReplyListener::start(&home).kill_after(Duration::from_millis(milliseconds));
    }
    let _listener = ReplyListener::start(&home);
    let is_done = |thread: &String| home.json(&["thread", "show", thread])["done"] == true;
    until("all are answered", || threads.iter().all(is_done));
    let inbox = home.root().join("messages/inbox");
    // A kill may leave a temporary file.
    let is_reply = |name: &str| name.ends_with(".json");
    let names = || fs::read_dir(&inbox).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    until("all replies are handled", || !names().any(|name| is_reply(&name)));
    for thread in &threads {
        assert_eq!(steps(&home, thread), 2);
        assert_eq!(answer(&home, thread), (json!("ntfy:answers"), json!({ "approved": true })));
    }
    let told: Vec<String> = server.messages("news").iter().skip(threads.len()).map(text_of).collect();
    assert!(told.iter().all(|told| told.starts_with("Recorded.")), "{told:?}");
}

#[test]
fn misbehaving_server_is_survived() {
    let server = NtfyServer::start(None);
    let home = connected(&server, "");
    let thread = waiting(&home);
    let asked = question(&server, 0);
    let garbage = format!(
        "\n\0\u{fffd}\nnull\n[]\n{{\"event\": \"message\"}}\n{{\"event\": \"message\", \"id\": \"../x\"}}\n{{\"id\": 1}}\n{}\n",
        "x".repeat(1 << 20)
    );
    server.misbehave(&garbage, 2);
    let listener = ReplyListener::start(&home);
    until("it listens", || server.streams() == 1);
    assert!(listener.said().contains("trying again"), "{}", listener.said());
    server.drop_streams();
    until("it listens again", || server.since().len() == 2 && server.streams() == 1);
    server.press(&asked, 0);
    server.repeat(&server.messages("answers")[0]);
    assert_eq!(told(&server, 2), "Recorded. The thread has ended.");
    server.drop_streams();
    until("it listens again", || server.since().len() == 3);
    let pressed = server.messages("answers")[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(server.since()[2], pressed);
    server.write("answers", "x");
    assert!(told(&server, 3).starts_with("Unknown question"), "the repetition was recognized");
    assert_eq!(steps(&home, &thread), 2);
}

#[test]
fn token_is_sent_and_its_rejection_ends_listening() {
    let server = NtfyServer::start(Some("tk_good"));
    let home = connected(&server, ", tokenEnv: NTFY_TOKEN, replyTokenEnv: NTFY_REPLY_TOKEN");
    fs::write(home.root().join(".env"), "NTFY_TOKEN=tk_good\nNTFY_REPLY_TOKEN=tk_reply\n").unwrap();
    let thread = waiting(&home);
    let asked = question(&server, 0);
    assert_eq!(asked["actions"][0]["headers"], json!({ "Authorization": "Bearer tk_reply" }));
    {
        let _listener = ReplyListener::start(&home);
        server.press(&asked, 0);
        assert_eq!(told(&server, 2), "Recorded. The thread has ended.");
    }
    fs::write(home.root().join(".env"), "NTFY_TOKEN=tk_wrong\nNTFY_REPLY_TOKEN=tk_reply\n").unwrap();
    let mut listener = ReplyListener::start(&home);
    assert_eq!(listener.code(), Some(78));
    assert!(!listener.said().contains("tk_wrong"), "{}", listener.said());
    assert_eq!(steps(&home, &thread), 2);
}

#[test]
fn answers_are_off_unless_configured() {
    let server = NtfyServer::start(None);
    let home = staffed();
    let ran = home.uwf(&["notify", "listen"]);
    assert_eq!(ran.code, Some(78), "{ran:?}");
    notify_of_questions(&home, &format!("ntfy: {{ server: \"{}\", topic: news }}", server.url));
    let thread = waiting(&home);
    let asked = question(&server, 0);
    assert_eq!(asked.get("actions"), None);
    assert!(text_of(&asked).contains(&format!("Answer it: uwf thread answer {thread}")), "{asked:#}");
    assert_eq!(home.uwf(&["notify", "listen"]).code, Some(78));
    notify_of_questions(&home, &format!("ntfy: {{ server: \"{}\", topic: news, replies: news }}", server.url));
    for refused in [["notify", "listen"], ["config", "validate"], ["thread", "cost"]] {
        let ran = home.uwf(&refused);
        assert_eq!(ran.code, Some(78), "{ran:?}");
        assert!(
            (ran.stdout.clone() + &ran.stderr).contains("`topic` and `replies` of `ntfy` are one topic"),
            "{ran:?}"
        );
    }
}

#[test]
fn one_listener_receives_replies() {
    let server = NtfyServer::start(None);
    let home = connected(&server, "");
    let _listener = ReplyListener::start(&home);
    until("it listens", || server.streams() == 1);
    assert_eq!(home.uwf(&["notify", "listen"]).code, Some(75));
}

#[test]
fn answered_thread_continues_if_configured() {
    let server = NtfyServer::start(None);
    let home = connected(&server, ", run: true, dashboard: \"http://127.0.0.1:1/\"");
    let thread = waiting(&home);
    let asked = question(&server, 0);
    assert_eq!(asked["click"], format!("http://127.0.0.1:1/threads/{thread}"));
    let _listener = ReplyListener::start(&home);
    server.press(&asked, 1);
    let recorded = told(&server, 2);
    let next = "Recorded. Next: writer. The thread continues.";
    // The question of the thread that continues may come first.
    until("it was told", || server.messages("news").iter().any(|message| text_of(message) == next));
    until("the writer wrote again", || steps(&home, &thread) == 3);
    until("it asks again", || home.json(&["thread", "show", &thread])["state"] == "waiting");
    drop(recorded);
}

#[test]
fn other_events_are_plain_messages() {
    let server = NtfyServer::start(None);
    let home = staffed();
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&format!("{config}notify: {{ on: ended, ntfy: {{ server: \"{}\", topic: news }} }}\n", server.url));
    let thread = waiting(&home);
    answers(&home, &thread, &["--data", "{\"approved\": true}"]);
    let ended = question(&server, 0);
    assert_eq!(ended["title"], "publish-post: succeeded");
    assert!(text_of(&ended).starts_with("Say hello."), "{ended:#}");
}

/// Two people review at the same time.
const PANEL: &str = "name: panel
description: two reviews
roles:
  security: &review
    goal: Look at it.
    meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] }
  tests: *review
  reviews: { play: [ security, tests ] }
graph:
  $START: [ { role: reviews } ]
  reviews: [ { role: $END } ]
";

#[test]
fn each_branch_asks_in_its_own_message() {
    let server = NtfyServer::start(None);
    let home = connected(&server, "");
    home.put("panel", PANEL);
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&config.replace("defaultAgent: mock", "defaultAgent: human"));
    let thread = home.start("panel", "Look.");
    assert_eq!(home.uwf(&["run", &thread]).code, Some(20));
    let both = [question(&server, 0), question(&server, 1)];
    let mut titles: Vec<&str> = both.iter().map(|asked| asked["title"].as_str().unwrap()).collect();
    titles.sort_unstable();
    assert!(titles[0].ends_with("security asks") && titles[1].ends_with("tests asks"), "{titles:?}");
    let _listener = ReplyListener::start(&home);
    server.press(&both[0], 0);
    assert!(told(&server, 3).starts_with("Recorded."), "{}", told(&server, 3));
    server.press(&both[1], 1);
    assert!(told(&server, 4).starts_with("Recorded."), "{}", told(&server, 4));
    assert_eq!(home.json(&["run", &thread])["done"], true);
}
