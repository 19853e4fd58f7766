//! What an answer's header says beside the role's output: `$frontmatter(step)` in conditions.

use insta::assert_snapshot;
use serde_json::json;

use crate::{home, transcript};

/// A writer that says how sure it is, and a reviewer for when it is not.
const WORKFLOW: &str = r#"
name: unsure
roles:
  writer: { goal: Write, meta: { type: object, required: [n], properties: { n: { type: integer } } } }
  reviewer: { goal: Look, meta: { type: object, required: [status], properties: { status: { type: string } } } }
conditions:
  unsure: { description: the writer is not sure, expression: "$frontmatter(steps[-1]).confidence < 0.5" }
  partly: { description: not all is done, expression: "$frontmatter(steps[-1]).status = 'partial'" }
graph:
  $START: [ { role: writer } ]
  writer: [ { role: reviewer, condition: unsure }, { role: $END } ]
  reviewer: [ { role: writer, condition: partly }, { role: $END } ]
"#;

/// Answers each role by its own text, and the writer surely the second time.
const AGENT: &str = r#"#!/bin/sh
if [ "$UWF_ROLE" = reviewer ]; then printf -- '---\nstatus: partial\n---\nMore.\n'; exit; fi
if [ -e sure ]; then confidence=0.9; else confidence=0.3; fi
touch sure
printf -- "---\nn: 1\nconfidence: $confidence\nscope: the first half\nartifacts: [a.txt]\n---\nText.\n"
"#;

#[test]
fn conditions_see_header_fields_besides_output() {
    let home = home();
    home.worker("output: text", AGENT);
    home.put("unsure", WORKFLOW);
    let thread = home.start("unsure", "write");
    assert_eq!(home.json(&["run", &thread])["done"], true);
    let roles = home.json(&["thread", "eval", &thread, "steps.role"]);
    assert_eq!(roles, json!(["writer", "reviewer", "writer"]));
    let eval = |expression: &str| home.json(&["thread", "eval", &thread, expression]);
    let first = json!({ "confidence": 0.3, "scope": "the first half", "artifacts": ["a.txt"] });
    assert_eq!(eval("$frontmatter(steps[0])"), first);
    assert_eq!(eval("$frontmatter(steps[1])"), json!({ "status": "partial" }), "a key of the output is one, too");
    assert_eq!(eval("$exists($frontmatter(steps[0]).next)"), json!(false));
    assert_eq!(eval("steps.$frontmatter($).confidence"), json!([0.3, 0.9]));
    let steps = home.json(&["thread", "steps", &thread]);
    let reviewer = steps["steps"][2]["hash"].as_str().unwrap().to_owned();
    assert_snapshot!(transcript(&home, &["thread", "why", &reviewer, "--format", "text"]), @"
    exit 0
    unsure thread <id>

    2. reviewer by w (worker): #1
    chosen after writer: reviewer
      ✓ → reviewer if unsure (the writer is not sure): the expression gave true
          $frontmatter(steps[-1]).confidence < 0.5 → true
          $frontmatter(steps[-1]).confidence is 0.3
    output obtained
      frontmatter: read from the header of the agent's answer
      uwf thread step-details #2 shows everything
    ");
    assert_snapshot!(transcript(&home, &["thread", "eval", &thread, "$frontmatter('writer')"]), @"
    exit 65
    --- stderr
    error: `$frontmatter('writer')` could not be evaluated: $frontmatter takes one step, such as steps[-1] (T0410)
    ");
}
