//! `uwf agent link`: names by which the built-in agents can be called.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use uwf_testing::{FinishedRun, TestHome};

use crate::fixtures::built_in::{output, with_mock};

/// Calls a link to uwf.
fn call(home: &TestHome, path: &Path, args: &[&str]) -> FinishedRun {
    let mut command = Command::new(path);
    home.prepare(&mut command);
    command.args(args).output().unwrap().into()
}

#[test]
fn links_give_every_built_in_agent_its_name() {
    let (home, thread) = with_mock();
    let first = home.json(&["agent", "link", "tools"]);
    let dir = home.work().join("tools");
    assert_eq!(fs::read_dir(&dir).unwrap().count(), first["links"].as_array().unwrap().len());
    assert!(first["links"].as_array().unwrap().iter().all(|link| link["made"] == json!(true)), "{first}");
    let ran = call(&home, &dir.join("uwf-mock"), &[&thread, "worker"]);
    assert_eq!(output(&home, &ran), json!({"n": 5}));
    let described = call(&home, &dir.join("uwf-hermes"), &["--uwf-describe"]);
    let described: serde_json::Value = serde_json::from_str(&described.stdout).unwrap();
    assert_eq!(described["name"], "hermes");
    // Again, with one that leads nowhere since its uwf has moved, and one that is missing.
    fs::remove_file(dir.join("uwf-acp")).unwrap();
    fs::remove_file(dir.join("uwf-llm")).unwrap();
    symlink("/no/such/uwf", dir.join("uwf-llm")).unwrap();
    let again = home.json(&["agent", "link", "tools"]);
    let made = again["links"].as_array().unwrap().iter().filter(|link| link["made"] == json!(true));
    assert_eq!(made.count(), 2, "{again}");
    fs::remove_file(dir.join("uwf-acp")).unwrap();
    fs::remove_file(dir.join("uwf-react")).unwrap();
    fs::write(dir.join("uwf-react"), "somebody else's").unwrap();
    insta::assert_snapshot!(home.transcript(&["agent", "link", "tools"]), @"
    exit 64
    --- stderr
    error: <dir>/work/tools/uwf-react is another program
    hint: nothing was changed; move it away, or choose another directory
    ");
    assert!(!dir.join("uwf-acp").exists(), "nothing is changed then");
}

/// A built-in agent whose name is on PATH is still the one that uwf knows: it gets its model's key, for instance.
#[test]
fn link_on_path_runs_built_in_agent() {
    let (home, thread) = with_mock();
    home.json(&["agent", "link", &home.bin_dir().display().to_string()]);
    let described = home.json(&["agent", "describe", "m"]);
    assert_eq!(described["runs"]["builtIn"], "mock");
    assert_eq!(home.json(&["thread", "step", &thread])["alias"], "m");
}

#[test]
fn under_any_other_name_it_is_uwf() {
    let (home, _) = with_mock();
    for name in ["uwf-1.2", "uwf-nightly", "uwf-mocker", "uwf-reextract", "flow"] {
        let link = home.bin_dir().join(name);
        symlink(uwf_testing::uwf_program(), &link).unwrap();
        let ran = call(&home, &link, &["--version"]);
        assert!(ran.code == Some(0) && ran.stdout.starts_with("uwf "), "{name}: {ran:?}");
        assert_eq!(call(&home, &link, &["thread", "list"]).code, Some(0), "{name}");
    }
}
