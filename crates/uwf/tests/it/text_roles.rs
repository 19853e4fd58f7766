//! Roles without `meta`: their output is the text of the answer.

use serde_json::json;
use uwf_testing::TestHome;

use crate::home;

/// A writer whose result is a text, and an editor that decides about it.
const DRAFTS: &str = "name: write-post
description: A draft, and a decision about it
roles:
  writer: { goal: You write a post. }
  editor:
    goal: You decide about the post.
    meta: { type: object, properties: { good: { type: boolean } }, required: [good] }
conditions:
  short: { expression: \"$length($last('writer')) < 10\" }
graph:
  $START: [ { role: writer } ]
  writer:
    - { role: writer, condition: short }
    - { role: editor }
  editor: [ { role: $END } ]
";

/// A home whose agent answers with the contents of the files `answer-1`, `answer-2`, …, and keeps the prompts it got.
fn scripted() -> TestHome {
    let home = home();
    home.put("write-post", DRAFTS);
    home.worker(
        "output: text",
        "#!/bin/sh\nn=$(($(ls prompt-* 2>/dev/null | wc -l) + 1))\ncat > prompt-$n\ncat answer-$n\n",
    );
    home
}

fn prompt(home: &TestHome, number: usize) -> String {
    std::fs::read_to_string(home.work().join(format!("prompt-{number}"))).unwrap()
}

#[test]
fn text_is_the_output_and_nothing_is_parsed() {
    let home = scripted();
    let post = "---\ntitle: Rust\ngood: false\n---\n# Rust\n\n```json\n{\"good\": false}\n```\n\n- a list\n";
    home.file("answer-1", post);
    home.file("answer-2", "---\ngood: true\n---\nFine.\n");
    let thread = home.start("write-post", "Write about Rust.");
    home.json(&["thread", "step", &thread]);
    let step = home.last_step(&thread);
    assert_eq!(step["output"], json!(post.strip_suffix('\n').unwrap()));
    assert_eq!(step["detail"]["extraction"], json!([{ "rung": "text", "errors": [], "fixes": [] }]));
    let asked = prompt(&home, 1);
    assert!(asked.contains("Your whole answer is the output of this role"), "{asked}");
    for absent in ["header", "---", "needs_input", "JSON"] {
        assert!(!asked.contains(absent), "{absent}: {asked}");
    }

    assert_eq!(home.json(&["thread", "step", &thread])["done"], true);
    let shown = prompt(&home, 2);
    assert!(shown.contains("# Step 1: output of role `writer`"), "{shown}");
    assert!(shown.contains("# Rust\n\n```json\n{\"good\": false}\n```"), "as it was written: {shown}");
    assert_eq!(shown.matches("- a list").count(), 1, "{shown}");
    let read = home.uwf(&["thread", "read", &thread, "--format", "text"]).stdout;
    assert_eq!(read.matches("- a list").count(), 1, "{read}");
    assert!(!read.contains("\\n"), "{read}");
}

#[test]
fn conditions_read_the_text() {
    let home = scripted();
    home.file("answer-1", "short\n");
    home.file("answer-2", "  long enough  \n\n");
    let thread = home.start("write-post", "Write.");
    assert_eq!(home.json(&["thread", "step", &thread])["next"]["role"], "writer");
    assert_eq!(home.json(&["thread", "step", &thread])["next"]["role"], "editor");
    assert_eq!(home.json(&["thread", "eval", &thread, "$last('writer')"]), json!("  long enough  \n"));
    assert_eq!(home.json(&["thread", "eval", &thread, "steps[0].output"]), json!("short"));
}

#[test]
fn empty_answer_and_echoed_prompt_are_refused() {
    let home = home();
    home.put("write-post", DRAFTS);
    for (script, why) in [
        ("#!/bin/sh\nprintf ' \\n\\n'\n", "the answer is empty"),
        ("#!/bin/sh\ncat\n", "the answer repeats the prompt"),
        ("#!/bin/sh\necho '<think>'\necho hm\n", "the answer contains only reasoning"),
    ] {
        home.worker("output: text", script);
        let thread = home.start("write-post", "Write about Rust.");
        let stepped = home.uwf(&["thread", "step", &thread]);
        assert_eq!(stepped.code, Some(41), "{}", stepped.transcript());
        assert!(stepped.stderr.contains(why), "{}", stepped.stderr);
        let again = format!("hint: `uwf thread step {thread}` runs the agent again");
        assert!(stepped.stderr.contains(&again), "{}", stepped.stderr);
        assert!(!stepped.stderr.contains("--reextract"), "no model reads a text out of it: {}", stepped.stderr);
    }
}

#[test]
fn string_schema_with_bounds_asks_again() {
    let home = home();
    let bounded = DRAFTS.replace(
        "{ goal: You write a post. }",
        "{ goal: You write a post., meta: { type: string, minLength: 20, description: the post } }",
    );
    home.put("write-post", &bounded);
    home.config("agents:\n  m: { command: uwf-mock, config: { script: answers.yaml } }\ndefaultAgent: m\n");
    std::fs::write(
        home.root().join("answers.yaml"),
        "writer:\n  - garbage: Too short.\n    feedback: [\"---\\nThis one is long enough now.\"]\n",
    )
    .unwrap();
    let thread = home.start("write-post", "Write.");
    home.json(&["thread", "step", &thread]);
    let step = home.last_step(&thread);
    assert_eq!(step["output"], "---\nThis one is long enough now.");
    let asked = step["detail"]["turns"][1]["input"][0].as_str().unwrap().to_owned();
    assert!(asked.contains("Reply with the whole text again"), "{asked}");
}

#[test]
fn person_types_the_text() {
    let home = home();
    home.put("write-post", DRAFTS);
    home.config("agents: { h: { command: uwf-human } }\ndefaultAgent: h\n");
    let thread = home.start("write-post", "Write.");
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(20));
    let typed = "# A post\n\ngood: no header here\n";
    assert_eq!(home.json(&["thread", "answer", &thread, "-m", typed])["done"], false);
    assert_eq!(home.last_step(&thread)["output"], typed);
}

