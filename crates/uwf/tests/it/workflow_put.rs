//! Workflows through the command: validate, show, list, names and their versions, the graph.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::{TestHome, text};

use crate::home;

const REVIEW: &str = r#"name: review-text
description: A writer and a reviewer.
roles:
  writer:
    description: writes one sentence
    goal: Write one sentence.
    meta: { type: object, properties: { title: { type: string }, words: { type: integer } }, required: [title] }
  reviewer:
    description: approves it or not
    goal: Approve or not.
    meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] }
conditions:
  rejected: { description: not good yet, expression: "steps[-1].output.approved = false" }
graph:
  $START: [ { role: writer } ]
  writer: [ { role: reviewer } ]
  reviewer:
    - { role: writer, condition: rejected }
    - { role: $END }
"#;

/// The same with one mistake of each kind that people make.
const BROKEN: &str = r#"name: review-text
roles:
  writer:
    goal: Write one sentence.
    meta: { type: object, properties: { title: { type: strin } } }
  reviewer:
    goal: Approve or not.
    meta: 0000000000000
conditions:
  rejected: { expression: "steps[-1].output.approved = " }
graph:
  $START: [ { role: writer } ]
  writer: [ { role: reveiwer } ]
  reviewer:
	- { role: writer, condition: rejcted }
"#;

fn broken() -> String {
    BROKEN.replace('\t', "    ")
}

/// Stores three versions of a workflow; returns their hashes, oldest first.
fn three_versions(home: &TestHome) -> [String; 3] {
    ["first", "second", "third"]
        .map(|version| home.put("review-text", &REVIEW.replace("A writer", &format!("The {version} writer"))))
}

const NOTED: &str = "name: take-notes
roles:
  a: { meta: { type: object, properties: { x: { type: string }, y: { type: string } }, required: [y, x] } }
graph: { $START: [ { role: a } ], a: [ { role: $END } ] }
";

#[test]
fn a_note_refuses_nothing_not_even_strictly() {
    let home = home();
    let file = home.file("take-notes.yaml", NOTED);
    let file = file.to_str().unwrap();
    assert_snapshot!(home.told(&["workflow", "validate", file, "--strict", "--format", "text"]), @"
    exit 0
    <dir>/work/take-notes.yaml:3:88: note[schema-note]: `required` has `y` before `x`, `properties` has them the other way round; agents are asked in the order of `required`
      |
    3 | …, properties: { x: { type: string }, y: { type: string } }, required: [y, x] } }
      |                                                              ^

    <dir>/work/take-notes.yaml: valid, 1 note
    ");
    assert_eq!(home.uwf(&["workflow", "put", file, "--strict"]).code, Some(0));
}

#[test]
fn a_thread_that_only_a_limit_ends_is_warned_of_when_it_starts() {
    let home = home();
    let endless = NOTED.replace("a: [ { role: $END } ]", "a: [ { role: a } ]");
    let warned = "no way leads from `a` to `$END`";
    home.put("take-notes", &endless);
    for workflow in ["take-notes", "take-notes.yaml"] {
        let started = home.uwf(&["thread", "start", workflow, "-p", "x"]);
        assert_eq!((started.code, started.stderr.matches(warned).count()), (Some(0), 1), "{}", started.stderr);
    }
}

