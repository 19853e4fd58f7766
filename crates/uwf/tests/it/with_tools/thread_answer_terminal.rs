//! `uwf thread answer` at a terminal: forms, editors and questions.

use std::fs;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::{FinishedRun, TestHome, numbered, text};

use crate::fixtures::people::{family, last, staffed, waiting};
use crate::fixtures::review::WORKFLOW;
use crate::fixtures::terminal::{session, session_in};
use crate::fixtures::text::plain;
use crate::home;

/// A person who approves what an agent has written.
fn approving() -> (TestHome, String) {
    let home = home();
    home.put("review-text", WORKFLOW);
    let writer = home.script("writer", "#!/bin/sh\nwhile read -r line; do :; done\nprintf -- '---\\ntitle: All about cats\\n---\\nCats are small.\\n'\n");
    home.config(&format!("agents:\n  w: {{ command: '{}', output: text }}\n  h: {{ command: uwf-human }}\ndefaultAgent: w\nagentOverrides:\n  review-text: {{ reviewer: h }}\n", writer.display()));
    let thread = home.start("review-text", "Write about cats.");
    (home, thread)
}

#[test]
fn parent_answer_goes_to_only_waiting_child() {
    let (home, parent) = family();
    let ran = home.uwf(&["thread", "answer", &parent]);
    assert_eq!(ran.code, Some(64));
    let command = ran.stderr.lines().find_map(|line| line.split("uwf thread answer ").nth(1)).unwrap();
    let (child, value) = command.split_once(" --data ").unwrap();
    assert_ne!(child, parent);
    assert_eq!(value, r#"'{"approved":false}'"#);
    let ran = home.uwf(&["thread", "answer", &parent, "--data", r#"{"approved": true}"#]);
    assert_eq!(ran.json()["thread"], json!(child), "{ran:?}");
    assert!(ran.stderr.contains(&format!("this answers {child}, a child thread of {parent}")), "{ran:?}");
    assert_eq!(home.json(&["run", &parent])["done"], json!(true));
}

/// What is offered to be copied is run as it is.
#[test]
fn the_form_for_data_can_be_copied() {
    let home = home();
    home.put("sign-off", "name: sign-off\ndescription: x\nroles:\n  boss:\n    description: x\n    goal: x\n    meta:\n      type: object\n      properties:\n        approved: { type: boolean }\n        why: { type: string, minLength: 7 }\n        risk: { enum: [\"it's low\", high] }\n        paths: { type: array, items: { type: string }, minItems: 2 }\n      required: [approved, why, risk, paths]\ngraph:\n  $START: [ { role: boss } ]\n  boss: [ { role: $END } ]\n");
    home.config("agents:\n  h: { command: uwf-human }\ndefaultAgent: h\n");
    let thread = home.start("sign-off", "x");
    let waits = home.uwf(&["thread", "step", &thread]);
    let command = waits.stderr.lines().find(|line| line.contains("--data")).unwrap().trim().to_owned();
    let mut shell = Command::new("sh");
    home.prepare(&mut shell);
    let bin = std::path::Path::new(uwf_testing::uwf_program()).parent().unwrap();
    let output = shell.args(["-c", &format!("PATH='{}':$PATH; {command}", bin.display())]).output().unwrap();
    assert!(output.status.success(), "{command}\n{output:?}");
    let step = home.last_step(&thread);
    assert_eq!(
        step["output"],
        json!({"approved": false, "why": "texttext", "risk": "it's low", "paths": ["text", "text"]})
    );
}

#[test]
fn approval_shows_work_and_asks_in_place() {
    let (home, thread) = approving();
    home.json(&["thread", "step", &thread]);
    let no = [("`approved` (required)", "false\r")];
    let session = session_in(&home, 100, &["thread", "answer", &thread], &no);
    assert_eq!(session.code, Some(0), "{}", session.shown);
    let shown = plain(&session.shown);
    for part in ["## 1. writer", "Cats are small.", "All about cats", "You are asked to play role `reviewer`"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    // A run continues through the question to the end.
    let yes = [("`approved` (required)", "true\r")];
    let session = session_in(&home, 100, &["run", &thread], &yes);
    assert_eq!(session.code, Some(0), "{}", session.shown);
    let shown = plain(&session.shown);
    assert!(
        shown.contains("## 3. writer") && shown.contains("✓ reviewer by h") && shown.contains("done: thread "),
        "{shown}"
    );
}

#[test]
fn typed_text_is_stored_unchanged() {
    let home = home();
    home.put("sign-off", "name: sign-off\ndescription: x\nroles:\n  boss:\n    description: x\n    goal: x\n    meta: { type: object, properties: { title: { type: string }, why: { type: string }, size: { type: [integer, string] } }, required: [title, why, size] }\ngraph:\n  $START: [ { role: boss } ]\n  boss: [ { role: $END } ]\n");
    home.config("agents:\n  h: { command: uwf-human }\ndefaultAgent: h\n");
    let thread = home.start("sign-off", "x");
    let typed = [
        ("`title` (required)", "\r"),
        ("needs a value", " \"A\" [b] # c \r"),
        ("`why` (required)", "[WIP: a\r"),
        ("`size` (required)", "5\r"),
    ];
    let session = session_in(&home, 100, &["thread", "answer", &thread], &typed);
    assert_eq!(session.code, Some(0), "{}", session.shown);
    assert_eq!(last(&home, &thread).0, json!({ "title": " \"A\" [b] # c ", "why": "[WIP: a", "size": 5 }));
}

#[test]
fn whoever_does_not_answer_leaves_the_thread_waiting() {
    let (home, thread) = approving();
    for (typed, code) in [("\u{4}", 130), ("\u{3}", -2), ("<signal 15>", -15)] {
        let session = session_in(&home, 100, &["run", &thread], &[("`approved` (required)", typed)]);
        assert_eq!(session.code, Some(code), "{typed:?}: {}", session.shown);
        assert_eq!(home.json(&["thread", "show", &thread])["state"], json!("waiting"));
    }
    let ran = home.uwf(&["run", &thread]);
    assert_eq!(ran.code, Some(20), "nobody is asked without a terminal: {ran:?}");
}

#[test]
fn a_run_asks_for_a_child_thread() {
    let (home, parent) = family();
    let session = session_in(&home, 100, &["run", &parent], &[("`approved` (required)", "true\r")]);
    assert_eq!(session.code, Some(0), "{}", session.shown);
    assert!(plain(&session.shown).contains("done: thread "), "{}", session.shown);
}

#[test]
fn refused_sentence_stays_in_the_answer() {
    let home = staffed();
    let thread = waiting(&home);
    let dialog = [
        ("`approved` (required)", "no, see {\"approved\": true}\r"),
        ("kept as a remark", "false\r"),
        ("(Enter for none)", "too long\r"),
    ];
    let session = session(&home, &["thread", "answer", &thread], &dialog);
    assert_eq!(session.code, Some(0), "{}", session.shown);
    let outputs = home.json(&["thread", "eval", &thread, "$last('approver')"]);
    assert_eq!(outputs, json!({"approved": false, "why": "too long"}));
    let read = home.uwf(&["thread", "read", &thread]).stdout;
    assert!(read.contains("no, see {\"approved\": true}"), "{read}");
}

/// The value that follows counts; the refused words are only kept.
#[test]
fn refused_entry_contradicts_no_later_value() {
    for (refused, given) in [("yes please", "true"), ("yes please", "false"), ("I do not approve", "true")] {
        let home = staffed();
        let thread = waiting(&home);
        let (refusal, value) = (format!("{refused}\r"), format!("{given}\r"));
        let dialog = [
            ("`approved` (required)", &*refusal),
            ("kept as a remark", &*value),
            ("(Enter for none)", "fine as it is\r"),
        ];
        let session = session(&home, &["thread", "answer", &thread], &dialog);
        assert_eq!(session.code, Some(0), "{refused}, {given}: {}", session.shown);
        let outputs = home.json(&["thread", "eval", &thread, "$last('approver')"]);
        assert_eq!(outputs, json!({"approved": given == "true", "why": "fine as it is"}));
        let read = home.uwf(&["thread", "read", &thread]).stdout;
        assert!(read.contains(refused), "{read}");
    }
}

#[test]
fn abandoned_answer_is_kept_for_the_editor() {
    let home = staffed();
    let thread = waiting(&home);
    let dialog = [("`approved` (required)", "I would say no\r"), ("kept as a remark", "\u{4}")];
    let given_up = session(&home, &["thread", "answer", &thread], &dialog);
    assert_eq!(given_up.code, Some(130), "{}", given_up.shown);
    assert!(plain(&given_up.shown).contains("your text is kept"), "{}", given_up.shown);
    home.script("ed-copy", "#!/bin/sh\ncp \"$1\" draft\n");
    let edited = home.command(&["thread", "answer", &thread, "--editor"]).env("EDITOR", "ed-copy").output().unwrap();
    assert_eq!(edited.status.code(), Some(41), "a form without its required key");
    let draft = fs::read_to_string(home.work().join("draft")).unwrap();
    assert!(draft.starts_with("---\n---\nI would say no\n"), "{draft}");
}

#[test]
fn person_is_asked_key_by_key() {
    let home = staffed();
    let thread = waiting(&home);
    let gone = session(&home, &["thread", "answer", &thread], &[("`approved` (required)", "\u{4}")]);
    assert_eq!((gone.code, home.json(&["thread", "show", &thread])["state"].as_str()), (Some(130), Some("waiting")));
    let dialog = [
        ("`approved` (required)", "perhaps\r"),
        ("expected a boolean", "yes\r"),
        ("(Enter for none)", "late: see #42\r"),
    ];
    let session = session(&home, &["thread", "answer", &thread], &dialog);
    assert_eq!((session.code, session.echo), (Some(0), true), "{}", session.shown);
    let outputs = home.json(&["thread", "eval", &thread, "$last('approver')"]);
    assert_eq!(outputs, json!({"approved": true, "why": "late: see #42"}));
}

#[test]
fn untouched_optional_key_is_left_out() {
    let home = staffed();
    let thread = waiting(&home);
    let edited = |script: &str| {
        home.script("ed-one", &format!("#!/bin/sh\nsed -i '{script}' \"$1\"\n"));
        let mut command = home.command(&["thread", "answer", &thread, "--editor"]);
        FinishedRun::from(command.env("EDITOR", "ed-one").output().unwrap())
    };
    let refused = edited("s/<text>/too short/");
    assert_eq!(refused.code, Some(41), "a required placeholder is refused: {refused:?}");
    let ran = edited("s/<true or false>/false/; s/too short/<text>/");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(home.json(&["thread", "eval", &thread, "$last('approver')"]), json!({ "approved": false }));
}

#[test]
fn editor_gets_form_and_keeps_invalid_draft() {
    let home = staffed();
    let thread = waiting(&home);
    home.script("ed-copy", "#!/bin/sh\ncp \"$1\" form.md\n");
    home.script("ed-bad", "#!/bin/sh\nsed -i 's/<true or false>/perhaps/; /^why/d' \"$1\"\n");
    home.script("ed-good", "#!/bin/sh\n[ \"$1\" = --wait ] && shift\nsed -i 's/perhaps/true/' \"$1\"\n");
    home.script("ed-broken", "#!/bin/sh\nexit 3\n");
    let edited = |editor: &str| {
        let args = ["thread", "answer", &thread, "--editor"];
        let ran = FinishedRun::from(home.command(&args).env("EDITOR", editor).output().unwrap());
        numbered(&home.steady(&ran.transcript()))
    };
    assert_snapshot!(edited("ed-copy"), @r"
    exit 20
    --- stderr
    waiting: nothing was written, so the thread keeps waiting
    ");
    assert_snapshot!(numbered(&home.steady(&fs::read_to_string(home.work().join("form.md")).unwrap())), @"
    ---
    approved: <true or false>
    why: <text>
    ---


    <!-- From this line on nothing is read. -->

    ## 1. writer

    by mock (uwf-mock) · <time> UTC · step `#1`

    - **post**: Hello

    You are asked to play role `approver` of workflow `publish-post`.

    Goal:
      Decide whether the post goes out.

    Required output:
      Say why, if it does not.

    Task:
      Say hello.

    The answer needs:
      - `approved` (required): `true` or `false`
      - `why` (optional): text
    ");
    assert_snapshot!(edited("ed-bad"), @r#"
    exit 41
    --- stderr
    error: the answer does not fit role `approver`: `approved`: expected a boolean, found the string "perhaps"
    hint: it has this form: {"approved":"<true or false>","why":"<text>"}
    hint: your text is kept in <dir>/root/threads/<id>/answer-#1.md
    hint: edit it again: `uwf thread answer <id> --editor`
    "#);
    assert_snapshot!(edited("ed-broken"), @"
    exit 78
    --- stderr
    error: the editor `ed-broken` ended with exit status: 3
    hint: set VISUAL or EDITOR; your text is kept in <dir>/root/threads/<id>/answer-#1.md
    hint: `uwf thread answer` also takes an answer by --data, -m or --file
    ");
    assert!(edited("ed-good --wait").starts_with("exit 0\n"));
    let (output, detail) = last(&home, &thread);
    assert_eq!(output, json!({"approved": true}));
    assert_eq!(home.json(&["cas", "get", &text(&detail, "raw")])["payload"]["text"], "---\napproved: true\n---");
    let left: Vec<String> = fs::read_dir(home.root().join("threads").join(&thread))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("answer"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
