//! `uwf config get`, `list` and `path`: reading the configuration.

use insta::assert_snapshot;

use crate::fixtures::configuration::configured;

#[test]
fn values_print_as_json_and_text() {
    let home = configured();
    assert_snapshot!(home.transcript(&["config", "get", "agents.coder"]), @r#"
    exit 0
    {"command":"sh","args":["-c","true"]}
    "#);
    assert_snapshot!(home.transcript(&["config", "get", "defaultAgent", "--format", "text"]), @r"
    exit 0
    coder
    ");
    assert_snapshot!(home.transcript(&["config", "get", "agents.coder.args.1"]), @r#"
    exit 0
    true
    "#);
    assert_snapshot!(home.transcript(&["config", "get", "agents.coder.args.1", "--format", "json"]), @r#"
    exit 0
    "true"
    "#);
    assert_snapshot!(home.transcript(&["config", "list"]), @r#"
    exit 0
    {"agents.coder.command":"sh","agents.coder.args":["-c","true"],"agents.judge.command":"sh","agents.judge.output":"json","defaultAgent":"coder","x-notes":"kept as it is\n"}
    "#);
    assert_snapshot!(home.transcript(&["config", "list", "--format", "text"]), @r#"
    exit 0
    agents.coder.command = sh
    agents.coder.args = ["-c","true"]
    agents.judge.command = sh
    agents.judge.output = json
    defaultAgent = coder
    x-notes = "kept as it is\n"
    "#);
    assert_snapshot!(home.transcript(&["config", "path", "--format", "text"]), @r"
    exit 0
    <dir>/root/config.yaml
    ");
}

#[test]
fn unset_key_is_not_found() {
    let home = configured();
    assert_snapshot!(home.transcript(&["config", "get", "agents.codr.command"]), @r"
    exit 69
    --- stderr
    error: `agents.codr.command` is not set in <dir>/root/config.yaml
    hint: did you mean `agents.coder.command`?
    ");
    assert_snapshot!(home.transcript(&["config", "get", "maxSteps"]), @r"
    exit 69
    --- stderr
    error: `maxSteps` is not set in <dir>/root/config.yaml
    hint: the default holds: 1000
    ");
    assert_snapshot!(home.transcript(&["config", "get", "agents.coder.idleTimeout"]), @r"
    exit 69
    --- stderr
    error: `agents.coder.idleTimeout` is not set in <dir>/root/config.yaml
    hint: the default holds: 30m
    ");
    assert_snapshot!(home.transcript(&["config", "get", "agents.nobody.idleTimeout"]), @r"
    exit 69
    --- stderr
    error: `agents.nobody.idleTimeout` is not set in <dir>/root/config.yaml
    hint: `uwf config list` shows what is set
    ");
    assert_snapshot!(home.transcript(&["config", "get", "a..b"]), @r#"
    exit 64
    --- stderr
    error: not a key: `a..b` has an empty key
    hint: keys are joined by dots: agents.coder.command; a key with a dot in it is quoted: models."gpt-4.1"
    "#);
}
