//! The benchmark runs through. Its figures are not tested: they depend on the machine.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

#[test]
fn a_quick_run_takes_every_figure() {
    // In memory where there is such a directory: the figures are not looked at, and a slow disk would take its time.
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let dir = tempfile::TempDir::with_prefix_in("uwf-bench-test-", parent).expect("a temporary directory");
    let json = dir.path().join("results.json");
    let bench = Path::new(env!("CARGO_BIN_EXE_uwf-bench"));
    let mut command = Command::new(bench);
    command.args(["--quick", "--json"]).arg(&json).arg("--dir").arg(dir.path());
    // Built along with the workspace; when only this crate is tested, the benchmark builds it itself.
    let uwf = bench.with_file_name("uwf");
    if uwf.exists() {
        command.arg("--uwf").arg(&uwf);
    }
    command.arg("--installed").arg(uwf);
    let output = command.output().expect("the benchmark starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let results: Value = serde_json::from_slice(&std::fs::read(&json).expect("results")).expect("JSON");
    assert_eq!(results["machine"]["quick"], true);
    insta::assert_snapshot!(rows(&results), @"
    One step, a store with one thread
      thread step, output: step [× floor]
      thread step, output: text [× floor ≤ 3]
      thread step, output: text, over git add and git commit [× ≤ 1.5]
    One step, by length of history, a store of 300 nodes
      step, a role's return after 3 steps [× floor]
      step, a role's return after 10 steps [× floor]
      step, a role's return after 30 steps [× floor]
      step, a role's return: 30 over 3 [× ≤ 1.3]
      step, a role's first visit after 3 steps [× floor]
      step, a role's first visit after 10 steps [× floor]
      step, a role's first visit after 30 steps [× floor]
      step, a role's first visit: 30 over 3 [× ≤ 1.3]
      text, a role's return after 3 steps [× floor ≤ 3]
      text, a role's return after 10 steps [× floor ≤ 3]
      text, a role's return after 30 steps [× floor ≤ 3]
      text, a role's return: 30 over 3 [× ≤ 1.3]
      text, a role's first visit after 3 steps [× floor ≤ 3]
      text, a role's first visit after 10 steps [× floor ≤ 3]
      text, a role's first visit after 30 steps [× floor ≤ 3]
      text, a role's first visit: 30 over 3 [× ≤ 1.3]
      step, 30 steps, chain cache deleted [× floor]
    Starts of processes
      uwf --version, released [ms ≤ 2.2]
      text step after 10 steps, released, over git add and git commit [× ≤ 1.5]
      text step after 30 steps, released, over git add and git commit [× ≤ 1.5]
      a step of uwf run, released, beside its agent [ms ≤ 10]
      uwf --version, installed [ms ≤ 2.2]
      text step after 10 steps, installed, over git add and git commit [× ≤ 1.5]
      text step after 30 steps, installed, over git add and git commit [× ≤ 1.5]
      a step of uwf run, installed, beside its agent [ms ≤ 10]
    Calls that wait for the disk, by strace
      output: step, first step of a thread [calls ≤ 10]
      output: step, return after 3 steps [calls ≤ 10]
      output: step, return after 10 steps [calls ≤ 10]
      output: step, return after 30 steps [calls ≤ 10]
      output: step, first visit after 30 steps [calls ≤ 10]
      output: text, first step of a thread [calls ≤ 10]
      output: text, return after 3 steps [calls ≤ 10]
      output: text, return after 10 steps [calls ≤ 10]
      output: text, return after 30 steps [calls ≤ 10]
      output: text, first visit after 30 steps [calls ≤ 10]
      thread start [calls]
      thread fork [calls]
      the floor [calls]
    Active threads
      thread step, output: step: 250 active threads over 1 [×]
      thread step, output: text: 250 active threads over 1 [×]
      thread start: 250 active threads over 1 [×]
      thread list of 250 threads [ms ≤ 50]
      thread ps with 250 active threads, none at work [ms]
      thread list of 250 threads, what heads say not remembered [ms]
      thread cost of 250 threads [ms]
      gc with 250 threads, all in use [ms]
    Steppers at once, one store
      output: step, one stepper [steps/s]
      output: step, 2 steppers [steps/s]
      output: text, one stepper [steps/s]
      output: text, 2 steppers [steps/s]
    Roles at the same time
      five agents of 2 s at once, over one [× ≤ 1.3]
      a group of 8, over 8 steps [×]
      a group of 64, over 64 steps [×]
      a group of 64, over a group of 8 [×]
      the prompt after a group of 64, over one after 64 steps [×]
    Show and fork
      uwf --version, which opens no store [ms]
      thread show, 30 steps, a store of 300 nodes [ms ≤ 5]
      thread fork of a thread, 30 steps [ms ≤ 5]
      thread fork at a node, in the middle of 30 steps [ms ≤ 5]
    Pages
      the first page, 250 threads [ms ≤ 50]
      all threads, 250 threads [ms ≤ 50]
      a search for what no thread has, 250 threads [ms ≤ 50]
      the page of a search, 250 threads [ms ≤ 50]
      workflows, 250 threads [ms ≤ 50]
      costs of a week, 250 threads [ms ≤ 50]
      the doctor, 250 threads [ms ≤ 150]
      a thread of 30 steps [ms ≤ 50]
      the first steps of a thread of 30 steps [ms ≤ 50]
      a step in the middle of 30 steps [ms ≤ 50]
      a comparison with its own middle of 30 steps [ms ≤ 50]
    An agent at work, 16 KB for each turn
      the first page, an agent of 20 turns over one of 1 turn [× ≤ 1.5]
      the first page, 20 turns: processor time of the server [ms ≤ 50]
      /api/running, an agent of 20 turns over one of 1 turn [× ≤ 1.5]
      /api/running, 20 turns: processor time of the server [ms ≤ 50]
      the server beside an agent of 20 turns, its most memory [MB ≤ 60]
    A thread that has ended, in a pack over in files
      nodes of a step on the disk, in files [B]
      nodes of a step on the disk, in a pack [B ≤ 1661]
      cas verify of all nodes of 30 steps [× ≤ 1]
      thread read, all of 30 steps [× ≤ 1]
      thread show, 30 steps [×]
      thread step of a fork, 30 steps [×]
      pack, nothing new [ms]
    Node files that a step adds, an answer of 1 KB and new texts of its prompt in them
      output: step, return after 3 steps [B]
      output: step, return after 10 steps [B]
      output: step, return after 30 steps [B]
      output: step, first visit after 30 steps [B]
      output: text, return after 3 steps [B]
      output: text, return after 10 steps [B]
      output: text, return after 30 steps [B]
      output: text, first visit after 30 steps [B]
    Processor time, user and system, all processes
      a step, output: step [ms]
      a step, output: text [ms]
    Footprint
      the program uwf [MB]
      a step at 30 steps, output: step, its largest process [MB]
      the same, a first visit [MB]
      a step at 30 steps, output: text, its largest process [MB]
      the same, a first visit [MB]
    ");
}

/// What was measured, in which unit, against which target; a figure that was not taken says why.
fn rows(results: &Value) -> String {
    let mut lines = Vec::new();
    for group in results["groups"].as_array().expect("groups") {
        lines.push(text(&group["title"]));
        for row in group["rows"].as_array().expect("rows") {
            let needs_a_tool =
                row["notMeasured"].as_str().is_some_and(|why| why.contains("strace") || why.contains("/usr/bin/time"));
            let taken = needs_a_tool || row["value"].as_f64().is_some_and(|value| value >= 0.0);
            let target = row["target"].as_f64().map_or_else(String::new, |target| format!(" ≤ {target}"));
            let failed = if taken { String::new() } else { format!(" NOT TAKEN: {}", row["notMeasured"]) };
            lines.push(format!("  {} [{}{target}]{failed}", text(&row["what"]), text(&row["unit"])));
        }
    }
    lines.join("\n")
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// Beside this program there must be a `uwf` with the feature s3, as `./test --stores` builds it.
#[test]
fn requests_grow_with_threads_shown() {
    let bench = Path::new(env!("CARGO_BIN_EXE_store-requests"));
    let mut command = Command::new(bench);
    command.args(["--threads", "10,30", "--uwf"]).arg(bench.with_file_name("uwf"));
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8(output.stdout).expect("text");
    // Reads and writes of a command with 10 threads and with 30, of which every tenth is active.
    let counted = |command: &str| -> Vec<(u64, u64)> {
        let rows = table.lines().filter(|line| line.starts_with(&format!("| {command} |")));
        let number = |cell: Option<&str>| cell.and_then(|cell| cell.trim().parse().ok()).unwrap_or(u64::MAX);
        let cells = |row: &str| (number(row.split('|').nth(3)), number(row.split('|').nth(4)));
        rows.map(cells).take(2).collect()
    };
    let grows = |command: &str| {
        let counts = counted(command);
        (counts[1].0 - counts[0].0, counts[1].1 - counts[0].1)
    };
    for constant in ["`thread start`", "`thread step`, text agent", "`thread show`", "`thread kill`"] {
        assert_eq!(grows(constant), (0, 0), "{constant}");
    }
    assert_eq!(grows("`thread list`, again"), (2, 0), "for each active thread its head");
    assert_eq!(grows("`thread list --all`, again"), (20, 0), "for each thread its head or its record");
    assert_eq!(grows("`gc`, again"), (20, 0), "the same");
}
