//! What people do with threads that run on Temporal.

use uwf_testing::DELEGATING;
use uwf_testing::processes::until;

use crate::place::Place;
use crate::server::Server;

#[test]
fn paused_thread_continues_after_resume() {
    let server = Server::start();
    let place = Place::new(&server);
    let _one = place.worker("one", 2, &[]);
    let thread = place.start(3);
    place.detach(&thread);
    place.until_paid(1);
    place.json(&["thread", "pause", &thread, "--reason", "woolly reasons"]);
    place.until_state(&thread, "paused");
    let stopped = place.uwf(&["thread", "run", "--on", "temporal", "--detach", &thread]);
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    let followed = place.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(followed.code, Some(20), "{}", followed.stderr);
    assert!(followed.stderr.contains("woolly reasons"), "{}", followed.stderr);
    assert!(followed.stderr.contains(&format!("uwf thread resume {thread}")), "{}", followed.stderr);
    let paid = place.paid().len();
    assert!(paid < 3, "{paid}");
    place.json(&["thread", "resume", &thread]);
    place.until_state(&thread, "completed");
    assert_eq!(place.paid().len(), 3);
    assert!(!server.written().windows(6).any(|window| window == b"woolly"), "the reason stays in the store");
}

#[test]
fn thread_waiting_for_person_continues_with_answer() {
    let server = Server::start();
    let place = Place::new(&server);
    let _one = place.worker("one", 0, &["--agent", "paid"]);
    let thread = place.start(2);
    place
        .home
        .config("agents:\n  paid: { command: paid, output: json }\n  ann: { command: uwf-human }\ndefaultAgent: ann\n");
    let followed = place.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(followed.code, Some(20), "{}{}", followed.stdout, followed.stderr);
    assert!(followed.stderr.contains("the thread is waiting at `worker`: "), "{}", followed.stderr);
    assert!(followed.stderr.contains(&format!("uwf thread answer {thread}")), "{}", followed.stderr);
    place.home.config("agents:\n  paid: { command: paid, output: json }\ndefaultAgent: paid\n");
    place.json(&["thread", "answer", &thread, "--data", r#"{"n": 7}"#]);
    place.until_state(&thread, "completed");
    assert_eq!(place.paid().len(), 1, "the other round was a person's");
}

#[test]
fn stuck_thread_is_reported_and_retried_on_resume() {
    let server = Server::start();
    let place = Place::new(&server);
    let script = place.home.bin_dir().join("paid");
    let good = std::fs::read_to_string(&script).unwrap();
    place.home.script("paid", "#!/bin/sh\ncat > /dev/null\necho woolly trouble >&2\nexit 3\n");
    let _one = place.worker("one", 0, &[]);
    let thread = place.start(1);
    let followed = place.uwf(&["thread", "run", "--on", "temporal", &thread]);
    assert_eq!(followed.code, Some(40), "{}{}", followed.stdout, followed.stderr);
    let (_, described) = server.ask(&["workflow", "describe", "-w", &format!("uwf-{thread}")]);
    assert!(described.contains("stuck"), "Temporal's pages say why: {described}");
    place.home.script("paid", &good);
    place.json(&["thread", "resume", &thread]);
    place.until_state(&thread, "completed");
    until("the workflow ends", || server.status(&thread) == "WORKFLOW_EXECUTION_STATUS_COMPLETED");
    assert!(!server.written().windows(6).any(|window| window == b"woolly"), "what the agent said stays in the store");
}

#[test]
fn command_succeeds_and_warns_if_signal_fails() {
    let mut server = Server::start();
    let place = Place::new(&server);
    let thread = place.start(1);
    place.detach(&thread);
    server.stop();
    let killed = place.uwf(&["thread", "kill", &thread]);
    assert_eq!(killed.code, Some(0), "{}", killed.stderr);
    assert!(killed.stderr.contains("Temporal does not know"), "{}", killed.stderr);
    assert_eq!(place.state(&thread), "killed");
}

#[test]
fn thread_continues_without_signal_to_temporal() {
    let server = Server::start();
    let place = Place::new(&server);
    let _one = place.worker("one", 2, &[]);
    let thread = place.start(2);
    place.detach_looking_again(&thread, "1s");
    place.until_paid(1);
    place.json(&["thread", "pause", &thread]);
    until("the workflow stands still", || {
        let (_, described) = server.ask(&["workflow", "describe", "-w", &format!("uwf-{thread}")]);
        described.contains("paused")
    });
    let resumed = place.unaware(&["thread", "resume", &thread]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    until("the workflow ends", || server.status(&thread) == "WORKFLOW_EXECUTION_STATUS_COMPLETED");
    assert_eq!(place.paid().len(), 2);

    // It may also have ended meanwhile.
    let thread = place.start(1);
    place.json(&["thread", "pause", &thread]);
    // Looks count, too, so that no run gets too long while a thread stands still.
    place.json(&[
        "thread",
        "run",
        "--on",
        "temporal",
        "--detach",
        "--look-again",
        "1s",
        "--steps-per-run",
        "2",
        &thread,
    ]);
    until("the workflow stands still", || {
        let (_, described) = server.ask(&["workflow", "describe", "-w", &format!("uwf-{thread}")]);
        described.contains("paused")
    });
    place.unaware(&["thread", "kill", &thread]);
    until("the workflow ends", || server.status(&thread) == "WORKFLOW_EXECUTION_STATUS_COMPLETED");
}

#[test]
fn failed_attempt_is_not_repeated_without_request() {
    let server = Server::start();
    let place = Place::new(&server);
    place.home.script("paid", "#!/bin/sh\ncat > /dev/null\necho paid 1 >> \"$LEDGER\"\nexit 3\n");
    let _one = place.worker("one", 0, &[]);
    let thread = place.start(1);
    place.detach_looking_again(&thread, "1s");
    place.until_state(&thread, "stuck");
    let looks = || {
        let (_, shown) = server.ask(&["workflow", "show", "-w", &format!("uwf-{thread}"), "--output", "json"]);
        shown.matches("uwf.look").count()
    };
    until("it was looked at again", || looks() >= 3);
    let paid = place.paid().len();
    until("and again", || looks() >= 4);
    assert_eq!(place.paid().len(), paid, "it was paid again");
    place.json(&["thread", "kill", &thread]);
}

#[test]
fn answer_to_child_continues_its_parent() {
    let server = Server::start();
    let place = Place::new(&server);
    place.home.config(
        "agents:\n  paid: { command: paid, output: json }\n  counter: { command: uwf-workflow, args: [count-rounds] }\n\
         defaultAgent: paid\nagentOverrides: { count-for-somebody: { clerk: counter } }\n",
    );
    let asks = "#!/bin/sh\nif grep -q Forty-two; then echo '{\"n\": 42}'; else echo '{\"status\": \"needs_input\", \"question\": \"How many?\"}'; fi\n";
    place.home.script("paid", asks);
    place.start(1);
    place.home.file("outer.yaml", DELEGATING);
    place.json(&["workflow", "put", "outer.yaml"]);
    let started = place.json(&["thread", "start", "count-for-somebody", "-p", "Count sheep"]);
    let parent = uwf_testing::text(&started, "thread");
    let _one = place.worker("one", 0, &[]);
    let followed = place.uwf(&["thread", "run", "--on", "temporal", &parent]);
    assert_eq!(followed.code, Some(20), "{}{}", followed.stdout, followed.stderr);
    let listed = place.json(&["thread", "list"]);
    let rows = listed.as_array().unwrap();
    let child = rows.iter().find(|row| row["workflow"] != started["workflow"] && row["state"] == "waiting");
    let child = child.unwrap_or_else(|| panic!("{listed}"))["thread"].as_str().unwrap();
    place.json(&["thread", "answer", child, "-m", "Forty-two"]);
    place.until_state(&parent, "completed");
}
