//! `uwf config …`

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::TestHome;

use crate::home;

const CONFIG: &str = "\
# who does what
agents:
  coder:   # the expensive one
    command: sh
    args: [-c, 'true']
  judge: { command: sh, output: json }

defaultAgent: coder  # for now
x-notes: |
  kept as it is
";

fn configured() -> TestHome {
    let home = home();
    home.config(CONFIG);
    home
}

fn file(home: &TestHome) -> String {
    fs::read_to_string(home.root().join("config.yaml")).unwrap()
}

/// A command that must fail and leave the file as it was.
#[track_caller]
fn refused(home: &TestHome, args: &[&str]) -> String {
    let before = file(home);
    let told = home.told(args);
    assert_eq!(file(home), before);
    told
}

#[test]
fn a_value_is_set_and_everything_else_stays() {
    let home = configured();
    fs::set_permissions(home.root().join("config.yaml"), fs::Permissions::from_mode(0o640)).unwrap();
    assert_snapshot!(home.told(&["config", "set", "agents.coder.timeout", "30m"]), @r#"
    exit 0
    {"key":"agents.coder.timeout","value":"30m","file":"<dir>/root/config.yaml","changed":true}
    "#);
    assert_snapshot!(home.told(&["config", "set", "defaultAgent", "judge"]), @r#"
    exit 0
    {"key":"defaultAgent","value":"judge","file":"<dir>/root/config.yaml","changed":true}
    "#);
    assert_snapshot!(home.told(&["config", "set", "defaultAgent", "judge", "--format", "text"]), @r#"
    exit 0
    defaultAgent is "judge" already in <dir>/root/config.yaml
    "#);
    assert_snapshot!(home.told(&["config", "set", "agents.coder.args", "--unset", "--format", "text"]), @r"
    exit 0
    removed agents.coder.args from <dir>/root/config.yaml
    ");
    assert_snapshot!(home.told(&["config", "set", "agentOverrides.solve-issue.reviewer", "judge", "--format", "text"]), @r#"
    exit 0
    set agentOverrides.solve-issue.reviewer to "judge" in <dir>/root/config.yaml
    "#);
    assert_snapshot!(file(&home), @r"
    # who does what
    agents:
      coder:   # the expensive one
        command: sh
        timeout: 30m
      judge: { command: sh, output: json }

    defaultAgent: judge  # for now
    x-notes: |
      kept as it is
    agentOverrides:
      solve-issue:
        reviewer: judge
    ");
    assert_eq!(fs::metadata(home.root().join("config.yaml")).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn values_are_read_back_as_data_and_as_text() {
    let home = configured();
    assert_snapshot!(home.told(&["config", "get", "agents.coder"]), @r#"
    exit 0
    {"command":"sh","args":["-c","true"]}
    "#);
    assert_snapshot!(home.told(&["config", "get", "defaultAgent", "--format", "text"]), @r"
    exit 0
    coder
    ");
    assert_snapshot!(home.told(&["config", "get", "agents.coder.args.1"]), @r#"
    exit 0
    "true"
    "#);
    assert_snapshot!(home.told(&["config", "list"]), @r#"
    exit 0
    {"agents.coder.command":"sh","agents.coder.args":["-c","true"],"agents.judge.command":"sh","agents.judge.output":"json","defaultAgent":"coder","x-notes":"kept as it is\n"}
    "#);
    assert_snapshot!(home.told(&["config", "list", "--format", "text"]), @r#"
    exit 0
    agents.coder.command = sh
    agents.coder.args = ["-c","true"]
    agents.judge.command = sh
    agents.judge.output = json
    defaultAgent = coder
    x-notes = "kept as it is\n"
    "#);
    assert_snapshot!(home.told(&["config", "path", "--format", "text"]), @r"
    exit 0
    <dir>/root/config.yaml
    ");
}

#[test]
fn a_key_that_is_not_set_is_not_found() {
    let home = configured();
    assert_snapshot!(home.told(&["config", "get", "agents.codr.command"]), @r"
    exit 69
    --- stderr
    error: `agents.codr.command` is not set in <dir>/root/config.yaml
    hint: did you mean `agents.coder.command`?
    ");
    assert_snapshot!(home.told(&["config", "get", "maxSteps"]), @r"
    exit 69
    --- stderr
    error: `maxSteps` is not set in <dir>/root/config.yaml
    hint: the default holds: 1000
    ");
    assert_snapshot!(home.told(&["config", "get", "agents.coder.idleTimeout"]), @r"
    exit 69
    --- stderr
    error: `agents.coder.idleTimeout` is not set in <dir>/root/config.yaml
    hint: the default holds: 30m
    ");
    assert_snapshot!(home.told(&["config", "get", "agents.nobody.idleTimeout"]), @r"
    exit 69
    --- stderr
    error: `agents.nobody.idleTimeout` is not set in <dir>/root/config.yaml
    hint: `uwf config list` shows what is set
    ");
    assert_snapshot!(home.told(&["config", "get", "a..b"]), @r#"
    exit 64
    --- stderr
    error: not a key: `a..b` has an empty key
    hint: keys are joined by dots: agents.coder.command; a key with a dot in it is quoted: models."gpt-4.1"
    "#);
}

#[test]
fn the_first_value_makes_the_file() {
    let home = home();
    assert_eq!(home.json(&["config", "path"])["exists"], json!(false));
    assert_eq!(home.json(&["config", "list"]), json!({}));
    home.json(&["config", "set", "agents.coder", "{command: sh, args: [-c, 'exit 0']}"]);
    home.json(&["config", "set", "models.\"gpt-4.1\"", "{provider: p, name: gpt-4.1}"]);
    assert_snapshot!(file(&home), @r#"
    agents:
      coder: { command: sh, args: [-c, exit 0] }
    models:
      gpt-4.1: { provider: p, name: gpt-4.1 }
    "#);
    assert_eq!(home.json(&["config", "get", "models.\"gpt-4.1\".name"]), json!("gpt-4.1"));
    assert_eq!(home.json(&["config", "set", "nothing", "--unset"])["changed"], json!(false));
}

#[test]
fn values_are_yaml_unless_said_otherwise() {
    let home = configured();
    for (typed, value) in
        [("true", json!(true)), ("5", json!(5)), ("[a, 1]", json!(["a", 1])), ("-5", json!(-5)), ("null", json!(null))]
    {
        home.json(&["config", "set", "x", typed]);
        assert_eq!(home.json(&["config", "get", "x"]), value, "{typed}");
    }
    for typed in ["true", "a: b # c", "-t", ""] {
        home.json(&["config", "set", "--string", "x", typed]);
        assert_eq!(home.json(&["config", "get", "x"]), json!(typed));
    }
    assert_snapshot!(refused(&home, &["config", "set", "x", "a: b"]), @r"
    exit 64
    --- stderr
    error: the value is not a text, number, [list] or {mapping}, but YAML that needs lines of its own
    hint: `--string` takes it as a text; lists are [a, b], mappings {a: 1}
    ");
    assert_snapshot!(refused(&home, &["config", "set", "x", ""]), @"
    exit 64
    --- stderr
    error: the value is empty
    hint: `--string ''` is an empty text, `null` is null, `uwf config unset` removes the key
    ");
    assert_snapshot!(refused(&home, &["config", "set", "x", "[a"]), @r"
    exit 64
    --- stderr
    error: the value is no YAML: while parsing a flow sequence, expected ',' or ']'
    hint: `--string` takes it as a text; lists are [a, b], mappings {a: 1}
    ");
    assert_snapshot!(refused(&home, &["config", "set", "x"]), @"
    exit 64
    --- stderr
    error: the following required arguments were not provided: <VALUE>
    hint: usage: uwf config set <KEY> <VALUE>
    ");
}

#[test]
fn a_result_that_is_not_valid_is_refused() {
    let home = configured();
    assert_snapshot!(refused(&home, &["config", "set", "defaultAgent", "codr"]), @r"
    exit 78
    --- stderr
    error: the result would not be valid: there is no agent `codr` in `agents`
    hint: did you mean `coder`?
    hint: nothing was written
    ");
    assert_snapshot!(refused(&home, &["config", "set", "agents.coder", "--unset"]), @r"
    exit 78
    --- stderr
    error: the result would not be valid: there is no agent `coder` in `agents`
    hint: add `coder: {command: …}` to `agents`
    hint: nothing was written
    ");
    assert_snapshot!(refused(&home, &["config", "set", "agents.new.args", "[x]"]), @r"
    exit 78
    --- stderr
    error: the result would not be valid: the agent `new` has no `command`
    hint: nothing was written
    ");
    assert_snapshot!(refused(&home, &["config", "set", "maxSteps", "many"]), @r"
    exit 78
    --- stderr
    error: the result would not be valid: `maxSteps` must be a whole number, not a text
    hint: nothing was written
    ");
    assert_snapshot!(refused(&home, &["config", "set", "defaultAgent.x", "5"]), @r"
    exit 78
    --- stderr
    error: <dir>/root/config.yaml: line 8: `defaultAgent` is a text or number, which has no keys
    hint: set the whole of it, for example to `{key: value}` or `[a, b]`
    ");
    assert_snapshot!(home.told(&["config", "set", "maxStep", "5"]), @r#"
    exit 0
    {"key":"maxStep","value":5,"file":"<dir>/root/config.yaml","changed":true}
    --- stderr
    warning: the key `maxStep` is not known here and is ignored; did you mean `maxSteps`?
    "#);
}

#[test]
fn a_broken_file_can_be_repaired_one_value_at_a_time() {
    let home = home();
    home.config("maxSteps: many\nmaxDepth: deep # how deep\n");
    home.json(&["config", "set", "maxDepth", "2"]);
    assert_eq!(home.uwf(&["config", "validate"]).code, Some(78));
    home.json(&["config", "set", "maxSteps", "20"]);
    assert_eq!(file(&home), "maxSteps: 20\nmaxDepth: 2 # how deep\n");
    home.config("a: [\n");
    assert_snapshot!(refused(&home, &["config", "set", "maxSteps", "5"]), @r"
    exit 78
    --- stderr
    error: <dir>/root/config.yaml:2:1: error[syntax]: not valid YAML: while parsing a node, did not find expected node content
    hint: nothing was written
    ");
    assert_snapshot!(home.told(&["config", "get", "maxSteps"]), @r"
    exit 78
    --- stderr
    error: <dir>/root/config.yaml:2:1: error[syntax]: not valid YAML: while parsing a node, did not find expected node content
    hint: `uwf config validate` shows the lines
    ");
}

#[test]
fn keys_are_refused_and_not_repeated() {
    let home = configured();
    for args in [
        ["providers.p.apiKey", "sk-very-secret-0123456789"],
        ["providers.p", "{baseUrl: u, apiKeyEnv: sk-very-secret-0123456789}"],
        ["agents.coder.args", "[--key, sk-very-secret-0123456789]"],
    ] {
        let ran = home.uwf(&["config", "set", args[0], args[1]]);
        assert_eq!(ran.code, Some(78), "{args:?}");
        let printed = ran.stdout + &ran.stderr;
        assert!(!printed.contains("very-secret"), "{printed}");
    }
    assert_eq!(file(&home), CONFIG);
    assert_snapshot!(refused(&home, &["config", "set", "providers.p.apiKeyEnv", "sk-very-secret-0123456789"]), @r"
    exit 78
    --- stderr
    error: the value for `providers.p.apiKeyEnv` looks like an API key, which does not belong into config.yaml
    hint: put the key into `.env` of the storage root, as NAME=key, and set `providers.<name>.apiKeyEnv` to NAME
    hint: `uwf setup` does both
    ");
}

#[test]
fn a_link_out_of_the_root_is_not_written_through() {
    let home = home();
    let outside = home.file("shared.yaml", "maxSteps: 5\n");
    symlink(&outside, home.root().join("config.yaml")).unwrap();
    assert_snapshot!(refused(&home, &["config", "set", "maxSteps", "6"]), @r"
    exit 78
    --- stderr
    error: <dir>/root/config.yaml is a link to <dir>/work/shared.yaml, outside the storage root
    hint: edit that file, or put a file of its own into the storage root
    ");
    fs::remove_file(home.root().join("config.yaml")).unwrap();
    fs::write(home.root().join("real.yaml"), "maxSteps: 5\n").unwrap();
    symlink("real.yaml", home.root().join("config.yaml")).unwrap();
    home.json(&["config", "set", "maxSteps", "6"]);
    assert_eq!(fs::read_to_string(home.root().join("real.yaml")).unwrap(), "maxSteps: 6\n");
    assert!(home.root().join("config.yaml").is_symlink());
}

#[test]
fn many_writers_lose_nothing() {
    let home = configured();
    let writers: Vec<_> = (0..8)
        .map(|n| {
            home.command(&["config", "set", &format!("agents.a{n}"), "{command: sh}"])
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    assert_eq!(home.json(&["config", "get", "agents"]).as_object().unwrap().len(), 10);
}

#[test]
fn validate_tells_everything_with_its_place() {
    let home = home();
    home.config(
        "\
providers:
  here: { baseUrl: 'http://127.0.0.1:9', apiKeyEnv: HERE_KEY }
  there: { baseUrl: 'http://127.0.0.1:9', apiKeyEnv: THERE_KEY, kind: opnai }
models:
  small: { provider: her, name: m }
agents:
  gone: { command: no-such-program-anywhere }
  far: { command: /no/such/program, output: text }
  near: { command: ./made-by-the-workspace.sh }
  typo: { command: uwf-mok }
  actor:
    command: uwf-mock
    model: big
    config: { script: 5, scrpt: x }
defaultAgent: gone
maxStep: 5
",
    );
    fs::write(home.root().join(".env"), "THERE_KEY=0123456789\n").unwrap();
    assert_snapshot!(home.told(&["config", "validate", "--format", "text"]), @"
    exit 78
    <dir>/root/config.yaml:2:42: warning[no-key]: `HERE_KEY` is set neither in the environment nor in .env
      |
    2 |   here: { baseUrl: 'http://127.0.0.1:9', apiKeyEnv: HERE_KEY }
      |                                          ^
      = hint: add `HERE_KEY=…` to .env of the storage root, or run `uwf setup`

    <dir>/root/config.yaml:3:65: error[unknown-kind]: `opnai` is no kind of provider; there are `openai` and `anthropic`
      |
    3 |   there: { baseUrl: 'http://127.0.0.1:9', apiKeyEnv: THERE_KEY, kind: opnai }
      |                                                                 ^
      = hint: did you mean `openai`?

    <dir>/root/config.yaml:5:22: warning[unknown-provider]: there is no provider `her` in `providers`
      |
    5 |   small: { provider: her, name: m }
      |                      ^
      = hint: did you mean `here`?

    <dir>/root/config.yaml:7:3: warning[no-output]: the agent `gone` has no `output`, so it has to print the hash of a step that it stored
      |
    7 |   gone: { command: no-such-program-anywhere }
      |   ^
      = hint: add `output: text` (an answer under a header) or `output: json`; `output: step` if it does store steps

    <dir>/root/config.yaml:7:11: warning[no-program]: there is no program `no-such-program-anywhere` on PATH
      |
    7 |   gone: { command: no-such-program-anywhere }
      |           ^
      = hint: install it, or give the program's whole path

    <dir>/root/config.yaml:8:10: warning[no-program]: there is no file /no/such/program
      |
    8 |   far: { command: /no/such/program, output: text }
      |          ^
      = hint: check the path

    <dir>/root/config.yaml:9:3: warning[no-output]: the agent `near` has no `output`, so it has to print the hash of a step that it stored
      |
    9 |   near: { command: ./made-by-the-workspace.sh }
      |   ^
      = hint: add `output: text` (an answer under a header) or `output: json`; `output: step` if it does store steps

    <dir>/root/config.yaml:10:11: error[unknown-agent]: there is no built-in agent `mok`, and no program `uwf-mok` on PATH
       |
    10 |   typo: { command: uwf-mok }
       |           ^
       = hint: did you mean `mock`?

    <dir>/root/config.yaml:13:5: warning[unknown-model]: there is no model `big` in `models`
       |
    13 |     model: big
       |     ^
       = hint: add `big: {provider: …, name: …}` to `models`

    <dir>/root/config.yaml:14:15: error[bad-setting]: `config.script` of the agent `mock`: expected a string, found 5
       |
    14 |     config: { script: 5, scrpt: x }
       |               ^
       = hint: `uwf agent describe mock` tells what it takes

    <dir>/root/config.yaml:14:26: error[bad-setting]: `config` of the agent `mock`: unknown key `scrpt`; did you mean `script`?
       |
    14 |     config: { script: 5, scrpt: x }
       |                          ^
       = hint: `uwf agent describe mock` tells what it takes

    <dir>/root/config.yaml:16:1: warning[unknown-key]: the key `maxStep` is not known here and is ignored
       |
    16 | maxStep: 5
       | ^
       = hint: did you mean `maxSteps`?

    <dir>/root/config.yaml: not valid, 4 errors, 8 warnings
    ");
    home.config("agents:\n  a: { command: nothing-of-that-name }\n");
    assert_eq!(home.json(&["config", "validate"])["valid"], json!(true));
    assert_eq!(home.uwf(&["config", "validate", "--strict"]).code, Some(78));
    home.config(CONFIG);
    assert_snapshot!(home.told(&["config", "validate"]), @r#"
    exit 0
    {"file":"<dir>/root/config.yaml","valid":true,"problems":[{"severity":"warning","code":"no-output","message":"the agent `coder` has no `output`, so it has to print the hash of a step that it stored","hint":"add `output: text` (an answer under a header) or `output: json`; `output: step` if it does store steps","file":"<dir>/root/config.yaml","line":3,"column":3},{"severity":"warning","code":"unknown-key","message":"the key `x-notes` is not known here and is ignored","hint":"known here: providers, models, agents, defaultAgent, agentOverrides, defaultModel, modelOverrides, secrets, maxSteps, maxDepth, supervisorInterval, promptBudget, outputCap, killGrace, budgets, extract","file":"<dir>/root/config.yaml","line":9,"column":1}]}
    "#);
}

#[test]
fn the_documentation_names_every_key_with_its_default() {
    let page = fs::read_to_string(uwf_testing::repository().join("docs/reference/configuration.md")).unwrap();
    let rows: Vec<Vec<&str>> = page.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
    let keys: Vec<&str> = rows.iter().filter_map(|row| row.get(1)?.strip_prefix('`')?.strip_suffix('`')).collect();
    for known in uwf_core::config::CONFIG_KEYS {
        let is_named = |key: &&str| **key == *known || key.starts_with(&format!("{known}."));
        assert!(keys.iter().any(is_named), "{known} is not documented");
    }
    for row in rows.iter().filter(|row| row.len() == 5 && row[1].starts_with('`') && !row[1].starts_with("`.")) {
        let key: uwf_core::config::edit::KeyPath = row[1].trim_matches('`').parse().unwrap();
        if let Some(default) = uwf_core::config::default_of(&key) {
            assert_eq!(row[3], format!("`{default}`"), "{key}");
        }
    }
}

#[test]
fn a_key_is_removed() {
    let home = configured();
    let report = home.json(&["config", "unset", "agents.coder.args"]);
    assert_eq!(json!([report["key"], report["changed"]]), json!(["agents.coder.args", true]));
    assert!(!file(&home).contains("args"), "{}", file(&home));
    assert_eq!(home.json(&["config", "unset", "agents.coder.args"])["changed"], json!(false));
    assert_eq!(home.uwf(&["config", "unset"]).code, Some(64));
    let refused = home.uwf(&["config", "unset", "agents.coder"]);
    assert_eq!(refused.code, Some(78), "somebody names it still: {}", refused.stderr);
}

#[test]
fn what_validate_calls_an_error_is_not_set() {
    let home = home();
    home.config("# mine\n");
    for (key, value) in [
        ("agents.w", "{command: uwf-nobody}"),
        ("agents.w", "{command: uwf-react, model: m, config: {tools: 5}}"),
        ("agents.w.command", "uwf-nobody"),
        ("maxSteps", "many"),
        ("defaultAgent", "nobody"),
        ("agentOverrides.a.b", "nobody"),
        ("agents.w", "{command: x, output: xml}"),
    ] {
        let ran = home.uwf(&["config", "set", key, value]);
        assert_eq!(ran.code, Some(78), "{key} {value}: {}", ran.stderr);
        assert!(ran.stderr.contains("nothing was written"), "{}", ran.stderr);
        assert_eq!(file(&home), "# mine\n");
    }
}

/// A `uwf config edit` with an editor that is a line of sh; the file is `$1`.
fn edited(home: &TestHome, editor: &str) -> uwf_testing::Ran {
    let editor = home.script("editor", &format!("#!/bin/sh\n{editor}\n"));
    home.command(&["config", "edit"]).env("VISUAL", editor).output().unwrap().into()
}

#[test]
fn the_file_is_edited_as_a_whole() {
    let home = configured();
    let before = file(&home);
    let draft = home.root().join("config.draft.yaml");
    let report = edited(&home, "echo 'maxSteps: 7' >> \"$1\"").json();
    assert_eq!(report["changed"], json!(true));
    assert_eq!(file(&home), format!("{before}maxSteps: 7\n"));
    assert!(!draft.exists());
    assert_eq!(edited(&home, ":").json()["changed"], json!(false));

    let before = file(&home);
    let refused = edited(&home, "echo 'maxDepth: deep' >> \"$1\"");
    assert_eq!((refused.code, file(&home)), (Some(78), before.clone()));
    assert!(refused.stderr.contains("config.draft.yaml"), "{}", refused.stderr);
    let report = edited(&home, "sed -i s/deep/2/ \"$1\"");
    assert!(report.stderr.contains("draft of an earlier edit"), "{}", report.stderr);
    assert_eq!(file(&home), format!("{before}maxDepth: 2\n"), "what was typed is not lost");
    assert!(!draft.exists());
}

#[test]
fn an_edit_loses_nothing_of_others() {
    let home = configured();
    let bin = env!("CARGO_BIN_EXE_uwf");
    let ran = edited(&home, &format!("{bin} config set maxSteps 9 >&2; echo 'maxDepth: 2' >> \"$1\""));
    assert_eq!(ran.code, Some(75), "{}", ran.stderr);
    assert_eq!(home.json(&["config", "get", "maxSteps"]), json!(9));
    assert_eq!(home.uwf(&["config", "get", "maxDepth"]).code, Some(69));
    assert!(home.root().join("config.draft.yaml").exists());

    let failed = edited(&home, "exit 1");
    assert_eq!(failed.code, Some(78));
    assert!(failed.stderr.contains("set VISUAL or EDITOR"), "{}", failed.stderr);
    fs::remove_file(home.root().join("config.draft.yaml")).unwrap();
    let key = edited(&home, "echo 'providers: {p: {baseUrl: u, apiKey: sk-very-secret-0123456789}}' > \"$1\"");
    assert_eq!(key.code, Some(78));
    assert!(!(key.stdout + &key.stderr).contains("very-secret"));
}
