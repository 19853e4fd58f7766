//! `uwf workflow graph`: the graph as a diagram.

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::text;

use crate::fixtures::review::{reviewing_home, step};
use crate::fixtures::workflow_files::REVIEW;
use crate::home;

#[test]
fn graph_is_mermaid_by_default() {
    let home = home();
    home.put("review-text", REVIEW);
    assert_snapshot!(home.transcript(&["workflow", "graph", "review-text"]), @r#"
    exit 0
    flowchart TD
        start([START])
        r0["writer"]
        r1["reviewer"]
        finish([END])
        start --> r0
        r0 --> r1
        r1 -->|"rejected<br/>not good yet"| r0
        r1 -->|"otherwise"| finish
    "#);
    let mermaid = home.uwf(&["workflow", "graph", "review-text"]).stdout;
    assert_eq!(home.uwf(&["workflow", "graph", "review-text", "--format", "mermaid"]).stdout, mermaid);
    assert_eq!(home.uwf(&["workflow", "graph", "review-text", "--format", "text"]).stdout, mermaid);
    let report = home.json(&["workflow", "graph", "review-text", "--format", "json"]);
    assert_eq!(report["mermaid"], mermaid);
    assert_eq!(report["graph"]["$START"], json!([{ "role": "writer", "condition": null }]));
}

#[test]
fn outcomes_and_inner_groups_are_drawn() {
    let home = home();
    home.put(
        "nightly",
        "name: nightly
description: x
roles:
  lint: { goal: x }
  build: { goal: x }
  checks: { play: [ lint, build ] }
  all: { play: checks, each: \"['a', 'b']\" }
conditions:
  red: { expression: \"$count($last('all')) > 1\" }
graph:
  $START: [ { role: all } ]
  all: [ { role: $END, condition: red, outcome: broken }, { role: $END } ]
",
    );
    assert_snapshot!(home.transcript(&["workflow", "graph", "nightly"]), @r#"
    exit 0
    flowchart TD
        start([START])
        r0[["all<br/>∥ checks for each item<br/>∥ checks: lint, build"]]
        finish([END])
        start --> r0
        r0 -->|"red → broken or otherwise"| finish
    "#);
    let dot = home.uwf(&["workflow", "graph", "nightly", "--format", "dot"]).stdout;
    assert!(dot.contains("outcome: broken") && dot.contains("red → broken"), "{dot}");
    let svg = home.uwf(&["workflow", "graph", "nightly", "--format", "svg"]).stdout;
    assert!(svg.contains("checks: lint, build") && svg.contains("red → broken"), "{svg}");
}

#[test]
fn graph_renders_as_dot_and_svg() {
    let home = home();
    home.put("review-text", REVIEW);
    assert_snapshot!(home.transcript(&["workflow", "graph", "review-text", "--format", "dot"]), @r#"
    exit 0
    digraph "review-text" {
        rankdir=TB
        node [shape=box, style=rounded, fontname="sans-serif"]
        edge [fontname="sans-serif", fontsize=11]
        n0 [label="START", shape=oval]
        n1 [label="writer", tooltip="writes one sentence"]
        n2 [label="reviewer", tooltip="approves it or not"]
        n3 [label="END", shape=oval]
        n0 -> n1 []
        n1 -> n2 []
        n2 -> n1 [label="rejected\nnot good yet", tooltip="rejected: not good yet\nsteps[-1].output.approved = false", labeltooltip="rejected: not good yet\nsteps[-1].output.approved = false"]
        n2 -> n3 [label="otherwise"]
    }
    "#);
    let svg = home.uwf(&["workflow", "graph", "review-text", "--format", "svg"]);
    assert_eq!((svg.code, svg.stderr.as_str()), (Some(0), ""));
    assert!(svg.stdout.starts_with("<svg ") && svg.stdout.ends_with("</svg>\n"), "{}", svg.stdout);
    assert!(svg.stdout.contains(">not good yet</text>"), "{}", svg.stdout);
    assert!(svg.stdout.contains("prefers-color-scheme: dark") && !svg.stdout.contains("<a "), "{}", svg.stdout);
}

#[test]
fn thread_path_is_counted_and_position_marked() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    let at = || home.json(&["workflow", "graph", "--thread", &thread, "--format", "json"])["thread"].take();
    assert_eq!(at(), json!({ "thread": thread, "state": "active", "at": "writer", "taken": [] }));
    step(&home, &thread, 2);
    assert_eq!(home.uwf(&["thread", "step", &thread, "--agent", "broken"]).code, Some(40));
    let stuck = at();
    assert_eq!((text(&stuck, "at"), text(&stuck, "state")), ("writer".to_owned(), "stuck".to_owned()));
    step(&home, &thread, 2);
    assert_eq!(
        at(),
        json!({
            "thread": thread,
            "state": "completed",
            "at": "$END",
            "taken": [
                { "from": "$START", "to": "writer", "times": 1 },
                { "from": "writer", "to": "reviewer", "times": 2 },
                { "from": "reviewer", "to": "writer", "times": 1 },
                { "from": "reviewer", "to": "$END", "times": 1 },
            ],
        })
    );
    assert_snapshot!(home.transcript(&["workflow", "graph", "review-text", "--thread", "@"]), @r#"
    exit 0
    flowchart TD
        start([START])
        r0["writer<br/>2×"]
        r1["reviewer<br/>2×"]
        finish([END<br/>completed])
        start -->|"1×"| r0
        r0 -->|"2×"| r1
        r1 -->|"rejected · 1×<br/>not good yet"| r0
        r1 -->|"otherwise · 1×"| finish
        linkStyle 0,1,2,3 stroke-width:3px
        style finish stroke-width:3px,stroke:#2563eb
    "#);
    let svg = home.uwf(&["workflow", "graph", "--thread", "@", "--format", "svg"]).stdout;
    assert!(svg.contains(">rejected · 1×</text>") && svg.contains(">completed</text>"), "{svg}");
}

#[test]
fn a_killed_thread_stands_where_it_was() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    step(&home, &thread, 1);
    home.json(&["thread", "kill", &thread]);
    let report = home.json(&["workflow", "graph", "--thread", &thread, "--format", "json"]);
    assert_eq!((&report["thread"]["at"], &report["thread"]["state"]), (&json!("writer"), &json!("killed")));
}

#[test]
fn other_version_is_drawn_but_other_workflow_rejected() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    let old = home.json(&["workflow", "show", "review-text"])["hash"].clone();
    home.put("review-text", REVIEW);
    let ran = home.uwf(&["workflow", "graph", "review-text", "--thread", &thread, "--format", "json"]);
    assert_eq!(ran.json()["hash"], old, "{ran:?}");
    assert!(ran.stderr.contains("runs another version of review-text"), "{}", ran.stderr);
    home.put("count-rounds", &uwf_testing::counting_workflow(1));
    let ran = home.uwf(&["workflow", "graph", "count-rounds", "--thread", &thread]);
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(ran.stderr.contains("its workflow is review-text"), "{}", ran.stderr);
}

#[test]
fn undrawable_graphs_are_reported() {
    let home = home();
    home.put("review-text", REVIEW);
    for (args, code) in [
        (&["review-txt"][..], 69),
        (&[], 64),
        (&["--thread", "ZZZZ"], 69),
        (&["review-text", "--format", "png"], 64),
        (&["review-text", "--format", "csv"], 64),
    ] {
        let ran = home.uwf(&[&["workflow", "graph"], args].concat());
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
    }
}

#[test]
fn a_graph_of_hundreds_of_roles_is_drawn() {
    let home = home();
    let roles: String = (0..200).map(|at| format!("  r{at}: {{ goal: x, meta: {{ type: object }} }}\n")).collect();
    let graph: String = (0..200)
        .map(|at| {
            format!(
                "  r{at}: [ {{ role: \"{}\" }} ]\n",
                if at < 199 { format!("r{}", at + 1) } else { "$END".to_owned() }
            )
        })
        .collect();
    home.put("long", &format!("name: long\nroles:\n{roles}graph:\n  $START: [ {{ role: r0 }} ]\n{graph}"));
    for format in ["mermaid", "dot", "svg"] {
        let ran = home.uwf(&["workflow", "graph", "long", "--format", format]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("r0") && ran.stdout.contains("r199"), "{format}");
    }
}
