//! What somebody has deleted or spoiled in a store by hand: it costs nothing but itself.

use serde_json::json;
use tempfile::TempDir;
use uwf_testing::bucket::BucketServer;
use uwf_testing::text;

use crate::machine::{Machine, two_machines};
use crate::postgres::Postgres;

fn begin(machine: &Machine, task: &str) -> String {
    text(&machine.json(&["thread", "start", "count-rounds", "-p", task]), "thread")
}

/// What is to be spoiled is written over with a text that is no JSON.
fn notes_that_say_nothing(variables: &[(String, String)], spoil: impl Fn(&str)) {
    let dir = TempDir::new().unwrap();
    let [one, two] = two_machines(variables, dir.path());
    let (stepped, begun, paused) = (one.begin(), begin(&one, "Count goats"), begin(&one, "Count hens"));
    one.step(&stepped);
    one.json(&["thread", "pause", &paused, "--reason", "until Monday"]);
    spoil("names");
    spoil(&format!("attempt.{stepped}"));
    spoil(&format!("workspace.{begun}"));
    spoil(&format!("paused.{paused}"));
    for machine in [&one, &two] {
        for list in [&["thread", "list"][..], &["thread", "list", "--all"]] {
            assert_eq!(machine.json(list).as_array().unwrap().len(), 3);
        }
        assert_eq!(machine.json(&["thread", "show", &paused])["state"], "paused");
        machine.json(&["gc"]);
        assert_eq!(machine.json(&["recover", "--dry-run"])["changed"], json!(false));
    }
    two.step(&stepped);
    two.step(&begun);
    two.json(&["thread", "resume", &paused]);
    two.step(&paused);
    assert_eq!(one.json(&["thread", "show", &stepped])["state"], "active");
}

#[test]
fn notes_that_are_not_readable_stop_nothing_in_a_bucket() {
    let server = BucketServer::start();
    notes_that_say_nothing(&server.variables("uwf"), |note| {
        server.rewrite("uwf", &format!("notes/{note}.json"), |_| "rubbish".to_owned());
    });
}

#[test]
fn notes_that_are_not_readable_stop_nothing_in_a_database() {
    let postgres = Postgres::start();
    notes_that_say_nothing(&postgres.variables("uwf"), |note| {
        let spoiled = "update uwf.notes set value = 'rubbish', version = nextval('uwf.versions')";
        postgres.sql(&format!("{spoiled} where name = '{note}'"));
    });
}

#[test]
fn a_head_that_is_taken_for_a_removal_by_its_size_is_set_again() {
    let (server, dir) = (BucketServer::start(), TempDir::new().unwrap());
    let [one, two] = two_machines(&server.variables("uwf"), dir.path());
    let (spoiled, ended) = (one.begin(), begin(&one, "Count goats"));
    one.step(&spoiled);
    one.json(&["thread", "kill", &ended]);
    let before = one.json(&["thread", "list", "--all"]);
    server.rewrite("uwf", &format!("heads/{spoiled}@1"), |_| "rubbish".repeat(1_000));
    let done = two.json(&["recover"]);
    assert_eq!(done["changed"], json!(true), "{done}");
    assert_eq!(one.json(&["thread", "list", "--all"]), before);
    two.step(&spoiled);
}
