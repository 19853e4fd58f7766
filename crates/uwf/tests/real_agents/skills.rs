//! `uwf skill install` in the hands of real agents: each finds the skill in the project, and its model is told of it.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;
use uwf_testing::llm_server::{LlmScript, LlmServer, ScriptedAnswer};
use uwf_testing::{FinishedRun, TestHome};

use super::{home, installed};

/// What the skill is for, as models are told.
const TOLD: &str = "Run, watch and repair workflows of AI agents with the command uwf";

fn with_skill(tool: &str) -> (LlmServer, TestHome) {
    let home = home(&[]);
    let model = LlmServer::start(LlmScript::deciding(|_| ScriptedAnswer::text("I see.")));
    home.json(&["skill", "install", "--for", tool]);
    (model, home)
}

fn ran(home: &TestHome, program: &str, args: &[&str], env: &[(&str, String)]) -> FinishedRun {
    let mut command = Command::new(installed(program));
    home.prepare(&mut command);
    command.args(args).envs(env.iter().map(|(name, value)| (*name, value.as_str()))).stdin(Stdio::null());
    command.output().unwrap().into()
}

fn is_told(model: &LlmServer) -> bool {
    model.asked().iter().any(|request| request.body.to_string().contains(TOLD))
}

#[test]
fn claude_finds_the_skill() {
    let (model, home) = with_skill("claude");
    let env = [
        ("CLAUDE_CONFIG_DIR", home.root().join("claude").display().to_string()),
        ("ANTHROPIC_BASE_URL", model.origin()),
        ("ANTHROPIC_API_KEY", "sk-scripted-0123".to_owned()),
        ("IS_SANDBOX", "1".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
    ];
    let args = ["-p", "hello", "--model", "scripted-model", "--output-format", "stream-json", "--verbose"];
    let ran = ran(&home, "npm/node_modules/.bin/claude", &args, &env);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let events: Vec<Value> = ran.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let begin = events.iter().find(|event| event["subtype"] == "init").unwrap_or_else(|| panic!("{ran:?}"));
    let skills = begin["skills"].as_array().unwrap_or_else(|| panic!("{begin}"));
    assert!(skills.iter().any(|skill| skill == "uwf"), "{begin}");
    assert!(is_told(&model), "the model is not told of it");
}

#[test]
fn codex_finds_the_skill() {
    let (model, home) = with_skill("codex");
    let dir = home.root().join("codex");
    fs::create_dir(&dir).unwrap();
    let config = format!(
        "model = \"scripted-model\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{}\"\nenv_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\n",
        model.url()
    );
    fs::write(dir.join("config.toml"), config).unwrap();
    let env = [("CODEX_HOME", dir.display().to_string()), ("SCRIPTED_KEY", "sk-scripted-0123".to_owned())];
    let args = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "hello"];
    let ran = ran(&home, "npm/node_modules/.bin/codex", &args, &env);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(is_told(&model), "the model is not told of it: {:#?}", model.asked().len());
}
