//! Decisions.

use serde_json::json;
use uwf_core::moderator::{
    DecisionState, EndReason, EvaluationRequest, MatchReason, Moderator, ModeratorDecision, ModeratorError, NextAction,
    ThreadHistory, TriedTransition,
};

use super::{compile, decide, edge, history, thread, value};

#[test]
fn first_matching_transition_wins() {
    let decision = decide(
        vec![
            edge("a", Some("steps[-1].output.absent")),
            edge("b", Some("steps[-1].output.approved")),
            edge("c", Some("steps[-1].output.comments")),
            edge("d", None),
        ],
        &thread(),
    )
    .unwrap();
    let looked_at = |role: &str, expression: &str, value, matched, note| TriedTransition {
        role: role.into(),
        outcome: None,
        condition: Some(format!("to-{role}")),
        expression: Some(expression.into()),
        value,
        matched,
        note,
    };
    assert_eq!(
        decision,
        ModeratorDecision {
            next: NextAction::Role("c".into()),
            trace: vec![
                looked_at("a", "steps[-1].output.absent", None, false, MatchReason::Missing),
                looked_at("b", "steps[-1].output.approved", Some(json!(false)), false, MatchReason::Boolean),
                looked_at("c", "steps[-1].output.comments", Some(json!(["x"])), true, MatchReason::Counted),
            ],
        }
    );
}

#[test]
fn a_transition_without_condition_always_matches() {
    let decision = decide(vec![edge("a", None), edge("b", None)], &ThreadHistory::default()).unwrap();
    assert_eq!(
        serde_json::to_value(decision).unwrap(),
        json!({"next": {"role": "a"}, "trace": [{"role": "a", "matched": true, "note": "unconditional"}]})
    );
}

#[test]
fn thread_ends_by_graph_or_when_nothing_matches() {
    let end = decide(vec![edge("$END", Some("true")), edge("a", None)], &thread()).unwrap();
    assert_eq!(end.next, NextAction::End(EndReason::Graph));
    let none = decide(vec![edge("a", Some("false")), edge("$END", Some("[]"))], &thread()).unwrap();
    assert_eq!(none.next, NextAction::End(EndReason::NoMatch));
    assert_eq!(none.trace.iter().map(|it| it.matched).collect::<Vec<_>>(), [false, false]);
    assert_eq!(decide(Vec::new(), &thread()).unwrap().next, NextAction::End(EndReason::NoMatch));
}

#[test]
fn the_result_counts_by_the_rules_of_boolean() {
    for (expression, matches) in [
        ("[]", false),
        ("{}", false),
        ("''", false),
        ("0", false),
        ("null", false),
        ("steps[-1].output.absent", false),
        ("[0, '']", false),
        ("'false'", true),
        ("-1", true),
        ("[0, 1]", true),
        ("{'a': null}", true),
        ("[[[1]]]", true),
        ("steps", true),
        ("steps[role='nobody']", false),
    ] {
        let decision = decide(vec![edge("a", Some(expression)), edge("b", None)], &thread()).unwrap();
        assert_eq!(decision.next == NextAction::Role("a".into()), matches, "{expression}");
    }
}

#[test]
fn an_error_is_never_taken_for_false() {
    let error = decide(vec![edge("a", Some("steps[0].output.status > 1")), edge("b", None)], &thread()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the condition `to-a` could not be evaluated: The expressions on either side of operator \">\" must be of the \
         same data type (T2009), in `steps[0].output.status > 1`"
    );
    assert!(matches!(
        error,
        ModeratorError::Evaluate { condition, expression, .. }
            if condition == "to-a" && expression == "steps[0].output.status > 1"
    ));
}

#[test]
fn decision_resumes_with_result_of_unbounded_condition() {
    let filter = "$count($filter(steps, function($s) { $s.role = 'coder' })) = 2";
    let edges = || vec![edge("a", Some("false")), edge("b", Some(filter)), edge("c", Some("$depth = 2"))];
    let history = thread();
    let ask = || match Moderator::new(edges()).decide(&history).unwrap() {
        DecisionState::Evaluate { request, resume } => (request, resume),
        DecisionState::Decided(decision) => panic!("{decision:?}"),
    };
    let (request, resume) = ask();
    assert_eq!(request, EvaluationRequest::new(filter, &history));
    let DecisionState::Decided(decision) = resume.answer(Ok(Some(json!(true)))).unwrap() else { panic!() };
    assert_eq!((decision.next, decision.trace.len()), (NextAction::Role("b".into()), 2));

    let (_, resume) = ask();
    let DecisionState::Decided(decision) = resume.answer(Ok(None)).unwrap() else { panic!() };
    assert_eq!((decision.next, decision.trace.len()), (NextAction::Role("c".into()), 3));

    let (_, resume) = ask();
    let error = resume.answer(Err("took longer than 2 s".into())).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the condition `to-b` could not be evaluated: took longer than 2 s, in `{filter}`")
    );
}

