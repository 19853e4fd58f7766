//! `uwf schedule` where nothing answers. What it does with a server is in tests/temporal.

use serde_json::json;

use crate::home;

/// Exit code where no server answers; a build without Temporal has nobody to ask.
const CODE: i32 = if cfg!(feature = "temporal") { 69 } else { 78 };

#[test]
fn commands_without_server_fail_and_create_nothing() {
    let home = home();
    home.config("temporal: { address: '127.0.0.1:1' }\n");
    home.transcript(&["init", "workflow", "develop"]);
    home.transcript(&["workflow", "put", "develop.yaml"]);
    let create = ["schedule", "create", "weekly", "--workflow", "develop", "--cron", "0 9 * * 1", "-p", "tidy up"];
    for args in [&create[..], &["schedule", "list"], &["schedule", "rm", "weekly"]] {
        let done = home.uwf(args);
        assert_eq!(done.code, Some(CODE), "{args:?}: {}", done.stderr);
        let says = if cfg!(feature = "temporal") { "127.0.0.1:1" } else { "--features temporal" };
        assert!(done.stderr.contains(says), "{args:?}: {}", done.stderr);
    }
    assert_eq!(home.json(&["thread", "list", "--all"]), json!([]));
}

#[test]
fn a_name_that_none_can_be_is_refused() {
    let home = home();
    let done = home.uwf(&["schedule", "rm", "a/b"]);
    assert_eq!(done.code, Some(64), "{}", done.stderr);
}
