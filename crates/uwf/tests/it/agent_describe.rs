//! `uwf agent describe`: what agents say about themselves, and where else it is shown.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::text;

use crate::fixtures::described::{DESCRIBED, started, with_described};
use crate::{home, transcript};

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
fn document_agents_describe_what_they_do() {
    let capabilities = |agent: &str| home().json(&["agent", "describe", agent])["capabilities"].take();
    assert_eq!(capabilities("office"), json!(["office-agent-cli", "docx-generate", "docx-edit"]));
    assert_eq!(capabilities("docx-diff"), json!(["docx-diff-cli", "docx-diff-report"]));
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
    ✓ agent:never: <dir>/bin/uwf-thing
    ✓ agent:own: <dir>/bin/uwf-thing: thing 2.1
    ✓ agent:plain: <dir>/bin/thing
    ✓ agent:silent: <dir>/bin/uwf-silent
    ");
}

#[test]
fn agents_describe_themselves() {
    let home = home();
    home.script("my-program", "#!/bin/sh\n");
    home.config("agents:\n  scripted: { command: uwf-mock, config: { script: answers.yaml } }\n  plain: { command: my-program, args: [--fast], output: text, timeout: 60, model: big }\n  other: { command: my-program }\n  gone: { command: not-installed }\nmodels: { big: { provider: p, name: x } }\nproviders: { p: { baseUrl: 'http://localhost:1' } }\n");
    assert_snapshot!(home.transcript(&["agent", "describe", "command"]), @r#"
    exit 0
    {"name":"command","version":"0.1.0","capabilities":["output-text","output-json","prompt-on-stdin","prompt-as-argument","exit-codes","expect-file","traces"],"configSchema":{"type":"object","properties":{"trace":{"description":"The program's stdout is a trace in this format, and its answer the final message in it.","enum":["jsonl","hermes","codex","claude","cursor","opencode","gemini"]},"mcp":{"type":"boolean","description":"The program has been given the server `uwf agent mcp` in its own configuration, so the prompt speaks of the tool `submit`; false by default."},"resume":{"type":"boolean","description":"A later visit of a role continues the program's session, whose id is in the `trace`; false by default."},"resumeArgs":{"type":"array","items":{"type":"string"},"description":"The arguments with which the program continues a session, `{session}` being its id, in place of `args`. Those of codex (`exec`) and claude are known."}},"additionalProperties":{"description":"Settings of the program itself, which can read them with `uwf agent context`."}}}
    "#);
    let mock = home.json(&["agent", "describe", "mock"]);
    assert_eq!([&mock["name"], &mock["version"]], [&json!("mock"), &json!(env!("CARGO_PKG_VERSION"))]);
    assert_snapshot!(home.transcript(&["agent", "describe", "scripted"]), @r#"
    exit 0
    {"name":"scripted","version":"0.1.0","capabilities":["scripted","offline"],"configSchema":{"type":"object","properties":{"script":{"type":"string","description":"YAML file with the answers per role and visit; relative to the storage root. UWF_MOCK_SCRIPT does the same."}},"additionalProperties":false},"runs":{"name":"scripted","command":"uwf-mock","args":[],"output":"step","model":null,"env":[],"timeoutMs":null,"idleTimeoutMs":1800000,"exitCodes":[],"expectFile":null,"config":{"script":"answers.yaml"},"builtIn":"mock","program":null}}
    "#);
    assert_snapshot!(home.transcript(&["agent", "describe", "scripted", "--format", "text"]), @r#"
    exit 0
    scripted 0.1.0
    capabilities: scripted, offline
    config:       script
    command:      uwf-mock
    program:      built in: mock
    output:       step
    idle timeout: 1800 s
    settings:     {"script":"answers.yaml"}
    "#);
    assert_snapshot!(home.transcript(&["agent", "describe", "plain", "--format", "text"]), @"
    exit 0
    plain
    capabilities: output-text, output-json, prompt-on-stdin, prompt-as-argument, exit-codes, expect-file, traces
    config:       trace, mcp, resume, resumeArgs
    command:      my-program --fast
    program:      <dir>/bin/my-program
    output:       text
    model:        big
    timeout:      60 s
    idle timeout: 1800 s
    ");
    assert_snapshot!(home.transcript(&["agent", "describe", "other"]), @r#"
    exit 0
    {"name":"other","version":null,"capabilities":[],"configSchema":null,"runs":{"name":"other","command":"my-program","args":[],"output":"step","model":null,"env":[],"timeoutMs":null,"idleTimeoutMs":1800000,"exitCodes":[],"expectFile":null,"config":{},"builtIn":null,"program":"<dir>/bin/my-program"}}
    "#);
    assert_snapshot!(home.transcript(&["agent", "describe", "gone", "--format", "text"]), @r"
    exit 0
    gone
    command:      not-installed
    program:      not found
    output:       step
    idle timeout: 1800 s
    ");
    assert_snapshot!(home.transcript(&["agent", "describe", "my-program --slow", "--format", "text"]), @"
    exit 0
    my-program --slow
    capabilities: output-text, output-json, prompt-on-stdin, prompt-as-argument, exit-codes, expect-file, traces
    config:       trace, mcp, resume, resumeArgs
    command:      my-program --slow
    program:      <dir>/bin/my-program
    output:       text
    idle timeout: 1800 s
    ");
    assert_snapshot!(home.transcript(&["agent", "describe", "scriptd"]), @r"
    exit 78
    --- stderr
    error: unknown agent `scriptd`
    hint: did you mean `scripted`?
    hint: built-in agents: acp, command, cursor, docx-diff, hermes, human, llm, mock, office, react, workflow
    ");
    assert_snapshot!(home.transcript(&["agent", "describe", "mok"]), @"
    exit 78
    --- stderr
    error: unknown agent `mok`
    hint: agents of config.yaml: gone, other, plain, scripted
    hint: a program is found on PATH, or by a path relative to the thread's workspace
    hint: built-in agents: acp, command, cursor, docx-diff, hermes, human, llm, mock, office, react, workflow
    ");
}

/// A planner that flies, and a diver.
const FLIGHTS: &str = "name: flights\nroles:\n  pilot: { goal: Fly, capabilities: [Fly, to-land], meta: { type: object } }\n  \
                       diver: { goal: Dive, capabilities: [dive], meta: { type: object } }\n\
                       graph: { $START: [ { role: pilot } ], pilot: [ { role: diver } ], diver: [ { role: $END } ] }\n";

#[test]
fn role_capabilities_are_checked_against_described_agents() {
    let home = with_described();
    home.config(&format!(
        "{}defaultAgent: asked\nagentOverrides: {{ flights: {{ diver: plain }} }}\n",
        std::fs::read_to_string(home.root().join("config.yaml")).unwrap()
    ));
    let file = home.file("flights.yaml", FLIGHTS);
    insta::assert_snapshot!(transcript(&home, &["workflow", "validate", "flights.yaml", "--format", "text"]), @"
    exit 0
    flights.yaml:3:43: warning[capability]: role `pilot` needs the capability `to-land`, which its agent `asked` does not list
      |
    3 |   pilot: { goal: Fly, capabilities: [Fly, to-land], meta: { type: object } }
      |                                           ^
      = hint: `asked` lists fly; choose another agent for the role: uwf config set agentOverrides.flights.pilot AGENT

    flights.yaml: valid, 1 warning
    ");
    assert_eq!(home.uwf(&["workflow", "validate", "--strict", "flights.yaml"]).code, Some(65));
    home.json(&["workflow", "put", file.to_str().unwrap()]);
    let stored = home.json(&["workflow", "validate", "flights"]);
    assert_eq!(stored[0]["problems"][0]["code"], "capability", "of a stored one too: {stored}");
    let findings = || {
        let ran = home.uwf(&["doctor", "--offline", "--format", "text"]);
        let told: Vec<&str> = ran.stdout.lines().skip_while(|line| !line.contains("capabilities:")).take(2).collect();
        told.join("\n")
    };
    insta::assert_snapshot!(findings(), @"
    ! capabilities:flights: role `pilot` needs the capability `to-land`, which its agent `asked` does not list
        hint: `asked` lists fly; choose another agent for the role: uwf config set agentOverrides.flights.pilot AGENT
    ");
    home.json(&["config", "set", "agents.asked.describe", "{capabilities: [fly, TO_LAND, dive]}"]);
    assert_eq!(home.json(&["workflow", "validate", "--strict", "flights.yaml"])[0]["problems"], serde_json::json!([]));
    assert_eq!(findings(), "", "it matches");
}

#[test]
fn agent_nodes_carry_the_described_version() {
    let home = with_described();
    let version = |agent: &str| {
        let thread = home.start("count-rounds", "x");
        assert_eq!(home.uwf(&["thread", "step", &thread, "--agent", agent]).code, Some(40), "{agent}");
        let attempt = text(&home.json(&["thread", "show", &thread]), "attempt");
        home.json(&["thread", "step-details", &attempt, "--format", "json"])["agent"]["version"].take()
    };
    home.put("count-rounds", &uwf_testing::counting_workflow(1));
    assert_eq!(version("own"), "2.1");
    assert_eq!(version("own"), "2.1");
    let asked = |started: &str| started.lines().filter(|line| line.contains("--uwf-describe")).count();
    assert_eq!(asked(&started(&home)), 1, "a program is asked once");
    home.script("uwf-thing", &DESCRIBED.replace("2.1", "2.2.0"));
    assert_eq!(version("own"), "2.2.0");
    assert_eq!(version("given"), "7.0.0");
    for none in ["never", "plain", "silent", "mute"] {
        assert_eq!(version(none), json!(null), "{none}");
    }
    let (home, thread) = crate::fixtures::mocked::mocked(1, "worker:\n  - reply: { n: 1 }\n");
    home.json(&["thread", "step", &thread]);
    assert_eq!(home.last_detail(&thread)["agent"]["version"], env!("CARGO_PKG_VERSION"));
}
