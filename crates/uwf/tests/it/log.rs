//! `uwf log`: what keepers noted.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};
use uwf_testing::TestHome;

use crate::home;

/// Lines of the command's report.
fn lines(home: &TestHome, args: &[&str]) -> Vec<Value> {
    let ran = home.uwf(&[&["log"], args].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A home with two threads: one that was stepped well and one whose agent failed.
fn noted() -> (TestHome, String, String) {
    let home = home();
    home.worker("output: json", "#!/bin/sh\n[ -e fail ] && exit 3\necho '{\"n\": 1}'\n");
    let good = home.start_counting(1, "count");
    home.json(&["run", &good]);
    let bad = home.start("count-rounds", "count");
    home.file("fail", "");
    assert_eq!(home.uwf(&["thread", "step", &bad]).code, Some(40));
    (home, good, bad)
}

#[test]
fn lines_are_chronological_per_thread_and_overall() {
    let (home, good, bad) = noted();
    let all = lines(&home, &[]);
    let of = |thread: &str| all.iter().filter(|line| line["thread"] == thread).count();
    assert!(of(&good) > 0 && of(&bad) > 0 && of(&good) + of(&bad) == all.len(), "{all:?}");
    assert!(all.is_sorted_by_key(|line| line["timestamp"].as_u64()));
    assert_eq!(lines(&home, &[&good]).len(), of(&good));
    let tag = all[0]["tag"].as_str().unwrap();
    assert!(lines(&home, &["--tag", &tag.to_lowercase()]).iter().all(|line| line["tag"] == tag));
    let file = home.root().join("threads").join(&bad).join("log.jsonl");
    let mut log = fs::OpenOptions::new().append(true).open(&file).unwrap();
    log.write_all(
        b"{\"tag\":\"00000000\",\"level\":\"error\",\"content\":\"a\\nb\",\"timestamp\":1}\nno line\n{\"torn",
    )
    .unwrap();
    let errors = lines(&home, &["--level", "error", "--tag", "00000000"]);
    assert_eq!(
        errors,
        [json!({ "thread": bad, "tag": "00000000", "level": "error", "content": "a\nb", "timestamp": 1 })]
    );
    assert!(lines(&home, &["--level", "warn"]).iter().all(|line| line["level"] != "info"));
    let text = home.uwf(&["log", &bad, "--format", "text"]).stdout;
    assert!(text.starts_with(&format!("1970-01-01 00:00:00 error {bad} 00000000 a b\n")), "{text}");
}

#[test]
fn new_lines_are_followed() {
    let (home, good, bad) = noted();
    let mut command = home.command(&["log", &bad, "--follow", "--tag", "00000000"]);
    let mut following = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(following.stdout.take().unwrap());
    let mut log =
        fs::OpenOptions::new().append(true).open(home.root().join("threads").join(&bad).join("log.jsonl")).unwrap();
    for number in 0..2 {
        writeln!(log, "{{\"tag\":\"00000000\",\"level\":\"info\",\"content\":\"{number}\",\"timestamp\":1}}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["content"], number.to_string());
    }
    following.kill().unwrap();
    following.wait().unwrap();
    assert_eq!(home.uwf(&["log", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]).code, Some(69));
    assert_eq!(home.uwf(&["log", "--level", "loud"]).code, Some(64));
    home.json(&["thread", "rm", &good]);
    assert!(lines(&home, &[]).iter().all(|line| line["thread"] == bad.as_str()));
}

#[test]
fn invalid_tag_is_rejected_and_empty_result_reported() {
    let (home, good, _) = noted();
    insta::assert_snapshot!(home.transcript(&["log", "--tag", "nope"]), @"
    exit 64
    --- stderr
    error: `nope` is not a tag
    hint: a tag is `notify`, `otel`, or the 8 symbols in front of a line's text
    ");
    insta::assert_snapshot!(home.transcript(&["log", &good, "--tag", "otel"]), @"
    exit 0
    --- stderr
    the log has no such line
    ");
}
