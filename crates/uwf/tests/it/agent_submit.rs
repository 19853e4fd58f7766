//! `uwf agent submit`: agents that speak the protocol and store their own step.

use std::fs;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::{Value, json};
use uwf_testing::text;

use crate::fixtures::protocol_agents::{REVIEWER, fresh, submit, with_scripts};

#[test]
fn invalid_data_is_rejected_with_all_reasons() {
    let (home, thread) = fresh();
    assert_snapshot!(submit(&home, &thread, &["--data", r#"{"aproved": true, "notes": 3}"#]), @r"
    exit 41
    --- stderr
    error: the answer has no valid output for role `reviewer`: missing key `approved` (boolean); unknown key `aproved`; did you mean `approved`?; /notes: expected a string or null, found 3
    hint: correct the JSON and submit again; `uwf agent context <id> reviewer | jq .schema` shows what is asked for
    ");
    assert_snapshot!(submit(&home, &thread, &["--data", "[true]"]), @r"
    exit 41
    --- stderr
    error: the answer has no valid output for role `reviewer`: expected an object, found an array
    hint: correct the JSON and submit again; `uwf agent context <id> reviewer | jq .schema` shows what is asked for
    ");
    assert_snapshot!(submit(&home, &thread, &["--data", r#"{"approved": true"#]), @r"
    exit 41
    --- stderr
    error: the answer has no valid output for role `reviewer`: bad JSON at line 1, column 18: the text ends where `,` or `}` should be
    hint: correct the JSON and submit again; `uwf agent context <id> reviewer | jq .schema` shows what is asked for
    ");
    assert_snapshot!(submit(&home, &thread, &["--data", r#"{"approved": true, "approved": false}"#]), @r"
    exit 41
    --- stderr
    error: the answer has no valid output for role `reviewer`: bad JSON at line 1, column 20, in /approved: the key occurs twice
    hint: correct the JSON and submit again; `uwf agent context <id> reviewer | jq .schema` shows what is asked for
    ");
    assert_snapshot!(submit(&home, &thread, &["--data", r#"{"approved": true, "notes": "I do not approve."}"#]), @r#"
    exit 41
    --- stderr
    error: the answer has no valid output for role `reviewer`: the value says `I do not approve.`, but its other keys say the opposite: {"approved":true,"notes":"I do not approve."}
    hint: correct the JSON and submit again; `uwf agent context <id> reviewer | jq .schema` shows what is asked for
    "#);
    home.file("answer.md", "I approve.\n");
    assert_snapshot!(submit(&home, &thread, &["--text", "--file", "answer.md"]), @r"
    exit 41
    --- stderr
    error: the answer has no valid output for role `reviewer`: the header is missing: the answer must begin with `---`, the keys, and `---` again; the answer reads: I approve.
    hint: correct the header and submit again; `uwf agent context <id> reviewer | jq .schema` shows what is asked for
    ");
    assert_snapshot!(submit(&home, &thread, &["--file", "nowhere.json"]), @r"
    exit 74
    --- stderr
    error: cannot read nowhere.json: No such file or directory (os error 2)
    ");
    assert_eq!(home.json(&["cas", "list", "--type", "StepNode"]), json!([]), "nothing was stored");
}

#[test]
fn an_answer_comes_from_exactly_one_place() {
    let (home, thread) = fresh();
    for args in
        [&[][..], &["--data", "{}", "-"], &["--data", "{}", "--file", "x"], &["--text", "--raw", "x", "-"], &["+"]]
    {
        let ran = home.uwf(&[&["agent", "submit", &thread, "reviewer"], args].concat());
        assert_eq!(ran.code, Some(64), "{args:?}");
    }
}

#[test]
fn every_format_prints_only_hash() {
    let (home, thread) = fresh();
    let mut hashes = Vec::new();
    for format in ["json", "yaml", "text"] {
        let mut command = home.command(&["agent", "submit", &thread, "reviewer", "--data", r#"{"approved": true}"#]);
        let output = command.env("UWF_FORMAT", format).output().unwrap();
        hashes.push(String::from_utf8(output.stdout).unwrap());
    }
    hashes.dedup();
    let [hash] = hashes.as_slice() else { panic!("{hashes:?}") };
    assert_eq!(home.json(&["cas", "get", hash.trim_end()])["payload"]["role"], "reviewer");
    assert!(json_cas::NodeHash::is_hash(hash.strip_suffix('\n').unwrap()));
}

#[test]
fn outside_a_step_nothing_is_linked() {
    let (home, thread) = fresh();
    let head = home.head(&thread);
    let ran = home.uwf(&["agent", "submit", &thread, "writer", "--data", r#"{"title": "Dogs"}"#]);
    assert_snapshot!(ran.stderr, @"warning: no step of this thread is running this role: the result is stored, but nothing links it");
    assert_eq!((ran.code, home.head(&thread)), (Some(0), head));
}

#[test]
fn an_agent_may_submit_again_after_a_refusal() {
    let writer = "#!/bin/sh\n\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{\"titel\": 1}' 2> refused.txt && exit 9\n[ $? = 41 ] || exit 8\ngrep -q 'title' refused.txt || exit 7\n\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{\"title\": \"Cats\"}'\n";
    let (home, thread) = with_scripts(writer, REVIEWER);
    let report = home.json(&["thread", "step", &thread]);
    assert_eq!(report["role"], "writer");
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "active");
}

#[test]
fn a_refused_answer_is_kept_with_the_reason() {
    let writer = "#!/bin/sh\nprintf 'My long and costly answer.' | \"$UWF_BIN\" agent submit \"$1\" \"$2\" --text -\n";
    let (home, thread) = with_scripts(writer, REVIEWER);
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(41), "{}", ran.stderr);
    let shown = home.json(&["thread", "show", &thread]);
    assert_eq!(shown["state"], "stuck");
    assert!(text(&shown, "why").starts_with("the answer has no valid output for role `writer`"), "{shown}");
    let attempt = home.json(&["cas", "get", &text(&shown, "attempt")])["payload"].clone();
    assert_eq!(home.json(&["cas", "get", &text(&attempt, "raw")])["payload"]["text"], "My long and costly answer.");
}

#[test]
fn secrets_in_what_is_submitted_are_not_stored() {
    let writer = "#!/bin/sh\nprintf 'I used %s.\\n' \"$SERVICE_TOKEN\" > said.md\n\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data \"{\\\"title\\\": \\\"$SERVICE_TOKEN\\\"}\" --raw said.md\n";
    let (home, thread) = with_scripts(writer, REVIEWER);
    home.config("agents: { writer: { command: writer, env: [SERVICE_TOKEN] } }\ndefaultAgent: writer\nsecrets: [SERVICE_TOKEN]\n");
    fs::write(home.root().join(".env"), "SERVICE_TOKEN=do-not-store-this\n").unwrap();
    let report = home.json(&["thread", "step", &thread]);
    assert_eq!(report["role"], "writer");
    for entry in fs::read_dir(home.root().join("cas")).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("do-not-store-this"));
    }
}

#[test]
fn a_long_answer_from_stdin_is_kept_whole() {
    let (home, thread) = fresh();
    let answer = format!("---\ntitle: Long\n---\n{}", "A line of the answer.\n".repeat(20_000));
    let file = home.file("long.md", &answer);
    let mut command = home.command(&["agent", "submit", &thread, "writer", "--text", "-"]);
    let output = command.stdin(Stdio::from(fs::File::open(file).unwrap())).output().unwrap();
    let step = String::from_utf8(output.stdout).unwrap();
    let step: Value = home.json(&["cas", "get", step.trim_end()])["payload"].clone();
    let detail = home.json(&["cas", "get", &text(&step, "detail")])["payload"].clone();
    assert_eq!(home.json(&["cas", "get", &text(&detail, "raw")])["payload"]["text"], json!(answer));
}

mod with_tools {
    use super::*;

    #[test]
    fn sh_and_python_agents_complete_workflow() {
        let (home, thread) = fresh();
        let report = home.json(&["thread", "run", &thread]);
        assert_eq!(report["done"], true, "{report}");
        let roles: Vec<String> = home.json(&["thread", "steps", &thread])["steps"].as_array().unwrap()[1..]
            .iter()
            .map(|step| format!("{} by {}: {}", text(step, "role"), text(step, "agent"), step["output"]))
            .collect();
        assert_eq!(
            roles,
            [
                r#"writer by writer: {"title":"Cats"}"#,
                r#"reviewer by reviewer: {"approved":false,"notes":null}"#,
                r#"writer by writer: {"title":"Cats"}"#,
                r#"reviewer by reviewer: {"approved":true,"notes":null}"#,
            ]
        );
    }

    #[test]
    fn detail_keeps_run_metadata_from_agent() {
        let (home, thread) = fresh();
        home.json(&["thread", "step", &thread]);
        let head = text(&home.json(&["thread", "step", &thread]), "head");
        let step = home.json(&["cas", "get", &head])["payload"].clone();
        let detail = home.json(&["cas", "get", &text(&step, "detail")])["payload"].clone();
        let kept = ["sessionId", "durationMs", "source", "extractedBy"].map(|key| detail[key].clone());
        assert_eq!(kept, [json!("s-1"), json!(1200), json!("submit"), json!("submit")]);
        assert_eq!(home.json(&["cas", "get", &text(&detail, "raw")])["payload"]["text"], "I have read it twice.\n");
        assert_eq!(
            home.json(&["cas", "get", &text(&detail, "agent")])["payload"]["config"],
            json!({ "strictness": 3 })
        );
    }

    #[test]
    fn report_format_does_not_reach_agents() {
        let (home, thread) = fresh();
        for format in ["text", "yaml"] {
            let mut step = home.command(&["thread", "step", &thread]);
            let output = step.env("UWF_FORMAT", format).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// A thread whose agent submits `approved: true` by the command and prints a text, and how its step ends.
fn submitted_beside(printed: &str) -> (uwf_testing::TestHome, String, Option<i32>) {
    let home = crate::home();
    home.worker(
        "output: text",
        &format!(
            "#!/bin/sh\ncat > /dev/null\n\"$UWF_BIN\" agent submit \"$UWF_THREAD\" \"$UWF_ROLE\" --data '{{\"n\": 1, \"approved\": true}}'\ncat <<'END'\n{printed}\nEND\n"
        ),
    );
    home.put(
        "review-it",
        "name: review-it\ndescription: x\nroles:\n  worker:\n    meta: { type: object, properties: { approved: { type: boolean }, n: { type: integer } }, required: [approved, n] }\n\
         graph:\n  $START: [ { role: worker } ]\n  worker: [ { role: $END } ]\n",
    );
    let thread = home.start("review-it", "x");
    let ran = home.uwf(&["thread", "step", &thread]);
    (home, thread, ran.code)
}

#[test]
fn submitted_value_keeps_the_printed_text() {
    let (home, thread, code) = submitted_beside("I read all of it, says the giraffe.");
    assert_eq!(code, Some(0));
    let page = home.uwf(&["thread", "read", &thread]).stdout;
    assert!(page.contains("says the giraffe") && page.contains("approved"), "{page}");
    assert!(!page.contains("accepted;"), "what the command says is no text of the agent: {page}");
}

#[test]
fn submitted_value_must_agree_with_the_printed_text() {
    for printed in [
        "I do not approve.",
        "---\napproved: false\nn: 1\n---\n",
        "{\"approved\": false, \"n\": 1}",
        "---\nverdict: no\n---\nI do not approve.",
    ] {
        let (home, thread, code) = submitted_beside(printed);
        assert_eq!(code, Some(41), "{printed}");
        assert_eq!(home.json(&["thread", "show", &thread])["steps"], 0, "{printed}");
    }
    for printed in ["", "---\napproved: true\nn: 1\n---\nFine.", "Is the old one rejected? No."] {
        assert_eq!(submitted_beside(printed).2, Some(0), "{printed}");
    }
}
