//! Threads go to their end.

use uwf_testing::bucket::BucketServer;
use uwf_testing::text;

use crate::place::Place;
use crate::server::Server;

/// The id of an attempt that there never was.
const NO_ATTEMPT: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

#[test]
fn threads_complete_on_two_workers_without_leaking_content() {
    let server = Server::start();
    let place = Place::new(&server);
    let _workers = [place.worker("one", 1, &["--max-agents", "1"]), place.worker("two", 1, &["--max-agents", "1"])];
    let threads = [place.start(3), place.start(3)];
    place.detach(&threads[0]);
    let followed = place.uwf(&["thread", "run", "--on", "temporal", &threads[1], "--exit-code"]);
    assert_eq!(followed.code, Some(10), "{}", followed.stderr);
    assert_eq!(followed.stderr.matches("✓ worker by paid").count(), 3, "{}", followed.stderr);
    place.until_state(&threads[0], "completed");

    let paid = place.paid();
    assert_eq!(paid.len(), 6, "{paid:?}");
    assert!(paid.iter().any(|worker| worker == "one") && paid.iter().any(|worker| worker == "two"), "{paid:?}");
    let written = server.written();
    let has = |text: &str| written.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(has(&threads[0]), "ids go through Temporal");
    assert!(!has("woolly"), "tasks and answers do not");
    let again = place.uwf(&["thread", "run", "--on", "temporal", &threads[1]]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(place.paid().len(), 6, "what has ended is not run again");
}

#[test]
fn long_thread_continues_as_new_run() {
    let server = Server::start();
    let place = Place::new(&server);
    let _worker = place.worker("one", 0, &[]);
    let thread = place.start(5);
    let done = place.uwf(&["thread", "run", "--on", "temporal", &thread, "--steps-per-run", "2"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(place.paid().len(), 5);
    let query = format!("WorkflowId='uwf-{thread}'");
    let runs = || server.ask(&["workflow", "count", "--query", &query]).1.trim().to_owned();
    uwf_testing::processes::until("Temporal lists its runs", || runs() == "Total: 3");
}

#[test]
fn ended_or_moved_thread_is_not_handed_over() {
    let server = Server::start();
    let place = Place::new(&server);
    let [ended, killed, moved] = [1, 1, 2].map(|rounds| place.start(rounds));
    place.json(&["thread", "run", &ended]);
    place.json(&["thread", "kill", &killed]);
    let before = text(&place.json(&["thread", "show", &moved]), "head");
    let now = text(&place.json(&["thread", "step", &moved]), "head");
    let paid = place.paid().len();
    for args in [
        vec![ended.as_str()],
        vec![&killed],
        vec![&moved, "--expect-head", &before],
        vec![&moved, "--expect-head", &now, "--expect-attempt", NO_ATTEMPT],
    ] {
        let here = place.uwf(&[&["thread", "run"][..], &args].concat());
        for on in [vec!["--on", "temporal"], vec!["--on", "temporal", "--detach"]] {
            let there = place.uwf(&[&["thread", "run"][..], &args, &on].concat());
            assert_eq!((there.code, &there.stdout), (here.code, &here.stdout), "{args:?}: {}", there.stderr);
            assert_eq!(there.stderr, here.stderr, "{args:?}");
        }
    }
    assert_eq!(place.paid().len(), paid);
    for thread in [ended, killed, moved] {
        assert_eq!(server.status(&thread), "none");
    }
}

#[test]
fn handing_over_local_store_thread_warns() {
    let (server, bucket) = (Server::start(), BucketServer::start());
    let (own, shared) = (Place::new(&server), Place::sharing(&server, bucket.variables("team")));
    shared.json(&["store", "init"]);
    for (place, is_own) in [(own, true), (shared, false)] {
        let thread = place.start(1);
        let handed = place.uwf(&["thread", "run", "--on", "temporal", "--detach", &thread]);
        let schedule = ["schedule", "create", "weekly", "--workflow", "count-rounds", "--cron", "0 9 * * 1", "-p", "x"];
        let scheduled = place.uwf(&schedule);
        place.json(&["schedule", "rm", "weekly"]);
        for done in [handed, scheduled] {
            assert_eq!(done.code, Some(0), "{}", done.stderr);
            assert_eq!(done.stderr.contains("only this machine has the store"), is_own, "{}", done.stderr);
        }
    }
}

#[test]
fn handover_is_announced_once() {
    let server = Server::start();
    let place = Place::new(&server);
    let thread = place.start(1);
    let mut command = place.command(&["thread", "run", "--on", "temporal", "--detach", &thread]);
    let handed = uwf_testing::FinishedRun::from(command.env("UWF_FORMAT", "text").output().unwrap());
    assert_eq!((handed.code, handed.stdout.as_str()), (Some(0), ""), "{}", handed.stderr);
    assert!(handed.stderr.contains("runs on Temporal now; follow it with"), "{}", handed.stderr);
}
