//! `thread list` and `thread steps`.

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::{TestHome, text};

use crate::review::{WORKFLOW, damage, hashes, reviewing_home, step};
use crate::{home, told};

/// A stuck thread, an active one and a finished one, oldest first.
fn three_threads(home: &TestHome) -> [String; 3] {
    let finished = home.start("review-text", "the first");
    step(home, &finished, 4);
    std::fs::remove_file(home.work().join("seen")).unwrap();
    let stuck = home.start("review-text", "the second");
    step(home, &stuck, 1);
    assert_eq!(home.uwf(&["thread", "step", &stuck, "--agent", "broken"]).code, Some(40));
    let active = home.start("review-text", "the third");
    [finished, stuck, active]
}

fn threads(report: &Value) -> Vec<String> {
    report.as_array().unwrap().iter().map(|row| text(row, "thread")).collect()
}

#[test]
fn an_empty_store_lists_nothing() {
    let home = home();
    assert_snapshot!(told(&home, &["thread", "list"]), @r"
    exit 0
    []
    ");
    assert_snapshot!(told(&home, &["thread", "list", "--all", "--format", "text"]), @r"
    exit 0
    no threads
    ");
    assert_eq!(
        home.uwf(&["thread", "list", "--format", "text"]).stdout,
        "no active threads; --all lists finished ones too\n"
    );
    assert_eq!(std::fs::read_dir(home.root()).unwrap().count(), 0, "nothing is written");
}

/// Both share their StartNode, which has the time of the first.
#[test]
fn a_second_thread_with_the_same_task_has_times_of_its_own() {
    let home = reviewing_home();
    let first = home.start("review-text", "the same task");
    std::thread::sleep(std::time::Duration::from_millis(20));
    let second = home.start("review-text", "the same task");
    let show = |thread: &str| home.json(&["thread", "show", thread]);
    let [one, two] = [&first, &second].map(|thread| show(thread));
    assert_eq!(one["head"], two["head"]);
    let started = two["startedAt"].as_u64().unwrap();
    assert!(started >= one["startedAt"].as_u64().unwrap() + 20, "{one} {two}");
    assert_eq!(two["changedAt"], json!(started));
    assert_eq!(home.json(&["thread", "list"])[0]["changedAt"], json!(started));
    assert_eq!(home.json(&["thread", "steps", &second])["steps"][0]["timestamp"], json!(started));
    let fork = text(&home.json(&["thread", "fork", &second]), "thread");
    assert_eq!(show(&fork)["changedAt"], show(&fork)["startedAt"]);
}

#[test]
fn threads_are_listed_newest_first() {
    let home = reviewing_home();
    let [finished, stuck, active] = three_threads(&home);
    assert_eq!(threads(&home.json(&["thread", "list"])), [active.clone(), stuck.clone()]);
    assert_eq!(threads(&home.json(&["thread", "list", "--all"])), [active, stuck, finished]);
    assert_snapshot!(told(&home, &["thread", "list", "--all"]), @r##"
    exit 0
    [{"thread":"<id>","workflow":"#1","head":"#2","state":"active","role":null,"startedAt":<ms>,"changedAt":<ms>,"workflowName":"review-text"},{"thread":"<id>","workflow":"#1","head":"#3","state":"stuck","role":"writer","startedAt":<ms>,"changedAt":<ms>,"why":"agent `broken` exited with 3; its last words: no licence for `claude`","workflowName":"review-text"},{"thread":"<id>","workflow":"#1","head":"#4","state":"completed","role":"reviewer","startedAt":<ms>,"changedAt":<ms>,"workflowName":"review-text"}]
    "##);
    assert_snapshot!(told(&home, &["thread", "list", "--all", "--format", "text"]), @"
    exit 0
    thread                      state      workflow     role      steps  changed   task
    <id>  active     review-text  writer    0      just now  the third
    <id>  stuck      review-text  reviewer  1      just now  the second
        agent `broken` exited with 3; its last words: no licence for `claude`
    <id>  completed  review-text  –         4      just now  the first
    the last 4 symbols of a thread are enough
    ");
}

#[test]
fn a_listing_can_be_narrowed() {
    let home = reviewing_home();
    let [finished, stuck, active] = three_threads(&home);
    let listed = |args: &[&str]| {
        let args: Vec<&str> = ["thread", "list"].iter().chain(args).copied().collect();
        threads(&home.json(&args))
    };
    assert_eq!(listed(&["--state", "stuck"]), [stuck.as_str()]);
    assert_eq!(listed(&["--state", "completed"]), [finished.as_str()]);
    assert_eq!(listed(&["--state", "Active"]), [active.as_str()]);
    assert_eq!(listed(&["--state", "killed"]), [""; 0]);
    assert_eq!(listed(&["--all", "--limit", "1", "--offset", "1"]), [stuck.as_str()]);
    assert_eq!(listed(&["--all", "--limit", "0"]), [""; 0]);
    assert_eq!(listed(&["--offset", "99"]), [""; 0]);
    assert_snapshot!(told(&home, &["thread", "list", "--all", "--limit", "1", "--offset", "1", "--format", "text"]), @"
    exit 0
    thread                      state  workflow     role      steps  changed   task
    <id>  stuck  review-text  reviewer  1      just now  the second
        agent `broken` exited with 3; its last words: no licence for `claude`
    the last 4 symbols of a thread are enough
    … 1 before
    … 1 more: --limit 3, or the next with --offset 2
    ");
    assert_snapshot!(told(&home, &["thread", "list", "--offset", "99", "--format", "text"]), @"
    exit 0
    no threads
    … 2 before
    ");
}

#[test]
fn a_workflow_is_meant_by_name_hash_or_beginning_of_a_hash() {
    let home = reviewing_home();
    let old = home.start("review-text", "with the first version");
    let first = text(&home.json(&["thread", "show", &old]), "workflow");
    let second = home.put("review-text", &WORKFLOW.replace("Write one sentence", "Write two sentences"));
    let new = home.start("review-text", "with the second version");
    home.put("other-text", &WORKFLOW.replace("review-text", "other-text"));
    home.start("other-text", "something else");

    let listed = |workflow: &str| threads(&home.json(&["thread", "list", "--workflow", workflow]));
    assert_eq!(listed("review-text"), [new.clone(), old.clone()], "all versions of the name");
    assert_eq!(listed(&first), [old]);
    assert_eq!(listed(&second[..6]), [new]);
    assert_snapshot!(told(&home, &["thread", "list", "--format", "text"]), @"
    exit 0
    thread                      state   workflow               role    steps  changed   task
    <id>  active  other-text             writer  0      just now  something else
    <id>  active  review-text            writer  0      just now  with the second version
    <id>  active  review-text (earlier)  writer  0      just now  with the first version
    the last 4 symbols of a thread are enough
    ");
    assert_snapshot!(told(&home, &["thread", "list", "--workflow", "reviewtext"]), @r"
    exit 69
    --- stderr
    error: there is no workflow `reviewtext`
    hint: did you mean `review-text`?
    ");
    assert_snapshot!(told(&home, &["thread", "list", "--state", "stock"]), @"
    exit 64
    --- stderr
    error: invalid value 'stock' for '--state <STATE>'
    hint: possible values: active, running, paused, waiting, limited, stuck, completed, killed, corrupt
    hint: a similar value exists: 'stuck'
    ");
}

#[test]
fn a_broken_thread_is_a_row_that_says_so() {
    let home = reviewing_home();
    let [_, stuck, active] = three_threads(&home);
    damage(&home, &home.head(&stuck).unwrap());
    let listed = home.json(&["thread", "list"]);
    assert_eq!(threads(&listed), [active, stuck]);
    assert_eq!(listed[1]["state"], json!("corrupt"));
    assert_snapshot!(told(&home, &["thread", "list", "--state", "corrupt", "--format", "text"]), @"
    exit 0
    thread                      state    workflow  role  steps  changed  task
    <id>  corrupt  –         –     –      –        –
        node #1 is corrupt: not CBOR of a JSON value at byte 5, in the root:…
    the last 4 symbols of a thread are enough
    ");
}

#[test]
fn a_registry_that_is_not_readable_costs_names_only() {
    let home = reviewing_home();
    home.start("review-text", "x");
    std::fs::write(home.root().join("registry.yaml"), "[").unwrap();
    assert_snapshot!(told(&home, &["thread", "list"]), @r##"
    exit 0
    [{"thread":"<id>","workflow":"#1","head":"#2","state":"active","role":null,"startedAt":<ms>,"changedAt":<ms>,"workflowName":"review-text"}]
    --- stderr
    warning: <dir>/root/registry.yaml is not readable: error: line 1 column 1: unclosed bracket '['
    "##);
}

#[test]
fn steps_are_listed_with_their_outputs() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.\nPlease.");
    assert_snapshot!(told(&home, &["thread", "steps", &thread]), @r##"
    exit 0
    {"thread":"<id>","workflow":"#1","steps":[{"hash":"#2","prompt":"Write about cats.\nPlease.","timestamp":<ms>}]}
    "##);
    step(&home, &thread, 2);
    assert_snapshot!(told(&home, &["thread", "steps", &thread]), @r##"
    exit 0
    {"thread":"<id>","workflow":"#1","steps":[{"hash":"#2","prompt":"Write about cats.\nPlease.","timestamp":<ms>},{"hash":"#3","role":"writer","output":{"tags":["cats","*.rs"],"title":"Fix #42"},"detail":"#4","agent":"writer","alias":"writer","timestamp":<ms>},{"hash":"#5","role":"reviewer","output":{"approved":false},"detail":"#6","agent":"reviewer","alias":"reviewer","timestamp":<ms>}]}
    "##);
    assert_snapshot!(told(&home, &["thread", "steps", &thread[22..], "--format", "text"]), @r#"
    exit 0
    #  step           role      agent     time (UTC)           output
    0  #1  start               <time>  Write about cats. Please.
    1  #2  writer    writer    <time>  {"tags":["cats","*.rs"],"title":"Fix #42"}
    2  #3  reviewer  reviewer  <time>  {"approved":false}
    "#);
    assert_snapshot!(told(&home, &["thread", "steps", &thread, "--format", "yaml"]), @r#"
    exit 0
    thread: <id>
    workflow: #1
    steps:
    - hash: #2
      prompt: |-
        Write about cats.
        Please.
      timestamp: <ms>
    - hash: #3
      role: writer
      output:
        tags:
        - cats
        - "*.rs"
        title: "Fix #42"
      detail: #4
      agent: writer
      alias: writer
      timestamp: <ms>
    - hash: #5
      role: reviewer
      output:
        approved: false
      detail: #6
      agent: reviewer
      alias: reviewer
      timestamp: <ms>
    "#);
}

#[test]
fn steps_of_a_broken_thread_name_what_is_broken() {
    let home = reviewing_home();
    let thread = home.start("review-text", "x");
    step(&home, &thread, 2);
    damage(&home, &hashes(&home, &thread)[1]);
    assert_snapshot!(told(&home, &["thread", "steps", &thread]), @r"
    exit 65
    --- stderr
    error: node #1 is corrupt: not CBOR of a JSON value at byte 5, in the root: bytes follow the value
    hint: `uwf cas verify #1` checks it; putting the same content again repairs it
    ");
    assert_snapshot!(told(&home, &["thread", "steps", "7ZZZ"]), @r"
    exit 69
    --- stderr
    error: no thread begins or ends with `7ZZZ`
    hint: `uwf thread list --all` lists every thread
    ");
    assert_snapshot!(told(&home, &["thread", "steps", "../../etc"]), @r"
    exit 64
    --- stderr
    error: `../../etc` is not a thread id, nor at least 4 symbols of its beginning or end
    ");
}
