//! Agents that are known to speak the protocol, and what each needs so that it works without a person beside it.

use serde::Deserialize;

/// What the token counts in the reply to a prompt stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Counting {
    /// This prompt.
    Prompt,
    /// The session from its beginning; the difference to the prompt before is this prompt's.
    Session,
    /// Nothing that could be told as this prompt's.
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

/// The agents `config.preset` knows.
pub const PRESETS: [Preset; 7] = [
    Preset {
        name: "hermes",
        command: "hermes",
        args: &["acp"],
        env: &[],
        unattended_env: &[("HERMES_YOLO_MODE", "1")],
        unattended_mode: None,
        counting: Counting::Session,
    },
    Preset {
        name: "codex",
        command: "codex-acp",
        args: &[],
        env: &[],
        unattended_env: &[],
        unattended_mode: Some("full-access"),
        counting: Counting::None,
    },
    Preset {
        name: "claude",
        command: "claude-agent-acp",
        args: &[],
        env: &[],
        unattended_env: &[],
        unattended_mode: Some("bypassPermissions"),
        counting: Counting::Prompt,
    },
    Preset {
        name: "opencode",
        command: "opencode",
        args: &["acp"],
        env: &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
        unattended_env: &[],
        unattended_mode: None,
        // Those of its last model call only.
        counting: Counting::None,
    },
    Preset {
        name: "gemini",
        command: "gemini",
        args: &["--acp"],
        env: &[],
        // Without it the mode below is refused in a folder nobody has trusted by hand.
        unattended_env: &[("GEMINI_CLI_TRUST_WORKSPACE", "true")],
        unattended_mode: Some("yolo"),
        counting: Counting::None,
    },
    Preset {
        name: "cursor",
        command: "cursor-agent",
        args: &["acp"],
        env: &[],
        unattended_env: &[],
        unattended_mode: None,
        counting: Counting::None,
    },
    Preset {
        name: "goose",
        command: "goose",
        args: &["acp"],
        env: &[],
        unattended_env: &[("GOOSE_MODE", "auto")],
        unattended_mode: None,
        counting: Counting::None,
    },
];

/// The preset of a name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}
