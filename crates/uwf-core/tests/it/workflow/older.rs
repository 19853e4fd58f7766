//! Older forms are the same workflow as today's.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use uwf_core::workflow::{Transition, check, parse};

use super::{lines, problems_of, sound};

fn to(role: &str, condition: Option<&str>) -> Transition {
    Transition { role: role.to_owned(), condition: condition.map(str::to_owned), outcome: None }
}

const TODAY: &str = "
name: solve-it
roles:
  worker:
    goal: work
    output: say what
    meta: { type: object, properties: { ok: { type: boolean } } }
conditions:
  worker-to-worker: { expression: 'steps[-1].output.ok = false' }
graph:
  $START: [ { role: worker, condition: null } ]
  worker:
    - { role: worker, condition: worker-to-worker }
    - { role: $END, condition: null }
";

#[test]
fn older_roles_table_gives_same_draft() {
    let older = "
name: solve-it
description:
roles:
  worker:
    name: worker
    description: ~
    systemPrompt: work
    extractPrompt: say what
    outputSchema: { type: object, properties: { ok: { type: boolean } } }
moderator:
  - { from: __START__, to: worker }
  - { from: worker, to: worker, when: 'steps[-1].output.ok = false' }
  - { from: worker, to: __end__, when: null }
";
    assert_eq!(sound(older), sound(TODAY));
}

#[test]
fn an_omitted_condition_is_null() {
    let omitted = TODAY.replace(", condition: null", "");
    assert_eq!(sound(&omitted), sound(TODAY));
}

#[test]
fn an_expression_in_the_graph_becomes_a_condition() {
    let inline = "
name: solve-it
roles:
  a b: { meta: { type: object } }
  c: { schema: { type: object } }
conditions:
  done: 'steps[-1].output.done'
graph:
  __start__: [ { role: c } ]
  c:
    - { role: a b, condition: 'steps[-1].output.x = 1' }
    - { role: c, condition: ' steps[-1].output.done ' }
    - { role: c, condition: 'steps[-1].output.x = 2' }
    - { role: $END, condition: done }
    - { role: $END }
  a b:
    - { role: c, condition: 'steps[-1].output.x = 2' }
    - { role: $END, condition: 'steps[-1].output.x = 3' }
    - { role: __End__ }
";
    let parsed = check(inline, "w.yaml", None);
    let draft = parsed.draft.expect("no errors");
    assert_eq!(
        draft.graph["c"],
        [
            to("a b", Some("when")),
            to("c", Some("done")),
            to("c", Some("c-to-c")),
            to("$END", Some("done")),
            to("$END", None)
        ]
    );
    assert_eq!(draft.graph["a b"], [to("c", Some("c-to-c")), to("$END", Some("when-2")), to("$END", None)]);
    assert_eq!(draft.conditions["when"].expression, "steps[-1].output.x = 1");
    assert_eq!(draft.conditions["when-2"].expression, "steps[-1].output.x = 3");
    assert_eq!(
        lines(&parsed.problems),
        "w.yaml:14:7: warning[dead-transition]: this transition of `c` is never taken: number 2 has the same condition"
    );
}

