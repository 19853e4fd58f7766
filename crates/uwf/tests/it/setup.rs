//! `uwf setup`: by arguments, and by questions at a real terminal.

mod terminal;

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::json;
use uwf_testing::llm_server::{LlmScript, LlmServer, ScriptedAnswer};
use uwf_testing::{FinishedRun, TestHome, counting_workflow, text};

use crate::home;

/// A key as they look.
const KEY: &str = "sk-test-0123456789abcdef";

fn file(home: &TestHome, name: &str) -> Option<String> {
    fs::read_to_string(home.root().join(name)).ok()
}

/// A server whose model says `ready`, as often as it is asked.
fn ready() -> LlmServer {
    LlmServer::start(LlmScript::deciding(|_| ScriptedAnswer::text("ready")).with_models([
        "big-model",
        "small-model",
        "small-model-2",
    ]))
}

/// A server that knows no key.
fn refusing() -> LlmServer {
    LlmServer::start(LlmScript::deciding(|_| ScriptedAnswer::status(401, &format!("the key {KEY} is not known"))))
}

/// `uwf setup` with arguments and a text on stdin.
fn setup(home: &TestHome, args: &[&str], stdin: &str) -> FinishedRun {
    let mut command = home.command(&[&["setup"], args].concat());
    // What is installed on this machine is not to be found.
    command.env("PATH", home.bin_dir());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may not read what it does not need.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let ran: FinishedRun = child.wait_with_output().unwrap().into();
    assert!(!ran.stdout.contains(KEY) && !ran.stderr.contains(KEY), "{ran:?}");
    assert!(!file(home, "config.yaml").unwrap_or_default().contains(KEY));
    ran
}

/// What was told, without what differs from run to run.
fn told(home: &TestHome, server: Option<&LlmServer>, ran: &FinishedRun) -> String {
    let text = server.map_or_else(|| ran.transcript(), |server| ran.transcript().replace(&server.origin(), "SERVER"));
    let text = home.steady(&text);
    let cut = |text: String, from: &str| match text.split_once(from) {
        Some((before, after)) => {
            let end = after.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(after.len());
            format!("{before}{from}N{}", &after[end..])
        }
        None => text,
    };
    cut(cut(text, "\"latencyMs\":"), "` in ")
}

