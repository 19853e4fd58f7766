//! A storage root that uwf creates is its owner's alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use uwf_testing::{FinishedRun, TestHome, counting_workflow};

use crate::home;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Runs a command on a storage root that is missing, below a missing directory, with the umask of shared machines.
fn on_a_missing_root(home: &TestHome, args: &[&str]) -> FinishedRun {
    let root = home.root().join("new/root");
    let words = shlex::try_join(args.iter().copied()).unwrap();
    let mut command = Command::new("sh");
    home.prepare(&mut command);
    command.env("UNCAGED_WORKFLOW_STORAGE_ROOT", root).env("EDITOR", "sed -i 1imaxSteps:5");
    command.args(["-c", &format!("umask 002; exec {} {words}", uwf_testing::uwf_program())]).output().unwrap().into()
}

#[test]
fn writing_commands_create_private_root() {
    let flow = counting_workflow(1);
    let writing: &[&[&str]] = &[
        &["workflow", "put", "flow.yaml"],
        &["workflow", "show", "./flow.yaml"],
        &["thread", "start", "./flow.yaml", "-p", "x"],
        &["run", "./flow.yaml", "-p", "x"],
        &["cas", "put-text", "hello"],
        &["cas", "put", "content", "{\"text\": \"x\"}"],
        &["cas", "schema", "put", "{\"type\": \"string\"}"],
        &["config", "set", "maxSteps", "5"],
        &["setup", "--agent", "mock", "--no-check"],
    ];
    for args in writing {
        let home = home();
        home.file("flow.yaml", &flow);
        let ran = on_a_missing_root(&home, args);
        let root = home.root().join("new/root");
        assert!(root.is_dir(), "{args:?}: {}", ran.stderr);
        assert_eq!((mode(&root), mode(root.parent().unwrap())), (0o700, 0o700), "{args:?}");
    }
}

#[test]
fn other_commands_create_no_public_root() {
    let all: &[&[&str]] = &[
        &["workflow", "list"],
        &["workflow", "rm", "x"],
        &["workflow", "validate", "flow.yaml"],
        &["workflow", "rollback", "x"],
        &["thread", "list"],
        &["thread", "list", "--all"],
        &["thread", "show", "@"],
        &["thread", "kill", "01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        &["thread", "rm", "01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        &["thread", "pause", "01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        &["thread", "step", "01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        &["thread", "fork", "01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        &["cas", "list"],
        &["cas", "verify"],
        &["cas", "reindex"],
        &["cas", "put", "content", "{}"],
        &["config", "list"],
        &["config", "unset", "maxSteps"],
        &["config", "validate"],
        &["config", "edit"],
        &["doctor"],
        &["doctor", "--fix"],
        &["recover"],
    ];
    for args in all {
        let home = home();
        home.file("flow.yaml", &counting_workflow(1));
        on_a_missing_root(&home, args);
        let root = home.root().join("new/root");
        assert!(!root.exists() || mode(&root) == 0o700, "{args:?} creates {:o}", mode(&root));
    }
}

#[test]
fn a_root_that_is_there_keeps_its_permissions() {
    let home = home();
    fs::set_permissions(home.root(), fs::Permissions::from_mode(0o2770)).unwrap();
    home.json(&["cas", "put-text", "hello"]);
    home.json(&["config", "set", "maxSteps", "5"]);
    assert_eq!(mode(&home.root()), 0o2770);
}
