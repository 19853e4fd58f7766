//! The extraction ladder as a user sees it: what is tried when an answer cannot be read, and what is kept.

use std::fs;

use serde_json::json;
use uwf_testing::{TestHome, counting_workflow};

use crate::home;

const CONFIG: &str = "agents:\n  m: { command: uwf-mock, config: { script: answers.yaml } }\ndefaultAgent: m\n";

/// A home with the counting workflow of one visit, a mock with this script, and a thread.
fn mocked(config: &str, script: &str) -> (TestHome, String) {
    let home = home();
    home.config(config);
    fs::write(home.root().join("answers.yaml"), script).unwrap();
    home.put("count-rounds", &counting_workflow(1));
    let thread = home.start("count-rounds", "count");
    (home, thread)
}

#[test]
fn the_session_is_told_what_is_wrong_and_its_correction_counts() {
    let (home, thread) = mocked(
        CONFIG,
        "worker:\n  - garbage: I counted to one.\n    feedback: [\"---\\nn: one\\n---\", \"---\\nn: 1\\n---\\n\"]\n",
    );
    let stepped = home.json(&["thread", "step", &thread]);
    assert_eq!(stepped["done"], true);
    let told = home.last_step(&thread);
    let session = &told["detail"];
    assert_eq!(session["extractedBy"], "feedback");
    let rungs: Vec<&str> =
        session["extraction"].as_array().unwrap().iter().filter_map(|rung| rung["rung"].as_str()).collect();
    assert_eq!(rungs, ["frontmatter", "feedback", "feedback"]);
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
    let (home, thread) = mocked(
        &format!("{CONFIG}extract: {{ feedback: 5 }}\n"),
        "worker:\n  - garbage: I counted to one.\n    feedback: [\"It is one.\", \"It is one.\", \"---\\nn: 1\\n---\\n\"]\n",
    );
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41), "{}", ran.stderr);
    assert!(ran.stderr.contains("(tried: frontmatter, feedback)"), "{}", ran.stderr);
}

#[test]
fn rungs_can_be_switched_off() {
    let script = "worker:\n  - garbage: I counted to one.\n    feedback: [\"---\\nn: 1\\n---\\n\"]\n";
    let (home, thread) = mocked(&format!("{CONFIG}extract: {{ feedback: 0 }}\n"), script);
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(41));
    let (home, thread) = mocked(
        &format!("{CONFIG}extract: {{ frontmatter: false }}\n"),
        "worker:\n  - reply: \"---\\nn: 1\\n---\\n\"\n",
    );
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41));
    assert!(ran.stderr.contains("switched off"), "{}", ran.stderr);
}
