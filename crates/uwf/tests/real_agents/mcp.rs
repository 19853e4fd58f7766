//! `uwf mcp` in the hands of real agents: each asks where a thread stands.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::json;
use uwf_testing::llm_server::{LlmScript, LlmServer, ScriptedAnswer};
use uwf_testing::{FinishedRun, TestHome};

use super::{home, installed, offered, start};

const ASKED: &str = "Where does the newest thread stand?";

/// A model that uses the tool `show`, whatever the agent calls it, and then says so.
fn looking() -> LlmScript {
    let mut has_looked = false;
    LlmScript::deciding(move |request| {
        let tool = offered(request).into_iter().find(|name| name.ends_with("show"));
        match tool.filter(|_| !has_looked) {
            Some(show) => {
                has_looked = true;
                ScriptedAnswer::call(&show, json!({ "thread": "@" }))
            }
            None => ScriptedAnswer::text("It is active."),
        }
    })
}

/// What the server says is what the model is told next.
fn check(model: &LlmServer, thread: &str, ran: &FinishedRun) {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("It is active."), "{ran:?}");
    let told =
        model.asked().into_iter().any(|request| request.text.contains(thread) && request.text.contains("active"));
    assert!(told, "{:#?}", model.asked().iter().map(|request| request.text.clone()).collect::<Vec<_>>());
}

fn ran(home: &TestHome, program: &str, args: &[&str], env: &[(&str, String)]) -> FinishedRun {
    let mut command = Command::new(installed(program));
    home.prepare(&mut command);
    command.args(args).envs(env.iter().map(|(name, value)| (*name, value.as_str()))).stdin(Stdio::null());
    command.output().unwrap().into()
}

fn server(home: &TestHome) -> (String, String) {
    (uwf_testing::uwf_program().to_owned(), home.root().to_str().unwrap().to_owned())
}

#[test]
fn claude_looks_at_a_thread() {
    let model = LlmServer::start(looking());
    let home = home(&[]);
    let thread = start(&home, "count-rounds", "count");
    let (bin, root) = server(&home);
    let config = json!({ "mcpServers": { "uwf": { "command": bin, "args": ["mcp", "--root", root] } } });
    home.file("servers.json", &config.to_string());
    let env = [
        ("CLAUDE_CONFIG_DIR", home.root().join("claude").display().to_string()),
        ("ANTHROPIC_BASE_URL", model.origin()),
        ("ANTHROPIC_API_KEY", "sk-scripted-0123".to_owned()),
        ("IS_SANDBOX", "1".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
        // Otherwise the first request may not have the tools yet.
        ("MCP_CONNECTION_NONBLOCKING", "0".to_owned()),
    ];
    // The list of configurations takes every word up to the next option.
    let args = [
        "--mcp-config",
        "servers.json",
        "--strict-mcp-config",
        "--model",
        "scripted-model",
        "--dangerously-skip-permissions",
        "-p",
        ASKED,
    ];
    check(&model, &thread, &ran(&home, "npm/node_modules/.bin/claude", &args, &env));
}

#[test]
fn codex_looks_at_a_thread() {
    let model = LlmServer::start(looking());
    let home = home(&[]);
    let thread = start(&home, "count-rounds", "count");
    let (bin, root) = server(&home);
    let dir = home.root().join("codex");
    fs::create_dir(&dir).unwrap();
    let config = format!(
        "model = \"scripted-model\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{}\"\nenv_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\n[mcp_servers.uwf]\ncommand = \"{bin}\"\nargs = [\"mcp\", \"--root\", \"{root}\"]\n",
        model.url()
    );
    fs::write(dir.join("config.toml"), config).unwrap();
    let env = [("CODEX_HOME", dir.display().to_string()), ("SCRIPTED_KEY", "sk-scripted-0123".to_owned())];
    let args = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", ASKED];
    check(&model, &thread, &ran(&home, "npm/node_modules/.bin/codex", &args, &env));
}

#[test]
fn hermes_looks_at_a_thread() {
    let model = LlmServer::start(looking());
    let home = home(&[]);
    let thread = start(&home, "count-rounds", "count");
    let (bin, root) = server(&home);
    let dir = home.root().join("hermes");
    fs::create_dir(&dir).unwrap();
    let config = format!(
        "model: {{default: scripted-model, provider: custom, base_url: \"{}\", api_key: sk-scripted}}\n\
         security: {{allow_lazy_installs: false, tirith_enabled: false}}\n\
         mcp_servers: {{uwf: {{command: \"{bin}\", args: [mcp, --root, \"{root}\"]}}}}\n",
        model.url()
    );
    fs::write(dir.join("config.yaml"), config).unwrap();
    let env = [("HERMES_HOME", dir.display().to_string())];
    check(&model, &thread, &ran(&home, "venv/bin/hermes", &["chat", "-q", ASKED, "--yolo", "--quiet"], &env));
}
