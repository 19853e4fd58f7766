//! `uwf doctor`.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::llm_server::{LlmScript, LlmServer};
use uwf_testing::platforms::as_posix;
use uwf_testing::processes::{is_alive, until};
use uwf_testing::{TestHome, counting_workflow, text};

use crate::home;

/// The checks of a report.
fn checks(home: &TestHome, args: &[&str]) -> Vec<Value> {
    let ran = home.uwf(&[&["doctor"], args].concat());
    assert!(matches!(ran.code, Some(0 | 78)), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["ok"], json!(ran.code == Some(0)));
    report["checks"].as_array().unwrap().clone()
}

/// What one check found, as `status: message`.
fn found(home: &TestHome, args: &[&str], check: &str) -> String {
    let checks = checks(home, args);
    let found: Vec<String> = checks
        .iter()
        .filter(|finding| finding["check"] == check)
        .map(|finding| format!("{}: {}", text(finding, "status"), text(finding, "message")))
        .collect();
    home.steady(&found.join("\n"))
}

#[test]
fn a_healthy_root_has_nothing_to_tell() {
    let home = home();
    home.script(
        "codex",
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'codex 7.1 (test)' && exit\ncat >/dev/null; echo '{\"n\": 1}'\n",
    );
    home.config("agents:\n  w: { command: codex, output: json }\n  m: { command: uwf-mock }\ndefaultAgent: w\n");
    fs::write(home.root().join(".env"), "A_KEY=0123456789\n").unwrap();
    fs::set_permissions(home.root().join(".env"), fs::Permissions::from_mode(0o600)).unwrap();
    home.put("count-rounds", &counting_workflow(3));
    home.start("count-rounds", "count");
    let ran = home.uwf(&["doctor", "--format", "text"]);
    let shown: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| !line.contains(" free") && !line.contains(" kB") && !line.contains("sandbox"))
        .collect();
    assert_eq!(ran.code, Some(0));
    assert_snapshot!(home.steady(&shown.join("\n")), @r"
    ✓ uwf: version 0.1.0
    ✓ env-file: <dir>/root/.env has 1 entry and is readable by its owner only
    ✓ leftovers: no old temporary files
    ✓ locks: no stale locks
    ✓ workflows: 1 registered
    ✓ threads: 1 active thread, 0 finished
    ✓ attempts: no attempt was abandoned, no mark is stale
    ✓ orphans: no orphaned agents
    ✓ config: <dir>/root/config.yaml is valid
    ✓ agent:m: built in: mock 0.1.0
    ✓ agent:w: <dir>/bin/codex: codex 7.1 (test)
    ");
}

