//! `uwf config validate`: every problem of the configuration with its place.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use crate::fixtures::configuration::CONFIG;
use crate::home;

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
    assert_snapshot!(home.transcript(&["config", "validate", "--format", "text"]), @"
    exit 78
    <dir>/root/config.yaml:2:42: warning[no-key]: `HERE_KEY` is set neither in the environment nor in .env
      |
    2 |   here: { baseUrl: 'http://127.0.0.1:9', apiKeyEnv: HERE_KEY }
      |                                          ^
      = hint: add `HERE_KEY=…` to .env of the storage root, or run `uwf setup`

    <dir>/root/config.yaml:3:65: error[unknown-kind]: `opnai` is not a kind of provider; there are `openai` and `anthropic`
      |
    3 |   there: { baseUrl: 'http://127.0.0.1:9', apiKeyEnv: THERE_KEY, kind: opnai }
      |                                                                 ^
      = hint: did you mean `openai`?

    <dir>/root/config.yaml:5:22: warning[unknown-provider]: provider `her` is not in `providers`
      |
    5 |   small: { provider: her, name: m }
      |                      ^
      = hint: did you mean `here`?

    <dir>/root/config.yaml:7:3: warning[no-output]: the agent `gone` has no `output`, so it must print the hash of a step that it stored
      |
    7 |   gone: { command: no-such-program-anywhere }
      |   ^
      = hint: add `output: text` (an answer under a header) or `output: json`; `output: step` if it does store steps

    <dir>/root/config.yaml:7:11: warning[no-program]: program `no-such-program-anywhere` is not on PATH
      |
    7 |   gone: { command: no-such-program-anywhere }
      |           ^
      = hint: install it, or give the program's full path

    <dir>/root/config.yaml:8:10: warning[no-program]: file /no/such/program does not exist
      |
    8 |   far: { command: /no/such/program, output: text }
      |          ^
      = hint: check the path

    <dir>/root/config.yaml:9:3: warning[no-output]: the agent `near` has no `output`, so it must print the hash of a step that it stored
      |
    9 |   near: { command: ./made-by-the-workspace.sh }
      |   ^
      = hint: add `output: text` (an answer under a header) or `output: json`; `output: step` if it does store steps

    <dir>/root/config.yaml:10:11: error[unknown-agent]: `mok` is not a built-in agent, and program `uwf-mok` is not on PATH
       |
    10 |   typo: { command: uwf-mok }
       |           ^
       = hint: did you mean `mock`?

    <dir>/root/config.yaml:13:5: warning[unknown-model]: model `big` is not in `models`
       |
    13 |     model: big
       |     ^
       = hint: add `big: {provider: …, name: …}` to `models`

    <dir>/root/config.yaml:14:15: error[bad-setting]: `config.script` of the agent `mock`: expected a string, found 5
       |
    14 |     config: { script: 5, scrpt: x }
       |               ^
       = hint: `uwf agent describe mock` shows its settings

    <dir>/root/config.yaml:14:26: error[bad-setting]: `config` of the agent `mock`: unknown key `scrpt`; did you mean `script`?
       |
    14 |     config: { script: 5, scrpt: x }
       |                          ^
       = hint: `uwf agent describe mock` shows its settings

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
    assert_snapshot!(home.transcript(&["config", "validate"]), @r#"
    exit 0
    {"file":"<dir>/root/config.yaml","valid":true,"problems":[{"severity":"warning","code":"no-output","message":"the agent `coder` has no `output`, so it must print the hash of a step that it stored","hint":"add `output: text` (an answer under a header) or `output: json`; `output: step` if it does store steps","file":"<dir>/root/config.yaml","line":3,"column":3},{"severity":"warning","code":"unknown-key","message":"the key `x-notes` is not known here and is ignored","hint":"known here: providers, models, agents, defaultAgent, agentOverrides, defaultModel, modelOverrides, workspaces, secrets, maxSteps, maxTime, maxTokens, maxCost, maxDepth, maxBranches, parallel, supervisorInterval, promptBudget, outputCap, killGrace, ask, askTimeout, extract, notify, prices, otel, store, temporal, worktree, hooks","file":"<dir>/root/config.yaml","line":9,"column":1}]}
    "#);
}

#[test]
fn documented_defaults_are_those_of_the_keys() {
    let page = fs::read_to_string(uwf_testing::repository().join("docs/reference/configuration.md")).unwrap();
    let rows: Vec<Vec<&str>> = page.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
    for row in rows.iter().filter(|row| row.len() == 5 && row[1].starts_with('`') && !row[1].starts_with("`.")) {
        let key: uwf_core::config::edit::KeyPath = row[1].trim_matches('`').parse().unwrap();
        if let Some(default) = uwf_core::config::default_of(&key) {
            assert_eq!(row[3], format!("`{default}`"), "{key}");
        }
    }
}

#[test]
fn the_configuration_of_an_older_store_is_reported() {
    let home = home();
    let older = "config:\n  defaultAgent: hermes\nworkflows: {}\n";
    fs::create_dir_all(home.root()).unwrap();
    fs::write(home.root().join("workflow.yaml"), older).unwrap();
    let told = "`config` is not read: this version has its configuration in config.yaml";
    let ran = home.uwf(&["config", "validate"]);
    let problem = ran.json()["problems"][0].take();
    assert_eq!(json!([problem["code"], problem["line"], problem["message"]]), json!(["older-config", 1, told]));
    assert!(home.uwf(&["doctor", "--offline"]).stdout.contains(told));
    home.put("count-rounds", &uwf_testing::counting_workflow(1));
    let ran = home.uwf(&["run", "count-rounds", "-p", "x"]);
    assert!(ran.code == Some(78) && ran.stderr.contains(told), "{}", ran.stderr);
}

#[test]
fn agents_for_commands_and_groups_are_reported() {
    let home = home();
    home.put(
        "mixed",
        "name: mixed
roles:
  writer: { goal: x }
  tests: { run: \"true\" }
  both: { play: [ writer, tests ] }
  tries: { play: writer, copies: 2, pick: \"'1'\" }
graph:
  $START: [ { role: both } ]
  both: [ { role: tries } ]
  tries: [ { role: $END } ]
",
    );
    home.config(
        "agents:\n  t: { command: cat, output: text }\nagentOverrides:\n  mixed: { writer: t, tests: t, both: t, tries: [t, t] }\n  other: { tests: t }\n",
    );
    assert_snapshot!(home.transcript(&["config", "validate", "--format", "text"]), @"
    exit 0
    <dir>/root/config.yaml:4:23: warning[unused-agent]: role `tests` of workflow `mixed` is played by its command `true`, so no agent plays it
      |
    4 |   mixed: { writer: t, tests: t, both: t, tries: [t, t] }
      |                       ^
      = hint: remove it: `uwf config unset agentOverrides.mixed.tests`

    <dir>/root/config.yaml:4:33: warning[unused-agent]: role `both` of workflow `mixed` plays other roles, so no agent plays it
      |
    4 |   mixed: { writer: t, tests: t, both: t, tries: [t, t] }
      |                                 ^
      = hint: remove it: `uwf config unset agentOverrides.mixed.both`

    <dir>/root/config.yaml: valid, 2 warnings
    ");
    let doctor = home.uwf(&["doctor", "--offline", "--format", "text"]).stdout;
    assert!(doctor.contains("role `tests` of workflow `mixed` is played by its command `true`"), "{doctor}");
}

#[test]
fn agents_of_unknown_roles_are_reported() {
    let home = home();
    home.put(
        "notes",
        "name: notes\ndescription: x\nroles:\n  writer: { goal: x }\ngraph:\n  $START: [ { role: writer } ]\n  writer: [ { role: $END } ]\n",
    );
    home.config(
        "agents:\n  t: { command: cat, output: text }\nagentOverrides:\n  notes: { writr: t, proofs: t }\n  other: { tests: t }\n",
    );
    let said = home.uwf(&["config", "validate", "--format", "text"]).stdout;
    for part in [
        "4:12: warning[unknown-role]: workflow `notes` has no role `writr`",
        "did you mean `writer`?",
        "workflow `notes` has no role `proofs`",
        "uwf config unset agentOverrides.notes.proofs",
        "valid, 2 warnings",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn empty_list_of_agents_is_an_error() {
    let home = home();
    home.config("agents:\n  a: { command: sh, output: text }\nagentOverrides: { best-of: { drafts: [] } }\n");
    let ran = home.uwf(&["config", "validate", "--format", "text"]);
    assert_eq!(ran.code, Some(78), "{}", ran.transcript());
    assert!(ran.stdout.contains("`agentOverrides` gives `drafts` no agent"), "{}", ran.transcript());
}
