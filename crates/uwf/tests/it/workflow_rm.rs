//! `uwf workflow rm`: a name is removed, its workflow stays.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use crate::fixtures::workflow_files::REVIEW;
use crate::home;

#[test]
fn a_name_is_removed_and_its_workflow_stays() {
    let home = home();
    let hash = home.put("review-text", REVIEW);
    assert_snapshot!(home.transcript(&["workflow", "rm", "review-txt"]), @r"
    exit 69
    --- stderr
    error: <dir>/root/registry.yaml has no workflow `review-txt`
    hint: did you mean `review-text`?
    ");
    assert_snapshot!(home.transcript(&["workflow", "rm", "review-text"]), @r#"
    exit 0
    {"name":"review-text","hash":"DFESR7ANW2DZG"}
    "#);
    assert_snapshot!(home.transcript(&["workflow", "rm", "review-text"]), @r"
    exit 69
    --- stderr
    error: <dir>/root/registry.yaml has no workflow `review-text`
    hint: `uwf workflow list` shows all names
    ");
    assert_eq!(home.json(&["workflow", "list"]), json!([]));
    assert_eq!(home.json(&["workflow", "show", &hash])["hash"], json!(hash));
    assert_eq!(fs::read_to_string(home.root().join("registry.yaml")).unwrap(), "{}\n");
}
