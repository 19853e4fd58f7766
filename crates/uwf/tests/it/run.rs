//! From a file to a finished thread.

use serde_json::json;

use crate::review::reviewing_home;

#[test]
fn a_workflow_loops_until_its_condition_lets_it_go() {
    let home = reviewing_home();
    let thread = home.start("review-text", "write about cats");

    let roles: Vec<String> = (0..4)
        .map(|_| {
            let report = home.json(&["thread", "step", &thread]);
            format!("{} done={}", report["role"].as_str().unwrap(), report["done"])
        })
        .collect();
    assert_eq!(roles, ["writer done=false", "reviewer done=false", "writer done=false", "reviewer done=true"]);

    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(
        json!([shown["done"], shown["state"], shown["steps"], shown["role"]]),
        json!([true, "completed", 4, "reviewer"])
    );
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(69), "a finished thread is not active");
}
