//! Files as users have them: read where they lie, loaded, validated, and routed to the end with scripted agents. A
//! clone without them uses invented equivalents.

use std::fs;
use std::path::{Path, PathBuf};

use uwf_testing::{TestHome, text};

use crate::fixtures::mocked::mock;
use crate::home;

/// An example of the given name: the file users have, or the invented one put in its place.
fn example(home: &TestHome, name: &str, invented: &str) -> PathBuf {
    let shared = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/examples")).join(name);
    if shared.is_file() {
        return shared;
    }
    eprintln!("{} is not there: an invented {name} is used", shared.display());
    home.file(name, invented)
}

/// Validates a workflow, then steps it to its end with a script. Tells the roles in order and the reason of the end.
fn run(home: &TestHome, file: &Path, script: &str) -> String {
    mock(home, "", script);
    let validated = home.uwf(&["workflow".as_ref(), "validate".as_ref(), file.as_os_str()]);
    assert_eq!(validated.code, Some(0), "{}", validated.transcript());
    let thread = text(&home.json(&["thread", "start", file.to_str().unwrap(), "-p", "do it"]), "thread");
    let mut told = Vec::new();
    for _ in 0..30 {
        let report = home.json(&["thread", "step", &thread]);
        told.push(text(&report, "role"));
        if report["done"] == true {
            told.push(text(&report, "reason"));
            break;
        }
    }
    told.join(" ")
}

const SOLVE_ISSUE: &str = r#"
name: solve-issue
description: three roles and a way back
roles:
  planner:
    description: plans
    goal: Plan.
    meta: { type: object, properties: { plan: { type: string }, steps: { type: array, items: { type: string } } }, required: [plan, steps] }
  developer:
    description: develops
    goal: Develop.
    meta: { type: object, properties: { filesChanged: { type: array, items: { type: string } }, summary: { type: string } }, required: [filesChanged, summary] }
  reviewer:
    description: reviews
    goal: Review.
    meta: { type: object, properties: { approved: { type: boolean }, comments: { type: string } }, required: [approved, comments] }
conditions:
  notApproved: { description: rejected, expression: "steps[-1].output.approved = false" }
graph:
  $START: [ { role: planner, condition: null } ]
  planner: [ { role: developer, condition: null } ]
  developer: [ { role: reviewer, condition: null } ]
  reviewer: [ { role: developer, condition: notApproved }, { role: $END, condition: null } ]
"#;

#[test]
fn solve_issue_loops_over_a_rejected_review() {
    let home = home();
    let file = example(&home, "solve-issue.yaml", SOLVE_ISSUE);
    let script = r#"
planner: [ reply: { plan: fold case, steps: [test, change] } ]
developer: [ { reply: { filesChanged: [a.rs], summary: folded }, repeat: true } ]
reviewer:
  - reply: "---\napproved: false\ncomments: what about Turkish?\n---\n"
  - reply: { approved: true, comments: "" }
"#;
    assert_eq!(run(&home, &file, script), "planner developer reviewer developer reviewer end");
}

const ANALYZE_TOPIC: &str = r"
name: analyze-topic
description: one role
roles:
  analyst:
    description: analyses
    goal: Analyse.
    meta: { type: object, properties: { thesis: { type: string }, keyPoints: { type: array, items: { type: string } }, caveats: { type: string } }, required: [thesis, keyPoints] }
conditions: {}
graph:
  $START: [ { role: analyst, condition: null } ]
  analyst: [ { role: $END, condition: null } ]
";

#[test]
fn analyze_topic_is_one_step() {
    let home = home();
    let file = example(&home, "analyze-topic.yaml", ANALYZE_TOPIC);
    let script = "analyst:\n  - reply: |\n      ---\n      thesis: it depends\n      keyPoints:\n        - on the case\n      ---\n      # Analysis\n";
    assert_eq!(run(&home, &file, script), "analyst end");
}

const LEGACY: &str = r#"
name: legacy-role-form
description: the earlier role form
roles:
  planner:
    description: plans
    systemPrompt: You plan.
    outputSchema:
      type: object
      properties: { phases: { type: array, items: { type: string } }, needsClarification: { anyOf: [ { type: string }, { type: "null" } ] } }
      required: [phases]
  developer:
    description: develops
    systemPrompt: You develop.
    outputSchema: { type: object, properties: { filesChanged: { type: array, items: { type: string } }, summary: { type: string } }, required: [filesChanged] }
