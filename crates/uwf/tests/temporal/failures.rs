//! Workers and servers that die, and workers that are asked to end.

use std::time::{Duration, Instant};

use uwf_testing::processes::{is_alive, until};

use crate::place::Place;
use crate::server::Server;

#[test]
fn killed_worker_step_continues_without_second_payment() {
    let server = Server::start();
    let place = Place::new(&server);
    let mut one = place.worker("one", 6, &[]);
    let thread = place.start(2);
    place.detach(&thread);
    place.until_paid(1);
    let _two = place.worker("two", 0, &[]);
    one.process.kill().unwrap();
    place.until_state(&thread, "completed");
    assert_eq!(place.paid(), ["one", "two"], "{}", place.log("two"));
}

#[test]
fn agent_runs_once_when_server_is_killed() {
    let mut server = Server::start();
    let place = Place::new(&server);
    let _one = place.worker("one", 15, &[]);
    let thread = place.start(1);
    place.detach(&thread);
    place.until_paid(1);
    server.stop();
    std::thread::sleep(Duration::from_secs(12));
    server.run();
    place.until_state(&thread, "completed");
    until("the workflow hears of it", || server.status(&thread) == "WORKFLOW_EXECUTION_STATUS_COMPLETED");
    assert_eq!(place.paid(), ["one"], "{}", place.log("one"));
}

#[test]
fn stopping_worker_finishes_step_and_takes_no_other() {
    let server = Server::start();
    let place = Place::new(&server);
    let mut one = place.worker("one", 4, &["--drain", "1m"]);
    let thread = place.start(2);
    place.detach(&thread);
    place.until_paid(1);
    one.terminate();
    assert_eq!(one.ended(), Some(0), "{}", place.log("one"));
    let steps = place.json(&["thread", "steps", &thread]);
    assert_eq!(steps["steps"].as_array().unwrap().len(), 2, "its step was kept: {}", place.log("one"));
    let _two = place.worker("two", 0, &[]);
    place.until_state(&thread, "completed");
    assert_eq!(place.paid(), ["one", "two"]);
}

#[test]
fn worker_hands_over_step_after_drain_timeout() {
    let server = Server::start();
    let place = Place::new(&server);
    let mut one = place.worker("one", 100, &["--drain", "1s"]);
    let thread = place.start(1);
    place.detach(&thread);
    place.until_paid(1);
    let _two = place.worker("two", 0, &[]);
    one.terminate();
    assert_eq!(one.ended(), Some(0), "{}", place.log("one"));
    let (_, agent) = place.runs().remove(0);
    assert!(!is_alive(&agent), "its agent was ended");
    place.until_state(&thread, "completed");
    assert_eq!(place.paid(), ["one", "two"]);
}

#[test]
fn cancel_or_kill_ends_agent_within_seconds() {
    let server = Server::start();
    let place = Place::new(&server);
    let _one = place.worker("one", 100, &[]);
    for (round, is_cancelled_there) in [true, false].into_iter().enumerate() {
        let thread = place.start(1);
        place.detach(&thread);
        place.until_paid(round + 1);
        let begun = Instant::now();
        if is_cancelled_there {
            assert!(server.ask(&["workflow", "cancel", "-w", &format!("uwf-{thread}")]).0);
        } else {
            place.json(&["thread", "kill", &thread]);
        }
        let (_, agent) = place.runs().remove(round);
        until("the agent is ended", || !is_alive(&agent));
        assert!(begun.elapsed() < Duration::from_secs(15), "after {:?}", begun.elapsed());
        let (state, status) = if is_cancelled_there { ("active", "CANCELED") } else { ("killed", "TERMINATED") };
        until("its workflow has ended", || server.status(&thread) == format!("WORKFLOW_EXECUTION_STATUS_{status}"));
        assert_eq!(place.state(&thread), state);
    }
}

#[test]
fn a_thread_whose_directory_is_gone_stands_still() {
    let server = Server::start();
    let place = Place::new(&server);
    place.start(1);
    std::fs::create_dir(place.home.work().join("gone")).unwrap();
    let started = place.json(&["thread", "start", "count-rounds", "-p", "Count", "--cwd", "gone"]);
    let thread = uwf_testing::text(&started, "thread");
    std::fs::remove_dir(place.home.work().join("gone")).unwrap();
    let _one = place.worker("one", 0, &[]);
    let followed = place.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(followed.code, Some(69), "{}{}", followed.stdout, followed.stderr);
    assert!(followed.stderr.contains("the thread or its directory"), "{}", followed.stderr);
    assert_eq!(place.log("one").matches("left to another worker").count(), 29, "{}", place.log("one"));
}
