//! `uwf thread step`: what one step does, reports and leaves.

use std::fs;

use serde_json::{Value, json};
use uwf_testing::text;

use crate::fixtures::answering::{answering_home, ledger, workflow};
use crate::home;

/// Workflows of the earlier command line route on it.
#[test]
fn step_records_command_and_page_shows_alias() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(3, "count");
    home.json(&["thread", "step", &thread]);
    assert_eq!(home.last_step(&thread)["agent"], "worker");
    assert_eq!(home.json(&["thread", "eval", &thread, "steps[-1].agent"]), "worker");
    let step = home.json(&["thread", "steps", &thread])["steps"][1].take();
    assert_eq!((&step["agent"], &step["alias"]), (&json!("worker"), &json!("w")));
    let page = home.uwf(&["thread", "read", &thread]).stdout;
    assert!(page.contains("by w (worker) ·"), "{page}");
    // A command line has no alias and is stored whole.
    home.json(&["thread", "step", &thread, "--agent", "w"]);
    let human = home.uwf(&["thread", "step", &thread, "--agent", "uwf-human --quiet"]);
    assert_eq!(human.code, Some(20), "{}", human.stderr);
    home.json(&["thread", "answer", &thread, "--data", "{\"n\": 3}"]);
    let end = home.json(&["thread", "steps", &thread])["steps"][3].take();
    assert_eq!((&end["agent"], end.get("alias")), (&json!("uwf-human --quiet"), None));
}

#[test]
fn a_dry_run_shows_everything_and_runs_nothing() {
    let home = answering_home();
    let thread = home.start_counting(3, "count the sheep");
    let report = home.json(&["thread", "step", &thread, "--dry-run"]);
    assert_eq!(
        json!([report["role"], report["alias"], report["agent"], report["command"]]),
        json!(["worker", "w", "worker", ["worker"]])
    );
    let prompt = text(&report, "prompt");
    assert!(prompt.contains("count the sheep") && prompt.contains("`n` (required): "), "{prompt}");
    assert_eq!(ledger(&home), 0);
    assert_eq!(home.json(&["thread", "show", &thread])["steps"], 0);
}

#[test]
fn the_exit_code_drives_a_shell_loop() {
    let home = answering_home();
    let thread = home.start_counting(3, "x");
    let codes: Vec<Option<i32>> = (0..4).map(|_| home.uwf(&["thread", "step", &thread, "--exit-code"]).code).collect();
    assert_eq!(codes, [Some(0), Some(0), Some(10), Some(69)]);
}

#[test]
fn no_match_ends_the_thread_and_says_so() {
    let home = answering_home();
    let source = workflow("do-work", "false").replace(", { role: worker } ]\n", " ]\n");
    home.put("do-work", &source);
    let thread = home.start("do-work", "x");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(11), "{}", ran.transcript());
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json!([report["done"], report["reason"], report["outcome"]]), json!([true, "no-match", "no-match"]));
    assert!(ran.stderr.contains("warning: no transition matched"), "{}", ran.stderr);
    assert_eq!(home.json(&["thread", "show", &thread])["why"], "no-match");
}

#[test]
fn condition_failure_keeps_step_and_blocks_next() {
    let home = answering_home();
    home.put("do-work", &workflow("do-work", "steps[-1].output.n > \"text\""));
    let thread = home.start("do-work", "x");
    let first = home.json(&["thread", "step", &thread]);
    assert_eq!(first["done"], false);
    let error = first["next"]["error"].as_str().unwrap();
    assert!(error.contains("condition `asked`"), "{error}");
    let second = home.uwf(&["thread", "step", &thread]);
    assert_eq!(second.code, Some(65));
    assert_eq!(ledger(&home), 1, "no agent ran");
    assert_eq!(home.head(&thread), Some(text(&first, "head")));
}

