//! Questions at a terminal: which lines become an answer, and when nothing is asked.

use serde_json::json;
use uwf_testing::TestHome;
use uwf_testing::processes::{of_home, until};

use crate::fixtures::people::{staffed, waiting};
use crate::fixtures::terminal::session;
use crate::fixtures::text::plain;
use crate::home;

/// A thread whose agent thinks for a while, asks, and takes the reply as its output.
fn asking(seconds: u32) -> (TestHome, String) {
    let home = home();
    home.put("order", "name: order\ndescription: x\nroles:\n  clerk:\n    description: x\n    goal: x\n    meta: { type: object, properties: { fruit: { type: string } }, required: [fruit] }\ngraph:\n  $START: [ { role: clerk } ]\n  clerk: [ { role: $END } ]\n");
    let script = format!(
        "#!/bin/sh\nPATH=/usr/bin:/bin\nprompt=$(cat)\ncase $prompt in\n*\"person's reply\"*) printf -- '---\\nfruit: ordered\\n---\\n'; printf '%s\\n' \"$prompt\" > prompt.txt ;;\n*) sleep {seconds}; printf -- '---\\nstatus: needs_input\\n---\\nWhich fruit?\\n' ;;\nesac\n"
    );
    home.worker("output: text", &script);
    let thread = home.start("order", "Order fruit.");
    (home, thread)
}

fn state(home: &TestHome, thread: &str) -> String {
    uwf_testing::text(&home.json(&["thread", "show", thread]), "state")
}

fn reply(home: &TestHome) -> String {
    let prompt = std::fs::read_to_string(home.work().join("prompt.txt")).unwrap();
    let reply = prompt.split("person's reply").nth(1).unwrap();
    reply.lines().skip(1).find(|line| !line.is_empty()).unwrap().to_owned()
}

/// A block that is pasted into a shell waits in the terminal while its first command works.
#[test]
fn lines_typed_early_do_not_answer_question() {
    let (home, thread) = asking(3);
    let dialog = [("clerk by w", "Apples\r"), ("your reply", "\u{4}")];
    let seen = session(&home, &["run", &thread], &dialog);
    assert_eq!((seen.code, state(&home, &thread).as_str()), (Some(130), "waiting"), "{}", seen.shown);
    let later = format!("hint: the thread keeps waiting: `uwf thread answer {thread}`");
    assert!(plain(&seen.shown).contains(&later), "{}", seen.shown);
}

#[test]
fn pasted_commands_are_answers_only_if_confirmed() {
    let (home, thread) = asking(0);
    let command = "uwf thread answer @ -m Pears";
    let dialog = [
        ("your reply", &*format!("{command}\r")),
        ("Is it your answer?", "\r"),
        ("your reply", &format!("$ {command}\r")),
        ("Is it your answer?", "uwf run @\r"),
        ("your reply", &format!("{command}\r")),
        ("Is it your answer?", "y\r"),
    ];
    let seen = session(&home, &["run", &thread], &dialog);
    assert_eq!(seen.code, Some(0), "{}", seen.shown);
    let back = "`uwf thread answer @ -m Pears` looks like a command for the shell. Is it your answer? [y/N]: ";
    assert_eq!(plain(&seen.shown).matches(back).count(), 2, "{}", seen.shown);
    assert_eq!(reply(&home), command);
}

#[test]
fn several_lines_at_once_are_not_an_answer() {
    let (home, thread) = asking(0);
    let dialog = [("your reply", "cat notes\rPears\r"), ("Is it your answer?", "\r"), ("your reply", "Apples\r")];
    let seen = session(&home, &["run", &thread], &dialog);
    assert_eq!(seen.code, Some(0), "{}", seen.shown);
    assert!(plain(&seen.shown).contains("`cat notes` came with more lines, which are not read."), "{}", seen.shown);
    assert_eq!(reply(&home), "Apples");
}