conditions:
  needsClarification: { description: asks, expression: "$exists(steps[-1].output.needsClarification)" }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: $END, condition: needsClarification }, { role: developer } ]
  developer: [ { role: $END, condition: null } ]
"#;

#[test]
fn the_earlier_role_form_takes_both_its_ways() {
    let home = home();
    let file = example(&home, "legacy-role-form.yaml", LEGACY);
    let script =
        "planner:\n  - reply: { phases: [a] }\ndeveloper:\n  - reply: { filesChanged: [], summary: none needed }\n";
    assert_eq!(run(&home, &file, script), "planner developer end");
    let script = "planner:\n  - reply: { phases: [], needsClarification: which one? }\n";
    assert_eq!(run(&home, &file, script), "planner end");
}

const SOLVE_ISSUE_TABLE: &str = r#"{
  "name": "solve-issue", "description": "a transition table",
  "roles": {
    "preparer": { "name": "preparer", "description": "prepares", "systemPrompt": "Prepare.", "extractPrompt": "Extract.",
      "schema": { "type": "object", "required": ["repoPath", "defaultBranch", "conventions", "toolchain"], "properties": { "repoPath": { "type": "string" }, "defaultBranch": { "type": "string" }, "conventions": { "anyOf": [ { "type": "string" }, { "type": "null" } ] }, "toolchain": { "type": "object" } } } },
    "developer": { "name": "developer", "description": "develops", "systemPrompt": "Develop.", "extractPrompt": "Extract.",
      "schema": { "type": "object", "required": ["summary"], "properties": { "summary": { "type": "string" } } } },
    "submitter": { "name": "submitter", "description": "submits", "systemPrompt": "Submit.", "extractPrompt": "Extract.",
      "schema": { "type": "object", "required": ["prUrl"], "properties": { "prUrl": { "type": "string" } } } }
  },
  "moderator": [
    { "from": "__START__", "to": "preparer", "when": null }, { "from": "preparer", "to": "developer", "when": null },
    { "from": "developer", "to": "submitter", "when": null }, { "from": "submitter", "to": "__END__", "when": null }
  ]
}"#;

#[test]
fn a_transition_table_routes_in_a_line() {
    let home = home();
    let file = example(&home, "solve-issue-rfc.json", SOLVE_ISSUE_TABLE);
    let script = r#"
preparer: [ reply: { repoPath: /src/app, defaultBranch: main, conventions: null, toolchain: { build: make } } ]
developer: [ reply: "---\nsummary: \"done: all of it\"\n---\n" ]
submitter: [ reply: { prUrl: "https://example.org/pull/1" } ]
"#;
    assert_eq!(run(&home, &file, script), "preparer developer submitter end");
}

const DEVELOP_TABLE: &str = r#"{
  "name": "develop", "description": "phases by a transition table",
  "roles": {
    "planner": { "name": "planner", "description": "plans", "systemPrompt": "Plan.", "extractPrompt": "Extract.",
      "schema": { "type": "object", "properties": { "status": { "type": "string", "enum": ["planned", "aborted"] }, "phases": { "type": "array", "items": { "type": "object", "properties": { "hash": { "type": "string" } }, "required": ["hash"] } } }, "required": ["status", "phases"] } },
    "coder": { "name": "coder", "description": "codes", "systemPrompt": "Code.", "extractPrompt": "Extract.",
      "schema": { "type": "object", "properties": { "completedPhase": { "type": "string", "format": "cas_ref" }, "status": { "type": "string" } }, "required": ["completedPhase", "status"] } },
    "reviewer": { "name": "reviewer", "description": "reviews", "systemPrompt": "Review.", "extractPrompt": "Extract.",
      "schema": { "type": "object", "properties": { "status": { "type": "string" } }, "required": ["status"] } },
    "tester": { "name": "tester", "description": "tests", "systemPrompt": "Test.", "extractPrompt": "Extract.",
      "schema": { "type": "object", "properties": { "status": { "type": "string" } }, "required": ["status"] } },
    "committer": { "name": "committer", "description": "commits", "systemPrompt": "Commit.", "extractPrompt": "Extract.",
      "schema": { "type": "object", "properties": { "commit": { "type": "string" } }, "required": ["commit"] } }
  },
  "moderator": [
    { "from": "__start__", "to": "planner", "when": null },
    { "from": "planner", "to": "__end__", "when": "$steps[role='planner'].meta.status = 'aborted'" },
    { "from": "planner", "to": "coder", "when": null },
    { "from": "coder", "to": "reviewer", "when": "$count($filter(steps[role='planner'].meta.phases, function($p) { $p.hash in steps[role='coder'].meta.completedPhase })) >= $count(steps[role='planner'].meta.phases)" },
    { "from": "coder", "to": "coder", "when": null },
    { "from": "reviewer", "to": "tester", "when": "$steps[-1].meta.status = 'approved'" },
    { "from": "reviewer", "to": "coder", "when": null },
    { "from": "tester", "to": "committer", "when": "$steps[-1].meta.status = 'passed'" },
    { "from": "tester", "to": "coder", "when": null },
    { "from": "committer", "to": "__end__", "when": null }
  ]
}"#;