#[test]
fn condition_error_hints_how_to_continue() {
    let home = answering_home();
    home.put("do-work", &workflow("do-work", "steps[-1].output.n > \"text\""));
    let thread = home.start("do-work", "x");
    home.json(&["thread", "step", &thread]);
    let file = home.work().join("do-work.yaml");
    for command in [&["thread", "step"][..], &["run"], &["thread", "retry"]] {
        let ran = home.uwf(&[command, &[&thread]].concat());
        let transcript = home.steady(&ran.transcript());
        assert_eq!(ran.code, Some(65), "{command:?}: {transcript}");
        assert!(
            transcript.contains("hint: `uwf thread eval <id> EXPR` shows what an expression gives"),
            "{transcript}"
        );
        assert!(
            transcript
                .contains("hint: `uwf thread fork <id> --from-role worker` starts a thread in which `worker` is next"),
            "{transcript}"
        );
        assert!(transcript.contains("hint: a thread keeps its version of the workflow: correct the condition, run `uwf workflow put FILE`, then start a new thread"), "{transcript}");
    }
    // The hints work.
    let fork = text(&home.json(&["thread", "fork", &thread, "--from-role", "worker"]), "thread");
    assert_eq!(home.json(&["thread", "show", &fork])["state"], "active");
    let source = fs::read_to_string(&file).unwrap();
    home.put("do-work", &source.replace("\"text\"", "0"));
    let corrected = home.start("do-work", "x");
    assert_eq!(home.json(&["thread", "step", &corrected])["done"], true);
}

#[test]
fn a_hint_quotes_a_role_of_several_words() {
    let home = answering_home();
    let source = workflow("do-work", "steps[-1].output.n > \"text\"").replace("worker", "hard worker");
    home.put("do-work", &source);
    let thread = home.start("do-work", "x");
    home.json(&["thread", "step", &thread]);
    let transcript = home.steady(&home.uwf(&["thread", "step", &thread]).transcript());
    assert!(transcript.contains("hint: `uwf thread fork <id> --from-role 'hard worker'` starts"), "{transcript}");
}

#[test]
fn start_condition_error_hints_how_to_continue() {
    let home = answering_home();
    let source = workflow("do-work", "start.prompt > 1")
        .replace("$START: [ { role: worker } ]", "$START: [ { role: worker, condition: asked } ]");
    home.put("do-work", &source);
    let thread = home.start("do-work", "x");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(65), "{ran:?}");
    let transcript = home.steady(&ran.transcript());
    assert!(
        transcript.contains("hint: `uwf thread fork <id> -p 'TEXT'` starts a thread with another task"),
        "{transcript}"
    );
}

#[test]
fn explain_tells_each_expression_its_value_and_why() {
    let home = answering_home();
    home.put("do-work", &workflow("do-work", "steps[-1].output.missing"));
    let thread = home.start("do-work", "x");
    let report = home.json(&["thread", "step", &thread, "--explain"]);
    assert_eq!(
        report["explainNext"],
        json!({
            "next": "worker",
            "considered": [
                {"role": "$END", "condition": "asked", "description": "the condition under test", "expression": "steps[-1].output.missing", "matched": false, "why": "the expression gave nothing, which counts as false"},
                {"role": "worker", "matched": true, "why": "it has no condition"},
            ]
        })
    );
    insta::assert_snapshot!(home.uwf(&["thread", "step", &thread, "--explain", "--format", "text"]).stdout.lines().filter(|line| !line.starts_with("worker by")).collect::<Vec<_>>().join("\n"), @"
    chose: worker
      · → $END if asked (the condition under test): the expression gave nothing, which counts as false
          steps[-1].output.missing → nothing
      ✓ → worker: it has no condition
    next: worker
      · → $END if asked (the condition under test): the expression gave nothing, which counts as false
          steps[-1].output.missing → nothing
      ✓ → worker: it has no condition
    ");
}

#[test]
fn settings_that_are_damaged_are_given_again() {
    let home = answering_home();
    let thread = home.start_counting(5, "x");
    home.json(&["thread", "step", &thread]);
    let record = fs::read_to_string(home.record_file(&thread)).unwrap();
    fs::write(home.record_file(&thread), record.replace("\"workspace\":", "\"workspace\"")).unwrap();
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(65), "{ran:?}");
    assert!(ran.stderr.contains(&format!("{thread}.jsonl")) && ran.stderr.contains("--cwd DIR"), "{}", ran.stderr);
    assert_eq!(home.json(&["thread", "step", &thread, "--cwd", "."])["role"], "worker");
    assert_eq!(home.json(&["thread", "step", &thread])["role"], "worker");
    assert_eq!(home.json(&["thread", "steps", &thread])["steps"].as_array().unwrap().len(), 4);
}