#[test]
fn each_key_is_answered_by_its_own_line() {
    let home = staffed();
    let thread = waiting(&home);
    let dialog = [
        ("`approved` (required)", "uwf thread answer @ -m x\r"),
        ("Is it your answer?", "n\r"),
        ("`approved` (required)", "true\r"),
        ("(Enter for none)", "uwf run @\r"),
        ("Is it your answer?", "n\r"),
        ("(Enter for none)", "\r"),
    ];
    let seen = session(&home, &["thread", "answer", &thread], &dialog);
    assert_eq!(seen.code, Some(0), "{}", seen.shown);
    assert_eq!(home.json(&["thread", "eval", &thread, "$last('approver')"]), json!({"approved": true}));
}

/// Lets a thread continue without a reply after a while.
fn limit_wait(home: &TestHome, limit: &str) {
    let config = std::fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&format!("{config}askTimeout: {limit}\n"));
}

#[test]
fn prompt_ends_at_ask_timeout() {
    let (home, thread) = asking(0);
    limit_wait(&home, "3s");
    let seen = session(&home, &["run", &thread], &[("your reply", "Appl")]);
    assert_eq!(seen.code, Some(0), "{}", seen.shown);
    let shown = plain(&seen.shown);
    assert!(shown.contains("If you don't reply within "), "{shown}");
    assert!(
        shown.contains(", the agent decides by itself.") && shown.contains("there was no reply in time\n"),
        "{shown}"
    );
    assert!(reply(&home).starts_with("There was no reply within 3s."), "{}", reply(&home));

    let (home, thread) = asking(0);
    limit_wait(&home, "3s");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    let seen = session(&home, &["thread", "answer", &thread], &[("your reply", "Appl")]);
    assert_eq!(seen.code, Some(75), "{}", seen.shown);
    let shown = plain(&seen.shown);
    assert!(shown.contains(&format!("hint: continue without a reply: uwf run {thread}")), "{shown}");
    // Until the thread continues, a late reply counts.
    let late = session(&home, &["thread", "answer", &thread], &[("your reply", "Apples\r")]);
    assert_eq!(late.code, Some(0), "{}", late.shown);
    assert_eq!((home.uwf(&["run", &thread]).code, reply(&home).as_str()), (Some(0), "Apples"));
}

#[test]
fn prompt_ends_when_question_is_answered_elsewhere() {
    for (command, code) in [(&["run"][..], 0), (&["thread", "answer"], 75)] {
        let (home, thread) = asking(0);
        assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
        let seen = std::thread::scope(|scope| {
            let prompt = scope.spawn(|| session(&home, &[command, &[&*thread]].concat(), &[("your reply", "Appl")]));
            let is_prompt = |words: &[String]| words.get(1) == Some(&command[0].to_owned()) && words.contains(&thread);
            until("the command runs", || {
                of_home(home.root().parent().unwrap()).iter().any(|(_, words)| is_prompt(words))
            });
            std::thread::sleep(std::time::Duration::from_secs(2));
            home.json(&["thread", "answer", &thread, "-m", "Pears", "--by", "lena"]);
            prompt.join().unwrap()
        });
        assert_eq!(seen.code, Some(code), "{}", seen.shown);
        let shown = plain(&seen.shown);
        assert!(shown.contains("the question was answered elsewhere\n"), "{shown}");
        assert!(code == 0 || shown.contains("already answered by lena"), "{shown}");
        assert!(code == 75 || reply(&home) == "Pears", "{shown}");
    }
}

#[test]
fn no_ask_leaves_terminal_run_waiting() {
    let (home, thread) = asking(0);
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20), "the agent was offered to ask");
    let seen = session(&home, &["run", &thread, "--no-ask"], &[]);
    assert_eq!(seen.code, Some(20), "{}", seen.shown);
    let shown = plain(&seen.shown);
    assert!(shown.contains("waiting: role `clerk` asks: Which fruit?") && !shown.contains("your reply"), "{shown}");
    let seen = session(&home, &["thread", "answer", &thread, "--no-ask"], &[]);
    assert_eq!(seen.code, Some(64), "{}", seen.shown);
    let shown = plain(&seen.shown);
    assert!(shown.contains("error: no reply was given\n") && !shown.contains("your reply"), "{shown}");

    let home = staffed();
    let thread = waiting(&home);
    let seen = session(&home, &["thread", "answer", &thread, "--no-ask"], &[]);
    assert_eq!((seen.code, state(&home, &thread).as_str()), (Some(64), "waiting"), "{}", seen.shown);
    assert!(plain(&seen.shown).contains("error: no answer was given\n"), "{}", seen.shown);
}

