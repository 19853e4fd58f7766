//! Whether agents may run commands: what each known program needs for that, and against it.

use serde_json::{Map, Value, json};
use uwf_core::config::AgentConfig;
use uwf_engine::attempt::agents::BUILT_IN_PREFIX;

use crate::acp::permission::PermissionPolicy;

/// Variable with opencode's permissions, as JSON. It wins over its files.
const OPENCODE_PERMISSION: &str = "OPENCODE_PERMISSION";

/// The arguments with which a program may run commands, or not.
struct ProgramPermission {
    program: &'static str,
    allow: &'static [&'static str],
    forbid: &'static [&'static str],
    /// Options that these arguments replace.
    replaced: &'static [ReplacedOption],
}

/// An option, and what follows it.
struct ReplacedOption(&'static str, OptionValues);

#[derive(Clone, Copy)]
enum OptionValues {
    None,
    One,
    /// All words up to the next option.
    Many,
}

const PROGRAMS: [ProgramPermission; 3] = [
    ProgramPermission {
        program: "codex",
        // Its sandbox lets commands write in the workspace and the temporary directory, without a network.
        allow: &["--sandbox", "workspace-write"],
        forbid: &["--sandbox", "workspace-write", "--config=features.shell_tool=false"],
        replaced: &[
            ReplacedOption("--sandbox", OptionValues::One),
            ReplacedOption("-s", OptionValues::One),
            ReplacedOption("--full-auto", OptionValues::None),
            ReplacedOption("--dangerously-bypass-approvals-and-sandbox", OptionValues::None),
            ReplacedOption("--yolo", OptionValues::None),
            ReplacedOption("--config=features.shell_tool=false", OptionValues::None),
        ],
    },
    ProgramPermission {
        program: "claude",
        // An option with several values must not come last: the prompt may follow.
        allow: &["--allowedTools", "Bash", "--permission-mode", "acceptEdits"],
        forbid: &["--disallowedTools", "Bash", "--permission-mode", "acceptEdits"],
        replaced: &[
            ReplacedOption("--permission-mode", OptionValues::One),
            ReplacedOption("--allowedTools", OptionValues::Many),
            ReplacedOption("--allowed-tools", OptionValues::Many),
            ReplacedOption("--disallowedTools", OptionValues::Many),
            ReplacedOption("--disallowed-tools", OptionValues::Many),
            ReplacedOption("--dangerously-skip-permissions", OptionValues::None),
        ],
    },
    ProgramPermission {
        program: "gemini",
        allow: &["--approval-mode", "yolo"],
        forbid: &["--approval-mode", "auto_edit"],
        replaced: &[
            ReplacedOption("--approval-mode", OptionValues::One),
            ReplacedOption("--yolo", OptionValues::None),
            ReplacedOption("-y", OptionValues::None),
        ],
    },
];

/// The settings with which an agent may run commands, or not: keys of its entry with their new values. `None` if uwf cannot decide it for
/// its program.
pub fn settings(agent: &AgentConfig, may_run: bool) -> Option<Vec<(&'static str, Value)>> {
    let config = |key: &str, value: Value| {
        let mut config = agent.config.as_object().cloned().unwrap_or_default();
        config.insert(key.to_owned(), value);
        ("config", Value::Object(config))
    };
    if let Some(built_in) = agent.command.strip_prefix(BUILT_IN_PREFIX) {
        return match built_in {
            "acp" => {
                let policy = if may_run { PermissionPolicy::Allow } else { PermissionPolicy::Edits };
                let mut settings = vec![config("permissions", json!(policy))];
                if agent.config.get("preset").and_then(Value::as_str) == Some("opencode") {
                    settings.push(opencode(agent, may_run));
                }
                Some(settings)
            }
            "react" => Some(vec![config("commands", json!(may_run))]),
            "llm" | "human" | "mock" => Some(Vec::new()),
            _ => None,
        };
    }
    let program = agent.command.rsplit('/').next().unwrap_or(&agent.command);
    if program == "opencode" {
        return Some(vec![opencode(agent, may_run)]);
    }
    let known = PROGRAMS.iter().find(|known| known.program == program)?;
    Some(vec![("args", json!(known.arguments(&agent.args, may_run)))])
}

/// A sentence about other tools that an agent loses with its commands; `None` if it keeps them.
pub fn lost_without_commands(agent: &AgentConfig) -> Option<&'static str> {
    let program = agent.command.rsplit('/').next().unwrap_or(&agent.command);
    let preset = agent.config.get("preset").and_then(Value::as_str);
    let is_codex = program == "codex" && preset.is_none();
    is_codex.then_some("codex then has no shell, with which it also reads and searches files")
}

