//! `uwf thread rm`: an ended thread leaves the history, its nodes stay.

use insta::assert_snapshot;
use serde_json::json;

use crate::fixtures::review::{hashes, reviewing_home, step};
use crate::told;

#[test]
fn a_removed_thread_leaves_the_history_but_no_node_is_lost() {
    let home = reviewing_home();
    let thread = home.start("review-text", "x");
    step(&home, &thread, 1);
    assert_snapshot!(told(&home, &["thread", "rm", &thread]), @r"
    exit 64
    --- stderr
    error: thread <id> is active
    hint: `uwf thread kill <id>` ends it first
    ");
    home.json(&["thread", "kill", &thread]);
    let nodes = hashes(&home, &thread);
    let stored = std::fs::read_dir(home.root().join("cas")).unwrap().count();
    assert_snapshot!(told(&home, &["thread", "rm", &thread]), @r#"
    exit 0
    {"thread":"<id>","archived":false}
    "#);
    assert_eq!(std::fs::read_dir(home.root().join("cas")).unwrap().count(), stored);
    assert_eq!(home.json(&["thread", "list", "--all"]), json!([]));
    assert!(home.records(&thread).is_empty());
    assert_snapshot!(told(&home, &["thread", "rm", &thread]), @r"
    exit 69
    --- stderr
    error: there is no thread <id>
    hint: `uwf thread list --all` lists every thread
    ");
    assert_eq!(home.uwf(&["thread", "fork", &nodes[1]]).code, Some(0));
}
