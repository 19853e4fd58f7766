//! What users of the earlier command type, and what their scripts read.

use std::fs;

use serde_json::json;
use uwf_testing::{TestHome, counting_workflow, text};

use crate::fixtures::answering::counting_home;
use crate::home;

#[test]
fn reports_have_the_keys_their_scripts_read() {
    let home = home();
    let hash = text(&home.json(&["cas", "put-text", "hello"]), "hash");
    assert_eq!(home.json(&["cas", "has", &hash]), json!({"has": true, "exists": true}));
    let absent = home.uwf(&["cas", "has", "0000000000000"]);
    assert_eq!((absent.code, absent.stdout.as_str()), (Some(69), "{\"has\":false,\"exists\":false}\n"));
    assert_eq!(home.json(&["cas", "reindex"])["status"], "reindexed");
    assert_eq!(home.json(&["cas", "get", &hash, "--timestamp"]), home.json(&["cas", "get", &hash]));

    let args = ["setup", "--provider", "here", "--base-url", "http://localhost:1/v1", "--model", "qwen3"];
    let done = home.json(&[&args[..], &["--agent", "mock", "--no-check"]].concat());
    let root = home.root();
    assert_eq!(
        json!([done["configPath"], done["envPath"], done["provider"], done["model"], done["defaultAgent"]]),
        json!([root.join("config.yaml"), root.join(".env"), "here", "qwen3", "mock"])
    );
}

#[test]
fn unreadable_node_shows_in_status() {
    let home = home();
    let hash = text(&home.json(&["cas", "put-text", "hello"]), "hash");
    fs::write(home.root().join(format!("cas/{hash}.bin")), "x").unwrap();
    let report = home.json(&["cas", "reindex"]);
    assert_eq!(json!([report["status"], report["problems"].as_array().unwrap().len()]), json!(["problems", 1]));
}

