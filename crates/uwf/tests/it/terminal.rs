//! A pseudo-terminal with a person at it.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use uwf_testing::{TestHome, text};

/// What a session at a terminal came to.
pub(crate) struct Session {
    /// Exit code; negative for a signal.
    pub(crate) code: Option<i64>,
    /// Everything the terminal showed.
    pub(crate) shown: String,
    /// Whether it shows what is typed, after the command has ended.
    pub(crate) echo: bool,
}

/// Runs `uwf` at a terminal of its own and types answers when their questions are shown.
pub(crate) fn session(home: &TestHome, args: &[&str], dialog: &[(&str, &str)]) -> Session {
    session_in(home, 100, args, dialog)
}

/// The same at a terminal with so many columns, and 30 rows.
pub(crate) fn session_in(home: &TestHome, columns: usize, args: &[&str], dialog: &[(&str, &str)]) -> Session {
    session_with(home, columns, &[], args, dialog)
}

/// The same with variables in the environment.
pub(crate) fn session_with(
    home: &TestHome,
    columns: usize,
    variables: &[(&str, &str)],
    args: &[&str],
    dialog: &[(&str, &str)],
) -> Session {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/terminal.py");
    let mut python = Command::new("python3");
    home.prepare(&mut python);
    python
        .arg(script)
        .env("TERM", "xterm")
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    // A python that was installed by a version manager looks for itself in there.
    python.envs(std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PYENV")));
    let mut child = python.spawn().expect("python3 starts");
    let argv: Vec<&str> = [env!("CARGO_BIN_EXE_uwf")].iter().chain(args).copied().collect();
    // What is installed on this machine is not to be found.
    let order = json!({"argv": argv, "path": home.bin_dir(), "dialog": dialog, "columns": columns});
    child.stdin.take().unwrap().write_all(order.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    Session { code: report["code"].as_i64(), shown: text(&report, "shown"), echo: report["echo"] == json!(true) }
}
