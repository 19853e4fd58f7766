//! The example agent plays a role.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::agent_process::SignalListener;
use uwf_engine::error::{ErrorKind, Result};
use uwf_engine::root::home::Home;
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::steps::StepParts;
use uwf_engine::verbs::start::{self, StartRequest};
use uwf_engine::verbs::step::{self, StepReport, StepRequest};

const WORKFLOW: &str = "
name: count-words
description: counts words
roles:
  counter:
    description: counts
    meta:
      type: object
      properties: { task: { type: integer }, previous: { type: integer } }
      required: [task, previous]
      additionalProperties: false
graph:
  $START: [ { role: counter } ]
  counter: [ { role: $END } ]
";

/// The example's program; cargo builds it with the tests of this package.
fn example() -> PathBuf {
    let test = std::env::current_exe().expect("a path of its own");
    let built = test.ancestors().nth(2).expect("test programs are two directories deep").join("examples/word_count");
    assert!(built.exists(), "{} is not built; run the tests of the whole package", built.display());
    built
}

/// A home whose only agent is the example, and a thread of the workflow in which it plays `counter`.
fn thread(dir: &Path, workflow: &str, task: &str) -> (Home, ThreadId) {
    let home = Home::open(dir.join("root"), "uwf");
    let config = format!("agents: {{ words: {{ command: \"{}\" }} }}\ndefaultAgent: words\n", example().display());
    let file = dir.join("count-words.yaml");
    write(&home.config_file(), &config);
    write(&file, workflow);
    let request = StartRequest {
        workflow: file.display().to_string(),
        prompt: task.to_owned(),
        workspace: dir.to_owned(),
        ..StartRequest::default()
    };
    let started = start::start(&home, &request, dir).expect("a thread");
    (home, started.thread)
}

fn write(path: &Path, text: &str) {
    let dir = path.parent().expect("a file in a directory");
    std::fs::create_dir_all(dir).and_then(|()| std::fs::write(path, text)).expect("a file in a temporary directory");
}

fn step(home: &Home, thread: &ThreadId) -> Result<StepReport> {
    let request = StepRequest::plain(thread.clone());
    step::perform(home, &request, |_, _| Ok(false), &mut SignalListener::listen()?)
}

fn output(home: &Home, report: &StepReport) -> Result<Value> {
    Ok(Thread::load_at(home, report.thread.clone(), report.head)?.step(0, StepParts::NONE)?.output)
}

#[test]
fn the_example_is_an_agent_like_any_other() {
    let dir = tempfile::tempdir().unwrap();
    let (home, thread) = thread(dir.path(), WORKFLOW, "count all of these words");
    let report = step(&home, &thread).unwrap();
    assert_eq!(
        (report.done, report.role.as_deref(), report.agent.as_ref().map(uwf_core::agent_name::AgentName::short)),
        (true, Some("counter"), Some("words"))
    );
    assert_eq!(output(&home, &report).unwrap(), json!({ "task": 5, "previous": 0 }));
}

#[test]
fn unfit_output_is_rejected_with_every_reason() {
    let dir = tempfile::tempdir().unwrap();
    let other = WORKFLOW
        .replace("previous: { type: integer }", "sentences: { type: integer }")
        .replace("previous]", "sentences]");
    let (home, thread) = thread(dir.path(), &other, "count");
    let error = step(&home, &thread).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotExtractable);
    assert_eq!(
        error.message,
        "the answer has no valid output for role `counter`: missing key `sentences` (integer); unknown key `previous`; allowed are `task` and `sentences`"
    );
}

#[test]
fn describe_flag_prints_only_description() {
    let ran = std::process::Command::new(example()).arg("--uwf-describe").output().expect("the example starts");
    let description: Value = serde_json::from_slice(&ran.stdout).expect("it prints JSON");
    assert_eq!(description, json!({ "name": "word_count", "capabilities": ["offline"] }));
    assert!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
}
