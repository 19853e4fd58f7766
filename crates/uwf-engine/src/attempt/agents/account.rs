//! The account and the model that an agent uses, as far as its settings show. Agents with the same ones reach a usage limit together.

use std::path::Path;

use json_cas::xxh64;
use serde_json::{Map, Value, json};
use uwf_core::model_option;

use super::AgentSpec;
use crate::attempt::program;

/// Options of known programs that decide the account or the model. The other words of their command lines decide neither.
const ACCOUNT_OPTIONS: [&str; 13] = [
    "--agent",
    "--api-key",
    "--auth-type",
    "--base-url",
    "--config",
    "--endpoint",
    "--local-provider",
    "--model",
    "--oss",
    "--profile",
    "--provider",
    "--region",
    "--settings",
];

/// Short forms of these options, by program. [`model_option`] has the short form of the model.
const SHORT_OPTIONS: [(&str, &str, &str); 2] = [("codex", "-c", "--config"), ("codex", "-p", "--profile")];

/// Settings of codex (`--config KEY=VALUE`) about what it may do.
const PERMISSION_SETTINGS: [&str; 6] =
    ["approval_", "features.", "mcp_servers.", "sandbox_", "shell_environment_policy", "tools."];

/// Keys of `config` that are about the work, what the agent may do, or how uwf reads it.
const WORK_KEYS: [&str; 11] = [
    "hardLinks",
    "maxRounds",
    "maxSteps",
    "maxTurns",
    "mcp",
    "mode",
    "permissions",
    "resume",
    "systemPrompt",
    "temperature",
    "trace",
];

/// Ends of the names of variables that decide the account or the model.
const VARIABLE_ENDS: [&str; 14] = [
    "_ACCOUNT",
    "_CONFIG_DIR",
    "_CREDENTIALS",
    "_ENDPOINT",
    "_HOME",
    "_KEY",
    "_MODEL",
    "_PROFILE",
    "_PROJECT",
    "_PROVIDER",
    "_REGION",
    "_SECRET",
    "_TOKEN",
    "_URL",
];

impl AgentSpec {
    /// A hash of the account and the model. A script of the workspace may be another one elsewhere.
    pub(crate) fn account(&self, workspace: &Path) -> String {
        // Without the model that a role asks for: it is an option of one attempt, and the account stays the same.
        let parts = json!([self.account_words(workspace), self.account_config(), self.model, self.account_variables()]);
        xxh64(parts.to_string().as_bytes()).to_string()
    }

    /// The words of its command line that decide the account or the model; for an unknown program all.
    fn account_words(&self, workspace: &Path) -> Value {
        let name = program::file_name(&self.command);
        let is_of_workspace = |word: &String| Path::new(word).is_relative() && workspace.join(word).is_file();
        if self.command.contains('/') && is_of_workspace(&self.command) {
            return json!([self.command, self.args, workspace]);
        }
        if model_option::is_known(name) || name == "hermes" {
            return json!([name, account_options(name, &self.args)]);
        }
        let is_script = self.args.iter().any(is_of_workspace);
        json!([self.command, self.args, is_script.then_some(workspace)])
    }

