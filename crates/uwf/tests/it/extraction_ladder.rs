//! The extraction ladder as a user sees it: what is tried when an answer cannot be read, and what is kept.

use serde_json::{Value, json};
use uwf_testing::text;

use crate::fixtures::mocked::{mock, mocked, mocked_with};
use crate::home;

const NO_OUTPUT: &str = "the answer has no valid output for role `worker`";

const NO_HEADER: &str = "the header is missing: the answer must begin with `---`, the keys, and `---` again";

const NOT_INTEGER: &str = "`n`: expected an integer, found the string \"one\"";

/// A rung as it is recorded.
fn rung(name: &str, errors: &[&str]) -> Value {
    json!({ "rung": name, "errors": errors, "fixes": [] })
}

#[test]
fn session_corrects_output_after_feedback() {
    let (home, thread) = mocked(
        1,
        "worker:\n  - garbage: I counted to one.\n    feedback: [\"---\\nn: one\\n---\", \"---\\nn: 1\\n---\\n\"]\n",
    );
    let stepped = home.json(&["thread", "step", &thread]);
    assert_eq!(stepped["done"], true);
    let told = home.last_step(&thread);
    let session = &told["detail"];
    assert_eq!(session["extractedBy"], "feedback");
    let rungs = [rung("frontmatter", &[NO_HEADER]), rung("feedback", &[NOT_INTEGER]), rung("feedback", &[])];
    assert_eq!(session["extraction"], json!(rungs));
    let turns = session["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 3, "{turns:#?}");
    assert_eq!(session["raw"], "I counted to one.", "the work itself stays the answer");
    let asked = turns[1]["input"][0].as_str().unwrap();
    assert!(asked.contains("Do not do the work again"), "{asked}");
    let by = home.json(&["thread", "eval", &thread, "$extractedBy(steps[-1])"]);
    assert_eq!(by, json!("feedback"));
}

#[test]
fn the_same_error_twice_ends_the_feedback() {
    let (home, thread) = mocked_with(
        "extract: { feedback: 5 }\n",
        1,
        "worker:\n  - garbage: I counted to one.\n    feedback: [\"It is one.\", \"It is one.\", \"---\\nn: 1\\n---\\n\"]\n",
    );
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41), "{}", ran.stderr);
    let why = format!("[frontmatter] {NO_HEADER}; [feedback] the same; the answer reads: I counted to one.");
    assert!(ran.stderr.starts_with(&format!("error: {NO_OUTPUT}: {why}\n")), "{}", ran.stderr);
}

#[test]
fn feedback_stops_after_two_rounds_keeping_errors() {
    let (home, thread) = mocked(
        1,
        "worker:\n  - garbage: I counted to one.\n    feedback: [\"---\\nn: one\\n---\", \"---\\nm: 1\\n---\", \"---\\nn: 1\\n---\\n\"]\n",
    );
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(41), "the third would have been right");
    let attempt = text(&home.json(&["thread", "show", &thread]), "attempt");
    let attempt = home.json(&["thread", "step-details", &attempt, "--format", "json"]);
    let why = "[frontmatter] NO_HEADER; [feedback] NOT_INTEGER; [feedback] the header has none of the \
               keys that are asked for: n; the answer reads: I counted to one.";
    let why = why.replace("NO_HEADER", NO_HEADER).replace("NOT_INTEGER", NOT_INTEGER);
    assert_eq!(attempt["error"], format!("{NO_OUTPUT}: {why}"));
    assert_eq!(attempt["raw"], "I counted to one.");
}

#[test]
fn rungs_can_be_switched_off() {
    let script = "worker:\n  - garbage: I counted to one.\n    feedback: [\"---\\nn: 1\\n---\\n\"]\n";
    let (home, thread) = mocked_with("extract: { feedback: 0 }\n", 1, script);
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(41));
    let (home, thread) =
        mocked_with("extract: { frontmatter: false }\n", 1, "worker:\n  - reply: \"---\\nn: 1\\n---\\n\"\n");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41));
    assert!(ran.stderr.contains("switched off"), "{}", ran.stderr);
}

#[test]
fn disabled_frontmatter_also_applies_to_feedback() {
    let script = "worker:\n  - garbage: I counted to one.\n    feedback: [\"---\\nn: 1\\n---\\n\"]\n";
    let off = "no value was submitted, and reading frontmatter is switched off";
    let told = ["frontmatter: false", "frontmatter: false, submit: false"].map(|switches| {
        let (home, thread) = mocked_with(&format!("extract: {{ {switches} }}\n"), 1, script);
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(41), "{}", ran.transcript());
        ran.stderr.lines().next().unwrap_or_default().to_owned()
    });
    let only = format!("error: {NO_OUTPUT}: {off}; the answer reads: I counted to one.");
    let asked_once =
        format!("error: {NO_OUTPUT}: [frontmatter] {off}; [feedback] the same; the answer reads: I counted to one.");
    assert_eq!(told, [asked_once, only]);
}

const ROUTED: &str = "\
name: route-words
description: A value that was only obtained by asking again is looked at by somebody.
roles:
  writer:
    description: Writes.
    goal: You write.
    capabilities: []
    procedure: Write.
    output: The word.
    meta: { type: object, properties: { word: { type: string } }, required: [word] }
  checker:
    description: Looks at it.
    goal: You look.
    capabilities: []
    procedure: Look.
    output: Whether it is good.
    meta: { type: object, properties: { good: { type: boolean } }, required: [good] }
conditions:
  doubtful:
    description: It was not read from the answer itself.
    expression: \"$extractedBy(steps[-1]) = 'feedback'\"
graph:
  $START: [ { role: writer } ]
  writer: [ { role: checker, condition: doubtful }, { role: $END } ]
  checker: [ { role: $END } ]
";

#[test]
fn conditions_can_route_by_extraction_rung() {
    let answers = [
        ("  - reply: \"---\\nword: moon\\n---\\n\"\n", json!({ "done": true, "next": null })),
        (
            "  - garbage: moon\n    feedback: [\"---\\nword: moon\\n---\\n\"]\n",
            json!({ "done": false, "next": { "role": "checker" } }),
        ),
    ];
    for (answer, expected) in answers {
        let home = home();
        mock(&home, "", &format!("writer:\n{answer}"));
        home.put("route-words", ROUTED);
        let thread = home.start("route-words", "a word");
        let report = home.json(&["thread", "step", &thread]);
        assert_eq!(json!({ "done": report["done"], "next": report["next"] }), expected, "{answer}");
    }
}
