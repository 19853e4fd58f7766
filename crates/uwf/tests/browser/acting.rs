//! What people do on pages.

use std::process::Command;

use serde_json::{Value, json};
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, text};

use crate::browse;
use crate::showcase::Showcase;

/// Goes through a case of `actions.py` with a showcase, and returns that.
fn act(case: &str, with: impl FnOnce(&Showcase) -> Value) -> Showcase {
    let showcase = Showcase::new();
    let server = TestServer::start(&showcase.home, &[]);
    browse(&showcase.home, &server, &format!("actions.{case}"), with(&showcase));
    showcase
}

/// Roles of a thread's steps, in order.
fn roles(showcase: &Showcase, thread: &str) -> Vec<String> {
    let steps = showcase.home.json(&["thread", "steps", thread]);
    steps["steps"].as_array().unwrap().iter().filter_map(|step| Some(step["role"].as_str()?.to_owned())).collect()
}

fn state(showcase: &Showcase, thread: &str) -> String {
    text(&showcase.home.json(&["thread", "show", thread]), "state")
}

#[test]
fn a_person_answers_on_the_first_page() {
    let showcase = act("answers", |it| json!({ "thread": it.waiting }));
    assert!(roles(&showcase, &showcase.waiting).contains(&"editor".to_owned()));
    assert_eq!(state(&showcase, &showcase.waiting), "completed", "one click answered and ran it");
}

#[test]
fn message_on_a_phone_covers_nothing_needed() {
    act("tells_on_a_phone", |it| json!({ "thread": it.waiting }));
}

#[test]
fn a_person_answers_with_keys_only() {
    let showcase = act("answers_with_keys", |it| json!({ "thread": it.waiting }));
    assert!(roles(&showcase, &showcase.waiting).contains(&"editor".to_owned()));
}

#[test]
fn stale_answer_is_refused_and_shown() {
    act("refuses_a_stale_answer", |it| json!({ "thread": it.waiting }));
}

#[test]
fn person_answers_on_thread_page() {
    let showcase = act("answers_on_its_page", |it| json!({ "thread": it.waiting }));
    assert!(roles(&showcase, &showcase.waiting).contains(&"editor".to_owned()));
}

