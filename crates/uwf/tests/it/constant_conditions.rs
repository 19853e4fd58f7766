//! Conditions that are always true, or always false, are warned of before a thread follows them.

use crate::home;

/// A workflow whose condition is tried after `worker`. Of the output, only `later` and `m` may be missing.
fn workflow(condition: &str) -> String {
    format!(
        r"name: do-work
description: one role and a condition
roles:
  worker:
    description: works
    goal: Work.
    meta:
      type: object
      properties:
        n: {{ type: integer }}
        m: {{ type: integer }}
        ok: {{ type: boolean }}
        later: {{ type: boolean }}
        kind: {{ enum: [bug, idea, question] }}
      required: [n, ok, kind]
conditions:
  asked: {{ description: the condition under test, expression: '{condition}' }}
graph:
  $START: [ {{ role: worker }} ]
  worker: [ {{ role: $END, condition: asked }}, {{ role: worker }} ]
"
    )
}

/// The warnings of `workflow validate` about the condition of a workflow.
fn warned(expression: &str) -> (Vec<String>, Option<i32>) {
    let home = home();
    let file = home.file("do-work.yaml", &workflow(&expression.replace('\'', "''")));
    let file = file.to_str().unwrap();
    let ran = home.uwf(&["workflow", "validate", file, "--format", "text"]);
    let told = format!("{}{}", ran.stdout, ran.stderr);
    let lines = told.lines().filter(|line| line.contains("warning[doubtful-condition]"));
    let lines = lines.filter_map(|line| line.split_once("the condition `asked`: ")).map(|(_, told)| told.to_owned());
    (lines.collect(), home.uwf(&["workflow", "put", file, "--strict"]).code)
}

