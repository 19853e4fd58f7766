//! A workflow to look at: a writer whose texts a reviewer rejects once.

use uwf_testing::{TestHome, text};

use crate::home;

/// Two roles; the reviewer sends the text back until it approves of it.
pub(crate) const WORKFLOW: &str = r#"
name: review-text
description: a writer and a reviewer
roles:
  writer:
    description: writes
    goal: Write one sentence.
    meta:
      type: object
      properties: { title: { type: string }, tags: { type: array, items: { type: string } } }
      required: [title]
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

const WRITER: &str = r#"#!/bin/sh
cat > /dev/null
cat <<'TEXT'
---
title: 'Fix #42'
tags: [cats, "*.rs"]
---
# What I did

A sentence.

```sh
# not a heading
```
TEXT
"#;

const REVIEWER: &str = r#"#!/bin/sh
cat > /dev/null
if [ -e seen ]; then echo '{"approved": true}'; else touch seen; echo '{"approved": false}'; fi
"#;

const BROKEN: &str = r"#!/bin/sh
cat > /dev/null
echo 'half an answer'
echo 'no licence for `claude`' >&2
exit 3
";

/// A home with the workflow, its agents, and one (`broken`) that always fails.
pub(crate) fn reviewing_home() -> TestHome {
    let home = home();
    home.script("writer", WRITER);
    home.script("reviewer", REVIEWER);
    home.script("broken", BROKEN);
    home.config(
        "agents:\n  writer: { command: writer, output: text }\n  reviewer: { command: reviewer, output: json }\n  \
         broken: { command: broken, output: text }\ndefaultAgent: writer\nagentOverrides: { review-text: { reviewer: reviewer } }\n",
    );
    home.put("review-text", WORKFLOW);
    home
}

/// Steps a thread so often.
pub(crate) fn step(home: &TestHome, thread: &str, times: usize) {
    for _ in 0..times {
        home.json(&["thread", "step", thread]);
    }
}

/// Hashes of a thread's nodes: the start, then the steps.
pub(crate) fn hashes(home: &TestHome, thread: &str) -> Vec<String> {
    let steps = home.json(&["thread", "steps", thread]);
    steps["steps"].as_array().expect("steps is a list").iter().map(|step| text(step, "hash")).collect()
}

/// Overwrites a node's file.
pub(crate) fn damage(home: &TestHome, hash: &str) {
    let file = home.root().join("cas").join(format!("{hash}.bin"));
    assert!(file.exists(), "{hash} is stored");
    std::fs::write(file, b"damaged").expect("the file can be written");
}
