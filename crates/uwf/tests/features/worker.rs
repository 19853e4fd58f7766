//! `uwf worker` and `--on temporal` where nothing answers. What it does with a server is in tests/temporal.

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

#[cfg(not(feature = "temporal"))]
#[test]
fn missing_engine_starts_no_thread() {
    let home = home();
    home.put("count-rounds", &uwf_testing::counting_workflow(2));
    let done = home.uwf(&["run", "count-rounds", "-p", "count", "--on", "temporal"]);
    assert_eq!(done.code, Some(78), "{}", done.stderr);
    assert!(done.stderr.contains("`cargo install uwf --features temporal`"), "{}", done.stderr);
    assert_eq!(home.json(&["thread", "list", "--all"]), serde_json::json!([]));
}
