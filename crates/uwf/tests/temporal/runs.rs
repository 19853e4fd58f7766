//! Threads go to their end.

use crate::place::Place;
use crate::server::Server;

#[test]
fn threads_go_to_their_end_over_two_workers_and_nothing_that_was_written_leaves_the_store() {
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
fn a_long_thread_continues_as_a_new_run_of_its_workflow() {
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
