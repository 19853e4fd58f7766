//! `uwf agent run`: a built-in agent run by hand.

use std::fs;

use serde_json::json;
use uwf_testing::llm_server::{LlmScript, LlmServer, ScriptedAnswer};

use crate::fixtures::built_in::{output, with_mock};
use crate::home;

#[test]
fn it_stores_a_step_and_moves_no_head() {
    let (home, thread) = with_mock();
    let before = home.head(&thread);
    let record = fs::read(home.record_file(&thread)).unwrap();
    let ran = home.uwf(&["agent", "run", "mock", &thread, "worker"]);
    assert_eq!(output(&home, &ran), json!({"n": 5}), "with the settings of the role's agent");
    assert_eq!(ran.stderr, "warning: run by hand: the step is stored, but nothing links it\n");
    assert_eq!(home.head(&thread), before);
    assert_eq!(fs::read(home.record_file(&thread)).unwrap(), record, "the thread's record knows nothing of it");
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "active");
    // The thread is named as everywhere, and the step of the thread is not that of the hand.
    let end = &thread[thread.len() - 6..];
    assert_eq!(output(&home, &home.uwf(&["agent", "run", "mock", "-r", "worker", "-t", end])), json!({"n": 5}));
    assert_eq!(home.json(&["thread", "step", &thread])["role"], "worker");
    let left = home.root().join("threads").join(&thread).join("by-hand");
    assert_eq!(fs::read_dir(left).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn command_uses_workspace_and_settings_and_keeps_failure() {
    let (home, thread) = with_mock();
    assert_eq!(home.uwf(&["agent", "run", "command", &thread, "worker"]).code, Some(78), "the role has no command");
    home.config("agents:\n  c: { command: teller, output: json }\ndefaultAgent: c\n");
    let ran = home.uwf(&["agent", "run", "command", &thread, "worker"]);
    assert_eq!(output(&home, &ran), json!({"n": 7}));
    let work = fs::canonicalize(home.work()).unwrap();
    assert!(ran.stderr.contains(&format!("in {}", work.display())), "{ran:?}");
    home.script("teller", "#!/bin/sh\necho 'what it cost'\necho 'no luck' >&2\nexit 3\n");
    let ran = home.uwf(&["agent", "run", "command", &thread, "worker"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(40), ""), "{ran:?}");
    assert!(ran.stderr.contains("agent `c` exited with 3"), "{ran:?}");
    let left = home.root().join("threads").join(&thread).join("by-hand");
    let kept = fs::read_dir(left).unwrap().next().unwrap().unwrap().path();
    let raw = fs::read_dir(&kept).unwrap().flatten().find(|entry| entry.path().extension().is_some_and(|e| e == "raw"));
    assert_eq!(fs::read_to_string(raw.unwrap().path()).unwrap(), "what it cost\n");
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "active", "the thread is not stuck by it");
}

#[test]
fn a_model_is_asked_with_its_own_key() {
    let home = home();
    let server = LlmServer::start(LlmScript::new([ScriptedAnswer::text("---\nn: 9\n---\n").repeated()]));
    home.config(&format!(
        "providers: {{ p: {{ baseUrl: \"{}\", apiKeyEnv: P_KEY }} }}\nmodels: {{ m: {{ provider: p, name: n }} }}\ndefaultModel: m\n",
        server.url()
    ));
    fs::write(home.root().join(".env"), "P_KEY=made-up-key-0123456789\n").unwrap();
    let thread = home.start_counting(3, "count");
    let ran = home.uwf(&["agent", "run", "llm", &thread, "worker"]);
    assert_eq!(output(&home, &ran), json!({"n": 9}));
    // The same as a step, by a link on PATH: it is still the built-in agent that has a model.
    home.json(&["agent", "link", &home.bin_dir().display().to_string()]);
    home.json(&["thread", "step", &thread, "--agent", "uwf-llm"]);
    for request in server.asked() {
        assert_eq!(request.header("authorization"), Some("Bearer made-up-key-0123456789"));
    }
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn it_is_called_as_the_protocol_says() {
    let (home, thread) = with_mock();
    let mut told = String::new();
    let cases: [&[&str]; 9] = [
        &["mock"],
        &["mock", "worker"],
        &["mock", &thread, "worker", "more"],
        &["mock", "--fast", &thread, "worker"],
        &["mock", "-t", &thread],
        &["mock", "-t"],
        &["mock", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "worker"],
        &["mock", &thread, "wroker"],
        &["mok", &thread, "worker"],
    ];
    for case in cases {
        let args: Vec<&str> = ["agent", "run"].iter().chain(case).copied().collect();
        told.push_str(&format!("> {}\n{}", case.join(" "), home.uwf(&args).transcript()));
    }
    insta::assert_snapshot!(home.steady(&told), @"
    > mock
    exit 64
    --- stderr
    error: thread and role are missing
    hint: an agent is called as `AGENT THREAD ROLE`, or `AGENT -t THREAD -r ROLE`
    > mock worker
    exit 64
    --- stderr
    error: the thread is missing, or the role
    hint: an agent is called as `AGENT THREAD ROLE`, or `AGENT -t THREAD -r ROLE`
    > mock <id> worker more
    exit 64
    --- stderr
    error: unexpected argument `<id>`
    hint: it is called as `uwf-mock THREAD ROLE`
    > mock --fast <id> worker
    exit 64
    --- stderr
    error: unexpected argument `--fast`
    hint: it is called as `uwf-mock THREAD ROLE`
    > mock -t <id>
    exit 64
    --- stderr
    error: the role is missing
    hint: an agent is called as `AGENT THREAD ROLE`, or `AGENT -t THREAD -r ROLE`
    > mock -t
    exit 64
    --- stderr
    error: -t needs a value
    hint: an agent is called as `AGENT THREAD ROLE`, or `AGENT -t THREAD -r ROLE`
    > mock <id> worker
    exit 69
    --- stderr
    error: thread <id> does not exist
    hint: `uwf thread list --all` lists every thread
    > mock <id> wroker
    exit 64
    --- stderr
    error: workflow `count-rounds` has no role `wroker`
    hint: its roles: worker
    > mok <id> worker
    exit 78
    --- stderr
    error: `mok` is not a built-in agent
    hint: built-in agents: acp, command, cursor, docx-diff, hermes, human, llm, mock, office, react, workflow; any program on PATH also works as an agent
    ");
}
