//! Plain or bounded.

use uwf_core::moderator::ConditionClass;

use super::class;

/// What authors write and must not cost a process.
const PLAIN: &[&str] = &[
    "true",
    "steps[-1].output.approved = false",
    "$steps[-1].meta.status = 'approved'",
    "$exists(steps[-1].output.needsClarification)",
    "$not($exists(steps[-1].output.x))",
    "$count(steps) > 5",
    "$count(steps[role='coder']) >= 3 and $last('reviewer').approved",
    "steps[role='reviewer'][-1].output.score >= 0.8 or $depth > 2",
    "$last('planner').phases[status != 'done'].name",
    "$count($last('planner').phases[$not($exists(done))]) = 0",
    "$sum(steps.output.cost) > 10.5 * 2 - 1 % 3",
    "$max(steps[role='tester'].output.failures) <= 0",
    "steps[-1].output.status in ['approved', 'skipped', -1, null, true]",
    "'a' in steps[-1].output.tags",
    "$lowercase($string(steps[-1].output.verdict)) = 'ok'",
    "$contains(start.prompt, 'urgent')",
    "$length($trim(steps[-1].output.summary)) < 10",
    "steps[-1].output.ok ? steps[-1].output.n > 1 : $threadId = 'x'",
    "(steps[-1].output.a ?? 0) > (steps[-1].output.b ?: 1)",
    "steps[-1].output.(a > b)",
    "steps[-1].output.*.failed",
    "steps[$extractedBy($) = 'llm'].role",
    "steps[$count($steps) > 3].role",
    "steps[output.n > $depth].role",
    "$substringBefore($lookup(steps[-1].output, 'x y'), '-')",
    "$round($average(steps.output.n), 2) = 1.25",
    "$$.steps[-1].output.x",
];

/// Each of these can take memory or time without end, or grow faster than what it reads.
const HOSTILE: &[&str] = &[
    // Doubling strings and arrays.
    "$reduce([1..28], function($a, $i) { $a & $a }, '0123456789')",
    "($d := function($s, $n) { $n = 0 ? $s : $d($s & $s, $n - 1) }; $length($d('x', 40)))",
    "start.([$,$]).([$,$]).([$,$]).([$,$]).([$,$]).([$,$]).([$,$]).([$,$]).([$,$]).([$,$]).([$,$]).([$,$])",
    "start.([1,2]).([1,2]).([1,2]).([1,2]).([1,2]).([1,2]).([1,2]).([1,2]).([1,2]).([1,2]).([1,2]).([1,2])",
    "$reduce([1..30], function($a, $i) { $append($a, $a) }, [1])",
    // Sizes given as numbers.
    "$pad('x', 2000000000)",
    "$count([1..10000000])",
    "$formatNumber(1, '0' & $pad('', 100000000, '0'))",
    "$join([1..10000000].$string())",
    // Joins: every step with every step, with every step…
    "$steps[$steps[$steps[$steps[role = 'a']]]]",
    "steps.($steps.($steps.($steps.role)))",
    "steps[role in $steps.role]",
    "steps.($$.steps.($$.steps.role))",
    "steps[$last('a').list[$last('a').list[$]]]",
    "steps[$start.prompt = role]",
    "$zip(steps, steps, steps)",
    // Quadratic.
    "$distinct(steps.output)",
    "$keys(steps.output)",
    "$merge(steps.output)",
    "$sort(steps, function($a, $b) { true })",
    "steps^(output.n)",
    "steps{role: $count(output)}",
    "**.x",
    "**[**[**[**]]]",
    // Loops and recursion.
    "($f := function($x) { $f($x) }; $f(1))",
    "($f := function($x) { 1 + $f($x) }; $f(1))",
    "(function($f) { $f($f) })(function($f) { $f($f) })",
    "$map([1..100000], function($i) { $map([1..100000], function($j) { $i * $j }) })",
    "$filter(steps, function($s) { $s.output.ok })",
    "$each(steps[-1].output, $string)",
    "$sift(steps[-1].output, function($v) { $v })",
    "$single(steps, function($s) { $s.role = 'a' })",
    "steps ~> $count",
    "$count ~> $string",
    "$string(steps, true)",
    "$contains(start.prompt, /(a|a)*b/)",
    "$match(start.prompt, /a*a*a*a*b/)",
    "$replace(start.prompt, /a/, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')",
    "$split(start.prompt, '')",
    "steps ~> |$|{'x': $string($)}|",
    "steps.%.steps.%.steps.%.steps",
    "$base64encode($base64encode($base64encode(start.prompt)))",
    "$encodeUrlComponent($encodeUrlComponent(start.prompt))",
    "{'a': steps, 'b': steps}",
    "[steps, steps]",
    "steps.[$, $]",
    "$f := $count",
    "$map",
];

#[test]
fn usual_conditions_are_plain() {
    for expression in PLAIN {
        assert_eq!(class(expression), ConditionClass::Plain, "{expression}");
    }
}

#[test]
fn unbounded_expressions_are_assigned_to_child() {
    for expression in HOSTILE {
        assert_eq!(class(expression), ConditionClass::Bounded, "{expression}");
    }
}

#[test]
fn a_very_long_expression_goes_to_the_child() {
    let sum = |terms: usize| format!("1{}", " + steps[-1].output.number".repeat(terms));
    assert_eq!(class(&sum(100)), ConditionClass::Plain);
    assert_eq!(class(&sum(200)), ConditionClass::Bounded);
}
