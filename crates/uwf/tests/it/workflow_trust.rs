//! Which commands of workflows run on this machine.

use std::fs;

use serde_json::json;
use uwf_testing::server::TestServer;

use crate::fixtures::mcp_client::Client;
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
    let started = home.uwf(&["thread", "start", "run-it", "-p", "x"]);
    assert_eq!(started.code, refused.code, "{}", started.transcript());
    assert!(started.stderr.contains("you have not trusted it"), "{}", started.stderr);
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
fn only_starting_a_path_trusts_it() {
    let home = home();
    let project = home.work().join(".workflows");
    fs::create_dir(&project).unwrap();
    let file = project.join("run-it.yaml");
    fs::write(&file, one("echo ran > ran")).unwrap();
    let path = file.to_str().unwrap();
    for looked in
        [&["workflow", "show", path][..], &["workflow", "graph", path], &["thread", "list", "--workflow", path]]
    {
        let seen = home.uwf(looked);
        assert_eq!(seen.code, Some(0), "{}", seen.transcript());
    }
    let mut client = Client::start(&home, &["mcp"]);
    let (said, is_error) = client.call("start", json!({ "workflow": path, "prompt": "x" }));
    assert!(is_error && said.contains("uwf workflow trust"), "{said}");
    let server = TestServer::start(&home, &[]);
    for run in [json!({}), json!({ "run": true })] {
        let mut fields = json!({ "workflow": path, "prompt": "x" });
        fields.as_object_mut().unwrap().extend(run.as_object().unwrap().clone());
        let answer = server.post("/api/threads", &fields);
        assert!(answer.status >= 400 && answer.body.contains("uwf workflow trust"), "{answer:?}");
    }
    let by_name = home.uwf(&["run", "run-it", "-p", "x"]);
    assert_eq!(by_name.code, Some(78), "{}", by_name.transcript());
    assert_eq!(home.json(&["thread", "list", "--all"]), json!([]), "no thread was created");
    assert!(!home.work().join("ran").exists());
    assert_eq!(home.uwf(&["run", path, "-p", "x"]).code, Some(0));
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

/// A workflow of a group, of which a command plays one branch. `more` is text of the other role, which runs no command.
fn group(command: &str, more: &str) -> String {
    format!(
        "name: run-them
description: x
roles:
  it: {{ run: {command} }}
  writer: {{ goal: You write{more}. }}
  inner: {{ play: [ it, writer ] }}
  both: {{ play: [ inner ] }}
graph:
  $START: [ {{ role: both }} ]
  both: [ {{ role: $END }} ]
"
    )
}

#[test]
fn commands_of_branches_run_only_when_trusted() {
    let home = home();
    home.worker("output: text", "#!/bin/sh\ncat > /dev/null\necho done\n");
    let project = home.work().join(".workflows");
    fs::create_dir(&project).unwrap();
    let file = project.join("run-them.yaml");
    fs::write(&file, group("echo ran >> ran", "")).unwrap();
    let refused = || {
        let refused = home.uwf(&["run", "run-them", "-p", "x"]);
        assert_eq!(refused.code, Some(78), "{}", refused.transcript());
        let hash = home.json(&["workflow", "show", "run-them"])["hash"].as_str().unwrap().to_owned();
        for part in [format!("workflow `run-them` {hash} runs commands"), format!("`uwf workflow trust {hash}`")] {
            assert!(refused.stderr.contains(&part), "{part}: {}", refused.stderr);
        }
    };
    let ran = || fs::read_to_string(home.work().join("ran")).unwrap_or_default().lines().count();
    refused();
    assert_eq!(home.json(&["thread", "list", "--all", "--branches"]), json!([]), "no thread was created");
    assert_eq!(home.uwf(&["workflow", "trust", "run-them"]).code, Some(0));
    let done = home.uwf(&["run", "run-them", "-p", "x"]);
    assert_eq!((done.code, ran()), (Some(0), 1), "{}", done.transcript());

    // The branch itself is the same after this change.
    fs::write(&file, group("echo ran >> ran", " well")).unwrap();
    refused();
    assert_eq!(ran(), 1);
    assert_eq!(home.uwf(&["workflow", "trust", "run-them"]).code, Some(0));
    assert_eq!(home.uwf(&["run", "run-them", "-p", "x"]).code, Some(0));
    assert_eq!(home.uwf(&["workflow", "trust", "run-them", "--revoke"]).code, Some(0));
    refused();
    assert_eq!(ran(), 2);
}

#[test]
fn begun_branch_needs_trust_for_each_step() {
    let home = home();
    home.worker("output: text", "#!/bin/sh\ncat > /dev/null\necho done\n");
    home.put("run-them", &group("exit 9", "").replace("run: exit 9", "run: 'test -e ok', fails: [1]"));
    let ran = home.uwf(&["run", "run-them", "-p", "x"]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    fs::write(home.work().join("ok"), "").unwrap();
    assert_eq!(home.uwf(&["workflow", "trust", "run-them", "--revoke"]).code, Some(0));
    let branches = home.json(&["thread", "list", "--branches"]);
    let branch = branches.as_array().unwrap().iter().find(|row| row["branch"] == "both.inner.it").unwrap();
    let stepped = home.uwf(&["thread", "step", branch["thread"].as_str().unwrap()]);
    assert_eq!(stepped.code, Some(78), "{}", stepped.transcript());
    let hash = home.json(&["workflow", "show", "run-them"])["hash"].as_str().unwrap().to_owned();
    assert!(stepped.stderr.contains(&format!("`uwf workflow trust {hash}`")), "{}", stepped.stderr);
    assert_eq!(home.uwf(&["workflow", "trust", "run-them"]).code, Some(0));
    let retried = home.uwf(&["thread", "retry", "@"]);
    assert_eq!(retried.code, Some(0), "{}", retried.transcript());
}

mod with_tools {
    use super::*;
    use crate::fixtures::terminal::session;

    #[test]
    fn terminal_shows_commands_and_asks() {
        let home = home();
        let project = home.work().join(".workflows");
        fs::create_dir(&project).unwrap();
        fs::write(project.join("run-it.yaml"), one("echo ran > ran")).unwrap();
        for (answer, code, ran) in [("\r", 130, 78), ("y\r", 0, 0)] {
            let asked = session(&home, &["workflow", "trust", "run-it"], &[("trust these commands?", answer)]);
            assert_eq!(asked.code, Some(code), "{}", asked.shown);
            let question = asked.shown.find("trust these commands?").unwrap();
            assert!(asked.shown[..question].contains("echo ran > ran"), "{}", asked.shown);
            assert_eq!(home.uwf(&["run", "run-it", "-p", "x"]).code, Some(ran));
        }
    }
}
