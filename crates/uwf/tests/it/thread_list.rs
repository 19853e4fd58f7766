//! What text looks like on a terminal: it fits, and says what people want to know.

use std::collections::BTreeSet;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::{TestHome, counting_workflow, numbered, text};

use crate::review::{WORKFLOW, reviewing_home, step};
use crate::terminal::{session_in, session_with};
use crate::{home, told};

/// Says `{"n": 1}`, after lines longer than any terminal on stderr, for a second.
const TALKING: &str = r#"#!/bin/sh
read -r line
i=0
while [ $i -lt 10 ]; do
  i=$((i+1))
  printf '\033[31mround %s of a very long story about 日本語 that never ends and never will\033[0m\n' $i >&2
  /bin/sleep 0.1
done
echo '{"n": 1}'
"#;

/// What a terminal shows, without colours.
fn plain(shown: &str) -> String {
    let mut parts = shown.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        plain + part.split_once(|symbol: char| symbol.is_ascii_alphabetic()).map_or("", |(_, text)| text)
    })
}

fn columns(line: &str) -> usize {
    line.chars().map(|symbol| if ('\u{2e80}'..='\u{ffff}').contains(&symbol) { 2 } else { 1 }).sum()
}

/// A home with a workflow of two rounds and an agent that talks while it works.
fn talking_home() -> TestHome {
    let home = home();
    home.put("count-rounds", &counting_workflow(2));
    let agent = home.script("talking", TALKING);
    home.config(&format!("agents:\n  w: {{ command: '{}', output: json }}\ndefaultAgent: w\n", agent.display()));
    home
}

#[test]
fn progress_stays_in_its_line() {
    let home = talking_home();
    let session = session_in(&home, 40, &["run", "count-rounds", "-p", "x", "--max-steps", "1"], &[]);
    assert_eq!(session.code, Some(30), "{}", session.shown);
    let live: Vec<String> = session.shown.split("\r\u{1b}[2K").skip(1).map(plain).collect();
    let told: Vec<&String> = live.iter().filter(|line| line.contains("never will")).collect();
    assert!(!told.is_empty(), "{live:?}");
    for line in told {
        assert!(line.starts_with("worker by w, ") && columns(line) < 40, "{line:?}");
        assert!(!line.contains("[31m") && !line.contains("[0m") && !line.contains('\n'), "{line:?}");
    }
}

#[test]
fn tables_fit_the_terminal() {
    let home = reviewing_home();
    let thread = home.start(
        "review-text",
        "日本語の長い文です。Write about cats, then about dogs, and about all other animals too.",
    );
    step(&home, &thread, 2);
    for width in [80, 100, 200] {
        let session = session_in(&home, width, &["thread", "steps", &thread], &[]);
        let table = plain(&session.shown);
        assert_eq!(table.lines().count(), 4, "{table}");
        assert!(table.lines().all(|line| columns(line) <= width), "{table}");
        assert!(table.contains("日本語"), "{table}");
    }
}

