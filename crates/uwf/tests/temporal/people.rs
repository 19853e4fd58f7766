//! What people do with threads that run on Temporal.

use uwf_testing::processes::until;

use crate::place::Place;
use crate::server::Server;

#[test]
fn a_paused_thread_goes_on_when_it_is_resumed() {
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
fn a_thread_that_waits_for_a_person_goes_on_with_the_answer() {
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
fn a_stuck_thread_says_so_and_tries_again_when_it_is_resumed() {
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
fn a_command_whose_signal_cannot_be_sent_is_done_and_says_so() {
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