#[test]
fn a_request_survives_the_way_to_another_process() {
    let request = EvaluationRequest::new("$map(steps, function($s) { $extractedBy($s) & $threadId })", &thread());
    let text = serde_json::to_string(&request).unwrap();
    let back: EvaluationRequest = serde_json::from_str(&text).unwrap();
    assert_eq!(back, request);
    assert_eq!(
        uwf_core::moderator::evaluate(&back),
        Ok(Some(json!(["llm01JT", "frontmatter01JT", "frontmatter01JT", "frontmatter01JT"])))
    );
}

#[test]
fn request_with_deepest_output_survives_serialization() {
    let mut output = json!(true);
    for _ in 1..json_cas::cbor::MAX_DEPTH {
        output = json!([output]);
    }
    json_cas::cbor::encode(&output).unwrap();
    let request = EvaluationRequest::new("$map(steps, function($s) { $s })", &history(&[("a", output.clone())]));
    let back: EvaluationRequest = serde_json::from_str(&serde_json::to_string(&request).unwrap()).unwrap();
    let result = uwf_core::moderator::evaluate(&back).unwrap().unwrap();
    assert_eq!(result["output"], output);
}

#[test]
fn decision_survives_serialization_with_null_and_missing_distinct() {
    let edges = vec![edge("a", Some("steps[-1].output.absent")), edge("b", Some("steps[2].output.nothing"))];
    let decision = decide(edges, &thread()).unwrap();
    let values: Vec<_> = decision.trace.iter().map(|it| it.value.clone()).collect();
    assert_eq!(values, [None, Some(json!(null))]);
    let text = serde_json::to_string(&decision).unwrap();
    assert_eq!(serde_json::from_str::<ModeratorDecision>(&text).unwrap(), decision);
}

#[test]
fn everything_the_design_promises_is_bound() {
    for (expression, expected) in [
        ("start", json!({"workflow": "W0RKF10W", "prompt": "do it"})),
        ("$start = start and $steps = steps", json!(true)),
        ("$threadId", json!("01JT")),
        ("$depth", json!(2)),
        (
            "steps[1]",
            json!({"role": "coder", "output": {"completedPhase": "A", "n": 1},
            "meta": {"completedPhase": "A", "n": 1}, "detail": "0000000000001", "agent": "mock"}),
        ),
        ("$first('coder').n", json!(1)),
        ("$last('coder').n", json!(2)),
        ("$last(steps[-2].role).n", json!(2)),
        ("$extractedBy(steps[0])", json!("llm")),
        ("steps[$extractedBy($) = 'llm'].role", json!("planner")),
        ("$frontmatter(steps[1])", json!({"confidence": 0.5, "status": "done"})),
        // A key of the output itself is the one that counts.
        ("$frontmatter(steps[0])", json!({"confidence": 0.5, "status": "planned"})),
        ("steps[$frontmatter($).status = 'planned'].role", json!("planner")),
        ("$count(steps[role='coder'])", json!(2)),
    ] {
        assert_eq!(value(expression), Ok(Some(expected)), "{expression}");
    }
    assert_eq!(value("$extractedBy(steps[9])"), Ok(None));
    assert_eq!(
        value("$extractedBy($last('coder'))"),
        Err("$extractedBy takes one step, such as steps[-1] (T0410)".into())
    );
    assert_eq!(value("$frontmatter(steps[9]).status"), Ok(None));
    assert_eq!(value("$frontmatter('x')"), Err("$frontmatter takes one step, such as steps[-1] (T0410)".into()));
    assert_eq!(value("$last(1)"), Err("$last takes the name of a role (T0410)".into()));
}

#[test]
fn a_broken_request_is_an_error() {
    let error = |request: &EvaluationRequest| uwf_core::moderator::evaluate(request).unwrap_err().to_string();
    let odd = EvaluationRequest { expression: "1".into(), context: json!({"steps": 1}) };
    assert!(error(&odd).starts_with("the context can't be read: "), "{}", error(&odd));
    assert!(error(&EvaluationRequest::new("$now()", &thread())).contains("reads the clock"));
}

#[test]
fn conditions_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&compile("steps[-1].output.x"));
}

#[test]
fn conditions_read_the_input() {
    let history = ThreadHistory { input: Some(json!({ "dry": true, "tags": ["a", "b"] })), ..ThreadHistory::default() };
    let value =
        |expression: &str| uwf_core::moderator::evaluate(&EvaluationRequest::new(expression, &history)).unwrap();
    assert_eq!(value("start.input.dry"), Some(json!(true)));
    assert_eq!(value("$count($start.input.tags)"), Some(json!(2)));
    assert_eq!(value("start.input.none"), None);
    let without = ThreadHistory::default();
    assert_eq!(uwf_core::moderator::evaluate(&EvaluationRequest::new("start.input", &without)), Ok(None));
}
