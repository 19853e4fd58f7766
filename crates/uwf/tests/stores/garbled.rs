//! Answers of a store that were changed on the way: none is kept, and none is taken for what is stored.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use json_cas::xxh64;
use serde_json::json;
use tempfile::TempDir;
use uwf_testing::bucket::BucketServer;
use uwf_testing::garbling_proxy::{GarblingProxy, RowPart};

use crate::machine::{Machine, machine, two_machines};
use crate::postgres::Postgres;

/// Changes one byte of a node, another one in each answer.
fn another_byte(answer: usize, bytes: &mut [u8]) {
    let at = bytes.len() / 2 + answer % (bytes.len() / 4);
    bytes[at] ^= 0x55;
}

/// Changes the same byte each time.
fn same_byte(_: usize, bytes: &mut [u8]) {
    another_byte(0, bytes);
}

/// The files of the cache of nodes.
fn cached(machine: &Machine) -> Vec<PathBuf> {
    let dirs = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().map(|entry| entry.unwrap().path());
    let of_stores = dirs(machine.home.root().join("cache/nodes"));
    of_stores.flat_map(dirs).filter(|dir| !dir.ends_with("known")).flat_map(dirs).collect()
}

/// The cached copy of a node.
fn copy_of(machine: &Machine, hash: &str) -> PathBuf {
    cached(machine).into_iter().find(|path| path.ends_with(hash)).unwrap()
}

/// Keeps something else in place of a node, as an older uwf did whose store gave a garbled answer: with a sum that is right.
fn keep_garbled(machine: &Machine, hash: &str) {
    let path = copy_of(machine, hash);
    let mut bytes = fs::read(&path).unwrap();
    bytes.truncate(bytes.len() - 8);
    another_byte(0, &mut bytes);
    let sum = xxh64(&bytes).as_u64().to_le_bytes();
    fs::write(&path, [bytes, sum.to_vec()].concat()).unwrap();
}

#[test]
fn a_garbled_answer_is_asked_for_again() {
    let (server, dir) = (BucketServer::start(), TempDir::new().unwrap());
    let [one, two] = two_machines(&server.variables("uwf"), dir.path());
    let thread = one.begin();
    one.step(&thread);
    let shown = one.json(&["thread", "steps", &thread]);
    server.garble(1, another_byte);
    assert_eq!(two.json(&["thread", "steps", &thread]), shown);
    assert_eq!(server.garbled(), 1);
    two.step(&thread);
    assert_eq!(two.json(&["cas", "verify"])["problems"], json!([]));
}

#[test]
fn persistently_garbled_responses_are_temporary_error() {
    let (server, dir) = (BucketServer::start(), TempDir::new().unwrap());
    let [one, two] = two_machines(&server.variables("uwf"), dir.path());
    let thread = one.begin();
    one.step(&thread);
    server.garble(usize::MAX, another_byte);
    for args in [&["thread", "steps", &thread][..], &["thread", "show", &thread], &["cas", "verify"]] {
        let refused = two.uwf(args);
        assert_eq!(refused.code, Some(75), "{args:?}: {}{}", refused.stdout, refused.stderr);
        let says = ["garbled 3 times in a row", "corrupts data", "try again"];
        assert!(says.iter().all(|part| refused.stderr.contains(part)), "{args:?}: {}", refused.stderr);
    }
    let listed = two.json(&["thread", "list"]);
    assert!(listed[0]["why"].as_str().unwrap().contains("garbled"), "one thread stops no list: {listed}");
    let head = one.head(&thread);
    let refused = two.try_step(&thread);
    assert_eq!((refused.code, cached(&two).len()), (Some(75), 0), "nothing of it was kept: {}", refused.stderr);
    server.garble(0, another_byte);
    assert_eq!((two.head(&thread), two.json(&["cas", "verify"])["problems"].clone()), (head, json!([])));
    two.step(&thread);
}

#[test]
fn identically_garbled_response_is_not_cached() {
    let (server, dir) = (BucketServer::start(), TempDir::new().unwrap());
    let [one, two] = two_machines(&server.variables("uwf"), dir.path());
    let thread = one.begin();
    one.step(&thread);
    server.garble(usize::MAX, same_byte);
    let refused = two.uwf(&["thread", "steps", &thread]);
    assert_eq!(refused.code, Some(65), "it cannot be told from a damaged node: {}", refused.stderr);
    server.garble(0, same_byte);
    assert_eq!(two.json(&["thread", "steps", &thread]), one.json(&["thread", "steps", &thread]));
}

