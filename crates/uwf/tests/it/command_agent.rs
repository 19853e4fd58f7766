//! Agents that behave badly, and what they may see.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use serde_json::{Value, json};
use uwf_testing::{TestHome, counting_workflow, text};

use crate::fixtures::answering::with_worker;
use crate::fixtures::review::reviewing_home;
use crate::home;

/// Exit code, state and reason after one failed step; the head must not have moved.
fn failure(home: &TestHome, thread: &str) -> (Option<i32>, String) {
    let before = home.head(thread);
    let ran = home.uwf(&["thread", "step", thread]);
    assert_eq!(home.head(thread), before);
    let shown = home.json(&["thread", "show", thread]);
    assert_eq!(shown["state"], "stuck", "{shown}");
    let (_, mut told) = ran.error().expect("a failed step prints its error");
    told.as_object_mut().unwrap().remove("error");
    assert_eq!(told, shown, "beside the error stands what `show` prints");
    (ran.code, text(&shown, "why"))
}

#[test]
fn each_failure_has_exit_code_and_reason() {
    let cases = [
        ("output: json", "#!/bin/sh\necho oops >&2\nexit 3\n", 40, "agent `w` exited with 3; its last words: oops"),
        ("output: json", "#!/bin/sh\nkill -9 $$\n", 40, "agent `w` was ended by signal 9"),
        (
            "output: step",
            "#!/bin/sh\nexit 0\n",
            40,
            "agent `w` exited with 0, but the last line of its stdout is nothing instead of a StepNode hash",
        ),
        (
            "output: step",
            "#!/bin/sh\necho I am done\n",
            40,
            "agent `w` exited with 0, but the last line of its stdout is `I am done` instead of a StepNode hash",
        ),
        (
            "output: step",
            "#!/bin/sh\necho 0000000000000\n",
            40,
            "the agent's result 0000000000000 was refused: it is not readable: node 0000000000000 does not exist",
        ),
        (
            "output: json, timeout: 0.3",
            "#!/bin/sh\nwhile :; do echo busy >&2; sleep 0.05; done\n",
            40,
            "agent `w` was ended after its timeout of 0.3 s; its last words: busy",
        ),
        (
            "output: json, idleTimeout: 0.3",
            "#!/bin/sh\nsleep 60\n",
            40,
            "agent `w` was ended: it printed nothing for 0.3 s",
        ),
        ("output: json, exitCodes: { 0: fail }", "#!/bin/sh\nexit 0\n", 40, "agent `w` exited with 0"),
        (
            "output: json, expectFile: made.txt",
            "#!/bin/sh\necho '{\"n\": 1}'\n",
            40,
            "the expected file <work>/made.txt does not exist",
        ),
    ];
    for (settings, script, code, reason) in cases {
        let (home, thread) = with_worker(3, settings, script);
        let work = fs::canonicalize(home.work()).unwrap();
        let (told, why) = failure(&home, &thread);
        assert_eq!((told, why.replace(work.to_str().unwrap(), "<work>").as_str()), (Some(code), reason), "{settings}");
    }
}

#[test]
fn run_must_create_or_change_expected_file() {
    let answer = "cat > /dev/null\necho '{\"n\": 1}'\n";
    let old = "was not written by this run";
    // Dates far off on both sides: what counts is the file, not what a clock says of it.
    let cases = [
        ("echo new > made.txt\n", None),
        ("echo longer than it was > made.txt; touch -d 2001-01-01 made.txt\n", None),
        ("echo old > other; touch -d 2100-01-01 other; mv other made.txt\n", None),
        ("touch made.txt\n", None),
        ("cat made.txt\n", Some(old)),
        ("rm made.txt\n", Some("does not exist")),
    ];
    for (before, (work, problem)) in
        ["2001-01-01", "now", "2100-01-01"].into_iter().flat_map(|at| cases.map(|case| (at, case)))
    {
        let (home, thread) =
            with_worker(3, "output: json, expectFile: \"made.txt\"", &format!("#!/bin/sh\n{work}{answer}"));
        let file = home.file("made.txt", "old\n");
        assert!(Command::new("touch").args(["-d", before]).arg(&file).status().unwrap().success());
        let ran = home.uwf(&["thread", "step", &thread]);
        let expected = problem.map(|problem| format!("made.txt {problem}"));
        assert_eq!(ran.code, Some(if problem.is_some() { 40 } else { 0 }), "{before}: {work}{}", ran.transcript());
        assert!(expected.is_none_or(|expected| ran.stderr.contains(&expected)), "{before}: {work}{}", ran.transcript());
    }
}