#[test]
fn every_problem_is_shown_with_its_place_and_what_to_do() {
    let home = home();
    home.file("review-text.yaml", &broken());
    assert_snapshot!(home.told(&["workflow", "validate", "review-text.yaml", "--format", "text"]), @r#"
    exit 65
    review-text.yaml:5:56: error[bad-schema]: `strin` is no type; did you mean `string`?
      |
    5 |     meta: { type: object, properties: { title: { type: strin } } }
      |                                                        ^

    review-text.yaml:8:11: error[unknown-schema]: role `reviewer` names schema 0000000000000, which is not in the store
      |
    8 |     meta: 0000000000000
      |           ^
      = hint: `uwf cas schema put FILE` stores a schema; `uwf cas schema list` shows those there are

    review-text.yaml:10:3: warning[unused-condition]: no transition uses the condition `rejected`
       |
    10 |   rejected: { expression: "steps[-1].output.approved = " }
       |   ^

    review-text.yaml:10:27: error[bad-condition]: the condition `rejected` cannot be used: `steps[-1].output.approved =`: Unexpected end of expression (S0207) at character 28
       |
    10 |   rejected: { expression: "steps[-1].output.approved = " }
       |                           ^

    review-text.yaml:13:21: error[unknown-role]: there is no role `reveiwer`
       |
    13 |   writer: [ { role: reveiwer } ]
       |                     ^
       = hint: did you mean `reviewer`?

    review-text.yaml:14:3: warning[no-fallback]: when no condition of `reviewer` holds, the thread ends with reason `no-match`
       |
    14 |   reviewer:
       |   ^
       = hint: add a last transition without condition

    review-text.yaml:15:34: error[unknown-condition]: there is no condition `rejcted`
       |
    15 |     - { role: writer, condition: rejcted }
       |                                  ^
       = hint: did you mean `rejected`?

    review-text.yaml: not valid, 5 errors, 2 warnings
    "#);
    home.file("tab.yaml", BROKEN);
    assert_snapshot!(home.told(&["workflow", "validate", "tab.yaml", "--format", "text"]), @r"
    exit 65
    tab.yaml:15:2: error[syntax]: not valid YAML: tabs disallowed within this context (block indentation)
       |
    15 | 	- { role: writer, condition: rejcted }
       | 	^
       = hint: indent with spaces; YAML does not allow tabs there

    tab.yaml: not valid, 1 error
    ");
    assert!(!home.root().join("cas").exists(), "validate writes nothing");
}

#[test]
fn problems_are_data_for_programs_one_entry_a_file() {
    let home = home();
    home.file("review-text.yaml", REVIEW);
    home.file("other-name.yaml", &REVIEW.replace("role: reviewer", "role: reveiwer"));
    fs::write(home.work().join("latin1.yaml"), b"name: caf\xe9\n").unwrap();
    let ran =
        home.uwf(&["workflow", "validate", "review-text.yaml", "other-name.yaml", "nowhere.yaml", "latin1.yaml", "."]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(65), ""));
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_snapshot!(format!("{report:#}"), @r#"
    [
      {
        "file": "review-text.yaml",
        "valid": true,
        "problems": []
      },
      {
        "file": "other-name.yaml",
        "valid": false,
        "problems": [
          {
            "severity": "warning",
            "code": "name-not-file",
            "message": "the workflow is named `review-text` but its file `other-name`",
            "hint": "give both the same name",
            "file": "other-name.yaml",
            "line": 1,
            "column": 7
          },
          {
            "severity": "error",
            "code": "unknown-role",
            "message": "there is no role `reveiwer`",
            "hint": "did you mean `reviewer`?",
            "file": "other-name.yaml",
            "line": 16,
            "column": 21
          }
        ]
      },
      {
        "file": "nowhere.yaml",
        "valid": false,
        "problems": [
          {
            "severity": "error",
            "code": "unreadable",
            "message": "cannot read nowhere.yaml: No such file or directory (os error 2)",
            "hint": null,
            "file": "nowhere.yaml",
            "line": 1,
            "column": 1
          }
        ]
      },
      {
        "file": "latin1.yaml",
        "valid": false,
        "problems": [
          {
            "severity": "error",
            "code": "unreadable",
            "message": "latin1.yaml is not UTF-8 text (byte 9)",
            "hint": null,
            "file": "latin1.yaml",
            "line": 1,
            "column": 1
          }
        ]
      },
      {
        "file": ".",
        "valid": false,
        "problems": [
          {
            "severity": "error",
            "code": "unreadable",
            "message": "cannot read .: Is a directory (os error 21)",
            "hint": null,
            "file": ".",
            "line": 1,
            "column": 1
          }
        ]
      }
    ]
    "#);
}

#[test]
fn warnings_are_errors_when_asked_to_be_strict() {
    let home = home();
    home.file("other-name.yaml", REVIEW);
    assert_snapshot!(home.told(&["workflow", "validate", "other-name.yaml", "--format", "text"]), @r"
    exit 0
    other-name.yaml:1:7: warning[name-not-file]: the workflow is named `review-text` but its file `other-name`
      |
    1 | name: review-text
      |       ^
      = hint: give both the same name

    other-name.yaml: valid, 1 warning
    ");
    assert_snapshot!(home.told(&["workflow", "validate", "other-name.yaml", "--strict", "--format", "text"]), @r"
    exit 65
    other-name.yaml:1:7: warning[name-not-file]: the workflow is named `review-text` but its file `other-name`
      |
    1 | name: review-text
      |       ^
      = hint: give both the same name

    other-name.yaml: not valid, 1 warning
    ");
    assert_eq!(home.uwf(&["workflow", "put", "other-name.yaml", "--strict"]).code, Some(65));
    assert_eq!(home.uwf(&["workflow", "put", "other-name.yaml"]).code, Some(0));
}

#[test]
fn what_validate_takes_put_takes_and_what_it_refuses_put_refuses() {
    let home = home();
    let schema = text(&home.json(&["cas", "schema", "put", r#"{"type":"object"}"#]), "hash");
    let by_hash = |hash: &str| {
        REVIEW.replace(
            "meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] }",
            &format!("meta: {hash}"),
        )
    };
    for (name, content, code) in [
        ("inline", REVIEW.to_owned(), 0),
        ("stored-schema", by_hash(&schema), 0),
        ("unknown-schema", by_hash("0000000000001"), 65),
        ("broken", broken(), 65),
        ("empty", String::new(), 65),
        ("list", "[1, 2]".to_owned(), 65),
    ] {
        let file = home.file(&format!("{name}.yaml"), &content);
        let codes = ["validate", "put"]
            .map(|command| home.uwf(&["workflow".as_ref(), command.as_ref(), file.as_os_str()]).code);
        assert_eq!(codes, [Some(code); 2], "{name}");
    }
}

#[test]
fn a_workflow_is_shown_by_name_hash_beginning_and_file() {
    let home = home();
    let hash = home.put("review-text", REVIEW);
    assert_snapshot!(home.told(&["workflow", "show", "review-text", "--format", "text"]), @"
    exit 0
    review-text  DFESR7ANW2DZG
    A writer and a reviewer.
    stored <time>

    roles
    role      output         description
    writer    title, words?  writes one sentence
    reviewer  approved       approves it or not

    conditions
    condition  expression                         description
    rejected   steps[-1].output.approved = false  not good yet

    graph
    from      to        if
    $START    writer    always
    writer    reviewer  always
    reviewer  writer    rejected
              $END      otherwise
    ");
    assert_snapshot!(home.told(&["workflow", "show", "review-text"]), @r#"
    exit 0
    {"hash":"DFESR7ANW2DZG","name":"review-text","type":"996P5D51CY7P6","payload":{"name":"review-text","graph":{"$START":[{"role":"writer","condition":null}],"writer":[{"role":"reviewer","condition":null}],"reviewer":[{"role":"writer","condition":"rejected"},{"role":"$END","condition":null}]},"roles":{"writer":{"goal":"Write one sentence.","meta":"B9W8GWVM49DDF","output":"","procedure":"","description":"writes one sentence","capabilities":[]},"reviewer":{"goal":"Approve or not.","meta":"7E1J4X7ENGFED","output":"","procedure":"","description":"approves it or not","capabilities":[]}},"conditions":{"rejected":{"expression":"steps[-1].output.approved = false","description":"not good yet"}},"description":"A writer and a reviewer."},"timestamp":<ms>}
    "#);
    let by_name = home.uwf(&["workflow", "show", "review-text"]);
    for typed in [&hash[..], &hash[..4], "review-text.yaml", "./review-text.yaml"] {
        assert_eq!(home.uwf(&["workflow", "show", typed]), by_name, "{typed}");
    }
    assert_snapshot!(home.told(&["workflow", "show", "reveiw-text"]), @r"
    exit 69
    --- stderr
    error: there is no workflow `reveiw-text`
    hint: did you mean `review-text`?
    ");
    assert_snapshot!(home.told(&["workflow", "show", "nowhere.yaml"]), @r"
    exit 69
    --- stderr
    error: there is no workflow `nowhere.yaml`
    hint: the file <dir>/work/nowhere.yaml does not exist
    ");
    let node = text(&home.json(&["cas", "put-text", "no workflow"]), "hash");
    assert_snapshot!(home.told(&["workflow", "show", &node]), @r"
    exit 65
    --- stderr
    error: node 1PWB89CCHEHFS is a content, a Workflow was expected
    ");
}

#[test]
fn the_graph_is_mermaid_unless_told_otherwise() {
    let home = home();
    home.put("review-text", REVIEW);
    assert_snapshot!(home.told(&["workflow", "graph", "review-text"]), @r#"
    exit 0
    flowchart TD
        start([START])
        r0["writer"]
        r1["reviewer"]
        finish([END])
        start --> r0
        r0 --> r1
        r1 -->|"rejected"| r0
        r1 -->|otherwise| finish
    "#);
    assert_snapshot!(home.told(&["workflow", "graph", "review-text", "--format", "json"]), @r#"
    exit 0
    {"hash":"DFESR7ANW2DZG","name":"review-text","graph":{"$START":[{"role":"writer","condition":null}],"reviewer":[{"role":"writer","condition":"rejected"},{"role":"$END","condition":null}],"writer":[{"role":"reviewer","condition":null}]},"mermaid":"flowchart TD\n    start([START])\n    r0[\"writer\"]\n    r1[\"reviewer\"]\n    finish([END])\n    start --> r0\n    r0 --> r1\n    r1 -->|\"rejected\"| r0\n    r1 -->|otherwise| finish\n"}
    "#);
}

#[test]
fn files_of_the_project_are_listed_and_go_before_the_registry() {
    let home = home();
    assert_snapshot!(home.told(&["workflow", "list"]), @r"
    exit 0
    []
    ");
    assert_snapshot!(home.told(&["workflow", "list", "--format", "text"]), @r"
    exit 0
    no workflows yet; `uwf workflow put FILE` stores one
    ");
    home.put("review-text", REVIEW);
    let project = home.work().join(".workflows");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("review-text.yaml"), REVIEW.replace("A writer", "Our writer")).unwrap();
    fs::write(project.join("broken.yaml"), "name: [").unwrap();
    fs::create_dir_all(home.work().join("sub/dir")).unwrap();
    assert_snapshot!(home.told(&["workflow", "list"]), @r#"
    exit 0
    [{"name":"broken","hash":null,"origin":"<dir>/work/.workflows/broken.yaml","problem":"not valid: not valid YAML: while parsing a node, did not find expected node content (line 2); `uwf workflow validate` tells all"},{"name":"review-text","hash":"40R8F77Y33RXP","origin":"<dir>/work/.workflows/review-text.yaml"},{"name":"review-text","hash":"DFESR7ANW2DZG","origin":"registry"}]
    "#);
    assert_snapshot!(home.told(&["workflow", "list", "--format", "text"]), @r"
    exit 0
    name         hash           origin
    broken       -              <dir>/work/.workflows/broken.yaml  ! not valid: not valid YAML: while parsing a node, did not find expected node content (line 2); `uwf workflow validate` tells all
    review-text  40R8F77Y33RXP  <dir>/work/.workflows/review-text.yaml
    review-text  DFESR7ANW2DZG  registry
    ");

    let mut below = home.command(&["workflow", "show", "review-text"]);
    let output = below.current_dir(home.work().join("sub/dir")).output().unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["payload"]["description"], "Our writer and a reviewer.");
    assert_snapshot!(home.steady(&String::from_utf8_lossy(&output.stderr)), @"warning: <dir>/work/.workflows/review-text.yaml shadows the registry's `review-text`");

    // The search does not leave the repository: `.git` may be a file too.
    fs::write(home.work().join("sub/.git"), "gitdir: elsewhere\n").unwrap();
    let mut below = home.command(&["workflow", "show", "review-text"]);
    let output = below.current_dir(home.work().join("sub/dir")).output().unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["payload"]["description"], "A writer and a reviewer.");
}

#[test]
fn a_name_can_be_given_back_to_an_earlier_version_and_forward_again() {
    let home = home();
    let [first, second, third] = three_versions(&home);
    let versions = |home: &TestHome| -> Vec<String> {
        home.json(&["workflow", "history", "review-text"])
            .as_array()
            .unwrap()
            .iter()
            .map(|version| text(version, "hash"))
            .collect()
    };
    assert_eq!(versions(&home), [&*third, &second, &first]);
    assert_snapshot!(home.told(&["workflow", "history", "review-text"]), @r#"
    exit 0
    [{"hash":"FX7HXKTYXJ856","timestamp":<ms>,"current":true},{"hash":"2AKCN2P3T3J6X","timestamp":<ms>,"current":false},{"hash":"8FGEQNWWER5EN","timestamp":<ms>,"current":false}]
    "#);
    assert_snapshot!(home.told(&["workflow", "history", "review-text", "--format", "text"]), @r"
    exit 0
    hash           since
    FX7HXKTYXJ856  <time>  current
    2AKCN2P3T3J6X  <time>
    8FGEQNWWER5EN  <time>
    ");

    assert_snapshot!(home.told(&["workflow", "rollback", "review-text"]), @r#"
    exit 0
    {"name":"review-text","hash":"2AKCN2P3T3J6X","previous":"FX7HXKTYXJ856"}
    "#);
    assert_eq!(versions(&home), [&*second, &third, &first]);
    assert_eq!(home.json(&["workflow", "show", "review-text"])["hash"], json!(second));
    assert_snapshot!(home.told(&["workflow", "rollback", "review-text", "--format", "text"]), @r"
    exit 0
    review-text is FX7HXKTYXJ856 now, 2AKCN2P3T3J6X before
    ");
    assert_eq!(versions(&home), [&*third, &second, &first]);
    home.json(&["workflow", "rollback", "review-text", &first[..4]]);
    assert_eq!(versions(&home), [&*first, &third, &second]);
    assert_snapshot!(home.told(&["workflow", "rollback", "review-text", &first, "--format", "text"]), @r"
    exit 0
    review-text is 8FGEQNWWER5EN already
    ");

    assert_snapshot!(home.told(&["workflow", "rollback", "review-text", "0000000000000"]), @r"
    exit 69
    --- stderr
    error: workflow `review-text` has no version 0000000000000 in its history
    hint: `uwf workflow history review-text` lists them
    ");
    assert_snapshot!(home.told(&["workflow", "rollback", "review-text", "0000"]), @r"
    exit 69
    --- stderr
    error: no version of workflow `review-text` begins with 0000
    hint: `uwf workflow history review-text` lists them
    ");
    assert_snapshot!(home.told(&["workflow", "rollback", "review-txet"]), @r"
    exit 69
    --- stderr
    error: <dir>/root/registry.yaml has no workflow `review-txet`
    hint: did you mean `review-text`?
    ");
}

#[test]
fn a_thread_keeps_the_version_it_began_with() {
    let home = home();
    let [_, second, third] = three_versions(&home);
    let thread = home.start("review-text", "write");
    home.json(&["workflow", "rollback", "review-text"]);
    let later = home.start("review-text", "write");
    let workflow = |thread: &str| text(&home.json(&["thread", "show", thread]), "workflow");
    assert_eq!([workflow(&thread), workflow(&later)], [third, second]);
}

#[test]
fn a_name_is_removed_and_its_workflow_stays() {
    let home = home();
    let hash = home.put("review-text", REVIEW);
    assert_snapshot!(home.told(&["workflow", "rm", "review-txt"]), @r"
    exit 69
    --- stderr
    error: <dir>/root/registry.yaml has no workflow `review-txt`
    hint: did you mean `review-text`?
    ");
    assert_snapshot!(home.told(&["workflow", "rm", "review-text"]), @r#"
    exit 0
    {"name":"review-text","hash":"DFESR7ANW2DZG"}
    "#);
    assert_snapshot!(home.told(&["workflow", "rm", "review-text"]), @r"
    exit 69
    --- stderr
    error: <dir>/root/registry.yaml has no workflow `review-text`
    hint: `uwf workflow list` shows the names there are
    ");
    assert_eq!(home.json(&["workflow", "list"]), json!([]));
    assert_eq!(home.json(&["workflow", "show", &hash])["hash"], json!(hash));
    assert_eq!(fs::read_to_string(home.root().join("registry.yaml")).unwrap(), "{}\n");
}

#[test]
fn names_of_the_project_have_their_history_elsewhere() {
    let home = home();
    let project = home.work().join(".workflows");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("review-text.yaml"), REVIEW).unwrap();
    for command in ["rm", "history", "rollback"] {
        let ran = home.uwf(&["workflow", command, "review-text"]);
        assert_eq!(ran.code, Some(69), "{command}");
        assert!(ran.stderr.contains("`review-text` is the project's file"), "{command}: {}", ran.stderr);
    }
}

#[test]
fn an_unreadable_registry_is_an_error_and_stays_as_it_is() {
    let home = home();
    home.put("review-text", REVIEW);
    let registry = home.root().join("registry.yaml");
    for damaged in ["", "review-text: [", "- a\n- b\n", "review-text: { hash: nonsense }\n"] {
        fs::write(&registry, damaged).unwrap();
        for args in
            [&["workflow", "list"][..], &["workflow", "rm", "review-text"], &["workflow", "put", "review-text.yaml"]]
        {
            assert_eq!(home.uwf(args).code, Some(65), "{damaged:?}: {args:?}");
        }
        assert_eq!(fs::read_to_string(&registry).unwrap(), damaged);
    }
    assert_snapshot!(home.told(&["workflow", "list"]), @r"
    exit 65
    --- stderr
    error: <dir>/root/registry.yaml is not readable: error: line 1 column 14: an entry is neither a hash nor `{hash, timestamp, history}`
    hint: repair it or restore it from a backup; the workflows themselves are safe in the store
    ");
}

#[test]
fn the_plain_form_of_the_registry_and_that_of_an_older_store_are_read() {
    let home = home();
    let hash = home.put("review-text", REVIEW);
    fs::remove_file(home.root().join("registry.yaml")).unwrap();
    fs::write(home.root().join("workflows.yaml"), format!("# by hand\nreview-text: \"{hash}\"\n")).unwrap();
    assert_eq!(
        home.json(&["workflow", "list"]),
        json!([{ "name": "review-text", "hash": hash, "origin": "registry" }])
    );
    assert_eq!(
        home.json(&["workflow", "history", "review-text"]),
        json!([{ "hash": hash, "timestamp": 0, "current": true }])
    );
    // Digits only, and nobody quoted them; so too with one E.
    for written in ["6519566623692", "21604619E9284", "\n  hash: 21604619E9284\n  timestamp: 5\n"] {
        fs::write(home.root().join("workflows.yaml"), format!("review-text: {written}\n")).unwrap();
        let listed = home.json(&["workflow", "list"]);
        assert!(written.contains(listed[0]["hash"].as_str().unwrap()), "{written}: {listed}");
    }
    fs::write(home.root().join("workflows.yaml"), format!("review-text: {hash}\n")).unwrap();
    let second = home.put("review-text", &REVIEW.replace("A writer", "Another writer"));
    let versions = home.json(&["workflow", "history", "review-text"]);
    assert_eq!([&versions[0]["hash"], &versions[1]["hash"]], [&json!(second), &json!(hash)]);
}
