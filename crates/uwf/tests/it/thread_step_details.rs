//! `uwf thread step-details`: everything that is known about one step.

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::{TestHome, numbered, text};

use crate::fixtures::review::{damage, hashes, reviewing_home, step};
use crate::transcript;

/// A text without what differs from run to run.
fn timeless(home: &TestHome, text: &str) -> String {
    let text = numbered(&home.steady(text));
    let words = text.split_inclusive(' ').map(|word| {
        let is_seconds = word.trim_matches(['(', ' ']).parse::<f64>().is_ok_and(|_| word.contains('.'));
        if is_seconds { word.replace(|symbol: char| symbol.is_ascii_digit(), "0") } else { word.to_owned() }
    });
    words.collect()
}

/// Of the prompts in a text or document only the headings: what they say is stated by the tests of prompts.
fn without_prompts(text: &str) -> String {
    let mut kept = String::new();
    // How far the line is indented below which a prompt stands.
    let mut prompt_at = None;
    for line in text.lines() {
        let words = line.trim_start();
        let indent = line.len() - words.len();
        if prompt_at.is_some_and(|at| !words.is_empty() && indent <= at && !words.starts_with("- |")) {
            prompt_at = None;
        }
        if prompt_at.is_none() || words == "- |" || words.starts_with("# ") {
            kept = kept + line + "\n";
        }
        if words == "asked:" || words == "input:" {
            prompt_at = Some(indent);
        }
    }
    kept
}

/// A document without the durations in it.
fn without_durations(document: &str) -> String {
    let is_duration = |line: &&str| {
        !["durationMs: ", "latencyMs: "].iter().any(|name| line.trim_start_matches(['-', ' ']).starts_with(name))
    };
    document.lines().filter(is_duration).fold(String::new(), |text, line| text + line + "\n")
}

