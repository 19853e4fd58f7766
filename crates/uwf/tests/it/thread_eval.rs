//! `thread eval`, and expressions that would hang or kill whoever evaluates them.

use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::{TestHome, numbered};

use crate::fixtures::review::{damage, hashes, reviewing_home, step};
use crate::transcript;

/// Time any expression may take: the child's two seconds, and what starting and stopping it costs on a busy machine.
const LIMIT: Duration = Duration::from_secs(6);

fn reviewed(home: &TestHome) -> String {
    let thread = home.start("review-text", "Write about cats.");
    step(home, &thread, 2);
    thread
}

#[test]
fn an_expression_sees_what_conditions_see() {
    let home = reviewing_home();
    let thread = reviewed(&home);
    let value = |expression: &str| home.json(&["thread", "eval", &thread, expression]);
    assert_eq!(value("steps[-1].output"), json!({"approved": false}));
    assert_eq!(value("steps.role"), json!(["writer", "reviewer"]));
    assert_eq!(value("$count($steps)"), json!(2));
    assert_eq!(value("$last('writer').title & '!'"), json!("Fix #42!"));
    assert_eq!(value("$extractedBy(steps[0])"), json!("frontmatter"));
    assert_eq!(value("$threadId"), json!(thread));
    assert_eq!(value("threadId"), json!(thread));
    assert_eq!(value("[depth, $depth]"), json!([0, 0]));
    assert_eq!(value("start.prompt"), json!("Write about cats."));
    assert_eq!(value("null"), json!(null));
    assert_eq!(value("$not(steps[-1].meta.approved)"), json!(true));
    step(&home, &thread, 2);
    assert_eq!(value("$count(steps)"), json!(4), "a finished thread too");
}

