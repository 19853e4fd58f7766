//! `uwf init workspace`: a project that runs at once.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use uwf_testing::{FinishedRun, TestHome};

use crate::home;

/// Runs what was printed as a person would type it.
pub(crate) fn typed(home: &TestHome, command: &str) -> FinishedRun {
    let uwf = home.bin_dir().join("uwf");
    if !uwf.exists() {
        std::os::unix::fs::symlink(uwf_testing::uwf_program(), uwf).unwrap();
    }
    let mut shell = Command::new("sh");
    home.prepare(&mut shell);
    shell.args(["-c", command]).stdin(Stdio::null()).output().unwrap().into()
}

#[test]
fn created_files_run_at_once() {
    let home = home();
    insta::assert_snapshot!(home.transcript(&["init", "workspace", "--format", "text"]), @"
    exit 0
    wrote .workflows/review.yaml
    wrote .workflows/mock/review.yaml
    wrote .workflows/config.yaml
    wrote .workflows/schemas/workflow.json
    wrote .workflows/schemas/config.json
    wrote .workflows/schemas/mock.json
    note: <dir>/work is not in a git repository; to undo this, remove .workflows

    play it with its script in place of agents:
      uwf run review -p 'Write about cats' --agent 'uwf-mock .workflows/mock/review.yaml'
    with your own agents: uwf setup, then the same without --agent
    ");
    let again = home.json(&["init", "workspace"]);
    assert_eq!((&again["written"], again["kept"].as_array().map(Vec::len)), (&json!([]), Some(6)));
    let ran = typed(&home, again["next"].as_str().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.json()["done"], true);
    let ran = home.uwf(&["workflow", "validate", "--strict"]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert!(!ran.stderr.contains("trust"), "{}", ran.stderr);
    assert_eq!(home.uwf(&["config", "trust"]).code, Some(0));
}

#[test]
fn place_outside_a_repository_is_noted() {
    let home = home();
    for dir in ["place", "repository/.git"] {
        fs::create_dir_all(home.work().join(dir)).unwrap();
    }
    let notes = |dir: &str| home.json(&["init", "workspace", dir])["notes"].clone();
    let note = format!(
        "{} is not in a git repository; to undo this, remove place/.workflows",
        home.work().join("place").display()
    );
    assert_eq!(notes("place"), json!([note]));
    for dir in ["place", "repository", "new"] {
        assert_eq!(notes(dir), Value::Null, "{dir}");
    }
}

#[test]
fn another_directory_is_made_and_gone_into() {
    let home = home();
    let begun = home.json(&["init", "workspace", "a b/new", "--template", "research"]);
    assert_eq!(begun["workflow"], "research");
    let next = begun["next"].as_str().unwrap();
    assert!(next.starts_with("cd 'a b/new' && uwf run research"), "{next}");
    assert_eq!(typed(&home, next).json()["done"], true);
}

/// The editor finds the schema from where the file is, without a network.
#[test]
fn files_reference_existing_schemas_and_match_them() {
    let home = home();
    let begun = home.json(&["init", "workspace"]);
    let mut looked_at = 0;
    for path in begun["written"].as_array().unwrap() {
        let path = home.work().join(path.as_str().unwrap());
        let text = fs::read_to_string(&path).unwrap();
        if path.extension() == Some("json".as_ref()) {
            assert!(text.starts_with("{\n  \"$schema\""), "{text}");
            continue;
        }
        looked_at += 1;
        let named = text.lines().next().unwrap().strip_prefix("# yaml-language-server: $schema=").unwrap();
        let schema = fs::read_to_string(path.parent().unwrap().join(named)).unwrap();
        let schema: Value = serde_json::from_str(&schema).unwrap();
        // A file of comments sets nothing.
        let Ok(document) = uwf_core::document::SourceDocument::parse(&text, "f.yaml") else {
            assert!(path.ends_with("config.yaml"));
            continue;
        };
        assert_eq!(
            json_cas::CompiledSchema::compile(&schema).unwrap().violations(&document.value),
            [],
            "{}",
            path.display()
        );
    }
    assert_eq!(looked_at, 3);
}

/// What stands behind `# ` in the configuration is one that could be used.
#[test]
fn the_examples_in_the_configuration_are_valid() {
    let home = home();
    home.uwf(&["init", "workspace"]);
    let path = home.work().join(".workflows/config.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().skip(4).map(|line| line.strip_prefix("# ").unwrap()).collect();
    fs::write(&path, lines.join("\n")).unwrap();
    let trusted = home.uwf(&["config", "trust"]);
    assert_eq!(trusted.code, Some(0), "{}", trusted.transcript());
    assert!(!trusted.stderr.contains("warning"), "{}", trusted.stderr);
    assert_eq!(home.json(&["config", "get", "maxSteps"]), 40);
}

#[test]
fn a_file_that_is_there_is_never_overwritten() {
    let home = home();
    for name in ["review.yaml", "config.yaml", "mock/review.yaml"] {
        let path = home.work().join(".workflows").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "mine").unwrap();
        let ran = home.uwf(&["init", "workspace"]);
        assert_eq!(ran.code, Some(64), "{}", ran.transcript());
        assert!(ran.stderr.contains(&format!(".workflows/{name} is there already")), "{}", ran.stderr);
        assert!(ran.stderr.contains("uwf init workflow NAME"), "{}", ran.stderr);
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        let others: Vec<_> = fs::read_dir(home.work().join(".workflows")).unwrap().collect();
        assert_eq!(others.len(), 1, "nothing else was written: {others:?}");
        fs::remove_dir_all(home.work().join(".workflows")).unwrap();
    }
}

#[test]
fn existing_link_or_directory_is_kept() {
    let home = home();
    let dir = home.work().join(".workflows");
    fs::create_dir_all(dir.join("review.yaml")).unwrap();
    assert_eq!(home.uwf(&["init", "workspace"]).code, Some(64));
    fs::remove_dir(dir.join("review.yaml")).unwrap();
    std::os::unix::fs::symlink("nowhere", dir.join("review.yaml")).unwrap();
    assert_eq!(home.uwf(&["init", "workspace"]).code, Some(64));
    assert!(!dir.join("nowhere").exists());
}

#[test]
fn schema_of_another_version_is_kept_and_reported() {
    let home = home();
    home.file(".workflows", "");
    fs::remove_file(home.work().join(".workflows")).unwrap();
    fs::create_dir_all(home.work().join(".workflows/schemas")).unwrap();
    home.file(".workflows/schemas/mock.json", "{}");
    let ran = home.uwf(&["init", "workspace", "--format", "text"]);
    assert!(ran.stdout.contains("note: .workflows/schemas/mock.json is of another version"), "{}", ran.stdout);
    assert_eq!(fs::read_to_string(home.work().join(".workflows/schemas/mock.json")).unwrap(), "{}");
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let home = home();
    let path = home.file("project", "a file");
    let ran = home.uwf(&["init", "workspace", "project"]);
    assert_eq!(ran.code, Some(74), "{}", ran.transcript());
    assert!(ran.stderr.contains("project/.workflows"), "{}", ran.stderr);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o555)).unwrap();
    // Nothing is closed to root.
    if fs::write(path.join("probe"), "").is_err() {
        assert_eq!(home.uwf(&["init", "workspace", "project"]).code, Some(74));
    }
    let ran = home.uwf(&["init", "workspace", "/dev/null/nothing"]);
    assert_eq!(ran.code, Some(74), "{}", ran.transcript());
}

