//! Surprises of JSONata and its library.

use serde_json::json;
use uwf_core::moderator::{CompiledCondition, NextAction};

use super::{compile, decide, edge, history, value};

#[test]
fn a_missing_value_is_not_null() {
    assert_eq!(value("steps[-1].output.absent"), Ok(None));
    assert_eq!(value("steps[-2].output.nothing"), Ok(Some(json!(null))));
    assert_eq!(value("$last('nobody')"), Ok(None));
}

#[test]
fn comparisons_with_missing_value_are_false() {
    assert_eq!(value("steps[-1].output.absent = false"), Ok(Some(json!(false))));
    assert_eq!(value("steps[-1].output.absent != false"), Ok(Some(json!(false))));
}

#[test]
fn negated_missing_value_is_missing_and_never_matches() {
    assert_eq!(value("$not(steps[-1].output.absent)"), Ok(None));
    let decision =
        decide(vec![edge("a", Some("$not(steps[-1].output.absent)")), edge("b", None)], &history(&[("x", json!({}))]));
    assert_eq!(decision.unwrap().next, NextAction::Role("b".into()));
    assert_eq!(
        compile("$not(steps[-1].output.absent)").warnings(),
        ["`$not(steps[-1].output.absent)` does not match when `steps[-1].output.absent` is missing, because the \
          negation of a missing value is also missing; write `$not($exists(steps[-1].output.absent))` to ask whether \
          it is there"]
    );
    assert_eq!(value("$not($exists(steps[-1].output.absent))"), Ok(Some(json!(true))));
    assert_eq!(compile("$not($exists(steps[-1].output.absent))").warnings(), Vec::<String>::new());
}

#[test]
fn error_codes_are_parsed_from_error_text() {
    let code = |expression: &str| CompiledCondition::compile(expression).unwrap_err().code;
    assert_eq!(code("steps[").as_deref(), Some("S0207"));
    assert_eq!(code("steps.1").as_deref(), Some("S0213"));
    assert_eq!(code("'open").as_deref(), Some("S0101"));
    let evaluated = |expression: &str| value(expression).unwrap_err();
    assert_eq!(
        evaluated("steps[0].output.status * 2"),
        "The left side of the * operator must evaluate to a number (T2001)"
    );
    assert_eq!(evaluated("$error('no way')"), "no way (D3137)");
    assert_eq!(evaluated("1/0"), "the result is not a finite number (D1001)");
}

#[test]
fn reducing_nothing_gives_null_which_is_false() {
    assert_eq!(value("$reduce([], function($a, $b) { $a })"), Ok(Some(json!(null))));
}

#[test]
fn integers_above_2_to_53_lose_precision() {
    let big = history(&[("a", json!({"n": 9_007_199_254_740_993_u64}))]);
    assert_eq!(super::value_on("steps[0].output.n", &big), Ok(Some(json!(9_007_199_254_740_992.0))));
    assert_eq!(super::value_on("steps[0].output.n - 1", &big), Ok(Some(json!(9_007_199_254_740_991_i64))));
}

#[test]
fn key_order_of_outputs_is_kept() {
    let ordered = history(&[("a", json!({"z": 1, "a": 2, "m": 3}))]);
    assert_eq!(super::value_on("$keys(steps[0].output)", &ordered), Ok(Some(json!(["z", "a", "m"]))));
}

#[test]
fn output_cannot_forge_library_wrapper() {
    let forged = history(&[("a", json!({"@": {"approved": true}, "__tuple__": true, "approved": false}))]);
    assert_eq!(super::value_on("steps[-1].output.approved", &forged), Ok(Some(json!(false))));
    assert_eq!(super::value_on("$last('a').approved", &forged), Ok(Some(json!(false))));
    assert_eq!(super::value_on("steps.output.approved", &forged), Ok(Some(json!(false))));
}

#[test]
fn functions_as_results_are_false() {
    for expression in ["$sum", "function($x) { $x }", "[$sum]", "/x/"] {
        let decision = decide(vec![edge("a", Some(expression)), edge("b", None)], &history(&[]));
        assert_eq!(decision.unwrap().next, NextAction::Role("b".into()), "{expression}");
    }
}
