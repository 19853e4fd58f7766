//! `uwf workflow show`: a stored workflow or a file, for people and programs.

use insta::assert_snapshot;
use uwf_testing::text;

use crate::fixtures::workflow_files::REVIEW;
use crate::home;

#[test]
fn name_hash_prefix_or_file_selects_workflow() {
    let home = home();
    let hash = home.put("review-text", REVIEW);
    assert_snapshot!(home.transcript(&["workflow", "show", "review-text", "--format", "text"]), @"
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
    assert_snapshot!(home.transcript(&["workflow", "show", "review-text"]), @r#"
    exit 0
    {"hash":"DFESR7ANW2DZG","name":"review-text","type":"996P5D51CY7P6","payload":{"name":"review-text","graph":{"$START":[{"role":"writer","condition":null}],"writer":[{"role":"reviewer","condition":null}],"reviewer":[{"role":"writer","condition":"rejected"},{"role":"$END","condition":null}]},"roles":{"writer":{"goal":"Write one sentence.","meta":"B9W8GWVM49DDF","output":"","procedure":"","description":"writes one sentence","capabilities":[]},"reviewer":{"goal":"Approve or not.","meta":"7E1J4X7ENGFED","output":"","procedure":"","description":"approves it or not","capabilities":[]}},"conditions":{"rejected":{"expression":"steps[-1].output.approved = false","description":"not good yet"}},"description":"A writer and a reviewer."},"timestamp":<ms>,"history":[{"hash":"DFESR7ANW2DZG","timestamp":<ms>,"current":true}]}
    "#);
    let by_name = home.uwf(&["workflow", "show", "review-text"]);
    for typed in [&hash[..], &hash[..4], "review-text.yaml", "./review-text.yaml"] {
        assert_eq!(home.uwf(&["workflow", "show", typed]), by_name, "{typed}");
    }
    assert_snapshot!(home.transcript(&["workflow", "show", "reveiw-text"]), @r"
    exit 69
    --- stderr
    error: workflow `reveiw-text` does not exist
    hint: did you mean `review-text`?
    ");
    assert_snapshot!(home.transcript(&["workflow", "show", "nowhere.yaml"]), @r"
    exit 69
    --- stderr
    error: workflow `nowhere.yaml` does not exist
    hint: the file <dir>/work/nowhere.yaml does not exist
    ");
    let node = text(&home.json(&["cas", "put-text", "no workflow"]), "hash");
    assert_snapshot!(home.transcript(&["workflow", "show", &node]), @r"
    exit 65
    --- stderr
    error: node 1PWB89CCHEHFS is a content, a Workflow was expected
    ");
}
