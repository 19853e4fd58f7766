//! `uwf thread steps`: the steps of a thread with their outputs.

use insta::assert_snapshot;

use crate::fixtures::review::{damage, hashes, reviewing_home, step};
use crate::transcript;

#[test]
fn steps_are_listed_with_their_outputs() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.\nPlease.");
    assert_snapshot!(transcript(&home, &["thread", "steps", &thread]), @r##"
    exit 0
    {"thread":"<id>","workflow":"#1","steps":[{"hash":"#2","workflow":"#1","prompt":"Write about cats.\nPlease.","timestamp":<ms>}]}
    "##);
    step(&home, &thread, 2);
    assert_snapshot!(transcript(&home, &["thread", "steps", &thread]), @r##"
    exit 0
    {"thread":"<id>","workflow":"#1","steps":[{"hash":"#2","workflow":"#1","prompt":"Write about cats.\nPlease.","timestamp":<ms>},{"hash":"#3","role":"writer","output":{"title":"Fix #42","tags":["cats","*.rs"]},"detail":"#4","agent":"writer","alias":"writer","timestamp":<ms>},{"hash":"#5","role":"reviewer","output":{"approved":false},"detail":"#6","agent":"reviewer","alias":"reviewer","timestamp":<ms>}]}
    "##);
    assert_snapshot!(transcript(&home, &["thread", "steps", &thread[22..], "--format", "text"]), @r#"
    exit 0
    #  step           role      agent     time (UTC)           output
    0  #1  start               <time>  Write about cats. Please.
    1  #2  writer    writer    <time>  {"title":"Fix #42","tags":["cats","*.rs"]}
    2  #3  reviewer  reviewer  <time>  {"approved":false}
    "#);
    assert_snapshot!(transcript(&home, &["thread", "steps", &thread, "--format", "yaml"]), @r#"
    exit 0
    thread: <id>
    workflow: #1
    steps:
    - hash: #2
      workflow: #1
      prompt: |-
        Write about cats.
        Please.
      timestamp: <ms>
    - hash: #3
      role: writer
      output:
        title: "Fix #42"
        tags:
        - cats
        - "*.rs"
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
fn broken_thread_names_damaged_node() {
    let home = reviewing_home();
    let thread = home.start("review-text", "x");
    step(&home, &thread, 2);
    damage(&home, &hashes(&home, &thread)[1]);
    assert_snapshot!(transcript(&home, &["thread", "steps", &thread]), @r"
    exit 65
    --- stderr
    error: node #1 is corrupt: not CBOR of a JSON value at byte 5, in the root: bytes follow the value
    hint: `uwf cas verify #1` checks it; putting the same content again repairs it
    ");
    assert_snapshot!(transcript(&home, &["thread", "steps", "7ZZZ"]), @r"
    exit 69
    --- stderr
    error: no thread begins or ends with `7ZZZ`
    hint: `uwf thread list --all` lists every thread
    ");
    assert_snapshot!(transcript(&home, &["thread", "steps", "../../etc"]), @r"
    exit 64
    --- stderr
    error: `../../etc` is not a thread id; give at least 4 symbols of the start or the end of one
    ");
}
