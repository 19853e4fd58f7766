//! `uwf worker` where nothing answers. What it does with a server is in tests/temporal.

use crate::home;

#[test]
fn without_a_server_it_says_where_it_looked_and_ends() {
    let home = home();
    let done = home.uwf(&["worker", "--engine", "temporal", "--address", "127.0.0.1:1"]);
    let (code, says) = if cfg!(feature = "temporal") { (69, "127.0.0.1:1") } else { (78, "--features temporal") };
    assert_eq!(done.code, Some(code), "{}", done.stderr);
    assert!(done.stderr.contains(says), "{}", done.stderr);
}

#[test]
fn an_engine_that_it_does_not_know_is_refused() {
    let home = home();
    let done = home.uwf(&["worker", "--engine", "cadence"]);
    assert_eq!(done.code, Some(64), "{}", done.stderr);
}
