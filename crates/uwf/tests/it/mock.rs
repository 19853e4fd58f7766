//! The scripted agent, as people use it to try out their workflows.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uwf_testing::{TestHome, text};

use crate::fixtures::mocked::{CONFIG, mocked, script};

/// What one step came to: `done`, `next`, or the exit code with the reason.
fn step(home: &TestHome, thread: &str) -> String {
    let ran = home.uwf(&["thread", "step", thread]);
    match ran.code {
        Some(0) => if ran.json()["done"] == true { "done" } else { "next" }.to_owned(),
        code => {
            let reason = ran.stderr.split("\nhint: ").next().unwrap_or_default().trim_end();
            home.steady(&format!("{} {reason}", code.unwrap_or(-1)))
        }
    }
}

/// The detail of the step at the head.
fn detail(home: &TestHome, thread: &str) -> Value {
    let head = text(&home.json(&["thread", "show", thread]), "head");
    let step = home.json(&["cas", "get", &head]);
    home.json(&["cas", "get", &text(&step["payload"], "detail")])["payload"].clone()
}

#[test]
fn visits_and_failed_tries_follow_the_script() {
    let (home, thread) = mocked(
        3,
        r"
worker:
  - fail: 2
    exit-code: 7
    stderr: the server is busy
  - garbage: I have done everything.
  - hang: 0.05
  - reply: { n: 1 }
  - reply: |
      ---
      n: 2
      ---
      Counted.
  - garbage: n is three
  - reply: { n: 3 }
",
    );
    let told: Vec<String> = (0..8).map(|_| step(&home, &thread)).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    40 error: the mock fails with exit code 7, as <dir>/root/answers.yaml:3:5 says: the server is busy
    40 error: the mock fails with exit code 7, as <dir>/root/answers.yaml:3:5 says: the server is busy
    41 error: the answer has no valid output for role `worker`: the header is missing: the answer must begin with `---`, the keys, and `---` again; the answer reads: I have done everything.
    40 error: the mock was silent for 0.05 s, as <dir>/root/answers.yaml:7:5 says, and has no answer
    next
    next
    41 error: the answer has no valid output for role `worker`: the header is missing: the answer must begin with `---`, the keys, and `---` again; the answer reads: n is three
    done
    ");
    let attempts: Vec<Value> = detail(&home, &thread)["attempts"].as_array().unwrap().clone();
    let attempt = home.json(&["cas", "get", attempts[0].as_str().unwrap()]);
    let raw = home.json(&["cas", "get", &text(&attempt["payload"], "raw")]);
    assert_eq!((attempts.len(), &raw["payload"]["text"]), (1, &json!("n is three")), "garbage is kept like any answer");
}

#[test]
fn program_on_path_overrides_built_in_agent() {
    let (home, thread) = mocked(1, "worker:\n  - reply: { n: 1 }\n");
    home.script("uwf-mock", "#!/bin/sh\n\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{\"n\": 2}'\n");
    assert_eq!(step(&home, &thread), "done");
    assert_eq!(home.last_step(&thread)["output"], json!({ "n": 2 }));
}

#[test]
fn exit_code_and_prompt_are_on_record() {
    let (home, thread) = mocked(1, "worker:\n  - { fail: 1, exit-code: 7 }\n  - reply: { n: 1 }\n");
    step(&home, &thread);
    let shown = home.json(&["thread", "show", &thread]);
    let attempt = home.json(&["cas", "get", &text(&shown, "attempt")]);
    assert_eq!(attempt["payload"]["exitCode"], 7);
    let dry = home.json(&["thread", "step", &thread, "--dry-run"]);
    assert_eq!(step(&home, &thread), "done");

    let session = detail(&home, &thread);
    assert_eq!(json!([session["extractedBy"], session["source"]]), json!(["submit", "submit"]));
    let turn = home.json(&["cas", "get", session["turns"][0].as_str().unwrap()]);
    let inputs = turn["payload"]["input"].as_array().unwrap();
    let prompt: String = inputs
        .iter()
        .map(|hash| text(&home.json(&["cas", "get", hash.as_str().unwrap()])["payload"], "text"))
        .collect();
    assert_eq!(Value::from(prompt), dry["prompt"]);
}

