//! Programs of agents: where they are, and their versions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use uwf_core::config::{AgentConfig, AgentDescription, UwfConfig};
use uwf_engine::attempt::agents::ask_program::ask;
use uwf_engine::attempt::program::{self, look_up};
use uwf_engine::attempt::{agents, self_description};
use uwf_engine::verbs::doctor::DoctorFinding;

/// Characters shown of a version.
const SHOWN: usize = 60;

/// Programs known to only print their version for `--version`.
const KNOWN_PROGRAMS: [&str; 8] = ["hermes", "cursor-agent", "codex", "claude", "gemini", "opencode", "goose", "aider"];

/// Program → its version text.
type Versions = BTreeMap<PathBuf, Option<String>>;

/// One finding for each agent. Programs run at the same time, each once.
pub(super) fn findings(config: &UwfConfig, secrets: &BTreeSet<String>) -> Vec<DoctorFinding> {
    let commands =
        config.agents.values().map(|agent| &agent.command).filter(|command| agents::built_in(command).is_none());
    let programs = commands.filter_map(|command| program::find(command));
    let programs: BTreeSet<PathBuf> = programs.filter(|program| may_be_asked(program)).collect();
    let versions: Versions = std::thread::scope(|scope| {
        let asked: Vec<_> =
            programs.into_iter().map(|program| scope.spawn(|| (version(&program, secrets), program))).collect();
        asked.into_iter().filter_map(|thread| thread.join().ok()).map(|(version, program)| (program, version)).collect()
    });
    let descriptions = self_description::of_all(config, secrets);
    let used = super::used_agents(config);
    let finding = |(alias, agent): (&String, &AgentConfig)| {
        let described = descriptions.get(alias).map(|described| said(described.as_ref()));
        finding(alias, agent, used.contains(alias.as_str()), &versions, described)
    };
    config.agents.iter().map(finding).collect()
}

/// Whether to ask a program for its version. A user's own script may ignore `--version` and begin to work.
fn may_be_asked(program: &Path) -> bool {
    let name = program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    KNOWN_PROGRAMS.contains(&name)
}

/// A short form of an agent's description.
fn said(described: Result<&AgentDescription, &String>) -> String {
    match described {
        Ok(AgentDescription { name, version, .. }) => {
            let words: Vec<&str> = [name, version].into_iter().flatten().map(String::as_str).collect();
            let words_of_it =
                if words.is_empty() { "describes itself, without a name".to_owned() } else { words.join(" ") };
            words_of_it.chars().filter(|symbol| !symbol.is_control()).take(SHOWN).collect()
        }
        Err(why) => why.clone(),
    }
}

fn finding(
    alias: &str,
    agent: &AgentConfig,
    is_used: bool,
    versions: &Versions,
    described: Option<String>,
) -> DoctorFinding {
    let check = format!("agent:{alias}");
    let command = &agent.command;
    if let Some(name) = agents::built_in(command).filter(|name| crate::NAMES.contains(name)) {
        return DoctorFinding::ok(check, format!("built in: {name} {}", env!("CARGO_PKG_VERSION")));
    }
    if command.contains('/') && !command.starts_with('/') {
        return DoctorFinding::ok(check, format!("{command} is looked for in the workspace of each thread"));
    }
    match look_up(command, Path::new("/")) {
        Ok(program) => {
            let version = match (&described, versions.get(&program)) {
                (Some(said), _) => format!(": {said}"),
                (None, Some(Some(version))) => format!(": {version}"),
                (None, Some(None)) => ": prints no version".to_owned(),
                (None, None) => String::new(),
            };
            let summary = format!("{}{version}", program.display());
            if waits_unseen(agent, &program) {
                let why =
                    "; it waits for the end of a usage limit without saying so, because it does not print its log";
                let hint = "add `--print-logs`, `--log-level` and `ERROR` to its `args`, before the prompt";
                return DoctorFinding::warn(check, summary + why).hint(hint);
            }
            DoctorFinding::ok(check, summary)
        }
        Err(why) => {
            let why = why.to_string();
            let finding = if is_used { DoctorFinding::fail(check, why) } else { DoctorFinding::warn(check, why) };
            finding.hint("install it, put its directory on PATH, or correct `command`")
        }
    }
}

/// Whether an agent is an opencode that prints no log, so that uwf cannot know why it is silent.
fn waits_unseen(agent: &AgentConfig, program: &Path) -> bool {
    let has = |wanted: &str| agent.args.iter().any(|arg| arg == wanted);
    program.file_name().is_some_and(|name| name == "opencode") && has("run") && !has("--print-logs")
}

/// A program's answer to `--version`; `None` if it says nothing useful in time.
fn version(program: &Path, secrets: &BTreeSet<String>) -> Option<String> {
    let output = ask(program, &["--version".to_owned()], secrets)?;
    let text = String::from_utf8_lossy(&output);
    let line = text.lines().map(str::trim).find(|line| line.contains(|c: char| c.is_ascii_digit()))?;
    Some(line.chars().filter(|symbol| !symbol.is_control()).take(SHOWN).collect())
}