/// The coder reports phases by hash, and a reference must lead to a node: these two are stored first.
fn phases(home: &TestHome) -> [String; 2] {
    ["first phase", "second phase"].map(|phase| text(&home.json(&["cas", "put-text", phase]), "hash"))
}

#[test]
fn coder_repeats_until_all_phases_are_done() {
    let home = home();
    let file = example(&home, "develop-rfc.json", DEVELOP_TABLE);
    let [first, second] = phases(&home);
    let script = format!(
        r#"
planner: [ reply: {{ status: planned, phases: [ {{ hash: "{first}" }}, {{ hash: "{second}" }} ] }} ]
coder:
  - reply: {{ completedPhase: "{first}", status: completed }}
  - reply: {{ completedPhase: "{second}", status: completed }}
  - reply: {{ completedPhase: "{second}", status: completed }}
  - reply: {{ completedPhase: "{first}", status: completed }}
reviewer:
  - reply: {{ status: changes }}
  - {{ reply: {{ status: approved }}, repeat: true }}
tester: [ {{ reply: {{ status: failed }} }}, {{ reply: {{ status: passed }} }} ]
committer: [ reply: {{ commit: abc1234 }} ]
"#
    );
    let told = run(&home, &file, &script);
    assert_eq!(told, "planner coder coder reviewer coder reviewer tester coder reviewer tester committer end");
    let script = "planner: [ reply: { status: aborted, phases: [] } ]\n";
    assert_eq!(run(&home, &file, script), "planner end");
}

const CONFIG: &str = r#"
providers:
  openai: { baseUrl: "https://api.openai.com/v1", apiKeyEnv: OPENAI_API_KEY }
models:
  small: { provider: openai, name: gpt-4o-mini }
agents:
  hermes: { command: uwf-hermes, args: [] }
  cursor: { command: uwf-cursor, args: [] }
defaultAgent: hermes
agentOverrides: { solve-issue: { developer: cursor } }
defaultModel: small
modelOverrides: { extract: small }
"#;

#[test]
fn config_selects_agent_of_each_role() {
    let home = home();
    let workflow = example(&home, "solve-issue.yaml", SOLVE_ISSUE);
    let config = example(&home, "config.yaml", CONFIG);
    let script = "planner: [ reply: { plan: x, steps: [] } ]\n";
    mock(&home, "", script);
    let thread = text(&home.json(&["thread", "start", workflow.to_str().unwrap(), "-p", "do it"]), "thread");
    let agents: Vec<String> = ["planner", "developer"]
        .map(|role| {
            home.config(&fs::read_to_string(&config).unwrap());
            let dry = home.json(&["thread", "step", &thread, "--dry-run"]);
            assert_eq!(dry["role"], role);
            let told = format!("{}: {}", text(&dry, "alias"), dry["command"][0].as_str().unwrap());
            mock(&home, "", script);
            home.uwf(&["thread", "step", &thread]);
            told
        })
        .into();
    assert_eq!(agents, ["hermes: uwf-hermes", "cursor: uwf-cursor"]);
}