#[test]
fn codes_and_prompt_are_as_the_agent_says() {
    let script = "#!/bin/sh\nprintf '%s' \"$2\" > prompt.txt\nprintf '%s|' \"$1\" \"$3\" > others.txt\necho '{\"n\": 1}'\nexit 3\n";
    let (home, thread) =
        with_worker(3, "output: json, args: [-x, \"{prompt}\", \"as {role}\"], exitCodes: { 3: ok }", script);
    let prompt = home.json(&["thread", "step", &thread, "--dry-run"])["prompt"].clone();
    assert_eq!(home.json(&["thread", "step", &thread])["role"], "worker");
    assert_eq!(json!(fs::read_to_string(home.work().join("prompt.txt")).unwrap()), prompt);
    assert_eq!(fs::read_to_string(home.work().join("others.txt")).unwrap(), "-x|as worker|");
}

#[test]
fn invalid_output_is_kept_and_explained() {
    let (home, thread) = with_worker(3, "output: json", "#!/bin/sh\necho 'let me think'\necho '{\"n\": \"many\"}'\n");
    let (code, why) = failure(&home, &thread);
    assert_eq!(code, Some(41));
    assert!(why.starts_with("the answer has no valid output for role `worker`: "), "{why}");
    assert!(why.contains("`n`") && why.contains("integer"), "{why}");
    let shown = home.json(&["thread", "show", &thread]);
    let attempt = home.json(&["cas", "get", &text(&shown, "attempt")]);
    let raw = home.json(&["cas", "get", &text(&attempt["payload"], "raw")]);
    assert_eq!(raw["payload"]["text"], "let me think\n{\"n\": \"many\"}\n");
}

#[test]
fn a_missing_agent_is_a_matter_of_configuration() {
    let home = home();
    home.config("agents:\n  codex: { command: no-such-program, output: json }\ndefaultAgent: codex\n");
    let thread = home.start_counting(3, "count");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(78));
    assert!(ran.stderr.starts_with("error: cannot start agent `no-such-program`: "), "{}", ran.stderr);
    let ran = home.uwf(&["thread", "step", &thread, "--agent", "codx"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(78), "error: unknown agent `codx`\nhint: did you mean `codex`?\n")
    );
}

#[test]
fn success_clears_failure_and_lists_earlier_attempts() {
    let script =
        "#!/bin/sh\ncat > /dev/null\necho x >> tries\n[ $(wc -l < tries) -lt 3 ] && exit 1\necho '{\"n\": 1}'\n";
    let (home, thread) = with_worker(3, "output: json", script);
    let first = failure(&home, &thread);
    assert_eq!(first, failure(&home, &thread));
    let report = home.json(&["thread", "step", &thread]);
    assert_eq!(home.json(&["thread", "show", &thread])["state"], "active");
    let step = home.json(&["cas", "get", &text(&report, "head")]);
    let detail = home.json(&["cas", "get", &text(&step["payload"], "detail")]);
    let attempts = detail["payload"]["attempts"].as_array().unwrap();
    // Each try is listed, though equal failures are one node: same agent, same output, same reason.
    assert_eq!(attempts.len(), 2);
    let attempt = home.json(&["cas", "get", attempts[0].as_str().unwrap()]);
    assert_eq!(json!([attempt["payload"]["exitCode"], attempt["payload"]["role"]]), json!([1, "worker"]));
}

