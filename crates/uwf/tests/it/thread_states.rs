//! What each command about threads says of a thread that is unknown, has ended, was killed, cannot be read, is at work, or
//! came here without its record, as from another machine.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use insta::assert_snapshot;
use uwf_testing::processes::until;
use uwf_testing::{FinishedRun, TestHome, text};

use crate::home;

/// The commands: `T` stands for the thread, `S` for its last step, `F` for its first node, `D` for a directory.
const READING: &[&str] = &[
    "thread show T",
    "thread list --state active",
    "thread ps",
    "thread steps T",
    "thread read T",
    "thread step-details S",
    "thread why T",
    "thread why S",
    "thread cost T",
    "thread diff F T",
    "thread diff T T --files",
    "thread eval T $count(steps)",
    "thread verify T",
    "workflow graph count-rounds --thread T",
    "log T",
    "otel export T --print",
    "agent context T worker",
    "cas rm S",
    "gc --dry-run",
    "top",
];

/// Those that change something.
const WRITING: &[&str] = &[
    "thread step T",
    "thread run T --until worker",
    "thread run --all",
    "thread retry T",
    "thread answer T -m hello",
    "thread pause T",
    "thread resume T",
    "thread limit T",
    "thread limit T --steps +5",
    "thread label T --set team=web",
    "thread fork T",
    "thread fork S",
    "thread fork F -p other",
    "thread merge T",
    "thread repair T",
    "thread rm T",
    "thread rm --older-than 0s --state completed",
    "gc --grace 0s",
    "pack",
    "pack --undo",
    "recover",
    "thread kill T",
];

/// Follows until the thread has ended.
const FOLLOWING: &[&str] = &["thread live T", "thread live T --tail 1 --role worker"];

/// A thread in some state.
struct Stage {
    home: TestHome,
    thread: String,
    first: String,
    last: String,
    at_work: Option<Child>,
}

impl Stage {
    /// A thread whose counting takes two rounds, after so many steps.
    fn after(steps: usize) -> Stage {
        let home = home();
        home.worker(
            "output: json, timeout: 1m",
            "#!/bin/sh\nif [ -e wait ]; then touch waits; sleep 60; fi\necho '{\"n\": 1}'\n",
        );
        let thread = home.start_counting(2, "count");
        let first = home.head(&thread).unwrap();
        let mut last = first.clone();
        for _ in 0..steps {
            last = text(&home.json(&["thread", "step", &thread]), "head");
        }
        Stage { home, thread, first, last, at_work: None }
    }

