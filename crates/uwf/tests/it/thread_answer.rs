//! Roles played by people: waiting, and every way to answer.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::{FinishedRun, TestHome, text};

use crate::fixtures::mocked;
use crate::fixtures::people::{CONFIG, answers, last, staffed, waiting};
use crate::transcript;

fn nodes(home: &TestHome) -> usize {
    fs::read_dir(home.root().join("cas")).unwrap().count()
}

#[test]
fn person_role_waits_and_shows_question() {
    let home = staffed();
    let thread = home.start("publish-post", "Say hello.");
    home.json(&["thread", "step", &thread]);
    let (head, before) = (home.head(&thread), nodes(&home));
    let first = transcript(&home, &["thread", "step", &thread]);
    assert_snapshot!(first, @r#"
    exit 20
    --- stderr
    waiting: role `approver` waits for a person: uwf thread answer <id>

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

    Answer it:
      uwf thread answer <id>              on a terminal: asks key by key
      uwf thread answer <id> --editor     the form, in your editor
      uwf thread answer <id> --data '{"approved":false,"why":"text"}'
    See what was done before:
      uwf thread read <id>
    "#);
    assert_eq!(transcript(&home, &["thread", "step", &thread]), first, "asked again, it says the same");
    let run = home.uwf(&["thread", "run", &thread]);
    assert_eq!(run.code, Some(20));
    assert_eq!(home.uwf(&["thread", "step", &thread]).stderr, run.stderr, "run says the same");
    let standing: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&standing["done"], &standing["head"]), (&false.into(), &head.clone().into()), "and where it stands");
    assert_eq!((home.head(&thread), nodes(&home)), (head, before), "waiting leaves nothing behind");
    let record = fs::read_to_string(home.record_file(&thread)).unwrap();
    assert_eq!(record.matches("\"event\":\"opened\"").count(), 2, "asked once: {record}");

    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(json!([shown["state"], shown["atRole"], shown["attempt"]]), json!(["waiting", "approver", null]));
    assert!(text(&shown, "asks").contains("Decide whether the post goes out."), "{shown}");
    let row = &home.json(&["thread", "list"])[0];
    assert_eq!(text(row, "why"), format!("role `approver` waits for a person: uwf thread answer {thread}"));
}

#[test]
fn answer_becomes_step_with_step_report() {
    let home = staffed();
    let thread = waiting(&home);
    let ran = answers(&home, &thread, &["--data", r#"{"approved": false, "why": "too short"}"#]);
    let report = ran.json();
    assert_eq!(
        json!([report["thread"], report["done"], report["role"], report["alias"], report["next"]]),
        json!([thread, false, "approver", "human", {"role": "writer"}])
    );
    assert_eq!(home.head(&thread), Some(text(&report, "head")));
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "active");
    let (output, detail) = last(&home, &thread);
    assert_eq!(output, json!({"approved": false, "why": "too short"}));
    assert_eq!(json!([detail["source"], detail["extractedBy"], detail["attempts"]]), json!(["human", "submit", []]));
    let turn = home.json(&["cas", "get", detail["turns"][0].as_str().unwrap()]);
    let asked = home.json(&["cas", "get", turn["payload"]["input"][0].as_str().unwrap()]);
    assert!(text(&asked["payload"], "text").contains("Decide whether the post goes out."));

    home.json(&["thread", "step", &thread]);
    let ended = answers(&home, &thread, &["-m", "---\napproved: yes\n---\nMuch better.\n", "--exit-code"]);
    assert_eq!((ended.code, &ended.json()["reason"]), (Some(10), &json!("end")), "answered before it was asked");
    let (output, detail) = last(&home, &thread);
    assert_eq!((output, &detail["extractedBy"]), (json!({"approved": true}), &json!("frontmatter")));
    let raw = home.json(&["cas", "get", &text(&detail, "raw")]);
    assert_eq!(raw["payload"]["text"], "---\napproved: yes\n---\nMuch better.\n", "kept as it was written");
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "completed");
    assert_eq!(home.uwf(&["cas", "verify"]).code, Some(0));
}

