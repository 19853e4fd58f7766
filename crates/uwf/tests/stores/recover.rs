//! `uwf recover` on a shared store: heads that somebody deleted or spoiled by hand are set again, and nothing else.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tempfile::TempDir;
use uwf_testing::s3_server::{S3Server, S3ServerKind};
use uwf_testing::text;

use crate::machine::{Machine, paid, two_machines};
use crate::postgres::Postgres;

/// A store whose parts a test takes away.
enum Server {
    Bucket(S3Server),
    Database(Postgres),
}

impl Server {
    fn variables(&self) -> Vec<(String, String)> {
        match self {
            Server::Bucket(moto) => moto.variables("uwf"),
            Server::Database(postgres) => postgres.variables("uwf"),
        }
    }

    fn delete_head(&self, name: &str) {
        match self {
            Server::Bucket(moto) => moto.by_hand("DELETE", &format!("/team/uwf/heads/{name}@1"), ""),
            Server::Database(postgres) => drop(postgres.sql(&format!("delete from uwf.heads where name = '{name}'"))),
        }
    }

    /// What is left of a thread that has ended.
    fn delete_history(&self, name: &str) {
        match self {
            Server::Bucket(moto) => moto.by_hand("DELETE", &format!("/team/uwf/history/{name}.json"), ""),
            Server::Database(_) => self.delete_head(name),
        }
    }

    /// Points a head at a node that does not exist.
    fn lead_astray(&self, name: &str) {
        match self {
            Server::Bucket(moto) => {
                let head = json!({ "head": "0000000000001", "moves": 7, "tokens": "by-hand" }).to_string();
                moto.by_hand("PUT", &format!("/team/uwf/heads/{name}@1"), &head);
            }
            Server::Database(postgres) => {
                let moved =
                    format!("update uwf.heads set hash = 1, version = nextval('uwf.versions') where name = '{name}'");
                postgres.sql(&moved);
            }
        }
    }
}

fn on_both(test: fn(&Server)) {
    test(&Server::Bucket(S3Server::start(S3ServerKind::Moto)));
    test(&Server::Database(Postgres::start()));
}

/// What became of each thread, and where the head was read.
fn findings(report: &Value) -> BTreeMap<String, (String, Option<String>)> {
    let row = |row: &Value| (text(row, "thread"), (text(row, "finding"), row["from"].as_str().map(str::to_owned)));
    report["threads"].as_array().unwrap().iter().map(row).collect()
}

fn finding(report: &Value, thread: &str) -> (String, Option<String>) {
    findings(report).remove(thread).unwrap_or_else(|| panic!("nothing is said about {thread}: {report}"))
}

fn is(finding: &str, from: &str) -> (String, Option<String>) {
    (finding.to_owned(), Some(from.to_owned()))
}

fn note(report: &Value, thread: &str) -> String {
    let rows = report["threads"].as_array().unwrap();
    text(rows.iter().find(|row| row["thread"] == *thread).unwrap(), "note")
}

