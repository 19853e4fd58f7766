//! Workers whose stores differ, and a store that answers late.

use std::time::Duration;

use uwf_testing::bucket::BucketServer;
use uwf_testing::processes::until;

use crate::place::Place;
use crate::server::Server;

/// A machine with a store in the bucket.
fn machine(server: &Server, bucket: &BucketServer, name: &str, store: &str) -> Place {
    let own = ("UWF_MACHINE".to_owned(), name.to_owned());
    Place::sharing(server, bucket.variables(store).into_iter().chain([own]).collect())
}

#[test]
fn worker_with_unusable_store_takes_no_work() {
    let (server, bucket) = (Server::start(), BucketServer::start());
    let place = machine(&server, &bucket, "one", "team");
    let work = ["worker", "--engine", "temporal"];
    let empty = place.uwf(&work);
    assert_eq!(empty.code, Some(78), "{}", empty.stderr);
    assert!(empty.stderr.contains("uwf store init"), "{}", empty.stderr);
    let mut away = place.command(&work);
    let away = uwf_testing::FinishedRun::from(away.env("AWS_ENDPOINT_URL", "http://127.0.0.1:9").output().unwrap());
    assert_eq!(away.code, Some(75), "{}", away.stderr);
    for refused in [empty, away] {
        assert!(!refused.stderr.contains("working for Temporal"), "{}", refused.stderr);
    }
}

#[test]
fn unknown_thread_is_left_to_other_worker() {
    let (server, bucket) = (Server::start(), BucketServer::start());
    let [here, elsewhere] = ["team", "others"].map(|store| machine(&server, &bucket, store, store));
    for place in [&here, &elsewhere] {
        place.json(&["store", "init"]);
    }
    let thread = here.start(2);
    let mut lost = elsewhere.worker("lost", 0, &[]);
    here.detach(&thread);
    until("it has looked", || elsewhere.log("lost").contains("left to another worker"));
    // Temporal might give it each try.
    lost.terminate();
    lost.ended();
    let _good = here.worker("good", 0, &[]);
    here.until_state(&thread, "completed");
    assert_eq!(here.paid().len(), 2);
}

#[test]
fn thread_waits_until_some_worker_finds_it() {
    let (server, bucket) = (Server::start(), BucketServer::start());
    let [here, elsewhere] = ["team", "others"].map(|store| machine(&server, &bucket, store, store));
    for place in [&here, &elsewhere] {
        place.json(&["store", "init"]);
    }
    let thread = here.start(1);
    let lost = elsewhere.worker("lost", 0, &[]);
    let followed = here.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(followed.code, Some(69), "{}", followed.stderr);
    assert!(followed.stderr.contains("check that all use the same store"), "{}", followed.stderr);
    assert!(elsewhere.log("lost").contains("it stands still"), "{}", elsewhere.log("lost"));
    drop(lost);
    let _good = here.worker("good", 0, &[]);
    let followed = here.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(followed.code, Some(0), "{}", followed.stderr);
}

#[test]
fn broken_worker_leaves_threads_to_others_with_reason() {
    let (server, bucket) = (Server::start(), BucketServer::start());
    let [here, broken, homeless] = ["here", "broken", "homeless"].map(|name| machine(&server, &bucket, name, "team"));
    here.json(&["store", "init"]);
    let thread = here.start(2);
    let dir = homeless.home.work().join("gone");
    std::fs::create_dir(&dir).unwrap();
    let mut workers = [broken.worker("broken", 0, &[]), homeless.worker("homeless", 0, &["--cwd", "gone"])];
    for (place, name) in [(&broken, "broken"), (&homeless, "homeless")] {
        until("it works", || place.log(name).contains("working for Temporal"));
    }
    broken.home.config("agents: 7\n");
    std::fs::remove_dir(dir).unwrap();
    here.detach(&thread);
    until("both have tried", || {
        broken.log("broken").contains("left to another worker") && homeless.log("homeless").contains("cannot run ")
    });
    for worker in &mut workers {
        worker.terminate();
        worker.ended();
    }
    let _good = here.worker("good", 0, &[]);
    here.until_state(&thread, "completed");
    assert_eq!(here.paid(), ["good", "good"]);
}

#[test]
fn continued_stuck_thread_does_not_report_old_state() {
    let (server, bucket) = (Server::start(), BucketServer::start());
    let place = machine(&server, &bucket, "one", "team");
    place.json(&["store", "init"]);
    let script = place.home.bin_dir().join("paid");
    let good = std::fs::read_to_string(&script).unwrap();
    place.home.script("paid", "#!/bin/sh\ncat > /dev/null\nexit 3\n");
    let _worker = place.worker("one", 0, &[]);
    let thread = place.start(1);
    let stuck = place.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(stuck.code, Some(40), "{}", stuck.stderr);
    place.home.script("paid", &good);
    // Looking at the thread takes longer than the time after which its state is asked for.
    bucket.slow(Duration::from_millis(100));
    let done = place.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(place.paid().len(), 1);
}
