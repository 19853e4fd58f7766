//! `uwf workflow put`: a file becomes a stored workflow.

use serde_json::Value;
use uwf_testing::{TestHome, counting_workflow, repository, text};

use crate::fixtures::workflow_files::{REVIEW, broken};
use crate::home;
use crate::workflow_validate::with_stdin;

#[test]
fn put_and_validate_report_same_problems_and_locations() {
    let home = home();
    let schema = text(&home.json(&["cas", "schema", "put", r#"{"type":"object"}"#]), "hash");
    let by_hash = |hash: &str| {
        REVIEW.replace(
            "meta: { type: object, properties: { approved: { type: boolean } }, required: [approved] }",
            &format!("meta: {hash}"),
        )
    };
    for (name, content, code, problems) in [
        ("inline", REVIEW.to_owned(), 0, 0),
        ("stored-schema", by_hash(&schema), 0, 0),
        ("warned", REVIEW.replace("goal: Write", "gaol: x\n    goal: Write"), 0, 1),
        ("unknown-schema", by_hash("0000000000001"), 65, 1),
        ("broken", broken(), 65, 7),
        ("empty", String::new(), 65, 1),
        ("list", "[1, 2]".to_owned(), 65, 1),
        ("syntax", format!("{REVIEW}\t- x"), 65, 1),
    ] {
        let file = home.file("review-text.yaml", &content);
        let run = |command: &str, format: &str| {
            home.uwf(&["workflow".as_ref(), command.as_ref(), file.as_os_str(), "--format".as_ref(), format.as_ref()])
        };
        let [validate, put] = ["validate", "put"].map(|command| run(command, "text"));
        assert_eq!([validate.code, put.code], [Some(code); 2], "{name}");
        let (snippets, verdict) = validate.stdout.trim_end().rsplit_once('\n').unwrap_or(("", &validate.stdout));
        assert_eq!(snippets.matches("]: ").count(), problems, "{name}");
        let refusal = if code == 0 { String::new() } else { format!("error: {verdict}\n") };
        let lead = if snippets.is_empty() { String::new() } else { format!("{snippets}\n") };
        assert_eq!(put.stderr, format!("{lead}{refusal}"), "{name}");
        let [validate, put] = ["validate", "put"].map(|command| run(command, "json"));
        let files: serde_json::Value = serde_json::from_str(&validate.stdout).unwrap();
        assert_eq!(files[0]["problems"].as_array().map(Vec::len), Some(problems), "{name}");
        if code != 0 {
            let refused: serde_json::Value = serde_json::from_str(&put.stdout).unwrap();
            assert_eq!(refused["problems"], files[0]["problems"], "{name}");
        }
    }
}

#[test]
fn a_workflow_is_added_under_another_name() {
    let home = home();
    home.file("count-rounds.yaml", &uwf_testing::counting_workflow(1));
    let added = home.json(&["workflow", "add", "counter", "count-rounds.yaml"]);
    assert_eq!(added["name"], "counter");
    assert_eq!(home.json(&["workflow", "put", "count-rounds.yaml", "--name", "second"])["hash"], added["hash"]);
    assert_eq!(home.json(&["workflow", "add", "count-rounds.yaml"])["name"], "count-rounds");
    let names: Vec<_> =
        home.json(&["workflow", "list"]).as_array().unwrap().iter().map(|row| row["name"].clone()).collect();
    assert_eq!(names, ["count-rounds", "counter", "second"]);
    assert_eq!(home.json(&["workflow", "show", "counter"])["hash"], added["hash"]);
    home.start("counter", "x");
    for bad in ["", "a/b", ".hidden"] {
        let ran = home.uwf(&["workflow", "add", bad, "count-rounds.yaml"]);
        assert_eq!(ran.code, Some(64), "{bad}: {}", ran.stderr);
    }
}

/// Puts a workflow from stdin.
fn put(home: &TestHome, more: &[&str], source: &str) -> (Option<i32>, Value) {
    let ran = with_stdin(home, &[&["workflow", "put", "-"], more].concat(), source);
    (ran.code, serde_json::from_str(&ran.stdout).unwrap_or(Value::Null))
}

#[test]
fn source_is_stored_as_the_same_version() {
    let home = home();
    let examples = std::fs::read_dir(repository().join("examples")).unwrap().map(|entry| entry.unwrap().path());
    let examples = examples.filter(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    let mut compared = 0;
    for example in examples.filter(|path| !path.to_string_lossy().ends_with(".config.yaml")) {
        let file = example.to_str().unwrap();
        let version = text(&home.json(&["workflow", "put", file]), "hash");
        let source = home.uwf(&["workflow", "show", &version, "--source"]).stdout;
        let (code, again) = put(&home, &["--strict"], &source);
        assert_eq!((code, text(&again, "hash")), (Some(0), version.clone()), "{file}\n{source}");
        compared += 1;
    }
    assert!(compared > 7, "{compared} examples");
    home.put("review-text", REVIEW);
    insta::assert_snapshot!(home.uwf(&["workflow", "show", "review-text", "--source"]).stdout, @r#"
    name: review-text
    description: A writer and a reviewer.
    roles:
      writer:
        description: writes one sentence
        goal: Write one sentence.
        meta:
          type: object
          required:
          - title
          properties:
            title:
              type: string
            words:
              type: integer
      reviewer:
        description: approves it or not
        goal: Approve or not.
        meta:
          type: object
          required:
          - approved
          properties:
            approved:
              type: boolean
    conditions:
      rejected:
        expression: steps[-1].output.approved = false
        description: not good yet
    graph:
      "$START":
      - role: writer
      writer:
      - role: reviewer
      reviewer:
      - role: writer
        condition: rejected
      - role: "$END"
    "#);
    let file = home.file("noted.yaml", &format!("# why\n{REVIEW}"));
    let source = home.uwf(&["workflow", "show", file.to_str().unwrap(), "--source"]).stdout;
    assert!(source.starts_with("# why\n"), "a file keeps its comments: {source}");
}

#[test]
fn refused_change_trusts_no_commands() {
    let home = home();
    let run = |command: &str| {
        format!(
            "name: run-it\nroles:\n  it: {{ run: {command} }}\ngraph:\n  $START: [ {{ role: it }} ]\n  it: [ {{ role: $END }} ]\n"
        )
    };
    let (code, first) = put(&home, &["--expect", "none"], &run("echo first"));
    assert_eq!(code, Some(0), "{first}");
    assert_eq!(put(&home, &["--expect", "none"], &run("echo second > ran")).0, Some(75));
    // The same version, put by someone who does not trust it.
    let (code, second) = put(&home, &["--no-trust", "--name", "second"], &run("echo second > ran"));
    assert_eq!(code, Some(0), "{second}");
    let ran = home.uwf(&["run", "second", "-p", "x"]);
    assert!(ran.code != Some(0) && ran.stderr.contains("uwf workflow trust"), "{}", ran.stderr);
    assert!(!home.work().join("ran").exists());
}

#[test]
fn expected_version_protects_changes_of_others() {
    let home = home();
    let versions = [1, 2, 3].map(counting_workflow);
    let (code, first) = put(&home, &["--expect", "none"], &versions[0]);
    assert_eq!(code, Some(0), "{first}");
    let first = text(&first, "hash");
    assert_eq!(put(&home, &["--expect", "none"], &versions[1]).0, Some(75), "the name is taken");
    let (code, second) = put(&home, &["--expect", &first], &versions[1]);
    assert_eq!(code, Some(0), "{second}");
    let (code, refused) = put(&home, &["--expect", &first], &versions[2]);
    assert_eq!(code, Some(75), "{refused}");
    assert!(refused.to_string().contains(&text(&second, "hash")), "it says which version the name has: {refused}");
    assert_eq!(home.json(&["workflow", "show", "count-rounds"])["hash"], second["hash"], "nothing was replaced");
    assert_eq!(put(&home, &["--expect", &first], &versions[1]).0, Some(0), "stored before, as when an answer was lost");
    assert_eq!(put(&home, &["--expect", "frist"], &versions[1]).0, Some(64));
}

#[test]
fn commands_stay_untrusted_if_asked() {
    let home = home();
    let source =
        "name: run-it\nroles:\n  it: { run: echo ran }\ngraph:\n  $START: [ { role: it } ]\n  it: [ { role: $END } ]\n";
    assert_eq!(put(&home, &["--no-trust"], source).0, Some(0));
    let refused = home.uwf(&["run", "run-it", "-p", "x"]);
    assert_eq!(refused.code, Some(78), "{}", refused.transcript());
    assert_eq!(home.uwf(&["workflow", "trust", "run-it"]).code, Some(0));
    assert_eq!(home.uwf(&["run", "run-it", "-p", "x"]).code, Some(0));
}
