//! `uwf completions`: what a shell completes.

use std::fs;
use std::process::Command;

use serde_json::json;
use uwf_testing::{FinishedRun, TestHome, counting_workflow};

use crate::home;

/// A home with two workflows, two agents and a thread of each workflow; the threads, oldest first.
fn filled() -> (TestHome, [String; 2]) {
    let home = home();
    home.config("agents:\n  coder: { command: sh, output: text }\n  critic: { command: sh, output: json }\n");
    home.put("count-rounds", &counting_workflow(2));
    home.put("other-flow", &counting_workflow(2).replace("count-rounds", "other-flow").replace("worker", "reviewer"));
    let threads = [home.start("count-rounds", "count the cats"), home.start("other-flow", "review\n\u{1b}[31mdogs")];
    (home, threads)
}

/// Runs a script in a bash that knows the completions.
fn bash(home: &TestHome, script: &str) -> FinishedRun {
    let mut command = Command::new("bash");
    home.prepare(&mut command);
    let sourced = format!("source <({} completions bash)\n{script}", uwf_testing::uwf_program());
    command.args(["--norc", "-c", &sourced]).output().unwrap().into()
}

/// What bash offers for the last of these words; options only when one is begun.
fn offered(home: &TestHome, words: &[&str]) -> Vec<String> {
    let line = shlex::try_join(words.iter().copied()).unwrap();
    let place = words.len() - 1;
    let script = format!(
        "COMP_WORDS=({line}); COMP_CWORD={place}; COMP_TYPE=9\n\
         _clap_complete_uwf uwf \"${{COMP_WORDS[{place}]}}\" \"${{COMP_WORDS[{place}-1]}}\"\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let ran = bash(home, &script);
    assert_eq!(ran.stderr, "", "{words:?}");
    let wants_option = words[place].starts_with('-');
    let offers = ran.stdout.lines().filter(|line| !line.is_empty() && line.starts_with('-') == wants_option);
    offers.map(str::to_owned).collect()
}

#[test]
fn hooks_are_completed() {
    let home = home();
    home.config(
        "hooks:\n  triage: { secretEnv: A, start: { workflow: w, prompt: a } }\n  approve: { secretEnv: B, answer: { thread: a, output: b } }\n",
    );
    assert_eq!(offered(&home, &["uwf", "hook", ""]), ["test"]);
    assert_eq!(offered(&home, &["uwf", "hook", "test", "tr"]), ["triage"]);
    assert_eq!(offered(&home, &["uwf", "hook", "test", ""]), ["approve", "triage"]);
}

#[test]
fn commands_and_options_are_completed() {
    let home = home();
    assert_eq!(offered(&home, &["uwf", "thr"]), ["thread"]);
    assert_eq!(offered(&home, &["uwf", "thread", "ki"]), ["kill"]);
    assert_eq!(offered(&home, &["uwf", "thread", "step", "--expl"]), ["--explain"]);
    assert_eq!(offered(&home, &["uwf", "thread", "list", "--state", "st"]), ["stuck"]);
    assert_eq!(offered(&home, &["uwf", "--format", "j"]), ["json"]);
    assert_eq!(offered(&home, &["uwf", "help", "thread", "st"]), ["start", "step", "steps", "step-details"]);
    assert_eq!(offered(&home, &["uwf", "help", "workflow-"]), ["workflow-format"]);
    assert_eq!(offered(&home, &["uwf", "schema", "w"]), ["workflow"]);
    assert_eq!(offered(&home, &["uwf", "skill", "install", "--for", "c"]), ["claude", "codex", "cursor"]);
    assert_eq!(offered(&home, &["uwf", "skill", "a"]), ["author"]);
    let templates = ["review", "solve-issue", "develop", "research", "review-panel", "map", "best-of"];
    assert_eq!(offered(&home, &["uwf", "init", "workflow", "x", "--template", ""]), templates);
}

#[test]
fn threads_are_completed_from_beginning_or_end() {
    let (home, [first, second]) = filled();
    for command in [&["thread", "step"][..], &["thread", "kill"], &["thread", "fork"], &["show"], &["thread", "eval"]] {
        let words = [&["uwf"], command, &[""]].concat();
        assert_eq!(offered(&home, &words), [second.clone(), first.clone()], "{words:?}");
    }
    assert_eq!(offered(&home, &["uwf", "read", &first[..25]]).first(), Some(&first));
    assert_eq!(offered(&home, &["uwf", "read", &first[20..]]), [first.as_str()]);
    assert_eq!(offered(&home, &["uwf", "read", &first[20..].to_lowercase()]), [first]);
    assert_eq!(offered(&home, &["uwf", "read", "ZZZZZZ"]), Vec::<String>::new());
}

#[test]
fn fish_shows_task_next_to_thread() {
    let (home, [first, second]) = filled();
    let mut command = home.command(&["--", "uwf", "thread", "show", ""]);
    let ran = FinishedRun::from(command.env("COMPLETE", "fish").output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let lines: Vec<&str> = ran.stdout.lines().take(2).collect();
    assert_eq!(lines[1], format!("{first}\tcount the cats"));
    assert!(lines[0].starts_with(&format!("{second}\treview")), "{lines:?}");
    assert!(!ran.stdout.contains('\u{1b}'), "{:?}", ran.stdout);
}

#[test]
fn names_are_completed_where_they_are_meant() {
    let (home, [first, second]) = filled();
    fs::create_dir(home.work().join(".workflows")).unwrap();
    let project = counting_workflow(1).replace("count-rounds", "mine").replace("worker", "tester");
    fs::write(home.work().join(".workflows/mine.yaml"), project).unwrap();
    let offers = |words: &[&str]| offered(&home, &[&["uwf"], words].concat());
    for start in [&["thread", "start"][..], &["workflow", "show"], &["workflow", "graph"], &["run"]] {
        assert_eq!(offers(&[start, &["count-"]].concat()), ["count-rounds", "count-rounds.yaml"], "{start:?}");
        assert!(offers(&[start, &["mi"]].concat()).contains(&"mine".to_owned()), "{start:?}");
    }
    assert_eq!(offers(&["workflow", "rm", "o"]), ["other-flow"]);
    assert_eq!(offers(&["thread", "list", "--workflow", "oth"]), ["other-flow", "other-flow.yaml"]);
    assert_eq!(offers(&["thread", "fork", &first, "--from-role", ""]), ["worker"]);
    assert_eq!(offers(&["thread", "fork", "--from-role", ""]), ["worker", "reviewer"]);
    assert_eq!(offers(&["agent", "context", &second, ""]), ["reviewer"]);
    assert_eq!(offers(&["thread", "step", &first, "--agent", "c"]), ["coder", "critic"]);
    let roles = offers(&["thread", "start", "mine", "--agent", ""]);
    assert!(roles.contains(&"tester=".to_owned()) && roles.contains(&"coder".to_owned()), "{roles:?}");
    assert_eq!(offers(&["agent", "describe", "uwf-rea"]), ["uwf-react"]);
    assert_eq!(offers(&["config", "get", "agents.coder."]), ["agents.coder.command", "agents.coder.output"]);
    assert_eq!(offers(&["config", "set", "maxSt"]), ["maxSteps"]);
}

#[test]
fn hashes_are_completed_from_their_second_symbol() {
    let (home, [thread, _]) = filled();
    let head = home.head(&thread).unwrap();
    assert_eq!(offered(&home, &["uwf", "cas", "get", &head[..7]]), [head.as_str()]);
    assert_eq!(offered(&home, &["uwf", "thread", "step-details", &head[..7]]), [head.as_str()]);
    assert!(offered(&home, &["uwf", "cas", "get", &head[..1]]).is_empty(), "the store may be large");
}

#[test]
fn files_are_completed_where_files_are_meant() {
    let home = home();
    home.file("flow.yaml", "x");
    home.file("notes.txt", "x");
    fs::create_dir(home.work().join("flows")).unwrap();
    let offers = |words: &[&str]| offered(&home, &[&["uwf"], words].concat());
    assert_eq!(offers(&["workflow", "put", "fl"]), ["flow.yaml", "flows/"]);
    assert_eq!(offers(&["workflow", "validate", "no"]), ["notes.txt"]);
    assert_eq!(offers(&["thread", "start", "fl"]), ["flow.yaml", "flows/"]);
    assert_eq!(offers(&["thread", "start", "no"]), Vec::<String>::new(), "no workflow");
    assert_eq!(offers(&["thread", "start", "x", "--cwd", "f"]), ["flows/"]);
    assert_eq!(offers(&["cas", "put", "content", "no"]), ["notes.txt"]);
    assert_eq!(offers(&["thread", "answer", "@", "--file", "no"]), ["notes.txt"]);
}

#[test]
fn a_broken_root_offers_nothing_and_says_nothing() {
    let (home, _) = filled();
    for file in ["threads.yaml", "history.jsonl", "registry.yaml", "config.yaml"] {
        fs::write(home.root().join(file), b"\xff{[").unwrap();
    }
    let offers = |words: &[&str]| offered(&home, &[&["uwf"], words].concat());
    assert_eq!(offers(&["thread", "step", ""]), Vec::<String>::new());
    assert_eq!(offers(&["workflow", "rm", ""]), Vec::<String>::new());
    assert_eq!(offers(&["config", "get", "maxSt"]), ["maxSteps"]);
    assert_eq!(offers(&["thread", "fork", "@", "--from-role", ""]), Vec::<String>::new());
    fs::remove_dir_all(home.root()).unwrap();
    fs::write(home.root(), "no directory").unwrap();
    assert_eq!(offers(&["thread", "step", ""]), Vec::<String>::new());
}

#[test]
fn a_variable_of_another_program_changes_nothing() {
    let home = home();
    for value in ["1", "yes", "", "tcsh"] {
        let mut command = home.command(&["thread", "list"]);
        assert_eq!(FinishedRun::from(command.env("COMPLETE", value).output().unwrap()).json(), json!([]), "{value}");
    }
}

#[test]
fn scripts_are_installed_where_shells_look() {
    let home = home();
    let user = home.root().parent().unwrap().to_owned();
    for (shell, path) in [
        ("bash", ".local/share/bash-completion/completions/uwf"),
        ("zsh", ".zfunc/_uwf"),
        ("fish", ".config/fish/completions/uwf.fish"),
    ] {
        let planned = home.json(&["completions", shell, "--install", "--dry-run"]);
        assert_eq!(json!([planned["files"], planned["dryRun"]]), json!([[user.join(path)], true]));
        assert!(!user.join(path).exists());
        let done = home.json(&["completions", shell, "--install"]);
        assert_eq!(done["files"], json!([user.join(path)]));
        let script = fs::read_to_string(user.join(path)).unwrap();
        assert!(script.starts_with(&home.uwf(&["completions", shell]).stdout), "{shell}");
    }
    let zsh = home.json(&["completions", "zsh", "--install"]);
    assert_eq!(zsh["todo"], "add to ~/.zshrc, before compinit: fpath=(~/.zfunc $fpath)");
    let sourced = "source \"$HOME/.local/share/bash-completion/completions/uwf\"; complete -p uwf";
    assert!(bash(&home, sourced).stdout.contains("_clap_complete_uwf"));

    let mut of_login = home.command(&["completions", "--install", "--dry-run"]);
    let planned = FinishedRun::from(of_login.env("SHELL", "/usr/bin/fish").output().unwrap()).json();
    assert_eq!(planned["files"], json!([user.join(".config/fish/completions/uwf.fish")]));
    assert_eq!(home.uwf(&["completions", "--install"]).code, Some(64), "nobody says which shell");
    assert_eq!(home.uwf(&["completions", "elvish", "--install"]).code, Some(64));
    assert_eq!(home.uwf(&["completions"]).code, Some(64));
    let mut elsewhere = home.command(&["completions", "bash", "--install"]);
    let done = FinishedRun::from(elsewhere.env("XDG_DATA_HOME", user.join("data")).output().unwrap()).json();
    assert_eq!(done["files"], json!([user.join("data/bash-completion/completions/uwf")]));
}
