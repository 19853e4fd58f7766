//! `uwf workflow graph`: the graph as a diagram.

use insta::assert_snapshot;

use crate::fixtures::workflow_files::REVIEW;
use crate::home;

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
