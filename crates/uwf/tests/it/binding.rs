//! Which agent plays a role: `--agent` with an alias or a command line, at the start, later, and for one step.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use uwf_testing::{TestHome, counting_workflow, text};

use crate::home;

/// Two roles in turn; each output is `{by}`.
const TWO: &str = "name: two-roles
roles:
  coder: { goal: g, meta: { type: object, properties: { by: { type: string } }, required: [by] } }
  judge: { goal: g, meta: { type: object, properties: { by: { type: string } }, required: [by] } }
graph:
  $START: [ { role: coder } ]
  coder: [ { role: judge } ]
  judge: [ { role: coder } ]
";

fn two() -> TestHome {
    let home = home();
    for name in ["a", "b", "c"] {
        home.script(name, &format!("#!/bin/sh\ncat > /dev/null\necho '{{\"by\": \"{name}\"}}'\n"));
    }
    home.config("agents:\n  a: { command: a, output: json }\n  b: { command: b, output: json }\ndefaultAgent: a\n");
    home.put("two-roles", TWO);
    home
}

/// Who played the last two steps.
fn played(home: &TestHome, thread: &str) -> Vec<String> {
    (0..2).map(|_| text(&home.json(&["thread", "step", thread]), "agent")).collect()
}

#[test]
fn agent_binds_to_all_roles_or_one() {
    let home = two();
    let start = |args: &[&str]| {
        let args: Vec<&str> = ["thread", "start", "two-roles", "-p", "x"].iter().chain(args).copied().collect();
        text(&home.json(&args), "thread")
    };
    assert_eq!(played(&home, &start(&[])), ["a", "a"]);
    assert_eq!(played(&home, &start(&["--agent", "b"])), ["b", "b"]);
    assert_eq!(played(&home, &start(&["--agent", "judge=b"])), ["a", "b"]);
    assert_eq!(played(&home, &start(&["--agent", "judge=a", "--agent", "b"])), ["b", "a"]);
    let line = ["--agent", "c", "--output", "json"];
    assert_eq!(played(&home, &start(&line)), ["c", "c"]);
    let mixed = ["--agent", "coder=a", "--agent", "judge=c", "--output", "json"];
    assert_eq!(played(&home, &start(&mixed)), ["a", "c"], "--output is for the command line");
}

#[test]
fn each_command_line_has_its_own_output() {
    let home = two();
    let by = "judge: { goal: g, meta: { type: object, properties: { by: { type: string } }, required: [by] } }";
    home.put(
        "two-roles",
        &TWO.replace(by, "judge: { goal: g, meta: { properties: { exitCode: { type: integer } } } }"),
    );
    let agents =
        ["run", "two-roles", "-p", "x", "--steps", "2", "--agent", "coder=c", "--agent", "judge=sh -c 'exit 3'"];
    let ran = home.uwf(&[&agents[..], &["--output", "coder=json", "--output", "judge=exit"]].concat());
    assert_eq!(ran.code, Some(30), "{}", ran.transcript());
    assert_eq!(home.json(&["thread", "eval", "@", "[$last('coder').by, $last('judge').exitCode]"]), json!(["c", 3]));
    for (outputs, why) in [
        (["judge=exit", "tests=exit"], "`--output tests=exit` needs an agent for role `tests`"),
        (["judge=exit", "judge=json"], "--output names two forms for role `judge`"),
        (["json", "text"], "--output names two forms for all roles"),
        (["json", "judge=yaml"], "it can be step, json, text, exit or ROLE=FORM"),
    ] {
        let refused = home.uwf(&[&agents[..], &["--output", outputs[0], "--output", outputs[1]]].concat());
        assert!(refused.code == Some(64) && refused.stderr.contains(why), "{outputs:?}: {}", refused.transcript());
    }
}

#[test]
fn a_run_binds_what_it_starts() {
    let home = two();
    let run = ["run", "two-roles", "-p", "x", "--steps", "2", "--agent", "b", "--agent", "judge=a"];
    let report = home.uwf(&run);
    assert_eq!(report.code, Some(30), "{report:?}");
    assert!(report.stderr.contains("coder by b") && report.stderr.contains("judge by a"), "{}", report.stderr);
}

