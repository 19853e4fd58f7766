//! Inputs of a workflow: typed values that a thread is started with besides its task.

use std::fs::{self, File};

use serde_json::{Value, json};
use uwf_testing::server::TestServer;
use uwf_testing::{TestHome, text};

use crate::fixtures::mcp_client::Client;
use crate::home;

/// A workflow whose input decides the way.
const RELEASE: &str = "name: release
description: release a version
input:
  type: object
  properties:
    version: { type: string, description: the version to release }
    dry: { type: boolean, default: false, description: change nothing }
    level: { enum: [low, high], default: low }
    retries: { type: integer, minimum: 0 }
    target: { type: object, properties: { name: { type: string }, port: { type: integer, default: 22 } } }
    notes: { type: array, items: { type: string } }
  required: [version]
roles:
  planner: { goal: You plan. }
  publisher: { goal: You publish. }
conditions:
  dry: { expression: start.input.dry }
  high: { expression: \"$start.input.level = 'high'\" }
graph:
  $START: [ { role: planner } ]
  planner:
    - { role: $END, outcome: dry, condition: dry }
    - { role: publisher, condition: high }
    - { role: $END }
  publisher: [ { role: $END } ]
";

/// Keeps each prompt as `prompt.N`.
const KEEPER: &str =
    "#!/bin/sh\nn=$(($(cat count 2>/dev/null || echo 0) + 1))\necho $n > count\ncat > prompt.$n\necho done\n";

fn releasing() -> TestHome {
    let home = home();
    home.put("release", RELEASE);
    home.worker("output: text", KEEPER);
    home
}

fn threads(home: &TestHome) -> usize {
    home.json(&["thread", "list", "--all"]).as_array().unwrap().len()
}

/// The stderr of a start that must be refused with a code, and leave no thread.
fn refused(home: &TestHome, code: i32, args: &[&str]) -> String {
    let before = threads(home);
    let refused = home.uwf(args);
    assert_eq!(refused.code, Some(code), "{args:?}: {}", refused.transcript());
    assert_eq!(threads(home), before, "{args:?}: no thread is created");
    refused.transcript()
}

#[test]
fn values_and_defaults_are_kept_and_shown() {
    let home = releasing();
    let ran = home.uwf(&[
        "run",
        "release",
        "-p",
        "Release",
        "--set",
        "version=1.10",
        "--set",
        "retries=3",
        "--set",
        "notes=[a, 2b]",
        "--set",
        "target.name=web",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = text(&serde_json::from_str(&ran.stdout).unwrap(), "thread");
    let input = json!({
        "version": "1.10", "dry": false, "level": "low", "retries": 3, "notes": ["a", "2b"],
        "target": { "name": "web", "port": 22 },
    });
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(shown["input"], input);
    let steps = home.json(&["thread", "steps", &thread]);
    let start = &steps["steps"][0];
    assert_eq!(start["input"], input, "{steps}");
    let start = home.json(&["cas", "get", &text(start, "hash")]);
    let node = home.json(&["cas", "get", &text(&start["payload"], "input")]);
    assert_eq!(node["payload"], input);
    let workflow = home.json(&["cas", "get", &text(&shown, "workflow")]);
    assert_eq!(node["type"], workflow["payload"]["input"]);
    let read = home.uwf(&["thread", "read", &thread, "--start"]).stdout;
    assert!(read.contains("## Input") && read.contains("version: \"1.10\""), "{read}");
    let as_text = home.uwf(&["thread", "show", &thread, "--format", "text"]).stdout;
    assert!(as_text.contains("input:     {\"dry\":false"), "{as_text}");
}

#[test]
fn conditions_and_prompts_read_the_input() {
    let home = releasing();
    let dry = home.uwf(&["run", "release", "-p", "x", "--set", "version=1", "--set", "dry=true"]);
    assert_eq!(dry.code, Some(11), "{}", dry.transcript());
    let report: Value = serde_json::from_str(&dry.stdout).unwrap();
    assert_eq!(json!([report["outcome"], report["condition"]]), json!(["dry", "dry"]));

    let high = home.json(&["run", "release", "-p", "x", "--set", "version=2", "--set", "level=high"]);
    let thread = text(&high, "thread");
    assert_eq!(home.json(&["thread", "eval", &thread, "start.input.version & $start.input.level"]), "2high");
    let section = "\n# Input\n\n```yaml\n";
    let of = |n: usize| fs::read_to_string(home.work().join(format!("prompt.{n}"))).unwrap();
    let input_in = |prompt: String| {
        let from = prompt.find(section).unwrap_or_else(|| panic!("{prompt}"));
        let to = from + section.len() + prompt[from + section.len()..].find("```\n").unwrap();
        assert!(prompt.find("\n# Task\n").unwrap() < from, "the input comes after the task");
        prompt[from..to].to_owned()
    };
    assert_eq!(input_in(of(2)), input_in(of(3)), "the same bytes for every role");
    assert!(input_in(of(2)).contains("level: high\n"), "{}", of(2));
}

#[test]
fn file_and_stdin_give_values() {
    let home = releasing();
    home.file("in.yaml", "version: '1'\nlevel: high\ntarget: { name: a, port: 1 }\n");
    let started = home.json(&["thread", "start", "release", "-p", "x", "--input", "in.yaml", "--set", "target.port=2"]);
    let shown = home.json(&["thread", "show", &text(&started, "thread")]);
    assert_eq!(
        shown["input"],
        json!({ "version": "1", "level": "high", "dry": false, "target": { "name": "a", "port": 2 } })
    );
    let file = home.file("in.json", "{\"version\": \"7\"}");
    let mut command = home.command(&["thread", "start", "release", "-p", "x", "--input", "-"]);
    let piped = command.stdin(File::open(file).unwrap()).output().unwrap();
    assert_eq!(piped.status.code(), Some(0), "{piped:?}");
    assert!(refused(&home, 64, &["thread", "start", "release", "-p", "-", "--input", "-"]).contains("stdin"));
}

#[test]
fn unreadable_input_files_exit_with_one_code() {
    let home = releasing();
    let start = ["thread", "start", "release", "-p", "x", "--input"];
    fs::create_dir(home.work().join("dir")).unwrap();
    for (file, bytes) in [
        ("open.yaml", &b"version: [1\n"[..]),
        ("twice.yaml", b"version: a\nversion: b\n"),
        ("latin.yaml", b"version: \xe9\n"),
        ("list.json", b"[1]"),
        ("number.yaml", b"3\n"),
    ] {
        fs::write(home.work().join(file), bytes).unwrap();
        assert!(refused(&home, 65, &[&start[..], &[file]].concat()).contains(file), "{file}");
    }
    for file in ["dir", "missing.yaml"] {
        assert!(refused(&home, 74, &[&start[..], &[file]].concat()).contains(file), "{file}");
    }
    for (file, text) in
        [("empty.yaml", ""), ("comment.yaml", "# nothing yet\n"), ("null.json", "null\n"), ("none.json", "{}")]
    {
        home.file(file, text);
        assert!(refused(&home, 64, &[&start[..], &[file]].concat()).contains("`version` has no value"), "{file}");
        let started = home.json(&[&start[..], &[file, "--set", "version=1"]].concat());
        assert_eq!(home.json(&["thread", "show", &text_of(&started)])["input"]["version"], "1", "{file}");
    }
}

fn text_of(started: &Value) -> String {
    text(started, "thread")
}

#[test]
fn every_problem_is_reported_at_once() {
    let home = releasing();
    home.file("in.yaml", "retires: 1\nretries: -1\n");
    let said = refused(
        &home,
        64,
        &["run", "release", "-p", "x", "--input", "in.yaml", "--set", "lvel=low", "--set", "dry=maybe"],
    );
    for part in [
        "in.yaml:1:1: `retires` is not an input; did you mean `retries`?",
        "in.yaml:2:1: `retries`",
        "--set lvel: `lvel` is not an input; did you mean `level`?",
        "--set dry: `dry`",
        "`version` has no value (string: the version to release)",
        "--set version=…",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let twice = refused(&home, 64, &["run", "release", "-p", "x", "--set", "version=1", "--set", "version=2"]);
    assert!(twice.contains("set twice"), "{twice}");
    let large = format!("{{\"version\": \"{}\"}}", "x".repeat(256 << 10));
    home.file("large.json", &large);
    assert!(refused(&home, 64, &["run", "release", "-p", "x", "--input", "large.json"]).contains("262144"));
}

#[test]
fn workflow_without_input_takes_no_values() {
    let home = home();
    let plain: String = {
        let (head, rest) = RELEASE.split_once("input:\n").unwrap();
        let (_, tail) = rest.split_once("roles:\n").unwrap();
        let plain = format!("{head}roles:\n{tail}");
        plain.replace("start.input.dry", "start.prompt = 'dry'").replace("$start.input.level", "start.prompt")
    };
    home.put("release", &plain);
    let said = refused(&home, 64, &["thread", "start", "release", "-p", "x", "--set", "a=1"]);
    assert!(said.contains("takes no input"), "{said}");
    let thread = home.start("release", "x");
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(shown.get("input"), None);
    let start = home.json(&["cas", "get", &text(&shown, "head")]);
    assert_eq!(start["payload"].get("input"), None);
    let on_thread = refused(&home, 64, &["run", &thread, "--set", "a=1"]);
    assert!(on_thread.contains("need --prompt"), "{on_thread}");
}

#[test]
fn workflow_show_lists_inputs() {
    let home = releasing();
    let shown = home.json(&["workflow", "show", "release"]);
    let version = json!({
        "name": "version", "type": ["string"], "required": true, "description": "the version to release",
    });
    assert_eq!(shown["inputs"][0], version, "{shown}");
    assert_eq!(shown["inputs"].as_array().unwrap().len(), 6);
    let as_text = home.uwf(&["workflow", "show", "release", "--format", "text"]).stdout;
    for part in ["version", "string", "required", "the version to release", "default: false", "low, high"] {
        assert!(as_text.contains(part), "{part}: {as_text}");
    }
}

#[test]
fn fork_keeps_input_and_changes_it() {
    let home = releasing();
    let thread = text(&home.json(&["thread", "start", "release", "-p", "x", "--set", "version=1"]), "thread");
    let input_of = |args: &[&str]| {
        let forked = home.json(args);
        home.json(&["thread", "show", &text(&forked, "thread")])["input"].take()
    };
    let kept = json!({ "version": "1", "dry": false, "level": "low" });
    assert_eq!(input_of(&["thread", "fork", &thread]), kept);
    assert_eq!(input_of(&["thread", "fork", &thread, "-p", "y"]), kept);
    let changed = json!({ "version": "1", "dry": true, "level": "low" });
    assert_eq!(input_of(&["thread", "fork", &thread, "--set", "dry=true"]), changed);
    home.json(&["run", &thread]);
    assert_eq!(input_of(&["thread", "fork", &thread, "--set", "dry=true"]), changed);
    let step = home.head(&thread).unwrap_or_else(|| text(&home.json(&["thread", "show", &thread]), "head"));
    let said = refused(&home, 64, &["thread", "fork", &step, "--set", "dry=true"]);
    assert!(said.contains("another input"), "{said}");
    assert!(refused(&home, 64, &["thread", "fork", &thread, "--set", "dyr=true"]).contains("did you mean `dry`?"));
}

#[test]
fn hints_of_a_request_name_its_fields() {
    let home = releasing();
    let project = home.work().join(".workflows");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("ship.yaml"), RELEASE.replace("name: release", "name: ship")).unwrap();
    let server = TestServer::start(&home, &[]);
    let mut client = Client::start(&home, &["mcp"]);
    let sorted = |inputs: &Value| {
        let mut inputs = inputs.as_array().unwrap().clone();
        inputs.sort_by_key(|input| text(input, "name"));
        inputs
    };
    let types = sorted(&home.json(&["workflow", "show", "release"])["inputs"]);
    for listed in
        [home.json(&["workflow", "list"]), client.report("workflows", json!({})), server.get("/api/workflows").json()]
    {
        let row = |name: &str| listed.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
        let of = |name: &str| sorted(&row(name)["inputs"]);
        assert_eq!((of("release"), of("ship")), (types.clone(), types.clone()), "{listed}");
    }
    let task = json!({ "workflow": "release", "prompt": "x", "input": { "levle": "low" } });
    let by_server = server.post("/api/threads", &task).body;
    let (by_client, is_error) = client.call("start", task);
    assert!(is_error, "{by_client}");
    for said in [&by_server, &by_client] {
        for part in [
            "add `version` to `input`",
            "input: `levle` is not an input; did you mean `level`?",
            "`inputs` of `release` in the list",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains("--set") && !said.contains("workflow show"), "{said}");
    }
    let typed =
        server.post("/api/threads", &json!({ "workflow": "release", "prompt": "x", "input.retries": "many" })).body;
    assert!(typed.contains("input.retries: `retries`: expected"), "{typed}");
    let thread = text(&home.json(&["thread", "start", "release", "-p", "x", "--set", "version=1"]), "thread");
    let head = home.head(&thread).unwrap();
    let fork = server
        .post(&format!("/api/threads/{thread}/fork"), &json!({ "expectedHead": head, "input": { "dyr": true } }))
        .body;
    assert!(fork.contains("input.dyr: `dyr` is not an input; did you mean `dry`?"), "{fork}");
}

/// A parent whose role `release` is played by [`RELEASE`].
fn shipping(with: &str) -> TestHome {
    let home = releasing();
    home.put(
        "ship",
        &format!(
            "name: ship
description: plan and release
input: {{ type: object, properties: {{ major: {{ type: integer }} }}, required: [major] }}
roles:
  plan: {{ goal: You plan. }}
  release: {{ goal: Have it released., with: {{ {with} }} }}
graph:
  $START: [ {{ role: plan }} ]
  plan: [ {{ role: release }} ]
  release: [ {{ role: $END }} ]
"
        ),
    );
    let (worker, agents) = (home.bin_dir().join("worker"), "agentOverrides: { ship: { release: team } }\n");
    home.config(&format!(
        "agents:\n  w: {{ command: {}, output: text }}\n  team: {{ command: uwf-workflow, config: {{ workflow: release }} }}\n\
         defaultAgent: w\n{agents}",
        worker.display()
    ));
    home
}

#[test]
fn role_gives_input_to_child_workflow() {
    let home = shipping(
        "version: \"$string(start.input.major) & '.' & steps[-1].output\", notes: \"$map([1..2], function($n) { $string($n) })\", \
         retries: \"steps[-1].output.none\"",
    );
    let ran = home.uwf(&["run", "ship", "-p", "x", "--set", "major=4"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let rows = home.json(&["thread", "list", "--all"]);
    let child =
        rows.as_array().unwrap().iter().find(|row| row["workflowName"] == "release" || row["name"] == "release");
    let child = text(child.unwrap_or_else(|| panic!("{rows}")), "thread");
    let input = home.json(&["thread", "show", &child])["input"].take();
    assert_eq!(input, json!({ "version": "4.done", "notes": ["1", "2"], "dry": false, "level": "low" }));
    let thread = text(&serde_json::from_str(&ran.stdout).unwrap(), "thread");
    assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
    assert_eq!(home.uwf(&["thread", "verify", &child]).code, Some(0));
}

#[test]
fn unfit_child_input_fails_the_attempt() {
    for (with, parts) in [
        ("level: \"'medium'\"", &["role `release`", "`version` has no value", "`level`"][..]),
        ("versoin: \"'1'\"", &["role `release`", "`versoin` is not an input"]),
        ("version: \"1 + 'a'\"", &["`version` in `with` of role `release`"]),
    ] {
        let home = shipping(with);
        let ran = home.uwf(&["run", "ship", "-p", "x", "--set", "major=4"]);
        assert_eq!(ran.code, Some(65), "{with}: {}", ran.transcript());
        for part in parts {
            assert!(ran.transcript().contains(part), "{part}: {}", ran.transcript());
        }
        assert_eq!(home.json(&["thread", "list"])[0]["state"], "stuck");
    }
}

#[test]
fn bad_inputs_are_refused_in_files() {
    let home = home();
    let validate = |name: &str, yaml: &str| {
        let file = home.file(name, yaml);
        home.uwf(&["workflow", "validate", file.to_str().unwrap()])
    };
    let (head, rest) = RELEASE.split_once("input:\n").unwrap();
    let (_, tail) = rest.split_once("roles:\n").unwrap();
    let with = |input: &str| format!("{head}input: {input}\nroles:\n{tail}");
    for (input, why) in [
        ("{ topic: { type: string } }", "below `properties`"),
        ("{ type: string }", "must be the JSON Schema of an object"),
        ("[topic]", "must be the JSON Schema of an object"),
        ("{ type: object, properties: { dry: { type: bolean } } }", "bolean"),
        ("{ type: object, properties: { dry: { type: boolean, default: maybe } } }", "the default does not fit"),
    ] {
        let refused = validate("w.yaml", &with(input));
        assert_eq!(refused.code, Some(65), "{input}: {}", refused.transcript());
        assert!(refused.stdout.contains(why), "{input}: {}", refused.transcript());
    }
    let misread = validate("w.yaml", &RELEASE.replace("start.input.dry", "start.input.dyr"));
    assert!(misread.stdout.contains("reads `start.input.dyr`, but the input has no `dyr`"), "{}", misread.transcript());
    assert!(misread.stdout.contains("did you mean `dry`?"), "{}", misread.transcript());
    let without = validate("w.yaml", &format!("{head}roles:\n{tail}"));
    assert!(without.stdout.contains("the workflow has no `input`"), "{}", without.transcript());
    let broken = validate("w.yaml", &RELEASE.replace("You plan. }", "You plan., with: { a: '1 +' } }"));
    assert_eq!(broken.code, Some(65), "{}", broken.transcript());
    assert!(broken.stdout.contains("`a` in `with` of role `planner`"), "{}", broken.transcript());
}

#[test]
fn input_survives_gc_pack_and_copy() {
    let home = releasing();
    let ran = home.json(&["run", "release", "-p", "x", "--set", "version=1"]);
    let thread = text(&ran, "thread");
    let shown = home.json(&["thread", "show", &thread]);
    home.json(&["workflow", "rm", "release"]);
    home.json(&["gc", "--grace", "0s"]);
    home.json(&["pack"]);
    assert_eq!(home.json(&["thread", "show", &thread])["input"], shown["input"]);
    assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
    let there = releasing();
    let copied = home.uwf(&["store", "copy", ".", there.root().to_str().unwrap(), &thread]);
    assert_eq!(copied.code, Some(0), "{}", copied.transcript());
    assert_eq!(there.json(&["thread", "show", &thread])["input"], shown["input"]);
    assert_eq!(there.json(&["cas", "verify"])["problems"], json!([]));
}

#[test]
fn branches_of_group_have_the_input() {
    let home = releasing();
    home.put(
        "panel",
        "name: panel
description: two at once
input: { type: object, properties: { level: { enum: [low, high] }, version: { type: string } }, required: [level] }
roles:
  a: { goal: You judge. }
  b: { goal: You judge as well. }
  c: { goal: You judge the rest., with: { version: start.input.version } }
  judges: { play: [ a, { role: b, condition: \"start.input.level = 'low'\" }, c ] }
graph:
  $START: [ { role: judges } ]
  judges: [ { role: $END } ]
",
    );
    let worker = home.bin_dir().join("worker");
    home.config(&format!(
        "agents:\n  w: {{ command: {}, output: text }}\n  team: {{ command: uwf-workflow, config: {{ workflow: release }} }}\n\
         defaultAgent: w\nagentOverrides: {{ panel: {{ c: team }} }}\n",
        worker.display()
    ));
    let ran = home.uwf(&["run", "panel", "-p", "x", "--set", "level=high", "--set", "version=3"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = text(&serde_json::from_str(&ran.stdout).unwrap(), "thread");
    let steps = home.json(&["thread", "steps", &thread]);
    assert_eq!(steps["steps"][1]["output"], json!({ "a": "done", "c": "done" }));
    let rows = home.json(&["thread", "list", "--all"]);
    let inputs: Vec<Value> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| home.json(&["thread", "show", &text(row, "thread")])["input"].take())
        .collect();
    let (own, of_release) =
        (json!({ "level": "high", "version": "3" }), json!({ "version": "3", "dry": false, "level": "low" }));
    assert!(inputs.contains(&of_release), "{inputs:?}");
    assert_eq!(inputs.iter().filter(|input| **input == own).count(), inputs.len() - 1, "{inputs:?}");
    let prompts = [1, 2].map(|n| fs::read_to_string(home.work().join(format!("prompt.{n}"))).unwrap_or_default());
    assert!(prompts.iter().any(|prompt| prompt.matches("# Input\n\n```yaml\nlevel: high").count() == 1), "{prompts:?}");
    assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0));
}
