//! Commands called in a directory that was deleted, or whose path is no UTF-8.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use uwf_testing::{FinishedRun, TestHome, text};

use crate::fixtures::answering::counting_home;

/// Runs a command in a directory that is deleted before.
fn nowhere(home: &TestHome, args: &[&str]) -> FinishedRun {
    let mut command = Command::new("sh");
    home.prepare(&mut command);
    let words = shlex::try_join(args.iter().copied()).unwrap();
    let script = format!("mkdir gone && cd gone && rmdir ../gone && exec {} {words}", uwf_testing::uwf_program());
    command.args(["-c", &script]).output().unwrap().into()
}

#[test]
fn a_deleted_directory_stops_only_what_needs_it() {
    let home = counting_home(2);
    let thread = home.start("count-rounds", "count");
    let work = home.work();
    let work = work.to_str().unwrap();
    for args in [
        &["thread", "list"][..],
        &["thread", "show", &thread],
        &["thread", "read", &thread],
        &["thread", "step", &thread],
        &["thread", "fork", &thread],
        &["thread", "start", "count-rounds", "-p", "x", "--cwd", work],
        &["run", &thread],
        &["workflow", "list"],
        &["workflow", "show", "count-rounds"],
        &["cas", "put-text", "x"],
        &["cas", "verify"],
        &["config", "set", "maxSteps", "9"],
        &["doctor"],
        &["help", "thread"],
    ] {
        let ran = nowhere(&home, args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
    }
    let head = home.head(&home.start("count-rounds", "again")).unwrap();
    for args in [&["thread", "start", "count-rounds", "-p", "x"][..], &["thread", "fork", &head]] {
        let ran = nowhere(&home, args);
        assert_eq!(ran.code, Some(74), "{args:?}");
    }
    let ran = nowhere(&home, &["thread", "start", "count-rounds", "-p", "x"]);
    assert!(
        ran.stderr.contains("the current directory was deleted") && ran.stderr.contains("--cwd DIR"),
        "{}",
        ran.stderr
    );
}

#[test]
fn non_utf8_workspace_is_bad_data() {
    let home = counting_home(2);
    let strange = home.work().join(OsStr::from_bytes(b"w\xffs"));
    fs::create_dir(&strange).unwrap();
    let in_strange = |args: &[&str]| FinishedRun::from(home.command(args).current_dir(&strange).output().unwrap());
    let thread = home.start("count-rounds", "count");
    let head = home.head(&thread).unwrap();
    for args in [
        &["thread", "start", "count-rounds", "-p", "x"][..],
        &["run", "count-rounds", "-p", "x"],
        &["thread", "fork", &head],
        &["thread", "fork", &thread, "--cwd", "."],
        &["thread", "step", &thread, "--cwd", "."],
    ] {
        let ran = in_strange(args);
        assert_eq!(ran.code, Some(65), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("the path of the workspace is not UTF-8"), "{}", ran.stderr);
    }
    let listed = home.json(&["thread", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "nothing was begun: {listed}");
    assert_eq!(text(&in_strange(&["thread", "step", &thread]).json(), "thread"), thread, "it works elsewhere");
    let work = home.work();
    let elsewhere = ["thread", "start", "count-rounds", "-p", "x", "--cwd", work.to_str().unwrap()];
    assert_eq!(in_strange(&elsewhere).code, Some(0));
}