#[test]
fn a_step_of_another_thread_is_refused() {
    let (home, thread) = with_worker(3, "output: json", "#!/bin/sh\necho '{\"n\": 1}'\n");
    let other = home.start("count-rounds", "another task");
    let foreign = text(&home.json(&["thread", "step", &other]), "head");
    let ran = home.uwf(&["thread", "step", &thread, "--agent", &format!("echo {foreign} #"), "--output", "step"]);
    assert_eq!(ran.code, Some(40), "{ran:?}");
    let liar = home.script("liar", &format!("#!/bin/sh\necho {foreign}\n"));
    let before = home.head(&thread);
    let ran = home.uwf(&["thread", "step", &thread, "--agent", liar.to_str().unwrap(), "--output", "step"]);
    assert_eq!(ran.code, Some(40));
    assert!(ran.stderr.contains("it belongs to another thread"), "{}", ran.stderr);
    assert_eq!(home.head(&thread), before);
}

#[test]
fn excess_output_is_cut_and_marked() {
    // 64 MB before the answer; 1 MiB is kept.
    let script = "#!/bin/sh\ncat > /dev/null\nhead -c 67108864 /dev/zero | tr '\\0' x\necho\necho '{\"n\": 7}'\n";
    let (home, thread) = with_worker(3, "output: json", script);
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&format!("{config}outputCap: 1048576\n"));
    let report = home.json(&["thread", "step", &thread]);
    let step = home.json(&["cas", "get", &text(&report, "head")]);
    assert_eq!(home.json(&["cas", "get", &text(&step["payload"], "output")])["payload"], json!({"n": 7}));
    let detail = home.json(&["cas", "get", &text(&step["payload"], "detail")]);
    let raw = home.json(&["cas", "get", &text(&detail["payload"], "raw")]);
    let raw = raw["payload"]["text"].as_str().unwrap();
    assert!(raw.len() < 1_100_000 && raw.contains("bytes cut …]"), "{} bytes", raw.len());
    let dir = home.root().join("threads").join(&thread).join("attempts");
    let blocks: u64 = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().metadata().unwrap().blocks() * 512).sum();
    assert!(blocks < 4 << 20, "{blocks} bytes on disk");
}

#[test]
fn bytes_that_are_no_text_do_no_harm() {
    let (home, thread) = with_worker(3, "output: json", "#!/bin/sh\nprintf '\\377\\376\\n{\"n\": 4}\\n'\n");
    let report = home.json(&["thread", "step", &thread]);
    assert_eq!(report["role"], "worker");
}

#[test]
fn agent_gets_thread_directory_and_variables() {
    let script = "#!/bin/sh\nset -e\ncat > prompt.txt\npwd > where.txt\nenv > env.txt\necho '{\"n\": 1}'\n";
    let (home, _) = with_worker(3, "output: json, args: [\"{thread}\", \"{role}\"]", script);
    let place = home.work().join("place");
    fs::create_dir(&place).unwrap();
    let started = home.json(&["thread", "start", "count-rounds", "-p", "count", "--cwd", "place"]);
    let thread = text(&started, "thread");
    home.json(&["thread", "step", &thread]);
    let place = fs::canonicalize(place).unwrap();
    assert_eq!(fs::read_to_string(place.join("where.txt")).unwrap().trim(), place.to_str().unwrap());
    let env = fs::read_to_string(place.join("env.txt")).unwrap();
    for expected in [
        format!("UWF_THREAD={thread}"),
        "UWF_ROLE=worker".to_owned(),
        format!("UWF_STORE={}", home.root().join("cas").display()),
    ] {
        assert!(env.lines().any(|line| line == expected), "{expected} not in {env}");
    }
    assert!(fs::read_to_string(place.join("prompt.txt")).unwrap().contains("count"));
}

