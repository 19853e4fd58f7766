//! `uwf worker` where nothing answers. What it does with a server is in tests/temporal.

use crate::home;

#[test]
fn missing_server_is_reported_with_address() {
    let home = home();
    let done = home.uwf(&["worker", "--engine", "temporal", "--address", "127.0.0.1:1"]);
    let (code, says) = if cfg!(feature = "temporal") { (69, "127.0.0.1:1") } else { (78, "--features temporal") };
    assert_eq!(done.code, Some(code), "{}", done.stderr);
    assert!(done.stderr.contains(says), "{}", done.stderr);
}

#[test]
fn unknown_engine_is_rejected() {
    let home = home();
    let done = home.uwf(&["worker", "--engine", "cadence"]);
    assert_eq!(done.code, Some(64), "{}", done.stderr);
}