#[test]
fn the_report_is_the_value() {
    let home = reviewing_home();
    let thread = reviewed(&home);
    assert_snapshot!(transcript(&home, &["thread", "eval", &thread, "steps[0].output"]), @r#"
    exit 0
    {"tags":["cats","*.rs"],"title":"Fix #42"}
    "#);
    assert_snapshot!(transcript(&home, &["thread", "eval", &thread, "steps[0].output", "--format", "text"]), @r#"
    exit 0
    {
      "tags": [
        "cats",
        "*.rs"
      ],
      "title": "Fix #42"
    }
    "#);
    assert_snapshot!(transcript(&home, &["thread", "eval", &thread, "steps[0].output", "--format", "yaml"]), @r#"
    exit 0
    tags:
    - cats
    - "*.rs"
    title: "Fix #42"
    "#);
    assert_snapshot!(transcript(&home, &["thread", "eval", &thread, "steps[0].output.missing"]), @r"
    exit 0
    --- stderr
    note: the expression gives nothing: a value that it reads is missing
    ");
}

#[test]
fn errors_of_an_expression_say_where_and_why() {
    let home = reviewing_home();
    let thread = reviewed(&home);
    let error = |expression: &str| transcript(&home, &["thread", "eval", &thread, expression]);
    assert_snapshot!(error("steps[-1"), @r"
    exit 65
    --- stderr
    error: `steps[-1`: Expected `]` before end of expression (S0203, character 9)
    ");
    assert_snapshot!(error("$lowercase(1)"), @r"
    exit 65
    --- stderr
    error: `$lowercase(1)` could not be evaluated: Argument 1 must be String (T0410)
    ");
    assert_snapshot!(error("steps.output + 'x'"), @r"
    exit 65
    --- stderr
    error: `steps.output + 'x'` could not be evaluated: The left side of the + operator must evaluate to a number (T2001)
    ");
    assert_snapshot!(error("$now()"), @r"
    exit 65
    --- stderr
    error: `$now()`: `$now` reads the clock, but a decision must depend on the recorded steps alone (character 1); let a role put the time into its output, and read it there
    ");
    assert_snapshot!(error("$nothing(1)"), @r"
    exit 65
    --- stderr
    error: `$nothing(1)`: unknown function `$nothing` (character 1)
    ");
    assert_snapshot!(error(""), @r"
    exit 64
    --- stderr
    error: the expression is empty
    hint: try `steps[-1].output`
    ");
    damage(&home, &hashes(&home, &thread)[1]);
    assert_snapshot!(error("steps[0].role"), @r"
    exit 65
    --- stderr
    error: node #1 is corrupt: not CBOR of a JSON value at byte 5, in the root: bytes follow the value
    hint: `uwf cas verify #1` checks it; putting the same content again repairs it
    ");
    assert_eq!(
        home.json(&["thread", "eval", &thread, "steps[-1].role"]),
        json!("reviewer"),
        "only what is needed is read"
    );
}

/// Evaluates within [`LIMIT`]; the error when there is one.
fn evaluate(home: &TestHome, thread: &str, expression: &str) -> Option<String> {
    let begun = Instant::now();
    let ran = home.uwf(&["thread", "eval", thread, expression]);
    assert!(begun.elapsed() < LIMIT, "{expression} took {:?}", begun.elapsed());
    match ran.code {
        Some(0) => None,
        Some(65) => Some(ran.stderr.lines().next().unwrap_or_default().to_owned()),
        other => panic!("{expression}: exit {other:?}\n{}", ran.stderr),
    }
}

#[test]
fn limits_are_named_when_they_are_hit() {
    let home = reviewing_home();
    let thread = reviewed(&home);
    assert_snapshot!(evaluate(&home, &thread, "($f := function($x) { $f($x) }; $f(1))").unwrap(), @"error: `($f := function($x) { $f($x) }; $f(1))` could not be evaluated: took longer than 2 s");
    // A machine under load may run out of time before it runs out of memory or has the whole answer.
    for (expression, limit) in [
        ("$pad('x', 2000000000)", "took more than 512 MB of memory, or recursed too deeply"),
        ("$pad('x', 20000000)", "gave more than 16 MB"),
    ] {
        let error = evaluate(&home, &thread, expression).unwrap();
        let prefix = format!("error: `{expression}` could not be evaluated: ");
        let told = error.strip_prefix(&prefix).unwrap_or_else(|| panic!("{error}")).trim_end();
        assert!(told == limit || told == "took longer than 2 s", "{error}");
    }
}

#[test]
fn hostile_expressions_end_in_time_whatever_they_give() {
    let home = reviewing_home();
    let thread = reviewed(&home);
    for expression in [
        "start.([$,$]).([$,$]).([$,$]).([$,$]).([$,$]).([$,$]).([$,$]).([$,$]).([$,$]).([$,$]).([$,$]).([$,$])",
        "$count([1..10000000])",
        "[1..9000000]",
        "$steps[$steps[$steps[$steps[role = 'a']]]]",
        "steps.($steps.($steps.($steps.role)))",
        "$zip(steps, steps, steps)",
        "steps{role: $count(output)}",
        "**[**[**[**]]]",
        "$string(steps, true)",
        "$contains(start.prompt, /(a|a)*b/)",
        "steps.%.steps.%.steps.%.steps",
        "$f := $count",
        "$map",
    ] {
        if let Some(error) = evaluate(&home, &thread, expression) {
            assert!(error.starts_with("error: ") && error.contains(expression.split(' ').next().unwrap()), "{error}");
        }
    }
}

#[test]
fn expensive_condition_cannot_hang_step() {
    let home = reviewing_home();
    let bomb = crate::fixtures::review::WORKFLOW.replace(
        "steps[-1].output.approved = false",
        "$length($reduce([1..28], function($a, $i) { $a & $a }, '0123456789')) > 1",
    );
    home.put("review-text", &bomb);
    let thread = home.start("review-text", "x");
    step(&home, &thread, 1);
    let begun = Instant::now();
    let report = home.json(&["thread", "step", &thread]);
    assert_eq!(report["done"], json!(false));
    assert!(report["next"]["error"].is_string(), "{report}");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert!(begun.elapsed() < 2 * LIMIT);
    assert_eq!(ran.code, Some(65));
    let told = numbered(&home.steady(&ran.transcript()))
        .replace("took longer than 2 s", "<limit>")
        .replace("took more than 512 MB of memory, or recursed too deeply", "<limit>");
    assert_snapshot!(told, @r"
    exit 65
    --- stderr
    error: thread <id> cannot be routed from `reviewer`: the condition `rejected` could not be evaluated: <limit>, in `$length($reduce([1..28], function($a, $i) { $a & $a }, '0123456789')) > 1`
    hint: `uwf thread eval <id> EXPR` shows what an expression gives
    hint: `uwf thread fork <id> --from-role reviewer` starts a thread in which `reviewer` is next
    hint: a thread keeps its version of the workflow: correct the condition, run `uwf workflow put FILE`, then start a new thread
    ");
}

#[test]
fn wrong_calls_are_refused() {
    let home = reviewing_home();
    let thread = reviewed(&home);
    assert_snapshot!(transcript(&home, &["thread", "eval", &thread]), @"
    exit 64
    --- stderr
    error: the following required arguments were not provided: <EXPRESSION>
    hint: usage: uwf thread eval <THREAD> <EXPRESSION>
    ");
    assert_snapshot!(transcript(&home, &["thread", "eval", "ZZZZ", "1"]), @r"
    exit 69
    --- stderr
    error: no thread begins or ends with `ZZZZ`
    hint: `uwf thread list --all` lists every thread
    ");
}

/// See `./test --campaigns`.
mod campaigns {
    use super::*;

    #[test]
    fn bombs_end_in_time_with_a_clear_error() {
        let home = reviewing_home();
        let thread = reviewed(&home);
        let errors: Vec<String> = [
            "$reduce([1..28], function($a, $i) { $a & $a }, '0123456789')",
            "($d := function($s, $n) { $n = 0 ? $s : $d($s & $s, $n - 1) }; $length($d('x', 40)))",
            "$pad('x', 2000000000)",
            "$formatNumber(1, '0' & $pad('', 1000000000, '0'))",
            "($f := function($x) { $f($x) }; $f(1))",
            "($f := function($x) { 1 + $f($x) }; $f(1))",
            "(function($f) { $f($f) })(function($f) { $f($f) })",
            "$map([1..100000], function($i) { $map([1..100000], function($j) { $i * $j }) })",
            "$reduce([1..60], function($a, $i) { $append($a, $a) }, [1])",
            "$distinct([1..300000])",
            "[1..10000000].[1..10000000]",
            "$join([1..100000000].$string())",
        ]
        .into_iter()
        .map(|expression| evaluate(&home, &thread, expression).unwrap_or_else(|| panic!("{expression} gave a value")))
        .collect();
        // Which of the two limits is hit first depends on the machine.
        let told = errors
            .join("\n")
            .replace("took longer than 2 s", "<limit>")
            .replace("took more than 512 MB of memory, or recursed too deeply", "<limit>");
        assert_snapshot!(told, @r"
        error: `$reduce([1..28], function($a, $i) { $a & $a }, '0123456789')` could not be evaluated: <limit>
        error: `($d := function($s, $n) { $n = 0 ? $s : $d($s & $s, $n - 1) }; $length($d('x', 40)))` could not be evaluated: <limit>
        error: `$pad('x', 2000000000)` could not be evaluated: <limit>
        error: `$formatNumber(1, '0' & $pad('', 1000000000, '0'))` could not be evaluated: <limit>
        error: `($f := function($x) { $f($x) }; $f(1))` could not be evaluated: <limit>
        error: `($f := function($x) { 1 + $f($x) }; $f(1))` could not be evaluated: <limit>
        error: `(function($f) { $f($f) })(function($f) { $f($f) })` could not be evaluated: <limit>
        error: `$map([1..100000], function($i) { $map([1..100000], function($j) { $i * $j }) })` could not be evaluated: <limit>
        error: `$reduce([1..60], function($a, $i) { $append($a, $a) }, [1])` could not be evaluated: <limit>
        error: `$distinct([1..300000])` could not be evaluated: <limit>
        error: `[1..10000000].[1..10000000]` could not be evaluated: <limit>
        error: `$join([1..100000000].$string())` could not be evaluated: Range operator results in too many elements (> 10,000,000) (D2014)
        ");
    }
}
