//! Two people with one storage root: it works for a group the root is set up for, else each command says whose it is.

use std::fs;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use uwf_testing::processes::until;
use uwf_testing::{FinishedRun, TestHome, counting_workflow};

use crate::home;

/// Two people and their group, none of which any system has.
const ANNA: u32 = 64_301;

const BERT: u32 = 64_302;

const GROUP: u32 = 64_300;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// The program, in a place that others may enter: a checkout of root may be in a directory for root alone.
fn program(home: &TestHome) -> PathBuf {
    let built = Path::new(uwf_testing::uwf_program());
    let is_open = |dir: &Path| fs::metadata(dir).is_ok_and(|found| found.permissions().mode() & 0o001 != 0);
    if built.ancestors().all(is_open) {
        return built.to_owned();
    }
    let copy = home.work().join("uwf-program");
    if !copy.exists() {
        fs::copy(built, &copy).unwrap();
    }
    copy
}

/// `uwf` as one of them, with a umask that leaves the group what the owner may do.
fn command_as(home: &TestHome, uid: u32, args: &[&str]) -> Command {
    let mut command = Command::new("sh");
    home.prepare(&mut command);
    command.arg("-c").arg("umask 002; exec \"$0\" \"$@\"").arg(program(home)).args(args);
    command.uid(uid).gid(GROUP);
    command
}

fn run_as(home: &TestHome, uid: u32, args: &[&str]) -> FinishedRun {
    command_as(home, uid, args).output().unwrap().into()
}

