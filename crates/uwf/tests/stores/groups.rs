//! Roles that play others at the same time, when their thread moves to another machine.

use serde_json::json;
use uwf_testing::bucket::BucketServer;
use uwf_testing::processes::until;

use crate::machine::{cut_power, paid, two_machines};

const WORKFLOW: &str = "name: count-all
description: counts every item
roles:
  counter: { goal: Count., meta: { type: object, properties: { n: { type: integer } }, required: [n] } }
  counts: { play: counter, each: '[1..3]', max: 1 }
graph:
  $START: [ { role: counts } ]
  counts: [ { role: $END } ]
";

#[test]
fn group_continues_on_another_machine() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let ledger = dir.path().join("ledger");
    let [one, two] = two_machines(&server.variables("team"), dir.path());
    for machine in [&one, &two] {
        machine
            .home
            .config("agents:\n  paid: { command: paid, output: json }\ndefaultAgent: paid\nstore: { lease: 10s }\n");
        machine.home.file("all.yaml", WORKFLOW);
    }
    one.json(&["store", "init"]);
    one.json(&["workflow", "put", "all.yaml"]);
    let thread = uwf_testing::text(&one.json(&["thread", "start", "count-all", "-p", "Count"]), "thread");
    // The first branch is paid for and done, the power fails in the second.
    one.home.script(
        "paid",
        "#!/bin/sh\ncat > /dev/null\necho paid >> \"$LEDGER\"\n[ $(wc -l < \"$LEDGER\") = 1 ] || sleep 60\necho '{\"n\": 1}'\n",
    );
    let step = one.begin_step(&thread, 0, &ledger);
    until("the second branch is paid for", || paid(&ledger) == 2);
    cut_power(&one, step);
    let stepped = two.step_when_free(&thread);
    assert_eq!(stepped["done"], json!(true), "{stepped}");
    assert_eq!(paid(&ledger), 4, "only the branch that was at work is played again");
    let output = two.json(&["thread", "eval", &thread, "$count($last('counts'))"]);
    assert_eq!(output, json!(3));
    assert_eq!(one.json(&["thread", "show", &thread])["state"], json!("completed"));
}
