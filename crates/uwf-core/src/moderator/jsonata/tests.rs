//! Property: a rewritten expression on the part of a history that its `HistoryReads` ask for gives the same result as the original expression on
//! the whole history.

use std::collections::BTreeMap;

use json_cas::NodeHash;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use super::super::{HistoryReads, ThreadHistory};
use super::evaluate::{EvalError, EvaluationSession};
use super::{JsonataProgram, analyse, parse};
use crate::thread::Step;

/// Loads only what `reads` asks for, like the shell.
fn partial(full: &ThreadHistory, reads: &HistoryReads) -> ThreadHistory {
    let mut part = ThreadHistory { steps: Vec::new(), ..full.clone() };
    for position in reads.positions(full.total) {
        let mut step = full.steps[position].clone();
        if !reads.details {
            step.extracted_by = None;
            step.header = Map::new();
        }
        part.steps.push(step);
    }
    for step in &full.steps {
        if reads.count_of.contains(&step.role) {
            *part.counts.entry(step.role.clone()).or_default() += 1;
        }
        if reads.first_of.contains(&step.role) {
            part.first_of.entry(step.role.clone()).or_insert_with(|| step.output.clone());
        }
        if reads.last_of.contains(&step.role) {
            part.last_of.insert(step.role.clone(), step.output.clone());
        }
    }
    part
}

fn check(expression: &str, full: &ThreadHistory) {
    let Ok(analysis) = analyse(expression) else {
        return;
    };
    let as_written = JsonataProgram { tree: parse::parse(expression).unwrap() };
    let whole = run(&as_written, full, &HistoryReads::everything());
    let part = run(&analysis.program, &partial(full, &analysis.reads), &analysis.reads);
    // The library includes the value in some error messages, so compare the codes only.
    match (&whole, &part) {
        (Err(whole), Err(part)) => assert_eq!(whole.code, part.code, "{expression}"),
        _ => assert_eq!(whole, part, "`{expression}` reads {:?}", analysis.reads),
    }
}

fn run(program: &JsonataProgram, history: &ThreadHistory, reads: &HistoryReads) -> Result<Option<Value>, EvalError> {
    EvaluationSession::new(history, reads).run(program)
}

fn output() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({})),
        Just(json!(null)),
        Just(json!([1, [2], {"x": 1}])),
        Just(json!({"steps": ["s", "t"], "output": {"x": 3}, "x": [[5]]})),
        (any::<bool>(), 0..3_u32).prop_map(|(ok, n)| json!({"ok": ok, "n": n, "x": [n], "role": "a"})),
        (0..3_u32).prop_map(|n| json!({"list": [{"id": n, "t": "a"}, {"id": n + 1}], "x": null})),
    ]
}

fn history() -> impl Strategy<Value = ThreadHistory> {
    vec((select(vec!["a", "b", "c"]), output()), 0..7).prop_map(|steps| {
        let steps: Vec<Step> = steps
            .into_iter()
            .enumerate()
            .map(|(index, (role, output))| Step {
                detail: NodeHash::from_u64(index as u64),
                agent: "mock".into(),
                extracted_by: (index % 2 == 0).then(|| "llm".into()),
                header: json!({ "status": "done", "confidence": index }).as_object().cloned().unwrap(),
                ..Step::new(index + 1, role, output)
            })
            .collect();
        ThreadHistory {
            thread_id: "T".into(),
            workflow: "W".into(),
            prompt: "P".into(),
            depth: 1,
            total: steps.len(),
            counts: BTreeMap::new(),
            steps,
            ..ThreadHistory::default()
        }
    })
}

