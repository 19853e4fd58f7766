//! `uwf thread list`: which threads there are, and how they are shown to people and programs.

use std::collections::BTreeSet;
use std::process::Command;

use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::{TestHome, text};

use crate::fixtures::people::family;
use crate::fixtures::review::{WORKFLOW, damage, reviewing_home, step};
use crate::fixtures::terminal::{session_in, session_with};
use crate::fixtures::text::{columns, plain};
use crate::{home, transcript};

/// A stuck thread, an active one and a finished one, oldest first.
fn three_threads(home: &TestHome) -> [String; 3] {
    let finished = home.start("review-text", "the first");
    step(home, &finished, 4);
    std::fs::remove_file(home.work().join("seen")).unwrap();
    let stuck = home.start("review-text", "the second");
    step(home, &stuck, 1);
    assert_eq!(home.uwf(&["thread", "step", &stuck, "--agent", "broken"]).code, Some(40));
    let active = home.start("review-text", "the third");
    [finished, stuck, active]
}

fn threads(report: &Value) -> Vec<String> {
    report.as_array().unwrap().iter().map(|row| text(row, "thread")).collect()
}

pub(crate) fn list(home: &TestHome, args: &[&str]) -> String {
    let ran = home.uwf(&[&["thread", "list", "--format", "text"], args].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

#[test]
fn children_are_listed_below_their_parents() {
    let (home, parent) = family();
    let later = home.start("ask-boss", "Something else");
    let listed = list(&home, &[]);
    let rows: Vec<&str> = listed.lines().collect();
    assert!(rows[1].starts_with(&later), "{listed}");
    assert!(rows[2].starts_with(&parent) && rows[2].contains("waiting  ship-change  release"), "{listed}");
    assert!(rows[4].starts_with("└ 01") && rows[4].contains("waiting  ask-boss     boss"), "{listed}");
    let order = home.json(&["thread", "list"]);
    let child = order
        .as_array()
        .unwrap()
        .iter()
        .position(|row| row["workflowName"] == "ask-boss" && row["thread"] != later.as_str());
    let alone = list(&home, &["--offset", &child.unwrap().to_string(), "--limit", "1"]);
    assert!(alone.contains(&format!("(for …{}) ", &parent[parent.len() - 4..])), "{alone}");
}

/// Nodes that a command opens, as strace sees it.
fn nodes_read(home: &TestHome, args: &[&str]) -> usize {
    let log = home.work().join("strace");
    let mut strace = Command::new("strace");
    home.prepare(&mut strace);
    strace.args(["-f", "-qq", "-e", "trace=openat,open", "-o"]).arg(&log).arg(uwf_testing::uwf_program()).args(args);
    let output = strace.output().expect("strace starts");
    assert!(output.status.success(), "{output:?}");
    let calls = std::fs::read_to_string(&log).unwrap();
    let nodes: BTreeSet<&str> = calls
        .lines()
        .filter(|call| !call.contains("= -1"))
        .filter_map(|call| call.split("/cas/").nth(1)?.split(".bin\"").next())
        .collect();
    nodes.len()
}

#[test]
fn unregistered_workflow_file_shows_its_name() {
    let home = reviewing_home();
    let file = home.file("mine.yaml", &WORKFLOW.replace("review-text", "mine"));
    let thread = text(&home.json(&["thread", "start", file.to_str().unwrap(), "-p", "x"]), "thread");
    assert_eq!(home.json(&["thread", "list"])[0]["workflowName"], json!("mine"));
    assert!(list(&home, &[]).contains("active  mine      writer"), "{}", list(&home, &[]));
    assert!(list(&home, &["--utc"]).contains("changed (UTC)"));
    let year = home.steady(&list(&home, &["--utc"]));
    assert!(year.contains("<time>"), "{year}");
    let shown = home.uwf(&["thread", "show", &thread, "--format", "text"]).stdout;
    assert!(shown.contains("task:      x\n"), "{shown}");
}

#[test]
fn an_empty_store_lists_nothing() {
    let home = home();
    assert_snapshot!(transcript(&home, &["thread", "list"]), @r"
    exit 0
    []
    ");
    assert_snapshot!(transcript(&home, &["thread", "list", "--all", "--format", "text"]), @r"
    exit 0
    no threads
    ");
    assert_eq!(
        home.uwf(&["thread", "list", "--format", "text"]).stdout,
        "no active threads; --all also lists finished ones\n"
    );
    assert_eq!(std::fs::read_dir(home.root()).unwrap().count(), 0, "nothing is written");
}

#[test]
fn threads_are_listed_newest_first() {
    let home = reviewing_home();
    let [finished, stuck, active] = three_threads(&home);
    assert_snapshot!(transcript(&home, &["thread", "list", "--all"]), @r##"
    exit 0
    [{"thread":"<id>","workflow":"#1","head":"#2","state":"active","role":null,"startedAt":<ms>,"changedAt":<ms>,"workflowName":"review-text","task":"the third"},{"thread":"<id>","workflow":"#1","head":"#3","state":"stuck","role":"writer","startedAt":<ms>,"changedAt":<ms>,"why":"agent `broken` exited with 3; its last words: no licence for `claude`","workflowName":"review-text","task":"the second"},{"thread":"<id>","workflow":"#1","head":"#4","state":"completed","role":"reviewer","startedAt":<ms>,"changedAt":<ms>,"outcome":"succeeded","workflowName":"review-text","task":"the first"}]
    "##);
    assert_snapshot!(transcript(&home, &["thread", "list", "--all", "--format", "text"]), @"
    exit 0
    thread                      state      workflow     role      steps  changed   task
    <id>  active     review-text  writer    0      just now  the third
    <id>  stuck      review-text  reviewer  1      just now  the second
        agent `broken` exited with 3; its last words: no licence for `claude`
    <id>  completed  review-text  –         4      just now  the first
    the last 4 symbols of a thread are enough
    ");
    assert_snapshot!(transcript(&home, &["thread", "list", "--all", "--limit", "1", "--offset", "1", "--format", "text"]), @"
    exit 0
    thread                      state  workflow     role      steps  changed   task
    <id>  stuck  review-text  reviewer  1      just now  the second
        agent `broken` exited with 3; its last words: no licence for `claude`
    the last 4 symbols of a thread are enough
    … 1 before
    … 1 more: --limit 3, or the next with --offset 2
    ");
    assert_snapshot!(transcript(&home, &["thread", "list", "--offset", "99", "--format", "text"]), @"
    exit 0
    no threads
    … 2 before
    ");
    let found = |args: &[&str]| threads(&home.json(&[&["thread", "list"], args].concat()));
    for (args, rows) in [
        (&["--state", "Completed"][..], vec![&finished]),
        (&["--state", "stuck,completed"], vec![&stuck, &finished]),
        (&["--state", "stuck", "--state", "active"], vec![&active, &stuck]),
        (&["--search", "The SECOND"], vec![&stuck]),
        (&["--role", "reviewer"], vec![&stuck]),
        (&["--role", "writer"], vec![&active]),
        (&["--all", "--role", "reviewer"], vec![&stuck, &finished]),
        (&["--all", "--after", &active[20..], "--limit", "1"], vec![&stuck]),
    ] {
        assert_eq!(found(args).iter().collect::<Vec<_>>(), rows, "{args:?}");
    }
    let listed = list(&home, &["--all", "--after", &active, "--limit", "1"]);
    assert!(listed.contains("the second") && listed.contains("… 1 more"), "{listed}");
    assert_eq!(home.uwf(&["thread", "list", "--after", "ZZZZZZ"]).code, Some(69));
    assert_eq!(home.uwf(&["thread", "list", "--search", ""]).code, Some(64));
}

#[test]
fn workflow_filter_accepts_name_hash_or_prefix() {
    let home = reviewing_home();
    let old = home.start("review-text", "with the first version");
    let first = text(&home.json(&["thread", "show", &old]), "workflow");
    let second = home.put("review-text", &WORKFLOW.replace("Write one sentence", "Write two sentences"));
    let new = home.start("review-text", "with the second version");
    home.put("other-text", &WORKFLOW.replace("review-text", "other-text"));
    home.start("other-text", "something else");

    let listed = |workflow: &str| threads(&home.json(&["thread", "list", "--workflow", workflow]));
    assert_eq!(listed("review-text"), [new.clone(), old.clone()], "all versions of the name");
    assert_eq!(listed(&first), [old]);
    assert_eq!(listed(&second[..6]), [new]);
    assert_snapshot!(transcript(&home, &["thread", "list", "--format", "text"]), @"
    exit 0
    thread                      state   workflow               role    steps  changed   task
    <id>  active  other-text             writer  0      just now  something else
    <id>  active  review-text            writer  0      just now  with the second version
    <id>  active  review-text (earlier)  writer  0      just now  with the first version
    the last 4 symbols of a thread are enough
    ");
    assert_snapshot!(transcript(&home, &["thread", "list", "--workflow", "reviewtext"]), @r"
    exit 69
    --- stderr
    error: workflow `reviewtext` does not exist
    hint: did you mean `review-text`?
    ");
    assert_snapshot!(transcript(&home, &["thread", "list", "--state", "stock"]), @"
    exit 64
    --- stderr
    error: invalid value 'stock' for '--state <STATE>'
    hint: possible values: active, running, paused, waiting, limited, stuck, completed, killed, corrupt
    hint: a similar value exists: 'stuck'
    ");
}

#[test]
fn broken_thread_is_listed_as_corrupt() {
    let home = reviewing_home();
    let broken = home.start("review-text", "x");
    damage(&home, &home.head(&broken).unwrap());
    assert_snapshot!(transcript(&home, &["thread", "list", "--state", "corrupt", "--format", "text"]), @"
    exit 0
    thread                      state    workflow  role  steps  changed  task
    <id>  corrupt  –         –     –      –        –
        node #1 is corrupt: not CBOR of a JSON value at byte 5, in the root:…
    the last 4 symbols of a thread are enough
    ");
}

#[test]
fn unreadable_registry_affects_only_names() {
    let home = reviewing_home();
    home.start("review-text", "x");
    std::fs::write(home.root().join("registry.yaml"), "[").unwrap();
    assert_snapshot!(transcript(&home, &["thread", "list"]), @r##"
    exit 0
    [{"thread":"<id>","workflow":"#1","head":"#2","state":"active","role":null,"startedAt":<ms>,"changedAt":<ms>,"workflowName":"review-text","task":"x"}]
    --- stderr
    warning: <dir>/root/registry.yaml is not readable: line 2 column 1: while parsing a node, did not find expected node content
    "##);
}

mod with_tools {
    use super::*;

    #[test]
    fn tables_fit_the_terminal() {
        let home = reviewing_home();
        let thread = home.start(
            "review-text",
            "日本語の長い文です。Write about cats, then about dogs, and about all other animals too.",
        );
        step(&home, &thread, 2);
        for width in [80, 100, 200] {
            let session = session_in(&home, width, &["thread", "steps", &thread], &[]);
            let table = plain(&session.shown);
            assert_eq!(table.lines().count(), 4, "{table}");
            assert!(table.lines().all(|line| columns(line) <= width), "{table}");
            assert!(table.contains("日本語"), "{table}");
        }
        home.json(&[
            "config",
            "set",
            "agents.a-long-name",
            "{command: sh, args: [-c, 'sleep 1; sleep 2; sleep 3; sleep 4; echo end'], output: text}",
        ]);
        let table = plain(&session_in(&home, 80, &["agent", "list"], &[]).shown);
        let lines = table.lines().filter(|line| !line.starts_with("built in:"));
        assert!(lines.clone().count() > 2 && lines.clone().all(|line| columns(line) <= 80), "{table}");
    }

    #[test]
    fn people_are_shown_thirty_threads_and_programs_all() {
        let home = reviewing_home();
        let ids: Vec<String> = (0..35).map(|n| home.start("review-text", &format!("task {n}"))).collect();
        let listed = list(&home, &[]);
        let shown: Vec<&str> = listed.lines().filter(|line| line.starts_with("01")).collect();
        assert_eq!(shown.len(), 30, "{listed}");
        assert!(shown[0].starts_with(&ids[34]) && shown[0].ends_with("task 34"), "{listed}");
        assert!(listed.ends_with("… 5 more: --limit 35, or the next with --offset 30\n"), "{listed}");
        assert!(list(&home, &["--limit", "35"]).contains("task 0\n"));
        assert_eq!(home.json(&["thread", "list"]).as_array().unwrap().len(), 35);
        assert_eq!(home.json(&["thread", "list", "--limit", "3"]).as_array().unwrap().len(), 3);

        // What is longer than the terminal goes to the pager, if there is one.
        std::os::unix::fs::symlink("/bin/sh", home.bin_dir().join("sh")).unwrap();
        let paged = home.work().join("paged");
        let pager = format!("/bin/cat > '{}'", paged.display());
        let session = |pager: &str, args: &[&str]| {
            let session = session_with(&home, 80, &[("PAGER", pager)], &[&["thread", "list"], args].concat(), &[]);
            assert_eq!(session.code, Some(0), "{}", session.shown);
            plain(&session.shown)
        };
        assert_eq!(session(&pager, &[]), "");
        let listed = plain(&std::fs::read_to_string(&paged).unwrap());
        let copied = listed.lines().nth(1).unwrap().split(' ').next().unwrap();
        assert_eq!(home.json(&["thread", "show", copied])["thread"], json!(ids[34]));
        assert_eq!(listed.lines().filter(|line| line.starts_with('…')).count(), 31, "{listed}");
        assert!(listed.lines().all(|line| columns(line) <= 80), "{listed}");
        std::fs::remove_file(&paged).unwrap();
        for (pager, args) in
            [(pager.as_str(), &["--no-pager"][..]), (&pager, &["--limit", "3"]), ("no-such-pager", &[]), ("", &[])]
        {
            assert!(session(pager, args).contains("task 34"), "{pager} {args:?}");
            assert!(!paged.exists());
        }
    }

    #[test]
    fn listing_reads_only_nodes_it_shows() {
        let home = reviewing_home();
        for n in 0..8 {
            let thread = home.start("review-text", &format!("task {n}"));
            if n < 2 {
                home.json(&["thread", "kill", &thread]);
            }
        }
        let all = home.json(&["thread", "list", "--all"]);
        assert_eq!(all.as_array().unwrap().len(), 8);
        // Each row is a start; beside them there are the workflow and its conditions' schemas.
        assert!(nodes_read(&home, &["thread", "list", "--limit", "3", "--format", "text"]) <= 3 + 1);
        assert!(nodes_read(&home, &["thread", "list", "--all", "--limit", "2", "--format", "text"]) <= 2 + 1);
        assert!(nodes_read(&home, &["thread", "list", "--all", "--limit", "5"]) <= 5);
        assert!(nodes_read(&home, &["thread", "list", "--state", "stuck"]) == 0);
        assert!(nodes_read(&home, &["thread", "list", "--state", "killed", "--limit", "1"]) <= 1);
    }
}

#[test]
fn ids_without_time_sort_by_record() {
    let home = home();
    home.put("count-rounds", &uwf_testing::counting_workflow(2));
    // The first symbol is higher than that of any ULID.
    let [unknown, old, new] = ["WWWW", "XXXX", "YYYY"].map(|ends| format!("Z{}{ends}", "0".repeat(21)));
    let record = |id: &String| {
        let file = home.record_file(id);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::File::create(file).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    };
    record(&old);
    let thread = home.start("count-rounds", "one");
    std::thread::sleep(Duration::from_millis(20));
    record(&new);
    let head = home.head(&thread).unwrap();
    let line = |id: &String| format!("{id}: \"{head}\"\n");
    let index: String = [&thread, &unknown, &old, &new].into_iter().map(line).collect();
    std::fs::write(home.root().join("threads.yaml"), index).unwrap();
    let listed = |args: &[&str]| threads(&home.json(&[&["thread", "list"], args].concat()));
    let all = [&new, &thread, &old, &unknown].map(String::clone);
    assert_eq!(listed(&[]), all);
    assert_eq!(listed(&["--after", &thread]), all[2..]);
    assert_eq!(listed(&["--after", &old]), all[3..]);
}

#[test]
fn list_takes_the_name_that_it_shows() {
    let home = crate::home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let file = home.file("par.yaml", &uwf_testing::counting_workflow(1).replace("count-rounds", "par"));
    home.json(&["run", file.to_str().unwrap(), "-p", "x"]);
    std::fs::remove_file(&file).unwrap();
    let all = home.json(&["thread", "list", "--all"]);
    assert_eq!(all[0]["workflowName"], "par", "{all}");
    assert_eq!(home.json(&["thread", "list", "--all", "--workflow", "par"]), all);
    let by_api = home.json(&["api", "GET", "/threads?workflow=par"]);
    assert_eq!(by_api[0]["thread"], all[0]["thread"], "{by_api}");
    assert_eq!(home.uwf(&["thread", "list", "--all", "--workflow", "pax"]).code, Some(69));
}
