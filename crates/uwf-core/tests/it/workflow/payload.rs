//! `Workflow` nodes, ours and foreign ones.

use serde_json::{Value, json};
use uwf_core::workflow::Workflow;

const META: &str = "0ABCDEFGHJKMN";

fn ours() -> Value {
    json!({
        "name": "solve-it",
        "description": "Solves it",
        "roles": {"a": {
            "description": "", "goal": "work", "capabilities": ["shell"], "procedure": "", "output": "say what", "meta": META,
        }},
        "conditions": {"again": {"description": "", "expression": "steps[-1].output.ok = false"}},
        "graph": {
            "$START": [{"role": "a", "condition": null}],
            "a": [{"role": "a", "condition": "again"}, {"role": "$END", "condition": null}],
        },
    })
}

#[test]
fn stored_workflow_reads_back_unchanged() {
    let workflow = Workflow::from_payload(&ours()).expect("our own form");
    assert_eq!(workflow.to_payload(), ours());
    assert_eq!(serde_json::from_value::<Workflow>(ours()).expect("the same through serde"), workflow);
}

#[test]
fn foreign_forms_come_out_as_ours() {
    let foreign = json!({
        "name": "solve-it",
        "description": "Solves it",
        "roles": {"a": {
            "name": "a", "systemPrompt": "work", "capabilities": ["shell"], "extractPrompt": "say what", "outputSchema": META,
        }},
        "conditions": {"again": {"expression": "steps[-1].output.ok = false"}},
        "graph": {
            "__start__": [{"role": "a"}],
            "a": [{"role": "a", "condition": "again"}, {"role": "__END__", "condition": null}],
        },
    });
    assert_eq!(Workflow::from_payload(&foreign).map(|workflow| workflow.to_payload()), Ok(ours()));
}

#[test]
fn malformed_payload_is_rejected_with_path() {
    let broken = |pointer: &str, value: Value| {
        let mut payload = ours();
        *payload.pointer_mut(pointer).expect("it is there") = value;
        Workflow::from_payload(&payload).expect_err("it is broken").to_string()
    };
    let found = [
        broken("", json!([])),
        broken("/name", json!(null)),
        broken("/roles", json!("x")),
        broken("/roles/a", json!("x")),
        broken("/roles/a/meta", json!({"type": "object"})),
        broken("/roles/a/goal", json!(1)),
        broken("/roles/a/capabilities", json!([1])),
        broken("/conditions/again", json!({})),
        broken("/graph/a", json!({})),
        broken("/graph/a/1/role", json!(null)),
        broken("/graph/a/0/condition", json!(true)),
    ];
    insta::assert_snapshot!(found.join("\n"), @r"
    workflow payload at ``: not an object
    workflow payload at `/name`: no text
    workflow payload at `/roles`: not an object
    workflow payload at `/roles/a`: not an object
    workflow payload at `/roles/a/meta`: not the hash of a schema
    workflow payload at `/roles/a/goal`: not a text
    workflow payload at `/roles/a/capabilities`: not a list of texts
    workflow payload at `/conditions/again/expression`: no text
    workflow payload at `/graph/a`: not a list
    workflow payload at `/graph/a/1/role`: no text
    workflow payload at `/graph/a/0/condition`: neither a name nor null
    ");
}
