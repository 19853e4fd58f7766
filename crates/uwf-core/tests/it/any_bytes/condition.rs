//! Conditions: refused with a reason, or classified; a plain one gives a value or an error at once, and the same on what
//! it says it reads as on everything. Those that are not plain run under limits in a process of their own.

use std::collections::BTreeSet;

use json_cas::NodeHash;
use serde_json::{Value, json};
use uwf_core::moderator::{
    CompiledCondition, ConditionClass, EvalError, EvaluationRequest, HistoryReads, ThreadHistory, evaluate, truth,
};
use uwf_core::thread::Step;
use uwf_testing::FuzzTarget;

pub(crate) const SUBJECT: FuzzTarget = FuzzTarget {
    name: "condition",
    samples: &[
        b"steps[-1].output.ok = false and $count(steps[role = 'coder']) < 3",
        b"$last('planner').phases[hash = $last('coder').completedPhase].title != null or $not($exists($first('coder').n))",
        b"$map(steps, function($s, $i){ $s.output.n + $i }) ~> $sum() > 1e3",
        b"($a := steps.output; $a[0].comments[[0..2]] & `b c`) in ['x', \"y\"]",
        b"start.prompt ~> /a+b*?/i ? {'k': $lookup(steps[0], 'role')} : $string($steps[-2].meta.**)",
        b"$extractedBy(steps[-1]) = 'llm' and $depth + $number('1') % 2 > -1 /* note */",
        b"steps^(>output.n)[0].output.*",
    ],
    words: &[
        "steps", "$steps", "$", "$$", "output", "meta", "role", "'coder'", "\"planner\"", "0", "-1", "1e300", "1e309", ".", "[",
        "]", "(", ")", "{", "}", ",", ";", ":", ":=", "?", "??", "?:", "=", "!=", "<", ">=", "+", "-", "*", "/", "%", "**", "&",
        "and", "or", "in", "~>", "@", "#", "^", "|", "..", "$count(", "$not(", "$last(", "$first(", "$string(", "function($x){",
        "/a/", "true", "null", "`b c`", "$contains(", "$round(", "$number(", "$lookup(", "$extractedBy(", "$eval(", "$now()",
        "$pad(", "$power(", "$formatNumber(", "$toMillis(", "é", "\\u0061", "\u{1f600}",
    ],
    check,
};

fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let condition = match CompiledCondition::compile(text) {
        Ok(condition) => condition,
        Err(error) => {
            assert!(!error.message.is_empty() && !error.to_string().contains('\n'), "{error}");
            assert!(error.position.is_none_or(|at| at <= text.len()), "{error}");
            return;
        }
    };
    assert_eq!(condition.source(), text);
    assert!(condition.field_reads().iter().all(|read| !read.text.is_empty()));
    assert!(condition.warnings().iter().all(|warning| !warning.is_empty()));
    if condition.class() == ConditionClass::Plain {
        plain(text, condition.reads());
    }
}

fn plain(text: &str, reads: &HistoryReads) {
    for whole in [ThreadHistory::default(), history()] {
        let given = run(text, &whole);
        let on_part = run(text, &part(&whole, reads));
        match (&given, &on_part) {
            // The library words some errors by the value at hand.
            (Err(one), Err(other)) => assert_eq!(one.code, other.code),
            _ => assert_eq!(given, on_part, "it reads {reads:?}"),
        }
        if let Ok(value) = given {
            let _ = truth(value.as_ref());
        }
    }
}

fn run(text: &str, history: &ThreadHistory) -> Result<Option<Value>, EvalError> {
    evaluate(&EvaluationRequest::new(text, history))
}

fn history() -> ThreadHistory {
    let steps = [
        ("planner", json!({ "phases": [{ "hash": "A", "title": "t" }, { "hash": "B" }], "b c": true })),
        ("coder", json!({ "completedPhase": "A", "n": 1, "ok": false })),
        ("coder", json!({ "completedPhase": "B", "n": 2.5, "ok": null })),
        ("reviewer", json!({ "comments": ["x", []], "role": "coder", "n": -1, "@": 1 })),
    ];
    let step = |(index, (role, output)): (usize, (&str, Value))| Step {
        detail: NodeHash::from_u64(index as u64),
        agent: "mock".to_owned(),
        extracted_by: Some("llm".to_owned()),
        header: serde_json::Map::from_iter([("confidence".to_owned(), json!(0.5))]),
        ..Step::new(index + 1, role, output)
    };
    let steps: Vec<Step> = steps.into_iter().enumerate().map(step).collect();
    ThreadHistory { prompt: "aab".to_owned(), depth: 1, total: steps.len(), steps, ..ThreadHistory::default() }
}

/// The parts that are loaded for a condition which reads only these.
fn part(whole: &ThreadHistory, reads: &HistoryReads) -> ThreadHistory {
    let mut part = ThreadHistory { steps: Vec::new(), ..whole.clone() };
    for position in reads.positions(whole.total) {
        let step = whole.steps[position].clone();
        let (extracted_by, header) = if reads.details { (step.extracted_by, step.header) } else { Default::default() };
        part.steps.push(Step { extracted_by, header, ..step });
    }
    let named = |roles: &BTreeSet<String>, step: &Step| roles.contains(&step.role);
    for step in &whole.steps {
        if named(&reads.count_of, step) {
            *part.counts.entry(step.role.clone()).or_default() += 1;
        }
        if named(&reads.first_of, step) {
            part.first_of.entry(step.role.clone()).or_insert_with(|| step.output.clone());
        }
        if named(&reads.last_of, step) {
            part.last_of.insert(step.role.clone(), step.output.clone());
        }
    }
    part
}
