//! Names that reorder the line around them: of a workflow, its roles, conditions and inputs, and of the branches of a group.

use serde_json::json;
use uwf_testing::{TestHome, text};

use super::terminal::check;
use crate::home;

/// `¶` stands for the symbol that turns the text around.
const WORKFLOW: &str = r#"
name: "ho¶stile"
description: x
input: { type: object, properties: { "in¶put": { type: string } } }
roles:
  planner: { goal: x, meta: { type: object, properties: { items: { type: array, items: { type: object, properties: { id: { type: string } } } } } } }
  "fi¶xer": { goal: x, meta: { type: object, properties: { ok: { type: boolean } }, required: [ok] } }
  "fi¶xes": { play: "fi¶xer", each: "$last('planner').items", key: id }
  panel: { play: [ "fi¶xer", { role: planner, condition: "no¶pe" } ] }
conditions:
  "no¶pe": "start.prompt = 'no'"
  "en¶d": "$exists($last('panel'))"
graph:
  $START: [ { role: planner } ]
  planner: [ { role: "fi¶xes" } ]
  "fi¶xes": [ { role: panel } ]
  panel: [ { role: $END, condition: "en¶d", outcome: odd }, { role: $END } ]
"#;

const SYMBOL: &str = "\u{202E}";

/// A thread whose branches have hostile names; the first of them fails.
fn attacked() -> (TestHome, String) {
    let home = home();
    let file = home.file("hostile.yaml", &WORKFLOW.replace('¶', "\\u202E"));
    assert_eq!(home.uwf(&["workflow", "put", file.to_str().unwrap()]).code, Some(0));
    let items = ["a\u{202E}b", "c\u{2066}d", "e\u{200F}f"].map(|id| json!({ "id": id }));
    let fixed = json!({ "reply": { "ok": true }, "repeat": true });
    let script = json!({
        "planner": [ { "reply": { "items": items } } ],
        (format!("fi{SYMBOL}xer")): [ fixed ],
        (format!("fi{SYMBOL}xes.a\u{202E}b")): [ { "fail": 1 }, fixed ],
    });
    home.file("script.yaml", &script.to_string());
    home.config("agents:\n  m: { command: uwf-mock, args: [script.yaml] }\ndefaultAgent: m\n");
    let input = format!("in{SYMBOL}put=x");
    let started = home.json(&["thread", "start", &format!("ho{SYMBOL}stile"), "-p", "x", "--set", &input]);
    (home, text(&started, "thread"))
}

fn views<'a>(thread: &'a str, workflow: &'a str) -> Vec<Vec<&'a str>> {
    vec![
        vec!["thread", "list", "--all"],
        vec!["thread", "show", thread],
        vec!["thread", "why", thread],
        vec!["thread", "cost", thread],
        vec!["thread", "cost", thread, "--by", "branch"],
        vec!["thread", "steps", thread],
        vec!["workflow", "list"],
        vec!["workflow", "show", workflow],
        vec!["workflow", "validate", workflow],
    ]
}

fn reorders(text: &str) -> bool {
    text.contains(['\u{202E}', '\u{2066}', '\u{200F}'])
}

#[test]
fn lines_of_reports_show_names_in_order() {
    let (home, thread) = attacked();
    let ran = home.uwf(&["run", &thread, "--format", "text"]);
    assert_eq!(ran.code, Some(40), "{}", ran.transcript());
    assert!(ran.stderr.contains("fi\u{FFFD}xes.a\u{FFFD}b"), "{}", ran.stderr);
    let again = home.uwf(&["run", &thread, "--format", "text"]);
    assert_eq!(again.code, Some(11), "{}", again.transcript());
    assert!(again.stdout.contains("odd (en\u{FFFD}d)"), "{}", again.stdout);
    let workflow = format!("ho{SYMBOL}stile");
    for args in views(&thread, &workflow) {
        let shown = home.uwf(&[&args[..], &["--format", "text"]].concat());
        assert_eq!(shown.code, Some(0), "{}", shown.transcript());
        assert!(!reorders(&shown.stdout), "{args:?}: {:?}", shown.stdout);
        assert!(shown.stdout.contains('\u{FFFD}'), "{args:?}: {}", shown.stdout);
    }
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(shown["input"], json!({ (format!("in{SYMBOL}put")): "x" }), "JSON keeps the bytes");
    let branches = home.json(&["thread", "eval", &thread, &format!("$branches('fi{SYMBOL}xes').name")]);
    assert_eq!(branches, json!(["a\u{202E}b", "c\u{2066}d", "e\u{200F}f"]));
}

mod with_tools {
    use super::*;
    use crate::fixtures::terminal::session;

    #[test]
    fn no_view_of_a_group_reorders_a_terminal() {
        let (home, thread) = attacked();
        check(&home, &["run", &thread], 40);
        let workflow = format!("ho{SYMBOL}stile");
        let all = |thread: &str| {
            views(thread, &workflow).iter().for_each(|args| drop(check(&home, args, 0)));
            check(&home, &["thread", "read", thread], 0);
            check(&home, &["workflow", "graph", &workflow], 0);
            check(&home, &["log", thread], 0);
            check(&home, &["thread", "diff", thread, thread], 0);
        };
        all(&thread);
        let top = session(&home, &["top"], &[("ho\u{FFFD}stile", "q")]);
        assert!(top.code == Some(0) && !reorders(&top.shown), "{:?}", top.shown);
        check(&home, &["thread", "retry", &thread], 0);
        check(&home, &["run", &thread], 11);
        check(&home, &["thread", "live", &thread], 11);
        all(&thread);
        check(&home, &["thread", "fork", &thread, "--redo", &format!("fi{SYMBOL}xes.x")], 64);
        check(&home, &["thread", "take", &thread, &format!("fi{SYMBOL}xes.x")], 64);
    }
}
