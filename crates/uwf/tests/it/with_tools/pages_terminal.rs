//! The README and the guide at a terminal: each block is pasted as a whole, as people do.

use std::io::{BufRead, BufReader, Write};
use std::process::{self, Child, ChildStdout, Stdio};

use serde_json::{Value, json};
use uwf_testing::TestHome;

use crate::fixtures::pages::{self, Command, Shell};
use crate::home;

/// Columns of the terminal.
const COLUMNS: &str = "130";

/// A pager that waits for a key when a text has no room, as `less` does.
const PAGER: &str = "#!/bin/sh\ntext=$(cat)\nprintf '%s\\n' \"$text\"\n[ \"$(printf '%s\\n' \"$text\" | wc -l)\" -lt 50 ] || read -r key < /dev/tty\n";

/// An interactive shell in a pseudo-terminal.
struct Terminal<'p> {
    page: &'p str,
    python: Child,
    reports: BufReader<ChildStdout>,
}

impl Terminal<'_> {
    fn open<'p>(home: &TestHome, page: &'p str) -> Terminal<'p> {
        home.script("less", PAGER);
        let mut python = process::Command::new("python3");
        pages::prepare(home, &mut python);
        // A python that was installed by a version manager looks for itself in there.
        python.envs(std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PYENV")));
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fixtures/shell.py");
        python.args(["-B", script, COLUMNS]).env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut python = python.spawn().expect("python3 starts");
        let reports = BufReader::new(python.stdout.take().unwrap());
        Terminal { page, python, reports }
    }

    fn paste(&mut self, text: &str, commands: usize, answers: &[&(&str, &str)]) -> Value {
        let mut pasted = self.python.stdin.as_ref().unwrap();
        writeln!(pasted, "{}", json!({"pasted": text, "commands": commands, "answers": answers})).unwrap();
        let mut report = String::new();
        self.reports.read_line(&mut report).unwrap();
        serde_json::from_str(&report).unwrap_or_else(|error| panic!("{}: {error}: {report:?}", self.page))
    }
}

impl Shell for Terminal<'_> {
    fn is_terminal(&self) -> bool {
        true
    }

    fn run(&mut self, commands: &[Command<'_>]) -> Vec<String> {
        let pasted: String = commands.iter().map(|command| format!("{}\n", command.typed)).collect();
        let answers: Vec<&(&str, &str)> = commands.iter().flat_map(|command| &command.answers).collect();
        let report = self.paste(&pasted, commands.len(), &answers);
        let page = self.page;
        assert!(
            report.get("stuck").is_none(),
            "{page}: not all of this was run:\n{pasted}\n--- shown\n{}",
            report["stuck"].as_str().unwrap()
        );
        let codes: Vec<i64> = serde_json::from_value(report["codes"].clone()).unwrap();
        let printed: Vec<String> = serde_json::from_value(report["printed"].clone()).unwrap();
        for ((command, code), printed) in commands.iter().zip(codes).zip(&printed) {
            assert_eq!(code, 0, "{page}: $ {}\n{printed}", command.typed);
        }
        printed
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        drop(self.python.stdin.take());
        let _ = self.python.wait();
    }
}

#[test]
fn pages_hold_at_a_terminal() {
    let pages = pages::all();
    let mut wrong = Vec::new();
    for page in &pages {
        let home = home();
        let followed = std::panic::catch_unwind(|| pages::follow(&home, page, &mut Terminal::open(&home, page)));
        if followed.is_err() {
            wrong.push(page);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
