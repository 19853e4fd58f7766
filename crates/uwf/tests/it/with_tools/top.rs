//! `uwf top`, at a terminal. Its screen writes only what changes, so a test waits for single words.

use insta::assert_snapshot;
use uwf_testing::processes::until;
use uwf_testing::{TestHome, counting_workflow};

use crate::fixtures::people::family;
use crate::fixtures::terminal::{Session, session, session_with};
use crate::{home, transcript};

/// Gives the screen back that was there before.
const LEAVES: &str = "\u{1b}[?1049l";

/// A home with one thread that has made a step.
fn counting() -> (TestHome, String) {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let thread = home.start_counting(9, "count the sheep");
    home.json(&["thread", "step", &thread]);
    (home, thread)
}

/// It has ended so, and the terminal is as it was.
fn check(session: &Session, code: i64) {
    assert_eq!(session.code, Some(code), "{}", session.shown);
    assert!(session.echo && session.shown.contains(LEAVES), "{}", session.shown);
}

fn state(home: &TestHome, thread: &str) -> String {
    uwf_testing::text(&home.json(&["thread", "show", thread]), "state")
}

#[test]
fn threads_are_shown_paused_resumed_and_killed() {
    let (home, thread) = counting();
    // Of "any other key does not", no symbol stands where the line before has the same: it is written whole.
    let seen = session(
        &home,
        &["top"],
        &[
            ("count-rounds", "p"),
            ("paused", "p"),
            ("active", "K"),
            ("does", "n"),
            ("nothing", "K"),
            ("does", "y"),
            ("finished", "q"),
        ],
    );
    check(&seen, 0);
    assert!(
        seen.shown.contains("worker") && seen.shown.contains("sheep") && seen.shown.contains(&thread[18..]),
        "{}",
        seen.shown
    );
    assert_eq!(state(&home, &thread), "killed");
}

#[test]
fn threads_are_stepped_run_and_retried() {
    let (home, thread) = counting();
    home.script("worker", "#!/bin/sh\n[ -e fixed ] || exit 3\necho '{\"n\": 1}'\n");
    let seen = session(&home, &["top"], &[("count-rounds", "s"), ("Press Enter", "\r"), ("stuck", "q")]);
    check(&seen, 0);
    home.file("fixed", "");
    let seen = session(
        &home,
        &["top"],
        &[("stuck", "R"), ("Press Enter", "\r"), ("active", "r"), ("Press Enter", "\r"), ("finished", "q")],
    );
    check(&seen, 0);
    assert_eq!(state(&home, &thread), "completed");
}

#[test]
fn thread_opens_and_filter_narrows_list() {
    let (home, thread) = counting();
    home.put("other-flow", &counting_workflow(2).replace("count-rounds", "other-flow"));
    let other = home.start("other-flow", "another task");
    let seen = session(&home, &["top"], &[("other-flow", "/count-r\r\r"), ("Task", "qq")]);
    check(&seen, 0);
    assert!(seen.shown.contains(&thread), "the one that is left was read: {}", seen.shown);
    let seen = session(
        &home,
        &["top", "--filter", "OTHER"],
        &[("other-flow", "K"), ("does", "y"), ("passes", "t"), ("killed", "q")],
    );
    check(&seen, 0);
    assert_eq!([state(&home, &other), state(&home, &thread)], ["killed", "active"]);
}

#[test]
fn a_person_answers_from_there() {
    let (home, parent) = family();
    let seen = session(
        &home,
        &["top", "--filter", "ask-boss"],
        &[("ask-boss", "a"), ("`approved` (required)", "true\r"), ("Press Enter", "\r"), ("passes", "q")],
    );
    check(&seen, 0);
    assert_eq!(home.json(&["run", &parent])["done"], true);
}

#[test]
fn terminal_is_restored_after_every_exit() {
    let (home, _) = counting();
    check(&session(&home, &["top"], &[("count-rounds", "<signal 15>")]), 143);
    check(&session(&home, &["top"], &[("count-rounds", "\u{3}")]), 0);
    check(&session(&home, &["top"], &[("count-rounds", "a"), ("Press Enter", "<signal 15>")]), 143);
    let kept = [("count-rounds", "/zzz\r"), ("with", "\u{1b}"), ("count-rounds", "q")];
    check(&session(&home, &["top"], &kept), 0);
    check(&session(&home, &["top"], &[("count-rounds", "?"), ("PgUp", "q"), ("count-rounds", "\u{1b}")]), 0);
}