#[test]
fn two_at_once_make_one_project() {
    let home = home();
    let running: Vec<_> = (0..6)
        .map(|_| home.command(&["init", "workspace"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
        .collect();
    let mut written = 0;
    for child in running {
        let ran: FinishedRun = child.wait_with_output().unwrap().into();
        written += ran.json()["written"].as_array().unwrap().len();
    }
    assert_eq!(written, 6, "each file was made once");
}

#[test]
fn init_without_command_points_to_help() {
    let ran = home().uwf(&["init"]);
    assert_eq!(ran.code, Some(64));
    assert!(ran.stderr.contains("uwf init --help"), "{}", ran.stderr);
    let help = home().uwf(&["init", "--help"]);
    assert!(help.stdout.contains("workspace") && help.stdout.contains("workflow"), "{}", help.stdout);
}

mod with_tools {
    use super::*;

    /// Each call that makes a file fails once, or is the last; what is there then is whole, and the same command again makes the rest.
    #[test]
    fn interrupted_init_leaves_complete_files_and_resumes() {
        let home = home();
        let mut hit = 0;
        for (fault, call) in [
            ("error=ENOSPC", "write"),
            ("error=ENOSPC", "fsync"),
            ("error=ENOSPC", "linkat"),
            ("error=ENOSPC", "renameat2"),
            ("signal=KILL", "fsync"),
            ("signal=KILL", "linkat"),
            ("signal=KILL", "renameat2"),
        ] {
            for at in 1..=6 {
                let project = format!("{call}-{}-{at}", &fault[..5]);
                let mut strace = Command::new("strace");
                home.prepare(&mut strace);
                strace.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("inject={call}:{fault}:when={at}")]);
                let run = strace.args([uwf_testing::uwf_program(), "init", "workspace", &project]);
                let ran: FinishedRun = run.output().unwrap().into();
                let is_killed = ran.code.is_none_or(|code| code == 137);
                assert!(is_killed || matches!(ran.code, Some(0 | 74)), "{call} {at}: {}", ran.transcript());
                hit += usize::from(ran.code != Some(0));
                let dir = home.work().join(&project).join(".workflows");
                for name in ["review.yaml", "mock/review.yaml", "config.yaml"] {
                    let text = fs::read_to_string(dir.join(name)).unwrap_or_default();
                    let is_whole = text.starts_with("# yaml-language-server") && text.ends_with('\n');
                    assert!(!dir.join(name).exists() || is_whole, "{call} {at}: {name}: {text}");
                }
                let again = home.json(&["init", "workspace", &project]);
                let files = [&again["written"], &again["kept"]].map(|list| list.as_array().unwrap().len());
                assert_eq!(files.iter().sum::<usize>(), 6, "{call} {at}: {again}");
                let left: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
                assert!(is_killed || left.len() == 4, "a temporary file is left after {call} {at}: {left:?}");
            }
        }
        assert!(hit >= 12, "only {hit} calls were hit");
    }
}