#[test]
fn constant_condition_gets_warning() {
    for (expression, told) in [
        // Written out.
        ("true", "it is always true: `true` always counts as true"),
        ("false", "it is always false: `false` always counts as false"),
        ("\"approved\"", "it is always true: `'approved'` always counts as true"),
        ("\"\"", "it is always false: "),
        ("1", "it is always true: "),
        ("0", "it is always false: "),
        ("null", "it is always false: "),
        ("[]", "it is always false: "),
        ("[0, \"x\"]", "it is always true: "),
        ("{}", "it is always false: "),
        ("{\"a\": 1, \"b\": steps}", "it is always true: "),
        // Worked out.
        ("1 = 1", "it is always true: `1=1` reads nothing of the thread"),
        ("2 > 3", "it is always false: `2 > 3` reads nothing of the thread"),
        ("1 = 1 or steps[-1].output.n = 1", "it is always true: `1=1` reads nothing of the thread"),
        ("steps[-1].output.n = 1 and 'a' = 'b'", "it is always false: "),
        ("$length(\"abc\") = 3", "it is always true: it reads nothing of the thread"),
        ("$count([1, 2]) > 1", "its result never changes: it reads nothing of the thread"),
        ("1 > \"a\"", "it always fails: "),
        // A function that is not called.
        ("$exists", "it is always false: `$exists` is a function that is not called"),
        ("function($s) { $s.output.n = 1 }", "it is always false: its value is a function"),
        ("/done/", "it is always false: a pattern counts as false"),
        // With itself.
        (
            "steps[-1].output.n = steps[-1].output.n",
            "it is always true: `steps[-1].output.n=steps[-1].output.n` compares a value with itself",
        ),
        ("steps[-1].output.n != steps[-1].output.n", "it is always false: "),
        ("steps[-1].output.n >= steps[-1].output.n", "it is always true: "),
        ("$count(steps) < $count(steps)", "it is always false: "),
        (
            "steps[-1].output.n = 1 and steps[-1].output.n = steps[-1].output.n",
            "`steps[-1].output.n=steps[-1].output.n` compares a value with itself",
        ),
        ("$count(steps[role = role]) > 3", "`role=role` compares a value with itself"),
        // One side of `or` and `and` decides.
        ("steps[-1].role = \"worker\" or \"tester\"", "it is always true: `'tester'` always counts as true"),
        ("steps[-1].output.n = 1 and false", "it is always false: "),
        ("steps[-1].output.n = 1 and (null and steps[-1].output.n = 2)", "it is always false: "),
        (
            "steps[-1].output.n != 1 or steps[-1].output.n != 2",
            "it is always true: at least one of two comparisons of `steps[-1].output.n` is always true",
        ),
        ("steps[-1].output.n = 1 or (steps[-1].output.n != 1)", "it is always true: "),
        (
            "steps[-1].output.n = 1 and 2 = steps[-1].output.n",
            "it is always false: more than one of two comparisons of `steps[-1].output.n` is never true",
        ),
        ("steps[-1].output.n = 1 and steps[-1].output.n != 1", "it is always false: "),
        // In other forms.
        ("$not(false)", "it is always true: `$not(false)` never changes"),
        ("$not(start)", "it is always false: `start` inside `$not` is always true: `start` is always there"),
        ("$boolean(\"x\")", "it is always true: "),
        ("steps[-1].output.n = 1 ? true : 1", "it is always true: "),
        ("steps[-1].output.n = 1 ? false", "it is always false: "),
        ("true ? \"x\" : steps[-1].output.n = 1", "it is always true: "),
        ("steps[-1].output.n & \" rounds\"", "it is always true: "),
        ("($n := steps[-1].output.n; \"done\")", "it is always true: "),
        ("steps[-1].output.n in []", "it is always false: nothing is in an empty list"),
        // Always there.
        ("start", "it is always true: `start` is always there"),
        ("$threadId", "it is always true: `$threadId` is always there"),
        ("start.prompt", "it is always true: "),
        ("$exists(steps)", "it is always true: `steps` is always there"),
        // By the schema of the output.
        ("$exists(steps[-1].output.n)", "it is always true: `steps[-1].output.n` is in every output"),
        ("$not($exists($last(\"worker\").n))", "it is always false: `$last('worker').n` is in every output"),
        (
            "steps[-1].output.ok = true or false = steps[-1].output.ok",
            "it is always true: `steps[-1].output.ok` has one of the compared values in every output",
        ),
        (
            "steps[-1].output.ok in [true, false]",
            "it is always true: `steps[-1].output.ok` has one of the compared values",
        ),
        ("steps[-1].output.kind in [\"bug\", \"idea\", \"question\"]", "it is always true: `steps[-1].output.kind`"),
        (
            "$count(steps) > 3 or $exists(steps[-1].output.n)",
            "it is always true: `steps[-1].output.n` is in every output",
        ),
        ("$count(steps) >= 0", "it is always true: a count is never less than 0"),
        ("0 > $count(steps)", "it is always false: a count is never less than 0"),
        ("$exists($usage)", "it is always true: `$usage` is always there"),
        // After a step of `worker`.
        ("steps[-1].role = \"worker\"", "it is always true: `steps[-1].role` is always `worker` here"),
        ("\"worker\" != steps[-1].role", "it is always false: `steps[-1].role` is always `worker` here"),
        ("$exists(steps[-1])", "it is always true: `steps[-1]` is always there after a step"),
        ("$exists(steps[0].output)", "it is always true: `steps[0].output` is always there after a step"),
        ("$count(steps) >= 1", "it is always true: the thread already has a step when it is tried"),
        ("$count(steps) > 0", "it is always true: the thread already has a step when it is tried"),
        ("0 = $count(steps)", "it is always false: the thread already has a step when it is tried"),
        ("$count($steps) != 0", "it is always true: the thread already has a step when it is tried"),
        ("$count(steps)", "it is always true: the thread already has a step when it is tried"),
        ("steps[0] != null", "it is always true: `steps[0]` is never null after a step"),
        ("steps", "it is always true: `steps` is always there after a step"),
        ("steps[-1].role", "it is always true: `steps[-1].role` is always there after a step"),
        ("$not($exists(steps[-1])) and steps[-1].output.n = 1", "it is always false: "),
        ("steps[-1].output.n = 1 or steps[-1].role = \"worker\"", "it is always true: `steps[-1].role`"),
    ] {
        let (warnings, strict) = warned(expression);
        assert!(warnings.len() == 1 && warnings[0].starts_with(told), "{expression}: {warnings:?}");
        assert_eq!(strict, Some(65), "{expression}: with --strict it is an error");
    }
}