#[test]
fn refused_text_gets_a_hint_that_helps() {
    let home = home();
    home.put(
        "write-post",
        &DRAFTS.replace("a post. }", "a post., meta: { type: string, minLength: 5, maxLength: 9 } }"),
    );
    home.config("agents: { h: { command: uwf-human } }\ndefaultAgent: h\n");
    let thread = home.start("write-post", "Write.");
    let asked = home.uwf(&["thread", "step", &thread]);
    assert!(asked.stderr.contains(&format!("uwf thread answer {thread} -m TEXT")), "{}", asked.stderr);
    let as_it_is = format!("hint: give the text as it is: uwf thread answer {thread} -m TEXT");
    for (args, why, hint) in [
        (["-m", ""], "the answer is empty", "hint: the text needs at least 5 characters"),
        (["-m", "hi"], "expected at least 5 characters, found 2", &as_it_is),
        (["-m", "0123456789"], "expected at most 9 characters, found 10", &as_it_is),
        (["--data", "hello"], "`hello` is not a value", &as_it_is),
    ] {
        let refused = home.uwf(&[&["thread", "answer", &thread], &args[..]].concat());
        assert_ne!(refused.code, Some(0), "{args:?}");
        assert!(refused.stderr.contains(why) && refused.stderr.contains(hint), "{args:?}: {}", refused.stderr);
    }
    home.put("write-post", DRAFTS);
    let thread = home.start("write-post", "Write.");
    home.uwf(&["thread", "step", &thread]);
    let refused = home.uwf(&["thread", "answer", &thread, "-m", " "]);
    let empty = format!("an empty text is a value: uwf thread answer {thread} --data '\"\"'");
    assert!(refused.stderr.contains(&empty), "{}", refused.stderr);
    assert_eq!(home.json(&["thread", "answer", &thread, "--data", "\"\""])["done"], false, "as the hint says");
}

#[test]
fn other_agents_deliver_text() {
    let home = home();
    home.put("write-post", DRAFTS);
    home.worker("output: text", "#!/bin/sh\necho '\"in quotes\"'\n");
    let thread = home.start("write-post", "Write.");
    home.json(&["thread", "step", &thread]);
    assert_eq!(home.last_step(&thread)["output"], "\"in quotes\"");

    home.worker("output: json", "#!/bin/sh\necho '\"printed as JSON\"'\n");
    let thread = home.start("write-post", "Write.");
    home.json(&["thread", "step", &thread]);
    assert_eq!(home.last_step(&thread)["output"], "printed as JSON");

    home.config("agents:\n  m: { command: uwf-mock, config: { script: answers.yaml } }\ndefaultAgent: m\n");
    std::fs::write(home.root().join("answers.yaml"), "writer:\n  - reply: from a script\n").unwrap();
    let thread = home.start("write-post", "Write.");
    home.json(&["thread", "step", &thread]);
    assert_eq!(home.last_step(&thread)["output"], "from a script");
}