#[test]
fn a_thread_can_be_bound_again() {
    let home = two();
    let thread = home.start("two-roles", "x");
    let by = |args: &[&str]| {
        let args: Vec<&str> = ["run", &thread, "--steps", "2"].iter().chain(args).copied().collect();
        let ran = home.uwf(&args);
        assert_eq!(ran.code, Some(30), "{ran:?}");
        let lines = ran.stderr.lines().filter_map(|line| line.split(" by ").nth(1)?.split(',').next());
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(by(&["--agent", "judge=b"]), ["a", "b"]);
    assert_eq!(by(&[]), ["a", "b"], "it lasts");
    assert_eq!(by(&["--agent", "coder=b"]), ["b", "b"], "the other binding stays");
    assert_eq!(by(&["--agent", "a"]), ["a", "a"], "one for all roles takes the place of every other");
    assert_eq!(by(&["--agent", "c", "--output", "json"]), ["c", "c"]);
    let fork = text(&home.json(&["thread", "fork", &thread]), "thread");
    assert_eq!(played(&home, &fork), ["c", "c"], "a fork is bound as its thread is");
    assert_eq!(
        home.transcript(&["run", &thread, "--agent", "jugde=b"]),
        "exit 64
--- stderr
error: workflow `two-roles` has no role `jugde`
hint: did you mean `judge`?
"
    );
    assert_eq!(played(&home, &thread), ["c", "c"], "a refused binding changes nothing");
}

#[test]
fn command_line_output_defaults_to_text() {
    let home = two();
    home.script("writer", "#!/bin/sh\ngrep -q coder && printf -- '---\\nby: stdin\\n---\\n'\n");
    home.script(
        "uwf-own",
        "#!/bin/sh\n\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data \"{\\\"by\\\": \\\"own $#\\\"}\"\n",
    );
    let step = |args: &[&str]| {
        let thread = home.start("two-roles", "x");
        let args: Vec<&str> = ["thread", "step", &thread].iter().chain(args).copied().collect();
        home.json(&args);
        home.last_step(&thread)["output"]["by"].clone()
    };
    assert_eq!(step(&["--agent", "writer --fast"]), json!("stdin"));
    assert_eq!(step(&["--agent", "c", "--output", "json"]), json!("c"));
    assert_eq!(step(&["--agent", "uwf-own"]), json!("own 2"));
    assert_eq!(step(&["--agent", "env A=1 uwf-own"]), json!("own 2"));
    let thread = home.start("two-roles", "x");
    assert_eq!(
        home.transcript(&["thread", "step", &thread, "--agent", "a", "--output", "text"]),
        "exit 64
--- stderr
error: `a` is an alias: --output belongs to a command line
hint: config.yaml says what an alias prints: `uwf config set agents.a.output text`
"
    );
    let wrong = home.uwf(&["thread", "step", &thread, "--agent", "c", "--output", "yaml"]);
    assert!(wrong.code == Some(64) && wrong.stderr.contains("step, json, text"), "{wrong:?}");
    assert_eq!(home.uwf(&["thread", "step", &thread, "--output", "json"]).code, Some(64));
}

#[test]
fn unstartable_and_missing_programs_are_reported_differently() {
    let home = two();
    let file = |name: &str, text: &str, mode: u32| {
        let path = home.file(name, text);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    file("plain.sh", "#!/bin/sh\n", 0o644);
    file("lost.sh", "#!/no/such/shell\n", 0o755);
    file("crlf.sh", "#!/bin/sh\r\necho\r\n", 0o755);
    let thread = home.start("two-roles", "x");
    let told = |agent: &str| home.transcript(&["thread", "step", &thread, "--agent", agent]);
    insta::assert_snapshot!(told("./plain.sh --x"), @"
    exit 78
    --- stderr
    error: cannot start agent `./plain.sh --x`: the file <dir>/work/plain.sh is not executable
    hint: make it executable: chmod +x <dir>/work/plain.sh
    ");
    insta::assert_snapshot!(told("./lost.sh"), @"
    exit 78
    --- stderr
    error: cannot start agent `./lost.sh`: the interpreter /no/such/shell of the script <dir>/work/lost.sh does not exist
    hint: install it, or change the first line of <dir>/work/lost.sh
    ");
    insta::assert_snapshot!(told("./crlf.sh"), @r"
    exit 78
    --- stderr
    error: cannot start agent `./crlf.sh`: the interpreter /bin/sh of the script <dir>/work/crlf.sh does not exist
    hint: its lines end in CRLF; change them to LF: sed -i 's/\r$//' <dir>/work/crlf.sh
    ");
    insta::assert_snapshot!(told("./absent.sh"), @"
    exit 78
    --- stderr
    error: unknown agent `./absent.sh`
    hint: agents of config.yaml: a, b
    hint: a program is found on PATH, or by a path relative to the thread's workspace
    ");
    insta::assert_snapshot!(told("hermes"), @"
    exit 78
    --- stderr
    error: unknown agent `hermes`
    hint: the built-in agent of that name is `uwf-hermes`
    ");
    insta::assert_snapshot!(told("uwf-hermse"), @"
    exit 78
    --- stderr
    error: unknown agent `uwf-hermse`
    hint: did you mean `uwf-hermes`?
    ");
    // The same of an alias, whose program is looked for when it is started.
    home.config("agents:\n  plain: { command: ./plain.sh, output: json }\n  lost: { command: ./lost.sh }\n");
    let started = |agent: &str| {
        let told = told(agent);
        told.lines().filter(|line| !line.contains("thread step-details")).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(started("plain"), @"
    exit 78
    --- stderr
    error: cannot start agent `./plain.sh`: the file <dir>/work/plain.sh is not executable
    hint: make it executable: chmod +x <dir>/work/plain.sh
    ");
    insta::assert_snapshot!(started("lost"), @"
    exit 78
    --- stderr
    error: cannot start agent `./lost.sh`: the interpreter /no/such/shell of the script <dir>/work/lost.sh does not exist
    hint: install it, or change the first line of <dir>/work/lost.sh
    ");
}

#[test]
fn hint_without_configured_agent_works() {
    let home = two();
    home.config("agents:\n  a: { command: a, output: json }\n");
    let thread = home.start("two-roles", "x");
    insta::assert_snapshot!(home.transcript(&["thread", "step", &thread]), @"
    exit 78
    --- stderr
    error: no agent is configured for role `coder`
    hint: set `defaultAgent` in config.yaml: `uwf setup`, or `uwf config set defaultAgent ALIAS`
    hint: or choose one for this thread: `--agent ALIAS`, or `--agent 'COMMAND ARGS'`
    ");
    assert_eq!(home.uwf(&["run", &thread, "--agent", "a", "--steps", "1"]).code, Some(30));
}

#[test]
fn reextract_hint_requires_configured_model() {
    let home = home();
    home.script("w", "#!/bin/sh\necho nothing\n");
    let agents = "agents:\n  w: { command: w, output: json }\ndefaultAgent: w\nextract: { feedback: 0 }\n";
    home.put("count-rounds", &counting_workflow(1));
    let hint = |config: &str| {
        home.config(&format!("{agents}{config}"));
        let thread = home.start("count-rounds", "x");
        let told = home.uwf(&["thread", "step", &thread]).stderr.replace(&thread, "THREAD");
        told.lines().find(|line| line.contains("--reextract")).unwrap_or_default().to_owned()
    };
    let again = "`uwf thread step THREAD --reextract` reads it again, without the agent";
    assert_eq!(hint(""), format!("hint: a model could read it: `uwf setup` configures one, then {again}"));
    let models = "providers: { p: { baseUrl: \"http://127.0.0.1:9\" } }\nmodels: { m: { provider: p, name: n } }\ndefaultModel: m\n";
    assert_eq!(hint(models), format!("hint: {again}"));
}

#[test]
fn agent_without_output_setting_gets_warning() {
    let home = home();
    home.script("plain", "#!/bin/sh\n");
    home.config("agents:\n  plain: { command: plain }\n  own: { command: uwf-mock }\n  said: { command: plain, output: step }\n  within: { command: env, args: [uwf-mock] }\n");
    insta::assert_snapshot!(home.transcript(&["config", "validate"]), @r#"
    exit 0
    {"file":"<dir>/root/config.yaml","valid":true,"problems":[{"severity":"warning","code":"no-output","message":"the agent `plain` has no `output`, so it must print the hash of a step that it stored","hint":"add `output: text` (an answer under a header) or `output: json`; `output: step` if it does store steps","file":"<dir>/root/config.yaml","line":2,"column":3}]}
    "#);
}
