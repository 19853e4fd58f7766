//! A workflow file: a draft or problems with their places; what validates is stored, shown and stored again as the same.

use std::collections::HashMap;

use json_cas::{NodeHash, Store};
use serde_json::Value;
use uwf_core::document::FileProblem;
use uwf_core::node::TypedPayload;
use uwf_core::workflow::{GraphDrawing, Workflow, WorkflowDraft, check as read};
use uwf_testing::FuzzTarget;

pub(crate) const SUBJECT: FuzzTarget = FuzzTarget {
    name: "workflow file",
    samples: &[
        br"name: solve-it
description: Solves it
roles:
  worker: &w
    goal: |
      work
    capabilities: [shell]
    meta: { type: object, properties: { ok: { type: boolean } }, required: [ok] }
  other: *w
conditions:
  again: { description: d, expression: 'steps[-1].output.ok = false' }
graph:
  $START: [ { role: worker } ]
  worker:
    - { role: other, condition: again }
    - role: $END
  other: [ { role: $END, condition: null } ]
",
        br"name: write-it
roles:
  a: { systemPrompt: s, extractPrompt: e, outputSchema: { const: 1 } }
  b: { <<: { goal: x }, meta: 0ZK4000000000 }
moderator:
- { from: __start__, to: a }
- { from: a, to: b, when: '$count(steps) < 3' }
- { from: a, to: __end__ }
- { from: b, to: __END__ }
",
        br##"{"name": "find-it", "roles": {"a": {"meta": {"$defs": {"n": {"type": ["integer", "null"]}}, "properties": {"n": {"$ref": "#/$defs/n"}}}}},
"graph": {"$START": [{"role": "a"}], "a": [{"role": "a", "condition": "more"}, {"role": "$END"}]},
"conditions": {"more": {"description": "", "expression": "$exists($last('a').n) and steps[-1].output.n > 1"}}}"##,
        br"name: ship-it
input: { type: object, properties: { n: { type: integer, default: 1 } }, required: [n] }
roles:
  a: { with: { n: start.input.n + 1 } }
graph: { $START: [ { role: a, condition: many } ], a: [ { role: $END } ] }
conditions: { many: start.input.n > 2 }
",
    ],
    words: &[
        "name", "input", "with", "roles", "graph", "conditions", "meta", "moderator", "expression", "$START", "$END", "__start__", "role: ",
        "condition: ", "when: ", "true", "null", "1e400", "0x10", "\"", "'", ": ", "- ", "\n", "\n  ", "{ ", " }", "[", "]",
        ", ", "&w ", "*w", "<<: ", "!!str ", "---\n", "|\n", "a", "b", "~", "é", "\u{feff}", "\\ud800", "$ref", "#", "anyOf",
        "properties", "pattern", "items", "type", "0ZK4000000000", "title", "\t", "\r\n",
    ],
    check,
};

fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let parsed = read(text, "w.yaml", None);
    assert!(parsed.draft.is_some() != parsed.has_errors());
    parsed.problems.iter().for_each(|problem| assert_told(problem, text));
    let Some(draft) = parsed.draft else { return };
    let mut schemas = HashMap::new();
    let workflow = stored(draft, &mut schemas);
    let payload = workflow.to_payload();
    assert_eq!(Workflow::from_payload(&payload).as_ref(), Ok(&workflow));
    let drawing = GraphDrawing::from_workflow(&workflow, None);
    assert!(drawing.mermaid().starts_with("flowchart TD"));
    assert!(drawing.dot().ends_with("}\n"));
    assert!(!drawing.svg().contains("NaN"));
    assert_eq!(again(&payload), workflow.draft().hash(), "with the hashes of its schemas: {payload}");
    assert_eq!(again(&inlined(payload, &schemas)), workflow.draft().hash(), "with its schemas");
}

/// Says what and where, in one line.
fn assert_told(problem: &FileProblem, text: &str) {
    assert!(problem.line >= 1 && problem.column >= 1, "{problem}");
    assert!(problem.line <= text.split(['\n', '\r']).count() + 1, "{problem}");
    assert!(!problem.message.is_empty() && !problem.to_string().contains('\n'), "{problem}");
}

/// The stored form; what validates can be stored. The schemas of the file are kept in `schemas`.
fn stored(draft: WorkflowDraft, schemas: &mut HashMap<String, Value>) -> Workflow {
    let store = |_: &str, schema: Value| {
        let node = Store::schema_draft(schema.clone())?;
        schemas.insert(node.hash().to_string(), schema);
        Ok::<NodeHash, json_cas::StoreError>(node.hash())
    };
    draft.resolve(store).expect("a schema that validates can be stored")
}

/// The hash of the workflow that a shown one is, put again.
fn again(shown: &Value) -> NodeHash {
    let parsed = read(&shown.to_string(), "shown.json", None);
    let draft = parsed.draft.unwrap_or_else(|| panic!("{shown}\n{:?}", parsed.problems));
    stored(draft, &mut HashMap::new()).draft().hash()
}

/// The payload with the schemas themselves, as a file has them.
fn inlined(mut payload: Value, schemas: &HashMap<String, Value>) -> Value {
    for role in payload["roles"].as_object_mut().into_iter().flat_map(|roles| roles.values_mut()) {
        if let Some(schema) = role["meta"].as_str().and_then(|hash| schemas.get(hash)) {
            role["meta"] = schema.clone();
        }
    }
    payload
}
