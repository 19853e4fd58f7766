//! `uwf man`: manual pages.

use std::fs;

use serde_json::json;

use crate::home;

#[test]
fn manual_pages_are_printed_and_installed() {
    let home = home();
    let page = home.uwf(&["man", "thread", "step"]);
    assert_eq!((page.code, page.stderr.as_str()), (Some(0), ""));
    assert!(page.stdout.contains(".TH UWF-THREAD-STEP 1"), "{}", page.stdout);
    assert!(page.stdout.contains("Run one step"), "{}", page.stdout);
    assert_eq!(home.uwf(&["man", "thread", "stpe"]).code, Some(64));
    let done = home.json(&["man", "--install"]);
    let dir = home.root().parent().unwrap().join(".local/share/man/man1");
    let names: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), done["files"].as_array().unwrap().len());
    for name in ["uwf.1", "uwf-thread.1", "uwf-thread-step.1", "uwf-cas-schema-put.1"] {
        assert!(names.iter().any(|found| found == name), "{name}");
    }
    assert_eq!(fs::read_to_string(dir.join("uwf-thread-step.1")).unwrap(), page.stdout);
    let elsewhere = home.json(&["man", "--install", "--dir", "pages", "--dry-run"]);
    assert_eq!(elsewhere["dryRun"], json!(true));
    assert!(!home.work().join("pages").exists());
}
