//! One test for each kind of problem: its place and its words.

use uwf_core::document::{SchemaSeverity, SourcePositions};
use uwf_core::workflow::{check, parse, validate};

use super::{lines, problems_of, sound};

const ROLES: &str = "
roles:
  planner: { meta: { type: object, properties: { plan: { type: string } } } }
  coder: { meta: { type: object, properties: { ok: { type: boolean } } } }
";

fn with_graph(graph: &str) -> String {
    problems_of(&format!("name: solve-it{ROLES}{graph}"))
}

#[test]
fn everything_is_reported_at_once() {
    let text = "
nam: solve-it
roles:
  planner: { meta: { type: string }, gaol: x }
  coder: { goal: 5 }
conditions:
  bad: { expression: '((' }
graph:
  planner: [ { role: codr } ]
  codr: [ { role: $END, condition: worse } ]
";
    insta::assert_snapshot!(problems_of(text), @r#"
    w.yaml:2:1: error[missing-key]: the workflow has no `name`
    w.yaml:2:1: warning[unknown-key]: the key `nam` is not known here and is ignored
        did you mean `name`?
    w.yaml:4:38: warning[unknown-key]: the key `gaol` is not known here and is ignored
        did you mean `goal`?
    w.yaml:5:18: error[wrong-type]: `goal` must be a text, not a number
        put it in quotes: "5"
    w.yaml:7:3: warning[unused-condition]: no transition uses the condition `bad`
    w.yaml:7:22: error[bad-condition]: the condition `bad` cannot be used: `((`: Unexpected end of expression (S0207, character 3)
    w.yaml:9:3: error[no-start]: no transition leads from `$START`
        add `$START: [{role: …}]` with the first role
    w.yaml:9:22: error[unknown-role]: role `codr` is not defined
        did you mean `coder`?
    w.yaml:10:3: error[unknown-role]: role `codr` is not defined
        did you mean `coder`?
    w.yaml:10:3: warning[no-fallback]: when no condition of `codr` holds, the thread ends with reason `no-match`
        add a last transition without condition
    w.yaml:10:36: error[unknown-condition]: condition `worse` is not defined
        conditions: `bad`
    "#);
}

#[test]
fn an_empty_mapping_lacks_everything() {
    insta::assert_snapshot!(problems_of("{}"), @r"
    w.yaml:1:1: error[missing-key]: the workflow has no `graph`
        start with `graph: {$START: [{role: …}]}`
    w.yaml:1:1: error[missing-key]: the workflow has no `name`
    w.yaml:1:1: error[missing-key]: the workflow has no `roles`
    ");
}

#[test]
fn wrong_types_are_named() {
    let text = "
name: 5
description: [x]
roles:
  a: text
  b: { goal: true, capabilities: x, meta: [] }
  c: { capabilities: [1, ok], meta: ~ }
conditions:
  - x
graph:
  $START: a
  a: [ b, { role: 3 }, { condition: x }, { role: b, condition: 4 } ]
";
    insta::assert_snapshot!(problems_of(text), @r#"
    w.yaml:2:7: error[wrong-type]: `name` must be a text, not a number
        put it in quotes: "5"
    w.yaml:3:14: error[wrong-type]: `description` must be a text, not a list
    w.yaml:5:6: error[wrong-type]: `a` must be a mapping, not a text
    w.yaml:6:14: error[wrong-type]: `goal` must be a text, not a boolean
        put it in quotes: "true"
    w.yaml:6:34: error[wrong-type]: `capabilities` must be a list of texts, not a text
    w.yaml:6:43: error[wrong-type]: `meta` must be a JSON Schema or the hash of one, not a list
    w.yaml:7:23: error[wrong-type]: each item of `capabilities` must be a text, not a number
        put it in quotes: "1"
    w.yaml:9:3: error[wrong-type]: `conditions` must be a mapping, not a list
    w.yaml:11:11: error[wrong-type]: `$START` must be a list of transitions, not a text
    w.yaml:12:8: error[wrong-type]: a transition must be a mapping with a `role`, not a text
        write `role: b`
    w.yaml:12:19: error[wrong-type]: `role` must be a text, not a number
        put it in quotes: "3"
    w.yaml:12:24: error[missing-key]: the transition has no `role`
    w.yaml:12:64: error[wrong-type]: `condition` must be a text, not a number
        put it in quotes: "4"
    "#);
    insta::assert_snapshot!(problems_of("name: solve-it\nroles: [a]\ngraph: x\n"), @r"
    w.yaml:2:8: error[wrong-type]: `roles` must be a mapping, not a list
    w.yaml:3:8: error[wrong-type]: `graph` must be a mapping, not a text
    ");
}

#[test]
fn unknown_roles_have_a_suggestion() {
    let graph = "graph:\n  $START: [ { role: planer } ]\n  planner: [ { role: coder } ]\n  codr: [ { role: $end } ]\n  coder: [ { role: $START } ]\n  $END: [ { role: zzz } ]\n";
    insta::assert_snapshot!(with_graph(graph), @r"
    w.yaml:6:21: error[unknown-role]: role `planer` is not defined
        did you mean `planner`?
    w.yaml:8:3: error[unknown-role]: role `codr` is not defined
        did you mean `coder`?
    w.yaml:8:19: error[unknown-role]: role `$end` is not defined
        did you mean `$END`?
    w.yaml:9:20: error[unknown-role]: `$START` is the start of the graph, not a role
        name the next role of the thread
    w.yaml:10:3: error[unknown-role]: nothing comes after `$END`
    w.yaml:10:19: error[unknown-role]: role `zzz` is not defined
        roles: `coder`, `planner`
    ");
}

#[test]
fn a_graph_needs_a_start() {
    insta::assert_snapshot!(with_graph("graph:\n  planner: [ { role: coder } ]\n  coder: [ { role: $END } ]\n"), @r"
    w.yaml:6:3: error[no-start]: no transition leads from `$START`
        add `$START: [{role: …}]` with the first role
    ");
    insta::assert_snapshot!(with_graph("graph:\n  $START: []\n  planner: [ { role: coder } ]\n  coder: [ { role: $END } ]\n"), @r"
    w.yaml:6:3: error[no-start]: no transition leads from `$START`
        add `$START: [{role: …}]` with the first role
    ");
}

#[test]
fn unknown_and_unused_conditions() {
    let graph = "conditions:\n  approved: { expression: 'steps[-1].output.ok' }\n  spare: { expression: 'true' }\ngraph:\n  $START: [ { role: coder, condition: aproved }, { role: planner, condition: zzz }, { role: coder } ]\n  planner: [ { role: coder } ]\n  coder: [ { role: coder, condition: approved }, { role: $END } ]\n";
    insta::assert_snapshot!(with_graph(graph), @r"
    w.yaml:7:3: warning[unused-condition]: no transition uses the condition `spare`
    w.yaml:7:24: warning[doubtful-condition]: the condition `spare`: it is always true: `true` always counts as true
    w.yaml:9:39: error[unknown-condition]: condition `aproved` is not defined
        did you mean `approved`?
    w.yaml:9:78: error[unknown-condition]: condition `zzz` is not defined
        conditions: `approved`, `spare`
    ");
}

#[test]
fn conditions_that_do_not_parse() {
    let graph = "conditions:\n  broken:\n    expression: '(('\n  empty: { expression: ' ' }\n  notApproved: { expression: 'steps[-1].output.ok = false' }\n  none: { description: d }\ngraph:\n  $START: [ { role: coder } ]\n  coder:\n    - { role: coder, condition: broken }\n    - { role: coder, condition: empty }\n    - { role: coder, condition: none }\n    - { role: planner, condition: not approved }\n    - { role: planner, condition: notApproved }\n    - { role: $END }\n  planner: [ { role: $END } ]\n";
    insta::assert_snapshot!(with_graph(graph), @r#"
    w.yaml:7:17: error[bad-condition]: the condition `broken` cannot be used: `((`: Unexpected end of expression (S0207, character 3)
    w.yaml:8:24: error[bad-condition]: the condition `empty` has an empty expression
    w.yaml:10:3: error[missing-key]: the condition `none` has no `expression`
    w.yaml:17:35: error[bad-condition]: the condition `coder-to-planner` cannot be used: `not approved`: unexpected `approved` (S0201, character 5)
        did you mean the condition `notApproved`?
    "#);
}

#[test]
fn conditions_that_are_not_pure_are_refused() {
    let graph = "conditions:\n  late: { expression: '$millis() > 5' }\ngraph:\n  $START: [ { role: coder } ]\n  coder: [ { role: planner, condition: late }, { role: $END } ]\n  planner: [ { role: $END } ]\n";
    insta::assert_snapshot!(with_graph(graph), @r"
    w.yaml:6:23: error[bad-condition]: the condition `late` cannot be used: `$millis() > 5`: `$millis` reads the clock, but a decision must depend on the recorded steps alone (character 1)
        let a role put the time into its output, and read it there
    ");
}

#[test]
fn unreachable_roles_and_ways_out() {
    let graph = "graph:\n  $START: [ { role: planner } ]\n  coder: [ { role: $END } ]\n";
    insta::assert_snapshot!(with_graph(graph), @r"
    w.yaml:3:3: warning[no-way-out]: nothing comes after the role `planner`; the thread ends there with reason `no-match`
        add `planner: [{role: $END}]` to the graph
    w.yaml:4:3: warning[unreachable-role]: no path leads from `$START` to the role `coder`
    ");
    let endless =
        "graph:\n  $START: [ { role: planner } ]\n  planner: [ { role: coder } ]\n  coder: [ { role: planner } ]\n";
    insta::assert_snapshot!(with_graph(endless), @r"
    w.yaml:7:3: warning[no-way-out]: no path leads from `coder`, `planner` to `$END`
        only a limit will stop such a thread
    ");
}

#[test]
fn transitions_that_are_never_taken_are_warned_of() {
    let graph = "conditions:\n  ok: { expression: 'steps[-1].output.ok' }\ngraph:\n  $START: [ { role: coder }, { role: planner } ]\n  coder:\n    - { role: planner, condition: ok }\n    - { role: coder, condition: ok }\n  planner: [ { role: $END } ]\n";
    insta::assert_snapshot!(with_graph(graph), @r"
    w.yaml:8:30: warning[dead-transition]: this transition of `$START` is never tried: one before it always matches
        move it up, or take it out
    w.yaml:9:3: warning[no-fallback]: when no condition of `coder` holds, the thread ends with reason `no-match`
        add a last transition without condition
    w.yaml:11:7: warning[dead-transition]: this transition of `coder` is never taken: number 1 has the same condition
    ");
}

#[test]
fn schemas_are_checked_where_they_stand() {
    let text = "
name: solve-it
roles:
  a:
    meta:
      type: objct
      propertees: { x: { type: string } }
      properties:
        y: { type: string, format: emial }
        z: { $ref: 'https://example.com/s.json' }
        p: { pattern: '(' }
graph: { $START: [ { role: a } ], a: [ { role: $END } ] }
";
    // The words are those of the one validator, and its tests'.
    let found: Vec<_> =
        check(text, "w.yaml", None).problems.into_iter().map(|p| (p.line, p.severity, p.code)).collect();
    let expected = [
        (6, SchemaSeverity::Error, "bad-schema"),
        (7, SchemaSeverity::Warning, "schema-warning"),
        (9, SchemaSeverity::Warning, "schema-warning"),
        (10, SchemaSeverity::Error, "bad-schema"),
        (11, SchemaSeverity::Error, "bad-schema"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_field_the_schema_cannot_have() {
    let text = "
name: solve-it
roles:
  planner: { meta: { type: object, properties: { phases: { type: array, items: { type: object, properties: { hash: {} } } } } } }
  coder: { meta: { type: object, properties: { approved: { type: boolean } } } }
conditions:
  typo: { expression: 'steps[-1].output.aproved' }
  fine: { expression: 'steps[-1].output.approved = true' }
  other: { expression: \"$last('planner').phases.title = 'x'\" }
  nobody: { expression: \"$first('plannr').phases\" }
  deep: { expression: 'steps[-1].output.approved.by' }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: coder } ]
  coder:
    - { role: planner, condition: typo }
    - { role: planner, condition: fine }
    - { role: planner, condition: other }
    - { role: planner, condition: nobody }
    - { role: planner, condition: deep }
    - { role: $END }
";
    insta::assert_snapshot!(problems_of(text), @"
    w.yaml:7:23: warning[impossible-field]: the condition `typo` reads `steps[-1].output.aproved`, but the output of `coder` has no `aproved`
        did you mean `approved`?
    w.yaml:9:24: warning[impossible-field]: the condition `other` reads `$last('planner').phases.title`, but the output of `planner` has no `title`
        it has `hash`
    w.yaml:10:25: warning[unknown-role]: the condition `nobody` asks for the role `plannr`, which the workflow does not have
        did you mean `planner`?
    w.yaml:11:23: warning[impossible-field]: the condition `deep` reads `steps[-1].output.approved.by`, but in the output of `coder` nothing can be below `approved`
    ");
}

/// `fine` is looked at after two roles, one of which has the value.
#[test]
fn comparisons_that_are_never_true() {
    let text = "
name: solve-it
roles:
  planner: { meta: { type: object, properties: { status: { enum: [ready, blocked] } } } }
  coder: { meta: { type: object, properties: { ok: { type: boolean }, status: { enum: [done, failed] }, n: { type: integer } } } }
conditions:
  text: { expression: 'steps[-1].output.ok = \"true\"' }
  other: { expression: 'steps[-1].output.status = \"dome\"' }
  listed: { expression: 'steps[-1].output.status in [\"done\", \"broken\"]' }
  null: { expression: 'steps[-1].output.n = null' }
  who: { expression: 'steps[-1].role = \"codr\"' }
  whose: { expression: '$count(steps[role=\"tester\"]) > 1' }
  fine: { expression: 'steps[-1].output.status = \"ready\" and steps[-1].role != \"planner\"' }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: coder, condition: fine }, { role: coder } ]
  coder:
    - { role: planner, condition: text }
    - { role: planner, condition: other }
    - { role: planner, condition: listed }
    - { role: planner, condition: 'null' }
    - { role: planner, condition: who }
    - { role: planner, condition: whose }
    - { role: planner, condition: fine }
    - { role: $END }
";
    insta::assert_snapshot!(problems_of(text), @r#"
    w.yaml:7:23: warning[impossible-comparison]: the condition `text` compares `steps[-1].output.ok` with `"true"`, but never matches: in the output of `coder` it is of type boolean, not string
        write `true` without quotes
    w.yaml:8:24: warning[impossible-comparison]: the condition `other` compares `steps[-1].output.status` with `"dome"`, but never matches: in the output of `coder` it is one of "done", "failed"
        did you mean `"done"`?
    w.yaml:9:25: warning[impossible-comparison]: the condition `listed` compares `steps[-1].output.status` with `"broken"`, but never matches: in the output of `coder` it is one of "done", "failed"
    w.yaml:10:23: warning[impossible-comparison]: the condition `null` compares `steps[-1].output.n` with `null`, but never matches: in the output of `coder` it is of type integer, not null
        a missing value is not null: ask `$not($exists(…))`
    w.yaml:11:22: warning[doubtful-condition]: the condition `who`: it is always false: `steps[-1].role` is always `coder` here
    w.yaml:11:22: warning[unknown-role]: the condition `who` asks for the role `codr`, which the workflow does not have
        did you mean `coder`?
    w.yaml:12:24: warning[unknown-role]: the condition `whose` asks for the role `tester`, which the workflow does not have
    "#);
}

#[test]
fn unknown_transition_key_is_error_not_warning() {
    let graph = "graph:
  $START: [ { role: planner } ]
  planner: [ { role: coder, when: 'steps[-1].output.plan = \"x\"' }, { role: coder, wehn: x } ]
  coder: [ { role: $END, conditon: x }, { to: $END } ]
";
    insta::assert_snapshot!(with_graph(graph), @"
    w.yaml:7:29: error[unknown-key]: the key `when` is not known here
        did you mean `condition`?
    w.yaml:7:68: warning[dead-transition]: this transition of `planner` is never tried: one before it always matches
        move it up, or take it out
    w.yaml:7:83: error[unknown-key]: the key `wehn` is not known here
        known here: role, condition, outcome
    w.yaml:8:26: error[unknown-key]: the key `conditon` is not known here
        did you mean `condition`?
    w.yaml:8:41: error[missing-key]: the transition has no `role`
    w.yaml:8:43: error[unknown-key]: the key `to` is not known here
        did you mean `role`?
    ");
}

#[test]
fn schemas_that_mean_something_else_are_warned_of() {
    let text = "
name: solve-it
roles:
  a:
    meta:
      type: object
      properties: { first: { type: string, minLength: 9, maxLength: 3 }, second: { type: string } }
      required: [second, frist, first]
graph: { $START: [ { role: a } ], a: [ { role: $END } ] }
";
    insta::assert_snapshot!(problems_of(text), @"
    w.yaml:7:44: warning[schema-warning]: nothing fits: `minLength` is 9, more than `maxLength`, which is 3
    w.yaml:8:7: note[schema-note]: `required` has `second` before `first`, `properties` has them the other way round; agents are asked in the order of `required`
    w.yaml:8:26: warning[schema-warning]: `frist` is required, but `properties` does not list it; did you mean `first`?
    ");
}

#[test]
fn a_role_whose_agents_cannot_ask_is_noted() {
    let of = |status: &str| {
        problems_of(&format!(
            "
name: solve-it
roles:
  a:
    meta:
      type: object
      properties: {{ status: {status} }}
graph: {{ $START: [ {{ role: a }} ], a: [ {{ role: $END }} ] }}
"
        ))
    };
    insta::assert_snapshot!(of("{ type: string }"), @"w.yaml:7:21: note[any-status]: agents of role `a` cannot ask a person: the schema takes any `status`, so `needs_input` is an output; an `enum` without it lets them ask");
    for status in ["{ type: string, enum: [done] }", "{ enum: [done, needs_input] }", "{ type: integer }"] {
        assert_eq!(of(status), "", "{status}");
    }
}

#[test]
fn doubtful_conditions_cause_warnings() {
    let graph = "conditions:\n  failed: { expression: '$not(steps[-1].output.ok)' }\ngraph:\n  $START: [ { role: coder } ]\n  coder: [ { role: coder, condition: failed }, { role: $END } ]\n  planner: []\n";
    insta::assert_snapshot!(with_graph(graph), @r"
    w.yaml:3:3: warning[unreachable-role]: no path leads from `$START` to the role `planner`
    w.yaml:6:25: warning[doubtful-condition]: the condition `failed`: `$not(steps[-1].output.ok)` does not match when `steps[-1].output.ok` is missing, because the negation of a missing value is also missing; write `$not($exists(steps[-1].output.ok))` to ask whether it is there
    ");
}

#[test]
fn names_that_cannot_be() {
    let long = "x".repeat(65);
    let text = format!(
        "name: ../solve-it\nroles:\n  $plan: {{ meta: true }}\n  __Start__: {{ meta: true }}\n  '': {{ meta: true }}\n  -x: {{ meta: true }}\n  {long}: {{ meta: true }}\n  \"a\\nb\": {{ meta: true }}\n  ' a': {{ meta: true }}\nconditions:\n  $c: 'true'\n  \"\\t\": 'true'\ngraph: {{ $START: [ {{ role: $END }} ] }}\n"
    );
    let parsed = check(&text, "w.yaml", None);
    let errors: Vec<_> = parsed.problems.into_iter().filter(uwf_core::document::FileProblem::is_error).collect();
    insta::assert_snapshot!(lines(&errors), @r"
    w.yaml:1:7: error[bad-name]: the workflow name `../solve-it` would be read as an option or a path
        use words joined by `-`
    w.yaml:3:3: error[reserved-name]: `$plan` cannot be the name of a role
        names with `$` are reserved, and `$START` and `$END` (earlier `__start__`, `__end__`) are the ends of the graph
    w.yaml:4:3: error[reserved-name]: `__Start__` cannot be the name of a role
        names with `$` are reserved, and `$START` and `$END` (earlier `__start__`, `__end__`) are the ends of the graph
    w.yaml:5:3: error[bad-name]: the role name `` is empty
    w.yaml:6:3: error[bad-name]: the role name `-x` starts with `-` and would be read as an option
    w.yaml:7:3: error[bad-name]: the role name `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx` has 65 characters; the limit is 64
    w.yaml:8:3: error[bad-name]: the role name `a\nb` contains a control character
    w.yaml:9:3: error[bad-name]: the role name ` a` starts or ends with white space
    w.yaml:11:3: error[reserved-name]: `$c` cannot be the name of a condition
        names with `$` are reserved
    w.yaml:12:3: error[bad-name]: the condition name `\t` is empty
    ");
}

#[test]
fn names_that_had_better_not_be() {
    let named = |name: &str, stem: Option<&str>| {
        let text = format!(
            "name: {name}\nroles: {{ a: {{ meta: true }} }}\ngraph: {{ $START: [ {{ role: a }} ], a: [ {{ role: $END }} ] }}\n"
        );
        let parsed = check(&text, "w.yaml", stem);
        assert!(!parsed.has_errors());
        lines(&parsed.problems)
    };
    assert_eq!(named("solve-issue", Some("solve-issue")), "");
    assert_eq!(named("issue-solver", None), "", "any kebab-case will do");
    let found = [named("SolveIssue", None), named("solve-issue", Some("solve_issue"))];
    insta::assert_snapshot!(found.join("\n"), @"
    w.yaml:1:7: warning[name-style]: the workflow name `SolveIssue` is not kebab-case
        call it `solve-issue`
    w.yaml:1:7: warning[name-not-file]: the workflow is named `solve-issue` but its file `solve_issue`
        give both the same name
    ");
}

#[test]
fn draft_without_positions_is_still_validated() {
    let text =
        format!("name: solve-it{ROLES}graph: {{ $START: [ {{ role: planner }} ], planner: [ {{ role: $END }} ] }}\n");
    let parsed = parse(&text, "w.yaml");
    assert_eq!(parsed.problems, []);
    let draft = parsed.draft.expect("it is sound");
    insta::assert_snapshot!(lines(&validate(&draft, &parsed.positions, None)), @"w.yaml:4:3: warning[unreachable-role]: no path leads from `$START` to the role `coder`");
    insta::assert_snapshot!(lines(&validate(&draft, &SourcePositions::none("-"), None)), @"-:1:1: warning[unreachable-role]: no path leads from `$START` to the role `coder`");
}

#[test]
fn errors_leave_no_draft_and_warnings_do() {
    assert!(check("name: solve-it\n", "w.yaml", None).draft.is_none());
    let warned =
        format!("name: solve-it{ROLES}graph: {{ $START: [ {{ role: planner }} ], planner: [ {{ role: $END }} ] }}\n");
    let parsed = check(&warned, "w.yaml", None);
    assert!(parsed.draft.is_some() && !parsed.problems.is_empty());
}

#[test]
fn texts_may_be_long_and_in_any_script() {
    let text = "
name: solve-it
roles:
  規劃: { goal: 你好, meta: { type: object } }
  \"it's a \\\"role\\\"\": { meta: { type: object } }
graph:
  $START: [ { role: 規劃 } ]
  規劃: [ { role: \"it's a \\\"role\\\"\" } ]
  \"it's a \\\"role\\\"\": [ { role: $END } ]
";
    assert_eq!(sound(text).roles["規劃"].goal, "你好");
}

#[test]
fn inputs_and_their_reads_are_checked() {
    let text = "
name: solve-it
input: { type: object, properties: { dry: { type: boolean, default: 3 }, level: { type: strin } } }
roles:
  planner: { meta: { type: object }, with: { plan: start.input.dyr, n: 3, bad: '1 +' } }
conditions: { dry: start.input.dry.really, whole: $exists(start.input) }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: $END, condition: dry }, { role: $END, condition: whole }, { role: $END } ]
";
    insta::assert_snapshot!(problems_of(text), @r#"
    w.yaml:3:89: error[bad-schema]: `strin` is not a type; did you mean `string`?
    w.yaml:5:52: warning[impossible-field]: `plan` in `with` of role `planner` reads `start.input.dyr`, but the input has no `dyr`
        did you mean `dry`?
    w.yaml:5:72: error[wrong-type]: `n` must be a text, not a number
        put it in quotes: "3"
    w.yaml:5:80: error[bad-expression]: `bad` in `with` of role `planner` cannot be used: `1 +`: Unexpected end of expression (S0207, character 4)
    w.yaml:6:20: warning[impossible-field]: the condition `dry` reads `start.input.dry.really`, but in the input nothing can be below `dry`
    "#);
    let with_input = |input: &str| {
        let graph = "graph: { $START: [ { role: coder } ], coder: [ { role: planner } ], planner: [ { role: $END } ] }";
        problems_of(&format!("name: solve-it\ninput: {input}{ROLES}{graph}"))
    };
    insta::assert_snapshot!(with_input("{ topic: { type: string }, n: true }"), @"
    w.yaml:2:1: error[bad-schema]: `input` must be the JSON Schema of an object
        put the names below `properties`: input: { type: object, properties: { topic: …, n: … } }
    ");
    insta::assert_snapshot!(with_input("{ type: [object, 'null'] }"), @"
    w.yaml:2:1: error[bad-schema]: `input` must be the JSON Schema of an object
        write `input: { type: object, properties: { NAME: { type: string } } }`
    ");
    insta::assert_snapshot!(with_input("true"), @"w.yaml:2:8: error[wrong-type]: `input` must be the JSON Schema of an object, or the hash of one, not a boolean");
    insta::assert_snapshot!(with_input("null"), @"");
    insta::assert_snapshot!(with_input("{ properties: { n: { type: integer, default: 1 } } }"), @"");
}
