//! `uwf config set`: one value changes, the rest of the file stays as it is.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::TestHome;

use crate::fixtures::configuration::{CONFIG, configured, file};
use crate::home;

/// A command that must fail and leave the file as it was.
#[track_caller]
pub(crate) fn refused(home: &TestHome, args: &[&str]) -> String {
    let before = file(home);
    let told = home.transcript(args);
    assert_eq!(file(home), before);
    told
}

#[test]
fn a_value_is_set_and_everything_else_stays() {
    let home = configured();
    fs::set_permissions(home.root().join("config.yaml"), fs::Permissions::from_mode(0o640)).unwrap();
    assert_snapshot!(home.transcript(&["config", "set", "agents.coder.timeout", "30m"]), @r#"
    exit 0
    {"key":"agents.coder.timeout","value":"30m","file":"<dir>/root/config.yaml","changed":true}
    "#);
    assert_snapshot!(home.transcript(&["config", "set", "defaultAgent", "judge"]), @r#"
    exit 0
    {"key":"defaultAgent","value":"judge","file":"<dir>/root/config.yaml","changed":true}
    "#);
    assert_snapshot!(home.transcript(&["config", "set", "defaultAgent", "judge", "--format", "text"]), @r#"
    exit 0
    defaultAgent is "judge" already in <dir>/root/config.yaml
    "#);
    assert_snapshot!(home.transcript(&["config", "set", "agents.coder.args", "--unset", "--format", "text"]), @r"
    exit 0
    removed agents.coder.args from <dir>/root/config.yaml
    ");
    assert_snapshot!(home.transcript(&["config", "set", "agentOverrides.solve-issue.reviewer", "judge", "--format", "text"]), @r#"
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
    assert_eq!(home.json(&["config", "get", "models.\"gpt-4.1\".name", "--format", "json"]), json!("gpt-4.1"));
    assert_eq!(home.json(&["config", "set", "nothing", "--unset"])["changed"], json!(false));
}

#[test]
fn values_are_yaml_unless_said_otherwise() {
    let home = configured();
    for (typed, value) in
        [("true", json!(true)), ("5", json!(5)), ("[a, 1]", json!(["a", 1])), ("-5", json!(-5)), ("null", json!(null))]
    {
        home.json(&["config", "set", "x-note", typed]);
        assert_eq!(home.json(&["config", "get", "x-note", "--format", "json"]), value, "{typed}");
    }
    for typed in ["true", "a: b # c", "-t", ""] {
        home.json(&["config", "set", "--string", "x-note", typed]);
        assert_eq!(home.json(&["config", "get", "x-note", "--format", "json"]), json!(typed));
    }
    assert_snapshot!(refused(&home, &["config", "set", "x-note", "a: b"]), @r"
    exit 64
    --- stderr
    error: the value is not a text, number, [list] or {mapping}, but YAML that needs several lines
    hint: to store it as text, add `--string`; write lists as [a, b], mappings as {a: 1}
    ");
    assert_snapshot!(refused(&home, &["config", "set", "x-note", ""]), @"
    exit 64
    --- stderr
    error: the value is empty
    hint: `--string ''` is an empty text, `null` is null, `uwf config unset` removes the key
    ");
    assert_snapshot!(refused(&home, &["config", "set", "x-note", "[a"]), @r"
    exit 64
    --- stderr
    error: the value is not YAML: while parsing a flow sequence, expected ',' or ']'
    hint: to store it as text, add `--string`; write lists as [a, b], mappings as {a: 1}
    ");
    assert_snapshot!(refused(&home, &["config", "set", "x-note"]), @"
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
    error: the result would not be valid: agent `codr` is not in `agents`
    hint: did you mean `coder`?
    hint: nothing was written
    ");
    assert_snapshot!(refused(&home, &["config", "set", "agents.coder", "--unset"]), @r"
    exit 78
    --- stderr
    error: the result would not be valid: agent `coder` is not in `agents`
    hint: add `coder: {command: …}` to `agents`
    hint: nothing was written
    ");
    assert_snapshot!(refused(&home, &["config", "set", "agents.new.args", "[x]"]), @r"
    exit 78
    --- stderr
    error: the result would not be valid: the agent `new` has no `command`
    hint: nothing was written
    ");
    assert_snapshot!(refused(&home, &["config", "set", "agents.new", "{comand: sh}"]), @r"
    exit 78
    --- stderr
    error: the result would not be valid: the agent `new` has no `command`
    hint: `comand` is not a key: did you mean `command`?
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
    hint: set the whole value, for example to `{key: value}` or `[a, b]`
    ");
    assert_snapshot!(refused(&home, &["config", "set", "maxStep", "5"]), @r"
    exit 78
    --- stderr
    error: `maxStep` is not a key of the configuration
    hint: did you mean `maxSteps`?
    hint: nothing was written
    ");
    assert_eq!(home.uwf(&["config", "set", "x-notes", "ours"]).code, Some(0));
}

#[test]
fn broken_file_is_repairable_value_by_value() {
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
    assert_snapshot!(home.transcript(&["config", "get", "maxSteps"]), @r"
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
    error: the value for `providers.p.apiKeyEnv` looks like an API key; config.yaml must not contain secrets
    hint: put the key into `.env` of the storage root, as NAME=key, and set `providers.<name>.apiKeyEnv` to NAME
    hint: `uwf setup` does both
    ");
}

#[test]
fn link_leaving_root_is_not_written_through() {
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
fn set_rejects_values_that_validate_rejects() {
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
