//! `uwf help`, wherever somebody asks for it, and the pages it prints.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;
use uwf_testing::{FinishedRun, TestHome, repository};

use crate::home;

#[test]
fn help_is_found_wherever_it_is_asked_for() {
    let home = home();
    let direct = home.uwf(&["thread", "step", "--help"]);
    assert_eq!(direct.code, Some(0));
    for args in [&["help", "thread", "step"][..], &["thread", "help", "step"]] {
        let ran = home.uwf(args);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{args:?}");
        assert_eq!(ran.stdout.trim_end(), direct.stdout.trim_end(), "{args:?}");
    }
    let deep = home.uwf(&["cas", "schema", "help", "put"]).stdout;
    assert_eq!(deep.trim_end(), home.uwf(&["cas", "schema", "put", "--help"]).stdout.trim_end());
    assert_eq!(home.uwf(&["thread", "help"]).stdout.trim_end(), home.uwf(&["thread", "--help"]).stdout.trim_end());
    let all = home.uwf(&["help"]).stdout;
    assert!(all.contains("\nInspect:\n") && all.contains("Topics, printed by `uwf help TOPIC`"), "{all}");
    assert_eq!(home.uwf(&["help", "thread", "step", "--format", "json"]).json()["help"], direct.stdout.as_str());
}

fn ran_with(home: &TestHome, args: &[&str], variable: &str, value: &str) -> FinishedRun {
    home.command(args).env(variable, value).output().unwrap().into()
}

/// Every command, as the reference page lists them.
fn commands(home: &TestHome) -> Vec<String> {
    let page = home.uwf(&["reference"]).stdout;
    let headings = page.lines().filter_map(|line| line.strip_prefix("## `uwf")?.strip_suffix('`'));
    headings.map(|heading| heading.trim().to_owned()).collect()
}

#[test]
fn help_is_as_wide_as_its_terminal() {
    let home = home();
    let widest = |columns: &str| {
        let help = ran_with(&home, &["thread", "step", "--help"], "COLUMNS", columns).stdout;
        help.lines().map(|line| line.chars().count()).max().unwrap()
    };
    assert!((70..=80).contains(&widest("80")) && (90..=100).contains(&widest("100")));
}

#[test]
fn commands_are_listed_by_what_they_are_for() {
    let home = home();
    let help = home.uwf(&["--help"]).stdout;
    let headings = ["Run:", "Inspect:", "Author:", "Operate:", "Share:", "Help:", "Options:"];
    let found: Vec<&str> = help.lines().filter(|line| headings.contains(line)).collect();
    assert_eq!(found, headings, "{help}");
    for command in commands(&home).iter().filter(|command| !command.is_empty() && !command.contains(' ')) {
        assert_eq!(help.matches(&format!("\n  {command} ")).count(), 1, "{command} in {help}");
    }
    let thread = home.uwf(&["thread", "--help"]).stdout;
    assert!(thread.contains("\nRun:\n  start ") && thread.contains("\nInspect:\n  list "), "{thread}");
}

#[test]
fn group_alone_prints_its_help() {
    let home = home();
    for group in [&[][..], &["thread"], &["cas", "schema"]] {
        let text = ran_with(&home, group, "UWF_FORMAT", "text");
        let help = home.uwf(&[group, &["-h"]].concat()).stdout;
        assert_eq!((text.code, text.stdout.as_str()), (Some(64), ""), "{group:?}");
        assert_eq!(text.stderr, help, "{group:?}");
        let piped = home.uwf(group);
        assert_eq!(piped.code, Some(64), "{group:?}");
        let message = format!("`{}` needs a command", [&["uwf"], group].concat().join(" "));
        let report: Value = serde_json::from_str(&piped.stdout).unwrap();
        assert_eq!(report["error"]["message"], message, "{group:?}");
    }
    let options_only = home.uwf(&["--format", "text"]);
    assert_eq!((options_only.code, options_only.stderr), (Some(64), home.uwf(&["-h"]).stdout));
}

