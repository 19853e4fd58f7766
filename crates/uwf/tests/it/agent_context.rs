//! `uwf agent context`: what an agent can ask about the step it plays.

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::text;

use crate::fixtures::protocol_agents::fresh;

#[test]
fn context_contains_everything_role_needs() {
    let (home, thread) = fresh();
    home.json(&["thread", "step", &thread]);
    let mut context = home.json(&["agent", "context", &thread, "reviewer"]);
    let prompt = text(&context, "prompt");
    assert!(prompt.contains("Approve or not.") && prompt.contains("Cats are animals."), "{prompt}");
    context["prompt"] = json!("…");
    // Only what a run takes, and how it came to be, varies.
    for (key, shown) in [("hash", "<step>"), ("detail", "<detail>")] {
        context["steps"][0][key] = json!(shown);
    }
    assert_snapshot!(home.steady(&format!("{context:#}")), @r#"
    {
      "thread": "<id>",
      "role": "reviewer",
      "workflow": "EQWHFSZCQE4V9",
      "workflowName": "review-text",
      "attempt": null,
      "agent": null,
      "task": "write about cats",
      "workspace": "<dir>/work",
      "description": "reviews",
      "goal": "Approve or not.",
      "capabilities": [],
      "procedure": "Read it twice.",
      "output": "Your decision.",
      "schema": {
        "type": "object",
        "title": "review-text.reviewer",
        "required": [
          "approved"
        ],
        "properties": {
          "approved": {
            "type": "boolean"
          },
          "notes": {
            "anyOf": [
              {
                "type": "string"
              },
              {
                "type": "null"
              }
            ]
          }
        },
        "additionalProperties": false
      },
      "steps": [
        {
          "index": 1,
          "hash": "<step>",
          "role": "writer",
          "output": {
            "title": "Cats"
          },
          "text": "Cats are animals.",
          "agent": "writer",
          "detail": "<detail>",
          "timestamp": <ms>
        }
      ],
      "omittedSteps": 0,
      "prompt": "…"
    }
    "#);

    assert_eq!(home.uwf(&["agent", "context", &thread, "reviewer", "--prompt"]).stdout, prompt);
    let as_json = home.uwf(&["agent", "context", &thread, "reviewer", "--prompt", "--answer", "json"]).stdout;
    assert!(as_json != prompt && as_json.contains("JSON"), "{as_json}");
    let short = home.json(&["agent", "context", &thread[20..], "reviewer", "--steps", "0"]);
    assert_eq!([&short["steps"], &short["omittedSteps"]], [&json!([]), &json!(1)]);
}

#[test]
fn a_context_that_does_not_exist_is_refused() {
    let (home, thread) = fresh();
    assert_snapshot!(home.transcript(&["agent", "context", &thread, "revewer"]), @r"
    exit 64
    --- stderr
    error: workflow `review-text` has no role `revewer`
    hint: its roles: reviewer, writer
    ");
    assert_snapshot!(home.transcript(&["agent", "context", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "reviewer"]), @"
    exit 69
    --- stderr
    error: thread <id> does not exist
    hint: `uwf thread list --all` lists every thread
    ");
    assert_snapshot!(home.transcript(&["agent", "context", "no-thread", "reviewer"]), @r"
    exit 64
    --- stderr
    error: `no-thread` is not a thread id; give at least 4 symbols of the start or the end of one
    ");
    home.json(&["thread", "kill", &thread]);
    assert_eq!(home.uwf(&["agent", "context", &thread, "reviewer"]).code, Some(69));
}