#[test]
fn no_ask_keeps_an_unfit_draft() {
    let home = staffed();
    let thread = waiting(&home);
    std::os::unix::fs::symlink("/bin/sh", home.bin_dir().join("sh")).unwrap();
    let editor =
        home.script("ed", "#!/bin/sh\nPATH=/usr/bin:/bin\nsed -i 's/<true or false>/perhaps/; /^why/d' \"$1\"\n");
    let args = ["thread", "answer", &thread, "--editor", "--no-ask"];
    let seen = crate::fixtures::terminal::session_with(&home, 100, &[("EDITOR", editor.to_str().unwrap())], &args, &[]);
    assert_eq!(seen.code, Some(41), "{}", seen.shown);
    assert!(!plain(&seen.shown).contains("edit it again?"), "{}", seen.shown);
}

/// A workflow with two required values, and one that has a default.
fn with_inputs() -> TestHome {
    let home = home();
    home.put(
        "release",
        "name: release
description: x
input:
  type: object
  properties:
    version: { type: string, description: the version to release }
    level: { enum: [low, high] }
    dry: { type: boolean, default: false }
  required: [version, level]
roles: { clerk: { goal: x } }
graph:
  $START: [ { role: clerk } ]
  clerk: [ { role: $END } ]
",
    );
    home.worker("output: text", "#!/bin/sh\ncat > /dev/null\necho done\n");
    home
}

#[test]
fn missing_inputs_are_asked_for_at_a_terminal() {
    for command in [&["run", "release", "-p", "x"][..], &["thread", "start", "release", "-p", "x"]] {
        let home = with_inputs();
        let dialog = [
            ("version (string: the version to release)", "1.10\r"),
            ("level (one of low, high)", "medium\r"),
            ("level (one of low, high)", "high\r"),
        ];
        let seen = session(&home, command, &dialog);
        assert_eq!(seen.code, Some(0), "{}", seen.shown);
        assert!(
            plain(&seen.shown).contains("`level`: expected \"low\" or \"high\", found \"medium\""),
            "{}",
            seen.shown
        );
        let input = home.json(&["thread", "show", "@"])["input"].take();
        assert_eq!(input, json!({ "version": "1.10", "level": "high", "dry": false }));
    }
    let home = with_inputs();
    let seen = session(&home, &["run", "release", "-p", "x", "--set", "level=low"], &[("version (string", "\u{4}")]);
    assert_eq!(seen.code, Some(130), "{}", seen.shown);
    assert_eq!(home.json(&["thread", "list", "--all"]), json!([]));
}

#[test]
fn inputs_are_not_asked_for_without_leave() {
    let home = with_inputs();
    for (args, said) in [
        (&["run", "release", "-p", "x", "--no-ask"][..], "add --set version=… --set level=…"),
        (&["thread", "start", "release", "-p", "x", "--no-ask"], "add --set version=… --set level=…"),
        // Other problems come first, with all names that lack a value.
        (&["run", "release", "-p", "x", "--set", "lvel=low"], "`version` has no value"),
    ] {
        let seen = session(&home, args, &[]);
        assert_eq!(seen.code, Some(64), "{}", seen.shown);
        assert!(plain(&seen.shown).contains(said), "{}", seen.shown);
    }
    let piped = home.uwf(&["run", "release", "-p", "x"]);
    assert_eq!(piped.code, Some(64), "{}", piped.transcript());
    assert!(piped.stderr.contains("`version` has no value") && piped.stderr.contains("`level` has no value"));
    assert_eq!(home.json(&["thread", "list", "--all"]), json!([]));
}
