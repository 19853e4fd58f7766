//! Fields that expressions read through names they bind: parameters of functions, and variables.

use super::problems_of;

/// The problems of a workflow whose only condition is tried after the role `check`.
fn problems_with(expression: &str) -> String {
    let item = "{ type: object, required: [id, ok], properties: { id: { type: string }, ok: { type: boolean }, status: { enum: [open, closed] } } }";
    let text = format!(
        "
name: solve-it
input: {{ type: object, properties: {{ limits: {{ type: object, properties: {{ a: {item} }} }} }} }}
roles:
  plan: {{ meta: {{ type: object, properties: {{ items: {{ type: array, items: {item} }} }} }} }}
  check: {{ meta: {{ type: object, required: [first, second], properties: {{ first: {item}, second: {item} }} }} }}
conditions:
  it: {{ expression: \"{expression}\" }}
graph:
  $START: [ {{ role: plan }} ]
  plan: [ {{ role: check }} ]
  check:
    - {{ role: plan, condition: it }}
    - {{ role: $END }}
"
    );
    problems_of(&text)
}

#[test]
fn parameters_of_functions_have_known_fields() {
    for (expression, reads) in [
        ("$count($filter($last('plan').items, function($v) { $v.okay })) > 1", "$v.okay"),
        ("$count($filter($last('plan').items, function($v, $i, $all) { $all[$i].okay })) > 1", "okay"),
        ("$count($map($last('plan').items, function($v) { $v }).okay) > 1", "okay"),
        ("'x' in $map($last('plan').items, function($v) { $v.idd })", "$v.idd"),
        ("$single($last('plan').items, function($v) { $v.okay }).id = 'x'", "$v.okay"),
        ("$filter($last('plan').items, function($v) { $v.ok })[0].okay", "okay"),
        ("$sort($last('plan').items, function($l, $r) { $l.id > $r.idd })[0].ok", "$r.idd"),
        ("$reduce($last('plan').items, function($sum, $v) { $sum + $v.size }, 0) > 3", "$v.size"),
        ("$each(steps[-1].output, function($v, $k) { $v.okay })[0]", "$v.okay"),
        ("$exists($sift(steps[-1].output, function($v) { $v.okay }))", "$v.okay"),
        ("$exists(steps[-1].output.* ~> $filter(function($v) { $v.okay }))", "$v.okay"),
        ("$filter([$last('check')], function($v) { $v.third })[0].first.ok", "$v.third"),
        ("$filter(steps[role = 'check'], function($s) { $s.output.third })[0].output.first.ok", "$s.output.third"),
        ("$each($start.input.limits, function($v) { $v.okay })[0]", "$v.okay"),
    ] {
        let problems = problems_with(expression);
        let named = format!("reads `{reads}`");
        let is_named = problems.contains(&named) || (!reads.starts_with('$') && problems.contains(reads));
        assert!(problems.contains("warning[impossible-field]") && is_named, "{expression}: {problems}");
    }
}

#[test]
fn variables_have_known_fields() {
    for (expression, found) in [
        ("($all := $last('check'); $exists($all.*[okay]))", "the output of `check` has no `okay`"),
        ("($all := $last('check').*; $exists($all.okay))", "the output of `check` has no `okay`"),
        ("($s := steps[-1]; $s.output.third.ok)", "the output of `check` has no `third`"),
        ("($it := $start.input.limits; $it.b.ok)", "the input has no `b`"),
        ("($s := steps; $count($s[outpt.ok]) > 1)", "a step has no field `outpt`"),
        ("($it := steps[-1].output.first; $it.status = 'opn')", "never matches"),
        ("$exists($filter(steps, function($s) { $s.role = 'plann' }))", "the role `plann`"),
    ] {
        let problems = problems_with(expression);
        assert!(problems.contains(found), "{expression}: {problems}");
    }
}

#[test]
fn uncertain_names_cause_no_warning() {
    for expression in [
        // They may have another value at the next use.
        "($v := steps[-1].output; $v := $v.first; $v.ok)",
        "$count($filter($last('plan').items, function($v) { ($v := {'okay': $v.ok}; $v.okay) })) > 1",
        // Another function has a parameter of that name, and its callers are unknown.
        "($f := function($v) { $v.anything }; $count($filter($last('plan').items, function($v) { $v.ok and $f({'anything': 1}) })) > 1)",
        "$count($filter($last('plan').items, function($v) { (function($v) { $v.anything })({'anything': $v.ok}) })) > 1",
        // They build something new.
        "$map($last('plan').items, function($v) { {'title': $v.id} })[0].title = 'x'",
        "$map($last('plan').items, function($v, $i) { $i })[0] > 3",
        "$reduce($last('plan').items, function($sum, $v) { {'most': $v.id} }).most = 'x'",
        "($map := function($list, $f) { $f({'anything': 1}) }; $map($last('plan').items, function($v) { $v.anything }))",
        "$exists($filter([$last('plan'), $last('check')], function($v) { $v.first.ok }))",
        // They read what is there.
        "($all := $last('check'); $exists($all.*[ok]))",
        "$count($each($last('check'), function($v, $k) { $v.ok })) > 1",
        "$count($filter($last('plan').items, function($v) { $not($v.ok) })) > 1",
        "$count($last('plan').items ~> $filter(function($v) { $v.status = 'open' })) > 1",
    ] {
        assert_eq!(problems_with(expression), "", "{expression}");
    }
}

/// A predicate may leave out the only output that has the field.
#[test]
fn predicates_leave_a_condition_uncertain() {
    for expression in [
        "$exists(steps[-1].output[first.ok = true].second)",
        "$exists($filter([steps[-1].output.first], function($v) { $v.ok }).id)",
        "$exists($last('check').first[ok].id)",
    ] {
        assert_eq!(problems_with(expression), "", "{expression}");
    }
}
