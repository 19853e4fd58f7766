//! The benchmark runs through. Its figures are not tested: they depend on the machine.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

#[test]
fn a_quick_run_takes_every_figure() {
    let dir = tempfile::TempDir::with_prefix("uwf-bench-test-").expect("a temporary directory");
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
    insta::assert_snapshot!(rows(&results), @"");
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