#[test]
fn invalid_answer_is_rejected_and_thread_waits() {
    let home = staffed();
    let thread = waiting(&home);
    let before = nodes(&home);
    for (args, wants) in [
        (["--data", r#"{"why": "no"}"#], "`approved`"),
        (["--data", "{"], "the answer does not fit role `approver`"),
        (["-m", "yes"], "the answer does not fit role `approver`"),
        (["-m", "---\napproved: perhaps\n---\n"], "`approved`"),
        (["-m", "I do not approve. It must say {\"approved\": true} for valid users."], "expected values, not prose"),
        (["-m", "I do not approve.\n\n```json\n{\"approved\": true}\n```\n"], "expected values, not prose"),
    ] {
        let ran = answers(&home, &thread, &args);
        assert_eq!(ran.code, Some(41), "{args:?}: {}", ran.transcript());
        assert!(ran.stderr.contains(wants), "{args:?}: {}", ran.stderr);
    }
    let keyless = answers(&home, &thread, &["-m", "yes"]);
    assert!(keyless.stderr.contains("hint: name the key: -m 'approved: yes'"), "{}", keyless.stderr);
    let prose = answers(&home, &thread, &["-m", "I do not know."]);
    assert!(!prose.stderr.contains("name the key"), "{}", prose.stderr);
    assert_snapshot!(transcript(&home, &["thread", "answer", &thread, "--data", r#"{"why": "no"}"#]), @r#"
    exit 41
    --- stderr
    error: the answer does not fit role `approver`: missing key `approved` (boolean)
    hint: it has this form: {"approved":"<true or false>","why":"<text>"}
    hint: your text is kept: `uwf thread answer <id> --editor` continues with it
    "#);
    assert_snapshot!(transcript(&home, &["thread", "answer", &thread]), @r#"
    exit 64
    --- stderr
    error: no answer was given, and uwf can't ask without a terminal
    hint: uwf thread answer <id> --data '{"approved":false,"why":"text"}'
    hint: or with -m TEXT, --file FILE or --editor
    "#);
    assert_eq!((nodes(&home), &home.json(&["thread", "show", &thread])["state"]), (before, &json!("waiting")));
    let file = home.file("answer.json", r#"{"approved": true}"#);
    assert_eq!(answers(&home, &thread, &["--file", file.to_str().unwrap()]).json()["done"], true);
}

#[test]
fn text_answers_role_with_single_text_field() {
    let home = staffed();
    let thread = home.start("dictate-note", "Speak.");
    assert_eq!(answers(&home, &thread, &["-m", "hm"]).code, Some(41), "shorter than the schema allows");
    let report = answers(&home, &thread, &["-m", "Buy milk, see #42\n"]).json();
    assert_eq!(json!([report["done"], report["alias"]]), json!([true, "human"]));
    let (output, detail) = last(&home, &thread);
    assert_eq!(output, json!({"note": "Buy milk, see #42\n"}));
    assert_eq!(home.json(&["cas", "get", &text(&detail, "raw")])["payload"]["text"], "Buy milk, see #42\n");

    let other = home.start("dictate-note", "Speak.");
    let mut piped = home.command(&["thread", "answer", &other, "--data", "-"]);
    let mut child = piped.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(br#"{"note": "from stdin"}"#).unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(last(&home, &other).0, json!({"note": "from stdin"}));
}

/// A role whose output is one text, which may be empty.
const REMARK: &str = "name: remark\ndescription: x\nroles:\n  boss:\n    description: x\n    goal: x\n    meta: { type: object, properties: { note: { type: string } }, required: [note] }\ngraph:\n  $START: [ { role: boss } ]\n  boss: [ { role: $END } ]\n";

/// The next `--editor` begins with it, as it does with what is typed key by key.
#[test]
fn refused_text_is_kept_as_draft() {
    let home = staffed();
    let thread = waiting(&home);
    let refused = answers(&home, &thread, &["-m", "---\nwhy: too long\n---\nCut the second half."]);
    assert_eq!(refused.code, Some(41), "{}", refused.transcript());
    let kept = format!("your text is kept: `uwf thread answer {thread} --editor` continues with it");
    assert!(refused.stderr.contains(&kept), "{}", refused.stderr);
    let draft = home.root().join("threads").join(&thread).join(format!("answer-{}.md", home.head(&thread).unwrap()));
    let text = fs::read_to_string(&draft).unwrap();
    assert!(text.starts_with("---\nwhy: too long\n---\nCut the second half.\n"), "{text}");
    let again = answers(&home, &thread, &["-m", "---\nwhy: still too long\n---\nAnd the end."]);
    assert!(again.stderr.contains(&kept), "{}", again.stderr);
    let both = fs::read_to_string(&draft).unwrap();
    assert_eq!(both, format!("---\nwhy: still too long\n---\nAnd the end.\n\n{text}"));
    assert_eq!(answers(&home, &thread, &["-m", "approved: yes"]).json()["done"], true);
    assert!(!draft.exists());
}

#[test]
fn empty_message_is_refused_but_empty_value_accepted() {
    let home = staffed();
    home.put("remark", REMARK);
    home.config("agents: { h: { command: uwf-human } }\ndefaultAgent: h\n");
    let thread = home.start("remark", "Speak.");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    let blank = home.file("blank", " \n\n");
    for args in [&["-m", ""][..], &["-m", " \n"], &["--file", blank.to_str().unwrap()]] {
        let refused = answers(&home, &thread, args);
        assert_eq!(refused.code, Some(64), "{args:?}: {}", refused.transcript());
        assert!(
            refused.stderr.contains("the answer is empty") && refused.stderr.contains("--data"),
            "{}",
            refused.stderr
        );
        assert_eq!(home.json(&["thread", "show", &thread])["state"], "waiting");
    }
    for args in [["--data", r#"{"note": ""}"#], ["-m", "note: \"\""], ["-m", "---\nnote: ''\n---"]] {
        let thread = home.start("remark", "Speak.");
        assert_eq!(answers(&home, &thread, &args).json()["done"], true, "{args:?}");
        assert_eq!(last(&home, &thread).0, json!({"note": ""}));
    }
}

#[test]
fn text_of_a_person_is_stored_as_typed() {
    let home = staffed();
    home.put("remark", REMARK);
    home.config("agents: { h: { command: uwf-human } }\ndefaultAgent: h\n");
    for typed in ["  two blanks before, one after ", "\"quoted\" # not a comment", "a\n\n  b\n", "'", "true", "- one"] {
        let thread = home.start("remark", "Speak.");
        assert_eq!(answers(&home, &thread, &["-m", typed]).json()["done"], true, "{typed:?}");
        assert_eq!(last(&home, &thread).0, json!({ "note": typed }));
        // Editors end the last line of a file.
        let file = home.file("note", &format!("{typed}\n"));
        let thread = home.start("remark", "Speak.");
        assert_eq!(answers(&home, &thread, &["--file", file.to_str().unwrap()]).json()["done"], true, "{typed:?}");
        assert_eq!(last(&home, &thread).0, json!({ "note": typed }));
    }
}

#[test]
fn only_threads_waiting_for_person_accept_answers() {
    let home = staffed();
    let thread = home.start("publish-post", "Say hello.");
    assert_snapshot!(transcript(&home, &["thread", "answer", &thread, "-m", "x"]), @r"
    exit 64
    --- stderr
    error: thread <id> does not wait for a person: its next role `writer` is played by `mock`
    hint: step it: `uwf thread step <id>`
    ");
    home.json(&["thread", "kill", &thread]);
    assert_eq!(answers(&home, &thread, &["-m", "x"]).code, Some(69));
    let paused = waiting(&home);
    home.json(&["thread", "pause", &paused]);
    assert_eq!(answers(&home, &paused, &["--data", r#"{"approved": true}"#]).code, Some(20));
    let conflicting = answers(&home, &paused, &["-m", "x", "--editor"]);
    assert_eq!(conflicting.code, Some(64), "{}", conflicting.transcript());
}

#[test]
fn other_agent_can_replace_person() {
    let home = staffed();
    let thread = waiting(&home);
    home.script("yes", "#!/bin/sh\necho '{\"approved\": true}'\n");
    home.config(&CONFIG.replace("  human:", "  yes: { command: yes, output: json }\n  human:"));
    let report = home.json(&["thread", "step", &thread, "--agent", "yes"]);
    assert_eq!(json!([report["alias"], report["done"]]), json!(["yes", true]));
    assert!(fs::read_dir(home.root().join("marks")).unwrap().next().is_none(), "no mark is left");

    let bound = home.start("publish-post", "x");
    home.json(&["thread", "step", &bound]);
    assert_eq!(home.uwf(&["thread", "step", &bound, "--agent", "uwf-human"]).code, Some(20));
    home.config("defaultAgent: yes\nagents: { yes: { command: yes, output: json } }\n");
    let report = answers(&home, &bound, &["--data", r#"{"approved": true}"#]).json();
    assert_eq!(report["alias"], "human", "it was asked as a person, whatever the configuration says now");
}

#[test]
fn of_two_answers_at_once_one_counts() {
    let home = staffed();
    for round in 0..5 {
        let thread = waiting(&home);
        let spawn = |why: &str| {
            let data = json!({"approved": false, "why": why}).to_string();
            let mut command = home.command(&["thread", "answer", &thread, "--data", &data]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let both = [spawn("left"), spawn("right")].map(|child| FinishedRun::from(child.wait_with_output().unwrap()));
        let mut codes = both.each_ref().map(|ran| ran.code);
        codes.sort_unstable();
        // One that comes when the other is through already finds the writer to be next.
        assert!(codes == [Some(0), Some(75)] || codes == [Some(0), Some(64)], "round {round}: {both:?}");
        assert_eq!(home.json(&["thread", "show", &thread])["steps"], 2);
        mocked::script(&home, "writer:\n  - reply: { post: Hello }\n");
    }
}

#[test]
fn a_person_can_be_all_there_is() {
    let home = staffed();
    let ran = home.uwf(&["run", "dictate-note", "-p", "Speak."]);
    assert_eq!(ran.code, Some(20), "{}", ran.transcript());
    assert!(ran.stderr.contains("uwf thread answer"), "{}", ran.stderr);
    let thread = text(&home.json(&["thread", "list"])[0], "thread");
    assert_eq!(answers(&home, &thread, &["--data", r#"{"note": "done"}"#]).json()["done"], true);
    assert_eq!(home.json(&["thread", "list", "--all"])[0]["state"], "completed");
    let page = home.uwf(&["thread", "read", &thread]);
    assert!(page.stdout.contains("done"), "{}", page.transcript());
}

#[test]
fn person_is_asked_again_after_keeper_dies() {
    let home = staffed();
    let thread = waiting(&home);
    let record = home.record_file(&thread);
    let lines = fs::read_to_string(&record).unwrap();
    let cut = lines.rfind("\"event\":\"closed\"").map(|at| lines[..at].rfind('\n').unwrap()).unwrap();
    fs::write(&record, &lines[..cut]).unwrap();
    let before = nodes(&home);
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    assert_eq!(nodes(&home), before, "no failed attempt is kept");
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "waiting");
}

#[test]
fn killed_answer_leaves_old_or_new_head() {
    let home = staffed();
    let (mut recorded, mut lost) = (0, 0);
    // At first too early to record anything, then later and later, until some have come through whole.
    for delay in (0..3000).step_by(3) {
        if delay >= 60 && recorded >= 3 {
            break;
        }
        let thread = home.start("dictate-note", "Speak.");
        let data = json!({"note": format!("after {delay} ms")}).to_string();
        let mut command = home.command(&["thread", "answer", &thread, "--data", &data]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
        // Whatever is there, the next step continues from it: it takes a recorded answer over, or asks.
        let next = home.uwf(&["thread", "step", &thread]);
        let shown = home.json(&["thread", "show", &thread]);
        match next.code {
            Some(0 | 69) => {
                recorded += 1;
                assert_eq!(json!([shown["state"], shown["steps"]]), json!(["completed", 1]), "{}", next.transcript());
                assert_eq!(last(&home, &thread).0, json!({"note": format!("after {delay} ms")}));
            }
            Some(20) => {
                lost += 1;
                assert_eq!(json!([shown["state"], shown["steps"]]), json!(["waiting", 0]));
                let again = answers(&home, &thread, &["--data", &data]);
                assert_eq!(again.code, Some(0), "{}", again.transcript());
            }
            _ => panic!("{}", next.transcript()),
        }
    }
    assert!(recorded >= 3 && lost > 0, "{recorded} recorded, {lost} lost");
    assert_eq!(home.uwf(&["cas", "verify"]).code, Some(0));
}

mod with_tools {
    use super::*;

    #[test]
    fn unlinked_answer_is_linked_when_repeated() {
        let home = staffed();
        let thread = waiting(&home);
        let given = ["thread", "answer", &thread, "--data", r#"{"approved": true}"#];
        // Killed before the index is replaced; by then all is stored.
        let mut command = Command::new("strace");
        home.prepare(&mut command);
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", "inject=renameat:signal=SIGKILL:when=1"]);
        command.arg(home.command(&given).get_program()).args(given);
        assert_eq!(command.status().expect("strace is installed").code(), None);
        let other = transcript(&home, &["thread", "answer", &thread, "--data", r#"{"approved": false}"#]);
        assert_snapshot!(other, @r"
    exit 75
    --- stderr
    error: role `approver` has another answer already, #1
    hint: `uwf cas get #1` shows the answer that counts, `uwf thread step <id>` takes it over
    hint: your answer was not recorded
    ");
        let report = home.json(&given);
        assert_eq!(json!([report["adopted"], report["role"], report["done"]]), json!([true, "approver", true]));
        assert_eq!(last(&home, &thread).0, json!({"approved": true}));
    }
}