#[test]
fn topics_are_the_pages_of_the_documentation() {
    let home = home();
    let topics = home.uwf(&["help", "topics"]).stdout;
    let pages: Vec<PathBuf> = ["", "guide", "reference", "internals"]
        .iter()
        .flat_map(|dir| fs::read_dir(repository().join("docs").join(dir)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    assert!(pages.len() > 30, "{pages:?}");
    for page in pages {
        let name = page.file_stem().unwrap().to_str().unwrap();
        // Two are lists of the pages.
        if ["README", "SUMMARY"].contains(&name) {
            continue;
        }
        assert_eq!(home.uwf(&["help", name]).stdout, fs::read_to_string(&page).unwrap(), "{name}");
        assert!(topics.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name} in {topics}");
    }
    assert_eq!(home.uwf(&["help", "reference"]).stdout, home.uwf(&["reference"]).stdout);
    assert!(home.uwf(&["help", "exit-codes"]).stdout.contains("  65   bad data"));
}

#[test]
fn unknown_topic_is_usage_error_with_hint() {
    let home = home();
    for (args, said) in [
        (&["help", "workflow-fromat"][..], "did you mean `uwf help workflow-format`?"),
        (&["help", "thread", "stpe"], "did you mean `uwf help thread step`?"),
        (&["thread", "help", "stpe"], "did you mean `uwf help thread step`?"),
        (&["help", "qqqqqqq"], "`uwf --help` lists the commands, `uwf help topics` the topics"),
    ] {
        let ran = home.uwf(args);
        assert_eq!(ran.code, Some(64), "{args:?}");
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn the_word_help_is_still_a_value() {
    let home = home();
    let ran = home.uwf(&["thread", "start", "help", "-p", "x"]);
    assert!(ran.stderr.contains("workflow `help` does not exist"), "{}", ran.stderr);
    assert_eq!(home.json(&["cas", "hash", "content", "{\"text\": \"help\"}"]), home.json(&["cas", "put-text", "help"]));
}

#[test]
fn printed_text_names_no_repository_files() {
    let mut named = Vec::new();
    for file in sources(&repository().join("crates")) {
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let is_comment = line.trim_start().starts_with("//") && !line.trim_start().starts_with("///");
            let names_file = line.contains("docs/") || line.contains("examples/") || line.contains("README");
            if !is_comment && names_file && !line.trim_start().starts_with("/// A page of docs/") {
                named.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    // Where the pages are taken from.
    named.retain(|line| !line.contains("concat!(env!(\"CARGO_MANIFEST_DIR\")") && !line.contains("include_str!"));
    assert_eq!(named, Vec::<String>::new());
}

/// Sources of what is installed.
fn sources(dir: &Path) -> Vec<std::path::PathBuf> {
    let crates = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let installed = crates.filter(|path| !path.ends_with("uwf-testing"));
    let mut dirs: Vec<_> = installed.map(|path| path.join("src")).filter(|path| path.is_dir()).collect();
    let mut files = Vec::new();
    while let Some(dir) = dirs.pop() {
        for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The fenced blocks of a page that are written in a language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let parts = page.split("```").skip(1).step_by(2);
    parts.filter_map(|block| block.strip_prefix(&format!("{language}\n"))).map(str::to_owned).collect()
}

#[test]
fn examples_on_the_workflow_page_work() {
    let home = home();
    let page = fs::read_to_string(repository().join("docs/reference/workflow-format.md")).unwrap();
    let [whole, input, with, inline, rounds, limits] = blocks(&page, "yaml").try_into().expect("six examples");
    let (roles, _) = whole.split_once("conditions:").unwrap();
    let inline =
        format!("{roles}graph:\n  $START: [ {{ role: writer }} ]\n  writer: [ {{ role: reviewer }} ]\n{inline}");
    let with = format!(
        "name: write-text\n{input}{with}graph: {{ $START: [ {{ role: publish }} ], publish: [ {{ role: $END }} ] }}\n"
    );
    for workflow in [whole.clone(), with, inline, format!("{roles}{rounds}"), format!("{roles}{limits}")] {
        home.file("write-text.yaml", &workflow);
        let ran = home.uwf(&["workflow", "validate", "write-text.yaml", "--format", "text"]);
        assert_eq!(ran.code, Some(0), "{}\n{workflow}", ran.stdout);
        home.json(&["workflow", "put", "write-text.yaml"]);
    }
    for line in blocks(&page, "sh").iter().flat_map(|block| block.lines()) {
        let words: Vec<String> = shlex::split(line).unwrap();
        let ran = home.uwf(&words[1..]);
        assert_eq!((words[0].as_str(), ran.code), ("uwf", Some(0)), "{line}: {}", ran.stderr);
    }
    let thread = home.start("write-text", "{\"branch\": \"main\"}");
    let has = home.json(&["thread", "eval", &thread, "$contains(start.prompt, '\"main\"')"]);
    assert_eq!(has, serde_json::json!(true), "a task can hold values for conditions");
    assert_eq!(home.uwf(&["thread", "step", &thread, "--dry-run"]).code, Some(0));
    assert_eq!(home.uwf(&["agent", "describe", "workflow"]).code, Some(0));
}
