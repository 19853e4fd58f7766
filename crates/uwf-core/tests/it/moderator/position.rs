//! From a workflow's graph to a decision.

use std::collections::BTreeMap;

use serde_json::json;
use uwf_core::moderator::{DecisionState, EndReason, Moderator, NextAction, ThreadHistory};
use uwf_core::workflow::{NamedCondition, START, Transition, Workflow};

use super::history;

fn workflow() -> Workflow {
    let named = |expression: &str| NamedCondition { description: String::new(), expression: expression.into() };
    let to = |role: &str, condition: Option<&str>| Transition {
        role: role.into(),
        condition: condition.map(Into::into),
        outcome: None,
    };
    Workflow {
        name: "solve-issue".into(),
        limits: uwf_core::usage::ThreadLimits::default(),
        workspace: uwf_core::config::WorkspaceKind::default(),
        input: None,
        description: String::new(),
        roles: BTreeMap::new(),
        conditions: BTreeMap::from([
            ("rejected".into(), named("steps[-1].output.approved = false")),
            ("broken".into(), named("steps[")),
        ]),
        graph: BTreeMap::from([
            (START.into(), vec![to("coder", None)]),
            ("coder".into(), vec![to("reviewer", None)]),
            ("reviewer".into(), vec![to("coder", Some("rejected")), to("$END", None)]),
            ("tester".into(), vec![to("$END", Some("passed"))]),
            ("writer".into(), vec![to("$END", Some("broken"))]),
        ]),
    }
}

fn next(position: &str, history: &ThreadHistory) -> NextAction {
    let moderator = Moderator::for_position(&workflow(), position).expect("the position is sound");
    match moderator.decide(history).expect("its conditions evaluate") {
        DecisionState::Decided(decision) => decision.next,
        DecisionState::Evaluate { request, .. } => panic!("{request:?}"),
    }
}

#[test]
fn a_thread_is_routed_from_start_to_end() {
    let reviewed = |approved: bool| history(&[("coder", json!({})), ("reviewer", json!({"approved": approved}))]);
    assert_eq!(next(START, &history(&[])), NextAction::Role("coder".into()));
    assert_eq!(next("coder", &history(&[("coder", json!({}))])), NextAction::Role("reviewer".into()));
    assert_eq!(next("reviewer", &reviewed(false)), NextAction::Role("coder".into()));
    assert_eq!(next("reviewer", &reviewed(true)), NextAction::End(EndReason::Graph));
}

#[test]
fn broken_workflow_is_reported_by_name() {
    let error = |position: &str| Moderator::for_position(&workflow(), position).unwrap_err().to_string();
    assert_eq!(error("nobody"), "the workflow's graph has no transitions for `nobody`");
    assert_eq!(
        error("tester"),
        "the transition from `tester` to `$END` names the condition `passed`, which is not defined"
    );
    assert_eq!(
        error("writer"),
        "the condition `broken` can't be used: `steps[`: Unexpected end of expression (S0207, character 7)"
    );
}
