//! Window and keeper: whoever dies, nothing paid for is lost and nothing is paid for twice.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::json;
use uwf_testing::processes::{is_alive, signal, until};
use uwf_testing::{TestHome, counting_workflow, text};

use crate::fixtures::child_threads::kill_uwf;
use crate::fixtures::mocked;
use crate::home;

/// An agent that writes a line to the ledger when it begins, waits for the file `go`, then answers.
const WAITING: &str =
    "#!/bin/sh\ncat > /dev/null\necho $$ >> ledger\nwhile [ ! -e go ]; do sleep 0.02; done\necho '{\"n\": 1}'\n";

fn counting_home(agent: &str) -> (TestHome, String) {
    let home = home();
    home.worker("output: json", agent);
    let thread = home.start_counting(3, "count");
    (home, thread)
}

/// Waits until something is so.
fn lines(path: &Path) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

/// Starts a step in the background and waits until its agent has begun.
fn step_until_begun(home: &TestHome, thread: &str, begun: usize) -> Child {
    let window = home.command(&["thread", "step", thread]).spawn().expect("uwf starts");
    until("the agent has begun", || lines(&home.work().join("ledger")) == begun);
    window
}

#[test]
fn killing_the_window_loses_nothing() {
    let (home, thread) = counting_home(WAITING);
    let before = home.head(&thread);
    let mut window = step_until_begun(&home, &thread, 1);
    signal(window.id(), "KILL");
    window.wait().unwrap();
    let second = home.uwf(&["thread", "step", &thread]);
    assert_eq!(second.code, Some(75), "the keeper is still at it: {second:?}");
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "running");
    home.file("go", "");
    until("the keeper has moved the head", || home.head(&thread) != before);
    until("the keeper is gone", || home.json(&["thread", "show", &thread])["state"] != "running");
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(json!([shown["steps"], shown["state"]]), json!([1, "active"]));
    assert_eq!(lines(&home.work().join("ledger")), 1);
}

