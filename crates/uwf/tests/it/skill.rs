//! `uwf skill`: reference texts for agents. What they say is run.

use std::collections::BTreeSet;

use serde_json::Value;
use uwf_testing::{FinishedRun, TestHome, text};

use crate::home;
use crate::init_workspace::typed;

const SUBJECTS: [&str; 3] = ["cli", "author", "develop"];

/// Bytes of one text: some 4,000 tokens.
const MAX_BYTES: usize = 16 << 10;

fn printed(subject: &str) -> String {
    let ran = home().uwf(&["skill", subject]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    ran.stdout
}

/// The fenced blocks of a language.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let opening = format!("\n```{language}\n");
    text.split(&opening).skip(1).map(|rest| rest.split_once("```").expect("a fence is closed").0).collect()
}

/// The commands in a line of code, within the text.
fn inline(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| !line.starts_with("```"));
    lines.flat_map(|line| line.split('`').skip(1).step_by(2)).filter(|code| code.starts_with("uwf ")).collect()
}

#[test]
fn without_a_subject_they_are_listed() {
    insta::assert_snapshot!(home().transcript(&["skill", "--format", "text"]), @"
    exit 0
    cli      The commands: how an agent runs workflows and looks after threads
    author   Writing workflows: keys, conditions, templates, pitfalls
    develop  Writing agents: their input, their answers, and how they hand in a result
    ");
    let names: Vec<Value> = home().json(&["skill"]).as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, SUBJECTS);
    assert_eq!(home().uwf(&["skill", "nope"]).code, Some(64));
}

#[test]
fn texts_are_complete_and_fit_context_window() {
    for subject in SUBJECTS {
        let text = printed(subject);
        assert!((4_000..=MAX_BYTES).contains(&text.len()), "{subject} has {} bytes", text.len());
        assert!(!text.contains("{{") && !text.contains("}}"), "{subject} has a part that was not put in");
        assert_eq!(text.matches("\n```").count() % 2, 0, "{subject}: a fence is not closed");
        let json = home().json(&["skill", subject, "--format", "json"]);
        assert_eq!((&json["subject"], &json["markdown"]), (&Value::from(subject), &Value::from(text)));
    }
}

/// `uwf a b --flag X`: the words that name a command, and its options. What is in capitals or a path is a value.
fn named(code: &str) -> (Vec<&str>, Vec<&str>) {
    let is_word =
        |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') && !word.starts_with('-');
    let words: Vec<&str> = code.split_whitespace().skip(1).take_while(is_word).collect();
    let options =
        code.split_whitespace().filter(|word| word.starts_with("--")).map(|word| word.trim_matches([')', ',']));
    (words, options.collect())
}

#[test]
fn mentioned_commands_and_options_exist() {
    let home = home();
    let mut looked_at = BTreeSet::new();
    for subject in SUBJECTS {
        let text = printed(subject);
        for code in inline(&text) {
            let (mut words, options) = named(code);
            // `uwf help TOPIC` and `uwf skill author` have a value where others have a command.
            if matches!(words.first(), Some(&"help")) && words.len() > 1 {
                assert_eq!(home.uwf(&words).code, Some(0), "{code}");
                continue;
            }
            let mut help = home.uwf(&[&["help"], &words[..]].concat());
            while help.code != Some(0) && words.len() > 1 {
                words.pop();
                help = home.uwf(&[&["help"], &words[..]].concat());
            }
            assert_eq!(help.code, Some(0), "{subject}: {code}");
            for option in options {
                assert!(help.stdout.contains(option), "{subject}: {code}: no {option}");
            }
            looked_at.insert(words.join(" "));
        }
    }
    assert!(looked_at.len() > 50, "{looked_at:?}");
}

/// Runs the lines of the blocks, one after the other, and reports a line that fails.
fn run_all(home: &TestHome, text: &str, allowed: &[i32], replaced: &[(&str, &str)]) -> usize {
    let mut ran_lines = 0;
    for block in blocks(text, "sh").into_iter().filter(|block| !block.starts_with("#!")) {
        for line in block.lines() {
            let line = replaced.iter().fold(line.to_owned(), |line, (from, to)| line.replace(from, to));
            let ran: FinishedRun = typed(home, &line);
            assert!(ran.code.is_some_and(|code| allowed.contains(&code)), "$ {line}\n{}", ran.transcript());
            ran_lines += 1;
        }
    }
    ran_lines
}

#[test]
fn each_line_about_the_commands_runs() {
    let home = home();
    home.json(&["init", "workflow", "solve-issue"]);
    home.config("agents:\n  m: { command: uwf-mock, args: [.workflows/mock/solve-issue.yaml] }\ndefaultAgent: m\n");
    // 10: the end was reached, as the text says of --exit-code.
    assert!(run_all(&home, &printed("cli"), &[0, 10], &[]) >= 15);
}

#[test]
fn each_line_about_writing_workflows_runs() {
    let home = home();
    let text = printed("author");
    assert!(run_all(&home, &text, &[0], &[]) >= 4);
    // The example is a workflow, and each expression one that a thread can be asked for.
    let example = blocks(&text, "yaml")[0];
    let file = home.file("review.yaml", example);
    let strict = home.uwf(&["workflow", "validate", "--strict", file.to_str().unwrap()]);
    assert_eq!(strict.code, Some(0), "{}", strict.transcript());
    let cells = text.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let expressions: Vec<&str> =
        cells.flat_map(|cell| cell.split("`, `")).map(|code| code.trim_end_matches('`')).collect();
    assert!(expressions.len() >= 9, "{expressions:?}");
    for expression in expressions {
        let ran = home.uwf(&["thread", "eval", "@", expression]);
        assert_eq!(ran.code, Some(0), "{expression}: {}", ran.transcript());
    }
}

mod with_tools {
    use super::*;

    #[test]
    fn each_line_about_writing_agents_runs() {
        let home = home();
        home.script("my-agent", "#!/bin/sh\necho '{}'\n");
        let thread = home.start_counting(3, "one two three");
        let text_ = printed("develop");
        let replaced = [("THREAD", thread.as_str()), ("ROLE", "worker")];
        home.config("agents:\n  w: { command: my-agent, output: json }\ndefaultAgent: w\n");
        assert!(run_all(&home, &text_, &[0], &replaced) >= 8);
        // The script is an agent that works.
        let script = blocks(&text_, "sh").into_iter().find(|block| block.starts_with("#!")).unwrap();
        home.script("counter", script);
        home.config("agents:\n  w: { command: counter }\ndefaultAgent: w\n");
        let step = home.json(&["thread", "step", &thread]);
        assert_eq!(text(&step, "role"), "worker");
        assert_eq!(home.last_step(&thread)["output"]["n"], 3);
        // What the text says an agent gets, it gets.
        let variables = text_.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        // Only branches of groups have these two.
        let variables: Vec<&str> = variables.filter(|name| !["UWF_BRANCH", "UWF_ITEM"].contains(name)).collect();
        assert!(variables.len() >= 6, "{variables:?}");
        let shown: String = variables.iter().map(|name| format!("test -n \"${name}\" || exit 9\n")).collect();
        home.script("counter", &format!("#!/bin/sh\n{shown}echo '{{\"n\": 1}}'\n"));
        home.config("agents:\n  w: { command: counter, output: json }\ndefaultAgent: w\n");
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(0));
    }
}