fn start_as(home: &TestHome, uid: u32) -> Child {
    command_as(home, uid, &["thread", "step", &last(home)]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn last(home: &TestHome) -> String {
    let index = fs::read_to_string(home.root().join("threads.yaml")).unwrap();
    index.lines().last().unwrap().split(':').next().unwrap().to_owned()
}

/// A root in which Anna has made a step. It takes the rights of root to be two people.
fn of_anna(root_mode: u32) -> (TestHome, String) {
    assert!(
        rustix::process::geteuid().is_root(),
        "only root can be two people: run this test as root, or leave it out with `-E 'not test(sharing)'`"
    );
    let home = home();
    home.script(
        "worker",
        "#!/bin/sh\ncat > /dev/null\n[ -e slow ] && echo x > working && sleep 600\necho '{\"n\": 1}'\n",
    );
    home.config("agents:\n  w: { command: worker, output: json }\ndefaultAgent: w\nkillGrace: 0.3\n");
    let workflow = home.file("count-rounds.yaml", &counting_workflow(9));
    mode(home.root().parent().unwrap(), 0o755);
    for (dir, dir_mode) in [(home.root(), root_mode), (home.work(), 0o2775)] {
        chown(&dir, Some(ANNA), Some(GROUP)).unwrap();
        mode(&dir, dir_mode);
    }
    chown(home.root().join("config.yaml"), Some(ANNA), Some(GROUP)).unwrap();
    let run = |args: &[&str]| {
        let ran = run_as(&home, ANNA, args);
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        ran
    };
    run(&["workflow", "put", workflow.to_str().unwrap()]);
    let thread = uwf_testing::text(&run(&["thread", "start", "count-rounds", "-p", "count"]).json(), "thread");
    run(&["thread", "step", &thread]);
    (home, thread)
}

#[test]
fn group_members_share_root() {
    let (home, thread) = of_anna(0o2775);
    let attempts = home.root().join("threads").join(&thread).join("attempts");
    assert_eq!(fs::metadata(&attempts).unwrap().permissions().mode() & 0o777, 0o770);
    for args in [["thread", "step", &thread], ["thread", "kill", &thread], ["thread", "rm", &thread]] {
        let ran = run_as(&home, BERT, &args);
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
    }
    let doctor = run_as(&home, BERT, &["doctor", "--offline"]);
    assert!(!doctor.stdout.contains("do not belong to the group"), "{doctor:?}");
}

#[test]
fn killing_agents_of_another_user_fails_immediately() {
    let (home, thread) = of_anna(0o2775);
    home.file("slow", "");
    let mut window = start_as(&home, ANNA);
    until("her agent is at work", || home.work().join("working").exists());
    let before = home.head(&thread);
    let ran = run_as(&home, BERT, &["thread", "kill", &thread]);
    assert_eq!(ran.code, Some(75), "{ran:?}");
    assert!(ran.stderr.contains(&format!("thread {thread} is being stepped by user {ANNA}")), "{ran:?}");
    assert_eq!(home.head(&thread), before, "nothing was changed");
    assert_eq!(run_as(&home, ANNA, &["thread", "kill", &thread]).code, Some(0));
    window.wait().unwrap();
}

#[test]
fn two_people_watch_each_others_threads() {
    let (home, thread) = of_anna(0o2775);
    home.file("slow", "");
    let mut window = start_as(&home, ANNA);
    until("her agent is at work", || home.work().join("working").exists());
    let ps = run_as(&home, BERT, &["thread", "ps"]);
    assert_eq!(ps.json()[0]["thread"], thread.as_str(), "{ps:?}");
    let mut live = command_as(&home, BERT, &["live", &thread, "--format", "json"]);
    let live = live.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It ends with the thread, like a run.
    assert_eq!(run_as(&home, ANNA, &["thread", "kill", &thread]).code, Some(0));
    window.wait().unwrap();
    let watched: FinishedRun = live.wait_with_output().unwrap().into();
    let events: Vec<Value> = watched.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_there =
        |wanted: &[(&str, Value)]| events.iter().any(|event| wanted.iter().all(|(key, value)| event[key] == *value));
    assert!(is_there(&[("event", json!("step")), ("index", json!(1))]), "{watched:?}");
    assert!(is_there(&[("event", json!("end")), ("status", json!("killed"))]), "{watched:?}");
    assert_eq!(watched.code, run_as(&home, BERT, &["run", &thread]).code, "{watched:?}");
}

/// As an earlier build left it, or by a umask of 022.
#[test]
fn inaccessible_files_are_reported_with_owner() {
    let (home, thread) = of_anna(0o2775);
    let attempts = home.root().join("threads").join(&thread).join("attempts");
    mode(&attempts, 0o700);
    for args in [["thread", "step", &thread], ["thread", "kill", &thread]] {
        let ran = run_as(&home, BERT, &args);
        assert_eq!(ran.code, Some(74), "{args:?}: {ran:?}");
        assert!(
            ran.stderr.contains(&format!("attempts cannot be used: it belongs to user {ANNA}")),
            "{args:?}: {ran:?}"
        );
    }
    assert_eq!(run_as(&home, ANNA, &["thread", "kill", &thread]).code, Some(0), "she still can");
    let ran = run_as(&home, BERT, &["thread", "rm", &thread]);
    assert_eq!(ran.code, Some(74), "{ran:?}");
    assert!(ran.stderr.contains(&format!("it belongs to user {ANNA}")), "{ran:?}");
}

/// Needs no other person: what is for the group and what is not, and what `doctor` says of it.
#[test]
fn root_mode_determines_sharing() {
    for (root_mode, expected, told) in [(0o755, 0o700, false), (0o2775, 0o770, false), (0o775, 0o750, true)] {
        let home = home();
        mode(&home.root(), root_mode);
        home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
        let thread = home.start_counting(9, "count");
        home.json(&["thread", "step", &thread]);
        let attempts = home.root().join("threads").join(&thread).join("attempts");
        let found = fs::metadata(&attempts).unwrap().permissions().mode() & 0o777;
        // The umask of whoever runs the test may leave the group less.
        assert!(
            found == expected || found | 0o020 == expected | 0o020 && expected != 0o700,
            "{found:o} in {root_mode:o}"
        );
        let doctor = home.uwf(&["doctor", "--offline"]);
        assert_eq!(doctor.stdout.contains("chmod g+ws"), told, "{doctor:?}");
    }
}
