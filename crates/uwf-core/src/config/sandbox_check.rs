//! Checks the `sandbox` of each agent for contradictions. A mistake here must not leave an agent without its sandbox, so each is an error.

use json_cas::nearest::did_you_mean;
use yaml_tree::{MappingEntry, YamlContent, YamlNode};

use super::UwfConfig;
use super::agent::AgentConfig;
use super::sandbox::{NetworkPolicy, SandboxPolicy, WORKSPACE};
use crate::document::ProblemCollector;
use crate::document::fields::MappingFields;

/// The key of an agent.
const SANDBOX: &str = "sandbox";

/// Keys of an agent that resemble [`SANDBOX`].
const OTHER_KEYS: [&str; 1] = ["command"];

/// Checks every agent of a file.
pub(super) fn agents(config: &UwfConfig, fields: MappingFields<'_>, problems: &mut ProblemCollector) {
    for agent in fields.get("agents").into_iter().flat_map(|agents| agents.value.entries()) {
        for entry in agent.value.entries() {
            if entry.key == SANDBOX {
                let known = config.agents.get(&agent.key);
                let read = known.and_then(|agent| Some((agent, agent.sandbox.as_ref()?)));
                sandbox(entry, read, problems);
            } else if did_you_mean(&entry.key, [SANDBOX]).is_some() && !OTHER_KEYS.contains(&entry.key.as_str()) {
                let message =
                    format!("agent `{}` would run without a sandbox: `{}` is not a key", agent.key, entry.key);
                problems.error("no-sandbox", entry.key_at, message, Some("did you mean `sandbox`?".to_owned()));
            } else if entry.key == "fallback" {
                fallback(config, &agent.key, entry, problems);
            }
        }
    }
}

/// Warns about a fallback without a sandbox.
fn fallback(config: &UwfConfig, alias: &str, entry: &MappingEntry, problems: &mut ProblemCollector) {
    let has = |alias: &str| config.agents.get(alias).is_some_and(|agent| agent.sandbox.is_some());
    let Some(other) = entry.value.as_text().filter(|other| config.agents.contains_key(*other)) else { return };
    if has(alias) && !has(other) {
        let message = format!("agent `{alias}` has a sandbox, but its fallback `{other}` has none");
        let hint = Some(format!("give `{other}` a sandbox if it runs a program"));
        problems.warning("fallback-without-sandbox", entry.value.at, message, hint);
    }
}

fn sandbox(entry: &MappingEntry, read: Option<(&AgentConfig, &SandboxPolicy)>, problems: &mut ProblemCollector) {
    if entry.value.is_null() {
        let message = "`sandbox` is empty".to_owned();
        let hint = "write `sandbox: {}` to let the agent write only in its workspace".to_owned();
        problems.error("bad-value", entry.key_at, message, Some(hint));
        return;
    }
    for key in entry.value.entries() {
        match (key.key.as_str(), &key.value.data) {
            ("write" | "read", YamlContent::Sequence(paths)) => {
                for path in paths {
                    check_path(path, problems);
                }
            }
            ("network", YamlContent::Sequence(hosts)) if hosts.is_empty() => {
                let hint = "write `network: none`, or leave the key out for an open network".to_owned();
                problems.error("bad-value", key.value.at, "`network` lists no hosts".to_owned(), Some(hint));
            }
            ("write" | "read" | "network" | "secrets", _) if key.value.is_null() => {
                let hint = (key.key == "network").then(|| "write `network: none` for no network".to_owned());
                problems.error("bad-value", key.key_at, format!("`{}` is empty", key.key), hint);
            }
            ("secrets", YamlContent::Mapping(secrets)) => {
                for secret in secrets {
                    if let Some((message, hint)) = read.and_then(|(agent, sandbox)| fault(secret, agent, sandbox)) {
                        problems.error("contradiction", secret.key_at, message, Some(hint));
                    }
                }
            }
            _ => {}
        }
    }
}

fn check_path(path: &YamlNode, problems: &mut ProblemCollector) {
    let Some(text) = path.as_text().filter(|text| *text != WORKSPACE) else { return };
    let hint = if text == "/" {
        Some("list the directories that it needs, or leave `sandbox` out".to_owned())
    } else if text.starts_with('~') && text != "~" && !text.starts_with("~/") {
        Some("only `~/` is known: your own home directory".to_owned())
    } else {
        did_you_mean(text, [WORKSPACE])
    };
    if let Some(hint) = hint {
        problems.error("bad-value", path.at, format!("`{text}` is not a path for a sandbox"), Some(hint));
    }
}

/// Why a secret cannot be kept from the program.
fn fault(secret: &MappingEntry, agent: &AgentConfig, sandbox: &SandboxPolicy) -> Option<(String, String)> {
    let (name, host) = sandbox.secrets.get_key_value(&secret.key)?;
    if agent.env.contains(name) || agent.set.contains_key(name) {
        let hint = "name it either in `env` or in `secrets`".to_owned();
        return Some((format!("`{name}` is also in `env`, where the agent can read it"), hint));
    }
    let hosts = match &sandbox.network {
        NetworkPolicy::Hosts(hosts) => hosts.as_slice(),
        NetworkPolicy::Open | NetworkPolicy::None => &[],
    };
    let is_listed = hosts.iter().any(|listed| listed.includes(&host.host, host.port));
    (!is_listed).then(|| {
        let message = format!("the host of `{name}`, {}, is not listed in `network`", host.host);
        (message, format!("add it: `network: [\"{}\"]`", host.to_string().replace("http://", "")))
    })
}
