//! `uwf config unset`: a key is removed.

use serde_json::json;

use crate::fixtures::configuration::{configured, file};

#[test]
fn a_key_is_removed() {
    let home = configured();
    let report = home.json(&["config", "unset", "agents.coder.args"]);
    assert_eq!(json!([report["key"], report["changed"]]), json!(["agents.coder.args", true]));
    assert!(!file(&home).contains("args"), "{}", file(&home));
    assert_eq!(home.json(&["config", "unset", "agents.coder.args"])["changed"], json!(false));
    assert_eq!(home.uwf(&["config", "unset"]).code, Some(64));
    let refused = home.uwf(&["config", "unset", "agents.coder"]);
    assert_eq!(refused.code, Some(78), "somebody names it still: {}", refused.stderr);
}