#[test]
fn foreign_thread_asks_for_workspace_once() {
    let home = answering_home();
    let thread = home.start_counting(5, "x");
    fs::remove_dir_all(home.root().join("threads")).unwrap();
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(64));
    assert!(ran.stderr.contains("--cwd DIR"), "{}", ran.stderr);
    assert_eq!(home.json(&["thread", "step", &thread, "--cwd", "."])["role"], "worker");
    assert_eq!(home.json(&["thread", "step", &thread])["role"], "worker");
}

#[test]
fn cache_can_be_deleted_or_damaged_anytime() {
    let home = answering_home();
    let thread = home.start_counting(9, "x");
    let chain = home.root().join("cache/chains").join(&thread);
    for steps in 1..=6 {
        home.json(&["thread", "step", &thread]);
        match steps {
            2 => fs::remove_dir_all(home.root().join("cache")).unwrap(),
            3 => fs::write(&chain, [7u8; 39]).unwrap(),
            4 => fs::write(&chain, [7u8; 80]).unwrap(),
            5 => {
                let mut flipped = fs::read(&chain).unwrap();
                flipped[50] ^= 1;
                fs::write(&chain, flipped).unwrap();
            }
            _ => {}
        }
        assert_eq!(home.json(&["thread", "show", &thread])["steps"], Value::from(steps), "after step {steps}");
    }
    assert_eq!(fs::metadata(&chain).unwrap().len(), 6 * 40);
}

#[test]
fn formats_are_the_same_report() {
    let home = answering_home();
    let thread = home.start_counting(9, "x");
    let json = home.json(&["thread", "show", &thread]);
    let yaml = home.uwf(&["thread", "show", &thread, "--format", "yaml"]).stdout;
    assert!(yaml.contains(&format!("thread: {thread}\n")) && yaml.contains("state: active\n"), "{yaml}");
    let by_variable = home.command(&["thread", "show", &thread]).env("UWF_FORMAT", "json").output().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&by_variable.stdout).unwrap(), json);
    let wrong = home.command(&["thread", "show", &thread]).env("UWF_FORMAT", "xml").output().unwrap();
    assert_eq!(wrong.status.code(), Some(64));
    let keys: Vec<&String> = json.as_object().unwrap().keys().take(4).collect();
    assert_eq!(keys, ["workflow", "thread", "head", "done"]);
}

#[test]
fn acting_commands_name_thread_and_task_in_pipe() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\n[ -e ready ] || exit 3\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(9, "count the geese");
    let line = format!("thread {thread}: count the geese\n");
    let failed = home.uwf(&["thread", "step", "@", "--format", "text"]);
    assert!(failed.code == Some(40) && failed.stderr.starts_with(&line), "{}", failed.transcript());
    home.file("ready", "");
    for verb in ["retry", "step"] {
        assert_eq!(home.json(&["thread", verb, "@"])["task"], "count the geese", "{verb}");
    }
    let killed = home.uwf(&["thread", "kill", "@", "--format", "text"]);
    assert!(killed.stderr.starts_with(&line), "{}", killed.transcript());
}
