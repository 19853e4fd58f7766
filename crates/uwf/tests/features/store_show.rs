//! `uwf store show`: where nodes and heads are.

use serde_json::json;

use crate::home;

#[test]
fn store_defaults_to_files_of_root() {
    let home = home();
    let shown = home.json(&["store", "show"]);
    let root = home.root();
    let root = root.to_str().unwrap();
    assert_eq!(shown, json!({ "store": root, "kind": "files", "root": root }));
}

#[test]
fn invalid_store_stops_all_but_config_commands() {
    let home = home();
    home.config("store: { url: 'postgres://ann:secret@host/uwf' }\n");
    for args in [&["thread", "list"][..], &["store", "show"], &["workflow", "list"], &["recover"], &["pack"]] {
        let done = home.uwf(args);
        assert_eq!(done.code, Some(78), "{args:?}: {}", done.stderr);
        assert!(done.stderr.contains("don't put a password into the URL"), "{}", done.stderr);
        assert!(!done.stderr.contains("secret@"), "{}", done.stderr);
    }
    assert_eq!(home.uwf(&["config", "validate"]).code, Some(78));
    home.transcript(&["config", "unset", "store"]);
    assert_eq!(home.json(&["thread", "list"]), json!([]));
}

#[test]
fn store_is_found_anywhere_in_config() {
    let home = home();
    home.config("{\"agents\": {}, \"store\": {\"url\": \"s3://team/uwf\"}}\n");
    let done = home.uwf(&["store", "show"]);
    assert!(done.code != Some(0), "files of this machine are not what was asked for: {}", done.stdout);
    assert!(done.stderr.contains("s3://team/uwf"), "{}", done.stderr);
}

#[test]
fn config_errors_do_not_affect_local_store() {
    let home = home();
    home.config("# restored from a backup\nagents: 5\n");
    assert_eq!(home.json(&["thread", "list"]), json!([]));
}

#[test]
fn environment_url_overrides_config() {
    let home = home();
    let mut command = home.command(&["thread", "list"]);
    command.env("UWF_STORE_URL", "ftp://host");
    let done = command.output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.code() == Some(78) && told.contains("the store that UWF_STORE_URL names: a store is s3://"),
        "{told}"
    );
}
