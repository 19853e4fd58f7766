//! Commands that act on several threads, at a terminal.

use crate::fixtures::terminal::session;
use crate::several_threads::{states, threads_of_two_workflows};

#[test]
fn person_is_asked_before_several_threads() {
    let (home, threads) = threads_of_two_workflows();
    let no = session(&home, &["thread", "kill", "--workflow", "alpha"], &[("kill 2 threads?", "n\r")]);
    assert_eq!(no.code, Some(130), "{}", no.shown);
    assert!(
        no.shown.contains("spoiled") && no.shown.contains("you answered no, so nothing was changed"),
        "{}",
        no.shown
    );
    assert!(no.shown.contains("to select fewer threads, add a filter"), "{}", no.shown);
    assert_eq!(states(&home, &threads), ["active"; 3]);
    let yes = session(&home, &["thread", "kill", &threads[0], &threads[2]], &[("kill 2 threads?", "y\r")]);
    assert_eq!(yes.code, Some(0), "{}", yes.shown);
    assert_eq!(states(&home, &threads), ["killed", "active", "killed"]);
}

#[test]
fn command_names_its_thread_at_a_terminal() {
    let (home, threads) = threads_of_two_workflows();
    let stepped = session(&home, &["thread", "step", "@"], &[]);
    assert!(stepped.shown.contains(&threads[2]) && stepped.shown.contains(": third"), "{}", stepped.shown);
    let killed = session(&home, &["thread", "kill", &threads[1][18..]], &[]);
    assert!(killed.shown.contains(&threads[1]) && killed.shown.contains(": spoiled"), "{}", killed.shown);
}
