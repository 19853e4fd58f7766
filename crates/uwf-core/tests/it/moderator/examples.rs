//! Workflows as users have them, routed with invented outputs.

use serde_json::{Value, json};
use uwf_core::moderator::{ConditionClass, NextAction};

use super::{class, decide, edge, history, value_on};

/// The hardest condition of the shared examples: all planned phases are completed.
const ALL_PHASES: &str = "$count($filter(steps[role='planner'].meta.phases, function($p) { $p.hash in \
     steps[role='coder'].meta.completedPhase })) >= $count(steps[role='planner'].meta.phases)";

#[test]
fn coder_continues_until_all_phases_are_complete() {
    let phases = json!({"status": "planned", "phases": [{"hash": "A"}, {"hash": "B"}]});
    let coded = |phase: &str| ("coder", json!({"completedPhase": phase, "status": "completed"}));
    let next = |steps: &[(&str, Value)]| {
        let edges = vec![edge("reviewer", Some(ALL_PHASES)), edge("coder", None)];
        decide(edges, &history(steps)).unwrap().next
    };
    let planned = ("planner", phases);
    assert_eq!(class(ALL_PHASES), ConditionClass::Bounded);
    assert_eq!(next(&[planned.clone(), coded("A")]), NextAction::Role("coder".into()));
    assert_eq!(next(&[planned.clone(), coded("A"), coded("A")]), NextAction::Role("coder".into()));
    assert_eq!(next(&[planned, coded("A"), coded("B")]), NextAction::Role("reviewer".into()));
}

#[test]
fn conditions_of_shared_examples_compile_and_evaluate() {
    let Some(text) = crate::workflow::shared("examples/develop-rfc.json") else {
        return;
    };
    let workflow: Value = serde_json::from_str(&text).unwrap();
    let steps = history(&[
        ("planner", json!({"status": "planned", "phases": [{"hash": "A"}]})),
        ("coder", json!({"completedPhase": "A", "status": "completed"})),
        ("reviewer", json!({"status": "approved"})),
    ]);
    let results: Vec<(&str, Value)> = workflow["moderator"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["when"].as_str())
        .map(|when| (when, value_on(when, &steps).unwrap().unwrap_or_default()))
        .collect();
    assert_eq!(
        results.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>(),
        [json!(false), json!(true), json!(true), json!(false),]
    );
    assert_eq!(results[1].0, ALL_PHASES);
}
