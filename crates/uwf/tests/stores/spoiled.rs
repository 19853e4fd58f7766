//! What somebody has deleted or spoiled in a store by hand: it costs nothing but itself.

use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use uwf_testing::azurite::AzuriteServer;
use uwf_testing::bucket::BucketServer;
use uwf_testing::s3_server::{S3Server, S3ServerKind};
use uwf_testing::text;

use crate::machine::{Machine, two_machines};
use crate::postgres::Postgres;

const MONTHS: Duration = Duration::from_hours(40 * 24);

fn begin(machine: &Machine, task: &str) -> String {
    text(&machine.json(&["thread", "start", "count-rounds", "-p", task]), "thread")
}

#[test]
fn gc_removes_nothing_while_workflow_names_are_lost() {
    let (server, dir) = (BucketServer::start(), TempDir::new().unwrap());
    let [one, two] = two_machines(&server.variables("uwf"), dir.path());
    one.json(&["store", "init"]);
    assert_eq!(two.json(&["gc"])["deletedEntries"], 0, "there were never any names");
    one.json(&["workflow", "put", "count.yaml"]);
    server.put_clock_forward(MONTHS);
    // Parts of prompts that no step has needed yet.
    two.json(&["gc"]);
    let (names, nodes) = (one.json(&["workflow", "list"]), server.kept("uwf", "nodes"));
    server.remove("uwf", "heads/registry@1");
    for args in [&["gc"][..], &["gc", "--dry-run"]] {
        let refused = two.uwf(args);
        assert_eq!(refused.code, Some(65), "{} {}", refused.stdout, refused.stderr);
        let says = ["the head `registry` of the store s3://team/uwf is gone", "nothing was removed", "`uwf recover`"];
        assert!(says.iter().all(|part| refused.stderr.contains(part)), "{}", refused.stderr);
    }
    assert_eq!(server.kept("uwf", "nodes"), nodes);
    let doctor = two.uwf(&["doctor"]).stdout;
    assert!(doctor.contains("the head `registry` of the store s3://team/uwf is gone"), "{doctor}");
    assert_eq!(two.json(&["recover"])["names"]["finding"], "restored");
    assert_eq!(two.json(&["gc"])["deletedEntries"], 0);
    assert_eq!(one.json(&["workflow", "list"]), names);
    one.start();
}

#[test]
fn gc_keeps_nodes_of_thread_with_lost_head() {
    let (server, dir) = (BucketServer::start(), TempDir::new().unwrap());
    let [one, two] = two_machines(&server.variables("uwf"), dir.path());
    let kept = one.begin();
    let lost = begin(&one, "Count goats");
    let head = one.head(&lost);
    server.put_clock_forward(MONTHS);
    // Parts of prompts that no step has needed yet.
    two.json(&["gc"]);
    server.remove("uwf", &format!("heads/{lost}@1"));
    assert_eq!(two.json(&["gc"])["deletedEntries"], 0);
    two.json(&["recover"]);
    assert_eq!([two.head(&lost), two.json(&["thread", "list"]).as_array().unwrap().len().to_string()], [&*head, "2"]);
    two.step(&lost);
    two.step(&kept);
}

/// Overwrites an object with a text that is not JSON.
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
fn unreadable_notes_in_bucket_are_harmless() {
    let server = BucketServer::start();
    notes_that_say_nothing(&server.variables("uwf"), |note| {
        server.rewrite("uwf", &format!("notes/{note}.json"), |_| "rubbish".to_owned());
    });
}

#[test]
fn unreadable_notes_in_database_are_harmless() {
    let postgres = Postgres::start();
    notes_that_say_nothing(&postgres.variables("uwf"), |note| {
        let spoiled = "update uwf.notes set value = 'rubbish', version = nextval('uwf.versions')";
        postgres.sql(&format!("{spoiled} where name = '{note}'"));
    });
}

#[test]
fn invalid_row_names_are_harmless() {
    let (postgres, dir) = (Postgres::start(), TempDir::new().unwrap());
    let [one, two] = two_machines(&postgres.variables("uwf"), dir.path());
    let thread = one.begin();
    for kind in ["workspace.", "attempt.", "paused.", "named.", ""] {
        for name in ["../../x", "a b", "\u{2028}", "..", &"n".repeat(300)] {
            postgres.sql(&format!("insert into uwf.notes (name, value, writer) values ('{kind}{name}', '{{}}', 0)"));
        }
    }
    for machine in [&one, &two] {
        for command in [&["gc"][..], &["thread", "list", "--all"], &["ps"], &["recover", "--dry-run"], &["doctor"]] {
            let ran = machine.uwf(command);
            assert_eq!(ran.code, Some(0), "{command:?}: {}", ran.stderr);
        }
    }
    two.step(&thread);
}

/// Commands that list keys, before and after `put` has put objects with such keys into the store, below notes and elsewhere.
fn keys_that_are_no_paths(variables: &[(String, String)], put: impl Fn(&str)) {
    let dir = TempDir::new().unwrap();
    let [one, two] = two_machines(variables, dir.path());
    let thread = one.begin();
    let lists = [&["thread", "list", "--all"][..], &["workflow", "list"], &["cas", "list"]];
    let before = lists.map(|list| one.json(list));
    for part in ["notes", "heads", "nodes", "history"] {
        put(part);
    }
    for machine in [&one, &two] {
        assert_eq!(lists.map(|list| machine.json(list)), before);
        for command in [&["gc"][..], &["ps"], &["recover", "--dry-run"], &["doctor"]] {
            let ran = machine.uwf(command);
            assert_eq!(ran.code, Some(0), "{command:?}: {}{}", ran.stdout, ran.stderr);
        }
    }
    two.step(&thread);
}

#[test]
fn non_path_keys_at_amazon_are_harmless() {
    let server = S3Server::start(S3ServerKind::Moto);
    keys_that_are_no_paths(&server.variables("uwf"), |part| {
        for key in ["..", "./a.json", "/a.json", "a%7F%26b", "a.json/"] {
            server.by_hand("PUT", &format!("/team/uwf/{part}/{key}"), "{}");
        }
    });
}

#[test]
fn non_path_keys_at_azure_are_harmless() {
    let server = AzuriteServer::start();
    keys_that_are_no_paths(&server.variables("uwf"), |part| {
        for key in ["/a.json", "a%7Fb", "a.json/"] {
            assert_eq!(server.put(&format!("team/uwf/{part}/{key}"), "{}").unwrap(), 201, "{part} {key}");
        }
    });
}

#[test]
fn non_path_keys_at_google_are_harmless() {
    let server = BucketServer::start_google();
    keys_that_are_no_paths(&server.variables("uwf"), |part| {
        for key in ["..", "./a.json", "/a.json", "a/../b"] {
            server.copy("uwf", "format.json", &format!("{part}/{key}"));
        }
    });
}

#[test]
fn invalid_head_mistaken_for_removal_is_restored() {
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
