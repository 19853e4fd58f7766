//! `uwf workflow validate` of groups: mistakes that would surface only after agents were paid.

use uwf_testing::TestHome;

use crate::home;

/// Findings are repaired and judged, each at the same time; a judge reads the judgements.
const FIXES: &str = "\
name: fix-all
description: Repair every finding
roles:
  planner:
    goal: You list what is wrong.
    meta:
      type: object
      properties:
        title: { type: string }
        areas: { type: array, maxItems: 9, items: { type: string } }
        findings: { type: array, maxItems: 9, items: { type: object, properties: { id: { type: string }, high: { type: boolean } }, required: [id] } }
      required: [findings]
  fixer: { goal: You repair one finding. }
  fixes:
    play: fixer
    each: $last('planner').findings
    key: id
  reader: { goal: You read the code. }
  tester: { goal: You judge the tests. }
  panel: { play: [ reader, tester ] }
  judge: { goal: You decide., sees: [ planner, panel ] }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: fixes } ]
  fixes: [ { role: panel } ]
  panel: [ { role: judge } ]
  judge: [ { role: $END } ]
";

/// What `validate --strict` says about the workflow with `from` replaced.
fn said(home: &TestHome, from: &str, to: &str) -> (Option<i32>, String) {
    let changed = FIXES.replacen(from, to, 1);
    assert_eq!(from == to, changed == FIXES, "{from}");
    let file = home.file("fix-all.yaml", &changed);
    let ran = home.uwf(&["workflow", "validate", "--strict", file.to_str().unwrap(), "--format", "text"]);
    (ran.code, ran.stdout.replace(&format!("{}/", home.work().display()), ""))
}

#[test]
fn mistakes_of_items_are_reported_before_any_step() {
    let home = home();
    assert_eq!(said(&home, "", ""), (Some(0), "fix-all.yaml: valid\n".to_owned()));
    let each = "each: $last('planner').findings";
    for (from, to, line, why, next) in [
        (each, "each: $last('plannr').findings", "16:11", "asks for the role `plannr`", "did you mean `planner`?"),
        (each, "each: $last('reader').findings", "16:11", "which only the group `panel` plays", "`$last('panel')`"),
        (
            each,
            "each: $last('planner').finding",
            "16:11",
            "the output of `planner` has no `finding`",
            "did you mean `findings`?",
        ),
        (
            each,
            "each: steps[-1].output.finding",
            "16:11",
            "the output of `planner` has no `finding`",
            "did you mean `findings`?",
        ),
        (
            each,
            "each: $last('planner').findings[high]",
            "16:11",
            "gives no list if there is only one item",
            "each: \"[$last('planner').findings[high]]\"",
        ),
        (each, "each: $last('planner').findings^(id)", "16:11", "gives no list if there is only one item", "each: \"["),
        (each, "each: $last('planner').findings[0]", "16:11", "gives no list if there is only one item", "each: \"["),
        (each, "each: $last('planner').findings.id", "16:11", "gives no list if there is only one item", "each: \"["),
        (
            each,
            "each: $filter($last('planner').findings, function($f) { $f.high })",
            "16:11",
            "only one item",
            "each: \"[",
        ),
        (
            each,
            "each: $last('planner').title",
            "16:11",
            "gives `title` of `planner`, but must give a list",
            "name a list",
        ),
        (
            each,
            "each: $count($last('planner').findings)",
            "16:11",
            "gives a number, but must give a list",
            "name a list",
        ),
        (each, "each: start.input.parts", "16:11", "the workflow has no `input`", ""),
        ("key: id", "key: idd", "17:10", "the items of `findings` of `planner` have no `idd`", "did you mean `id`?"),
        (
            each,
            "each: \"[$last('planner').areas]\"",
            "17:10",
            "the items of `areas` of `planner` have no keys",
            "leave `key` out",
        ),
        (
            "[ planner, panel ]",
            "[ planner, reader ]",
            "21:48",
            "names `reader`, which only the group `panel` plays",
            "write `panel`",
        ),
        (
            "[ planner, panel ]",
            "tester",
            "21:37",
            "names `tester`, which only the group `panel` plays",
            "write `panel`",
        ),
        (
            "goal: You judge the tests.",
            "goal: You judge the tests., sees: reader",
            "19:47",
            "names `reader`",
            "a branch sees no other branch",
        ),
    ] {
        let (code, out) = said(&home, from, to);
        assert_eq!(code, Some(65), "{to}: {out}");
        assert!(out.contains(&format!("fix-all.yaml:{line}: ")), "{to}: {line}: {out}");
        assert!(out.contains(why), "{to}: {why}: {out}");
        assert!(out.contains(next), "{to}: {next}: {out}");
    }
}