#[test]
fn two_names_of_one_thing_must_agree() {
    let text = "
name: solve-it
roles:
  worker:
    name: coder
    goal: work
    systemPrompt: sleep
    meta: { type: object }
    schema: { type: object }
    outputSchema: { type: string }
graph: { $START: [ { role: worker } ], worker: [ { role: $END } ] }
moderator: []
";
    insta::assert_snapshot!(problems_of(text), @r"
    w.yaml:5:11: error[conflict]: the role `worker` calls itself `coder`
        leave `name` out
    w.yaml:7:5: error[conflict]: `goal` and `systemPrompt` are names of one thing and differ
        keep `goal`
    w.yaml:10:5: error[conflict]: `meta` and `outputSchema` are names of one thing and differ
        keep `meta`
    w.yaml:12:1: error[conflict]: the workflow has both `graph` and the older `moderator`
        keep `graph`
    ");
}

#[test]
fn both_spellings_of_start_are_rejected_together() {
    let text = "
name: solve-it
roles: { a: { meta: true } }
graph:
  $START: [ { role: a } ]
  __start__: [ { role: a } ]
  a: [ { role: $END } ]
";
    insta::assert_snapshot!(problems_of(text), @"w.yaml:6:3: error[duplicate-key]: the transitions of `$START` are here a second time, as `__start__`");
}

#[test]
fn broken_table_is_reported_row_by_row() {
    let text = "
name: solve-it
roles: { a: { meta: true } }
moderator:
  - { to: a }
  - { from: a, to: 7 }
  - [a, b]
  - { from: a, to: $END, wenn: x }
  - { from: a, to: $END, when: 5 }
";
    insta::assert_snapshot!(problems_of(text), @r#"
    w.yaml:5:5: error[missing-key]: the transition has no `from`
    w.yaml:6:20: error[wrong-type]: `to` must be a text, not a number
        put it in quotes: "7"
    w.yaml:7:5: error[wrong-type]: each item of `moderator` must be a mapping, not a list
    w.yaml:8:26: error[unknown-key]: the key `wenn` is not known here
        known here: from, to, when
    w.yaml:9:32: error[wrong-type]: `when` must be a text, not a number
        put it in quotes: "5"
    "#);
}

#[test]
fn unknown_condition_name_is_error_not_expression() {
    let text = "
name: solve-it
roles: { a: { meta: true } }
conditions: { approved: { expression: 'steps[-1].output.ok' } }
moderator:
  - { from: __start__, to: a }
  - { from: a, to: a, when: aproved }
  - { from: a, to: __end__ }
";
    insta::assert_snapshot!(problems_of(text), @r"
    w.yaml:4:15: warning[unused-condition]: no transition uses the condition `approved`
    w.yaml:7:29: error[unknown-condition]: condition `aproved` is not defined
        did you mean `approved`?
    ");
}

/// Edges between three roles and the ends, each with one of the named conditions or none.
fn edges() -> impl Strategy<Value = Vec<(usize, usize, Option<usize>)>> {
    prop::collection::vec((0..4_usize, 0..4_usize, prop::option::of(0..3_usize)), 0..12)
}

/// A workflow with these edges, as a graph in today's form and as a table in the older one. `inline` puts the
/// expressions into the edges.
fn both_forms(edges: &[(usize, usize, Option<usize>)], inline: bool) -> (Value, Value) {
    let names = ["ready", "is-done", "a to b"];
    let expressions = ["steps[-1].output.x = 1", "$count(steps) > 3", "steps[-1].output.y"];
    let mut graph: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    let mut table = Vec::new();
    for (from, to, condition) in edges {
        let written = condition.map(|n| if inline { expressions[n] } else { names[n] });
        let from = ["$START", "one", "two", "three"][*from];
        let to = ["one", "two", "three", "$END"][*to];
        graph.entry(from).or_default().push(json!({"role": to, "condition": written}));
        let (from, to) = (from.replace("$START", "__start__"), to.replace("$END", "__END__"));
        table.push(json!({"from": from, "to": to, "when": written}));
    }
    let schema = json!({"type": "object"});
    let today = json!({"goal": "g", "output": "o", "meta": schema});
    let older = json!({"systemPrompt": "g", "extractPrompt": "o", "schema": schema});
    let conditions: Value =
        names.iter().zip(expressions).map(|(name, text)| (*name, json!({"expression": text}))).collect();
    let conditions = if inline { json!({}) } else { conditions };
    (
        json!({"name": "solve-it", "roles": {"one": today, "two": today, "three": today}, "conditions": conditions, "graph": graph}),
        json!({"name": "solve-it", "roles": {"one": older, "two": older, "three": older}, "conditions": conditions, "moderator": table}),
    )
}

proptest! {
    #[test]
    fn a_table_is_the_graph_it_stands_for(edges in edges(), inline: bool) {
        let (today, older) = both_forms(&edges, inline);
        let today = parse(&today.to_string(), "w.json");
        let older = parse(&older.to_string(), "w.json");
        prop_assert_eq!(lines(&today.problems), "");
        prop_assert_eq!(lines(&older.problems), "");
        let (today, older) = (today.draft.expect("a mapping"), older.draft.expect("a mapping"));
        if inline {
            // Made-up names follow the order of edges, which the graph doesn't keep between positions.
            let expressions = |draft: &uwf_core::workflow::WorkflowDraft| -> Vec<Vec<(String, Option<String>)>> {
                let of = |t: &Transition| (t.role.clone(), t.condition.as_ref().map(|name| draft.conditions[name].expression.clone()));
                draft.graph.values().map(|list| list.iter().map(of).collect()).collect()
            };
            prop_assert_eq!(expressions(&today), expressions(&older));
        } else {
            prop_assert_eq!(today, older);
        }
    }
}