/// Random expressions about steps, mostly unusual, built from constructs that authors use.
fn expression() -> impl Strategy<Value = String> {
    let source = select(vec![
        "steps",
        "$steps",
        "$.steps",
        "$$.steps",
        "`steps`",
        "\"steps\"",
        "(steps)",
        "$",
        "$$",
        "start",
        "$start.prompt",
        "$last('a')",
        "$first('b')",
        "$last(steps[-1].role)",
        "$threadId",
        "threadId",
        "depth",
        "*",
        "**",
        "output",
        "($s := steps; $s)",
        "($steps := start; $steps)",
        "($last := 1; $last)",
        "[1, 2]",
    ]);
    let stage = select(vec![
        "[0]",
        "[1]",
        "[-1]",
        "[-2]",
        "[1.5]",
        "[-0]",
        "[]",
        "[role='a']",
        "['b'=role]",
        "[role='a'][-1]",
        "[role='a'][0]",
        "[role='zz'][-1]",
        "[role='a'][1]",
        "[-1][role='a']",
        "[[0,1]]",
        "[$count($steps) - 2]",
        "[role='a' and output.ok]",
        "[role=$steps[-1].role]",
        "[role='a'][-1][]",
        "[$$.steps[0].role=role]",
        "[output.x=$count(steps)]",
        "[agent='mock'][0]",
        "[$extractedBy($)='llm']",
        "[$frontmatter($).confidence=1]",
    ]);
    let step = select(vec![
        ".output",
        ".meta",
        ".role",
        ".detail",
        ".output.x",
        ".output.list.id",
        ".meta.n",
        ".output.steps[-1]",
        ".*",
        ".(output.x)",
        ".$count(output.list)",
        ".($steps[0].role)",
        ".[role, output.n]",
        ".%.start",
        ".steps",
        ".$",
        ".{'r': role}",
        "^(role)",
        "{role: $count(output)}",
        ".output.list[id=1].t",
    ]);
    let path = (source, vec(stage, 0..2), vec(step, 0..3))
        .prop_map(|(source, stages, steps)| format!("{source}{}{}", stages.concat(), steps.concat()));
    path.prop_recursive(3, 12, 2, |inner| {
        let call = select(vec![
            "$count",
            "$exists",
            "$not",
            "$boolean",
            "$string",
            "$keys",
            "$sum",
            "$type",
            "$extractedBy",
            "$frontmatter",
            "$reverse",
            "$lookup",
            "$distinct",
        ]);
        prop_oneof![
            (call, inner.clone()).prop_map(|(name, arg)| format!("{name}({arg})")),
            select(vec!["$string()", "$keys()", "$lookup('steps')", "$type($)"]).prop_map(str::to_owned),
            (inner.clone(), select(vec!["=", "!=", "and", "or", "in", "&", "<"]), inner.clone())
                .prop_map(|(l, op, r)| format!("({l}) {op} ({r})")),
            (inner.clone(), inner.clone()).prop_map(|(c, t)| format!("({c}) ? ({t}) : 'no'")),
            (inner.clone(), inner.clone()).prop_map(|(list, body)| format!("$map({list}, function($v) {{ {body} }})")),
            (inner.clone(), inner.clone()).prop_map(|(list, p)| format!("({list})[{p}]")),
            (inner.clone(), inner.clone()).prop_map(|(l, r)| format!("({l}).({r})")),
            inner.clone().prop_map(|arg| format!("{arg} ~> $count")),
            inner.clone().prop_map(|body| format!("(function() {{ {body} }})()")),
            inner.prop_map(|value| format!("($f := $count; $f({value}))")),
        ]
    })
}

/// Realistic expressions, each with a twist that a careless analysis would get wrong.
const WRITTEN: &[&str] = &[
    "steps[-1].output.ok = false",
    "$steps[-1].meta.ok",
    "steps[-2].output.n",
    "steps[0].output.steps[-1]",
    "steps[-1].output.steps[0] = 's'",
    "steps[1].role = steps[-2].role",
    "$count(steps) > 2",
    "$count($steps) = 0",
    "$count($.steps)",
    "$count($$.steps) + $count(steps[role='a'])",
    "$count(steps[role='a']) >= 2",
    "$count($steps['b' = role]) < 2",
    "$exists(steps[role='c'])",
    "$not($exists(steps[role='c']))",
    "steps[role='a'][-1].output.ok",
    "steps[role='a'][0].meta",
    "steps[role='a'][-1].meta.x",
    "steps[role='a'][-1][].output.x",
    "steps[role='a'][-1].role",
    "$last('a').n > $first('a').n",
    "$last('a')",
    "$exists($last('nobody'))",
    "$extractedBy(steps[-1]) = 'llm'",
    "$extractedBy(steps[role='a'][-1])",
    "$frontmatter(steps[-1]).confidence < 2",
    "$frontmatter(steps[role='a'][-1]).status = 'done'",
    "steps.$frontmatter($).confidence",
    "steps[-1][role='a'].output.x",
    "steps[output.ok].role",
    "steps.output.list[id=1].t",
    "steps[-1].(output.n = $count($steps))",
    "steps[-1].($count(steps))",
    "steps.(steps[0])",
    "$filter(steps[role='a'].output.list, function($p) { $p.id in steps[role='b'].output.n })",
    "$map([0, 1], function($i) { steps[$i].role })",
    "$map(['a', 'b'], $last)",
    "($count := $sum; $count(steps.output.n))",
    "($x := steps; $count($x))",
    "$lookup($, 'steps')",
    "threadId = $threadId and depth = $depth",
    "steps[output.x = $$.depth].role",
    "steps.%.start.prompt",
    "steps[-1] ~> $string",
    "$string(steps[-1].output) & $string(steps[0].output)",
];

proptest! {
    #[test]
    fn expressions_of_authors_are_read_completely(history in history()) {
        for expression in WRITTEN {
            check(expression, &history);
        }
    }

    #[test]
    fn whatever_an_expression_is_it_reads_enough(expression in expression(), history in history()) {
        check(&expression, &history);
    }
}