#[test]
fn sound_lists_of_items_cause_no_warning() {
    let home = home();
    for each in [
        "\"[$last('planner').findings[high]]\"",
        "\"[$last('planner').findings.{'id': id}]\"",
        "$last('planner').findings[high][]",
        "steps[role = 'planner'].output.findings",
        "steps[-1].output.findings",
        "\"['de', 'fr']\"",
        "\"[1..3]\"",
        "$append($last('planner').findings, [])",
        "$sort($last('planner').findings, function($a, $b) { $a.id > $b.id })",
    ] {
        let (code, out) = said(&home, "each: $last('planner').findings", &format!("each: {each}"));
        assert_eq!((code, out.as_str()), (Some(0), "fix-all.yaml: valid\n"), "{each}");
    }
}

#[test]
fn stored_workflow_is_checked_like_its_file() {
    let home = home();
    let more = "  tests: { run: 'true', timeout: 5m, fails: [3] }\n  best: { play: reader, copies: 2, pick: judge, mayFail: true }\n";
    let file = FIXES.replace("graph:\n", &format!("{more}graph:\n")).replace(
        "  panel: [ { role: judge } ]\n",
        "  panel: [ { role: tests } ]\n  tests: [ { role: best } ]\n  best: [ { role: $END } ]\n",
    );
    let file = file.replace("  judge: [ { role: $END } ]\n", "").replace(", sees: [ planner, panel ]", ", meta: { type: object, properties: { winner: { type: integer } }, required: [winner] }, sees: [ planner, panel ]");
    let file = file.replace("[ reader, tester ]", "[ reader, { role: tester, limits: { maxSteps: 3 } } ]");
    home.put("fix-all", &file);
    std::fs::remove_file(home.work().join("fix-all.yaml")).unwrap();
    let ran = home.uwf(&["workflow", "validate", "--strict", "fix-all", "--format", "text"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
}

#[test]
fn wildcard_on_a_list_is_reported() {
    let home = home();
    let judged = "reader: { goal: x, meta: { type: object, properties: { ok: { type: boolean } }, required: [ok] } }";
    let workflow = |condition: &str| {
        FIXES
            .replace("  fixer: { goal: You repair one finding. }\n", "")
            .replace("reader: { goal: You read the code. }", judged)
            .replace("play: fixer\n    each: $last('planner').findings\n    key: id", "play: reader\n    each: $last('planner').findings")
            .replace("  panel: { play: [ reader, tester ] }", "  panel: { play: [ reader, tester ] }\n  keyed: { play: reader, each: $last('planner').findings, key: id }")
            .replace("fixes: [ { role: panel } ]", &format!("fixes:\n    - {{ role: keyed, condition: \"{condition}\" }}\n    - {{ role: panel }}\n  keyed: [ {{ role: panel }} ]"))
    };
    let validate = |condition: &str| {
        let file = home.file("fix-all.yaml", &workflow(condition));
        let validated = home.uwf(&["workflow", "validate", "--strict", file.to_str().unwrap(), "--format", "text"]);
        (validated.code, validated.stdout)
    };
    for (condition, hint) in [
        ("$last('fixes').*[ok = false]", "`$last('fixes')[…]`"),
        ("$count($last('fixes').*[ok]) = 0", "`$last('fixes')[…]`"),
        ("$exists(steps[-1].output.*[ok])", "`steps[-1].output[…]`"),
        ("$exists($last('fixes').*.ok)", "`$last('fixes')[…]`"),
    ] {
        let (code, out) = validate(condition);
        assert_eq!(code, Some(65), "{condition}: {out}");
        assert!(out.contains("[impossible-field]") && out.contains("nothing can be below `*`"), "{condition}: {out}");
        assert!(out.contains(&format!("it is a list, which needs no `*`: {hint}")), "{condition}: {out}");
        assert_eq!(out.matches("[impossible-field]").count(), 1, "{condition}: {out}");
    }
    for condition in [
        "$exists($last('fixes')[ok = false])",
        "$count($last('fixes').*) > 3",
        "$count($last('fixes').*[$ = false]) > 0",
        "$exists($last('panel').*[ok])",
        "$count($last('keyed').*[ok = false]) = 0",
        "$count($last('keyed').*[anything]) = 0",
        "$exists($last('planner').*[id = 'a'])",
        "$exists($last('planner').findings.*)",
    ] {
        let (code, out) = validate(condition);
        assert!(
            code == Some(0) && out.ends_with("fix-all.yaml: valid\n") && out.lines().count() == 1,
            "{condition}: {out}"
        );
    }
    let (code, out) = validate("$exists($last('panel').*[okay])");
    assert_eq!(code, Some(65), "{out}");
    assert!(out.contains("the output of `panel` has no `okay`"), "{out}");
}

/// A group whose branches are a group that merges the files of its branches.
const NESTED: &str = "\
name: nested
workspace: worktree
roles:
  worker: { goal: Work. }
  inner: { play: [worker, other], files: worktree, merge: sequence }
  other: { goal: Work otherwise. }
  outer: { play: [inner, reader] }
  reader: { goal: Read. }
graph:
  $START: [ { role: outer } ]
  outer: [ { role: $END } ]
";

#[test]
fn inner_group_must_not_write_what_outer_reads() {
    let home = home();
    let said = |from: &str, to: &str| {
        let file = home.file("nested.yaml", &NESTED.replacen(from, to, 1));
        let ran = home.uwf(&["workflow", "validate", file.to_str().unwrap(), "--format", "text"]);
        (ran.code, ran.stdout)
    };
    let why = "the branches of `outer` only read files, and its group `inner` changes the files of the thread";
    for to in ["files: worktree, merge: sequence", "files: shared, max: 1"] {
        let (code, out) = said("files: worktree, merge: sequence", to);
        assert!(code == Some(65) && out.contains(why), "{to}: {out}");
    }
    let (code, out) = said(
        "play: [worker, other], files: worktree, merge: sequence",
        "play: [worker], copies: 2, pick: '1', files: worktree",
    );
    assert!(code == Some(65) && out.contains(why), "{out}");
    for (from, to) in [
        ("files: worktree, merge: sequence", "files: worktree"),
        ("play: [inner, reader]", "play: [inner, reader], files: worktree"),
        ("play: [inner, reader]", "play: [inner, reader], files: shared, max: 1"),
    ] {
        let (code, out) = said(from, to);
        assert_eq!(code, Some(0), "{to}: {out}");
    }
}

#[test]
fn run_cannot_stop_before_role_of_group_only() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho '{}'\n");
    home.put("nested", &NESTED.replace("workspace: worktree\n", "").replace(", files: worktree, merge: sequence", ""));
    let ran = home.uwf(&["run", "nested", "-p", "x", "--until", "worker"]);
    assert_eq!(ran.code, Some(64), "{ran:?}");
    let why = "only the group `outer` plays role `worker`, so a run cannot stop before it";
    assert!(ran.stderr.contains(why) && ran.stderr.contains("`--until outer`"), "{ran:?}");
    assert_eq!(home.json(&["thread", "list", "--all"]), serde_json::json!([]), "no thread was started");
}

#[test]
fn branches_and_outcomes_of_other_roles_are_doubtful() {
    let home = home();
    let each = "each: $last('planner').findings";
    for (from, to, why) in [
        (each, "each: $branches('planner')", "asks for the branches of `planner`, which is not a group"),
        (each, "each: $branches('plannr')", "asks for the role `plannr`"),
        (each, "each: \"[$outcome('planner')]\"", "`$outcome` takes a step, not the name of a role"),
        ("key: id", "key: \"\"", "`key` is empty"),
    ] {
        let (code, said) = said(&home, from, to);
        assert!(code != Some(0) && said.contains(why), "{to}: {said}");
    }
}

#[test]
fn items_from_the_input_are_checked() {
    let home = home();
    let input = "input: { type: object, properties: { count: { type: integer }, files: { type: array, maxItems: 9, items: { type: object, properties: { id: { type: string } } } } } }\nroles:\n";
    let file = |each: &str, key: &str| {
        FIXES
            .replacen("roles:\n", input, 1)
            .replacen("each: $last('planner').findings", each, 1)
            .replacen("key: id", key, 1)
    };
    for (each, key, why) in [
        ("each: start.input.count", "key: id", "gives `count` of the input, but must give a list"),
        ("each: start.input.counts", "key: id", "the input has no `counts`"),
        ("each: start.input.files", "key: name", "the items of `files` of the input have no `name`"),
        ("each: start.input.files", "key: id", ""),
    ] {
        let path = home.file("fix-all.yaml", &file(each, key));
        let ran = home.uwf(&["workflow", "validate", "--strict", path.to_str().unwrap(), "--format", "text"]);
        assert_eq!(ran.code == Some(0), why.is_empty(), "{each}: {}", ran.transcript());
        assert!(ran.stdout.contains(why), "{each}: {}", ran.transcript());
    }
}

#[test]
fn unknown_roles_are_named_at_their_place() {
    let home = home();
    let copies = "fixes:\n    play: fixer\n    copies: 2\n    pick: ";
    let merged = "fixes:\n    play: [ fixer ]\n    files: worktree\n    merge: sequence\n    resolve: ";
    let each = "fixes:\n    play: fixer\n    each: $last('planner').findings\n    key: id";
    for (from, to, place, message, hint) in [
        (
            "[ reader, tester ]",
            "[ reader, testr ]",
            "20:28",
            "`play` of `panel` names the role `testr`",
            "did you mean `tester`?",
        ),
        (
            "[ reader, tester ]",
            "[ reader, { condition: x, role: testr } ]",
            "20:50",
            "`play` of `panel`",
            "did you mean `tester`?",
        ),
        ("play: fixer", "play: fixr", "15:11", "`play` of `fixes` names the role `fixr`", "did you mean `fixer`?"),
        (each, &format!("{copies}jugde"), "17:11", "`pick` of `fixes` names the role `jugde`", "did you mean `judge`?"),
        (
            each,
            &format!("{copies}chairperson"),
            "17:11",
            "`chairperson`",
            "roles: `fixer`, `judge`, `panel`, `planner`,",
        ),
        (
            each,
            &format!("{merged}fixr"),
            "18:14",
            "`resolve` of `fixes` names the role `fixr`",
            "did you mean `fixer`?",
        ),
    ] {
        let (code, said) = said(&home, from, to);
        assert_eq!(code, Some(65), "{to}: {said}");
        let error = format!("fix-all.yaml:{place}: error[unknown-role]: ");
        let at = said.find(&error).unwrap_or_else(|| panic!("{to}: no {error} in {said}"));
        let rest = &said[at + error.len()..];
        assert!(rest.contains(message) && rest.contains("which does not exist") && rest.contains(hint), "{to}: {said}");
        assert!(!said.contains("bad-group"), "{to}: {said}");
    }
}

#[test]
fn paths_of_branches_are_distinct() {
    let home = home();
    let flow = |inner: &str| {
        format!(
            "name: fix-all\ndescription: d\nroles:\n  a: {{ goal: g }}\n  b: {{ goal: g }}\n  ner.a: {{ goal: g }}\n  {inner}: {{ play: [ a, b ] }}\n  in: {{ play: [ ner.a, {inner} ] }}\ngraph:\n  $START: [ {{ role: in }} ]\n  in: [ {{ role: {inner} }} ]\n  {inner}: [ {{ role: $END }} ]\n"
        )
    };
    let validated = |inner: &str| {
        let file = home.file("fix-all.yaml", &flow(inner));
        home.uwf(&["workflow", "validate", "--strict", file.to_str().unwrap(), "--format", "text"])
    };
    let fine = validated("inner");
    assert_eq!(fine.code, Some(0), "{}", fine.transcript());
    let refused = validated("in.ner");
    assert_eq!(refused.code, Some(65), "{}", refused.transcript());
    assert!(refused.stdout.contains("have the same path, `in.ner.a`"), "{}", refused.transcript());
}
