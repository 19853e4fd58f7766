//! Which workflow plays a role is decided when the thread starts, and kept by hash.

use std::fs;

use serde_json::{Value, json};
use uwf_testing::{TestHome, text};

use crate::home;

/// A workflow of one role, whose agent answers with the goal it is given.
fn flow(name: &str, role: &str, says: &str) -> String {
    format!(
        "name: {name}\nroles:\n  {role}: {{ goal: \"{says}\", meta: {{ type: object, properties: {{ said: {{ type: string }} }}, required: [said] }} }}\ngraph:\n  $START: [ {{ role: {role} }} ]\n  {role}: [ {{ role: $END }} ]\n"
    )
}

/// A parent whose role is played by the workflow `inner`, which a project file and the registry both have.
fn with_project() -> TestHome {
    let home = home();
    let teller = "#!/bin/sh\ngrep -o 'say-[a-z]*' | head -n 1 | sed 's/.*/{\"said\": \"&\"}/'\n";
    home.script("teller", teller);
    home.config("agents:\n  teller: { command: teller, output: json }\n  inner: { command: uwf-workflow, args: [inner] }\ndefaultAgent: teller\nagentOverrides: { outer: { delegate: inner } }\n");
    home.put("outer", &flow("outer", "delegate", "delegate it"));
    home.put("inner", &flow("inner", "worker", "say-registry"));
    let dir = home.work().join(".workflows");
    fs::create_dir_all(&dir).unwrap();
    fs::create_dir_all(home.work().join(".git")).unwrap();
    fs::write(dir.join("inner.yaml"), flow("inner", "worker", "say-project")).unwrap();
    fs::remove_file(home.work().join("inner.yaml")).unwrap();
    home
}

