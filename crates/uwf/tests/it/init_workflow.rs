//! `uwf init workflow`: workflows from templates, each way of each played.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;

use serde_json::Value;
use uwf_testing::{FinishedRun, TestHome, text};

use crate::home;
use crate::init_workspace::typed;

const TEMPLATES: [&str; 7] = ["review", "solve-issue", "develop", "research", "review-panel", "map", "best-of"];

/// Arrows of a graph: from and to.
type Arrows = BTreeSet<(String, String)>;

/// Plays a workflow by a script to its end, with fewer than 40 steps; the arrows the thread took.
fn taken(home: &TestHome, name: &str, script: &str) -> Arrows {
    let script = home.file("script.yaml", script);
    let agent = format!("uwf-mock {}", script.display());
    let ran = home.uwf(&["run", name, "-p", "do it", "--agent", &agent]);
    let report: Value = serde_json::from_str(ran.stdout.lines().last().unwrap_or_default()).unwrap();
    assert_eq!(report["done"], true, "{report}");
    taken_by(home, &text(&report, "thread"), name)
}

fn taken_by(home: &TestHome, thread: &str, name: &str) -> Arrows {
    let graph = home.json(&["workflow", "graph", name, "--thread", thread, "--format", "json"]);
    let arrow = |arrow: &Value| (text(arrow, "from"), text(arrow, "to"));
    graph["thread"]["taken"].as_array().unwrap().iter().map(arrow).collect()
}

/// All arrows of a workflow; each leads somewhere else, so that it is known by its ends.
fn arrows(home: &TestHome, name: &str) -> Arrows {
    let graph = home.json(&["workflow", "graph", name, "--format", "json"]);
    let mut arrows = Arrows::new();
    for (from, transitions) in graph["graph"].as_object().unwrap() {
        for transition in transitions.as_array().unwrap() {
            assert!(arrows.insert((from.clone(), text(transition, "role"))), "{from} has two arrows to one role");
        }
    }
    arrows
}