#[test]
fn it_does_not_outlive_its_terminal() {
    let (home, _) = counting();
    for keys in ["<close>", "?"] {
        let mut dialog = vec![("count-rounds", keys)];
        dialog.extend((keys == "?").then_some(("PgUp", "<close>")));
        let seen = session(&home, &["top"], &dialog);
        assert!(matches!(seen.code, Some(143 | -1)), "{:?} {}", seen.code, seen.shown);
    }
    // In the middle of a key: an escape sequence that does not end.
    check(&session(&home, &["top"], &[("count-rounds", "\u{1b}["), ("", "<signal 15>")]), 143);
}

#[test]
fn without_colour_and_without_a_terminal() {
    let (home, thread) = counting();
    home.script("worker", "#!/bin/sh\nexit 1\n");
    home.uwf(&["thread", "step", &thread]);
    let seen = |variables: &[(&str, &str)]| session_with(&home, 100, variables, &["top"], &[("stuck", "q")]);
    let is_coloured =
        |shown: &str| shown.contains("\u{1b}[31m") || shown.contains("\u{1b}[38;5;1m") || shown.contains("38;5;1;");
    let coloured = seen(&[]);
    check(&coloured, 0);
    assert!(is_coloured(&coloured.shown), "{:?}", coloured.shown);
    let plain = seen(&[("NO_COLOR", "1")]);
    check(&plain, 0);
    assert!(!is_coloured(&plain.shown), "{:?}", plain.shown);
    assert_snapshot!(transcript(&home, &["top"]), @"
    exit 64
    --- stderr
    error: `uwf top` needs a terminal
    hint: for programs: uwf thread list --format json
    ");
}

#[test]
fn task_is_visible_at_eighty_columns() {
    let home = home();
    home.worker("output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let name = "count-all-the-rounds-of-a-game";
    home.put(name, &counting_workflow(9).replace("count-rounds", name).replace("worker", "a-patient-game-master"));
    let thread = home.start(name, "Goldfish swim in circles");
    home.json(&["thread", "step", &thread]);
    for columns in [80, 100] {
        let seen = session_with(&home, columns, &[], &["top"], &[("Goldfish", "q")]);
        check(&seen, 0);
        let words = seen.shown.contains("count-all-the") && seen.shown.contains(&thread[18..]);
        assert!(words, "{columns}: {}", seen.shown);
    }
}

#[test]
fn on_three_lines_the_chosen_thread_is_shown() {
    let (home, thread) = counting();
    let seen = session_with(&home, 100, &[("TERMINAL_ROWS", "3")], &["top"], &[("sheep", "q")]);
    check(&seen, 0);
    assert!(seen.shown.contains(&thread[18..]) && !seen.shown.contains("no active threads"), "{}", seen.shown);
}

#[test]
fn threads_show_activity_or_task() {
    let home = home();
    let call = r#"{"type": "turn", "output": "", "toolCalls": [{"name": "Bash", "arguments": "{\"command\": \"pytest\"}", "result": "", "durationMs": 1}]}"#;
    let more = r#"{"type": "turn", "output": ""}"#;
    home.worker(
        "output: text, config: { trace: jsonl }",
        &format!("#!/bin/sh\ncat > /dev/null\nprintf '%s\\n' '{call}'\nwhile [ ! -e go ]; do sleep 0.02; done\necho '{more}'\nexit 1\n"),
    );
    let thread = home.start_counting(9, "Goldfish swim");
    let mut step = home.command(&["thread", "step", &thread]).stderr(std::process::Stdio::null()).spawn().unwrap();
    // A later change of the line would be written without the symbols that both have.
    until("its call is known", || home.json(&["thread", "ps"])[0]["doing"].is_string());
    check(&session_with(&home, 80, &[], &["top"], &[("runs pytest", "q")]), 0);
    home.file("go", "");
    step.wait().unwrap();
    let seen = session_with(&home, 80, &[], &["top"], &[("Goldfish", "q")]);
    check(&seen, 0);
    assert!(seen.shown.contains("help") && seen.shown.contains("leave"), "{}", seen.shown);
}
