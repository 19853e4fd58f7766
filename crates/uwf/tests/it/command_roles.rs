//! Roles that a command plays: `run:` of a workflow file, and agents with `output: exit`.

use std::fs;

use serde_json::{Value, json};
use uwf_testing::{FinishedRun, TestHome, text};

use crate::home;

/// Tests that decide whether a fixer works again.
const CHECKED: &str = "name: fix-tests
description: repair until the tests pass
roles:
  tests: { run: \"sh ./tests.sh\" }
  fixer: { goal: You repair the code., meta: { type: object, properties: { done: { type: boolean } }, required: [done] } }
conditions:
  passed: { expression: \"$last('tests').passed\" }
graph:
  $START: [ { role: tests } ]
  tests:
    - { role: $END, condition: passed }
    - { role: fixer }
  fixer: [ { role: tests } ]
";

/// A home with this workflow put, and a fixer that creates the file `fixed`.
fn with_workflow(name: &str, yaml: &str) -> TestHome {
    let home = home();
    home.worker("output: json", "#!/bin/sh\ncat > prompt\ntouch fixed\necho '{\"done\": true}'\n");
    home.put(name, yaml);
    home
}

/// A workflow of one role that runs this command; `more` are further keys.
fn one(command: &str, more: &str) -> String {
    let command = serde_json::to_string(command).unwrap();
    format!(
        "name: run-it\ndescription: x\nroles:\n  it: {{ run: {command}{more} }}\ngraph:\n  $START: [ {{ role: it }} ]\n  it: [ {{ role: $END }} ]\n"
    )
}

/// The output of the only step, after a run that must succeed.
fn output(home: &TestHome, yaml: &str) -> Value {
    home.put("run-it", yaml);
    let ran = home.json(&["run", "run-it", "-p", "x"]);
    home.last_step(ran["thread"].as_str().unwrap())["output"].clone()
}

#[test]
fn exit_codes_of_signals_are_outputs() {
    let home = home();
    for (command, code) in [("sh -c 'exit 130'", 130), ("sh -c 'exit 137'", 137), ("sh -c 'exit 141'", 141)] {
        assert_eq!(output(&home, &one(command, ""))["exitCode"], code, "{command}");
    }
    let broken_pipe = "bash -o pipefail -c 'yes | head -1'";
    assert_eq!(output(&home, &one(broken_pipe, "")), json!({"passed": false, "exitCode": 141, "output": "y\n"}));
}

#[test]
fn printed_words_never_overrule_an_exit_code() {
    let home = home();
    for (printed, code) in [
        ("FAIL Required test coverage of 90% not reached. Total coverage: 81%\n== 12 passed in 0.52s ==", 1),
        ("test result: ok. 12 passed; 0 failed; 0 ignored", 1),
        ("== 11 passed, 1 warning ==\nmake: *** [lint] Error 1", 2),
        ("All tests passed.\nupload: connection refused", 6),
        ("Passed!  - Failed:     0, Passed:    12, Skipped:     0", 0),
        ("FAILED (will retry)\nattempt 2: passed", 0),
        ("commit abc: Tests failed on macOS, so retry", 0),
        ("exit code: 2", 0),
        ("passed: false", 0),
        ("{\"passed\": false, \"exitCode\": 3, \"output\": \"\"}", 0),
    ] {
        home.file("printed", printed);
        let expected = json!({"passed": code == 0, "exitCode": code, "output": printed});
        let command = format!("cat printed; exit {code}");
        assert_eq!(output(&home, &one(&command, "")), expected, "{printed}");
        let parent = "name: outer\ndescription: x\nroles:\n  run-it: { goal: Run it., meta: { type: object, properties: { passed: { type: boolean } }, required: [passed], additionalProperties: true } }\ngraph:\n  $START: [ { role: run-it } ]\n  run-it: [ { role: $END } ]\n";
        home.put("outer", parent);
        let ran = home.uwf(&["run", "outer", "-p", "x", "--agent", "run-it=uwf-workflow run-it"]);
        assert_eq!(ran.code, Some(0), "{printed}: {}", ran.transcript());
        let thread = ran.json()["thread"].as_str().unwrap().to_owned();
        assert_eq!(home.last_step(&thread)["output"]["passed"], code == 0, "{printed}");
        let agent = format!("it=sh -c 'cat printed; exit {code}'");
        let plain = one("true", "").replace(
            "run: \"true\"",
            "goal: Run., meta: { type: object, properties: { passed: { type: boolean } }, required: [passed] }",
        );
        home.put("run-it", &plain);
        let ran = home.json(&["run", "run-it", "-p", "x", "--agent", &agent, "--output", "exit"]);
        assert_eq!(home.last_step(ran["thread"].as_str().unwrap())["output"]["passed"], code == 0, "{printed}");
    }
}

#[test]
fn one_long_line_keeps_its_end() {
    let home = home();
    let printed = output(&home, &one("head -c 70000 /dev/zero | tr '\\0' x; echo ' 3 tests failed'; exit 1", ""));
    let printed = printed["output"].as_str().unwrap();
    assert!(printed.len() > 60_000 && printed.ends_with("x 3 tests failed\n"), "{} bytes", printed.len());
}

#[test]
fn failing_command_is_an_output_that_routes() {
    let home = with_workflow("fix-tests", CHECKED);
    home.file("tests.sh", "echo checking\necho oops >&2\ntest -e fixed\n");
    let ran = home.uwf(&["run", "fix-tests", "-p", "Make the tests pass."]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = ran.json()["thread"].as_str().unwrap().to_owned();
    let steps = home.json(&["thread", "eval", &thread, "steps.role"]);
    assert_eq!(steps, json!(["tests", "fixer", "tests"]));
    let first = home.json(&["thread", "eval", &thread, "steps[0].output"]);
    assert_eq!(first, json!({"passed": false, "exitCode": 1, "output": "checking\noops\n"}));
    let prompt = fs::read_to_string(home.work().join("prompt")).unwrap();
    assert!(prompt.contains("# Step 1: output of role `tests`") && prompt.contains("checking\noops"), "{prompt}");
    assert!(prompt.contains("The command failed with exit code 1. It printed:"), "{prompt}");
    assert_eq!(prompt.matches("oops").count(), 1, "{prompt}");
    let read = home.uwf(&["thread", "read", &thread, "--format", "text"]).stdout;
    assert_eq!(read.matches("oops").count(), 2, "once for each of the two runs: {read}");
    assert_eq!(home.last_step(&thread)["agent"], "sh ./tests.sh");
}

#[test]
fn shell_variables_and_directory_are_set() {
    let home = home();
    fs::create_dir(home.work().join("sub")).unwrap();
    let more = ", shell: sh, env: { NAME: ada }, cwd: sub";
    let said = output(&home, &one("echo $NAME in $(basename $PWD) for $UWF_ROLE", more));
    assert_eq!(said, json!({"passed": true, "exitCode": 0, "output": "ada in sub for it\n"}));
    let said = output(&home, &one("printf %s '$HOME'", ", shell: none"));
    assert_eq!(said["output"], "$HOME");
    let said = output(&home, &one("set -o pipefail; false | true", ", shell: bash"));
    assert_eq!(said, json!({"passed": false, "exitCode": 1, "output": ""}));
}

#[test]
fn missing_program_and_named_codes_fail_the_attempt() {
    let home = home();
    for (yaml, code, why) in [
        (one("no-such-program-here", ""), 127, "exited with 127"),
        (one("exit 3", ", fails: [3, 4]"), 3, "exited with 3"),
    ] {
        home.put("run-it", &yaml);
        let ran = home.uwf(&["run", "run-it", "-p", "x"]);
        assert_eq!(ran.code, Some(40), "{code}: {}", ran.transcript());
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
    assert_eq!(output(&home, &one("no-such-program-here", ", fails: []"))["exitCode"], 127);
}

/// What a failed run of the only role printed, with the workspace as `WORK`.
fn refusal(home: &TestHome, yaml: &str, code: i32) -> String {
    home.put("run-it", yaml);
    let ran = home.uwf(&["run", "run-it", "-p", "x"]);
    assert_eq!(ran.code, Some(code), "{}", ran.transcript());
    ran.stderr.replace(home.work().canonicalize().unwrap().to_str().unwrap(), "WORK")
}

#[test]
fn directory_of_a_command_is_below_the_workspace() {
    let home = home();
    std::os::unix::fs::symlink("/", home.work().join("out")).unwrap();
    fs::create_dir(home.work().join("sub")).unwrap();
    std::os::unix::fs::symlink("sub", home.work().join("in")).unwrap();
    home.file("file", "");
    for (cwd, why) in [
        ("none", "`cwd` of role `it`: the directory WORK/none does not exist"),
        ("file", "`cwd` of role `it`: WORK/file is not a directory"),
        ("out", "`cwd` of role `it`: WORK/out leads out of the workspace, to /"),
        ("out/usr", "`cwd` of role `it`: WORK/out/usr leads out of the workspace, to /usr"),
    ] {
        let said = refusal(&home, &one("pwd", &format!(", cwd: {cwd}")), 78);
        assert!(said.contains(&format!("{why}\n")), "{why}: {said}");
        assert!(!said.contains("program or library"), "{said}");
    }
    assert!(output(&home, &one("pwd", ", cwd: in"))["output"].as_str().unwrap().ends_with("/sub\n"));
}

#[test]
fn timeout_hint_names_the_place_of_the_limit() {
    let home = home();
    let of_role = "hint: raise the `timeout` of role `it` in the workflow";
    let said = refusal(&home, &one("sleep 60", ", timeout: 1s"), 40);
    assert!(said.contains(&format!("{of_role}\n")), "{said}");
    home.worker("output: text", "#!/bin/sh\nsleep 60\n");
    let agent = one("x", ", timeout: 1s").replace("run:", "goal:");
    let said = refusal(&home, &agent, 40);
    assert!(said.contains(&format!("{of_role}, or set the `timeout` of agent `w` in config.yaml\n")), "{said}");
    home.worker("output: text, timeout: 1", "#!/bin/sh\nsleep 60\n");
    let said = refusal(&home, &one("x", "").replace("run:", "goal:"), 40);
    assert!(said.contains("hint: raise the `timeout` of the agent in config.yaml\n"), "{said}");
}

#[test]
fn long_output_keeps_its_end() {
    let home = home();
    let said = output(&home, &one("seq 1 200000; exit 2", ""));
    let text = said["output"].as_str().unwrap();
    assert!(text.ends_with("199999\n200000\n") && text.len() < 70_000, "{}", text.len());
    assert!(text.starts_with("[… "), "{}", &text[..60]);
    assert_eq!(said["exitCode"], 2);
}

#[test]
fn agent_with_output_exit_does_the_same() {
    let home = with_workflow("fix-tests", &CHECKED.replace("{ run: \"sh ./tests.sh\" }", "{ goal: You test., meta: { type: object, properties: { passed: { type: boolean } }, required: [passed] } }"));
    home.file("tests.sh", "echo checking\ntest -e fixed\n");
    let ran = home.uwf(&[
        "run",
        "fix-tests",
        "-p",
        "x",
        "--agent",
        "tests=sh tests.sh",
        "--output",
        "exit",
        "--agent",
        "fixer=w",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let thread = ran.json()["thread"].as_str().unwrap().to_owned();
    assert_eq!(home.json(&["thread", "eval", &thread, "steps.role"]), json!(["tests", "fixer", "tests"]));
    assert_eq!(home.json(&["thread", "eval", &thread, "$last('tests').passed"]), json!(true));
}

#[test]
fn exit_agent_that_cannot_run_is_no_output() {
    let role = "tests: { goal: You test., meta: { type: object, properties: { passed: { type: boolean } } } }";
    let home = with_workflow("fix-tests", &CHECKED.replace("tests: { run: \"sh ./tests.sh\" }", role));
    let agents = ["--agent", "tests=sh -c no-such-program-here", "--output", "exit", "--agent", "fixer=w"];
    let failed = home.uwf(&[&["run", "fix-tests", "-p", "x"][..], &agents].concat());
    assert_eq!(failed.code, Some(40), "{}", failed.transcript());
    assert!(failed.stderr.contains("127"), "{}", failed.stderr);
    home.config(
        "agents:\n  w: { command: worker, output: json }\n  t: { command: sh, args: [-c, no-such-program-here], output: exit, \
         exitCodes: { 127: ok } }\n",
    );
    let ran = home.uwf(&["run", "fix-tests", "-p", "x", "--agent", "tests=t", "--agent", "fixer=w", "--steps", "1"]);
    assert!(ran.stderr.contains("✓ tests by t"), "{}", ran.transcript());
}

#[test]
fn exit_agent_of_text_role_is_refused() {
    let home = with_workflow("fix-tests", &CHECKED.replace("{ run: \"sh ./tests.sh\" }", "{ goal: You test. }"));
    home.file("tests.sh", "touch ran\n");
    let agents = ["--agent", "tests=sh tests.sh", "--output", "exit", "--agent", "fixer=w"];
    let refused = home.uwf(&[&["run", "fix-tests", "-p", "x"][..], &agents].concat());
    assert_eq!(refused.code, Some(78), "{}", refused.transcript());
    assert!(
        refused.stderr.contains("has `output: exit`, and the output of role `tests` is a text"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("`meta: { properties:"), "{}", refused.stderr);
    assert_eq!(home.json(&["thread", "list", "--all"]), json!([]));

    let thread = home.start("fix-tests", "x");
    let refused = home.uwf(&["thread", "step", &thread, "--agent", "sh tests.sh", "--output", "exit"]);
    assert_eq!(refused.code, Some(78), "{}", refused.transcript());
    assert!(!home.work().join("ran").exists());
}

#[test]
fn exit_agent_of_text_branch_is_refused() {
    let group = "name: check-all
roles:
  plan: { goal: You plan. }
  tests: { goal: You test. }
  lint: { goal: You look. }
  again: { play: tests, copies: 2, pick: judge }
  judge: { goal: You judge., meta: { type: object, properties: { winner: { type: string } }, required: [winner] } }
  checks: { play: [ { role: tests, mayFail: true }, lint ] }
  all: { play: [ checks ] }
graph:
  $START: [ { role: plan } ]
  plan: [ { role: all } ]
  all: [ { role: $END } ]
";
    let home = with_workflow("check-all", group);
    home.file("tests.sh", "touch ran\n");
    home.script("planner", "#!/bin/sh\ncat > /dev/null\ntouch planned\necho A plan.\n");
    home.config(
        "agents:\n  p: { command: planner, output: text }\n  x: { command: sh, args: [tests.sh], output: exit }\n\
         defaultAgent: p\nagentOverrides: { check-all: { tests: x } }\n",
    );
    let sentence = "agent `x` has `output: exit`, and the output of role `tests` is a text";
    let is_refused = |ran: &FinishedRun| {
        assert_eq!(ran.code, Some(78), "{}", ran.transcript());
        assert!(ran.stderr.contains(sentence) && ran.stderr.matches(sentence).count() == 1, "{}", ran.stderr);
        assert!(ran.stderr.contains("`meta: { properties:"), "{}", ran.stderr);
    };
    is_refused(&home.uwf(&["run", "check-all", "-p", "x"]));
    assert_eq!(home.json(&["thread", "list", "--all"]), json!([]));
    assert!(!home.work().join("planned").exists(), "nothing was paid");

    // A thread that had begun before.
    let thread = text(&home.json(&["thread", "start", "check-all", "-p", "x", "--agent", "p"]), "thread");
    home.json(&["thread", "step", &thread]);
    is_refused(&home.uwf(&["thread", "run", &thread, "--agent", "tests=x"]));
    assert!(!home.work().join("ran").exists());
    assert_eq!(home.json(&["thread", "list"]).as_array().unwrap().len(), 1, "no branch has begun");

    // The agents that the configuration lists for copies.
    home.put("check-all", &group.replace("play: [ checks ]", "play: [ again ]"));
    home.config(
        "agents:\n  p: { command: planner, output: text }\n  x: { command: sh, args: [tests.sh], output: exit }\n\
         defaultAgent: p\nagentOverrides: { check-all: { again: [p, x] } }\n",
    );
    is_refused(&home.uwf(&["run", "check-all", "-p", "x"]));
}

#[test]
fn show_and_validate_print_commands() {
    let home = with_workflow("fix-tests", CHECKED);
    let shown = home.uwf(&["workflow", "show", "fix-tests", "--format", "text"]).stdout;
    assert!(shown.contains("sh ./tests.sh"), "{shown}");
    let validated = home.uwf(&["workflow", "validate", "fix-tests.yaml", "--format", "text"]);
    assert!(validated.stdout.contains("sh ./tests.sh"), "{}", validated.transcript());
}

#[test]
fn keys_that_do_not_belong_together_are_refused() {
    let home = home();
    for (more, why) in [
        (", goal: Test it.", "`goal` does not belong to a role with `run`"),
        (", meta: { type: string }", "`meta` does not belong to a role with `run`"),
        (", model: big", "`model` does not belong to a role with `run`"),
        (", cwd: ../elsewhere", "`cwd` must be a directory below the workspace"),
        (", cwd: /tmp", "`cwd` must be a directory below the workspace"),
        (", shell: fish", "`shell` is `fish`; it can be bash, sh, none"),
        (", fails: [300]", "fails"),
        (", fails: [7, 0]", "`fails` has 0, which is the exit code of success"),
        (", env: { \"A=B\": x }", "`A=B` in `env` cannot be the name of a variable"),
        (", env: { \"\": x }", "`` in `env` cannot be the name of a variable"),
        (", env: { UWF_ROLE: x }", "`UWF_ROLE` in `env`: uwf sets the variables that begin with `UWF_`"),
    ] {
        let file = home.file("w.yaml", &one("true", more));
        let refused = home.uwf(&["workflow", "validate", file.to_str().unwrap()]);
        assert_eq!(refused.code, Some(65), "{more}: {}", refused.transcript());
        assert!(refused.stdout.contains(why), "{more}: {}", refused.transcript());
    }
    let file = home.file("w.yaml", &one("", ""));
    assert_eq!(home.uwf(&["workflow", "validate", file.to_str().unwrap()]).code, Some(65));
}
