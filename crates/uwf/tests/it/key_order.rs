//! Keys and roles are shown in the order their author wrote them, as far as the store keeps it.

use insta::assert_snapshot;
use uwf_testing::{TestHome, text};

use crate::home;

/// `required` keeps the author's order; the store sorts `properties` by length and bytes. Roles by name would be
/// `coder`, `planner`, `approver`.
const WORKFLOW: &str = r"
name: plan-work
description: a plan, then work
roles:
  planner:
    goal: Plan.
    meta:
      type: object
      properties:
        summary: { type: string }
        phases: { type: array, items: { type: object, properties: { title: { type: string }, id: { type: integer } }, required: [title, id] } }
        ok: { type: boolean }
        b: { type: string }
      required: [summary, phases, ok]
  approver:
    goal: Approve.
    meta: { type: object, properties: { verdict: { type: string }, by: { type: string } }, required: [verdict, by] }
  coder:
    goal: Code.
    meta: { type: object, properties: { done: { type: boolean } }, required: [done] }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: approver } ]
  approver: [ { role: coder } ]
  coder: [ { role: $END } ]
";

fn planned() -> (TestHome, String) {
    let home = home();
    home.config("agents:\n  planner: { command: planner, output: json }\n  human: { command: uwf-human }\ndefaultAgent: human\nagentOverrides: { plan-work: { planner: planner } }\n");
    home.script(
        "planner",
        "#!/bin/sh\necho '{\"b\": \"x\", \"ok\": true, \"phases\": [{\"id\": 1, \"title\": \"one\"}], \"summary\": \"s\"}'\n",
    );
    home.put("plan-work", WORKFLOW);
    let thread = home.start("plan-work", "Do it.");
    (home, thread)
}

#[test]
fn prompt_lists_required_keys_in_order_before_optional() {
    let (home, thread) = planned();
    let prompt = text(&home.json(&["thread", "step", &thread, "--dry-run"]), "prompt");
    let keys: Vec<&str> = prompt.lines().filter(|line| line.trim_start().starts_with("- `")).collect();
    assert_snapshot!(keys.join("\n"), @"
    - `summary` (required): text
    - `phases` (required): list of objects
      - `title` (required): text
      - `id` (required): whole number
    - `ok` (required): `true` or `false`
    - `b` (optional): text
    ");
}

/// Otherwise the first step of each role would wait for one file more.
#[test]
fn role_instructions_are_stored_with_workflow() {
    let (home, thread) = planned();
    let stored = home.json(&["cas", "list"]).to_string();
    home.script("writes", "#!/bin/sh\nprintf -- '---\\nsummary: s\\nphases: []\\nok: true\\n---\\n'\n");
    home.json(&["thread", "step", &thread, "--agent", "writes"]);
    let payload = |hash: &str| home.json(&["cas", "get", hash])["payload"].take();
    let step = payload(&home.head(&thread).unwrap());
    let turn = payload(payload(step["detail"].as_str().unwrap())["turns"][0].as_str().unwrap());
    let asked = turn["input"][0].as_str().unwrap();
    assert!(text(&payload(asked), "text").starts_with("# How to answer"), "{turn}");
    assert!(stored.contains(asked), "{asked} is new");
}

#[test]
fn a_page_shows_an_output_in_that_order() {
    let (home, thread) = planned();
    home.json(&["thread", "step", &thread]);
    let page = home.uwf(&["thread", "read", &thread]).stdout;
    let (_, output) = page.split_once("· step").unwrap();
    assert_snapshot!(output.lines().skip(1).collect::<Vec<_>>().join("\n"), @"

    - **summary**: s
    - **phases**:
      - title: one; id: 1
    - **ok**: true
    - **b**: x
    ");
}

#[test]
fn people_and_tools_are_asked_in_that_order() {
    let (home, thread) = planned();
    home.json(&["thread", "step", &thread]);
    let waits = home.uwf(&["thread", "step", &thread]);
    assert_eq!(waits.code, Some(20));
    let form = waits.stderr.lines().find(|line| line.contains("--data")).unwrap();
    assert!(form.find("verdict") < form.find("\"by\""), "{form}");
    let schema = home.json(&["agent", "context", &thread, "approver"])["schema"].to_string();
    assert!(schema.find("verdict") < schema.find("\"by\""), "{schema}");
}

#[test]
fn roles_are_shown_in_flow_order() {
    let (home, _) = planned();
    assert_snapshot!(home.transcript(&["workflow", "show", "plan-work", "--format", "text"]), @"
    exit 0
    plan-work  2H4ESQ17BRJVH
    a plan, then work
    stored <time>

    roles
    role      output                   description
    planner   summary, phases, ok, b?
    approver  verdict, by
    coder     done

    graph
    from      to        if
    $START    planner   always
    planner   approver  always
    approver  coder     always
    coder     $END      always
    ");
    assert_snapshot!(home.transcript(&["workflow", "graph", "plan-work"]), @r#"
    exit 0
    flowchart TD
        start([START])
        r0["planner"]
        r1["approver"]
        r2["coder"]
        finish([END])
        start --> r0
        r0 --> r1
        r1 --> r2
        r2 --> finish
    "#);
}
