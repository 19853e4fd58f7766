//! Which commands of workflows run on this machine.

use std::fs;

use serde_json::json;

use crate::home;

/// A workflow of one role that runs this command.
fn one(command: &str) -> String {
    format!(
        "name: run-it\ndescription: x\nroles:\n  it: {{ run: {command} }}\ngraph:\n  $START: [ {{ role: it }} ]\n  it: [ {{ role: $END }} ]\n"
    )
}

#[test]
fn project_commands_run_only_when_trusted() {
    let home = home();
    let project = home.work().join(".workflows");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("run-it.yaml"), one("echo ran > ran")).unwrap();
    let refused = home.uwf(&["run", "run-it", "-p", "x"]);
    assert_eq!(refused.code, Some(78), "{}", refused.transcript());
    assert!(
        refused.stderr.contains("uwf workflow trust") && refused.stderr.contains("echo ran > ran"),
        "{}",
        refused.stderr
    );
    assert_eq!(home.json(&["thread", "list"]), json!([]), "no thread was created");
    let trusted = home.uwf(&["workflow", "trust", "run-it", "--format", "text"]);
    assert_eq!(trusted.code, Some(0), "{}", trusted.transcript());
    assert!(trusted.stdout.contains("echo ran > ran"), "{}", trusted.stdout);
    assert_eq!(home.uwf(&["run", "run-it", "-p", "x"]).code, Some(0));
    fs::write(project.join("run-it.yaml"), one("echo ran > elsewhere")).unwrap();
    assert_eq!(home.uwf(&["run", "run-it", "-p", "x"]).code, Some(78), "another command needs trust again");
    let by_path = home.uwf(&["run", ".workflows/run-it.yaml", "-p", "x"]);
    assert_eq!(by_path.code, Some(0), "a person named the file: {}", by_path.transcript());
}

#[test]
fn workflow_of_another_store_needs_trust() {
    let (home, other) = (home(), home());
    other.put("run-it", &one("echo ran > ran"));
    other.start("run-it", "x");
    let copied = home.command(&["store", "copy"]).arg(other.root()).arg(home.root()).output().unwrap();
    assert!(copied.status.success(), "{copied:?}");
    let refused = home.uwf(&["run", "run-it", "-p", "x"]);
    assert_eq!(refused.code, Some(78), "{}", refused.transcript());
    assert_eq!(home.uwf(&["workflow", "trust", "run-it"]).code, Some(0));
    assert_eq!(home.uwf(&["run", "run-it", "-p", "x"]).code, Some(0));
    assert_eq!(home.uwf(&["workflow", "trust", "run-it", "--revoke"]).code, Some(0));
    assert_eq!(home.uwf(&["run", "run-it", "-p", "x"]).code, Some(78));
}

#[test]
fn workflow_without_commands_needs_no_trust() {
    let home = home();
    home.put("run-it", &one("x").replace("run: x", "goal: You write."));
    let refused = home.uwf(&["workflow", "trust", "run-it"]);
    assert_eq!(refused.code, Some(64), "{}", refused.transcript());
    assert!(refused.stderr.contains("has no role with `run`"), "{}", refused.stderr);
}
