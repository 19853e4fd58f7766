//! Known agents that speak the protocol, and the settings each needs to run unattended.

use schemars::JsonSchema;
use serde::Deserialize;

/// The meaning of the token counts in the reply to a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TokenCountScope {
    /// This prompt.
    Prompt,
    /// The session from its beginning; the difference to the prompt before is this prompt's.
    Session,
    /// Nothing that could be counted as this prompt's.
    None,
    /// Not this prompt's, so uwf adds up the model calls that `COMMAND export SESSION` prints, as opencode does.
    Export,
}

/// One row of [`PRESETS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcpPreset {
    /// Its name in `config.preset`.
    pub name: &'static str,
    /// Program.
    pub command: &'static str,
    /// Its arguments.
    pub args: &'static [&'static str],
    /// Environment it needs. Existing variables are kept.
    pub env: &'static [(&'static str, &'static str)],
    /// Environment that turns off its permission prompts; only with `permissions: allow`.
    pub unattended_env: &'static [(&'static str, &'static str)],
    /// Mode that turns off its permission prompts; only with `permissions: allow`, and only if it offers that mode.
    pub unattended_mode: Option<&'static str>,
    /// Meaning of its token counts, as measured.
    pub counting: TokenCountScope,
}

/// An agent without special needs. Rows override its fields.
const PLAIN: AcpPreset = AcpPreset {
    name: "",
    command: "",
    args: &["acp"],
    env: &[],
    unattended_env: &[],
    unattended_mode: None,
    counting: TokenCountScope::None,
};

/// The agents `config.preset` knows.
pub const PRESETS: [AcpPreset; 7] = [
    AcpPreset {
        name: "hermes",
        command: "hermes",
        unattended_env: &[("HERMES_YOLO_MODE", "1")],
        counting: TokenCountScope::Session,
        ..PLAIN
    },
    AcpPreset { name: "codex", command: "codex-acp", args: &[], unattended_mode: Some("full-access"), ..PLAIN },
    AcpPreset {
        name: "claude",
        command: "claude-agent-acp",
        args: &[],
        unattended_mode: Some("bypassPermissions"),
        counting: TokenCountScope::Prompt,
        ..PLAIN
    },
    AcpPreset {
        name: "opencode",
        command: "opencode",
        // Its stderr has the usage limits that it waits for silently.
        args: &["acp", "--print-logs", "--log-level", "ERROR"],
        env: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
        // The counts in its reply cover only its last model call.
        counting: TokenCountScope::Export,
        ..PLAIN
    },
    AcpPreset {
        name: "gemini",
        command: "gemini",
        args: &["--acp"],
        // Without it, the agent rejects the mode below in a folder that was not trusted by hand.
        unattended_env: &[("GEMINI_CLI_TRUST_WORKSPACE", "true")],
        unattended_mode: Some("yolo"),
        counting: TokenCountScope::Prompt,
        ..PLAIN
    },
    AcpPreset { name: "cursor", command: "cursor-agent", ..PLAIN },
    AcpPreset { name: "goose", command: "goose", unattended_env: &[("GOOSE_MODE", "auto")], ..PLAIN },
];

/// The preset with this name.
pub fn preset(name: &str) -> Option<&'static AcpPreset> {
    PRESETS.iter().find(|preset| preset.name == name)
}