    /// A thread whose second step has begun.
    fn working() -> Stage {
        let mut stage = Stage::after(1);
        stage.home.file("wait", "");
        let mut step = stage.home.command(&["thread", "step", &stage.thread]);
        stage.at_work = Some(step.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        until("the agent works", || stage.home.work().join("waits").exists());
        stage
    }

    /// Ends the step that has begun.
    fn end(&mut self) {
        self.home.uwf(&["thread", "kill", &self.thread]);
        self.at_work.take().unwrap().wait().unwrap();
    }

    fn args(&self, command: &str) -> Vec<String> {
        let filled = command.split(' ').map(|word| match word {
            "T" => self.thread.clone(),
            "S" => self.last.clone(),
            "F" => self.first.clone(),
            other => other.to_owned(),
        });
        filled.collect()
    }

    fn ask(&self, command: &str, format: &str) -> FinishedRun {
        self.home.uwf(&[&self.args(command)[..], &["--format".to_owned(), format.to_owned()]].concat())
    }

    /// What a command said as JSON, in a line: its exit code, and the error. As text it must have ended alike.
    fn line(&self, command: &str, json: &FinishedRun, text: &FinishedRun) -> String {
        assert_eq!(json.code, text.code, "{command}: {} but {}", json.transcript(), text.transcript());
        let mut line = format!("{command}: {}", json.code.unwrap());
        if let Some((_, object)) = json.error() {
            // As text, commands that act on a thread name it first.
            let named = format!("thread {}: count\n", self.thread);
            let stderr = text.stderr.strip_prefix(&named).unwrap_or(&text.stderr);
            assert!(stderr.starts_with("error: "), "{command}: {}", text.transcript());
            let error = &object["error"];
            write!(line, " {}: {}", error["kind"].as_str().unwrap(), error["message"].as_str().unwrap()).unwrap();
            for hint in error["hints"].as_array().unwrap() {
                write!(line, "\n    {}", hint.as_str().unwrap()).unwrap();
            }
        } else {
            // A log may be empty.
            let is_told = |ran: &FinishedRun| command == "log T" || !ran.stdout.is_empty();
            assert!(is_told(json) && is_told(text), "{command}: {}{}", json.transcript(), text.transcript());
        }
        self.home.steady(&line).replace(&self.last, "<last>").replace(&self.first, "<first>")
    }

    /// The lines of these commands, each on the root as it is now.
    fn table(&self, commands: &[&[&str]]) -> String {
        let root = self.home.root();
        let kept = self.home.work().join("kept");
        copy(&root, &kept);
        let back = || {
            fs::remove_dir_all(&root).unwrap();
            copy(&kept, &root);
        };
        let lines = commands.concat().into_iter().map(|command| {
            let [json, text] = ["json", "text"].map(|format| {
                let ran = self.ask(command, format);
                back();
                ran
            });
            self.line(command, &json, &text)
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// A copy of a directory.
fn copy(from: &Path, to: &Path) {
    let status = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(status.success());
}

#[test]
fn unknown() {
    let mut stage = Stage::after(1);
    stage.thread = "01ARZ3NDEKTSV4RRFFQ69G5FAV".to_owned();
    (stage.first, stage.last) = ("0000000000000".to_owned(), "0000000000001".to_owned());
    assert_snapshot!(stage.table(&[READING, FOLLOWING, WRITING]));
}

#[test]
fn completed() {
    let stage = Stage::after(2);
    assert_snapshot!(stage.table(&[READING, FOLLOWING, WRITING]));
}

#[test]
fn killed() {
    let stage = Stage::after(1);
    stage.home.json(&["thread", "kill", &stage.thread]);
    assert_snapshot!(stage.table(&[READING, FOLLOWING, WRITING]));
}

#[test]
fn with_a_damaged_node() {
    let stage = Stage::after(1);
    let node = stage.home.root().join(format!("cas/{}.bin", stage.last));
    assert!(node.exists());
    fs::write(&node, b"not a node").unwrap();
    assert_snapshot!(stage.table(&[READING, WRITING]));
}

#[test]
fn with_a_missing_node() {
    let stage = Stage::after(1);
    fs::remove_file(stage.home.root().join(format!("cas/{}.bin", stage.last))).unwrap();
    assert_snapshot!(stage.table(&[READING, WRITING]));
}

#[test]
fn with_an_unreadable_record() {
    let stage = Stage::after(1);
    let file = stage.home.record_file(&stage.thread);
    let record = fs::read_to_string(&file).unwrap();
    fs::write(&file, record.replacen('{', "[", 1)).unwrap();
    assert_snapshot!(stage.table(&[READING, WRITING]));
}

#[test]
fn without_its_record() {
    let stage = Stage::after(1);
    for path in stage.home.records(&stage.thread) {
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }
    assert_snapshot!(stage.table(&[READING, WRITING]));
}

#[test]
fn at_work() {
    let mut working = Stage::working();
    let reading = READING.iter().map(|command| {
        let [json, text] = ["json", "text"].map(|format| working.ask(command, format));
        working.line(command, &json, &text)
    });
    let mut lines: Vec<String> = reading.collect();
    working.end();
    for command in WRITING {
        let mut working = Stage::working();
        let json = working.ask(command, "json");
        if json.code != Some(0) {
            // A refused command changed nothing.
            lines.push(working.line(command, &json, &working.ask(command, "text")));
            working.end();
            continue;
        }
        working.end();
        let mut other = Stage::working();
        let text = other.ask(command, "text");
        other.end();
        lines.push(working.line(command, &json, &text));
    }
    assert_snapshot!(lines.join("\n"));
}
