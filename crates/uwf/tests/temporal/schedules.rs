//! Threads that begin at set times.

use serde_json::json;
use uwf_testing::counting_workflow;
use uwf_testing::processes::until;

use crate::place::Place;
use crate::server::Server;

#[test]
fn schedule_starts_threads_and_task_stays_in_store() {
    let server = Server::start();
    let place = Place::new(&server);
    let first = place.start(1);
    place.json(&["thread", "kill", &first]);
    let create = ["schedule", "create", "weekly", "--workflow", "count-rounds", "--cron"];
    let nonsense = place.uwf(&[&create[..], &["every monday", "-p", "x"]].concat());
    assert_eq!(nonsense.code, Some(64), "{}", nonsense.stderr);
    assert!(nonsense.stderr.contains("day of the month"), "{}", nonsense.stderr);
    let never = place.uwf(&[&create[..], &["0 9 31 2 *", "-p", "x"]].concat());
    assert_eq!(never.code, Some(64), "{}", never.stderr);
    assert!(never.stderr.contains("never comes"), "{}", never.stderr);
    let no_task = place.uwf(&[&create[..], &["0 9 * * 1"]].concat());
    assert_eq!(no_task.code, Some(64), "{}", no_task.stderr);
    assert!(no_task.stderr.contains("--prompt"), "{}", no_task.stderr);
    assert_eq!(place.json(&["thread", "list"]), json!([]), "nothing is left of it");
    let made = place.json(&[&create[..], &["0 9 * * 1", "-p", "Count woolly goats"]].concat());
    let template = made["template"].as_str().unwrap();
    assert_eq!(place.state(template), "paused");
    let again = place.uwf(&[&create[..], &["0 9 * * 1", "-p", "Count woolly goats"]].concat());
    assert_eq!(again.code, Some(64), "{}", again.stderr);
    let listed = || place.json(&["schedule", "list"]);
    until("it is listed", || listed()[0]["schedule"] == "weekly");
    assert!(listed()[0]["next"][0].is_u64(), "{}", listed());
    assert_eq!(listed()[0]["note"], "threads of count-rounds at `0 9 * * 1`");

    let _worker = place.worker("one", 0, &[]);
    for times in 1..=2 {
        // The engine hears of a thread's end after the store does.
        until("no thread of it runs", || running(&server, "weekly") == 0);
        assert!(server.ask(&["schedule", "trigger", "--schedule-id", "uwf-weekly"]).0);
        until("a thread has ended", || {
            let all = place.json(&["thread", "list", "--all"]);
            all.as_array().unwrap().iter().filter(|row| row["state"] == "completed").count() == times
        });
    }
    assert_eq!(place.paid().len(), 2);
    let shown = place.json(&["thread", "show", "@"]);
    assert_eq!(shown["task"], "Count woolly goats");
    assert!(!server.written().windows(6).any(|window| window == b"woolly"), "the task does not go through Temporal");

    place.json(&["thread", "kill", template]);
    let removed = place.uwf(&["schedule", "rm", "weekly"]);
    assert_eq!(removed.code, Some(0), "{}", removed.stderr);
    assert!(!removed.stderr.contains("is left"), "somebody killed its thread before: {}", removed.stderr);
    let gone = place.uwf(&["schedule", "rm", "weekly"]);
    assert_eq!(gone.code, Some(69), "{}", gone.stderr);
    until("it is not listed", || listed() == json!([]));
}

#[test]
fn scheduled_threads_have_the_input() {
    let server = Server::start();
    let place = Place::new(&server);
    let properties = "version: { type: string }, level: { enum: [low, high], default: low }";
    let input = format!("input: {{ type: object, properties: {{ {properties} }}, required: [version] }}\nroles:\n");
    place.home.put("count-rounds", &counting_workflow(1).replacen("roles:\n", &input, 1));
    let create = ["schedule", "create", "weekly", "--workflow", "count-rounds", "--cron", "0 9 * * 1", "-p", "x"];
    let missing = place.uwf(&create);
    assert_eq!(missing.code, Some(64), "{}", missing.stderr);
    assert!(missing.stderr.contains("`version` has no value"), "{}", missing.stderr);
    assert_eq!(place.json(&["thread", "list", "--all"]), json!([]), "nothing is left of it");
    let made = place.json(&[&create[..], &["--set", "version=1.10-woolly"]].concat());
    let template = made["template"].as_str().unwrap();
    let _worker = place.worker("one", 0, &[]);
    assert!(server.ask(&["schedule", "trigger", "--schedule-id", "uwf-weekly"]).0);
    let ended = || {
        let all = place.json(&["thread", "list", "--all"]);
        let row = all.as_array().unwrap().iter().find(|row| row["state"] == "completed")?;
        Some(row["thread"].as_str().unwrap().to_owned())
    };
    until("a thread has ended", || ended().is_some());
    let thread = ended().unwrap();
    assert_ne!(thread, template);
    let shown = place.json(&["thread", "show", &thread]);
    assert_eq!(shown["input"], json!({ "version": "1.10-woolly", "level": "low" }));
    assert!(!server.written().windows(6).any(|window| window == b"woolly"), "the input does not go through Temporal");
}

#[test]
fn overlapping_run_is_skipped_and_counted() {
    let server = Server::start();
    let place = Place::new(&server);
    let first = place.start(1);
    place.json(&["thread", "kill", &first]);
    let create = ["schedule", "create", "weekly", "--workflow", "count-rounds", "--cron", "0 9 * * 1"];
    place.json(&[&create[..], &["-p", "Count woolly goats"]].concat());
    let _worker = place.worker("slow", 600, &[]);
    let trigger = || assert!(server.ask(&["schedule", "trigger", "--schedule-id", "uwf-weekly"]).0);
    trigger();
    place.until_paid(1);
    until("it is listed", || !place.json(&["schedule", "list"])[0].is_null());
    assert_eq!(place.json(&["schedule", "list"])[0]["leftOut"], 0);
    trigger();
    until("a time was left out", || place.json(&["schedule", "list"])[0]["leftOut"] == 1);
    let shown = place.command(&["--format", "text", "schedule", "show", "weekly"]).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("1 time, because the previous thread had not ended"), "{shown}");

    let threads = place.json(&["thread", "list"]);
    let running = threads.as_array().unwrap().iter().find(|row| row["state"] == "running").unwrap();
    place.json(&["thread", "kill", running["thread"].as_str().unwrap()]);
    until("its end was heard of", || self::running(&server, "weekly") == 0);
    trigger();
    place.until_paid(2);
    assert_eq!(place.json(&["schedule", "list"])[0]["leftOut"], 1);
    for thread in place.json(&["thread", "list"]).as_array().unwrap() {
        place.json(&["thread", "kill", thread["thread"].as_str().unwrap()]);
    }
    assert_eq!(place.paid().len(), 2);
}

/// How many workflows of a schedule run.
fn running(server: &Server, schedule: &str) -> usize {
    let id = format!("uwf-{schedule}");
    let (_, described) = server.ask(&["schedule", "describe", "--schedule-id", &id, "--output", "json"]);
    let described: serde_json::Value = serde_json::from_str(&described).unwrap_or_default();
    assert!(described["schedule"].is_object(), "{described}");
    described["info"]["runningWorkflows"].as_array().map_or(0, Vec::len)
}