    fn account_config(&self) -> Map<String, Value> {
        let entries = self.config.iter().filter(|(key, _)| !WORK_KEYS.contains(&key.as_str()));
        entries.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    fn account_variables(&self) -> Value {
        let secrets: Vec<&String> = self.env.iter().filter(|name| is_of_account(name)).collect();
        let set: Vec<_> = self.set.iter().filter(|(name, _)| is_of_account(name)).collect();
        json!([secrets, set])
    }
}

/// Whether a variable decides the account or the model, or where a program finds them.
fn is_of_account(name: &str) -> bool {
    ["HOME", "PATH"].contains(&name) || name.contains("_USE_") || VARIABLE_ENDS.iter().any(|end| name.ends_with(end))
}

/// The options of a known program that decide the account or the model, in the order of their names.
fn account_options(program: &str, args: &[String]) -> Vec<(String, String)> {
    let long = |word: &str| {
        let short = SHORT_OPTIONS.iter().find(|(name, short, _)| *name == program && *short == word);
        let option = match model_option::short(program) == Some(word) {
            true => model_option::LONG,
            false => short.map_or(word, |(_, _, long)| *long),
        };
        ACCOUNT_OPTIONS.contains(&option).then(|| option.to_owned())
    };
    let mut options = Vec::new();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let (option, joined) = match word.split_once('=') {
            Some((option, value)) => (option, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        let Some(option) = long(option) else { continue };
        // `--oss` is a switch.
        let value = if option == "--oss" { joined } else { joined.or_else(|| words.next().cloned()) };
        let value = value.unwrap_or_default();
        if option != "--config" || !PERMISSION_SETTINGS.iter().any(|setting| value.starts_with(setting)) {
            options.push((option, value));
        }
    }
    options.sort();
    options
}

#[cfg(test)]
mod tests {
    use uwf_core::config::AgentConfig;

    use super::*;

    fn account(command: &str, args: &[&str], change: impl FnOnce(&mut AgentSpec)) -> String {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let mut spec = AgentSpec::new("a", &AgentConfig::from_command(command, args));
        change(&mut spec);
        spec.account(Path::new("/nonexistent"))
    }

    #[test]
    fn permissions_leave_account_the_same() {
        let plain = account("claude", &["-p"], |_| {});
        for args in [
            &["-p", "--permission-mode", "acceptEdits"][..],
            &["-p", "--allowedTools=Bash,Edit", "--max-turns", "9"],
            &["--print", "--output-format", "json"],
        ] {
            assert_eq!(account("claude", args, |_| {}), plain, "{args:?}");
        }
        let other_settings = account("/usr/bin/claude", &["-p"], |spec| {
            spec.output = "json".to_owned();
            spec.timeout_ms = Some(1000);
            spec.set.insert("EDITOR".to_owned(), "true".to_owned());
            spec.config.insert("trace".to_owned(), json!("claude"));
        });
        assert_eq!(other_settings, plain);
        let codex = |args: &[&str]| account("codex", args, |_| {});
        assert_eq!(codex(&["exec", "--sandbox", "read-only", "-c", "approval_policy=never", "-"]), codex(&["exec"]));
    }

    #[test]
    fn model_and_credentials_are_other_accounts() {
        let plain = account("claude", &["-p"], |_| {});
        let big = account("claude", &["-p", "--model", "big"], |_| {});
        assert_ne!(big, plain);
        assert_eq!(account("claude", &["--model=big", "--verbose"], |_| {}), big);
        assert_ne!(account("claude", &["-p"], |spec| spec.model = Some("big".to_owned())), plain);
        for name in
            ["CLAUDE_CONFIG_DIR", "HOME", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK"]
        {
            let set = |value: &str| {
                let value = value.to_owned();
                account("claude", &["-p"], move |spec| drop(spec.set.insert(name.to_owned(), value)))
            };
            assert!(set("x") != plain && set("x") != set("y"), "{name}");
        }
        assert_ne!(account("claude", &["-p"], |spec| spec.env.push("ANTHROPIC_API_KEY".to_owned())), plain);
        let codex = |args: &[&str]| account("codex", args, |_| {});
        assert_ne!(codex(&["exec", "-c", "model_provider=local"]), codex(&["exec"]));
        assert_eq!(codex(&["exec", "-m", "big"]), codex(&["--model", "big", "exec"]));
    }

    #[test]
    fn words_of_unknown_program_are_its_account() {
        let agent = |args: &[&str]| account("sh", args, |_| {});
        assert_ne!(agent(&["-c", "one"]), agent(&["-c", "other"]));
        assert_ne!(agent(&["agent.sh", "--fast"]), agent(&["agent.sh"]));
    }
}
