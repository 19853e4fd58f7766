//! The program to run and how to treat it, from `config`, `args` and `model` of the agent.

use schemars::JsonSchema;
use serde::Deserialize;
use uwf_engine::attempt::agents::AgentSpec;
use uwf_engine::error::{Error, Result};

use super::permission::PermissionPolicy;
use super::preset::{AcpPreset, PRESETS, TokenCountScope, preset};
use crate::sandbox;
use crate::settings;

/// An agent that speaks the protocol.
#[derive(Debug, Clone, PartialEq)]
pub struct AcpLaunch {
    /// Program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment for variables that are not set already.
    pub env: Vec<(String, String)>,
    /// Environment that replaces existing variables.
    pub own_env: Vec<(String, String)>,
    /// Mode the session is set to.
    pub mode: Option<AcpSessionMode>,
    /// Login method to call before a session is opened.
    pub auth_method: Option<String>,
    /// Answer to its requests for permission.
    pub permissions: PermissionPolicy,
    /// Whether to give it the server with the tool `submit`.
    pub mcp: bool,
    /// Meaning of its token counts.
    pub counting: TokenCountScope,
    /// Model the session is set to, under the agent's own name for it.
    pub model: Option<String>,
    /// Whether to continue its session of an earlier visit of the role.
    pub resume: bool,
}

/// A mode the session is set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcpSessionMode {
    /// The agent's name for it.
    pub id: String,
    /// Whether the user asked for it. If so, an agent without it fails.
    pub required: bool,
}

/// Settings in the `config` of the agent.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AcpSettings {
    /// A known agent: its program, arguments and modes.
    #[schemars(extend("enum" = PRESETS.map(|preset| preset.name)))]
    preset: Option<String>,
    /// The program, in place of the preset's; without either it is the first of `args`.
    command: Option<String>,
    /// Session mode, by the agent's name for it.
    mode: Option<String>,
    /// Login method to call first, by the agent's name for it.
    auth_method: Option<String>,
    /// The answer when it asks for permission, where `ask` asks a person.
    permissions: PermissionPolicy,
    /// Whether it is given the tool `submit`; true by default.
    mcp: Option<bool>,
    /// The meaning of its token counts, by default from the preset.
    usage: Option<TokenCountScope>,
    /// Whether a later visit of a role continues its session, where the agent can load it; true by default.
    resume: Option<bool>,
}

impl settings::BuiltInSettings for AcpSettings {}

impl AcpLaunch {
    /// The settings of a configured agent. `command` replaces a preset's program, and `args` follow the preset's own. Without preset and
    /// `command`, the first of `args` is the program.
    ///
    /// # Errors
    /// `Config` for unknown keys and values, and if no program is named.
    pub fn from_spec(spec: &AgentSpec) -> Result<AcpLaunch> {
        let config: AcpSettings = settings::read(spec)?;
        sandbox::refuse_tool(spec, config.mcp == Some(true))?;
        let known = config.preset.as_deref().and_then(preset);
        let mut words = spec.args.iter().cloned();
        let command = config.command.or_else(|| known.map(|preset| preset.command.to_owned())).or_else(|| words.next());
        let Some(command) = command else {
            return Err(Error::config(format!("agent `{}` has no program", spec.name))
                .hint("set `preset` to a known agent, or give the program: `args: [my-agent, --acp]`"));
        };
        let settings = match known {
            Some(preset) => AcpLaunch::preset(preset, config.permissions),
            None => AcpLaunch { permissions: config.permissions, ..AcpLaunch::program(&command) },
        };
        Ok(AcpLaunch {
            command,
            args: settings.args.into_iter().chain(words).collect(),
            mode: config.mode.map(|id| AcpSessionMode { id, required: true }).or(settings.mode),
            auth_method: config.auth_method,
            mcp: config.mcp.unwrap_or(settings.mcp) && spec.sandbox.is_none(),
            counting: config.usage.unwrap_or(settings.counting),
            model: spec.model.clone(),
            resume: config.resume.unwrap_or(settings.resume),
            ..settings
        })
    }

    /// Settings for a known agent. Its permission prompts are turned off only if the policy allows everything.
    pub fn preset(preset: &AcpPreset, permissions: PermissionPolicy) -> AcpLaunch {
        let unattended = permissions == PermissionPolicy::Allow;
        let more = if unattended { preset.unattended_env } else { &[] };
        let env = preset.env.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let mode = preset.unattended_mode.filter(|_| unattended);
        AcpLaunch {
            args: preset.args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: env.collect(),
            mode: mode.map(|id| AcpSessionMode { id: id.to_owned(), required: false }),
            counting: preset.counting,
            permissions,
            ..AcpLaunch::program(preset.command)
        }
    }

    /// Settings for an unknown agent with this program.
    pub fn program(command: &str) -> AcpLaunch {
        AcpLaunch {
            command: command.to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            own_env: Vec::new(),
            mode: None,
            auth_method: None,
            permissions: PermissionPolicy::Allow,
            mcp: true,
            counting: TokenCountScope::None,
            model: None,
            resume: true,
        }
    }
}
