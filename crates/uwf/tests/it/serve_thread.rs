//! `uwf serve`: the page of a thread.

use uwf_testing::server::TestServer;

use crate::fixtures::child_threads;
use crate::fixtures::review::{hashes, reviewing_home, step};
use crate::home;

#[test]
fn role_of_child_thread_links_to_it() {
    let home = child_threads::staffed();
    let thread = child_threads::planned(&home);
    child_threads::go(&home);
    step(&home, &thread, 1);
    let child = child_threads::child_of(&home, &thread);
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/threads/{thread}")).body;
    let link = format!("Played by the child thread <a href=\"/threads/{child}\">");
    assert!(page.contains(&link), "{page}");
    // The first lane belongs to the role `plan`, so the second is the child thread.
    let bars = page.split("<span class=\"lanes\">").nth(2).and_then(|rest| rest.split("</span>").next()).unwrap();
    let steps = home.json(&["thread", "steps", &child]);
    let worked = steps["steps"].as_array().unwrap().iter().filter(|step| step["role"].is_string()).count();
    assert_eq!(bars.matches("<rect class=\"works\"").count(), worked, "a bar for each step of the child: {bars}");
}

#[test]
fn time_axis_shows_failures_and_waits() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\nexit 3\n");
    let thread = home.start_counting(2, "count");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    home.script("worker", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    step(&home, &thread, 1);
    std::thread::sleep(std::time::Duration::from_millis(2500));
    step(&home, &thread, 1);
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/threads/{thread}")).body;
    let bars: Vec<&str> = page.split("<span class=\"lanes\">").skip(1).collect();
    let has =
        |bar: &str, class: &str| bar.split("</span>").next().unwrap().contains(&format!("<rect class=\"{class}\""));
    assert_eq!(bars.len(), 2, "{page}");
    assert!(has(bars[0], "fails") && has(bars[0], "works") && !has(bars[0], "waits"), "{}", bars[0]);
    assert!(has(bars[1], "waits") && bars[1].contains("<title>waited 2."), "{}", bars[1]);
    assert!(page.contains("<div class=\"step-axis"), "{page}");
}

#[test]
fn approval_offers_outputs_of_earlier_roles() {
    let home = home();
    home.config("agents:\n  w: { command: w, output: json }\n  person: { command: uwf-human }\ndefaultAgent: w\nagentOverrides: { publish: { editor: person } }\n");
    home.script("w", "#!/bin/sh\ncat > /dev/null\necho \"{\\\"text\\\": \\\"$UWF_ROLE says moon\\\"}\"\n");
    let meta = "{ type: object, properties: { text: { type: string } }, required: [text] }";
    home.put(
        "publish",
        &format!(
            "name: publish\nroles:\n  writer: {{ goal: Write., meta: {meta} }}\n  reviewer: {{ goal: Review., meta: {meta} }}\n  editor: {{ goal: Decide., meta: {meta} }}\n\
             graph:\n  $START: [ {{ role: writer }} ]\n  writer: [ {{ role: reviewer }} ]\n  reviewer: [ {{ role: editor }} ]\n  editor: [ {{ role: $END }} ]\n"
        ),
    );
    let thread = home.start("publish", "A post");
    assert_eq!(home.uwf(&["run", &thread]).code, Some(20));
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/threads/{thread}")).body;
    let asked = page.split("class=\"decides\"").nth(1).unwrap().split("class=\"answer\"").next().unwrap();
    let (newest, earlier) = asked.split_once("writer").unwrap();
    assert!(newest.contains("<details open") && newest.contains("reviewer says moon"), "{asked}");
    assert!(earlier.contains("writer says moon"), "{asked}");
}

#[test]
fn damaged_thread_has_a_page_with_its_repair() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about zebras");
    step(&home, &thread, 1);
    let head = &hashes(&home, &thread)[1];
    let server = TestServer::start(&home, &[]);
    let file = home.root().join("cas").join(format!("{head}.bin"));
    assert!(file.exists());
    std::fs::write(&file, b"not a node").unwrap();
    let answer = server.page(&format!("/threads/{thread}"));
    assert_eq!(answer.status, 200, "{}", answer.body);
    for text in ["Damaged thread", &format!("uwf thread repair {thread}"), &thread[21..]] {
        assert!(answer.body.contains(text), "no {text} in {}", answer.body);
    }
}