/// Whether the program of an agent always runs commands, because uwf starts it with that right.
pub fn always_runs(agent: &AgentConfig) -> bool {
    agent.command.strip_prefix(BUILT_IN_PREFIX).is_some_and(|built_in| ["hermes", "cursor"].contains(&built_in))
}

/// The environment in which opencode may run commands, or not.
fn opencode(agent: &AgentConfig, may_run: bool) -> (&'static str, Value) {
    let secrets = agent.env.iter().map(|name| (name.clone(), Value::Null));
    let variables = agent.set.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str())));
    let mut env: Map<String, Value> = secrets.chain(variables).collect();
    let permission = json!({ "bash": if may_run { "allow" } else { "deny" } });
    env.insert(OPENCODE_PERMISSION.to_owned(), permission.to_string().into());
    ("env", Value::Object(env))
}

impl ProgramPermission {
    /// The arguments, with those about permissions replaced.
    fn arguments(&self, args: &[String], may_run: bool) -> Vec<String> {
        let mut kept: Vec<String> = Vec::new();
        let mut place = None;
        let mut words = args.iter().peekable();
        while let Some(word) = words.next() {
            let (name, has_value) = word.split_once('=').map_or((word.as_str(), false), |(name, _)| (name, true));
            let replaced = self.replaced.iter().find(|option| option.0 == word || has_value && option.0 == name);
            let Some(ReplacedOption(_, values)) = replaced else {
                kept.push(word.clone());
                continue;
            };
            place.get_or_insert(kept.len());
            match values {
                _ if has_value => {}
                OptionValues::None => {}
                OptionValues::One => drop(words.next()),
                OptionValues::Many => {
                    while words.next_if(|word| !word.starts_with('-') && !word.contains('{')).is_some() {}
                }
            }
        }
        let is_subcommand = kept.first().is_some_and(|word| word == "exec");
        let place = place.unwrap_or(usize::from(is_subcommand));
        let new = if may_run { self.allow } else { self.forbid };
        kept.splice(place..place, new.iter().map(|word| (*word).to_owned()));
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(command: &str, args: &[&str], may_run: bool) -> String {
        let agent = AgentConfig::from_command(command, args.iter().map(|arg| (*arg).to_owned()).collect());
        let settings = settings(&agent, may_run).unwrap();
        let args: Vec<String> = serde_json::from_value(settings[0].1.clone()).unwrap();
        args.join(" ")
    }

    #[test]
    fn permission_arguments_are_replaced_in_place() {
        let codex = ["exec", "--json", "-s", "read-only", "--config=features.shell_tool=false", "-"];
        assert_eq!(arguments("codex", &codex, true), "exec --json --sandbox workspace-write -");
        assert_eq!(
            arguments("/opt/codex", &["exec", "--yolo", "-"], false),
            "exec --sandbox workspace-write --config=features.shell_tool=false -"
        );
        assert_eq!(arguments("codex", &["exec", "-"], true), "exec --sandbox workspace-write -");
        let claude = ["-p", "--allowedTools", "Bash", "Read", "--permission-mode=plan", "--verbose", "{prompt}"];
        assert_eq!(
            arguments("claude", &claude, false),
            "-p --disallowedTools Bash --permission-mode acceptEdits --verbose {prompt}"
        );
        assert_eq!(
            arguments("claude", &["-p", "--dangerously-skip-permissions"], true),
            "-p --allowedTools Bash --permission-mode acceptEdits"
        );
        assert_eq!(arguments("gemini", &["--yolo"], false), "--approval-mode auto_edit");
    }
}