#[test]
fn next_step_adopts_result_of_killed_keeper() {
    let (home, thread) = counting_home(WAITING);
    let mut window = step_until_begun(&home, &thread, 1);
    home.kill_keeper(&thread);
    assert_eq!(window.wait().unwrap().code(), Some(70));
    home.file("go", "");
    let record = home.record_file(&thread);
    until("the agent process has recorded its result", || {
        fs::read_to_string(&record).unwrap().contains(r#""event":"finished""#)
    });
    let report = home.json(&["thread", "step", &thread]);
    assert_eq!(json!([report["adopted"], report["role"], report["done"]]), json!([true, "worker", false]));
    assert_eq!(lines(&home.work().join("ledger")), 1, "the agent was not paid twice");
    assert_eq!(home.json(&["thread", "show", &thread])["steps"], 1);
    assert_eq!(home.json(&["thread", "why", &thread])["step"]["output"]["adopted"], true);
}

/// An agent that has its step stored by another one of uwf, and does not end before the file `go` is there.
const LINGERING: &str = r#"#!/bin/sh
echo $$ >> ledger
"$UWF_BIN" agent run mock "$1" "$2"
while [ ! -e go ]; do sleep 0.02; done
"#;

fn lingering_home() -> (TestHome, String) {
    let (home, thread) = counting_home(LINGERING);
    home.config("agents:\n  w: { command: worker, config: { script: answers.yaml } }\ndefaultAgent: w\nkillGrace: 1\n");
    mocked::script(&home, "worker:\n  - reply: { n: 1 }\n  - reply: { n: 2 }\n");
    (home, thread)
}

/// Waits until the record of the thread says that its newest attempt has finished.
fn until_finished(home: &TestHome, thread: &str) {
    let record = home.record_file(thread);
    until("the agent's step is recorded", || fs::read_to_string(&record).unwrap().contains(r#""event":"finished""#));
}

#[test]
fn finished_step_becomes_head_after_agent_exits() {
    let (home, thread) = lingering_home();
    let before = home.head(&thread);
    let window = home.command(&["thread", "step", &thread]).stdout(Stdio::piped()).spawn().unwrap();
    until_finished(&home, &thread);
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(json!([shown["state"], shown["steps"]]), json!(["running", 0]));
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(75), "the step is not over");
    assert_eq!(home.head(&thread), before);
    home.file("go", "");
    let output = window.wait_with_output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["head"].as_str().map(str::to_owned), home.head(&thread));
    assert_eq!(json!([report["role"], report["done"], report["adopted"]]), json!(["worker", false, null]));
    let record = fs::read_to_string(home.record_file(&thread)).unwrap();
    assert!(record.contains(r#""outcome":"linked""#), "{record}");
}

#[test]
fn lingering_agent_is_ended_and_its_step_adopted() {
    let (home, thread) = lingering_home();
    let mut window = step_until_begun(&home, &thread, 1);
    until_finished(&home, &thread);
    let agent: u32 = fs::read_to_string(home.work().join("ledger")).unwrap().trim().parse().unwrap();
    home.kill_keeper(&thread);
    assert_eq!(window.wait().unwrap().code(), Some(70));
    assert!(is_alive(agent), "nobody has ended it yet");
    let report = home.json(&["thread", "step", &thread]);
    assert!(!is_alive(agent), "the next step has");
    assert_eq!(json!([report["role"], report["adopted"]]), json!(["worker", true]));
    assert_eq!(home.json(&["thread", "eval", &thread, "steps.output.n"]), json!(1));
    assert_eq!(lines(&home.work().join("ledger")), 1);
}

#[test]
fn last_submit_of_attempt_wins() {
    let submit = |n| format!("\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{{\"n\": {n}}}'\nsleep 0.2\n");
    let (home, thread) = counting_home(&format!("#!/bin/sh\n{}{}", submit(1), submit(2)));
    home.config("agents:\n  w: { command: worker }\ndefaultAgent: w\n");
    home.json(&["thread", "step", &thread]);
    assert_eq!(home.json(&["thread", "eval", &thread, "[$count(steps), steps[-1].output.n]"]), json!([1, 2]));
}

#[test]
fn ctrl_c_keeps_recorded_step() {
    let (home, thread) = lingering_home();
    let mut window = step_until_begun(&home, &thread, 1);
    until_finished(&home, &thread);
    signal(window.id(), "INT");
    assert_eq!(window.wait().unwrap().code(), Some(0), "what was asked for is done");
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(json!([shown["state"], shown["steps"]]), json!(["active", 1]));
}

#[test]
fn processes_of_dead_attempt_end_before_next_attempt() {
    let (home, thread) = counting_home(WAITING);
    let mut window = step_until_begun(&home, &thread, 1);
    let agent: u32 = fs::read_to_string(home.work().join("ledger")).unwrap().trim().parse().unwrap();
    home.kill_keeper(&thread);
    signal(&home.recorded(&thread, "started")["pid"], "KILL");
    window.wait().unwrap();
    assert!(is_alive(agent), "the command itself goes on");
    home.script("worker", "#!/bin/sh\ncat > /dev/null\necho again >> ledger\necho '{\"n\": 2}'\n");
    let report = home.json(&["thread", "step", &thread]);
    assert!(!is_alive(agent));
    assert_eq!(report["adopted"], serde_json::Value::Null);
    let detail =
        home.json(&["cas", "get", &text(&home.json(&["cas", "get", &text(&report, "head")])["payload"], "detail")]);
    let attempts = detail["payload"]["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 1, "the dead attempt is listed: {detail}");
    let attempt = home.json(&["cas", "get", attempts[0].as_str().unwrap()]);
    assert_eq!(attempt["payload"]["error"], "the keeper of this attempt died before the agent had finished");
}

#[test]
fn ctrl_c_keeps_output_and_leaves_thread_ready() {
    let agent = "#!/bin/sh\ncat > /dev/null\necho 'half an answer'\necho $$ >> ledger\nsleep 60\n";
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 143)] {
        let (home, thread) = counting_home(agent);
        let before = home.head(&thread);
        let mut window = step_until_begun(&home, &thread, 1);
        let agent: u32 = fs::read_to_string(home.work().join("ledger")).unwrap().trim().parse().unwrap();
        signal(window.id(), name);
        assert_eq!(window.wait().unwrap().code(), Some(code), "{name}");
        assert!(!is_alive(agent), "{name}");
        assert_eq!(home.head(&thread), before);
        let shown = home.json(&["thread", "show", &thread]);
        assert_eq!(shown["state"], "active", "ready for its next step: {shown}");
        let attempt = home.json(&["cas", "get", &text(&shown, "attempt")]);
        let why = if name == "INT" { "was interrupted (Ctrl-C)" } else { "was terminated on request" };
        assert_eq!(attempt["payload"]["error"], format!("agent `w` {why}"));
        let raw = home.json(&["cas", "get", &text(&attempt["payload"], "raw")]);
        assert_eq!(raw["payload"]["text"], "half an answer\n");
    }
}

/// Who stops all processes of a step at once may end the agent before its keeper looks.
#[test]
fn agent_that_is_stopped_first_leaves_thread_ready() {
    let (home, thread) = counting_home(&WAITING.replace("echo $$ >> ledger", "echo $$ $PPID >> ledger"));
    let mut window = step_until_begun(&home, &thread, 1);
    let keeper = home.keeper(&thread);
    let ledger = fs::read_to_string(home.work().join("ledger")).unwrap();
    let (agent, wrapper) = ledger.trim().split_once(' ').unwrap();
    signal(keeper, "STOP");
    signal(keeper, "TERM");
    signal(agent, "KILL");
    until("the agent process has ended", || !is_alive(wrapper));
    signal(keeper, "CONT");
    assert_eq!(window.wait().unwrap().code(), Some(143));
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(shown["state"], "active", "{shown}");
    home.file("go", "");
    assert_eq!(home.json(&["thread", "step", &thread])["role"], "worker");
}

/// An agent that is told to end has `killGrace` for that. A step it records by then is one it was paid for.
#[test]
fn a_step_submitted_within_the_grace_counts() {
    let submit = "\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data \"{\\\"n\\\": 2}\"";
    let agent = format!("#!/bin/sh\ntrap '{submit}; exit 0' TERM\nwhile :; do sleep 0.05; done\n");
    let (home, thread) = counting_home(&agent);
    home.config("agents:\n  w: { command: worker, timeout: 1 }\ndefaultAgent: w\nkillGrace: 10\n");
    home.json(&["thread", "step", &thread]);
    assert_eq!(home.json(&["thread", "eval", &thread, "steps[-1].output.n"]), json!(2));
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs what only Linux shows of processes")]
fn descendants_in_other_sessions_do_not_survive() {
    let agent = "#!/bin/sh\ncat > /dev/null\nsetsid sh -c 'trap \"\" TERM; echo $$ >> ledger; while :; do sleep 0.1; done' > /dev/null 2>&1 &\nenv -i PATH=\"$PATH\" setsid sh -c 'echo $$ >> ledger; sleep 60' &\nwhile [ \"$(wc -l < ledger)\" -lt 2 ]; do sleep 0.02; done\necho '{\"n\": 1}'\n";
    let (home, thread) = counting_home(agent);
    home.file("ledger", "");
    home.json(&["thread", "step", &thread]);
    for pid in fs::read_to_string(home.work().join("ledger")).unwrap().lines() {
        assert!(!is_alive(pid), "{pid} survived");
    }
}

#[test]
fn kill_archives_thread_before_ending_agent() {
    let (home, thread) = counting_home(WAITING);
    let mut window = step_until_begun(&home, &thread, 1);
    let agent: u32 = fs::read_to_string(home.work().join("ledger")).unwrap().trim().parse().unwrap();
    let report = home.json(&["thread", "kill", &thread]);
    assert_eq!(report, json!({"thread": thread, "archived": true, "task": "count"}));
    assert!(!is_alive(agent));
    assert_ne!(window.wait().unwrap().code(), Some(0));
    home.file("go", "");
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(json!([shown["state"], shown["steps"], shown["done"]]), json!(["killed", 0, true]));
    assert_eq!(home.head(&thread), None);
}

#[test]
fn only_one_of_concurrent_steps_runs() {
    for round in 1..=5 {
        let (home, thread) = counting_home(WAITING);
        let mut windows: Vec<Child> =
            (0..4).map(|_| home.command(&["thread", "step", &thread]).spawn().unwrap()).collect();
        // A window that starts after the agent has ended would play the next step.
        until("the others are refused", || {
            windows.iter_mut().filter_map(|window| window.try_wait().unwrap()).count() == 3
        });
        home.file("go", "");
        let mut codes: Vec<i32> =
            windows.into_iter().map(|mut window| window.wait().unwrap().code().unwrap()).collect();
        codes.sort_unstable();
        assert_eq!(codes, [0, 75, 75, 75], "round {round}");
        assert_eq!(lines(&home.work().join("ledger")), 1);
        assert_eq!(home.json(&["thread", "show", &thread])["steps"], 1);
    }
}

#[test]
fn concurrent_starts_all_get_into_the_index() {
    let home = home();
    home.put("count-rounds", &counting_workflow(3));
    let starts: Vec<Child> = (0..32)
        .map(|number| {
            let prompt = format!("number {number}");
            home.command(&["thread", "start", "count-rounds", "-p", &prompt]).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut start in starts {
        assert_eq!(start.wait().unwrap().code(), Some(0));
    }
    assert_eq!(lines(&home.root().join("threads.yaml")), 32);
}

/// Kills every process of uwf while an agent is at work, which was started for the given time. Then the agent ends.
fn end_without_uwf(home: &TestHome, thread: &str, started: usize) {
    let mut window = step_until_begun(home, thread, started);
    kill_uwf(home);
    window.wait().unwrap();
    home.file("go", "");
    let dir = home.root().join("threads").join(thread).join("attempts");
    let has_ended = |file: &Path| file.extension().is_some_and(|end| end == "run") && lines(file) > 1;
    until("the shell has noted how the program ended", || {
        fs::read_dir(&dir).unwrap().any(|file| has_ended(&file.unwrap().path()))
    });
}

#[test]
fn answer_of_ended_program_is_kept() {
    let answering = "#!/bin/sh\ntrap 'echo \"{\\\"n\\\": 7}\"; exit 0' TERM\ncat > /dev/null\necho $$ >> ledger\nwhile :; do sleep 0.02; done\n";
    let (home, thread) = counting_home(answering);
    let mut window = step_until_begun(&home, &thread, 1);
    kill_uwf(&home);
    window.wait().unwrap();
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    assert_eq!(home.last_step(&thread)["output"], json!({"n": 7}));
    assert_eq!(lines(&home.work().join("ledger")), 1, "the step ended the program, which answered then");
}

#[test]
fn whole_answer_outlives_all_processes_of_uwf() {
    let nothing = WAITING.replace("echo '{", ": '{");
    let creating = format!("{WAITING}test $(wc -l < ledger) = 1 || touch made\n");
    for (output, agent, runs) in [
        ("output: json", WAITING.to_owned(), 1),
        ("output: json", format!("{WAITING}exit 3\n"), 2),
        ("output: json", nothing, 1),
        ("output: json, expectFile: made", format!("{WAITING}touch made\n"), 1),
        ("output: json, expectFile: made", creating, 2),
    ] {
        let (home, thread) = counting_home(WAITING);
        home.worker(output, &agent);
        end_without_uwf(&home, &thread, 1);
        let stepped = home.uwf(&["thread", "step", &thread]);
        let ledger = home.work().join("ledger");
        match agent.contains(": '{") {
            true => assert_eq!(stepped.code, Some(41), "an empty answer: {}", stepped.transcript()),
            false if agent.contains("exit 3") => assert_eq!(stepped.code, Some(40), "{}", stepped.transcript()),
            false => assert_eq!(stepped.code, Some(0), "{}", stepped.transcript()),
        }
        assert_eq!(lines(&ledger), runs, "{output}: {agent}");
    }
}

#[test]
fn output_of_command_outlives_all_processes_of_uwf() {
    for (end, runs, code) in [("exit 3", 1, 0), ("exit 137", 1, 0), ("kill -9 $$", 2, 40)] {
        let home = home();
        let script =
            format!("#!/bin/sh\necho x >> ledger\nwhile [ ! -e go ]; do sleep 0.02; done\necho broken\n{end}\n");
        home.script("check", &script);
        let workflow = "name: check-it\ndescription: x\nroles:\n  it: { run: check, shell: none }\ngraph:\n  $START: [ { role: it } ]\n  it: [ { role: it } ]\n";
        home.put("check-it", workflow);
        let thread = home.start("check-it", "x");
        end_without_uwf(&home, &thread, 1);
        let stepped = home.uwf(&["thread", "step", &thread]);
        assert_eq!(stepped.code, Some(code), "{end}: {}", stepped.transcript());
        assert_eq!(lines(&home.work().join("ledger")), runs, "{end}");
        if code == 0 {
            let exit_code: i32 = end.trim_start_matches("exit ").parse().unwrap();
            let expected = json!({"passed": false, "exitCode": exit_code, "output": "broken\n"});
            assert_eq!(home.last_step(&thread)["output"], expected, "{end}");
        }
    }
}

/// A program that prints a trace of its session: the one it is told to continue, unless it has lost that. It waits in its second run.
const IN_SESSION: &str = r#"#!/bin/sh
cat > /dev/null
echo "$@" >> ledger
test $(wc -l < ledger) != 2 || while [ ! -e go ]; do sleep 0.02; done
session=first
test ! -e lost || session=second
printf '{"type":"assistant","session_id":"%s","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"{\\"n\\": 1}"}]}}\n' $session
printf '{"type":"result","session_id":"%s","is_error":false,"result":"x"}\n' $session
"#;

#[test]
fn answer_in_session_outlives_all_processes_of_uwf() {
    for is_lost in [false, true] {
        let home = home();
        home.worker("output: json, config: { trace: claude, resume: true }", IN_SESSION);
        let thread = home.start_counting(4, "count");
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(0));
        if is_lost {
            home.file("lost", "");
        }
        end_without_uwf(&home, &thread, 2);
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(0));
        let ledger = home.work().join("ledger");
        let ran = fs::read_to_string(&ledger).unwrap();
        match is_lost {
            // The answer was not made in the session, so the program had no history. Now it gets all.
            true => assert_eq!(ran, "\n--resume first\n\n"),
            false => assert_eq!(ran, "\n--resume first\n"),
        }
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(0));
        let last = fs::read_to_string(&ledger).unwrap();
        let session = if is_lost { "--resume second" } else { "--resume first" };
        assert_eq!(last.lines().last(), Some(session), "the next visit continues the session");
    }
}

uwf_testing::also_as_posix!(
    killing_the_window_loses_nothing,
    next_step_adopts_result_of_killed_keeper,
    lingering_agent_is_ended_and_its_step_adopted,
    processes_of_dead_attempt_end_before_next_attempt,
    ctrl_c_keeps_output_and_leaves_thread_ready,
    kill_archives_thread_before_ending_agent,
    only_one_of_concurrent_steps_runs,
);
