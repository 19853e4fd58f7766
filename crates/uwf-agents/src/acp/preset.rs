//! Agents that are known to speak the protocol, and what each needs so that it works without a person beside it.

use schemars::JsonSchema;
use serde::Deserialize;

/// What the token counts in the reply to a prompt stand for.
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
    /// What `config.preset` calls it.
    pub name: &'static str,
    /// Program.
    pub command: &'static str,
    /// Its arguments.
    pub args: &'static [&'static str],
    /// Environment it needs; what the environment has already stays.
    pub env: &'static [(&'static str, &'static str)],
    /// Environment in which it does not ask for permissions; only with `permissions: allow`.
    pub unattended_env: &'static [(&'static str, &'static str)],
    /// Mode in which it does not ask for permissions; only with `permissions: allow`, and where it has that mode.
    pub unattended_mode: Option<&'static str>,
    /// What its token counts stand for, as measured.
    pub counting: Counting,
}

/// An agent that needs nothing of its own; a row says what is different.
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
        // Its counts are those of its last model call only.
        ..PLAIN
    },
    Preset {
        name: "gemini",
        command: "gemini",
        args: &["--acp"],
        // Without it the mode below is refused in a folder nobody has trusted by hand.
        unattended_env: &[("GEMINI_CLI_TRUST_WORKSPACE", "true")],
        unattended_mode: Some("yolo"),
        ..PLAIN
    },
    Preset { name: "cursor", command: "cursor-agent", ..PLAIN },
    Preset { name: "goose", command: "goose", unattended_env: &[("GOOSE_MODE", "auto")], ..PLAIN },
];

/// The preset of a name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}
