//! What a list says of threads that another machine left standing, and what it asks the store for.

use serde_json::{Value, json};
use uwf_testing::bucket::BucketServer;

use crate::machine::{Machine, two_machines};
use crate::postgres::Postgres;

const ASKS: &str = "#!/bin/sh\ncat > /dev/null\necho '{\"status\": \"needs_input\", \"question\": \"Which sheep?\"}'\n";
const FAILS: &str = "#!/bin/sh\ncat > /dev/null\necho no sheep >&2\nexit 3\n";

fn row(machine: &Machine, thread: &str) -> (String, Option<String>) {
    let listed = machine.json(&["thread", "list"]);
    let row = listed.as_array().unwrap().iter().find(|row| row["thread"] == *thread).unwrap().clone();
    (row["state"].as_str().unwrap().to_owned(), row["why"].as_str().map(str::to_owned))
}

/// State and reason by a look at the thread alone.
fn shown(machine: &Machine, thread: &str) -> (String, Option<String>) {
    let shown = machine.json(&["thread", "show", thread]);
    (shown["state"].as_str().unwrap().to_owned(), shown["why"].as_str().map(str::to_owned))
}

/// What a list and a look say, which is the same.
fn told(machine: &Machine, thread: &str) -> (String, String) {
    let (state, why) = row(machine, thread);
    assert_eq!((state.clone(), why.clone()), shown(machine, thread), "a list says what a look says");
    (state, why.unwrap_or_default())
}

fn goes_through(variables: &[(String, String)]) {
    let dir = tempfile::tempdir().unwrap();
    let [one, two] = two_machines(variables, dir.path());
    let thread = one.begin();
    assert_eq!(told(&two, &thread), ("active".to_owned(), String::new()));

    one.home.script("paid", FAILS);
    assert_eq!(one.try_step(&thread).code, Some(40));
    let (state, why) = told(&two, &thread);
    assert_eq!(state, "stuck");
    assert_eq!(why, told(&one, &thread).1, "on both machines");
    // From what was remembered.
    assert_eq!(told(&two, &thread), (state, why));

    one.json(&["thread", "pause", &thread, "--reason", "lunch"]);
    assert_eq!(told(&two, &thread), ("paused".to_owned(), "lunch".to_owned()), "a pause comes first");
    two.json(&["thread", "resume", &thread]);

    one.home.script("paid", ASKS);
    one.try_step(&thread);
    assert_eq!(told(&two, &thread), ("waiting".to_owned(), "Which sheep?".to_owned()));
    let waiting = two.json(&["thread", "list", "--state", "waiting"]);
    assert_eq!(waiting.as_array().map(Vec::len), Some(1), "{waiting}");

    two.home.script("paid", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    let work = two.home.work();
    two.json(&["thread", "answer", &thread, "-m", "the black one", "--cwd", work.to_str().unwrap()]);
    two.step(&thread);
    for machine in [&one, &two] {
        assert_eq!(told(machine, &thread), ("active".to_owned(), String::new()), "it has gone on");
    }
}

#[test]
fn list_shows_threads_stuck_or_waiting_elsewhere() {
    goes_through(&BucketServer::start().variables("team"));
    goes_through(&Postgres::start().variables("uwf"));
}

#[test]
fn each_claim_is_read_once() {
    let (server, dir) = (BucketServer::start(), tempfile::tempdir().unwrap());
    let [one, two] = two_machines(&server.variables("team"), dir.path());
    let threads: Vec<String> = std::iter::once(one.begin()).chain((0..4).map(|_| one.start())).collect();
    one.home.script("paid", FAILS);
    threads.iter().for_each(|thread| assert_eq!(one.try_step(thread).code, Some(40)));
    let reads = |machine: &Machine| {
        server.take();
        let listed = machine.json(&["thread", "list"]);
        let stuck = |row: &&Value| row["state"] == json!("stuck");
        assert_eq!(listed.as_array().unwrap().iter().filter(stuck).count(), threads.len(), "{listed}");
        server.take().remove("notes").map_or(0, |notes| notes.get)
    };
    assert_eq!(reads(&two), 5);
    assert_eq!(reads(&two), 0, "what they said is remembered");
    assert_eq!(one.try_step(&threads[0]).code, Some(40));
    assert_eq!(reads(&two), 1, "this one was rewritten");
    std::fs::remove_dir_all(two.home.root().join("cache")).unwrap();
    assert_eq!(reads(&two), 5, "a cache may be deleted");
}
