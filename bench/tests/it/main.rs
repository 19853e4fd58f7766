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
        command.arg("--uwf").arg(uwf);
    }
    let output = command.output().expect("the benchmark starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let results: Value = serde_json::from_slice(&std::fs::read(&json).expect("results")).expect("JSON");
    assert_eq!(results["machine"]["quick"], true);
    insta::assert_snapshot!(rows(&results), @r#"
    One step, a store with one thread
      thread step, output: step [× floor ≤ 2]
      thread step, output: text [× floor ≤ 2.5]
    One step, by length of history, a store of 300 nodes
      step, a role's return after 3 steps [× floor ≤ 2]
      step, a role's return after 10 steps [× floor ≤ 2]
      step, a role's return after 30 steps [× floor ≤ 2]
      step, a role's return: 30 over 3 [× ≤ 1.3]
      step, a role's first visit after 3 steps [× floor ≤ 2]
      step, a role's first visit after 10 steps [× floor ≤ 2]
      step, a role's first visit after 30 steps [× floor ≤ 2]
      step, a role's first visit: 30 over 3 [× ≤ 1.3]
      text, a role's return after 3 steps [× floor ≤ 2.5]
      text, a role's return after 10 steps [× floor ≤ 2.5]
      text, a role's return after 30 steps [× floor ≤ 2.5]
      text, a role's return: 30 over 3 [× ≤ 1.3]
      text, a role's first visit after 3 steps [× floor ≤ 2.5]
      text, a role's first visit after 10 steps [× floor ≤ 2.5]
      text, a role's first visit after 30 steps [× floor ≤ 2.5]
      text, a role's first visit: 30 over 3 [× ≤ 1.3]
      text, a role's first visit: 30 over 10 [× ≤ 1.3]
      step, 30 steps, chain cache deleted [× floor]
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
      thread step, output: step: 250 active threads over 1 [× ≤ 2]
      thread step, output: text: 250 active threads over 1 [× ≤ 2]
      thread start: 250 active threads over 1 [× ≤ 2]
      thread list of 250 threads [ms ≤ 50]
      thread list of 250 threads, what heads say not remembered [ms]
    Steppers at once, one store
      output: step, one stepper [steps/s]
      output: step, 2 steppers [steps/s]
      output: text, one stepper [steps/s]
      output: text, 2 steppers [steps/s]
    Over an empty process (uwf --version)
      thread show, 30 steps, a store of 300 nodes [× ≤ 3]
      thread fork in the middle of 30 steps [× ≤ 3]
      the same, written beside the index [B ≤ 4096]
    Bytes per step, an answer of 1 KB (content: raw text, output, new prompt texts)
      output: step, return after 3 steps: beyond its content [B ≤ 1024]
      output: step, return after 10 steps: beyond its content [B ≤ 1024]
      output: step, return after 30 steps: beyond its content [B ≤ 1024]
      output: step, the nodes' growth from 3 to 30 steps [B ≤ 32]
      output: step, first visit after 30 steps: beyond its content [B ≤ 1024]
      output: text, return after 3 steps: beyond its content [B ≤ 1024]
      output: text, return after 10 steps: beyond its content [B ≤ 1024]
      output: text, return after 30 steps: beyond its content [B ≤ 1024]
      output: text, the nodes' growth from 3 to 30 steps [B ≤ 32]
      output: text, first visit after 30 steps: beyond its content [B ≤ 1024]
    Routing, in process
      `steps[-1].output.next = "reviewer"`, compiled and decided [µs ≤ 1000]
      the same, the first in a process [µs ≤ 1000]
      `$count(steps) > 5` at 30 steps, compiled and decided [µs]
      the same with reading the thread, cached [µs]
      `$count(steps[output.n > 5]) > 5` at 30 steps, compiled and decided [µs]
      the same with reading the thread, cached [µs]
    Processor time
      processor time the kit adds to its agent's, output: step [ms ≤ 5]
      processor time of a whole step beyond its agent's, output: step [ms]
      page faults of a whole step, output: step [faults]
      processor time the kit adds to its agent's, output: text [ms ≤ 5]
      processor time of a whole step beyond its agent's, output: text [ms]
      page faults of a whole step, output: text [faults]
    Footprint
      the binary uwf [MB ≤ 12]
      of it the HTTP client, by symbols [MB ≤ 3]
      a step at 30 steps, output: step, its largest process [MB ≤ 25]
      the same, a first visit [MB ≤ 25]
      the same, all its processes together, each at its peak so far [MB ≤ 25]
      a step at 30 steps, output: text, its largest process [MB ≤ 25]
      the same, a first visit [MB ≤ 25]
    "#);
}

/// What was measured, in which unit, against which target; a figure that was not taken says why.
fn rows(results: &Value) -> String {
    let mut lines = Vec::new();
    for group in results["groups"].as_array().expect("groups") {
        lines.push(text(&group["title"]));
        for row in group["rows"].as_array().expect("rows") {
            let needs_a_tool =
                row["notMeasured"].as_str().is_some_and(|why| why.contains("strace") || why.contains("/usr/bin/time"));
            // The kernel tells processor times in hundredths of a second: of single runs a difference may be below none.
            let is_difference = text(&row["what"]).starts_with("processor time");
            let taken = needs_a_tool || row["value"].as_f64().is_some_and(|value| value >= 0.0 || is_difference);
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