#[test]
fn a_condition_that_decides_is_not_warned_of() {
    for expression in [
        "steps[-1].output.n = 1",
        "steps[-1].output.n",
        "$not(steps[-1].output.n = 1)",
        "$exists(steps[-1].output.m)",
        "$exists(steps[-2].output.n)",
        "steps[-1].output.ok = true",
        "steps[-1].output.kind in [\"bug\", \"idea\"]",
        "steps[-1].output.later = true or steps[-1].output.later = false",
        "steps[-1].output.kind in [\"bug\", \"idea\", \"question\"] and steps[-1].output.ok",
        "steps[-1].output.n = 1 or steps[-1].output.n = 2",
        "steps[-1].output.n != 1 and steps[-1].output.n != 2",
        "steps[-1].output.n = 1 or $last(\"worker\").n = 1",
        "steps[-1].output.n != 1 or steps[-2].output.n != 1",
        "steps[-1].output.n > 1 and steps[-1].output.n < 5",
        "$count(steps) >= 3",
        "$count(steps) > 1",
        "$exists(steps[-2])",
        "$exists(steps[1])",
        "steps[0].role = \"worker\"",
        "steps[-2].role != null",
        "$count(steps[output.n = 1]) >= 1",
        "$count(steps[role = \"worker\"]) >= 2 and steps[-1].output.n != 0",
        "steps[-1].output.n in [1, 2]",
        "steps[-1].output.n = steps[-2].output.n",
        "steps[-1].output = steps[-2].output",
        "steps[-1].output.n = 1 ? true : false",
        "steps[-1].output.n ?: false",
        "$contains(start.prompt, \"urgent\")",
        "start.prompt = \"x\"",
        "$depth > 0",
        "$usage.cost > 1",
        "$boolean(steps[-1].output.n)",
        "$lowercase($string(steps[-1].output.n)) = \"1\"",
        "($n := steps[-1].output.n; $n > 1 and $n < 9)",
        "$map(steps, function($s) { $s.output.n }) ~> $max > 3",
        "steps[role = \"worker\"][-1].output.n = 1",
        "$sum(steps.output.n) > 10",
        "$filter(steps, function($s) { $s.output.n = 1 })",
        "steps[-1].output.n != null",
        "steps.output[n = 1]",
        "$",
    ] {
        let (warnings, strict) = warned(expression);
        assert!(warnings.is_empty(), "{expression}: {warnings:?}");
        let _ = strict;
    }
}

/// The same condition decides where there may be no step, or where steps of several roles may be the last.
#[test]
fn condition_tried_elsewhere_may_decide() {
    let of = |expression: &str, first: &str, after: &str| {
        let text = workflow(&expression.replace('\'', "''"));
        let text = text.replace("$START: [ {", &format!("$START: [ {first}{{"));
        let other = "  other:\n    goal: Work.\nconditions:\n";
        text.replace("conditions:\n", other)
            .replace("worker: [", &format!("other: [ {after} {{ role: worker }} ]\n  worker: ["))
    };
    let tried = "{ role: $END, condition: asked },";
    let to_other = "{ role: other, condition: asked },";
    for (expression, first, after, warned) in [
        ("$count(steps) > 0", to_other, "", false),
        ("$exists(steps[-1])", to_other, "", false),
        ("steps[-1].role = \"worker\"", to_other, "", false),
        ("steps[-1].role = \"worker\"", "", tried, false),
        ("steps[-1].role != null", "", tried, true),
    ] {
        let home = home();
        let file = home.file("do-work.yaml", &of(expression, first, after));
        let ran = home.uwf(&["workflow", "validate", file.to_str().unwrap(), "--format", "text"]);
        assert_eq!(ran.code, Some(0), "{expression}: {}", ran.transcript());
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(told.contains("it is always"), warned, "{expression}: {told}");
    }
}

/// Shipped workflows, and workflows of users.
#[test]
fn templates_and_examples_have_no_constant_condition() {
    let mut files = Vec::new();
    for dir in ["crates/uwf/templates", "examples", "../shared/examples"] {
        let dir = uwf_testing::repository().join(dir);
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
        files.extend(entries.filter(|path| path.extension().is_some_and(|kind| kind == "yaml" || kind == "json")));
    }
    let home = home();
    let mut workflows = 0;
    for file in files {
        let ran = home.uwf(&["workflow", "validate", file.to_str().unwrap(), "--format", "text"]);
        workflows += usize::from(ran.code == Some(0));
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!told.contains("it is always") && !told.contains("itself"), "{}: {told}", file.display());
    }
    assert!(workflows >= 4, "{workflows} workflows were found");
}
