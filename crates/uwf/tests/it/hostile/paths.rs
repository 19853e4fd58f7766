//! What is given as an id, a name or a hash never becomes a path that leads elsewhere.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use uwf_testing::{TestHome, counting_workflow};

use crate::home;

/// What stands in a file outside the storage root that nobody may read.
const CANARY: &str = "canary-3f9c1d";

/// Names that would lead out of a directory, or elsewhere, if they were made into paths.
fn hostile_names(outside: &Path) -> Vec<String> {
    let mut names: Vec<String> = [
        "..",
        "../canary",
        "../../canary",
        "%2e%2e%2fcanary",
        ".",
        "/",
        "../root/canary",
        "a/../../canary",
        "..\\canary",
        "~",
        "~/canary",
        "$HOME/canary",
        "threads.yaml",
        "../threads.yaml",
        "canary.bin",
        "*",
        "0000000000000/../../canary",
        "00000000000000000000000000/..",
        "０００００００００００００",
        "\u{202e}0000000000000",
        "-",
        " ",
        "",
        "\n",
        "\u{1b}[2J",
    ]
    .map(str::to_owned)
    .into();
    names.push(outside.display().to_string());
    names.push("../".repeat(40) + "etc/passwd");
    names.push("A".repeat(5000));
    names
}

/// Every file below a directory with its bytes, links not followed.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files(&entry.path()));
        } else if kind.is_file() {
            found.insert(entry.path(), fs::read(entry.path()).unwrap());
        }
    }
    found
}

/// A home with a thread that has one step, and the canary beside its root.
fn with_canary() -> (TestHome, String, PathBuf) {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(5, "count");
    home.json(&["thread", "step", &thread]);
    let canary = home.root().parent().unwrap().join("canary");
    fs::write(&canary, CANARY).unwrap();
    fs::write(home.root().parent().unwrap().join("canary.bin"), CANARY).unwrap();
    (home, thread, canary)
}

#[test]
fn names_that_are_paths_reach_no_file() {
    let (home, thread, canary) = with_canary();
    let around = home.root().parent().unwrap().to_owned();
    let before = files(&around);
    let commands: Vec<Vec<&str>> = vec![
        vec!["thread", "show", "NAME"],
        vec!["thread", "read", "NAME"],
        vec!["thread", "steps", "NAME"],
        vec!["thread", "step-details", "NAME"],
        vec!["thread", "step", "NAME"],
        vec!["thread", "kill", "NAME"],
        vec!["thread", "rm", "NAME"],
        vec!["thread", "pause", "NAME"],
        vec!["thread", "fork", "NAME"],
        vec!["cas", "get", "NAME"],
        vec!["cas", "refs", "NAME"],
        vec!["cas", "walk", "NAME"],
        vec!["cas", "has", "NAME"],
        vec!["cas", "verify", "NAME"],
        vec!["cas", "list", "--type", "NAME"],
        vec!["cas", "schema", "get", "NAME"],
        vec!["cas", "put", "NAME", "-"],
        vec!["workflow", "history", "NAME"],
        vec!["workflow", "show", "NAME"],
        vec!["workflow", "graph", "NAME"],
        vec!["workflow", "rollback", "NAME"],
        vec!["workflow", "rollback", "count-rounds", "NAME"],
        vec!["thread", "start", "NAME", "-p", "x"],
        vec!["thread", "resume", "NAME"],
        vec!["thread", "answer", "NAME", "--data", "{}"],
        vec!["thread", "eval", "NAME", "1"],
        vec!["thread", "fork", &thread, "--from-role", "NAME"],
        vec!["workflow", "rm", "NAME"],
        vec!["agent", "context", "NAME", "worker"],
        vec!["agent", "context", &thread, "NAME"],
        vec!["agent", "describe", "NAME"],
        vec!["agent", "submit", "NAME", "worker", "--data", "{\"n\": 1}"],
        vec!["agent", "submit", &thread, "NAME", "--data", "{\"n\": 1}"],
        vec!["agent", "mcp", "NAME", "worker"],
        vec!["agent", "run", "mock", "NAME", "worker"],
    ];
    // Every name where it stands for a thread, a node, a workflow and a role; the first ones wherever a name can stand.
    let everywhere = 4;
    let leading = ["show", "get", "history", "context"];
    for (number, name) in hostile_names(&canary).into_iter().enumerate() {
        for command in commands.iter().filter(|command| number < everywhere || leading.contains(&command[1])) {
            let args: Vec<&str> =
                command.iter().map(|word| if *word == "NAME" { name.as_str() } else { *word }).collect();
            let ran = home.uwf(&args);
            assert!(matches!(ran.code, Some(64 | 65 | 69 | 78)), "{args:?}: {ran:?}");
            assert!(!format!("{}{}", ran.stdout, ran.stderr).contains(CANARY), "{args:?}: {ran:?}");
            assert!(!ran.stderr.contains("panicked"), "{args:?}: {ran:?}");
        }
    }
    assert_eq!(files(&around), before, "no file was made, changed or removed");
}

