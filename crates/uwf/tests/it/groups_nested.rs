//! Branches that are groups or workflows themselves.

use std::fs;

use serde_json::json;
use uwf_testing::TestHome;

use crate::fixtures::group_in_repository::thread_of;
use crate::fixtures::group_runs::{mend, prompt, runs};
use crate::home;

/// An agent that keeps its prompt as `prompt-ROLE`, notes its branch and item in `runs`, and runs `ROLE.sh` if there is one.
const AGENT: &str = "#!/bin/sh
cat > \"prompt-$UWF_ROLE\"
echo ${UWF_BRANCH:-$UWF_ROLE} $UWF_ITEM >> runs
if test -e ./$UWF_ROLE.sh; then . ./$UWF_ROLE.sh; else echo \"I am $UWF_ROLE.\"; fi
";

/// A plan, and a role `work` that a test replaces.
fn planned(roles: &str) -> String {
    format!(
        "name: nested
description: x
roles:
  planner: {{ goal: You plan., meta: {{ type: object, properties: {{ deep: {{ type: boolean }}, hint: {{ type: string }}, areas: {{ type: array, maxItems: 9, items: {{ type: object }} }} }}, required: [areas] }} }}
{roles}
conditions:
  deep: {{ expression: \"$last('planner').deep\" }}
graph:
  $START: [ {{ role: planner }} ]
  planner: [ {{ role: work }} ]
  work: [ {{ role: $END }} ]
"
    )
}

fn home_with(workflow: &str) -> TestHome {
    let home = home();
    home.put("nested", workflow);
    home.script("worker", AGENT);
    home.config("agents:\n  t: { command: worker, output: text }\ndefaultAgent: t\nkillGrace: 1\n");
    home.file(
        "planner.sh",
        "printf -- '---\\nhint: be kind\\ndeep: true\\nareas: [{id: a, files: [x, y]}, {id: b, files: [z]}]\\n---\\nIt is planned.\\n'\n",
    );
    home
}

/// The outer groups would be paid for before the innermost one is refused.
#[test]
fn too_deep_groups_are_refused_at_the_start() {
    let workflow = planned(
        "  leaf: { goal: x }
  c: { play: [ leaf ] }
  b: { play: [ c ] }
  a: { play: [ b ] }
  work: { play: [ a ] }",
    );
    let home = home_with(&workflow);
    let refused = home.uwf(&["run", "nested", "-p", "x"]);
    assert_eq!(refused.code, Some(30), "{}", refused.transcript());
    let why = "the innermost group of role `work` would be 4 threads deep, and `maxDepth` is 3";
    assert!(refused.stderr.contains(why), "{}", refused.transcript());
    assert_eq!(home.json(&["thread", "list", "--all"]), json!([]), "no agent was paid");
    home.json(&["config", "set", "maxDepth", "4"]);
    let ran = home.uwf(&["run", "nested", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["planner", "work.a.b.c.leaf"]);
}

#[test]
fn group_within_group_reads_earlier_steps() {
    let workflow = planned(
        "  fixer: { goal: x }
  docs: { goal: x }
  tests: { goal: x }
  fixes: { play: fixer, each: \"$last('planner').areas\", key: id }
  checks: { play: [ tests, { role: docs, condition: deep } ] }
  work: { play: [ fixes, checks ] }",
    );
    let home = home_with(&workflow);
    let file = home.file("nested.yaml", &workflow);
    let valid = home.uwf(&["workflow", "validate", "--strict", file.to_str().unwrap()]);
    assert_eq!(valid.code, Some(0), "{}", valid.transcript());
    let ran = home.uwf(&["run", "nested", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let expected = json!({
        "fixes": {"a": "I am fixer.", "b": "I am fixer."},
        "checks": {"tests": "I am tests.", "docs": "I am docs."},
    });
    assert_eq!(home.json(&["thread", "eval", &thread_of(&ran), "$last('work')"]), expected);
    assert!(prompt(&home, "docs").contains("It is planned."), "its prompt has the steps before the group");
}

#[test]
fn item_of_branch_is_read_by_its_group() {
    let workflow = planned(
        "  fixer: { goal: x }
  area: { play: fixer, each: \"[item.files]\" }
  work: { play: area, each: \"$last('planner').areas\", key: id }",
    );
    let home = home_with(&workflow);
    let file = home.file("nested.yaml", &workflow);
    let valid = home.uwf(&["workflow", "validate", file.to_str().unwrap()]);
    assert_eq!(valid.code, Some(0), "{}", valid.transcript());
    let ran = home.uwf(&["run", "nested", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home), ["planner", "work.a.1 x", "work.a.2 y", "work.b.1 z"]);
    let fixed = "I am fixer.";
    let output = home.json(&["thread", "eval", &thread_of(&ran), "$last('work')"]);
    assert_eq!(output, json!({"a": [fixed, fixed], "b": [fixed]}));
}

/// A home in which the workflow plays the role `fixer` of each item.
fn with_workflow(config: &str) -> TestHome {
    let home = home_with(&planned(
        "  fixer:
    goal: x
    meta: { type: object, properties: { done: { type: boolean } }, required: [done] }
    with: { area: item.id, files: \"[$item.files]\", hint: \"$last('planner').hint\" }
  work: { play: fixer, each: \"$last('planner').areas\", key: id }",
    ));
    home.put("mend", &mend("$count(start.input.files) < 2"));
    home.config(&format!(
        "agents:\n  t: {{ command: worker, output: text }}\n  inner: {{ command: uwf-workflow, args: [mend] }}\ndefaultAgent: t\n\
         agentOverrides: {{ nested: {{ fixer: inner }} }}\nkillGrace: 1\n{config}"
    ));
    home.file("finish.sh", "printf -- '---\\ndone: true\\n---\\nDone.\\n'\n");
    home
}

#[test]
fn workflow_gets_parts_of_item_as_input() {
    let home = with_workflow("");
    let ran = home.uwf(&["run", "nested", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let inputs: Vec<serde_json::Value> = home
        .json(&["thread", "list", "--all"])
        .as_array()
        .unwrap()
        .iter()
        .map(|row| home.json(&["thread", "show", row["thread"].as_str().unwrap()])["input"].clone())
        .filter(|input| input["area"] == "a")
        .collect();
    assert_eq!(inputs[0], json!({"area": "a", "files": ["x", "y"], "hint": "be kind"}));
    let output = home.json(&["thread", "eval", &thread_of(&ran), "$last('work')"]);
    assert_eq!(output, json!({"a": {"done": true}, "b": {"done": true}}));
    assert!(fs::read_to_string(home.work().join("prompt-finish")).unwrap().contains("be kind"));
}

#[test]
fn nested_groups_end_under_machine_limit_of_one() {
    let home = with_workflow("parallel: 1\n");
    let ran = home.uwf(&["run", "nested", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(runs(&home).len(), 7);
}

#[test]
fn parent_sees_outcomes_of_workflows_in_groups() {
    let home = with_workflow("");
    let workflow = fs::read_to_string(home.work().join("nested.yaml")).unwrap();
    let ends = "  work: [ { role: $END, outcome: rejected, condition: \"$outcome(steps[-1]) != 'succeeded'\" }, { role: $END } ]";
    home.put("nested", &workflow.replace("  work: [ { role: $END } ]", ends));
    let ran = home.uwf(&["run", "nested", "-p", "x"]);
    assert_eq!(ran.code, Some(11), "{}", ran.transcript());
    let thread = thread_of(&ran);
    assert_eq!(home.json(&["thread", "show", &thread])["outcome"], "rejected");
    let outcomes = home.json(&["thread", "eval", &thread, "$branches('work'){ name: outcome }"]);
    assert_eq!(outcomes, json!({"a": "too-large", "b": "succeeded"}));
    assert_eq!(home.json(&["thread", "eval", &thread, "$outcome(steps[-1])"]), "too-large");
    home.file("planner.sh", "printf -- '---\\nareas: [{id: a, files: [x]}]\\n---\\nIt is planned.\\n'\n");
    assert_eq!(home.uwf(&["run", "nested", "-p", "x"]).code, Some(0));
}

#[test]
fn expression_without_item_is_warned_about() {
    let home = home();
    let workflow = planned(
        "  fixer: { goal: x, with: { area: item.id } }
  work: { play: [ fixer, { role: planner, condition: odd } ] }",
    );
    let workflow = workflow.replace("conditions:\n", "conditions:\n  odd: { expression: \"$item.n = 1\" }\n");
    let file = home.file("nested.yaml", &workflow);
    let warned = home.uwf(&["workflow", "validate", file.to_str().unwrap()]);
    assert_eq!(warned.code, Some(0), "{}", warned.transcript());
    for whole in ["`area` in `with` of role `fixer`", "the condition `odd`"] {
        assert!(warned.stdout.contains(&format!("{whole} reads `item`")), "{}", warned.stdout);
    }
}

/// A workflow that is only one group, which plays only another group.
fn only_group(work: &str) -> String {
    format!(
        "name: nested
description: x
roles:
  a: {{ goal: x }}
  b: {{ goal: x }}
  inner: {{ play: [ a, b ] }}
  middle: {{ play: [ inner ] }}
  work: {work}
graph:
  $START: [ {{ role: work }} ]
  work: [ {{ role: $END }} ]
"
    )
}

#[test]
fn workflow_of_one_group_plays_another_group() {
    let both = json!({"a": "I am a.", "b": "I am b."});
    for (work, output) in [
        ("{ play: [ inner ] }", json!({"inner": both})),
        ("{ play: [ middle ] }", json!({"middle": {"inner": both}})),
        ("{ play: [ middle, a ] }", json!({"middle": {"inner": both}, "a": "I am a."})),
        ("{ play: inner, each: \"['x']\" }", json!([both])),
        ("{ play: inner, copies: 2, pick: \"2\" }", json!({"winner": 2, "results": [both, both]})),
    ] {
        let home = home_with(&only_group(work));
        let ran = home.uwf(&["run", "nested", "-p", "x"]);
        assert_eq!(ran.code, Some(0), "{work}: {}", ran.transcript());
        let thread = thread_of(&ran);
        assert_eq!(home.json(&["thread", "eval", &thread, "$last('work')"]), output, "{work}");
        let shown = home.json(&["thread", "show", &thread]);
        assert_eq!(shown["group"]["role"], "work", "{work}: {shown}");
        let first = shown["group"]["branches"][0]["branch"].as_str().unwrap();
        assert!(first.starts_with("work."), "{work}: {shown}");
        assert_eq!(home.uwf(&["thread", "verify", &thread]).code, Some(0), "{work}");
    }
}

#[test]
fn prompt_shows_text_of_workflow_ending_with_group() {
    let home = home_with(
        &planned("  work: { goal: x }\n  last: { goal: x }")
            .replace("work: [ { role: $END } ]", "work: [ { role: last } ]\n  last: [ { role: $END } ]"),
    );
    home.put("both", &only_group("{ play: [ a, b ] }").replace("name: nested", "name: both"));
    home.config(
        "agents:\n  t: { command: worker, output: text }\n  inner: { command: uwf-workflow, args: [both] }\ndefaultAgent: t\n\
         agentOverrides: { nested: { work: inner } }\nkillGrace: 1\n",
    );
    let ran = home.uwf(&["run", "nested", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let seen = prompt(&home, "last");
    assert!(seen.contains("I am a.") && !seen.contains("## work"), "the workflow's steps are no branches: {seen}");
}

#[test]
fn branch_whose_item_does_not_fit_may_fail() {
    let home = with_workflow("");
    let workflow = home.work().join("nested.yaml");
    let put = |yaml: &str| home.put("nested", yaml);
    let yaml = fs::read_to_string(&workflow).unwrap();
    put(&yaml.replace("key: id }", "key: id, mayFail: true }").replace("area: item.id", "area: item.name"));
    home.file(
        "planner.sh",
        "printf -- '---\\nareas: [{id: a, name: a}, {id: b, name: 7}, {id: c}, {id: d, name: d}]\\n---\\nIt is planned.\\n'\n",
    );
    let ran = home.uwf(&["run", "nested", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let output = home.json(&["thread", "eval", &thread_of(&ran), "$last('work')"]);
    assert_eq!((&output["a"], &output["d"]), (&json!({"done": true}), &json!({"done": true})), "{output}");
    for name in ["b", "c"] {
        let why = output[name]["failed"].as_str().unwrap();
        assert!(why.contains("does not fit workflow `mend`") && !why.contains('\n'), "{output}");
        assert!(why.contains("area"), "the whole reason: {output}");
    }
    let failed = home.json(&["thread", "eval", &thread_of(&ran), "$branches('work')[name='b'].failed"]);
    assert_eq!(failed, output["b"]["failed"]);
}

#[test]
fn branch_at_its_own_limit_may_fail() {
    for (more, code) in [("", 30), (", mayFail: true", 0)] {
        let home = with_workflow("");
        let done = "meta: { type: object, properties: { done: { type: boolean } }, required: [done] }";
        home.put(
            "nested",
            &planned(&format!(
                "  fixer: {{ goal: x, {done}, with: {{ area: \"'a'\", files: \"[]\" }} }}
  quick: {{ goal: x }}
  work: {{ play: [ {{ role: fixer, limits: {{ maxTime: 3s }}{more} }}, quick ] }}"
            )),
        );
        // Then the next step of the workflow that plays `fixer` may not begin.
        home.file("read.sh", "sleep 3.2\necho Read.\n");
        let ran = home.uwf(&["run", "nested", "-p", "x"]);
        assert_eq!(ran.code, Some(code), "{}", ran.transcript());
        if code == 0 {
            let output = home.json(&["thread", "eval", &thread_of(&ran), "$last('work')"]);
            assert_eq!(output["quick"], "I am quick.");
            assert!(output["fixer"]["failed"].as_str().unwrap().contains("its limit is 3 s"), "{output}");
            assert!(!runs(&home).contains(&"finish".to_owned()), "{:?}", runs(&home));
        } else {
            assert!(ran.stderr.contains("branch `work.fixer`"), "{}", ran.stderr);
        }
    }
}

/// A workflow of one group, and a role whose text it is.
#[test]
fn text_of_group_holds_every_branch() {
    let home = home_with(
        "name: nested
description: x
roles:
  all: { goal: x }
  last: { goal: x }
graph:
  $START: [ { role: all } ]
  all: [ { role: last } ]
  last: [ { role: $END } ]
",
    );
    home.put(
        "panel",
        "name: panel
description: x
roles:
  plain: { goal: x }
  typed: { goal: x, meta: { type: object, properties: { done: { type: boolean } }, required: [done] } }
  broken: { goal: x }
  inner: { play: [ plain, typed ] }
  both: { play: [ inner, { role: broken, mayFail: true } ] }
graph:
  $START: [ { role: both } ]
  both: [ { role: $END } ]
",
    );
    home.config(
        "agents:\n  t: { command: worker, output: text }\n  inner: { command: uwf-workflow, args: [panel] }\ndefaultAgent: t\n\
         agentOverrides: { nested: { all: inner } }\n",
    );
    home.file("typed.sh", "printf -- '---\\ndone: true\\n---\\nIt is typed.\\n'\n");
    home.file("broken.sh", "exit 3\n");
    let ran = home.uwf(&["run", "nested", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let output = home.json(&["thread", "eval", &thread_of(&ran), "$last('all')"]);
    let expected = "## inner.plain\n\nI am plain.\n\n## inner.typed\n\n```json\n{\n  \"done\": true\n}\n```\n\nIt is typed.\n\n\
                    ## broken\n\nfailed: agent `t` exited with 3";
    assert_eq!(output, expected);
    let seen = prompt(&home, "last");
    assert_eq!((seen.matches("I am plain.").count(), seen.matches("It is typed.").count()), (1, 1), "{seen}");
}

#[test]
fn thread_of_group_is_verified_by_its_parent() {
    let home = with_workflow("");
    let ran = home.uwf(&["run", "nested", "-p", "x"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let rows = home.json(&["thread", "list", "--all", "--branches"]);
    for row in rows.as_array().unwrap() {
        let verified = home.uwf(&["thread", "verify", row["thread"].as_str().unwrap()]);
        assert_eq!(verified.code, Some(0), "{row}: {}", verified.transcript());
    }
}