#[test]
fn commands_have_their_earlier_names() {
    let home = counting_home(3);
    let file = home.file("two-rounds.yaml", &counting_workflow(2).replace("count-rounds", "two-rounds"));
    home.json(&["workflow".as_ref(), "add".as_ref(), file.as_os_str()]);
    let thread = home.start("two-rounds", "two");
    home.start("count-rounds", "three");
    let listed = home.json(&["thread", "list", "two-rounds"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed, home.json(&["thread", "list", "--workflow", "two-rounds"]));
    assert_eq!(home.json(&["thread", "ps"]), json!([]), "nothing is running");

    let ran = home.uwf(&["run", &thread, "--max-rounds", "1"]);
    assert_eq!(ran.code, Some(30), "{}", ran.stderr);
    assert_eq!(home.json(&["thread", "show", &thread])["steps"], 1);
    let bounded = home.json(&["thread", "start", "two-rounds", "-p", "x", "--max-rounds", "1"]);
    home.json(&["step", &text(&bounded, "thread")]);
    assert_eq!(home.uwf(&["step", &text(&bounded, "thread")]).code, Some(30));
}

#[test]
fn bare_text_is_rejected_with_exact_hint() {
    let home = home();
    let ran = home.uwf(&["cas", "put", "it's a text"]);
    assert_eq!(ran.code, Some(64));
    let hint = ran.stderr.lines().find_map(|line| line.strip_prefix("hint: to store a text: ")).unwrap();
    let words: Vec<String> = shlex::split(hint).unwrap();
    assert_eq!(words[0], "uwf");
    let stored = home.json(&words[1..]);
    let node = home.json(&["cas", "get", &text(&stored, "hash")]);
    assert_eq!(node["payload"]["text"], "it's a text");
}

#[test]
fn read_before_step_can_include_start() {
    let home = counting_home(3);
    let thread = home.start("count-rounds", "count");
    home.json(&["run", &thread]);
    let steps = home.json(&["thread", "steps", &thread])["steps"].take();
    let hashes: Vec<String> = (1..=3).map(|step| text(&steps[step], "hash")).collect();
    let read = |args: &[&str]| {
        let report = home.json(&[&["read", thread.as_str(), "--format", "json"], args].concat());
        let shown = report["steps"].as_array().unwrap().iter().map(|step| text(step, "hash")).collect::<Vec<_>>();
        (shown, text(&report, "markdown"))
    };
    let (shown, page) = read(&["--before", &hashes[2], "--start"]);
    assert_eq!(shown, hashes[..2]);
    assert!(page.contains("count"), "the task is told as it is from the start: {page}");
    let (shown, _) = read(&["--before", &hashes[2], "--start", "--quota", "1"]);
    assert_eq!(shown, hashes[..1], "the oldest come first");
    let (shown, _) = read(&["--before", &hashes[2], "--quota", "1"]);
    assert_eq!(shown, hashes[1..2], "without --start the newest");
    assert_eq!(home.uwf(&["read", &thread, "--before", &hashes[0], "--start"]).code, Some(69));
}

#[test]
fn a_time_limit_in_milliseconds_is_warned_of() {
    let home = home();
    home.config("agents:\n  w: { command: /bin/true, output: text, timeout: 600000, idleTimeout: 36h }\n  ok: { command: /bin/true, output: text, timeout: 24h }\n");
    let report = home.json(&["config", "validate"]);
    let found: Vec<_> = report["problems"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|problem| problem["code"] == "long-timeout")
        .map(|problem| json!([problem["severity"], problem["message"], problem["hint"]]))
        .collect();
    assert_eq!(
        json!(found),
        json!([
            [
                "warning",
                "`timeout` is more than a day: a number is counted in seconds",
                "if milliseconds are meant, write `600000ms`; a day is `24h`"
            ],
            [
                "warning",
                "`idleTimeout` is more than a day: a number is counted in seconds",
                "a day is `24h`; 0 means no limit"
            ]
        ])
    );
}

#[test]
fn settings_in_milliseconds_are_warned_of() {
    let home = home();
    home.config("agents:\n  w: { command: uwf-office, config: { timeout: 300000 } }\n  ok: { command: uwf-office, config: { timeout: 300 } }\n");
    let problems = home.json(&["config", "validate"])["problems"].take();
    assert_eq!(
        json!([problems[0]["code"], problems[0]["line"], problems[0]["message"], problems[0]["hint"]]),
        json!([
            "long-timeout",
            2,
            "`config.timeout` is more than a day: a number is counted in seconds",
            "if milliseconds are meant, write `300000ms`; a day is `24h`"
        ])
    );
    assert_eq!(problems.as_array().unwrap().len(), 1, "{problems}");
}

#[test]
fn oldest_registry_is_read_until_replaced() {
    let home = counting_home(3);
    let hash = text(&home.json(&["workflow", "show", "count-rounds"]), "hash");
    fs::remove_file(home.root().join("registry.yaml")).unwrap();
    fs::remove_file(home.root().join("registry.lock")).unwrap();
    let older = home.root().join("workflow.yaml");
    for entry in [format!("\"{hash}\""), format!("{{hash: {hash}, timestamp: 5, history: []}}")] {
        fs::write(&older, format!("config: {{maxDepth: 3}}\nworkflows:\n  count-rounds: {entry}\n")).unwrap();
        assert_eq!(text(&home.json(&["workflow", "show", "count-rounds"]), "hash"), hash);
    }
    home.file("other.yaml", &counting_workflow(1).replace("count-rounds", "other"));
    home.json(&["workflow", "put", "other.yaml"]);
    let names = |home: &TestHome| {
        let rows = home.json(&["workflow", "list"]);
        rows.as_array().unwrap().iter().map(|row| text(row, "name")).collect::<Vec<_>>()
    };
    assert_eq!(names(&home), ["count-rounds", "other"], "its names are taken over");
    assert!(fs::read_to_string(&older).unwrap().starts_with("config:"), "the file itself stays");

    fs::remove_file(home.root().join("registry.yaml")).unwrap();
    fs::write(&older, "workflows: [\n").unwrap();
    assert_eq!(home.uwf(&["workflow", "list"]).code, Some(65), "a broken one is not taken for none");
    fs::write(&older, counting_workflow(2)).unwrap();
    assert_eq!(names(&home), Vec::<String>::new(), "a workflow of that file name is no registry");
}

#[test]
fn near_misses_name_the_command_that_was_meant() {
    let home = home();
    for (args, said) in [
        (&["status"][..], "hint: `uwf thread list` shows the state of all threads, `uwf show THREAD` of one"),
        (&["start", "x"], "hint: did you mean `uwf thread start`?"),
        (&["validate", "x.yaml"], "hint: did you mean `uwf workflow validate`?"),
        (&["theard", "list"], "hint: did you mean `uwf thread`?"),
        (&["thread", "lits"], "hint: did you mean `uwf thread list`?"),
        (&["thread", "status"], "hint: `uwf thread show THREAD` shows the state of a thread"),
        (
            &["remove", "x"],
            "hint: `uwf thread rm THREAD` removes a finished thread, `uwf workflow rm WORKFLOW` the name of a workflow",
        ),
        (&["workflow", "edit"], "hint: change its file, then `uwf workflow put FILE` stores the new version"),
        (&["thread", "list", "--json"], "hint: `--format json` prints JSON"),
        (&["thread", "7Q2M"], "hint: `uwf thread show 7Q2M` shows the thread, `uwf run 7Q2M` runs it"),
        (&["thread", "@"], "hint: `uwf thread show @` shows the thread, `uwf run @` runs it"),
        (
            &["01M8AE5XYZ0123456789ABCDEF"],
            "hint: `uwf thread show 01M8AE5XYZ0123456789ABCDEF` shows the thread, `uwf run 01M8AE5XYZ0123456789ABCDEF` runs it",
        ),
        (&["thread", "put"], "hint: did you mean `uwf workflow put`?"),
        (&["cas", "schema", "lst"], "hint: did you mean `uwf cas schema list`?"),
        (&["stpes"], "hint: did you mean `uwf thread steps`?"),
        (&["qqqqqqqq"], "hint: `uwf --help` lists the commands"),
        (&["thread", "qqqqqqqq"], "hint: `uwf thread --help` lists the commands"),
        (&["thread"], "hint: `uwf thread --help` lists its commands"),
    ] {
        let ran = home.uwf(args);
        assert_eq!(ran.code, Some(64), "{args:?}");
        assert!(ran.stderr.lines().any(|line| line == said), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.error().unwrap().1["error"]["kind"], "usage");
        assert!(!ran.stderr.contains("as a value"), "{args:?}: {}", ran.stderr);
    }
}

/// A suggestion with nothing but some letters in common misleads.
#[test]
fn unknown_option_is_answered_by_what_was_meant() {
    let home = crate::home();
    for (args, hint) in [
        (&["thread", "limit", "@", "--max-steps", "5"][..], "`--steps N` changes the limit of a thread that has begun"),
        (&["thread", "start", "x", "-p", "x", "--steps", "3"], "`--max-steps N` limits the thread; `uwf run WORKFLOW"),
        (&["thread", "answer", "@", "--text", "x"], "`-m 'TEXT'` is an answer that is one text"),
        (&["serve", "--port", "80"], "`--address HOST:PORT` says where to listen"),
        (&["thread", "list", "--status", "stuck"], "did you mean `--state`?"),
        (&["gc", "--dry"], "did you mean `--dry-run`?"),
        (&["thread", "kill", "@", "--force"], "`uwf thread kill --help` lists its options"),
        (&["run", "x", "-p", "x", "--background"], "`uwf run --help` lists its options"),
        (&["run", "x", "--json", "-p", "x"], "`--format json` prints JSON"),
    ] {
        let ran = home.uwf(args);
        assert_eq!(ran.code, Some(64), "{}", ran.transcript());
        let hints: Vec<&str> = ran.stderr.lines().filter_map(|line| line.strip_prefix("hint: ")).collect();
        assert!(hints.len() == 1 && hints[0].starts_with(hint), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn lists_have_the_short_name_of_a_shell() {
    let home = counting_home(1);
    home.start("count-rounds", "x");
    for group in ["thread", "workflow", "agent", "config"] {
        assert_eq!(home.json(&[group, "ls"]), home.json(&[group, "list"]), "{group}");
    }
    assert_eq!(home.json(&["thread", "ls"]).as_array().unwrap().len(), 1);
}

#[test]
fn an_unknown_type_lists_each_name_once() {
    let ran = home().uwf(&["cas", "list", "--type", "nosuch"]);
    assert_eq!(ran.code, Some(69), "{}", ran.stderr);
    for name in ["Workflow", "attempt", "react-session"] {
        let words = ran.stderr.split([' ', ',', ';']);
        assert_eq!(words.filter(|word| *word == name).count(), 1, "{name}: {}", ran.stderr);
    }
}