/// Scripts that together with that of the template go every way.
fn further_scripts(template: &str) -> &'static [&'static str] {
    match template {
        "review" => &["
writer: [ { reply: { title: t, text: x }, repeat: true } ]
reviewer: [ { reply: { approved: false, points: [no] }, repeat: true } ]
editor: [ { reply: { title: t, text: x, open: [] } } ]
"],
        "solve-issue" => &[
            "planner: [ { reply: { actionable: false, plan: none, steps: [], questions: [which?] } } ]",
            "
planner: [ { reply: { actionable: true, plan: p, steps: [s] } } ]
developer: [ { reply: { summary: s, filesChanged: [], checksPassed: false }, repeat: true } ]
reviewer: [ { reply: { approved: false, comments: [c] }, repeat: true } ]
reporter: [ { reply: { state: s, decisions: [d] } } ]
",
        ],
        "develop" => &[
            "planner: [ { reply: { status: aborted, phases: [], reason: two at once } } ]",
            // Phases are never done.
            "
planner: [ { reply: { status: planned, phases: [ { id: a, title: t, doneWhen: d } ] } } ]
coder: [ { reply: { phase: a, status: failed, summary: s }, repeat: true } ]
reporter: [ { reply: { state: s, open: [o] } } ]
",
            // The review is never content.
            "
planner: [ { reply: { status: planned, phases: [ { id: a, title: t, doneWhen: d } ] } } ]
coder: [ { reply: { phase: a, status: done, summary: s }, repeat: true } ]
reviewer: [ { reply: { status: changes, changes: [c] }, repeat: true } ]
reporter: [ { reply: { state: s, open: [o] } } ]
",
            // The tests never pass.
            "
planner: [ { reply: { status: planned, phases: [ { id: a, title: t, doneWhen: d } ] } } ]
coder: [ { reply: { phase: a, status: done, summary: s }, repeat: true } ]
reviewer: [ { reply: { status: approved, changes: [] }, repeat: true } ]
tester: [ { reply: { status: failed, failures: [f] }, repeat: true } ]
reporter: [ { reply: { state: s, open: [o] } } ]
",
        ],
        "research" => &[
            "scout: [ { reply: { answerable: false, parts: [], why: nobody knows } } ]",
            "
scout: [ { reply: { answerable: true, parts: [ { id: a, question: q } ], why: w } } ]
researcher: [ { reply: { part: a, answer: x, sources: [], confidence: 0.5 }, repeat: true } ]
checker: [ { reply: { doubts: [d] }, repeat: true } ]
writer: [ { reply: { answer: a, report: r } } ]
",
        ],
        "review-panel" => &["
author: [ { reply: { summary: s, touchesDocs: false }, repeat: true } ]
security: [ { reply: { findings: [f], approved: false }, repeat: true } ]
correctness: [ { reply: { findings: [], approved: true }, repeat: true } ]
reporter: [ { reply: One finding is left. } ]
"],
        "map" | "best-of" => &[],
        other => panic!("no scripts for {other}"),
    }
}

fn each_way(template: &str) {
    let home = home();
    let begun = home.json(&["init", "workflow", template]);
    assert_eq!((&begun["workflow"], &begun["template"]), (&Value::from(template), &Value::from(template)));
    let strict = home.uwf(&["workflow", "validate", "--strict"]);
    assert_eq!((strict.code, strict.stderr.as_str()), (Some(0), ""), "{}", strict.transcript());
    let problems = &strict.json()[0]["problems"];
    assert_eq!(problems, &serde_json::json!([]), "not even a note");
    // As it is printed, typed.
    let ran = typed(&home, begun["next"].as_str().unwrap());
    assert_eq!(ran.json()["done"], true, "{}", ran.stderr);
    let thread = text(&ran.json(), "thread");
    let mut way = taken_by(&home, &thread, template);
    assert!(way.len() >= 3, "the script of the template goes further than to the first end: {way:?}");
    for script in further_scripts(template) {
        way.extend(taken(&home, template, script));
    }
    assert_eq!(way, arrows(&home, template));
    // What the prompts are made of.
    let workflow = home.json(&["workflow", "show", template, "--format", "json"]);
    let roles = workflow["payload"]["roles"].as_object().unwrap_or_else(|| panic!("{workflow}"));
    assert!(roles.len() >= 3);
    for (name, role) in roles.iter().filter(|(_, role)| role["play"].is_null()) {
        for key in ["description", "goal", "procedure", "output"] {
            assert!(role[key].as_str().is_some_and(|text| text.len() > 20), "`{key}` of {name}");
        }
        assert!(!role["capabilities"].as_array().unwrap().is_empty(), "{name}");
    }
}

#[test]
fn each_way_of_the_review_is_played() {
    each_way("review");
}

#[test]
fn each_way_of_solving_an_issue_is_played() {
    each_way("solve-issue");
}

#[test]
fn each_way_of_developing_is_played() {
    each_way("develop");
}

#[test]
fn each_way_of_researching_is_played() {
    each_way("research");
}

#[test]
fn each_way_of_the_panel_is_played() {
    each_way("review-panel");
}

#[test]
fn each_way_of_the_map_is_played() {
    each_way("map");
}

#[test]
fn each_way_of_best_of_is_played() {
    each_way("best-of");
}

#[test]
fn template_creates_workflow_under_another_name() {
    let home = home();
    insta::assert_snapshot!(home.transcript(&["init", "workflow", "fix-bug", "--template", "solve-issue", "--format", "text"]), @"
    exit 0
    wrote .workflows/fix-bug.yaml
    wrote .workflows/mock/fix-bug.yaml
    wrote .workflows/schemas/workflow.json
    wrote .workflows/schemas/config.json
    wrote .workflows/schemas/mock.json
    note: <dir>/work is not in a git repository; to undo this, remove .workflows

    play it with its script in place of agents:
      uwf run fix-bug -p 'The search does not find upper case' --agent 'uwf-mock .workflows/mock/fix-bug.yaml'
    with your own agents: uwf setup, then the same without --agent
    ");
    assert_eq!(home.json(&["workflow", "list"])[0]["name"], "fix-bug");
    let plain = home.json(&["init", "workflow", "write-news"]);
    assert_eq!(plain["template"], "review", "without a word that is what it is");
    assert_eq!(plain["kept"].as_array().unwrap().len(), 3, "the schemas are there already");
}

#[test]
fn workflow_is_created_in_enclosing_project() {
    let home = home();
    fs::create_dir_all(home.work().join(".workflows")).unwrap();
    fs::create_dir_all(home.work().join("src/deep")).unwrap();
    let ran: FinishedRun = home
        .command(&["init", "workflow", "review"])
        .current_dir(home.work().join("src/deep"))
        .output()
        .unwrap()
        .into();
    let next = text(&ran.json(), "next");
    assert!(home.work().join(".workflows/review.yaml").is_file());
    assert!(!home.work().join("src/deep/.workflows").exists());
    let ran = typed(&home, &format!("cd src/deep && {next}"));
    assert_eq!(ran.json()["done"], true, "{}", ran.stderr);
}

#[test]
fn invalid_name_is_rejected_before_writing() {
    let home = home();
    for name in ["../out", "a b", "Fix Bug", "", ".hidden", "$START", "x: y", "config"] {
        let ran = home.uwf(&["init", "workflow", name]);
        assert_eq!(ran.code, Some(64), "{name}: {}", ran.transcript());
    }
    assert_eq!(fs::read_dir(home.work()).unwrap().count(), 0);
    let ran = home.uwf(&["init", "workflow", "x", "--template", "solve-isue"]);
    assert_eq!(ran.code, Some(64));
    assert!(ran.stderr.contains("solve-issue") && ran.stderr.contains("research"), "{}", ran.stderr);
}

#[test]
fn a_workflow_that_is_there_stays() {
    let home = home();
    fs::create_dir(home.work().join(".workflows")).unwrap();
    home.file(".workflows/review.yaml", "mine");
    let ran = home.uwf(&["init", "workflow", "review"]);
    assert_eq!(ran.code, Some(64), "{}", ran.transcript());
    assert_eq!(fs::read_to_string(home.work().join(".workflows/review.yaml")).unwrap(), "mine");
    home.file(".workflows/develop.json", "{}");
    let ran = home.uwf(&["init", "workflow", "develop"]);
    assert_eq!(ran.code, Some(64));
    assert!(ran.stderr.contains("develop.json"), "{}", ran.stderr);
    assert!(!home.work().join(".workflows/develop.yaml").exists());
}

/// Of two who want the same name for different workflows at once, one has it.
#[test]
fn of_two_at_once_one_has_the_name() {
    let home = home();
    for round in 0..5 {
        let name = format!("flow-{round}");
        let running: Vec<_> = TEMPLATES
            .map(|template| {
                let mut command = home.command(&["init", "workflow", &name, "--template", template]);
                command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .into();
        let codes: Vec<_> =
            running.into_iter().map(|child| child.wait_with_output().unwrap().status.code().unwrap()).collect();
        assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
        assert!(codes.iter().all(|code| [0, 64].contains(code)), "{codes:?}");
        let path = format!(".workflows/{name}.yaml");
        assert_eq!(home.uwf(&["workflow", "validate", "--strict", &path]).code, Some(0));
    }
}