/// An attempt is named by its agent's environment, and files of it are named after it.
#[test]
fn an_agent_cannot_make_its_attempt_a_path() {
    let (home, thread, _) = with_canary();
    let root = home.root();
    let submitted = |attempt: &str| {
        let mut submit = home.command(&["agent", "submit", &thread, "worker", "--data", "{\"n\": 1}"]);
        submit.env("UWF_ATTEMPT", attempt).output().unwrap()
    };
    assert!(submitted("").status.success(), "what is refused below is refused for its attempt");
    let before = files(root.parent().unwrap());
    for attempt in ["../../canary", "/canary", "..", "a/b", "00000000000000000000000000/../../canary"] {
        let ran = submitted(attempt);
        let told = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(!told.contains(CANARY) && !told.contains("panicked"), "{attempt}: {told}");
        let new: Vec<PathBuf> =
            files(root.parent().unwrap()).into_keys().filter(|path| !before.contains_key(path)).collect();
        let is_node = |path: &PathBuf| path.parent() == Some(&root.join("cas"));
        assert!(new.iter().all(is_node), "{attempt}: {new:?}");
    }
}

#[test]
fn a_workflow_file_cannot_name_paths() {
    let home = home();
    for name in ["../evil", "/evil", "a/b", "..", ".", "a\\0b"] {
        let quoted = serde_json::to_string(name).unwrap();
        let named = counting_workflow(1).replace("name: count-rounds", &format!("name: {quoted}"));
        let file = home.file("w.yaml", &named);
        assert_eq!(home.uwf(&["workflow", "put", file.to_str().unwrap()]).code, Some(65), "workflow {name}");
        let role = counting_workflow(1).replace("worker", &quoted);
        let file = home.file("w.yaml", &role);
        let ran = home.uwf(&["workflow", "put", file.to_str().unwrap()]);
        assert!(matches!(ran.code, Some(0 | 65)), "role {name}: {ran:?}");
    }
    let outside: Vec<PathBuf> = files(home.root().parent().unwrap()).into_keys().collect();
    assert!(!outside.iter().any(|path| path.to_string_lossy().contains("evil")), "{outside:?}");
}

/// A node that is a link to a file elsewhere is no node, and what it leads to is not told.
#[test]
fn link_in_store_never_leaks_target() {
    let (home, _, canary) = with_canary();
    let name = "0123456789ABC";
    symlink(&canary, home.root().join("cas").join(format!("{name}.bin"))).unwrap();
    for args in [vec!["cas", "get", name], vec!["cas", "verify"], vec!["cas", "list"]] {
        let ran = home.uwf(&args);
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains(CANARY), "{args:?}: {ran:?}");
    }
    assert_eq!(home.uwf(&["cas", "get", name]).code, Some(65));
    assert_eq!(fs::read_to_string(canary).unwrap(), CANARY);
}