#[test]
fn a_text_is_read_like_any_agents_answer() {
    let (home, thread) = mocked(1, "worker:\n  - reply: \"Sure!\\n---\\nn: '4'\\n---\\nFour it is.\"\n");
    assert_eq!(step(&home, &thread), "done");
    let session = detail(&home, &thread);
    assert_eq!(session["extractedBy"], "frontmatter");
    let steps = home.json(&["cas", "get", &text(&home.json(&["thread", "show", &thread]), "head")]);
    let output = home.json(&["cas", "get", &text(&steps["payload"], "output")]);
    assert_eq!(output["payload"], json!({"n": 4}));
}

#[test]
fn exhausted_script_fails_unless_last_entry_repeats() {
    let (home, thread) = mocked(4, "worker:\n  - reply: { n: 1 }\n");
    let told: Vec<String> = (0..2).map(|_| step(&home, &thread)).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    next
    40 error: the script <dir>/root/answers.yaml has 1 reply for role `worker`, this is its visit 2; add a `reply`, or `repeat: true` to the last one
    ");
    script(&home, "worker:\n  - reply: { n: 1 }\n    repeat: true\n");
    let told: Vec<String> = (0..3).map(|_| step(&home, &thread)).collect();
    assert_eq!(told, ["next", "next", "done"]);
}

