//! `thread fork`.

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::{TestHome, text};

use crate::fixtures::review::{damage, hashes, reviewing_home, step};
use crate::transcript;

fn finished(home: &TestHome) -> String {
    let thread = home.start("review-text", "Write about cats.");
    step(home, &thread, 4);
    thread
}

#[test]
fn fork_creates_thread_at_old_node() {
    let home = reviewing_home();
    let thread = finished(&home);
    let nodes = hashes(&home, &thread);
    assert_snapshot!(transcript(&home, &["thread", "fork", &nodes[2]]), @r##"
    exit 0
    {"thread":"<id>","forkedFrom":{"step":"#1"}}
    "##);
    assert_snapshot!(transcript(&home, &["thread", "fork", &nodes[2], "--format", "text"]), @r"
    exit 0
    forked thread <id> at #1
    step it with: uwf thread step <id>
    ");

    let forked = home.json(&["thread", "fork", &nodes[2]]);
    assert_eq!(forked["forkedFrom"], json!({"step": nodes[2]}));
    let fork = text(&forked, "thread");
    assert_eq!(home.head(&fork), Some(nodes[2].clone()));
    assert_eq!(hashes(&home, &fork), nodes[..3], "it has the steps up to there");
    step(&home, &fork, 2);
    assert_eq!(home.json(&["thread", "show", &fork])["state"], json!("completed"));
    assert_eq!(hashes(&home, &thread), nodes, "the old thread is as it was");
}

#[test]
fn nodes_of_removed_thread_can_be_forked() {
    let home = reviewing_home();
    let thread = finished(&home);
    let nodes = hashes(&home, &thread);
    home.json(&["thread", "rm", &thread]);
    for (index, node) in nodes.iter().enumerate() {
        let fork = text(&home.json(&["thread", "fork", &node[..10]]), "thread");
        assert_eq!(home.json(&["thread", "show", &fork])["steps"], json!(index));
    }
}

#[test]
fn thread_forks_at_head_or_before_role() {
    let home = reviewing_home();
    let thread = finished(&home);
    let nodes = hashes(&home, &thread);
    let at = |args: &[&str]| {
        let args: Vec<&str> = ["thread", "fork"].iter().chain(args).copied().collect();
        text(&home.json(&args)["forkedFrom"], "step")
    };
    assert_eq!(at(&[&thread]), nodes[4]);
    assert_eq!(at(&[&thread[20..]]), nodes[4]);
    assert_eq!(at(&[&thread, "--from-role", "reviewer"]), nodes[3]);
    assert_eq!(at(&[&thread, "--from-role", "writer"]), nodes[2]);
    let early = home.start("review-text", "x");
    step(&home, &early, 1);
    assert_eq!(at(&[&early, "--from-role", "writer"]), hashes(&home, &early)[0], "before the first step is the start");
}

#[test]
fn fork_keeps_settings_unless_options_change_them() {
    let home = reviewing_home();
    let other = home.work().join("other");
    std::fs::create_dir(&other).unwrap();
    let started = home.json(&[
        "thread",
        "start",
        "review-text",
        "-p",
        "x",
        "--max-steps",
        "7",
        "--agent",
        "writer=broken",
        "--cwd",
        "other",
    ]);
    let thread = text(&started, "thread");
    let settings = |thread: &str| -> serde_json::Value {
        let record = std::fs::read_to_string(home.record_file(thread)).unwrap();
        let lines: Vec<serde_json::Value> = record.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let [mut settings, begun] = lines.try_into().unwrap();
        assert_eq!(begun, json!({"event": "begun"}));
        let fields = settings.as_object_mut().unwrap();
        assert_eq!(fields.remove("event"), Some(json!("settings")));
        assert_eq!(fields.remove("begunAt"), Some(json!(home.head(thread))), "what the index is rebuilt from");
        assert!(fields.remove("digest").is_some(), "the chain of digests begins here");
        settings
    };
    let fork = text(&home.json(&["thread", "fork", &thread]), "thread");
    assert_eq!(settings(&fork), settings(&thread));
    let changed = text(&home.json(&["thread", "fork", &thread, "--cwd", ".", "--max-steps", "9"]), "thread");
    assert_eq!(settings(&changed), json!({"workspace": home.work(), "agents": {"writer": "broken"}, "maxSteps": 9}));
    let start = home.head(&thread).unwrap();
    let of_node = text(&home.json(&["thread", "fork", &start, "--cwd", "other"]), "thread");
    assert_eq!(settings(&of_node), json!({"workspace": other, "agents": {}}));
}

#[test]
fn fork_gets_other_agents() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    let fork = |agents: &[&str]| home.uwf(&[&["thread", "fork", &thread][..], agents].concat());
    let forked = home.json(&["thread", "fork", &thread, "--agent", "writer=broken"]);
    let failed = home.uwf(&["thread", "step", &text(&forked, "thread")]);
    assert!(failed.code == Some(40) && failed.stderr.contains("agent `broken`"), "{failed:?}");
    step(&home, &thread, 1);
    for (agents, code, why) in [
        (&["--agent", "wrtier=broken"][..], 64, "did you mean `writer`?"),
        (&["--agent", "writer=nobody"], 78, "nobody"),
        (&["--agent", "writer="], 64, "names no agent"),
    ] {
        let refused = fork(agents);
        assert!(refused.code == Some(code) && refused.stderr.contains(why), "{agents:?}: {refused:?}");
    }
    assert_eq!(home.json(&["thread", "list"]).as_array().unwrap().len(), 2, "only one fork was made");
}

#[test]
fn unplayed_role_is_rejected_with_hints() {
    let home = reviewing_home();
    let thread = home.start("review-text", "write about cats");
    let hint = |role: &str| {
        let ran = home.uwf(&["thread", "fork", &thread, "--from-role", role]);
        assert_eq!(ran.code, Some(69));
        ran.stderr
            .lines()
            .filter_map(|line| line.strip_prefix("hint: "))
            .map(|hint| home.steady(hint))
            .collect::<Vec<_>>()
    };
    assert_eq!(hint("writer"), ["it has no steps yet: `uwf thread fork <id>` forks it at its start"]);
    home.json(&["thread", "step", &thread]);
    assert_eq!(hint("reviewer"), ["`uwf thread steps <id>` lists the roles that were"]);
    assert_eq!(hint("writr"), ["did you mean `writer`?"]);
}

#[test]
fn wrong_forks_are_refused() {
    let home = reviewing_home();
    let thread = finished(&home);
    let nodes = hashes(&home, &thread);
    let workflow = text(&home.json(&["thread", "show", &thread]), "workflow");
    assert_snapshot!(transcript(&home, &["thread", "fork", &thread, "--from-role", "writr"]), @r"
    exit 69
    --- stderr
    error: role `writr` was never played in thread <id>
    hint: did you mean `writer`?
    ");
    assert_snapshot!(transcript(&home, &["thread", "fork", &nodes[1], "--from-role", "writer"]), @r"
    exit 64
    --- stderr
    error: --from-role needs a thread, #1 is a node
    hint: the step before that role's turn can be forked by its hash: `uwf thread steps THREAD` lists them
    ");
    assert_snapshot!(transcript(&home, &["thread", "fork", &workflow]), @r"
    exit 65
    --- stderr
    error: node #1 is a Workflow, a StartNode or StepNode was expected
    hint: `uwf thread steps THREAD` lists the nodes that can be forked
    ");
    assert_snapshot!(transcript(&home, &["thread", "fork", "0000000000000"]), @r"
    exit 69
    --- stderr
    error: `#1` is neither a thread nor a node
    hint: `uwf thread list --all` lists every thread
    ");
    assert_snapshot!(transcript(&home, &["thread", "fork", "ZZZZ"]), @r"
    exit 69
    --- stderr
    error: no thread begins or ends with `ZZZZ`
    hint: `uwf thread list --all` lists every thread
    ");
    assert_snapshot!(transcript(&home, &["thread", "fork", "abc"]), @r"
    exit 64
    --- stderr
    error: `abc` is too short
    hint: give at least 4 symbols of a thread's id or of a step's hash
    ");
    assert_snapshot!(transcript(&home, &["thread", "fork", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"]), @r"
    exit 69
    --- stderr
    error: thread <id> does not exist
    hint: `uwf thread list --all` lists every thread
    ");
    assert_snapshot!(transcript(&home, &["thread", "fork", &thread, "--cwd", "nowhere"]), @r"
    exit 69
    --- stderr
    error: the workspace nowhere is not an existing directory
    hint: give another directory: `--cwd DIR`
    ");
    assert_snapshot!(transcript(&home, &["thread", "fork", &thread, "--max-steps", "0"]), @"
    exit 64
    --- stderr
    error: invalid value '0' for '--max-steps <N>': 0 is not in 1..=9007199254740991
    ");
    damage(&home, &nodes[3]);
    assert_snapshot!(transcript(&home, &["thread", "fork", &nodes[3]]), @r"
    exit 65
    --- stderr
    error: node #1 is corrupt: not CBOR of a JSON value at byte 5, in the root: bytes follow the value
    hint: `uwf cas verify #1` checks it; putting the same content again repairs it
    ");
    assert_eq!(home.json(&["thread", "list"]), json!([]), "no thread was begun");
}

#[test]
fn prefix_matching_thread_and_node_is_rejected() {
    let home = reviewing_home();
    let start = home.head(&home.start("review-text", "x")).unwrap();
    // Ids of older stores are any symbols: this one begins as the hash does.
    let id = format!("{start}ZZZZZZZZZZZZZ");
    let index = home.root().join("threads.yaml");
    let line = format!("{id}: \"{start}\"\n");
    std::fs::write(&index, format!("{}{line}", std::fs::read_to_string(&index).unwrap())).unwrap();
    assert_snapshot!(transcript(&home, &["thread", "fork", &start[..6]]).replace(&start[..6], "<start>"), @r"
    exit 64
    --- stderr
    error: `<start>` is both thread <id> and node #1
    hint: give the whole id or the whole hash
    ");
    assert_eq!(home.json(&["thread", "fork", &start])["forkedFrom"], json!({"step": start}), "a whole hash is a node");
    assert_eq!(home.uwf(&["thread", "fork", &id]).code, Some(0), "a whole id is a thread");
}

#[test]
fn fork_writes_few_small_files() {
    let home = reviewing_home();
    let thread = finished(&home);
    let before = tree_size(&home);
    home.json(&["thread", "fork", &hashes(&home, &thread)[2]]);
    let (files, bytes) = tree_size(&home);
    assert!(files - before.0 <= 4 && bytes - before.1 <= 4096, "{before:?} → {:?}", (files, bytes));
}

/// Number and bytes of all files below the root.
fn tree_size(home: &TestHome) -> (usize, u64) {
    let mut dirs = vec![home.root()];
    let (mut files, mut bytes) = (0, 0);
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            let meta = entry.metadata().unwrap();
            if meta.is_dir() {
                dirs.push(entry.path());
            } else {
                files += 1;
                bytes += meta.len();
            }
        }
    }
    (files, bytes)
}

#[test]
fn a_start_is_forked_with_another_task() {
    let home = reviewing_home();
    let thread = finished(&home);
    let nodes = hashes(&home, &thread);
    for from in [&thread, &nodes[0]] {
        let forked = home.json(&["thread", "fork", from, "-p", "Write about dogs."]);
        let fork = text(&forked, "thread");
        let shown = home.json(&["thread", "show", &fork]);
        assert_eq!(json!([shown["task"], shown["steps"]]), json!(["Write about dogs.", 0]));
        assert_eq!(home.json(&["cas", "get", &nodes[0]])["payload"]["prompt"], "Write about cats.");
        assert_ne!(forked["forkedFrom"]["step"], json!(nodes[0]), "another task is another node");
        step(&home, &fork, 1);
    }
    let again = home.json(&["thread", "fork", &nodes[0], "-p", "Write about cats."]);
    assert_eq!(again["forkedFrom"]["step"], json!(nodes[0]), "the same task is the same node");
    assert_snapshot!(transcript(&home, &["thread", "fork", &nodes[2], "-p", "x"]), @r"
    exit 64
    --- stderr
    error: #1 is a step: only the start of a thread can get another task
    hint: fork the start with another task: uwf thread fork #2 -p 'TEXT'
    ");
    assert_snapshot!(transcript(&home, &["thread", "fork", &nodes[0], "-p", " "]), @r"
    exit 64
    --- stderr
    error: the prompt is empty
    hint: use `-p 'TEXT'`, or `-p -` to read the task from stdin
    ");
    assert_eq!(home.uwf(&["thread", "fork", &thread, "--from-role", "writer", "-p", "x"]).code, Some(64));
}

#[test]
fn lost_head_hint_names_newest_readable_step() {
    let home = reviewing_home();
    let thread = home.start("review-text", "Write about cats.");
    step(&home, &thread, 3);
    let nodes = hashes(&home, &thread);
    std::fs::remove_file(home.root().join(format!("cas/{}.bin", nodes[3]))).unwrap();
    damage(&home, &nodes[2]);
    let refused = home.uwf(&["thread", "fork", &thread]);
    let hint = format!("`uwf thread fork {}` continues after the newest step that can be read", nodes[1]);
    assert!(refused.code == Some(65) && refused.stderr.contains(&hint), "{refused:?}");
    let fork = text(&home.json(&["thread", "fork", &nodes[1]]), "thread");
    assert_eq!(home.json(&["thread", "step", &fork])["role"], "reviewer");
}