#[test]
fn prompt_too_large_for_argument_needs_stdin() {
    let home = home();
    home.script("sizer", "#!/bin/sh\nn=$(wc -c)\necho \"{\\\"n\\\": $n}\"\n");
    home.config("agents:\n  by-stdin: { command: sizer, output: json }\n  by-argument: { command: sizer, args: [\"{prompt}\"], output: json }\ndefaultAgent: by-argument\npromptBudget: 400000\n");
    home.put("count-rounds", &counting_workflow(3));
    let task = home.file("task.md", &"word ".repeat(40_000));
    let start = home
        .command(&["thread", "start", "count-rounds", "-p", "-"])
        .stdin(fs::File::open(task).unwrap())
        .output()
        .unwrap();
    let thread = text(&serde_json::from_slice::<Value>(&start.stdout).unwrap(), "thread");
    let ran = home.uwf(&["thread", "step", &thread]);
    assert_eq!(ran.code, Some(78));
    assert!(ran.stderr.contains("too many for an argument"), "{}", ran.stderr);
    let report = home.json(&["thread", "step", &thread, "--agent", "by-stdin"]);
    let step = home.json(&["cas", "get", &text(&report, "head")]);
    let output = home.json(&["cas", "get", &text(&step["payload"], "output")]);
    assert!(output["payload"]["n"].as_u64().unwrap() > 200_000);
}

#[test]
fn secrets_reach_only_named_agents_and_no_node() {
    let home = home();
    home.script("leaker", "#!/bin/sh\ncat > /dev/null\nenv > \"env-$UWF_ROLE-$1.txt\"\necho \"the key is $A_KEY$FROM_FILE\" >&2\nprintf -- '---\\nn: 1\\n---\\nmy key: %s %s\\n' \"$A_KEY\" \"$FROM_FILE\"\n");
    home.config(
        "providers:\n  p: { baseUrl: \"http://127.0.0.1:9\", apiKeyEnv: A_KEY }\nsecrets: [FROM_FILE]\nagents:\n  trusted: { command: leaker, args: [trusted], output: text, env: [A_KEY, FROM_FILE] }\n  other: { command: leaker, args: [other], output: text }\ndefaultAgent: other\n",
    );
    fs::write(home.root().join(".env"), "FROM_FILE=file-secret-0123456789\nPLAIN=plain\n").unwrap();
    fs::set_permissions(home.root().join(".env"), fs::Permissions::from_mode(0o644)).unwrap();
    let thread = home.start_counting(9, "count");
    for agent in ["trusted", "other"] {
        let ran = home
            .command(&["thread", "step", &thread, "--agent", agent])
            .env("A_KEY", "shell-secret-0123456789")
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }
    let trusted = fs::read_to_string(home.work().join("env-worker-trusted.txt")).unwrap();
    assert!(trusted.contains("A_KEY=shell-secret-0123456789") && trusted.contains("FROM_FILE=file-secret-0123456789"));
    let other = fs::read_to_string(home.work().join("env-worker-other.txt")).unwrap();
    assert!(other.contains("PLAIN=plain"));
    assert!(!other.contains("secret-0123456789"), "{other}");
    let mode = fs::metadata(home.root().join(".env")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for entry in fs::read_dir(home.root().join("cas")).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("secret-0123456789"), "a node holds a secret");
    }
}

#[test]
fn secret_added_during_run_is_redacted() {
    let add = "#!/bin/sh\ncat > /dev/null\necho 'LATE_KEY=late-secret-0123456789' > \"$UNCAGED_WORKFLOW_STORAGE_ROOT/.env\"\nchmod 600 \"$UNCAGED_WORKFLOW_STORAGE_ROOT/.env\"\nprintf -- '---\\nn: 1\\n---\\n'\n";
    let (home, _) = with_worker(3, "output: text", add);
    let thread = home.start("count-rounds", "count with late-secret-0123456789");
    let head = text(&home.json(&["thread", "step", &thread]), "head");
    let told = home.uwf(&["thread", "step-details", &head]).stdout;
    assert!(told.contains("count with [redacted LATE_KEY]"), "{told}");
    assert!(!told.contains("late-secret"), "{told}");
}

#[test]
fn successful_step_keeps_redacted_and_capped_stderr() {
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