#[test]
fn deleted_heads_are_restored_from_notes_and_records() {
    on_both(|server| {
        let dir = TempDir::new().unwrap();
        let [one, two] = two_machines(&server.variables(), dir.path());
        let (stepped, ended, whole) = (one.begin(), one.start(), one.start());
        // Threads with the same task share their first node, and so the end of one may be that of another.
        let begun = text(&one.json(&["thread", "start", "count-rounds", "-p", "Count goats"]), "thread");
        one.step(&stepped);
        let head = one.head(&stepped);
        (0..3).for_each(|_| drop(one.step(&ended)));
        let before = (one.json(&["thread", "list", "--all"]), one.json(&["workflow", "list"]));
        for name in [&*stepped, &*begun, "registry"] {
            server.delete_head(name);
        }
        server.delete_history(&ended);

        // The other machine knows what the notes say.
        let looked = two.json(&["recover", "--dry-run"]);
        assert_eq!(finding(&looked, &stepped), is("restored", "claim"));
        for young in [&begun, &ended] {
            assert!(!findings(&looked).contains_key(young), "it may be beginning just now: {looked}");
        }
        assert_eq!((&looked["changed"], &looked["names"]["finding"]), (&json!(true), &json!("restored")));
        assert_eq!(two.json(&["thread", "list"]).as_array().unwrap().len(), 1, "nothing was done");
        if let Server::Database(postgres) = server {
            let earlier =
                "update uwf.notes set written_at = written_at - interval '1 hour' where name like 'workspace.%'";
            postgres.sql(earlier);
            let looked = two.json(&["recover", "--dry-run"]);
            assert_eq!(finding(&looked, &begun), is("restored", "workplace"));
            assert_eq!(finding(&looked, &ended).0, "differs", "{looked}");
            assert!(note(&looked, &ended).contains("it has ended, or"), "{looked}");
        }

        let done = one.json(&["recover"]);
        assert_eq!(finding(&done, &stepped), is("restored", "claim"));
        assert_eq!(finding(&done, &begun), is("restored", "workplace"));
        assert_eq!(finding(&done, &ended), is("archived", "history"));
        assert_eq!(finding(&done, &whole), is("kept", "store"));
        assert_eq!(done["names"]["finding"], "restored", "{done}");
        for machine in [&one, &two] {
            let now = (machine.json(&["thread", "list", "--all"]), machine.json(&["workflow", "list"]));
            assert_eq!(now, before);
        }
        assert_eq!(two.head(&stepped), head);
        two.step(&stepped);
        two.step(&begun);
        let again = one.json(&["recover"]);
        assert_eq!((&again["changed"], &again["index"]), (&json!(false), &Value::Null), "{again}");
        assert!(findings(&again).values().all(|(finding, _)| finding == "kept"), "{again}");
        assert!(again["store"].as_str().unwrap().contains("uwf"), "{again}");
    });
}

#[test]
fn a_thread_that_was_removed_never_comes_back() {
    on_both(|server| {
        let dir = TempDir::new().unwrap();
        let [one, two] = two_machines(&server.variables(), dir.path());
        let (removed, ended_here) = (one.begin(), one.start());
        for thread in [&removed, &ended_here] {
            one.step(thread);
            two.step(thread);
        }
        one.json(&["thread", "kill", &removed]);
        two.json(&["thread", "kill", &ended_here]);
        for thread in [&removed, &ended_here] {
            one.json(&["thread", "rm", thread]);
        }
        // The second machine still has records of both, and knows how it ended the second one.
        let done = two.json(&["recover"]);
        assert_eq!((&done["changed"], &done["threads"], &done["notInStore"]), (&json!(false), &json!([]), &json!(2)));
        assert_eq!(two.json(&["thread", "list", "--all"]), json!([]));
        let doctor = two.uwf(&["doctor"]).stdout;
        assert!(!doctor.contains("neither index nor history"), "{doctor}");
        let told = two.command(&["recover"]).env("UWF_FORMAT", "text").output().unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        assert!(told.contains("2 threads of this machine's records are not in the store"), "{told}");
    });
}

#[test]
fn thread_ended_elsewhere_is_not_reactivated() {
    on_both(|server| {
        let dir = TempDir::new().unwrap();
        let [one, two] = two_machines(&server.variables(), dir.path());
        let (never_stepped, stepped) = (one.begin(), one.start());
        one.step(&stepped);
        for thread in [&never_stepped, &stepped] {
            two.json(&["thread", "kill", thread]);
            server.delete_history(thread);
        }
        let done = one.json(&["recover"]);
        for thread in [&never_stepped, &stepped] {
            assert_eq!(finding(&done, thread).0, "differs", "{done}");
        }
        assert_eq!(one.json(&["thread", "list"]), json!([]));
    });
}