#[test]
fn as_many_steps_as_asked_for_are_no_error() {
    let home = talking_home();
    let thread = home.start("count-rounds", "x");
    home.script("talking", "#!/bin/sh\ncat > /dev/null\necho '{\"n\": 1}'\n");
    let ran = home.steady(&home.uwf(&["run", &thread, "--max-steps", "1", "--format", "text"]).told());
    assert!(ran.contains("1 step done as asked; go on with: uwf run <id>\n"), "{ran}");
    assert!(ran.starts_with("exit 30\nnot done") && !ran.contains("error:"), "{ran}");
    let ran = home.uwf(&["run", &thread, "--max-steps", "5"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_finished_thread_needs_no_run() {
    let home = reviewing_home();
    let thread = home.start("review-text", "x");
    step(&home, &thread, 4);
    assert_snapshot!(told(&home, &["run", &thread]), @r##"
    exit 0
    {"workflow":"#1","thread":"<id>","head":"#2","done":true,"reason":"end"}
    "##);
    assert_eq!(home.uwf(&["run", &thread, "--exit-code"]).code, Some(10));
    assert_eq!(home.uwf(&["run", "review-text", "-p", "again", "--exit-code"]).code, Some(10));
    let killed = home.start("review-text", "y");
    home.json(&["thread", "kill", &killed]);
    assert_eq!(home.uwf(&["run", &killed, "--exit-code"]).code, Some(69), "it did not come to its end");
}

/// A parent whose role is played by a thread in which a person is asked.
fn family() -> (TestHome, String) {
    let home = home();
    let role = |name: &str, key: &str| {
        format!(
            "{name}:\n    description: x\n    goal: x\n    meta: {{ type: object, properties: {{ {key}: {{ type: boolean }} }}, required: [{key}] }}\n"
        )
    };
    let workflow = |name: &str, of: &str, key: &str| {
        format!(
            "name: {name}\ndescription: x\nroles:\n  {}graph:\n  $START: [ {{ role: {of} }} ]\n  {of}: [ {{ role: $END }} ]\n",
            role(of, key)
        )
    };
    home.put("ask-boss", &workflow("ask-boss", "boss", "approved"));
    home.put("ship-change", &workflow("ship-change", "release", "approved"));
    home.config("agents:\n  h: { command: uwf-human }\n  inner: { command: uwf-workflow, args: [ask-boss] }\ndefaultAgent: h\nagentOverrides:\n  ship-change: { release: inner }\n");
    let parent = home.start("ship-change", "Ship the change of Tuesday");
    assert_eq!(home.uwf(&["thread", "step", &parent]).code, Some(20));
    (home, parent)
}

fn list(home: &TestHome, args: &[&str]) -> String {
    let ran = home.uwf(&[&["thread", "list", "--format", "text"], args].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

#[test]
fn children_are_listed_below_their_parents() {
    let (home, parent) = family();
    let later = home.start("ask-boss", "Something else");
    let listed = list(&home, &[]);
    let rows: Vec<&str> = listed.lines().collect();
    assert!(rows[1].starts_with(&later), "{listed}");
    assert!(rows[2].starts_with(&parent) && rows[2].contains("waiting  ship-change  release"), "{listed}");
    assert!(rows[4].starts_with("└ 01") && rows[4].contains("waiting  ask-boss     boss"), "{listed}");
    let order = home.json(&["thread", "list"]);
    let child = order
        .as_array()
        .unwrap()
        .iter()
        .position(|row| row["workflowName"] == "ask-boss" && row["thread"] != later.as_str());
    let alone = list(&home, &["--offset", &child.unwrap().to_string(), "--limit", "1"]);
    assert!(alone.contains(&format!("(for …{}) ", &parent[parent.len() - 4..])), "{alone}");
}

#[test]
fn people_are_shown_thirty_threads_and_programs_all() {
    let home = reviewing_home();
    let ids: Vec<String> = (0..35).map(|n| home.start("review-text", &format!("task {n}"))).collect();
    let listed = list(&home, &[]);
    let shown: Vec<&str> = listed.lines().filter(|line| line.starts_with("01")).collect();
    assert_eq!(shown.len(), 30, "{listed}");
    assert!(shown[0].starts_with(&ids[34]) && shown[0].ends_with("task 34"), "{listed}");
    assert!(listed.ends_with("… 5 more: --limit 35, or the next with --offset 30\n"), "{listed}");
    assert!(list(&home, &["--limit", "35"]).contains("task 0\n"));
    assert_eq!(home.json(&["thread", "list"]).as_array().unwrap().len(), 35);
    assert_eq!(home.json(&["thread", "list", "--limit", "3"]).as_array().unwrap().len(), 3);

    // What is longer than the terminal goes to the pager, if there is one.
    std::os::unix::fs::symlink("/bin/sh", home.bin_dir().join("sh")).unwrap();
    let paged = home.work().join("paged");
    let pager = format!("/bin/cat > '{}'", paged.display());
    let session = |pager: &str, args: &[&str]| {
        let session = session_with(&home, 80, &[("PAGER", pager)], &[&["thread", "list"], args].concat(), &[]);
        assert_eq!(session.code, Some(0), "{}", session.shown);
        plain(&session.shown)
    };
    assert_eq!(session(&pager, &[]), "");
    let listed = plain(&std::fs::read_to_string(&paged).unwrap());
    let copied = listed.lines().nth(1).unwrap().split(' ').next().unwrap();
    assert_eq!(home.json(&["thread", "show", copied])["thread"], json!(ids[34]));
    assert_eq!(listed.lines().filter(|line| line.starts_with('…')).count(), 31, "{listed}");
    assert!(listed.lines().all(|line| columns(line) <= 80), "{listed}");
    std::fs::remove_file(&paged).unwrap();
    for (pager, args) in
        [(pager.as_str(), &["--no-pager"][..]), (&pager, &["--limit", "3"]), ("no-such-pager", &[]), ("", &[])]
    {
        assert!(session(pager, args).contains("task 34"), "{pager} {args:?}");
        assert!(!paged.exists());
    }
}

/// Nodes that a command opens, as strace sees it.
fn nodes_read(home: &TestHome, args: &[&str]) -> usize {
    let log = home.work().join("strace");
    let mut strace = Command::new("strace");
    home.prepare(&mut strace);
    strace.args(["-f", "-qq", "-e", "trace=openat,open", "-o"]).arg(&log).arg(env!("CARGO_BIN_EXE_uwf")).args(args);
    let output = strace.output().expect("strace starts");
    assert!(output.status.success(), "{output:?}");
    let calls = std::fs::read_to_string(&log).unwrap();
    let nodes: BTreeSet<&str> = calls
        .lines()
        .filter(|call| !call.contains("= -1"))
        .filter_map(|call| call.split("/cas/").nth(1)?.split(".bin\"").next())
        .collect();
    nodes.len()
}

#[test]
fn a_listing_reads_the_nodes_of_what_it_shows() {
    let home = reviewing_home();
    for n in 0..36 {
        let thread = home.start("review-text", &format!("task {n}"));
        if n < 3 {
            home.json(&["thread", "kill", &thread]);
        }
    }
    let all = home.json(&["thread", "list", "--all"]);
    assert_eq!(all.as_array().unwrap().len(), 36);
    // Each row is a start; beside them there are the workflow and its conditions' schemas.
    assert!(nodes_read(&home, &["thread", "list", "--format", "text"]) <= 30 + 1);
    assert!(nodes_read(&home, &["thread", "list", "--all", "--limit", "2", "--format", "text"]) <= 2 + 1);
    assert!(nodes_read(&home, &["thread", "list", "--all", "--limit", "5"]) <= 5);
    assert!(nodes_read(&home, &["thread", "list", "--state", "stuck"]) == 0);
    assert!(nodes_read(&home, &["thread", "list", "--state", "killed", "--limit", "1"]) <= 1);
}

#[test]
fn a_workflow_that_only_is_a_file_has_its_name() {
    let home = reviewing_home();
    let file = home.file("mine.yaml", &WORKFLOW.replace("review-text", "mine"));
    let thread = text(&home.json(&["thread", "start", file.to_str().unwrap(), "-p", "x"]), "thread");
    assert_eq!(home.json(&["thread", "list"])[0]["workflowName"], json!("mine"));
    assert!(list(&home, &[]).contains("active  mine      writer"), "{}", list(&home, &[]));
    assert!(list(&home, &["--utc"]).contains("changed (UTC)"));
    let year = home.steady(&list(&home, &["--utc"]));
    assert!(year.contains("<time>"), "{year}");
    let shown = home.uwf(&["thread", "show", &thread, "--format", "text"]).stdout;
    assert!(shown.contains("task:      x\n"), "{shown}");
}

/// A text without what differs from run to run.
fn timeless(home: &TestHome, text: &str) -> String {
    let text = numbered(&home.steady(text));
    let words = text.split_inclusive(' ').map(|word| {
        let is_seconds = word.trim_matches(['(', ' ']).parse::<f64>().is_ok_and(|_| word.contains('.'));
        if is_seconds { word.replace(|symbol: char| symbol.is_ascii_digit(), "0") } else { word.to_owned() }
    });
    words.collect()
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
    let told = |hash: &str| timeless(&home, &home.uwf(&["thread", "step-details", hash]).told());
    assert_snapshot!(told(&second), @r#"
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

        Print one JSON object and nothing else: no text before or after it, no code fence. It has this form:

        ```json
        {
          "approved": "<true or false>"
        }
        ```

        Replace each `<…>` by a value, leave out optional keys you have nothing for, and write no comments:

        - `approved` (required): `true` or `false`

        These keys may be there too; they are noted, but have no effect: `status` (one word), `next` (what should follow), `confidence` (0 to 1), `artifacts` (list of paths), `scope` (what the work covered).

        # Your role

        You play the role `reviewer` of the workflow `review-text`. Do this role's work and deliver what is asked of this role, nothing else: the other roles of the workflow do their own part, even if the task names it.

        ## Goal

        Approve or not.

        # Task

        ```text
        Write about cats.
        ```

        # Step 1 of this thread: what the role `writer` delivered

        ```json
        {
          "tags": [
            "cats",
            "*.rs"
          ],
          "title": "Fix #42"
        }
        ```

        Its text:

        ````markdown
        # What I did

        A sentence.

        ```sh
        # not a heading
        ```
        ````
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
    assert!(told(&first).contains("Turn 1 of 1 ("), "{}", told(&first));
    let yaml = home.uwf(&["thread", "step-details", &second, "--format", "yaml"]).stdout;
    assert!(yaml.starts_with(&format!("hash: {second}\ntype: StepNode\n")), "{yaml}");

    // One try failed; the one that succeeded is no failed one for having said something.
    let page = home.uwf(&["thread", "read", &thread]).stdout;
    assert!(page.contains("after a failed attempt") && !page.contains("2 failed attempts"), "{page}");
    assert!(!told(&first).contains("On stderr"), "who says nothing leaves nothing");
}

#[test]
fn stderr_of_a_successful_step_is_kept_without_secrets_and_up_to_a_limit() {
    let home = reviewing_home();
    std::fs::write(home.root().join(".env"), "SOME_API_KEY=very-secret-text\n").unwrap();
    home.config("providers:\n  p: { baseUrl: 'http://127.0.0.1:9', apiKeyEnv: SOME_API_KEY }\nagents:\n  loud: { command: loud, output: text }\ndefaultAgent: loud\n");
    let loud = "#!/bin/sh\ncat > /dev/null\necho 'first words, very-secret-text' >&2\ni=0\nwhile [ $i -lt 3000 ]; do i=$((i+1)); echo 'line after line after line after line' >&2; done\necho 'last words' >&2\nprintf -- '---\\ntitle: x\\n---\\n'\n";
    home.script("loud", loud);
    let thread = home.start("review-text", "x");
    home.json(&["thread", "step", &thread]);
    let attempts = home.last_detail(&thread)["attempts"].take();
    let attempt = &attempts[0];
    assert_eq!(json!([attempts.as_array().unwrap().len(), attempt["error"], attempt["exitCode"]]), json!([1, null, 0]));
    let said = text(attempt, "stderr");
    assert!(said.starts_with("first words, ") && said.ends_with("last words\n"), "{said}");
    assert!(said.contains("bytes cut") && said.len() < 70_000, "{}", said.len());
    assert!(!said.contains("very-secret-text"), "{said}");
    let verified = home.uwf(&["cas", "verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[test]
fn a_parent_is_answered_by_its_only_child_that_waits() {
    let (home, parent) = family();
    let ran = home.uwf(&["thread", "answer", &parent]);
    assert_eq!(ran.code, Some(64));
    let command = ran.stderr.lines().find_map(|line| line.split("uwf thread answer ").nth(1)).unwrap();
    let (child, value) = command.split_once(" --data ").unwrap();
    assert_ne!(child, parent);
    assert_eq!(value, r#"'{"approved":false}'"#);
    let ran = home.uwf(&["thread", "answer", &parent, "--data", r#"{"approved": true}"#]);
    assert_eq!(ran.json()["thread"], json!(child), "{ran:?}");
    assert!(ran.stderr.contains(&format!("child thread {child} of {parent} is asked")), "{ran:?}");
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
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_uwf")).parent().unwrap();
    let output = shell.args(["-c", &format!("PATH='{}':$PATH; {command}", bin.display())]).output().unwrap();
    assert!(output.status.success(), "{command}\n{output:?}");
    let step = home.last_step(&thread);
    assert_eq!(
        step["output"],
        json!({"approved": false, "why": "texttext", "risk": "it's low", "paths": ["text", "text"]})
    );
}

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
fn a_person_sees_what_is_to_be_approved_and_is_asked_right_there() {
    let (home, thread) = approving();
    home.json(&["thread", "step", &thread]);
    let no = [("`approved` (required)", "false\r")];
    let session = session_in(&home, 100, &["thread", "answer", &thread], &no);
    assert_eq!(session.code, Some(0), "{}", session.shown);
    let shown = plain(&session.shown);
    for part in ["## 1. writer", "Cats are small.", "All about cats", "You are asked as `reviewer`"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    // A run goes on through the question to the end.
    let yes = [("`approved` (required)", "true\r")];
    let session = session_in(&home, 100, &["run", &thread], &yes);
    assert_eq!(session.code, Some(0), "{}", session.shown);
    let shown = plain(&session.shown);
    assert!(
        shown.contains("## 3. writer") && shown.contains("✓ reviewer by h") && shown.contains("done (end)"),
        "{shown}"
    );
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
    assert!(plain(&session.shown).contains("done (end)"), "{}", session.shown);
}