#[test]
fn the_details_of_a_step_are_a_text() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    step(&home, &thread, 1);
    home.file("said", "reading the text\n");
    home.script("reviewer", "#!/bin/sh\ncat > /dev/null\ncat said >&2\necho '{\"approved\": true}'\n");
    assert_eq!(home.uwf(&["thread", "step", &thread, "--agent", "broken"]).code, Some(40));
    step(&home, &thread, 1);
    let steps = home.json(&["thread", "steps", &thread]);
    let [first, second] = [1, 2].map(|at| text(&steps["steps"][at], "hash"));
    let transcript =
        |hash: &str| without_prompts(&timeless(&home, &home.uwf(&["thread", "step-details", hash]).transcript()));
    assert_snapshot!(transcript(&second), @r#"
    exit 0
    reviewer by reviewer (step #1)
    stored:   <time> UTC
    detail:   #2
    took:     0.0 s
    source:   trace from stdout, output by submit
    agent:    reviewer
    before:   #3

    Output
      approved: true

    Answer
      {"approved": true}

    Turn 1 of 1 (0.0 s)
      asked:
        # How to answer
        # Your role
        # Task
        # Step 1: output of role `writer`
        # What I did
        # not a heading
      answered:
        {"approved": true}

    Failed attempt #4
      by broken, exit code 3
      agent `broken` exited with 3; its last words: no licence for `claude`
      printed:
        half an answer
      on stderr:
        no licence for `claude`
        error: agent `broken` exited with 3; its last words: no licence for `claude`

    On stderr
      reading the text
    "#);
    assert!(transcript(&first).contains("Turn 1 of 1 ("), "{}", transcript(&first));
    let yaml = home.uwf(&["thread", "step-details", &second, "--format", "yaml"]).stdout;
    assert!(yaml.starts_with(&format!("hash: {second}\ntype: StepNode\n")), "{yaml}");

    // One try failed; the one that succeeded is no failed one for having said something.
    let page = home.uwf(&["thread", "read", &thread]).stdout;
    assert!(page.contains("after a failed attempt") && !page.contains("2 failed attempts"), "{page}");
    assert!(!transcript(&first).contains("On stderr"), "who says nothing leaves nothing");
}

#[test]
fn details_tell_how_an_output_came_to_be() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    step(&home, &thread, 1);
    assert_eq!(home.uwf(&["thread", "step", &thread, "--agent", "broken"]).code, Some(40));
    step(&home, &thread, 1);
    let nodes = hashes(&home, &thread);
    let details = |hash: &str| {
        let transcript = transcript(&home, &["thread", "step-details", hash, "--format", "yaml"]);
        without_prompts(&without_durations(&transcript))
    };
    assert_snapshot!(details(&nodes[1]), @r#"
    exit 0
    hash: #1
    type: StepNode
    timestamp: <ms>
    role: writer
    alias: writer
    agent: writer
    start: #2
    prev: null
    output:
      tags:
      - cats
      - "*.rs"
      title: "Fix #42"
    detail:
      hash: #3
      type: react-session
      role: writer
      agent:
        hash: #4
        type: agent
        name: writer
        command: writer
        args: []
        config:
          output: text
      source: stdout
      extractedBy: frontmatter
      extraction:
      - rung: frontmatter
        fixes: []
        errors: []
      totalTokens: null
      tokens: null
      raw: |
        ---
        title: 'Fix #42'
        tags: [cats, "*.rs"]
        ---
        # What I did

        A sentence.

        ```sh
        # not a heading
        ```
      turns:
      - hash: #5
        type: react-turn
        tokens: null
        input:
        - |
          # How to answer
          # Your role
        - |
          # Task
        - |
        output: |
          ---
          title: 'Fix #42'
          tags: [cats, "*.rs"]
          ---
          # What I did

          A sentence.

          ```sh
          # not a heading
          ```
        toolCalls: []
      attempts: []
    "#);
    assert_snapshot!(details(&nodes[2]), @r#"
    exit 0
    hash: #1
    type: StepNode
    timestamp: <ms>
    role: reviewer
    alias: reviewer
    agent: reviewer
    start: #2
    prev: #3
    output:
      approved: false
    detail:
      hash: #4
      type: react-session
      role: reviewer
      agent:
        hash: #5
        type: agent
        name: reviewer
        command: reviewer
        args: []
        config:
          output: json
      source: stdout
      extractedBy: submit
      extraction:
      - rung: json
        fixes: []
        errors: []
      totalTokens: null
      tokens: null
      raw: |
        {"approved": false}
      turns:
      - hash: #6
        type: react-turn
        tokens: null
        input:
        - |
          # How to answer
          # Your role
        - |
          # Task
        - |
          # Step 1: output of role `writer`
          # What I did
          # not a heading
        - |
        output: |
          {"approved": false}
        toolCalls: []
      attempts:
      - hash: #7
        type: attempt
        role: reviewer
        agent:
          hash: #8
          type: agent
          name: broken
          command: broken
          args: []
          config:
            output: text
        exitCode: 3
        error: "agent `broken` exited with 3; its last words: no licence for `claude`"
        raw: |
          half an answer
        stderr: |
          no licence for `claude`
          error: agent `broken` exited with 3; its last words: no licence for `claude`
    "#);
}

#[test]
fn details_of_any_node_can_be_asked_for() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    step(&home, &thread, 1);
    let failed = home.uwf(&["thread", "step", &thread, "--agent", "broken"]).stderr;
    let attempt = failed.lines().last().unwrap().split(' ').next_back().unwrap().trim_matches('`').to_owned();
    assert_snapshot!(transcript(&home, &["thread", "step-details", &attempt, "--format", "yaml"]), @r#"
    exit 0
    hash: #1
    type: attempt
    timestamp: <ms>
    role: reviewer
    agent:
      hash: #2
      type: agent
      name: broken
      command: broken
      args: []
      config:
        output: text
    exitCode: 3
    error: "agent `broken` exited with 3; its last words: no licence for `claude`"
    raw: |
      half an answer
    stderr: |
      no licence for `claude`
      error: agent `broken` exited with 3; its last words: no licence for `claude`
    "#);

    let start = &hashes(&home, &thread)[0];
    assert_snapshot!(transcript(&home, &["thread", "step-details", start, "--format", "yaml"]), @r"
    exit 0
    hash: #1
    type: StartNode
    timestamp: <ms>
    workflow: #2
    prompt: Write about cats.
    ");
    let words = text(&home.json(&["cas", "put-text", "some words"]), "hash");
    assert_snapshot!(transcript(&home, &["thread", "step-details", &words, "--format", "json"]), @r##"
    exit 0
    {"hash":"#1","type":"content","timestamp":<ms>,"text":"some words"}
    "##);
    let head = home.json(&["cas", "get", &home.head(&thread).unwrap()]);
    assert_snapshot!(transcript(&home, &["thread", "step-details", &text(&head["payload"], "output"), "--format", "yaml"]), @r#"
    exit 0
    hash: #1
    type: review-text.writer
    timestamp: <ms>
    payload:
      tags:
      - cats
      - "*.rs"
      title: "Fix #42"
    "#);
    let session = home.json(&["thread", "step-details", &text(&head["payload"], "detail"), "--format", "json"]);
    assert_eq!(json!([session["type"], session["extractedBy"]]), json!(["react-session", "frontmatter"]));
    let whole = home.json(&["thread", "step-details", &home.head(&thread).unwrap(), "--format", "json"]);
    assert_eq!(whole["detail"]["raw"], session["raw"]);
}

#[test]
fn details_tell_what_is_missing() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    step(&home, &thread, 1);
    let head = home.head(&thread).unwrap();
    let detail = text(&home.json(&["cas", "get", &head])["payload"], "detail");
    let raw = text(&home.json(&["cas", "get", &detail])["payload"], "raw");
    damage(&home, &raw);
    let ran = home.uwf(&["thread", "step-details", &head, "--format", "json"]);
    assert_eq!(ran.code, Some(0));
    assert_snapshot!(numbered(&ran.stderr), @"warning: node #1 is corrupt: not CBOR of a JSON value at byte 5, in the root: bytes follow the value");
    assert_eq!(ran.json()["detail"]["raw"]["unreadable"], json!(raw));
    damage(&home, &head);
    assert_snapshot!(transcript(&home, &["thread", "step-details", &head, "--format", "yaml"]), @r#"
    exit 65
    error:
      kind: data
      message: "node #1 is corrupt: not CBOR of a JSON value at byte 5, in the root: bytes follow the value"
      hints:
      - "`uwf cas verify #1` checks it; putting the same content again repairs it"
      exitCode: 65
    --- stderr
    error: node #1 is corrupt: not CBOR of a JSON value at byte 5, in the root: bytes follow the value
    hint: `uwf cas verify #1` checks it; putting the same content again repairs it
    "#);
}
