//! `uwf workflow put`: a file becomes a stored workflow.

use uwf_testing::text;

use crate::fixtures::workflow_files::{REVIEW, broken};
use crate::home;

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