#[test]
fn an_empty_root_works_and_is_not_made() {
    let home = home();
    fs::remove_dir(home.root()).unwrap();
    assert!(found(&home, &[], "storage").starts_with("ok: <dir>/root does not exist yet"));
    assert!(found(&home, &[], "config").contains("does not exist"));
    assert!(!home.root().exists());
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs setsid")]
fn each_trouble_is_a_finding_of_its_own() {
    let home = home();
    home.script("hermes", "#!/bin/sh\n(trap '' TERM; exec sleep 300) &\nwait\n");
    home.script("gemini", "#!/bin/sh\nexit 3\n");
    home.script("opencode", "#!/bin/sh\necho 1.0.9\n");
    home.script("goose", "#!/bin/sh\necho v1.2\nsetsid sleep 3 &\n");
    home.script("my-agent", "#!/usr/bin/env bash\ntouch it-was-run\n");
    home.config(
        "agents:\n  used: { command: gone-program }\n  unused: { command: gone-program }\n  slow: { command: hermes }\n  mute: { command: gemini }\n  daemon: { command: goose }\n  own: { command: my-agent }\n  local: { command: ./here.sh }\n  silent: { command: opencode, args: [run, \"{prompt}\"], output: text }\n  printing: { command: opencode, args: [run, --print-logs, \"{prompt}\"], output: text }\ndefaultAgent: used\nmaxStep: 5\n",
    );
    fs::write(home.root().join(".env"), "A_KEY=0123456789\n").unwrap();
    fs::set_permissions(home.root().join(".env"), fs::Permissions::from_mode(0o644)).unwrap();
    let begun = Instant::now();
    let ran = home.uwf(&["doctor", "--format", "text"]);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    assert_eq!(ran.code, Some(78));
    assert!(!home.work().join("it-was-run").exists() && !std::env::temp_dir().join("it-was-run").exists());
    let shown: Vec<&str> = ran
        .stdout
        .lines()
        .skip_while(|line| !line.contains("env-file"))
        .filter(|line| !line.contains("store: ") && !line.contains("sandbox"))
        .collect();
    assert_snapshot!(home.steady(&shown.join("\n")), @"
    ! env-file: <dir>/root/.env has 1 entry and is open to others
        hint: `uwf doctor --fix` or the next step restricts it to its owner (0600)
    ✓ leftovers: no old temporary files
    ✓ locks: no stale locks
    ✓ workflows: 0 registered
    ✓ threads: 0 active threads, 0 finished
    ✓ attempts: no attempt was abandoned, no mark is stale
    ✓ orphans: no orphaned agents
    ! config: <dir>/root/config.yaml:2:3: warning[no-output]: the agent `used` has no `output`, so it must print the hash of a step that it stored
        hint: `uwf config validate` shows all
    ✓ agent:daemon: <dir>/bin/goose: v1.2
    ✓ agent:local: ./here.sh is looked for in the workspace of each thread
    ✓ agent:mute: <dir>/bin/gemini: prints no version
    ✓ agent:own: <dir>/bin/my-agent
    ✓ agent:printing: <dir>/bin/opencode: 1.0.9
    ! agent:silent: <dir>/bin/opencode: 1.0.9; it waits for the end of a usage limit without saying so, because it does not print its log
        hint: add `--print-logs`, `--log-level` and `ERROR` to its `args`, before the prompt
    ✓ agent:slow: <dir>/bin/hermes: prints no version
    ! agent:unused: program `gone-program` is not on PATH
        hint: install it, put its directory on PATH, or correct `command`
    ✗ agent:used: program `gone-program` is not on PATH
        hint: install it, put its directory on PATH, or correct `command`
    ");
    assert_eq!(
        found(&home, &["--fix"], "env-file"),
        "ok: <dir>/root/.env has 1 entry; it was open to others, now it is readable by its owner only"
    );
    assert_eq!(fs::metadata(home.root().join(".env")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn providers_are_asked_for_their_models() {
    let home = home();
    let server = LlmServer::start(LlmScript::new([]).with_models(["one", "two"]));
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    home.config(&format!(
        "providers:\n  up: {{ baseUrl: '{}', apiKeyEnv: UP_KEY }}\n  bare: {{ baseUrl: '{}/nothing/here' }}\n  keyless: {{ baseUrl: '{}', apiKeyEnv: NO_KEY }}\n  down: {{ baseUrl: 'http://{closed}/v1' }}\n  unused: {{ baseUrl: 'http://{closed}/v1' }}\nmodels:\n  m: {{ provider: down, name: x }}\n  k: {{ provider: keyless, name: x }}\ndefaultModel: m\nmodelOverrides: {{ extract: k }}\n",
        server.url(),
        server.origin(),
        server.url(),
    ));
    fs::write(home.root().join(".env"), "UP_KEY=sk-0123456789abcdef\n").unwrap();
    let hide = |text: String| text.replace(&closed.to_string(), "CLOSED").replace(&server.origin(), "SERVER");
    let findings: Vec<String> = ["up", "bare", "keyless", "down", "unused"]
        .iter()
        .map(|name| hide(found(&home, &[], &format!("provider:{name}"))))
        .collect();
    assert_snapshot!(findings.join("\n"), @r"
    ok: SERVER/v1 answers, 2 models
    ok: SERVER/nothing/here answers, 2 models
    fail: `NO_KEY` is set neither in the environment nor in .env
    fail: cannot talk to http://CLOSED/v1/models: Connection refused (os error 111)
    warn: cannot talk to http://CLOSED/v1/models: Connection refused (os error 111)
    ");
    assert!(
        server.requests().iter().any(|request| request.header("authorization") == Some("Bearer sk-0123456789abcdef"))
    );
    let asked = server.requests().len();
    assert_eq!(found(&home, &["--offline"], "provider:up"), "");
    assert_eq!(server.requests().len(), asked);
}

#[test]
fn leftovers_are_removed_when_they_are_old() {
    let home = home();
    home.put("count-rounds", &counting_workflow(3));
    let (old, young) = (home.root().join("cas/.tmp-old"), home.root().join("cas/.tmp-young"));
    for file in [&old, &young] {
        fs::write(file, "half a node").unwrap();
    }
    let long_ago = SystemTime::now() - Duration::from_hours(2);
    fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();
    assert_eq!(found(&home, &[], "leftovers"), "warn: 1 old temporary file left by dead processes");
    assert!(old.exists());
    assert_eq!(found(&home, &["--fix"], "leftovers"), "ok: removed 1 old temporary file");
    assert_eq!((old.exists(), young.exists()), (false, true));
}

#[test]
fn damage_is_reported() {
    let home = home();
    let thread = home.start_counting(3, "count");
    let head = home.head(&thread).unwrap();
    fs::write(home.root().join("cas").join(format!("{head}.bin")), "garbage").unwrap();
    assert_eq!(found(&home, &[], "threads"), "ok: 1 active thread, 0 finished\nfail: 1 thread cannot be read: <id>");
    fs::write(home.root().join("threads.yaml"), "\u{0}not an index").unwrap();
    assert!(found(&home, &[], "threads").starts_with("fail: "), "{}", found(&home, &[], "threads"));
    home.config("agents: [\n");
    assert!(found(&home, &[], "config").starts_with("fail: <dir>/root/config.yaml:2:1: error[syntax]"));
    fs::write(home.root().join(".env"), "this is no variable sk-0123456789abcdef\n").unwrap();
    let told = found(&home, &[], "env-file");
    assert!(told.starts_with("fail: ") && !told.contains("sk-"), "{told}");
}

#[test]
fn marks_of_ended_threads_are_stale() {
    let home = home();
    let thread = home.start_counting(3, "count");
    home.json(&["thread", "kill", &thread]);
    let mark = home.root().join("marks").join(format!("{thread}.stuck"));
    fs::create_dir_all(mark.parent().unwrap()).unwrap();
    fs::write(&mark, "{\"role\":null,\"why\":\"x\",\"since\":1}\n").unwrap();
    assert!(found(&home, &[], "attempts").starts_with("warn: 1 stale mark"));
    assert_eq!(found(&home, &["--fix"], "attempts"), "ok: removed 1 stale mark");
    assert!(!mark.exists());
}

#[test]
fn stale_locks_are_reported() {
    let home = home();
    let (thread, mut window, _) = working(&home);
    assert_eq!(found(&home, &[], "locks"), "ok: no stale locks", "a keeper holds the lock of its thread");
    home.kill_keeper(&thread);
    window.wait().unwrap();
    found(&home, &["--fix"], "orphans");
    let held = [home.lock_file(&thread), home.root().join("threads.lock")];
    let files = held.map(|path| fs::File::options().append(true).create(true).open(path).unwrap());
    files.iter().for_each(|file| file.lock().unwrap());
    let told = "warn: <dir>/root/threads.lock has been held for more than 1 s\n\
                warn: <dir>/root/threads/<id>/lock has been held for more than 1 s, and not by a keeper of that thread";
    assert_eq!(found(&home, &[], "locks"), told);
    drop(files);
    assert_eq!(found(&home, &[], "locks"), "ok: no stale locks");
}

/// An agent that leaves its process id, and a child that does not listen to TERM.
const STUBBORN: &str = "#!/bin/sh\ncat >/dev/null\necho $$ > \"$PWD/pid\"\n(trap '' TERM; exec setsid sleep 300) &\necho $! > child\nsleep 300\n";

/// A home whose agent works at a step: the window's process and the pids of agent and child.
fn working(home: &TestHome) -> (String, std::process::Child, [String; 2]) {
    home.worker("output: json", STUBBORN);
    let thread = home.start_counting(3, "count");
    let window = home.command(&["thread", "step", &thread]).stderr(std::process::Stdio::null()).spawn().unwrap();
    let read = |name: &str| fs::read_to_string(home.work().join(name)).unwrap_or_default();
    until("the agent has begun", || !read("child").trim().is_empty());
    let pids = [read("pid"), read("child")];
    (thread, window, pids)
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs setsid")]
fn fix_ends_only_agents_of_dead_keepers() {
    let (dead, live) = (home(), home());
    let (thread, mut window, orphans) = working(&dead);
    let (_, mut other_window, others) = working(&live);
    dead.kill_keeper(&thread);
    window.wait().unwrap();
    assert!(orphans.iter().all(|pid| is_alive(pid.trim())));

    let told = found(&dead, &[], "orphans");
    assert!(told.starts_with("warn: ") && told.contains("of 1 attempt outlived their keeper (thread <id>: "), "{told}");
    assert_eq!(found(&dead, &[], "attempts"), "warn: the keeper of 1 open attempt is dead: <id>");
    assert_eq!(found(&live, &["--fix"], "orphans"), "ok: no orphaned agents");
    assert!(orphans.iter().chain(&others).all(|pid| is_alive(pid.trim())), "looking ends nothing");

    let told = found(&dead, &["--fix"], "orphans");
    assert!(told.starts_with("ok: ended ") && told.ends_with("of thread <id>"), "{told}");
    assert!(!orphans.iter().any(|pid| is_alive(pid.trim())));
    assert!(others.iter().all(|pid| is_alive(pid.trim())), "an agent with a keeper goes on");
    assert_eq!(found(&dead, &[], "orphans"), "ok: no orphaned agents");

    Command::new("kill").arg(other_window.id().to_string()).status().unwrap();
    other_window.wait().unwrap();
    assert!(!others.iter().any(|pid| is_alive(pid.trim())));
}

#[test]
fn dangling_names_are_reported() {
    let home = home();
    let hash = home.put("count-rounds", &counting_workflow(3));
    assert_eq!(found(&home, &[], "workflows"), "ok: 1 registered");
    fs::remove_file(home.root().join("cas").join(format!("{hash}.bin"))).unwrap();
    let nowhere = format!("ok: 1 registered\nfail: `count-rounds`: node {hash} is missing");
    assert_eq!(found(&home, &[], "workflows"), nowhere);
    fs::remove_file(home.root().join("registry.yaml")).unwrap();
    let gone = found(&home, &[], "workflows");
    assert_eq!(gone, "warn: <dir>/root/registry.yaml is gone, so no workflow has a name");
    let started = home.uwf(&["thread", "start", "count-rounds", "-p", "count"]);
    assert_eq!(started.code, Some(69));
    assert!(started.stderr.contains("registry.yaml is gone: the workflows are in the store"), "{started:?}");
}

#[test]
fn caller_inside_agent_is_not_orphan() {
    let home = home();
    let asking =
        "#!/bin/sh\ncat > /dev/null\n\"$UWF_BIN\" doctor --fix --format json > doctor.json\necho '{\"n\": 1}'\n";
    home.worker("output: json", asking);
    let thread = home.start_counting(3, "count");
    assert_eq!(home.json(&["thread", "step", &thread])["role"], json!("worker"));
    let report: Value = serde_json::from_str(&fs::read_to_string(home.work().join("doctor.json")).unwrap()).unwrap();
    let orphans = report["checks"].as_array().unwrap().iter().find(|check| check["check"] == "orphans").unwrap();
    assert_eq!(orphans["message"], json!("no orphaned agents"));
}

#[test]
fn incomplete_thread_and_damaged_record_are_reported() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let [holed, garbled] = ["x", "y"].map(|prompt| home.start_counting(3, prompt));
    let first = uwf_testing::text(&home.json(&["thread", "step", &holed]), "head");
    home.json(&["thread", "step", &holed]);
    let doctor = || home.uwf(&["doctor", "--offline", "--format", "text"]).stdout;
    assert!(!doctor().contains("cannot be read") && !doctor().contains("damaged"), "{}", doctor());
    std::fs::remove_file(home.root().join(format!("cas/{first}.bin"))).unwrap();
    assert!(doctor().contains(&format!("1 thread cannot be read: {holed}")), "{}", doctor());
    std::fs::write(home.record_file(&garbled), "garbage\n").unwrap();
    assert!(doctor().contains("the records of 1 thread are damaged"), "{}", doctor());
    let step = home.uwf(&["thread", "step", &garbled]);
    assert_eq!(step.code, Some(65), "{}", step.transcript());
    assert!(step.stderr.contains("the thread loses the agents and limits it was started with"), "{}", step.stderr);
}

/// Gives a root this number of further threads with the head of a thread, as if it had been forked.
fn add_threads(home: &TestHome, thread: &str, count: usize) {
    let (head, record) = (home.head(thread).unwrap(), fs::read(home.record_file(thread)).unwrap());
    let ids: Vec<String> = (0..count).map(|number| format!("01K00000000000000000{number:06}")).collect();
    ids.iter().for_each(|id| fs::write(home.record_file(id), &record).unwrap());
    let index = home.root().join("threads.yaml");
    let lines: String = ids.iter().map(|id| format!("{id}: \"{head}\"\n")).collect();
    fs::write(&index, lines + &fs::read_to_string(&index).unwrap()).unwrap();
}

/// Overwrites a file, which keeps its size and its time.
fn garble(path: &Path) {
    let before = fs::metadata(path).unwrap();
    let file = fs::File::options().write(true).open(path).unwrap();
    file.write_all_at(&vec![b'x'; usize::try_from(before.len()).unwrap()], 0).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
}

#[test]
fn examination_reads_again_what_changed() {
    for is_posix in [false, true] {
        let home = if is_posix { as_posix(home) } else { home() };
        home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
        let thread = home.start_counting(3, "count");
        home.json(&["thread", "step", &thread]);
        add_threads(&home, &thread, 220);
        let other = home.start("count-rounds", "another task");
        let fails = || {
            let checks = checks(&home, &["--offline"]);
            let fails = checks.iter().filter(|check| check["status"] == "fail");
            fails.map(|check| home.steady(&text(check, "message"))).collect::<Vec<_>>()
        };
        assert_eq!(fails(), Vec::<String>::new());
        let node = home.root().join(format!("cas/{}.bin", home.head(&other).unwrap()));
        let record = home.record_file(&other);
        let unreadable = "1 thread cannot be read: <id>";
        let damaged = "the records of 1 thread are damaged, their agents and limits are lost: <id>";
        garble(&node);
        garble(&record);
        let found: &[&str] = if is_posix { &[unreadable, damaged] } else { &[] };
        assert_eq!(fails(), found, "without a boot id, each file is read");
        for file in [&node, &record] {
            fs::File::open(file).unwrap().set_modified(SystemTime::now()).unwrap();
        }
        assert_eq!(fails(), [unreadable, damaged]);
        assert_eq!(fails(), [unreadable, damaged], "damage is not kept");
    }
}

mod with_tools {
    use super::*;

    #[test]
    fn examination_of_many_threads_opens_few_files() {
        let home = home();
        home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
        let thread = home.start_counting(3, "count");
        home.json(&["thread", "step", &thread]);
        add_threads(&home, &thread, 220);
        let opened = || {
            let log = home.work().join("strace");
            let mut strace = Command::new("strace");
            home.prepare(&mut strace);
            strace.args(["-f", "-qq", "-e", "trace=openat,open", "-o"]).arg(&log);
            strace.args([uwf_testing::uwf_program(), "doctor", "--offline"]);
            assert!(strace.output().expect("strace is installed").status.success());
            let calls = fs::read_to_string(&log).unwrap();
            calls.lines().filter(|call| ["/threads/", "/cas/", "/chains/"].iter().any(|dir| call.contains(dir))).count()
        };
        let first = opened();
        assert!(first > 220, "each thread is read once: {first}");
        // The lock of the thread that had a step, and the node of the workflow.
        assert!(opened() < 10, "{}", opened());
    }

    /// Records are written before the head. If `thread start` is killed in between, records of a thread without a head remain.
    #[test]
    fn records_of_unstarted_thread_are_removed() {
        let home = home();
        home.put("count-rounds", &counting_workflow(3));
        let start = ["thread", "start", "count-rounds", "-p", "count"];
        let mut command = Command::new("strace");
        home.prepare(&mut command);
        // The first that is replaced is the index.
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", "inject=renameat:signal=SIGKILL:when=1"]);
        command.arg(home.command(&start).get_program()).args(start);
        assert_eq!(command.status().expect("strace is installed").code(), None);
        let [record] = home.records("").try_into().unwrap();
        let none = "ok: 0 active threads, 0 finished";
        assert_eq!(found(&home, &["--fix"], "threads"), none, "it may be a command that is at it");
        let record = fs::File::open(record).unwrap();
        record.set_modified(SystemTime::now() - Duration::from_hours(2)).unwrap();
        record.lock().unwrap();
        assert_eq!(found(&home, &["--fix"], "threads"), none, "it is one that takes its time");
        record.unlock().unwrap();
        let told = "warn: this machine has records of 1 thread whose command was killed before the start: <id>";
        assert_eq!(found(&home, &[], "threads"), format!("{none}\n{told}"));
        let thread = home.start("count-rounds", "count");
        let removed = "ok: 1 active thread, 0 finished\nok: removed the records of 1 thread that never started";
        assert_eq!(found(&home, &["--fix"], "threads"), removed);
        assert_eq!(home.records(""), home.records(&thread));
    }

    /// The head is set before its record says so: killed in between, `thread start` leaves a thread like any other.
    #[test]
    fn thread_survives_killed_start_command() {
        let home = home();
        home.put("count-rounds", &counting_workflow(2));
        home.script("worker", "#!/bin/sh\ncat > /dev/null\npwd > where\necho '{\"n\": 1}'\n");
        home.config("agents:\n  w: { command: worker, output: json }\n");
        let elsewhere = home.work().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let start = ["thread", "start", "count-rounds", "-p", "count", "--cwd", "elsewhere", "--agent", "worker=w"];
        let mut command = Command::new("strace");
        home.prepare(&mut command);
        // The sixth: the nodes are held twice, and once let go; after the record and the index were locked, the index is given
        // back, and the head is set.
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", "inject=flock:signal=SIGKILL:when=6"]);
        command.arg(home.command(&start).get_program()).args(start);
        assert_eq!(command.status().expect("strace is installed").code(), None);
        let listed = home.json(&["thread", "list"]);
        let thread = text(&listed[0], "thread");
        assert!(!fs::read_to_string(home.record_file(&thread)).unwrap().contains("begun\""));
        assert_eq!(found(&home, &[], "threads"), "ok: 1 active thread, 0 finished");
        fs::remove_file(home.root().join("threads.yaml")).unwrap();
        assert_eq!(home.json(&["recover"])["threads"][0]["from"], "settings");
        home.json(&["thread", "step", &thread]);
        assert!(elsewhere.join("where").exists(), "its agent works where it was told to");
        assert_eq!(home.json(&["thread", "list"])[0]["thread"], thread.as_str());
    }
}
