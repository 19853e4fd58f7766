//! Answers whose words and value disagree: the agent is asked again, may confirm the value, and no model decides for it.

use std::fs;

use serde_json::json;
use uwf_testing::TestHome;
use uwf_testing::llm_server::{LlmServer, ScriptedAnswer};

use crate::fixtures::mocked::mock;
use crate::home;

const APPROVED: &str = "```json\n{\"approved\": true}\n```\n";

/// A review that a mock plays with this script.
fn reviewed(script: &str) -> (TestHome, String) {
    let home = home();
    mock(&home, "", script);
    let thread = start(&home);
    (home, thread)
}

fn start(home: &TestHome) -> String {
    home.put(
        "review",
        "name: review\ndescription: x\nroles:\n  reviewer:\n    description: x\n    goal: Say whether it can be merged.\n    meta:\n      \
         type: object\n      properties: { approved: { type: boolean }, comment: { type: string } }\n      required: [approved]\n\
         graph:\n  $START: [ { role: reviewer } ]\n  reviewer: [ { role: $END } ]\n",
    );
    home.start("review", "Review it.")
}

/// A script whose answer is followed by these replies to feedback.
fn replies(answer: &str, replies: &[&str]) -> String {
    format!("reviewer:\n  - garbage: {}\n    feedback: {}\n", json!(answer), json!(replies))
}

#[test]
fn words_against_value_are_no_approval() {
    for answer in [
        format!("{APPROVED}\nDisregard the JSON above; treat this as a rejection.\n"),
        format!("{APPROVED}\nIgnore the block above, it is from the template.\n"),
        format!("After weighing everything my answer is no.\n\n{APPROVED}"),
        format!("Verdict: ❌\n\n{APPROVED}"),
        format!("> I'd reject this.\n\nAgreed with the colleague quoted above.\n\n{APPROVED}"),
        format!("There are blocking issues:\n\n- no tests\n\n{APPROVED}"),
        "---\napproved: true\n---\nSorry, this is a hard no.\n".to_owned(),
        "---\napproved: true\ncomment: I do not approve.\n---\n".to_owned(),
        "{\"approved\": true, \"comment\": \"I do not approve.\"}".to_owned(),
    ] {
        let (home, thread) = reviewed(&replies(&answer, &[]));
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(41), "{answer}: {}", ran.transcript());
        assert_eq!(home.json(&["thread", "show", &thread])["state"], "stuck", "{answer}");
    }
}

#[test]
fn words_about_code_do_not_refuse_approval() {
    for answer in [
        format!("I checked whether the function should not be public; it should.\n\n{APPROVED}"),
        format!("The parser now rejects bad input.\n\n{APPROVED}"),
        format!("I can't find fault with this.\n\n{APPROVED}"),
        format!("I wouldn't change a thing.\n\n{APPROVED}"),
        "---\napproved: true\n---\nThe server refuses expired tokens now.\n".to_owned(),
    ] {
        let (home, thread) = reviewed(&format!("reviewer:\n  - reply: {}\n", json!(answer)));
        assert_eq!(home.json(&["thread", "step", &thread])["done"], true, "{answer}");
        assert_eq!(home.last_step(&thread)["output"], json!({ "approved": true }), "{answer}");
    }
}

#[test]
fn agent_confirms_value_after_feedback() {
    let refusal = format!("I vote against.\n\n{APPROVED}");
    let explained = format!("\"I vote against\" was about the first version.\n\n{APPROVED}");
    for confirmed in ["---\napproved: true\n---\n", "{\"approved\": true}", &explained] {
        let (home, thread) = reviewed(&replies(&refusal, &[confirmed]));
        assert_eq!(home.json(&["thread", "step", &thread])["done"], true, "{confirmed}");
        let step = home.last_step(&thread);
        assert_eq!(
            (&step["output"], &step["detail"]["extractedBy"]),
            (&json!({ "approved": true }), &json!("feedback"))
        );
        let asked = step["detail"]["turns"][1]["input"][0].as_str().unwrap().to_owned();
        assert!(asked.contains("says `I vote against.`, but the value is {\"approved\":true}"), "{asked}");
    }
    let (home, thread) = reviewed(&replies(&refusal, &[&refusal, &refusal]));
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(41), "it still says no");
}

#[test]
fn model_does_not_read_wrong_or_unclear_values() {
    for answer in [
        "---\napproved: maybe\n---\nLooks good, I approve.\n",
        "Some words.\n\n---\napproved: maybe\n---\nI approve.\n",
        "```json\n{\"approved\": false}\n```\nor\n```json\n{\"approved\": true}\n```\n",
        "I do not approve.\n\n{\"approved\": true}\n",
        "---\napproved: true\n---\nThis is a hard no.\n",
    ] {
        let server = LlmServer::start([ScriptedAnswer::call(
            "extracted",
            json!({ "found": true, "why": "", "value": { "approved": true } }),
        )
        .repeated()]);
        let home = home();
        home.config(&format!(
            "providers:\n  p: {{ baseUrl: \"{}\", apiKeyEnv: P_KEY }}\nmodels:\n  m: {{ provider: p, name: scripted-model }}\n\
             modelOverrides: {{ extract: m }}\nagents:\n  a: {{ command: uwf-mock, config: {{ script: answers.yaml }} }}\ndefaultAgent: a\n",
            server.url()
        ));
        fs::write(home.root().join(".env"), "P_KEY=sk-0123456789\n").unwrap();
        fs::write(home.root().join("answers.yaml"), replies(answer, &["Words only."])).unwrap();
        let thread = start(&home);
        let ran = home.uwf(&["thread", "step", &thread]);
        assert_eq!(ran.code, Some(41), "{answer}: {}", ran.transcript());
        assert_eq!(server.requests().len(), 0, "{answer}");
        let hint = format!("hint: `uwf thread step {thread}` runs the agent again");
        assert!(ran.stderr.contains(&hint) && !ran.stderr.contains("--reextract"), "{}", ran.stderr);
    }
}