#[test]
fn dangling_head_returns_to_noted_position() {
    on_both(|server| {
        let dir = TempDir::new().unwrap();
        let [one, two] = two_machines(&server.variables(), dir.path());
        let thread = one.begin();
        one.step(&thread);
        let head = one.head(&thread);
        server.lead_astray(&thread);
        server.lead_astray("registry");
        let done = two.json(&["recover"]);
        assert_eq!(finding(&done, &thread), is("moved", "claim"));
        let row = &done["threads"][0];
        assert_eq!((&row["head"], done["names"]["finding"].as_str()), (&json!(head), Some("moved")), "{done}");
        assert!(row["before"].is_string(), "{done}");
        two.step(&thread);
        assert_eq!(one.json(&["workflow", "list"])[0]["name"], "count-rounds");
    });
}

#[test]
fn invalid_head_object_is_overwritten() {
    let (server, dir) = (S3Server::start(S3ServerKind::Moto), TempDir::new().unwrap());
    let [one, two] = two_machines(&server.variables("uwf"), dir.path());
    let (thread, other) = (one.begin(), one.start());
    one.step(&thread);
    let head = one.head(&thread);
    for name in [&*thread, "registry"] {
        server.by_hand("PUT", &format!("/team/uwf/heads/{name}@1"), "rubbish");
    }
    let refused = two.uwf(&["thread", "list"]);
    assert_eq!(refused.code, Some(65), "{}", refused.stderr);
    assert!(refused.stderr.contains("`uwf recover --dry-run`"), "{}", refused.stderr);
    let done = two.json(&["recover"]);
    assert_eq!(finding(&done, &thread), is("restored", "claim"));
    assert!(note(&done, &thread).contains(&format!("heads/{thread}@1")), "{done}");
    assert_eq!((finding(&done, &other), done["names"]["finding"].as_str()), (is("kept", "store"), Some("restored")));
    assert_eq!(one.head(&thread), head);
    one.step(&thread);
    assert_eq!(one.json(&["workflow", "list"])[0]["name"], "count-rounds");
}

#[test]
fn unreadable_history_entry_is_reported_and_untouched() {
    let (server, dir) = (S3Server::start(S3ServerKind::Moto), TempDir::new().unwrap());
    let [one, _] = two_machines(&server.variables("uwf"), dir.path());
    let ended = one.begin();
    one.json(&["thread", "kill", &ended]);
    server.by_hand("PUT", &format!("/team/uwf/history/{ended}.json"), "rubbish");
    let told = one.uwf(&["recover"]);
    assert_eq!(told.code, Some(65), "{}{}", told.stdout, told.stderr);
    let report: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(finding(&report, &ended).0, "lost");
    assert!(note(&report, &ended).contains(&format!("history/{ended}.json")), "{report}");
    // Once it is gone, the record of the machine that ended it has a copy.
    server.by_hand("DELETE", &format!("/team/uwf/history/{ended}.json"), "");
    assert_eq!(finding(&one.json(&["recover"]), &ended), is("archived", "history"));
    assert_eq!(one.json(&["thread", "show", &ended])["state"], "killed");
}

#[test]
fn lost_nodes_are_restored_from_cache() {
    let (server, dir) = (Postgres::start(), TempDir::new().unwrap());
    let [one, two] = two_machines(&server.variables("uwf"), dir.path());
    let (kept, restored) = (one.begin(), one.start());
    for thread in [&kept, &restored] {
        one.step(thread);
    }
    let workflows = one.json(&["workflow", "list"]);
    let all = one.json(&["thread", "list"]);
    server.sql("delete from uwf.nodes");
    server.sql(&format!("delete from uwf.heads where name = '{restored}'"));
    let nowhere = two.uwf(&["recover"]);
    let report: Value = serde_json::from_str(&nowhere.stdout).unwrap();
    assert_eq!((nowhere.code, finding(&report, &restored).0), (Some(65), "lost".to_owned()), "{report}");
    assert_eq!(finding(&report, &kept).0, "differs", "{report}");
    assert!(note(&report, &restored).contains("`uwf recover` on the machine that made it"), "{report}");

    let done = one.json(&["recover"]);
    assert_eq!((finding(&done, &restored), finding(&done, &kept)), (is("restored", "claim"), is("kept", "store")));
    assert!(done["nodesPutBack"].as_u64().unwrap() > 5, "{done}");
    assert_eq!(two.json(&["cas", "verify"])["problems"], json!([]));
    assert_eq!((two.json(&["thread", "list"]), two.json(&["workflow", "list"])), (all, workflows));
    two.step(&restored);
}

