//! `uwf thread read`: a thread as a page that people and agents read.

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::{TestHome, numbered, text};

use crate::fixtures::review::{damage, hashes, reviewing_home, step};
use crate::{home, transcript};

/// A page without what the writer did, which is the same at every step.
fn brief(page: &str) -> String {
    const DID: &str = "### What I did\n\nA sentence.\n\n```sh\n# not a heading\n```\n\n**Output**\n\n- **title**: Fix #42\n- **tags**: cats, `*.rs`\n";
    page.replace(DID, "(what the writer did)\n")
}

/// A finished thread of four steps.
fn finished(home: &TestHome) -> String {
    let thread = home.start("review-text", "# Write about cats\n\nPlease.");
    step(home, &thread, 4);
    thread
}

#[test]
fn unstepped_thread_shows_only_task() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    assert_snapshot!(transcript(&home, &["thread", "read", &thread]), @r"
    exit 0
    # review-text

    thread `<id>` · active · no step yet · started <time> UTC

    ## Task

    Write about cats.
    ");
}

#[test]
fn finished_thread_reads_from_task_to_end() {
    let home = reviewing_home();
    let thread = finished(&home);
    assert_snapshot!(transcript(&home, &["thread", "read", &thread]), @"
    exit 0
    # review-text

    thread `<id>` · completed · 4 steps · started <time> UTC

    ## Task

    ### Write about cats

    Please.

    ## 1. writer

    by writer · <time> UTC · step `#1`

    ### What I did

    A sentence.

    ```sh
    # not a heading
    ```

    **Output**

    - **title**: Fix #42
    - **tags**: cats, `*.rs`

    ## 2. reviewer

    by reviewer · <time> UTC · step `#2`

    - **approved**: false

    ## 3. writer

    by writer · <time> UTC · step `#3`

    ### What I did

    A sentence.

    ```sh
    # not a heading
    ```

    **Output**

    - **title**: Fix #42
    - **tags**: cats, `*.rs`

    ## 4. reviewer

    by reviewer · <time> UTC · step `#4`

    - **approved**: true

    ## Completed

    <time> UTC: the workflow has ended.
    ");
}

#[test]
fn stuck_thread_shows_cause_and_attempts() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    step(&home, &thread, 1);
    for _ in 0..2 {
        assert_eq!(home.uwf(&["thread", "step", &thread, "--agent", "broken"]).code, Some(40));
    }
    assert_snapshot!(brief(&transcript(&home, &["thread", "read", &thread])), @"
    exit 0
    # review-text

    thread `<id>` · stuck · 1 step · started <time> UTC

    ## Task

    Write about cats.

    ## 1. writer

    by writer · <time> UTC · step `#1`

    (what the writer did)

    ## Stuck at reviewer

    Since <time> UTC: agent `broken` exited with 3; its last words: no licence for `claude`

    ## Failed attempts since the last step

    - reviewer by broken, exit code 3: agent `broken` exited with 3; its last words: no licence for `claude`
      (all it printed: `uwf thread step-details #2`)
    - reviewer by broken, exit code 3: agent `broken` exited with 3; its last words: no licence for `claude`
      (all it printed: `uwf thread step-details #2`)
    ");
    step(&home, &thread, 1);
    let after = transcript(&home, &["thread", "read", &thread]);
    assert!(after.contains("by reviewer · <time> UTC · step `#2` · after 2 failed attempts\n"), "{after}");
    assert!(!after.contains("Stuck") && !after.contains("Failed attempts since"), "{after}");
}

#[test]
fn a_killed_thread_says_so() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    home.json(&["thread", "kill", &thread]);
    assert_snapshot!(transcript(&home, &["thread", "read", &thread]), @r"
    exit 0
    # review-text

    thread `<id>` · killed · no step yet · started <time> UTC

    ## Task

    Write about cats.

    ## Killed

    <time> UTC: it was killed before its workflow had ended.
    ");
}

/// Runs the command that a page names for what it left out.
pub(crate) fn follow(home: &TestHome, page: &str, what: &str) -> Option<String> {
    let line = page.lines().find(|line| line.starts_with(&format!("[{what}:")))?;
    let command = line.split('`').nth(1).unwrap();
    let args: Vec<&str> = command.split(' ').skip(1).collect();
    let ran = home.uwf(&args);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{command}");
    Some(ran.stdout)
}

#[test]
fn small_quota_shows_newest_and_commands_for_rest() {
    let home = reviewing_home();
    let thread = finished(&home);
    let page = home.uwf(&["thread", "read", &thread, "--quota", "500"]).stdout;
    assert_snapshot!(numbered(&page), @r"
    # review-text

    thread `<id>` · completed · 4 steps · started <time> UTC

    ## Task

    ### Write about cats

    Please.

    [Earlier: steps 1–3, shown by `uwf thread read <id> --before #1 --quota 500`]

    ## 4. reviewer

    by reviewer · <time> UTC · step `#1`

    - **approved**: true

    ## Completed

    <time> UTC: the workflow has ended.
    ");

    let mut pages = vec![page];
    while let Some(page) = follow(&home, pages.last().unwrap(), "Earlier") {
        pages.push(page);
    }
    let all = pages.concat();
    for heading in ["## 1. writer", "## 2. reviewer", "## 3. writer", "## 4. reviewer"] {
        assert!(all.contains(heading), "{heading} in {all}");
    }
    assert!(pages.len() > 2, "{all}");
    assert_snapshot!(brief(&numbered(pages.last().unwrap())), @"
    # review-text

    thread `<id>` · completed · 4 steps · started <time> UTC

    ## 1. writer

    by writer · <time> UTC · step `#1`

    (what the writer did)

    ## 2. reviewer

    by reviewer · <time> UTC · step `#2`

    - **approved**: false

    [Later: steps 3–4, shown by `uwf thread read <id> --after #2 --quota 500`]
    ");
}

#[test]
fn commands_page_from_start_to_end() {
    let home = reviewing_home();
    let thread = finished(&home);
    let mut pages = vec![home.uwf(&["thread", "read", &thread, "--start", "--quota", "500"]).stdout];
    assert_snapshot!(brief(&numbered(&pages[0])), @"
    # review-text

    thread `<id>` · completed · 4 steps · started <time> UTC

    ## Task

    ### Write about cats

    Please.

    ## 1. writer

    by writer · <time> UTC · step `#1`

    (what the writer did)

    [Later: steps 2–4, shown by `uwf thread read <id> --after #1 --quota 500`]
    ");
    while let Some(page) = follow(&home, pages.last().unwrap(), "Later") {
        pages.push(page);
    }
    assert_snapshot!(numbered(pages.last().unwrap()), @r"
    # review-text

    thread `<id>` · completed · 4 steps · started <time> UTC

    [Earlier: steps 1–3, shown by `uwf thread read <id> --before #1 --quota 500`]

    ## 4. reviewer

    by reviewer · <time> UTC · step `#1`

    - **approved**: true

    ## Completed

    <time> UTC: the workflow has ended.
    ");
}

#[test]
fn a_step_larger_than_the_quota_is_shortened() {
    let home = reviewing_home();
    home.script("writer", "#!/bin/sh\ncat > /dev/null\nprintf -- '---\\ntitle: long\\n---\\n'\nseq -f 'line %.0f of a long answer' 1 2000\n");
    let thread = home.start("review-text", &"A very long task. ".repeat(60));
    step(&home, &thread, 1);
    assert_snapshot!(transcript(&home, &["thread", "read", &thread, "--quota", "600"]), @r"
    exit 0
    # review-text

    thread `<id>` · active · 1 step · started <time> UTC

    ## Task

    A very long task. A very long task. A very long task. A very long task. A very long task. A very long task. A very long task. A very long task. A very

    [… 929 characters left out: `uwf cas get #1`]

    ## 1. writer

    by writer · <time> UTC · step `#2`

    line 1 of a long answer
    line 2 of a long answer
    line 3 of a long answer
    line 4 of a long answer
    line 5 of a long answer
    line 6 of a long answer
    line 7 of a long answer
    line 8 of a long answer
    line 9 of a long answer
    line 10 of a long answer
    line 11 of a long answer
    line 12 of a long answer

    [… 52601 characters left out: `uwf thread step-details #2`]

    **Output**

    - **title**: long
    ");
}

#[test]
fn only_the_steps_that_are_shown_are_read() {
    let home = reviewing_home();
    let thread = finished(&home);
    let nodes = hashes(&home, &thread);
    for step in &nodes[1..4] {
        damage(&home, step);
    }
    let page = home.uwf(&["thread", "read", &thread, "--quota", "500"]);
    assert_eq!((page.code, page.stderr.as_str()), (Some(0), ""));
    assert!(page.stdout.contains("[Earlier: steps 1–3"), "{}", page.stdout);
    assert_snapshot!(transcript(&home, &["thread", "read", &thread, "--before", &nodes[4]]), @r"
    exit 65
    --- stderr
    error: node #1 is corrupt: not CBOR of a JSON value at byte 5, in the root: bytes follow the value
    hint: `uwf cas verify #1` checks it; putting the same content again repairs it
    ");
}

#[test]
fn damaged_output_or_detail_leaves_rest_readable() {
    let home = reviewing_home();
    let thread = finished(&home);
    let steps = home.json(&["thread", "steps", &thread]);
    damage(&home, &text(&steps["steps"][1], "detail"));
    let output = text(&home.json(&["cas", "get", &text(&steps["steps"][4], "hash")])["payload"], "output");
    damage(&home, &output);
    assert_snapshot!(brief(&transcript(&home, &["thread", "read", &thread])), @"
    exit 0
    # review-text

    thread `<id>` · completed · 4 steps · started <time> UTC

    ## Task

    ### Write about cats

    Please.

    ## 1. writer

    by writer · <time> UTC · step `#1` · its detail is not readable: node #2 is corrupt: not CBOR of a JSON value at byte 5, in the root: bytes follow the value

    - **title**: Fix #42
    - **tags**: cats, `*.rs`

    ## 2. reviewer

    by reviewer · <time> UTC · step `#3`

    - **approved**: false

    ## 3. writer

    by writer · <time> UTC · step `#4`

    (what the writer did)

    ## 4. reviewer

    by reviewer · <time> UTC · step `#5`

    (not readable: node #6 is corrupt: not CBOR of a JSON value at byte 5, in the root: bytes follow the value)

    ## Completed

    <time> UTC: the workflow has ended.
    --- stderr
    warning: step 1: node #2 is corrupt: not CBOR of a JSON value at byte 5, in the root: bytes follow the value
    warning: step 4: node #6 is corrupt: not CBOR of a JSON value at byte 5, in the root: bytes follow the value
    ");
}

#[test]
fn wrong_questions_get_clear_answers() {
    let home = reviewing_home();
    let thread = finished(&home);
    let first = &hashes(&home, &thread)[1];
    assert_snapshot!(transcript(&home, &["thread", "read", &thread, "--before", first]), @r"
    exit 69
    --- stderr
    error: thread <id> has no step before its first
    hint: `uwf thread read <id>` shows the newest
    ");
    assert_snapshot!(transcript(&home, &["thread", "read", &thread, "--before", "0000"]), @r"
    exit 69
    --- stderr
    error: thread <id> has no step 0000
    hint: `uwf thread steps <id>` lists its steps
    ");
    assert_snapshot!(transcript(&home, &["thread", "read", &thread, "--after", "x"]), @r"
    exit 64
    --- stderr
    error: `x` is not the hash of a step; give at least 4 symbols of the start of one
    hint: `uwf thread steps <id>` lists its steps
    ");
    assert_snapshot!(transcript(&home, &["thread", "read", &thread, "--start", "--before", first]), @"
    exit 69
    --- stderr
    error: thread <id> has no step before its first
    hint: `uwf thread read <id>` shows the newest
    ");
    assert_snapshot!(transcript(&home, &["thread", "read", &thread, "--quota", "many"]), @"
    exit 64
    --- stderr
    error: invalid value 'many' for '--quota <CHARS>': invalid digit found in string
    ");
    assert_snapshot!(transcript(&home, &["thread", "read", "01AAAAAAAAAAAAAAAAAAAAAAAA"]), @r"
    exit 69
    --- stderr
    error: thread <id> does not exist
    hint: `uwf thread list --all` lists every thread
    ");
    assert_snapshot!(transcript(&home, &["thread", "step-details", "0000000000000"]), @r"
    exit 69
    --- stderr
    error: node #1 does not exist
    hint: `uwf thread steps THREAD` lists the hashes of steps and details
    ");
    assert_snapshot!(transcript(&home, &["thread", "step-details", "no-hash"]), @r"
    exit 64
    --- stderr
    error: `no-hash` is not a hash: the first symbol of a hash is 0-9 or A-F
    hint: `uwf thread steps THREAD` lists the hashes of steps and details
    ");
}

#[test]
fn a_page_is_data_when_asked_for() {
    let home = reviewing_home();
    let thread = finished(&home);
    let mut page = home.json(&["thread", "read", &thread, "--quota", "500", "--format", "json"]);
    let markdown = home.uwf(&["thread", "read", &thread, "--quota", "500"]).stdout;
    assert_eq!(page["markdown"], json!(markdown));
    page["markdown"] = json!("…");
    assert_snapshot!(numbered(&home.steady(&page.to_string())), @r##"{"thread":"<id>","workflow":"#1","markdown":"…","steps":[{"index":4,"hash":"#2","role":"reviewer","leftOut":0}],"earlier":{"first":1,"last":3,"command":"uwf thread read <id> --before #2 --quota 500"},"later":null}"##);
}

/// A reviewer that names files and lines.
const REVIEW: &str = "\
name: review-files
roles:
  reviewer:
    goal: Review.
    meta:
      type: object
      properties: { approved: { type: boolean }, findings: { type: array } }
      required: [approved, findings]
graph:
  $START: [ { role: reviewer } ]
  reviewer: [ { role: $END } ]
";

#[test]
fn page_for_github_has_summary_and_annotations() {
    let home = home();
    home.put("review-files", REVIEW);
    let findings = r#"{"approved": false, "findings": [{"file": "src/a.rs", "line": 3, "severity": "high", "message": "off by one"}]}"#;
    home.worker("output: json", &format!("#!/bin/sh\ncat > /dev/null\necho '{findings}'\n"));
    let thread = text(&home.json(&["run", "review-files", "-p", "Review it."]), "thread");
    let read = |format: &str| home.uwf(&["thread", "read", &thread, "--format", format]);
    let summary = read("github");
    assert_eq!(summary.code, Some(0), "{summary:?}");
    for part in [
        "# review-files\n\nthread ",
        "## Completed\n",
        "<details><summary>Task</summary>\n\nReview it.\n\n</details>\n",
        "<details open><summary>1. reviewer</summary>\n\nby ",
        "- **approved**: false\n",
    ] {
        assert!(summary.stdout.contains(part), "no {part:?} in {}", summary.stdout);
    }
    let annotations = read("github-annotations");
    assert_eq!(annotations.stdout, "::error file=src/a.rs,line=3,title=reviewer::off by one\n");
    let data = home.json(&["thread", "read", &thread, "--format", "json"]);
    assert_eq!(data["steps"][0]["role"], "reviewer");
}