#[test]
fn prompt_without_expected_text_fails_attempt() {
    let lacking =
        "worker:\n  - reply: { n: 1 }\n    expect-prompt: [count, the moon, \"Count.\", 'a \"quoted\" word']\n";
    let (home, thread) = mocked(1, lacking);
    insta::assert_snapshot!(step(&home, &thread), @r#"40 error: <dir>/root/answers.yaml:2:5: the prompt does not contain "the moon", "a \"quoted\" word" (`uwf thread step --dry-run` shows the prompt)"#);
    script(&home, "worker:\n  - { reply: { n: 1 }, expect-prompt: Count. }\n");
    assert_eq!(step(&home, &thread), "done");
}

#[test]
fn reply_that_cannot_be_taken_is_played_again() {
    let wrong = "worker:\n  - reply: { m: 1 }\n  - reply: { n: 2 }\n    repeat: true\n";
    let unexpected =
        "worker:\n  - { reply: { n: 1 }, expect-prompt: the moon }\n  - reply: { n: 2 }\n    repeat: true\n";
    for (mistaken, code, problem) in [(wrong, 41, "no valid output"), (unexpected, 40, "does not contain \"the moon\"")]
    {
        let (home, thread) = mocked(2, mistaken);
        for verb in ["step", "retry"] {
            let failed = home.uwf(&["thread", verb, &thread]);
            assert_eq!(failed.code, Some(code), "{}", failed.transcript());
            assert!(failed.stderr.contains("answers.yaml:2:5") && failed.stderr.contains(problem), "{}", failed.stderr);
            let hint = format!("correct the script, then `uwf thread retry {thread}` plays this entry again");
            assert!(failed.stderr.contains(&hint) && !failed.stderr.contains("uwf setup"), "{}", failed.stderr);
        }
        script(&home, &mistaken.replace("m: 1", "n: 1").replace("the moon", "count"));
        assert_eq!(home.uwf(&["thread", "retry", &thread]).code, Some(0));
        assert_eq!(
            home.json(&["thread", "eval", &thread, "$last('worker').n"]),
            json!(1),
            "not the answer of the second visit"
        );
    }
}

#[test]
fn agent_timeout_ends_hang() {
    let (home, thread) = mocked(1, "worker:\n  - { hang: 60, reply: { n: 1 } }\n");
    home.config(
        "agents:\n  m: { command: uwf-mock, idleTimeout: 0.2, config: { script: answers.yaml } }\ndefaultAgent: m\n",
    );
    let begun = Instant::now();
    assert_eq!(step(&home, &thread), "40 error: agent `m` was ended: it printed nothing for 0.2 s");
    assert!(begun.elapsed() < Duration::from_secs(20), "the mock goes at the first signal");
    script(&home, "worker:\n  - { hang: 0.01, reply: { n: 1 } }\n");
    assert_eq!(step(&home, &thread), "done", "a slow answer is an answer");
}

#[test]
fn every_problem_of_the_script_has_its_place() {
    let told = [
        "worker:\n  - replly: { n: 1 }\n  - reply: { n: 1 }\n    garbage: x\n  - fail: often\ntester: { reply: 1 }\n",
        "worker:\n  - reply: {n: 1\n",
        "workr:\n  - reply: { n: 1 }\n",
        "worker:\n  - garbage: \"---\\nn: 1\\n---\\n\"\n",
        "worker:\n  - reply: { m: 1 }\n",
        "",
        "- reply: { n: 1 }\n",
    ]
    .map(|script| {
        let (home, thread) = mocked(1, script);
        step(&home, &thread)
    });
    insta::assert_snapshot!(told.join("\n\n"), @r"
    78 error: <dir>/root/answers.yaml:2:5: error[unknown-key]: the key `replly` is not known here (did you mean `reply`?)
    <dir>/root/answers.yaml:3:5: error[ambiguous]: an entry does one thing, this one has `reply`, `garbage` (make an entry of each, in the order in which they happen)
    <dir>/root/answers.yaml:5:11: error[wrong-type]: `fail` must be a whole number, not a text
    <dir>/root/answers.yaml:6:9: error[wrong-type]: `tester` must be a list, not a mapping (begin each entry with `- `, such as `- reply: {…}`)

    78 error: <dir>/root/answers.yaml:3:1: error[syntax]: not valid YAML: while parsing a flow mapping, did not find expected ',' or '}' (inside `{ }` and `[ ]`, quote texts that contain any of `, [ ] { }`)

    40 error: the script <dir>/root/answers.yaml has no entries for role `worker` (`workr` is there)

    78 error: <dir>/root/answers.yaml:2:5: this `garbage` is a valid answer of role `worker`; write it as `reply`

    41 error: <dir>/root/answers.yaml:2:5: the answer has no valid output for role `worker`: missing key `n` (integer)

    78 error: <dir>/root/answers.yaml:1:1: error[empty-file]: the file is empty

    78 error: <dir>/root/answers.yaml:1:1: error[wrong-type]: a script must be a mapping, not a list
    ");
}

#[test]
fn script_comes_from_config_argument_or_environment() {
    let (home, thread) = mocked(9, "worker:\n  - { reply: { n: 1 }, repeat: true }\n");
    let beside = home.file("beside.yaml", "worker:\n  - { reply: { n: 2 }, repeat: true }\n");
    let absolute =
        format!("agents:\n  m: {{ command: uwf-mock, config: {{ script: {} }} }}\ndefaultAgent: m\n", beside.display());
    let output = || {
        let head = text(&home.json(&["thread", "show", &thread]), "head");
        let step = home.json(&["cas", "get", &head]);
        home.json(&["cas", "get", &text(&step["payload"], "output")])["payload"]["n"].clone()
    };
    assert_eq!((step(&home, &thread).as_str(), output()), ("next", json!(1)), "relative to the storage root");
    home.config(&absolute);
    assert_eq!((step(&home, &thread).as_str(), output()), ("next", json!(2)), "absolute");
    home.config(CONFIG);
    home.json(&["thread", "step", &thread, "--agent", "uwf-mock beside.yaml"]);
    assert_eq!(output(), json!(2), "as an argument, relative to the workspace");
    home.file("third.yaml", "worker:\n  - { reply: { n: 3 }, repeat: true }\n");
    let mut by_environment = home.command(&["thread", "step", &thread, "--agent", "uwf-mock"]);
    assert!(by_environment.env("UWF_MOCK_SCRIPT", "third.yaml").output().unwrap().status.success());
    assert_eq!(output(), json!(3), "by the environment");

    let refused = ["uwf-mock", "uwf-mock absent.yaml"].map(|agent| {
        let transcript = home.transcript(&["thread", "step", &thread, "--agent", agent]);
        transcript.trim_end().to_owned()
    });
    insta::assert_snapshot!(refused.join("\n\n"), @r"
    exit 78
    --- stderr
    error: the mock has no script: name one in config.yaml (`config: {script: answers.yaml}`) or in UWF_MOCK_SCRIPT

    exit 78
    --- stderr
    error: cannot read the mock's script <dir>/work/absent.yaml: No such file or directory (os error 2)
    ");
}

#[test]
fn fork_gets_same_answers_as_thread() {
    let (home, thread) =
        mocked(3, "worker:\n  - reply: { n: 1 }\n  - fail: 1\n  - reply: { n: 2 }\n  - reply: { n: 3 }\n");
    assert_eq!(step(&home, &thread), "next");
    let head = text(&home.json(&["thread", "show", &thread]), "head");
    let fork = text(&home.json(&["thread", "fork", &head]), "thread");
    let told: Vec<String> =
        [&thread, &fork].map(|thread| (0..3).map(|_| step(&home, thread)).collect::<Vec<_>>().join(", ")).into();
    let expected = "40 error: the mock fails with exit code 1, as <dir>/root/answers.yaml:3:5 says, next, done";
    assert_eq!(told, [expected, expected]);
}