/// A writer in a worktree, and a person who approves what it wrote.
const APPROVED: &str = "name: approve-post
workspace: worktree
roles:
  writer: { run: \"printf 'one\\ntwo\\n' > post.md\" }
  editor:
    goal: Decide.
    meta: { type: object, properties: { out: { type: boolean } }, required: [out] }
graph:
  $START: [ { role: writer } ]
  writer: [ { role: editor } ]
  editor: [ { role: $END } ]
";

#[test]
fn approval_in_list_unfolds_changed_files() {
    let home = TestHome::new(uwf_testing::uwf_program());
    home.config("agents: { person: { command: uwf-human } }\ndefaultAgent: person\n");
    home.put("approve-post", APPROVED);
    for command in ["init -q", "-c user.name=a -c user.email=a@example.org commit -q --allow-empty -m empty"] {
        let mut git = Command::new("git");
        git.args(command.split(' ')).current_dir(home.work());
        assert!(git.status().unwrap().success());
    }
    assert_eq!(home.uwf(&["run", "approve-post", "-p", "A post"]).code, Some(20));
    let server = TestServer::start(&home, &[]);
    browse(&home, &server, "actions.unfolds_changed_files", json!({}));
}

#[test]
fn page_of_labelled_thread_follows_its_answer() {
    let showcase = act("answers_a_labelled_thread", |it| {
        assert_eq!(it.home.uwf(&["thread", "label", &it.waiting, "--set", "team=web"]).code, Some(0));
        json!({ "thread": it.waiting })
    });
    assert_eq!(state(&showcase, &showcase.waiting), "completed");
}

#[test]
fn keys_act_only_on_chosen_row() {
    let showcase = act("presses_keys_without_a_row", |_| json!({}));
    assert_eq!(state(&showcase, &showcase.stuck), "stuck");
    assert_eq!(state(&showcase, &showcase.active), "active");
}

#[test]
fn a_form_starts_a_thread_and_runs_it() {
    act("starts", |_| json!({ "workflow": "publish-post" }));
}

#[test]
fn a_workflow_is_edited_and_saved() {
    let showcase = act("edits", |_| json!({}));
    let versions = showcase.home.json(&["workflow", "history", "publish-post"]);
    assert_eq!(versions.as_array().map(Vec::len), Some(3), "{versions}");
}

/// A workflow with an input of each kind of field, and one round.
const ASKING: &str = "name: release-post
description: x
input:
  type: object
  properties:
    version: { type: string, description: The version to release }
    level: { enum: [low, high], default: low, description: How loud }
    dry: { type: boolean, default: true, description: Change nothing }
    copies: { type: integer, minimum: 1 }
    tags: { type: array, items: { type: string } }
  required: [version]
roles:
  writer: { goal: Write the post. }
graph:
  $START: [ { role: writer } ]
  writer: [ { role: $END } ]
";

#[test]
fn form_made_from_a_schema_sends_the_input() {
    let showcase = Showcase::new();
    showcase.home.put("release-post", ASKING);
    let server = TestServer::start(&showcase.home, &[]);
    browse(&showcase.home, &server, "actions.gives_inputs", json!({ "workflow": "release-post" }));
    let rows = showcase.home.json(&["thread", "list", "--all"]);
    let inputs = rows.as_array().unwrap().iter().filter_map(|row| {
        let shown = showcase.home.json(&["thread", "show", &text(row, "thread")]);
        shown.get("input").cloned()
    });
    let inputs: Vec<Value> = inputs.collect();
    let sent = json!({ "version": "1.10", "copies": 3, "tags": ["a", "b"], "level": "high", "dry": false });
    assert_eq!(inputs, vec![sent; 2], "one thread with scripts, and one without");
}

#[test]
fn a_form_that_starts_no_thread_says_why() {
    act("starts_nothing", |_| json!({ "workflow": "publish-post" }));
}

#[test]
fn thread_is_forked_from_thread_and_step_pages() {
    let showcase = act("forks", |it| json!({ "thread": it.done, "step": it.step(3) }));
    let all = showcase.home.json(&["thread", "list", "--all"]);
    assert_eq!(all.as_array().unwrap().len(), 5 + 4, "each form made one thread: {all}");
}

#[test]
fn thread_starts_again_with_another_task() {
    act("starts_again", |it| json!({ "thread": it.done }));
}

#[test]
fn two_threads_are_compared() {
    act("compares", |it| json!({ "threads": [it.done, it.waiting] }));
}

#[test]
fn ending_a_thread_is_asked_about_first() {
    let showcase = act("kills", |it| json!({ "thread": it.active }));
    assert_eq!(state(&showcase, &showcase.active), "killed");
}

#[test]
fn stuck_thread_is_retried_with_another_agent() {
    let showcase = act("retries", |it| json!({ "thread": it.stuck }));
    assert_eq!(roles(&showcase, &showcase.stuck), ["writer", "reviewer"]);
}

#[test]
fn stuck_thread_runs_after_one_click() {
    let showcase = act("retries_and_runs", |it| json!({ "thread": it.stuck }));
    assert_eq!(roles(&showcase, &showcase.stuck), ["writer", "reviewer", "writer", "reviewer"]);
}

#[test]
fn only_the_reached_limit_is_lifted() {
    let showcase = Showcase::new();
    let started = ["run", "publish-post", "-p", "Write to a limit.", "--max-steps", "2", "--max-tokens", "90000"];
    assert_eq!(showcase.home.uwf(&started).code, Some(30));
    let rows = showcase.home.json(&["thread", "list", "--state", "limited"]);
    let thread = text(&rows[0], "thread");
    let server = TestServer::start(&showcase.home, &[]);
    browse(&showcase.home, &server, "actions.lifts_a_limit", json!({ "thread": thread }));
    let limits = showcase.home.json(&["thread", "limit", &thread]);
    assert_eq!((&limits["limits"]["maxSteps"], &limits["limits"]["maxTokens"]), (&json!(9), &json!(90000)), "{limits}");
}

#[test]
fn a_thread_is_paused_and_resumed() {
    let showcase = act("pauses", |it| json!({ "thread": it.active }));
    assert_eq!(state(&showcase, &showcase.active), "active");
}

#[test]
fn several_selected_threads_are_paused() {
    let showcase = act("acts_on_several", |it| json!({ "active": it.active, "done": it.done }));
    assert_eq!(state(&showcase, &showcase.active), "paused");
}

#[test]
fn selected_thread_is_retried_with_another_agent() {
    let showcase = act("retries_with_another_agent", |it| json!({ "stuck": it.stuck }));
    assert_ne!(state(&showcase, &showcase.stuck), "stuck");
}

#[test]
fn selected_threads_get_label_and_view() {
    let showcase = act("labels_several", |it| json!({ "active": it.active, "done": it.done }));
    assert_eq!(showcase.home.json(&["thread", "show", &showcase.active])["labels"], json!({ "team": "web" }));
}

#[test]
fn hidden_page_announces_waiting_thread() {
    act("notifies", |_| json!({ "workflow": "publish-post" }));
}
