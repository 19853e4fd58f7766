//! Workflows that no worker can run.

use std::process::{Command, Stdio};

use uwf_testing::processes::{is_alive, until};
use uwf_testing::{FinishedRun, repository, text};

use crate::place::Place;
use crate::server::Server;

/// A payload of a person who signals with Temporal's own command.
const PAYLOAD: &str = r#"{"by": "ann"}"#;

/// `scripts/check-worker.py` describes the pairs. It also checks the released program, in the job `release`.
#[test]
fn event_pairs_and_bad_workflows_never_stop_worker() {
    let script = repository().join("scripts/check-worker.py");
    let checked =
        FinishedRun::from(Command::new("python3").arg(script).arg(uwf_testing::uwf_program()).output().unwrap());
    assert_eq!(checked.code, Some(0), "{}{}", checked.stdout, checked.stderr);
}

#[test]
fn signals_with_a_payload_are_taken() {
    let server = Server::start();
    let place = Place::new(&server);
    let _one = place.worker("one", 2, &[]);
    let thread = place.start(2);
    place.detach(&thread);
    place.until_paid(1);
    let workflow = format!("uwf-{thread}");
    for name in ["pause", "answer", "resume"] {
        let (is_sent, said) =
            server.ask(&["workflow", "signal", "-w", &workflow, "--name", name, "--input", PAYLOAD, "--input", "7"]);
        assert!(is_sent, "{said}");
    }
    place.until_state(&thread, "completed");
    until("the workflow ends", || server.status(&thread) == "WORKFLOW_EXECUTION_STATUS_COMPLETED");
}

#[test]
fn failing_workflow_is_shown_killed_and_isolated() {
    let server = Server::start();
    let place = Place::new(&server);
    let _one = place.worker("one", 100, &["--max-agents", "1"]);
    let thread = place.start(1);
    let following = place
        .command(&["thread", "run", "--on", "temporal", &thread])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let following = following.unwrap();
    place.until_paid(1);
    let workflow = format!("uwf-{thread}");
    let result = r#"{"is": "what only a newer worker knows"}"#;
    let completed = ["activity", "complete", "--workflow-id", &workflow, "--activity-id", &thread, "--result", result];
    assert!(server.ask(&completed).0);

    let failing = format!("workflow {workflow}: its workflow task fails: ");
    until("the worker says it", || place.log("one").contains(&failing));
    assert!(!place.log("one").contains("Failure {"), "the reason alone: {}", place.log("one"));
    until("the thread shows it", || {
        let shown = place.json(&["thread", "show", &thread]);
        shown["temporalFailure"].as_str().is_some_and(|failure| failure.contains("what only a newer worker knows"))
    });
    let shown = place.command(&["thread", "show", &thread]).env("UWF_FORMAT", "text").output().unwrap();
    let shown = FinishedRun::from(shown);
    assert!(shown.stdout.contains("temporal:  workers cannot continue it: "), "{}", shown.stdout);

    let other = place.start(1);
    let _two = place.worker("two", 0, &[]);
    place.detach(&other);
    place.until_state(&other, "completed");

    let (_, agent) = place.runs().remove(0);
    place.json(&["thread", "kill", &thread]);
    until("its workflow has ended", || server.status(&thread) == "WORKFLOW_EXECUTION_STATUS_TERMINATED");
    until("its agent is ended", || !is_alive(&agent));
    let followed = FinishedRun::from(following.wait_with_output().unwrap());
    assert_eq!(followed.code, Some(11), "{}", followed.stderr);
    assert_eq!(text(&serde_json::from_str(&followed.stdout).unwrap(), "outcome"), "killed");
    assert!(followed.stderr.contains("no worker can continue it: its workflow task fails: "), "{}", followed.stderr);
    assert!(!followed.stderr.contains("no worker has taken it"), "{}", followed.stderr);
}

#[test]
fn a_kill_ends_the_workflow_without_a_worker() {
    let server = Server::start();
    let place = Place::new(&server);
    let thread = place.start(1);
    place.detach(&thread);
    place.json(&["thread", "kill", &thread]);
    assert_eq!(server.status(&thread), "WORKFLOW_EXECUTION_STATUS_TERMINATED");
}

#[test]
fn show_does_not_wait_long_for_temporal() {
    let mut server = Server::start();
    let place = Place::new(&server);
    let thread = place.start(1);
    place.detach(&thread);
    server.stop();
    let begun = std::time::Instant::now();
    let shown = place.uwf(&["thread", "show", &thread]);
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "after {:?}", begun.elapsed());
    assert_eq!(shown.json()["state"], "active");
    assert!(shown.stderr.contains("if the thread runs on Temporal"), "{}", shown.stderr);
}
