//! From a file to a finished thread.

use serde_json::json;

use crate::home;

const WORKFLOW: &str = r#"
name: review-text
description: a writer and a reviewer
roles:
  writer:
    description: writes
    goal: Write one sentence.
    meta: { type: object, properties: { title: { type: string } }, required: [title] }
  reviewer:
    description: reviews
    goal: Approve or not.
    meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] }
conditions:
  rejected: { description: not good yet, expression: "steps[-1].output.approved = false" }
graph:
  $START: [ { role: writer } ]
  writer: [ { role: reviewer } ]
  reviewer:
    - { role: writer, condition: rejected }
    - { role: $END }
"#;

/// A reviewer that rejects until it has been called twice.
const REVIEWER: &str = "#!/bin/sh\ncat > /dev/null\nif [ -e seen ]; then echo '{\"approved\": true}'; else touch seen; echo '{\"approved\": false}'; fi\n";

#[test]
fn a_workflow_loops_until_its_condition_lets_it_go() {
    let home = home();
    home.script("writer", "#!/bin/sh\ncat > /dev/null\nprintf -- '---\\ntitle: Fix #42\\n---\\nA sentence.\\n'\n");
    home.script("reviewer", REVIEWER);
    home.config("agents:\n  writer: { command: writer, output: text }\n  reviewer: { command: reviewer, output: json }\ndefaultAgent: writer\nagentOverrides: { review-text: { reviewer: reviewer } }\n");
    home.put("review-text", WORKFLOW);
    let thread = home.start("review-text", "write about cats");

    let roles: Vec<String> = (0..4)
        .map(|_| {
            let report = home.json(&["thread", "step", &thread]);
            format!("{} done={}", report["role"].as_str().unwrap(), report["done"])
        })
        .collect();
    assert_eq!(roles, ["writer done=false", "reviewer done=false", "writer done=false", "reviewer done=true"]);

    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(
        json!([shown["done"], shown["state"], shown["steps"], shown["role"]]),
        json!([true, "completed", 4, "reviewer"])
    );
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(69), "a finished thread is not active");
}
