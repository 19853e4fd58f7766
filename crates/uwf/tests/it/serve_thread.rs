//! `uwf serve`: the page of a thread.

use uwf_testing::processes::until;
use uwf_testing::server::TestServer;
use uwf_testing::text;

use crate::fixtures::child_threads;
use crate::fixtures::repository::{home_with_repository, uwf_in};
use crate::fixtures::review::{hashes, reviewing_home, step};
use crate::home;
use crate::serve_actions::form;

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
    // The first row belongs to the role `plan`, so the second is the child thread. Its roles are below it, on the same axis.
    let row = rows(&page)[1];
    let steps = home.json(&["thread", "steps", &child]);
    let worked = steps["steps"].as_array().unwrap().iter().filter(|step| step["role"].is_string()).count();
    let (own, nested) = row.split_once("<ol class=\"nested\"").unwrap();
    assert_eq!([own, nested].map(|part| part.matches("<rect class=\"works\"").count()), [worked, worked], "{row}");
}

/// The rows of the steps on a page.
fn rows(page: &str) -> Vec<&str> {
    let list = page.split("<ol class=\"steps\"").nth(1).unwrap().split("</section>").next().unwrap();
    list.split("<li class=\"step").skip(1).collect()
}

fn has_bar(row: &str, class: &str) -> bool {
    row.contains(&format!("<rect class=\"{class}\""))
}

#[test]
fn time_axis_shows_failures_and_waits() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\nexit 3\n");
    let thread = home.start_counting(2, "count");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(40));
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/threads/{thread}")).body;
    let row = rows(&page)[0];
    assert!(row.starts_with(" current\"") && row.contains("data-state=\"stuck\""), "{row}");
    assert!(has_bar(row, "fails") && !has_bar(row, "works") && row.contains("1 failed attempt"), "{row}");

    home.script("worker", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    step(&home, &thread, 1);
    std::thread::sleep(std::time::Duration::from_millis(2500));
    step(&home, &thread, 1);
    let page = server.page(&format!("/threads/{thread}")).body;
    let rows = rows(&page);
    assert_eq!(rows.len(), 2, "{page}");
    assert!(has_bar(rows[0], "fails") && has_bar(rows[0], "works") && !has_bar(rows[0], "waits"), "{}", rows[0]);
    assert!(has_bar(rows[1], "waits") && rows[1].contains("<title>waited "), "{}", rows[1]);
    assert!(page.contains("<div class=\"step-axis"), "{page}");
}

#[test]
fn running_attempt_has_a_bar() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\ntouch begun\nexec sleep 600\n");
    let thread = home.start_counting(2, "count");
    let mut run = home.command(&["thread", "step", &thread]).spawn().unwrap();
    until("the agent is at work", || home.work().join("begun").exists());
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/threads/{thread}")).body;
    let row = rows(&page)[0];
    assert!(row.contains("data-state=\"running\"") && has_bar(row, "runs") && !has_bar(row, "fails"), "{row}");
    home.json(&["thread", "kill", &thread]);
    run.wait().unwrap();
}

#[test]
fn steps_name_the_condition_with_its_values() {
    let home = reviewing_home();
    let task = format!("Write about {}", "very long words ".repeat(15).trim());
    let thread = home.start("review-text", &task);
    step(&home, &thread, 3);
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/threads/{thread}")).body;
    assert!(page.contains(&format!("<h1>{task}</h1>")), "the task is not cut: {page}");
    let rows = rows(&page);
    assert!(rows[0].contains("<span>title: Fix #42</span>") && rows[0].contains("<span>tags: 2</span>"), "{}", rows[0]);
    assert!(rows[1].contains("<span class=\"bad\">approved: no</span>"), "it sent the thread back: {}", rows[1]);
    let reason = "<span title=\"Not good yet.\">rejected</span> (approved is false) → <b>writer</b>";
    assert!(rows[2].contains(reason), "{}", rows[2]);
    assert!(rows[2].contains("<code class=\"formula\">steps[-1].output.approved = false</code> gave"), "{}", rows[2]);
    // An agent is its alias; the tooltip has its command.
    assert!(rows[0].contains("<span title=\"writer\">writer</span>"), "{}", rows[0]);
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
fn approval_shows_the_changed_files() {
    let home = home_with_repository(9);
    home.config("agents:\n  w: { command: worker, output: json }\n  person: { command: uwf-human }\ndefaultAgent: w\nagentOverrides: { publish: { editor: person } }\n");
    let number = "{ type: object, properties: { n: { type: integer } }, required: [n] }";
    let tags = "{ type: object, properties: { tags: { type: array, items: { type: string } }, note: { type: string } }, required: [tags] }";
    home.put(
        "publish",
        &format!(
            "name: publish\nworkspace: worktree\nroles:\n  writer: {{ goal: Write., meta: {number} }}\n  editor: {{ goal: Decide., meta: {tags} }}\n\
             graph:\n  $START: [ {{ role: writer }} ]\n  writer: [ {{ role: editor }} ]\n  editor: [ {{ role: $END }} ]\n"
        ),
    );
    let started = uwf_in(&home, &home.work().join("repo"), &["thread", "start", "publish", "-p", "A post"]).json();
    let thread = text(&started, "thread");
    assert_eq!(home.uwf(&["run", &thread]).code, Some(20));
    let server = TestServer::start(&home, &[]);
    let page = server.page(&format!("/threads/{thread}")).body;
    let asked = page.split("class=\"decides\"").nth(1).unwrap().split("class=\"answer\"").next().unwrap();
    for part in ["<details id=\"files\" open", "+2 −0 in 2 files", "<code>step-1.txt</code>", "<ins>+step 1\n</ins>"]
    {
        assert!(asked.contains(part), "no {part} in {asked}");
    }
    assert!(page.contains("<a href=\"#files\">+2"), "{page}");
    // A list of texts is typed with one on each line.
    assert!(page.contains("One on each line."), "{page}");
    let head = text(&home.json(&["thread", "show", &thread]), "head");
    let fields = format!("expectedHead={head}&output.tags=one%0Atwo%2C+three%0A&output.note=yes");
    let answer = form(&server, &format!("/api/threads/{thread}/answer"), &fields);
    assert_eq!(answer.status, 303, "{}", answer.body);
    let steps = home.json(&["thread", "steps", &thread]);
    assert_eq!(
        steps["steps"][2]["output"],
        serde_json::json!({ "tags": ["one", "two, three"], "note": "yes" }),
        "{steps}"
    );
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