#[test]
fn missing_meta_equals_string_schema() {
    let home = home();
    let short = home.put("write-post", DRAFTS);
    let long = home.put("write-post", &DRAFTS.replace("a post. }", "a post., meta: { type: string } }"));
    assert_eq!(short, long);
    let shown = home.uwf(&["workflow", "show", "write-post", "--format", "text"]).stdout;
    assert!(shown.contains("text"), "{shown}");
    let misspelt = home.file("misspelt.yaml", &DRAFTS.replace("a post. }", "a post., mta: { type: object } }"));
    let refused = home.uwf(&["workflow", "validate", misspelt.to_str().unwrap()]);
    assert_eq!(refused.code, Some(65), "{}", refused.transcript());
    assert!(refused.stdout.contains("did you mean `meta`?"), "{}", refused.transcript());
    let validated = home.uwf(&["workflow", "validate", "--strict", "write-post.yaml"]);
    assert_eq!(validated.code, Some(0), "{}", validated.transcript());
}

/// Three roles, of which the last sees only the first.
const PARTIAL: &str = "name: see-less
description: x
roles:
  planner: { goal: You plan. }
  writer: { goal: You write. }
  judge: { goal: You judge., sees: planner, timeout: 3 }
graph:
  $START: [ { role: planner } ]
  planner: [ { role: writer } ]
  writer: [ { role: judge } ]
  judge:
    - { role: writer, condition: \"$count(steps) < 4\" }
    - { role: $END }
";

#[test]
fn prompt_has_only_roles_that_are_seen() {
    let home = scripted();
    home.put(
        "see-less",
        &PARTIAL.replace(
            "{ role: writer, condition: \"$count(steps) < 4\" }",
            "{ role: judge, condition: \"$count(steps) < 4\" }",
        ),
    );
    for (number, text) in [(1, "the plan"), (2, "the draft"), (3, "first verdict"), (4, "second verdict")] {
        home.file(&format!("answer-{number}"), text);
    }
    assert_eq!(home.uwf(&["run", "see-less", "-p", "x"]).code, Some(0));
    let third = prompt(&home, 3);
    assert!(third.contains("# Step 1: output of role `planner`") && third.contains("the plan"), "{third}");
    assert!(!third.contains("the draft") && !third.contains("left out"), "{third}");
    let fourth = prompt(&home, 4);
    assert!(fourth.contains("# Step 2: output of role `judge`") && fourth.contains("first verdict"), "{fourth}");
    assert!(!fourth.contains("the draft"), "{fourth}");
}

#[test]
fn unknown_seen_role_is_refused() {
    let home = home();
    let file = home.file("see-less.yaml", &PARTIAL.replace("sees: planner", "sees: [planer]"));
    let refused = home.uwf(&["workflow", "validate", file.to_str().unwrap()]);
    assert_eq!(refused.code, Some(65), "{}", refused.transcript());
    assert!(refused.stdout.contains("did you mean `planner`?"), "{}", refused.transcript());
}

#[test]
fn hints_reach_agents_unless_configuration_wins() {
    let home = home();
    let yaml = PARTIAL.replace("timeout: 3", "timeout: 300ms, model: big, effort: high");
    home.put("see-less", &yaml);
    home.script("codex", "#!/bin/sh\ncat > /dev/null\necho \"$@\"\n");
    let thread = |config: &str| {
        home.config(config);
        let thread = home.start("see-less", "x");
        for _ in 0..3 {
            home.json(&["thread", "step", &thread]);
        }
        home.last_step(&thread)["output"].as_str().unwrap().to_owned()
    };
    let plain = "agents:\n  c: { command: codex, args: [exec, '-'], output: text }\ndefaultAgent: c\n";
    assert_eq!(thread(plain), "exec --model big -c model_reasoning_effort=high -");
    let own = "agents:\n  c: { command: codex, args: [exec, -m, small, '-'], output: text }\ndefaultAgent: c\n";
    assert_eq!(thread(own), "exec -c model_reasoning_effort=high -m small -");
    home.config(plain);
    let started = home.start("see-less", "x");
    home.script("codex", "#!/bin/sh\ncat > /dev/null\necho fine\n");
    for _ in 0..2 {
        home.json(&["thread", "step", &started]);
    }
    home.script("codex", "#!/bin/sh\nsleep 30\n");
    let slow = home.uwf(&["thread", "step", &started]);
    assert_eq!(slow.code, Some(40), "{}", slow.transcript());
    assert!(slow.stderr.contains("timeout of 0.3 s"), "{}", slow.stderr);
}