#[test]
fn running_thread_is_untouched_and_adopted_later() {
    on_both(|server| {
        let dir = TempDir::new().unwrap();
        let ledger = dir.path().join("ledger");
        let [one, two] = two_machines(&server.variables(), dir.path());
        let thread = one.begin();
        let answers = dir.path().join("answers");
        let step = one.begin_step_until(&thread, &answers, &ledger);
        server.delete_head(&thread);
        for machine in [&one, &two] {
            let looked = machine.json(&["recover"]);
            assert_eq!((finding(&looked, &thread).0, &looked["changed"]), ("differs".to_owned(), &json!(false)));
            assert!(note(&looked, &thread).contains("is running it"), "{looked}");
        }
        std::fs::write(answers, "").unwrap();
        assert!(!step.wait_with_output().unwrap().status.success(), "there was no head to move");
        let done = two.json(&["recover"]);
        assert_eq!(finding(&done, &thread), is("restored", "claim"));
        // Whether it is adopted or was moved already, nobody pays for it again.
        let steps = |machine: &Machine| machine.json(&["thread", "steps", &thread])["steps"].as_array().unwrap().len();
        if steps(&two) == 1 {
            one.step(&thread);
        }
        assert_eq!((steps(&two), paid(&ledger)), (2, 1), "the start and one step");
    });
}

#[test]
fn heads_moved_meanwhile_stay() {
    on_both(|server| {
        let dir = TempDir::new().unwrap();
        let [one, two] = two_machines(&server.variables(), dir.path());
        one.home.file("count.yaml", &uwf_testing::counting_workflow(30));
        let moving = one.begin();
        one.step(&moving);
        let lost: Vec<String> = (0..6).map(|_| one.start()).collect();
        lost.iter().for_each(|thread| drop(one.step(thread)));
        lost.iter().for_each(|thread| server.delete_head(thread));
        let reports = std::thread::scope(|scope| {
            let both = [&one, &two].map(|machine| scope.spawn(|| machine.json(&["recover"])));
            for _ in 0..6 {
                two.step(&moving);
            }
            both.map(|one| one.join().unwrap())
        });
        for report in &reports {
            assert_eq!(finding(report, &moving).0, "kept", "{report}");
            for thread in &lost {
                let (found, _) = findings(report).remove(thread).unwrap_or_default();
                assert!(["restored", "kept", ""].contains(&&*found), "{thread}: {report}");
            }
        }
        let steps = |thread: &str| one.json(&["thread", "steps", thread])["steps"].as_array().unwrap().len() - 1;
        assert_eq!(steps(&moving), 7);
        assert_eq!(lost.iter().map(|thread| steps(thread)).collect::<Vec<_>>(), [1; 6]);
    });
}

#[test]
fn unavailable_store_is_not_treated_as_empty() {
    let (mut server, dir) = (Postgres::start(), TempDir::new().unwrap());
    let [one, _] = two_machines(&server.variables("uwf"), dir.path());
    let thread = one.begin();
    server.stop();
    let away = one.uwf(&["recover"]);
    assert_eq!(away.code, Some(75), "{}", away.stderr);
    server.run();
    server.sql("alter table uwf.notes rename to notes_away");
    let half = one.uwf(&["recover"]);
    assert!(matches!(half.code, Some(69 | 74 | 75 | 78)), "{:?} {}", half.code, half.stderr);
    server.sql("alter table uwf.notes_away rename to notes");
    assert_eq!(finding(&one.json(&["recover"]), &thread), is("kept", "store"));
}
