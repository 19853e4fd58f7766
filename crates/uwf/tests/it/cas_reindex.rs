//! `uwf cas reindex`: the cache of types is made anew.

use std::fs;

use serde_json::json;

use crate::fixtures::notes::{file_of, note};
use crate::home;

#[test]
fn deleted_or_damaged_cache_changes_nothing() {
    let home = home();
    let [_, on, _] = note(&home);
    let expected = home.json(&["cas", "list", "--type", "content"]);
    let cache = home.root().join("cache/types");
    for damage in [&b""[..], b"garbage", &[0; 48], &fs::read(&cache).unwrap()[..30]] {
        fs::write(&cache, damage).unwrap();
        assert_eq!(home.json(&["cas", "list", "--type", "content"]), expected);
    }
    fs::remove_dir_all(home.root().join("cache")).unwrap();
    assert_eq!(home.json(&["cas", "list", "--type", "content"]), expected);
    // A node that is gone is not listed, though its type is remembered; one that came by other ways is.
    fs::rename(file_of(&home, &on), home.work().join("away")).unwrap();
    assert_eq!(home.json(&["cas", "list", "--type", "content"]), json!([]));
    fs::rename(home.work().join("away"), file_of(&home, &on)).unwrap();
    assert_eq!(home.json(&["cas", "list", "--type", "content"]), expected);
}

#[test]
fn rebuilds_cache_and_removes_stale_temporary_files() {
    let home = home();
    home.script("worker", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    home.config("agents: { w: { command: worker, output: json } }\ndefaultAgent: w\n");
    home.put("count-rounds", &uwf_testing::counting_workflow(2));
    let (done, open) = (home.start("count-rounds", "a"), home.start("count-rounds", "b"));
    home.json(&["thread", "run", &done]);
    home.json(&["thread", "step", &open]);
    let stale = [home.root().join(".tmp-a"), home.root().join("cas/.tmp-b"), home.root().join("threads/.tmp-c")];
    let fresh = home.root().join("cas/.tmp-d");
    for path in stale.iter().chain([&fresh]) {
        fs::write(path, "half a no").unwrap();
    }
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(2);
    stale.iter().for_each(|path| fs::File::open(path).unwrap().set_modified(long_ago).unwrap());
    fs::remove_dir_all(home.root().join("cache")).unwrap();

    let report = home.json(&["cas", "reindex"]);
    let counts = ["threads", "steps", "tempFiles", "problems"].map(|key| report[key].clone());
    assert_eq!(counts, [json!(2), json!(3), json!(3), json!([])]);
    assert_eq!(report["nodes"], json!(home.json(&["cas", "list"]).as_array().unwrap().len()));
    assert!(fresh.exists() && !stale.iter().any(|path| path.exists()));
    for thread in [done, open] {
        assert!(home.root().join("cache/chains").join(thread).exists());
    }
    assert!(home.root().join("cache/types").exists());
}