#[test]
fn damaged_node_is_readable_again_after_repair() {
    let (server, dir) = (BucketServer::start(), TempDir::new().unwrap());
    let [one, two] = two_machines(&server.variables("uwf"), dir.path());
    let third = machine("crane", server.variables("uwf"), dir.path());
    one.begin();
    let hash = one.json(&["cas", "put-text", "a text"])["hash"].as_str().unwrap().to_owned();
    server.rewrite("uwf", &format!("nodes/{hash}"), |_| "rubbish".to_owned());
    let refused = two.uwf(&["cas", "get", &hash]);
    assert!(refused.code == Some(65) && refused.stderr.contains("is corrupt"), "{}", refused.stderr);
    let verified = two.uwf(&["cas", "verify", &hash]);
    assert!(verified.code == Some(65) && verified.stdout.contains("\"kind\":\"corrupt\""), "{}", verified.stdout);
    assert_eq!(third.json(&["cas", "put-text", "a text"])["hash"], hash.as_str());
    assert_eq!(two.json(&["cas", "get", &hash])["payload"], json!({"text": "a text"}));
    assert_eq!(two.json(&["cas", "verify"])["problems"], json!([]));
}

#[test]
fn garbled_cache_of_older_version_is_refetched() {
    let (server, dir) = (BucketServer::start(), TempDir::new().unwrap());
    let machine = machine("anvil", server.variables("uwf"), dir.path());
    let thread = machine.begin();
    machine.step(&thread);
    let (head, shown) = (machine.head(&thread), machine.json(&["thread", "steps", &thread]));
    let whole = fs::read(copy_of(&machine, &head)).unwrap();
    keep_garbled(&machine, &head);
    assert_ne!(fs::read(copy_of(&machine, &head)).unwrap(), whole);
    assert_eq!(machine.json(&["thread", "steps", &thread]), shown, "a reader notices");
    assert_eq!(fs::read(copy_of(&machine, &head)).unwrap(), whole, "it is kept as it is in the store");
    keep_garbled(&machine, &head);
    let verified = machine.uwf(&["cas", "verify", &head]);
    assert_eq!((verified.code, &verified.json()["removedCopies"]), (Some(0), &json!([head])), "{}", verified.stdout);
    assert!(!cached(&machine).iter().any(|path| path.ends_with(&head)), "it was removed");
    keep_garbled_says(&machine, &head);
    assert_eq!(machine.json(&["cas", "verify"]).get("removedCopies"), None, "there is none any more");
}

fn keep_garbled_says(machine: &Machine, head: &str) {
    machine.json(&["cas", "get", head]);
    keep_garbled(machine, head);
    let text = machine.uwf(&["cas", "verify", head, "--format", "text"]).stdout;
    assert!(text.contains(&format!("{head}  garbled in the cache of this machine: removed")), "{text}");
    assert!(text.contains("no problems"), "the store is well: {text}");
}

/// A bucket has no other way to make an object young than to write it again, which takes reading it.
#[test]
fn refreshing_node_age_does_not_corrupt_it() {
    let (server, dir) = (BucketServer::start(), TempDir::new().unwrap());
    let [one, two] = two_machines(&server.variables("uwf"), dir.path());
    one.begin();
    one.json(&["cas", "put-text", "a text"]);
    // Some answers are compared with the text, others are written back.
    for garbled in 0..4 {
        server.put_clock_forward(Duration::from_hours(48));
        server.garble(garbled + 1, move |answer, bytes| {
            if answer == garbled {
                another_byte(answer, bytes);
            }
        });
        two.json(&["cas", "put-text", "a text"]);
        assert_eq!(two.json(&["cas", "verify"])["problems"], json!([]), "answer {garbled}");
    }
}

#[test]
fn garbled_database_response_is_requested_again() {
    let (server, dir) = (Postgres::start(), TempDir::new().unwrap());
    let one = machine("anvil", server.variables("uwf"), dir.path());
    let thread = one.begin();
    one.step(&thread);
    one.step(&thread);
    let shown = one.json(&["thread", "steps", &thread]);
    let proxy = GarblingProxy::start(server.port());
    let two = machine("bellows", Postgres::variables_at(proxy.port(), "uwf"), dir.path());
    for answer in 0..6 {
        let _ = fs::remove_dir_all(two.home.root().join("cache"));
        proxy.garble(RowPart::Node, answer);
        assert_eq!(two.json(&["thread", "steps", &thread]), shown, "answer {answer}");
        assert_eq!(two.json(&["cas", "verify"])["problems"], json!([]));
        assert_eq!(two.json(&["cas", "verify"]).get("removedCopies"), None, "nothing of it was kept");
    }
    assert!(proxy.garbled() >= 4, "{} answers", proxy.garbled());
}

#[test]
fn node_with_garbled_name_is_not_missing() {
    let (server, dir) = (Postgres::start(), TempDir::new().unwrap());
    machine("anvil", server.variables("uwf"), dir.path()).begin();
    let proxy = GarblingProxy::start(server.port());
    let two = machine("bellows", Postgres::variables_at(proxy.port(), "uwf"), dir.path());
    for answer in 0..6 {
        proxy.garble(RowPart::Name, answer);
        assert_eq!(two.json(&["cas", "verify"])["problems"], json!([]), "answer {answer}");
        assert_eq!(proxy.garbled(), answer + 1);
    }
}