#[test]
fn arguments_set_everything_up_and_prove_it() {
    let home = home();
    let server = ready();
    home.config("# mine\nproviders:\n  other: { baseUrl: 'http://127.0.0.1:9' }  # not used\n\nmaxSteps: 7\n");
    fs::write(home.root().join(".env"), "# secrets\nOTHER=1\n").unwrap();
    let url = server.url();
    let args =
        ["--provider", "here", "--base-url", &url, "--model", "small-model", "--api-key", "-", "--agent", "mock"];
    let ran = setup(&home, &args, &format!("{KEY}\n"));
    assert_snapshot!(told(&home, Some(&server), &ran), @r#"
    exit 0
    {"configPath":"<dir>/root/config.yaml","envPath":"<dir>/root/.env","provider":"here","model":"small-model","modelAlias":"small-model","baseUrl":"SERVER/v1","apiKeyEnv":"HERE_API_KEY","defaultAgent":"mock","changed":true,"proof":{"answer":"ready","inputTokens":11,"outputTokens":7,"latencyMs":N}}
    --- stderr
    asking small-model of here for one word…
    "#);
    assert_snapshot!(file(&home, "config.yaml").unwrap().replace(&server.origin(), "SERVER"), @r"
    # mine
    providers:
      other: { baseUrl: 'http://127.0.0.1:9' }  # not used
      here:
        baseUrl: SERVER/v1
        apiKeyEnv: HERE_API_KEY

    maxSteps: 7
    models:
      small-model:
        provider: here
        name: small-model
    defaultModel: small-model
    agents:
      mock:
        command: uwf-mock
    defaultAgent: mock
    ");
    assert_eq!(file(&home, ".env").unwrap(), format!("# secrets\nOTHER=1\nHERE_API_KEY={KEY}\n"));
    assert_eq!(fs::metadata(home.root().join(".env")).unwrap().permissions().mode() & 0o777, 0o600);
    let asked = server.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(json!([asked[0].body["model"], asked[0].body["max_tokens"]]), json!(["small-model", 512]));

    let before = (file(&home, "config.yaml"), file(&home, ".env"));
    let again = setup(&home, &[&args[..], &["--format", "text"]].concat(), &format!("{KEY}\n"));
    assert_snapshot!(told(&home, Some(&server), &again), @r"
    exit 0
    model small-model: small-model of here
    ✓ it answered `ready` in N s, 18 tokens
    default agent: mock
    nothing new for <dir>/root/config.yaml
    --- stderr
    asking small-model of here for one word…
    ");
    assert_eq!((file(&home, "config.yaml"), file(&home, ".env")), before, "the second time changes nothing");
    assert_eq!(home.uwf(&["config", "validate", "--strict"]).code, Some(0));
}

#[test]
fn a_key_can_be_where_it_is_already() {
    let home = home();
    let server = ready();
    fs::write(home.root().join(".env"), format!("MY_KEY={KEY}\n")).unwrap();
    let url = server.origin();
    let args = [
        "--provider",
        "proxy",
        "--base-url",
        &url,
        "--kind",
        "anthropic",
        "--model",
        "m",
        "--api-key-env",
        "MY_KEY",
        "--agent",
        "mock",
    ];
    assert_eq!(setup(&home, &args, "").code, Some(0));
    assert_snapshot!(file(&home, "config.yaml").unwrap().replace(&server.origin(), "SERVER"), @r"
    providers:
      proxy:
        baseUrl: SERVER
        apiKeyEnv: MY_KEY
        kind: anthropic
    models:
      m:
        provider: proxy
        name: m
    defaultModel: m
    agents:
      mock:
        command: uwf-mock
    defaultAgent: mock
    ");
    let asked = server.asked();
    assert_eq!((asked[0].path.as_str(), asked[0].header("x-api-key")), ("/v1/messages", Some(KEY)));
    let other = setup(&home, &["--provider", "proxy", "--model", "org/m"], "");
    assert_eq!(other.code, Some(0), "what is known of a provider need not be said again: {other:?}");
    assert_eq!(home.json(&["config", "get", "defaultModel", "--format", "json"]), json!("proxy-m"));
    assert_eq!(server.asked()[1].path, "/v1/messages");
}

#[test]
fn a_failing_proof_writes_nothing() {
    let home = home();
    let server = refusing();
    let url = server.url();
    let args = ["--provider", "here", "--base-url", &url, "--model", "m", "--api-key", KEY];
    assert_snapshot!(told(&home, Some(&server), &setup(&home, &args, "")), @r"
    exit 78
    --- stderr
    asking m of here for one word…
    error: the model does not answer: SERVER/v1/chat/completions refuses access (401): the key *** is not known
    hint: check the key in the variable that `apiKeyEnv` of the provider names
    hint: nothing was written; `--no-check` writes it without asking the model
    ");
    assert_eq!((file(&home, "config.yaml"), file(&home, ".env")), (None, None));
    let unchecked = setup(&home, &[&args[..], &["--no-check"]].concat(), "");
    assert_eq!((unchecked.code, server.asked().len()), (Some(0), 1));
    assert_eq!(file(&home, ".env").unwrap(), format!("HERE_API_KEY={KEY}\n"));
    assert_eq!(home.json(&["config", "get", "providers.here.apiKeyEnv", "--format", "json"]), json!("HERE_API_KEY"));
}

#[test]
fn unwritable_settings_are_detected_before_writing() {
    let home = home();
    let url = "http://127.0.0.1:9/v1";
    let args = ["--provider", "here", "--base-url", url, "--model", "m", "--api-key", KEY, "--no-check"];
    home.config("maxSteps: many\n");
    assert_eq!(setup(&home, &args, "").code, Some(78));
    home.config("providers: 5 is none\n");
    assert_eq!(setup(&home, &args, "").code, Some(78));
    home.config("");
    assert_eq!(setup(&home, &[&args[..], &["--api-key-env", "no variable"]].concat(), "").code, Some(78));
    fs::remove_file(home.root().join("config.yaml")).unwrap();
    symlink(home.file("elsewhere.yaml", ""), home.root().join("config.yaml")).unwrap();
    assert_eq!(setup(&home, &args, "").code, Some(78));
    assert_eq!(file(&home, ".env"), None);
    fs::remove_file(home.root().join("config.yaml")).unwrap();
    fs::write(home.root().join(".env"), "not a variable\n").unwrap();
    assert_eq!(setup(&home, &args, "").code, Some(78));
    assert_eq!((file(&home, "config.yaml"), file(&home, ".env").as_deref()), (None, Some("not a variable\n")));
}

#[test]
fn missing_arguments_are_named() {
    let home = home();
    let usage = |args: &[&str]| {
        let ran = setup(&home, args, "");
        assert_eq!(ran.code, Some(64));
        home.steady(&ran.stderr)
    };
    assert_snapshot!(usage(&[]), @r"
    error: uwf needs a terminal to ask questions
    hint: uwf setup --provider NAME --model NAME [--base-url URL] [--api-key - | --api-key-env VARIABLE] [--agent AGENT] [--may-run-commands yes|no] [--no-check]
    hint: `uwf setup --help` has examples
    ");
    assert_snapshot!(usage(&["--model", "m"]), @r"
    error: --provider is missing
    hint: providers: openai, anthropic, openrouter, deepseek, gemini, mistral, xai, groq, ollama, lmstudio; or any name with --base-url
    ");
    assert_snapshot!(usage(&["--provider", "openai"]), @r"
    error: --model is missing
    hint: give the provider's own name for the model; `uwf setup` at a terminal lists them
    ");
    assert_snapshot!(usage(&["--provider", "nobody", "--model", "m"]), @r"
    error: `nobody` is not a provider uwf knows, so --base-url is needed
    hint: providers: openai, anthropic, openrouter, deepseek, gemini, mistral, xai, groq, ollama, lmstudio; or any name with --base-url
    ");
    assert_snapshot!(usage(&["--provider", "openai", "--model", "m"]), @r"
    error: `openai` needs a key, and OPENAI_API_KEY is set neither in the environment nor in .env
    hint: give it on stdin: `--api-key - < FILE`, or name the variable it is in: `--api-key-env VARIABLE`
    ");
    assert_snapshot!(usage(&["--provider", "openai", "--model", "m", "--api-key", "-"]), @r"error: the key is empty");
    assert_snapshot!(usage(&["--provider", "openai", "--model", "m", "--api-key", "two words"]), @r"
    error: the key is more than one word
    hint: check the file or the clipboard
    ");
    assert!(
        usage(&["--agent", "no-such-agent"])
            .starts_with("error: `no-such-agent` is neither an agent nor a program on PATH\nhint: ")
    );
    assert_eq!((file(&home, "config.yaml"), file(&home, ".env")), (None, None));
}

#[test]
fn model_of_gemini_is_an_argument() {
    let home = home();
    home.script("gemini", "#!/bin/sh\n");
    home.script("opencode", "#!/bin/sh\n");
    let ran = setup(&home, &["--agent", "gemini", "--model", "gemini-2.5-pro"], "");
    assert_eq!(ran.code, Some(0), "{}", ran.transcript());
    let args = home.json(&["config", "get", "agents.gemini.args", "--format", "json"]);
    assert_eq!(args, json!(["--model", "gemini-2.5-pro"]));
    let refused = setup(&home, &["--agent", "opencode", "--model", "m"], "");
    assert_eq!(refused.code, Some(64), "{}", refused.transcript());
    assert!(refused.stderr.contains("uwf can't set the model of `opencode`"), "{}", refused.stderr);
}

#[test]
fn agent_comes_from_path_or_command_line() {
    let home = home();
    home.script("codex", "#!/bin/sh\n");
    home.script("my-agent", "#!/bin/sh\n");
    let ran = setup(&home, &["--agent", "codex"], "");
    assert_snapshot!(told(&home, None, &ran), @r#"
    exit 0
    {"configPath":"<dir>/root/config.yaml","envPath":"<dir>/root/.env","defaultAgent":"codex","changed":true,"proof":null}
    --- stderr
    warning: codex does not say which model it uses, so its cost is unknown: `uwf config set agents.codex.model NAME` names one
    "#);
    assert_snapshot!(file(&home, "config.yaml").unwrap(), @r#"
    agents:
      codex:
        command: codex
        args: [exec, --json, --skip-git-repo-check, --sandbox, workspace-write, "-"]
        output: text
        config: { trace: codex }
    defaultAgent: codex
    "#);
    home.json(&["config", "set", "agents.codex.timeout", "2h"]);
    let before = file(&home, "config.yaml");
    assert_eq!(setup(&home, &["--agent", "codex"], "").code, Some(0));
    assert_eq!(file(&home, "config.yaml"), before, "an agent that is there stays as it is");
    assert_eq!(setup(&home, &["--agent", "my-agent --x 'a b'"], "").code, Some(0));
    assert_eq!(
        home.json(&["config", "get", "agents.my-agent"]),
        json!({"command": "my-agent", "args": ["--x", "a b"], "output": "text"})
    );
    assert_eq!(home.json(&["config", "get", "defaultAgent", "--format", "json"]), json!("my-agent"));
    assert_eq!(setup(&home, &["--agent", "my-agent --y"], "").code, Some(64), "another of that name is not replaced");
}

#[test]
fn model_of_codex_is_written_with_it() {
    let home = home();
    // Its arguments, and tokens without money.
    home.script(
        "codex",
        r#"#!/bin/sh
cat > /dev/null
echo "$@" > codex-args
echo '{"type":"thread.started","thread_id":"s1"}'
echo '{"type":"turn.started"}'
printf '%s\n' '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"---\nn: 1\n---\n"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":1000000,"cached_input_tokens":0,"output_tokens":100000}}'
"#,
    );
    let ran = setup(&home, &["--agent", "codex"], "");
    let unknown = "warning: codex does not say which model it uses, so its cost is unknown: `uwf config set agents.codex.model NAME` names one\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), unknown));
    let forget = || {
        home.json(&["config", "unset", "defaultAgent"]);
        home.json(&["config", "unset", "agents.codex"]);
    };
    forget();
    fs::create_dir_all(home.work().join("../.codex")).unwrap();
    fs::write(home.work().join("../.codex/config.toml"), "model = \"gpt-5\"\n[profiles.x]\nmodel = \"o3\"\n").unwrap();
    let ran = setup(&home, &["--agent", "codex"], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(home.json(&["config", "get", "agents.codex.model", "--format", "json"]), json!("gpt-5"));
    forget();
    assert_eq!(setup(&home, &["--agent", "codex", "--model", "gpt-4.1"], "").code, Some(0));
    home.put("count-rounds", &counting_workflow(2));
    let start = ["thread", "start", "count-rounds", "-p", "x", "--max-cost", "2.5", "--strict-limits"];
    let thread = text(&home.json(&start), "thread");
    home.json(&["thread", "step", &thread]);
    let args = fs::read_to_string(home.work().join("codex-args")).unwrap();
    assert!(args.starts_with("exec --model gpt-4.1 --json"), "{args}");
    // 2 dollars for the tokens read, 0.80 for those written: the list price counts for the limit.
    let cost = home.json(&["thread", "cost", &thread]);
    assert_eq!(cost["total"]["cost"], json!([{ "currency": "USD", "amount": 2.8, "from": "list" }]));
    assert_eq!(home.uwf(&["thread", "step", &thread]).code, Some(30));
}

#[test]
fn first_agent_found_becomes_default() {
    let home = home();
    home.script("codex", "#!/bin/sh\n");
    let model = ["--provider", "ollama", "--model", "m", "--no-check"];
    assert_eq!(setup(&home, &model, "").code, Some(0));
    assert_eq!(home.json(&["config", "get", "defaultAgent", "--format", "json"]), json!("codex"));
    home.json(&["config", "set", "agents.own", "{command: sh}"]);
    home.json(&["config", "set", "defaultAgent", "own"]);
    assert_eq!(setup(&home, &model, "").code, Some(0));
    assert_eq!(
        home.json(&["config", "get", "defaultAgent", "--format", "json"]),
        json!("own"),
        "a default that is there stays"
    );
}

/// Each program of these gets what it needs, wherever its options are; other options stay.
#[test]
fn command_permission_is_written_for_each_program() {
    let home = home();
    home.config(
        "agents:\n  a: { command: claude, args: [-p, --dangerously-skip-permissions, --verbose], output: text }\n  \
         c: { command: codex, args: [exec, --full-auto, \"-\"], output: text }\n  \
         g: { command: gemini, args: [--yolo], output: text }\n  \
         h: { command: uwf-hermes }\n  \
         o: { command: opencode, args: [run, \"{prompt}\"], output: text, env: [KEY] }\n  \
         p: { command: uwf-acp, config: { preset: opencode, mcp: false } }\n  \
         r: { command: uwf-react }\ndefaultAgent: a\n",
    );
    let get = |key: &str| home.json(&["config", "get", &format!("agents.{key}"), "--format", "json"]);
    let ran = setup(&home, &["--may-run-commands", "no"], "");
    assert_eq!((ran.code, &ran.json()["mayRunCommands"]), (Some(0), &json!(false)), "{ran:?}");
    let still = "agent `h` still runs commands: `uwf-hermes` gives its program that right; a sandbox limits";
    assert!(ran.stderr.contains(still) && ran.json()["undecided"] == json!(["h"]), "{}", ran.transcript());
    assert_eq!(
        get("a.args"),
        json!(["-p", "--disallowedTools", "Bash", "--permission-mode", "acceptEdits", "--verbose"])
    );
    assert_eq!(
        get("c.args"),
        json!(["exec", "--sandbox", "workspace-write", "--config=features.shell_tool=false", "-"])
    );
    assert_eq!(get("g.args"), json!(["--approval-mode", "auto_edit"]));
    assert_eq!(get("o.env"), json!({ "KEY": null, "OPENCODE_PERMISSION": "{\"bash\":\"deny\"}" }));
    assert_eq!(get("p.config"), json!({ "preset": "opencode", "mcp": false, "permissions": "edits" }));
    assert_eq!(get("p.env"), json!({ "OPENCODE_PERMISSION": "{\"bash\":\"deny\"}" }));
    assert_eq!(get("r.config"), json!({ "commands": false }));
    let ran = setup(&home, &["--may-run-commands", "yes", "--format", "text"], "");
    assert!(ran.code == Some(0) && ran.stdout.contains("agents may run commands\n"), "{}", ran.transcript());
    assert!(!ran.stderr.contains("agent `h`"), "{}", ran.stderr);
    assert_eq!(get("a.args"), json!(["-p", "--allowedTools", "Bash", "--permission-mode", "acceptEdits", "--verbose"]));
    assert_eq!(get("c.args"), json!(["exec", "--sandbox", "workspace-write", "-"]));
    assert_eq!(get("p.config.permissions"), json!("allow"));
    assert_eq!(home.uwf(&["config", "validate", "--format", "json"]).stderr.matches("unknown key").count(), 0);
}
