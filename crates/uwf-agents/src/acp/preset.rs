//! Known agents that speak the protocol, and the settings each needs to run unattended.

use schemars::JsonSchema;
use serde::Deserialize;

/// The meaning of the token counts in the reply to a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Counting {
    /// This prompt.
    Prompt,
    /// The session from its beginning; the difference to the prompt before is this prompt's.
    Session,
    /// Nothing that could be counted as this prompt's.
    None,
}

/// One row of [`PRESETS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
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
    pub counting: Counting,
}

/// An agent without special needs. Rows override its fields.
const PLAIN: Preset = Preset {
    name: "",
    command: "",
    args: &["acp"],
    env: &[],
    unattended_env: &[],
    unattended_mode: None,
    counting: Counting::None,
};

/// The agents `config.preset` knows.
pub const PRESETS: [Preset; 7] = [
    Preset {
        name: "hermes",
        command: "hermes",
        unattended_env: &[("HERMES_YOLO_MODE", "1")],
        counting: Counting::Session,
        ..PLAIN
    },
    Preset { name: "codex", command: "codex-acp", args: &[], unattended_mode: Some("full-access"), ..PLAIN },
    Preset {
        name: "claude",
        command: "claude-agent-acp",
        args: &[],
        unattended_mode: Some("bypassPermissions"),
        counting: Counting::Prompt,
        ..PLAIN
    },
    Preset {
        name: "opencode",
        command: "opencode",
        env: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
        // Its counts cover only its last model call.
        ..PLAIN
    },
    Preset {
        name: "gemini",
        command: "gemini",
        args: &["--acp"],
        // Without it, the agent rejects the mode below in a folder that was not trusted by hand.
        unattended_env: &[("GEMINI_CLI_TRUST_WORKSPACE", "true")],
        unattended_mode: Some("yolo"),
        ..PLAIN
    },
    Preset { name: "cursor", command: "cursor-agent", ..PLAIN },
    Preset { name: "goose", command: "goose", unattended_env: &[("GOOSE_MODE", "auto")], ..PLAIN },
];

/// The preset with this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}
