//! Real agents, driven through whole threads against a scripted model: `./test --real-agents` installs them and runs
//! these tests. Nothing here is about what a model would say; it is about what the programs do with it.
#![expect(clippy::unwrap_used, reason = "a failing test may panic; helpers of tests are not seen as tests")]

mod codex;
mod documents;
mod hermes;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::Value;
use uwf_testing::{TestHome, counting_workflow, text};

/// A fresh storage root that finds these programs of the installed agents, the counting workflow in it.
fn home(programs: &[(&str, &str)]) -> TestHome {
    let home = TestHome::new(env!("CARGO_BIN_EXE_uwf"));
    for (name, path) in programs {
        symlink(installed(path), home.bin_dir().join(name)).unwrap();
    }
    home.put("count-rounds", &counting_workflow(1));
    home
}

/// A file of the directory the agents were installed in.
fn installed(path: &str) -> PathBuf {
    let dir = std::env::var_os("UWF_REAL_AGENTS").expect("UWF_REAL_AGENTS is set: run `./test --real-agents`");
    let file = PathBuf::from(dir).join(path);
    assert!(file.exists(), "{} was not installed", file.display());
    file
}

/// Starts a thread whose task comes from stdin, so that it can have any size.
fn start(home: &TestHome, workflow: &str, task: &str) -> String {
    let file = home.file("task.md", task);
    let mut command = home.command(&["thread", "start", workflow, "-p", "-"]);
    let started = command.stdin(fs::File::open(file).unwrap()).output().unwrap();
    text(&serde_json::from_slice(&started.stdout).unwrap(), "thread")
}

/// Detail of the step at the head, with references expanded.
fn detail(home: &TestHome, thread: &str) -> Value {
    let head = text(&home.json(&["thread", "show", thread]), "head");
    home.json(&["thread", "step-details", &head, "--format", "json"])["detail"].clone()
}

/// Outputs of the turns.
fn outputs(detail: &Value) -> Vec<&str> {
    detail["turns"].as_array().unwrap().iter().filter_map(|turn| turn["output"].as_str()).collect()
}

/// Names, arguments and results of the tool calls.
fn calls(detail: &Value) -> Vec<String> {
    let turns = detail["turns"].as_array().unwrap().iter();
    let calls = turns.flat_map(|turn| turn["toolCalls"].as_array().unwrap());
    calls
        .map(|call| format!("{} {} -> {}", text(call, "name"), text(call, "arguments"), text(call, "result")))
        .collect()
}