fn said(home: &TestHome, thread: &str) -> Value {
    let ran = home.uwf(&["run", thread]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let head = text(&ran.json(), "head");
    home.json(&["thread", "step-details", &head, "--format", "json"])["output"]["said"].clone()
}

#[test]
fn project_file_is_fixed_at_thread_start() {
    let home = with_project();
    let ran = home.uwf(&["thread", "start", "outer", "-p", "x"]);
    assert!(
        ran.stderr.contains("workflow `inner`, which plays a role, is taken from")
            && ran.stderr.contains(".workflows/inner.yaml"),
        "{ran:?}"
    );
    let thread = text(&ran.json(), "thread");
    let fork = text(&home.json(&["thread", "fork", &thread]), "thread");
    // What an agent writes there afterwards changes nothing.
    fs::write(home.work().join(".workflows/inner.yaml"), flow("inner", "worker", "say-forged")).unwrap();
    let shown = home.json(&["thread", "show", &thread])["workflows"]["inner"].clone();
    assert_eq!(shown["roles"], json!(["delegate"]), "{shown}");
    assert!(text(&shown, "file").ends_with(".workflows/inner.yaml"), "{shown}");
    let told = home.uwf(&["thread", "show", &thread, "--format", "text"]).stdout;
    assert!(told.contains(&format!("delegate by workflow inner {}", text(&shown, "hash"))), "{told}");
    assert_eq!(said(&home, &thread), "say-project");
    assert_eq!(said(&home, &fork), "say-project", "a fork keeps the decision");
}

#[test]
fn empty_text_of_a_child_is_the_output() {
    let home = home();
    home.config(
        "agents:\n  quiet: { command: uwf-workflow, args: [quiet] }\nagentOverrides: { outer: { check: quiet } }\n",
    );
    let graph = |role: &str| format!("graph:\n  $START: [ {{ role: {role} }} ]\n  {role}: [ {{ role: $END }} ]\n");
    home.put("quiet", &format!("name: quiet\nroles:\n  look: {{ run: \"true\" }}\n{}", graph("look")));
    home.put("outer", &format!("name: outer\nroles:\n  check: {{ goal: You check. }}\n{}", graph("check")));
    let ran = home.uwf(&["run", "outer", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = text(&ran.json(), "thread");
    assert_eq!(home.json(&["thread", "eval", &thread, "$last('check')"]), json!(""));
    assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
}

#[test]
fn elsewhere_the_registry_counts() {
    let home = with_project();
    let other = home.root().parent().unwrap().join("elsewhere");
    fs::create_dir(&other).unwrap();
    let args = ["thread", "start", "outer", "-p", "x", "--cwd", &home.work().display().to_string()];
    let started: uwf_testing::FinishedRun = home.command(&args).current_dir(&other).output().unwrap().into();
    assert_eq!(started.stderr, "", "nothing of the workspace is named, since nothing of it counts");
    assert_eq!(said(&home, &text(&started.json(), "thread")), "say-registry");
}

#[test]
fn a_new_binding_decides_anew() {
    let home = with_project();
    let thread = home.start("outer", "x");
    fs::write(home.work().join(".workflows/inner.yaml"), flow("inner", "worker", "say-new")).unwrap();
    let ran = home.uwf(&["run", &thread, "--agent", "delegate=inner"]);
    assert!(ran.code == Some(0) && ran.stderr.contains("is taken from"), "{ran:?}");
    let head = text(&ran.json(), "head");
    let output = home.json(&["thread", "step-details", &head, "--format", "json"])["output"].clone();
    assert_eq!(output, json!({"said": "say-new"}));
}

/// A thread that an earlier version started has no decision on record.
#[test]
fn thread_without_recorded_decision_ignores_workspace_files() {
    let home = with_project();
    let thread = home.start("outer", "x");
    let record = home.record_file(&thread);
    let mut settings: Value =
        serde_json::from_str(fs::read_to_string(&record).unwrap().lines().find(|line| !line.is_empty()).unwrap())
            .unwrap();
    assert!(settings.as_object_mut().unwrap().remove("workflows").is_some());
    fs::write(&record, format!("{settings}\n")).unwrap();
    assert_eq!(said(&home, &thread), "say-registry");
    // Where only the project has it, the step says so instead of taking it.
    home.json(&["workflow", "rm", "inner"]);
    let other = home.start("outer", "y");
    let record = home.record_file(&other);
    fs::write(&record, format!("{settings}\n")).unwrap();
    let ran = home.uwf(&["thread", "step", &other]);
    assert!(ran.code == Some(78) || ran.code == Some(40), "{ran:?}");
    assert!(ran.transcript().contains(".workflows/inner.yaml counts only when a person starts a thread"), "{ran:?}");
}

#[test]
fn nested_child_workflows_are_fixed_at_thread_start() {
    let home = with_project();
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(
        &config
            .replace(
                "agentOverrides: { outer: { delegate: inner } }",
                "agentOverrides: { outer: { delegate: middle }, middle: { between: inner } }",
            )
            .replace("defaultAgent", "  middle: { command: uwf-workflow, args: [middle] }\ndefaultAgent"),
    );
    home.put("middle", &flow("middle", "between", "pass it on"));
    let thread = home.start("outer", "x");
    fs::write(home.work().join(".workflows/inner.yaml"), flow("inner", "worker", "say-forged")).unwrap();
    fs::write(home.work().join(".workflows/middle.yaml"), flow("middle", "between", "say-forged")).unwrap();
    home.json(&["workflow", "rm", "middle"]);
    let shown = home.json(&["thread", "show", &thread])["workflows"].clone();
    assert_eq!(json!([shown["middle"]["roles"], shown["inner"]["roles"]]), json!([["delegate"], null]));
    assert_eq!(said(&home, &thread), "say-project");
}

#[test]
fn missing_workflow_is_reported_at_start() {
    let home = with_project();
    fs::remove_file(home.work().join(".workflows/inner.yaml")).unwrap();
    home.json(&["workflow", "rm", "inner"]);
    let ran = home.uwf(&["thread", "start", "outer", "-p", "x"]);
    assert!(
        ran.code == Some(0)
            && ran.stderr.contains("workflow `inner` cannot play role `delegate`: workflow `inner` does not exist"),
        "{ran:?}"
    );
    let bound = home.uwf(&["thread", "start", "outer", "-p", "x", "--agent", "delegate=inner"]);
    assert_eq!(bound.code, Some(69), "{bound:?}");
    // It is looked for again when its turn comes, in the registry.
    home.put("inner", &flow("inner", "worker", "say-late"));
    assert_eq!(said(&home, &text(&ran.json(), "thread")), "say-late");
}
