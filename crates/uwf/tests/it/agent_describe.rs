//! Variables of agents, keys that were withheld, and what agents say of themselves.

use std::fs;

use serde_json::json;
use uwf_testing::{TestHome, counting_workflow, text};

use crate::home;

fn step(home: &TestHome, agent: &str) -> uwf_testing::Ran {
    let thread = home.start("count-rounds", "count");
    home.uwf(&["thread", "step", &thread, "--agent", agent])
}

#[test]
fn a_mapping_sets_variables_and_passes_secrets_on() {
    let home = home();
    home.script("teller", "#!/bin/sh\ncat > /dev/null\nenv > \"env-$1.txt\"\necho '{\"n\": 1}'\n");
    home.script(
        "uwf-teller",
        "#!/bin/sh\nenv > env-own.txt\n\"$UWF_BIN\" agent submit \"$1\" \"$2\" --data '{\"n\": 1}'\n",
    );
    home.config(
        "secrets: [A_KEY, B_KEY]\nagents:\n  list: { command: teller, args: [list], output: json, env: [A_KEY] }\n  map: { command: teller, args: [map], output: json, env: { FOO: bar, DEPTH: 3, B_KEY: null, UWF_ROLE: forged } }\n  own: { command: uwf-teller, env: { FOO: bar, A_KEY: } }\n",
    );
    fs::write(home.root().join(".env"), "A_KEY=a-secret-0123456789\nB_KEY=b-secret-0123456789\n").unwrap();
    home.put("count-rounds", &counting_workflow(9));
    for agent in ["list", "map", "own"] {
        let ran = step(&home, agent);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let has = |file: &str, line: &str| {
        let text = fs::read_to_string(home.work().join(format!("env-{file}.txt"))).unwrap();
        text.lines().any(|known| known == line)
    };
    assert!(has("list", "A_KEY=a-secret-0123456789") && !has("list", "B_KEY=b-secret-0123456789"));
    assert!(has("map", "B_KEY=b-secret-0123456789") && !has("map", "A_KEY=a-secret-0123456789"));
    assert!(has("map", "FOO=bar") && has("map", "DEPTH=3") && !has("list", "FOO=bar"));
    assert!(has("map", "UWF_ROLE=worker"), "what the protocol says cannot be changed");
    assert!(has("own", "FOO=bar") && has("own", "A_KEY=a-secret-0123456789"));
}

#[test]
fn a_secret_has_no_value_in_the_configuration() {
    let home = home();
    home.config(
        "secrets: [A_KEY]\nagents:\n  a: { command: sh, output: text, env: { A_KEY: abc, OTHER: sk-0123456789abcdef, \"no name\": x, NOT_ONE: null, LIST: [1] } }\n",
    );
    let ran = home.uwf(&["config", "validate", "--format", "text"]);
    assert_eq!(ran.code, Some(78));
    assert!(!ran.stdout.replace("env: {", "").contains("`sk-"), "{}", ran.stdout);
    let codes: Vec<&str> = ran.stdout.lines().filter_map(|line| line.split_once(": ")?.1.split(':').next()).collect();
    assert_eq!(
        codes.into_iter().filter(|code| code.ends_with(']')).collect::<Vec<_>>(),
        [
            "error[secret-in-config]",
            "error[secret-in-config]",
            "error[not-a-variable]",
            "warning[unknown-secret]",
            "error[wrong-type]"
        ],
        "{}",
        ran.stdout
    );
}

#[test]
fn a_key_that_was_withheld_from_an_agent_that_failed_is_named() {
    let home = home();
    home.script("w", "#!/bin/sh\ncat > /dev/null\necho 'not logged in' >&2\nexit 1\n");
    home.script("silent", "#!/bin/sh\ncat > /dev/null\necho 'not logged in'\n");
    let agents = "agents:\n  w: { command: w, output: json }\n  given: { command: w, output: json, env: [A_KEY] }\n  silent: { command: silent, output: json }\nextract: { feedback: 0 }\n";
    home.config(&format!("secrets: [A_KEY, UNSET_KEY]\n{agents}"));
    home.put("count-rounds", &counting_workflow(9));
    let told = |agent: &str| {
        let told = home.steady(&step(&home, agent).told());
        told.lines().filter(|line| !line.contains("thread step")).collect::<Vec<_>>().join("\n")
    };
    let without = told("w");
    assert_eq!(without, "exit 40\n--- stderr\nerror: agent `w` exited with 1; its last words: not logged in");
    fs::write(home.root().join(".env"), "A_KEY=a-secret-0123456789\n").unwrap();
    insta::assert_snapshot!(told("w"), @"
    exit 40
    --- stderr
    error: agent `w` exited with 1; its last words: not logged in; it was not given A_KEY
    hint: if it needs A_KEY: `uwf config set agents.w.env '[A_KEY]'`
    ");
    insta::assert_snapshot!(told("silent"), @"
    exit 41
    --- stderr
    error: the answer has no valid output for role `worker`: the output is not JSON
    hint: if it needs A_KEY: `uwf config set agents.silent.env '[A_KEY]'`
    ");
    insta::assert_snapshot!(told("w --from-the-command-line"), @"
    exit 40
    --- stderr
    error: agent `w --from-the-command-line` exited with 1; its last words: not logged in; it was not given A_KEY
    hint: if it needs A_KEY: declare it in config.yaml, with `env: [A_KEY]`
    ");
    assert_eq!(told("given"), "exit 40\n--- stderr\nerror: agent `given` exited with 1; its last words: not logged in");
    let thread = home.start("count-rounds", "count");
    home.uwf(&["thread", "step", &thread, "--agent", "w"]);
    let why = text(&home.json(&["thread", "show", &thread]), "why");
    assert!(why.ends_with("; it was not given A_KEY"), "{why}");
}

/// An agent that says what it is, as JSON, and has a note made of each time it is started.
const DESCRIBED: &str = "#!/bin/sh
echo \"$@ key=$A_KEY\" >> \"$HOME/started.txt\"
for arg; do
  [ \"$arg\" = --uwf-describe ] && { printf '%s' '{\"name\": \"thing\", \"version\": \"2.1\", \"capabilities\": [\"fly\"], \"configSchema\": {\"type\": \"object\", \"properties\": {\"height\": {\"type\": \"integer\"}}, \"additionalProperties\": false}}'; exit; }
done
exit 1
";

fn with_described() -> TestHome {
    let home = home();
    home.script("uwf-thing", DESCRIBED);
    home.script("thing", DESCRIBED);
    home.script("uwf-silent", "#!/bin/sh\nexit 1\n");
    home.config(
        "secrets: [A_KEY]
agents:
  own: { command: uwf-thing, args: [--fast], config: { height: high } }
  asked: { command: thing, output: text, describe: true, config: { heigth: 3 } }
  never: { command: uwf-thing, describe: false, config: { anything: 1 } }
  plain: { command: thing, output: text, config: { anything: 1 } }
  given: { command: thing, output: text, describe: { name: other, version: 7.0.0, capabilities: [swim], configSchema: { properties: { depth: { type: integer } } } }, config: { depth: deep } }
  silent: { command: uwf-silent }
  mute: { command: uwf-silent, describe: true }
",
    );
    home
}

fn started(home: &TestHome) -> String {
    let file = home.root().parent().unwrap().join("started.txt");
    let text = fs::read_to_string(&file).unwrap_or_default();
    let _ = fs::remove_file(file);
    text
}

#[test]
fn an_agent_of_somebody_else_describes_itself() {
    let home = with_described();
    fs::write(home.root().join(".env"), "A_KEY=a-secret-0123456789\n").unwrap();
    let described = |name: &str| {
        let told = home.json(&["agent", "describe", name]);
        json!([told["version"], told["capabilities"], told["configSchema"]["properties"]])
    };
    let thing = json!(["2.1", ["fly"], {"height": {"type": "integer"}}]);
    assert_eq!(described("own"), thing);
    assert_eq!(started(&home), "--fast --uwf-describe key=\n", "with its own arguments, without secrets");
    assert_eq!(described("asked"), thing);
    assert_eq!(described("uwf-thing --slow"), thing, "a command line too");
    started(&home);
    assert_eq!(described("given"), json!(["7.0.0", ["swim"], {"depth": {"type": "integer"}}]));
    for unknown in ["never", "plain", "thing --x"] {
        home.json(&["agent", "describe", unknown]);
    }
    assert_eq!(started(&home), "", "none of these is asked");
    assert_eq!(home.json(&["agent", "describe", "silent"])["version"], json!(null));
    let mute = home.uwf(&["agent", "describe", "mute"]);
    assert!(mute.code == Some(0) && mute.stderr.contains("it does not answer --uwf-describe"), "{mute:?}");
}

#[test]
fn the_configuration_of_such_an_agent_is_checked() {
    let home = with_described();
    let ran = home.uwf(&["config", "validate", "--format", "text"]);
    assert_eq!(ran.code, Some(78));
    let told: Vec<&str> = ran.stdout.lines().filter(|line| line.contains("config.yaml:")).collect();
    insta::assert_snapshot!(home.steady(&told.join("\n")), @r#"
    <dir>/root/config.yaml:3:56: error[bad-setting]: `config.height`: expected an integer, found the string "high"
    <dir>/root/config.yaml:4:58: error[bad-setting]: `config`: unknown key `heigth`; did you mean `height`?
    <dir>/root/config.yaml:7:177: error[bad-setting]: `config.depth`: expected an integer, found the string "deep"
    <dir>/root/config.yaml:9:32: warning[no-description]: it does not answer --uwf-describe
    <dir>/root/config.yaml: not valid, 3 errors, 1 warning
    "#);
}

#[test]
fn the_doctor_shows_what_they_say() {
    let home = with_described();
    let ran = home.uwf(&["doctor", "--offline", "--format", "text"]);
    let told: Vec<&str> = ran.stdout.lines().filter(|line| line.contains("agent:")).collect();
    insta::assert_snapshot!(home.steady(&told.join("\n")), @"
    ✓ agent:asked: <dir>/bin/thing: thing 2.1
    ✓ agent:given: <dir>/bin/thing: other 7.0.0
    ✓ agent:mute: <dir>/bin/uwf-silent: it does not answer --uwf-describe
    ✓ agent:never: <dir>/bin/uwf-thing: it is not asked for its version
    ✓ agent:own: <dir>/bin/uwf-thing: thing 2.1
    ✓ agent:plain: <dir>/bin/thing: it is not asked for its version
    ✓ agent:silent: <dir>/bin/uwf-silent: it is not asked for its version
    ");
}

#[test]
fn agents_are_listed_without_starting_any() {
    let home = with_described();
    let config = fs::read_to_string(home.root().join("config.yaml")).unwrap();
    home.config(&format!(
        "{config}  m: {{ command: uwf-mock }}\n  gone: {{ command: gone, output: text }}\ndefaultAgent: m\n"
    ));
    insta::assert_snapshot!(home.told(&["agent", "list", "--format", "text"]), @"
    exit 0
    agent        command           prints  program
    asked        thing             text    <dir>/bin/thing
    given        thing             text    <dir>/bin/thing
    gone         gone              text    there is no program `gone` on PATH
    m (default)  uwf-mock          step    built in
    mute         uwf-silent        step    <dir>/bin/uwf-silent
    never        uwf-thing         step    <dir>/bin/uwf-thing
    own          uwf-thing --fast  step    <dir>/bin/uwf-thing
    plain        thing             text    <dir>/bin/thing
    silent       uwf-silent        step    <dir>/bin/uwf-silent

    built in: uwf-acp, uwf-command, uwf-cursor, uwf-docx-diff, uwf-hermes, uwf-human, uwf-llm, uwf-mock, uwf-office, uwf-react, uwf-workflow
    ");
    let listed = home.json(&["agent", "list"]);
    assert_eq!(listed["agents"][2]["problem"], json!("there is no program `gone` on PATH"), "{listed}");
    assert_eq!(started(&home), "");
}
