//! The installed hermes, as an agent's settings use it.

use std::path::PathBuf;

use agent_kit::{AgentContext, Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;
use uwf_engine::attempt::agents::AgentSpec;
use uwf_engine::attempt::recorded::AttemptOpening;

use crate::acp;
use crate::acp::permission::PermissionPolicy;
use crate::program::AttemptProgram;
use crate::sandbox;
use crate::settings;

/// The program, unless `command` says otherwise.
const COMMAND: &str = "hermes";

/// Variable with hermes's state directory.
const HOME_VARIABLE: &str = "HERMES_HOME";

/// Tool-calling rounds of one answer, unless `maxTurns` says otherwise.
const DEFAULT_MAX_TURNS: u32 = 90;

/// Settings in the `config` of the agent.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct HermesSettings {
    /// The program.
    pub(crate) command: String,
    /// Tool-calling rounds of one answer.
    #[schemars(range(min = 1))]
    pub(super) max_turns: u32,
    /// Name of the model, in place of the agent's `model`.
    model: Option<String>,
    /// HERMES_HOME: its configuration and sessions. `~/` is your home directory, other paths are relative to the storage root. By
    /// default as in the environment, else ~/.hermes.
    home: Option<String>,
    /// Whether it continues its session: for feedback on an unreadable answer, and at a later visit of the role.
    pub(super) resume: bool,
    /// Whether it is given the tool `submit`, by a configuration of the attempt that is laid over yours.
    pub(super) mcp: bool,
}

impl Default for HermesSettings {
    fn default() -> HermesSettings {
        HermesSettings {
            command: COMMAND.to_owned(),
            max_turns: DEFAULT_MAX_TURNS,
            model: None,
            home: None,
            resume: true,
            mcp: false,
        }
    }
}

impl settings::BuiltInSettings for HermesSettings {}

/// The program with its settings, for one attempt.
pub(super) struct HermesProgram<'c, 'h> {
    pub(super) context: &'c AgentContext<'h>,
    pub(super) opened: &'c AttemptOpening,
    pub(super) settings: HermesSettings,
    home: Option<PathBuf>,
}

impl<'c, 'h> HermesProgram<'c, 'h> {
    /// Hermes as the agent of the attempt is configured.
    ///
    /// # Errors
    /// `Usage` outside an attempt, `Config` for invalid settings.
    pub(super) fn from_context(context: &'c AgentContext<'h>) -> Result<HermesProgram<'c, 'h>> {
        let opened = context.opened()?;
        let settings: HermesSettings = settings::read(&opened.agent)?;
        sandbox::refuse_tool(&opened.agent, settings.mcp)?;
        let home = settings.home.as_deref().map(|written| settings::directory(context.thread().home(), written));
        Ok(HermesProgram { context, opened, settings, home })
    }

    /// The agent of the attempt.
    pub(super) fn agent(&self) -> &'c AgentSpec {
        &self.opened.agent
    }

    /// The program, without arguments.
    ///
    /// # Errors
    /// `Config` if its sandbox cannot be kept.
    pub(super) fn program(&self) -> Result<AttemptProgram<'c>> {
        let mut program = AttemptProgram::new(self.opened, &self.settings.command)?;
        if let Some(dir) = &self.home {
            program.command().env(HOME_VARIABLE, dir);
        }
        Ok(program)
    }

    /// Its state directory.
    pub(super) fn home_dir(&self) -> PathBuf {
        let by_environment = || std::env::var_os(HOME_VARIABLE).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let usual = || std::env::home_dir().unwrap_or_default().join(".hermes");
        self.home.clone().or_else(by_environment).unwrap_or_else(usual)
    }

    /// The model's name in hermes; `None` leaves the choice to hermes.
    ///
    /// # Errors
    /// `Config` if `config.yaml` cannot be read.
    pub(super) fn model(&self) -> Result<Option<String>> {
        settings::model_name(self.context, self.settings.model.as_ref().or(self.agent().model.as_ref()))
    }

    /// Settings to run it over the Agent Client Protocol.
    ///
    /// # Errors
    /// `Config` if `config.yaml` cannot be read.
    pub(super) fn protocol(&self) -> Result<acp::settings::AcpLaunch> {
        let Some(preset) = acp::preset::preset("hermes") else {
            return Err(Error::internal("the protocol has no preset for hermes"));
        };
        let home = self.home.as_ref().map(|dir| (HOME_VARIABLE.to_owned(), dir.to_string_lossy().into_owned()));
        Ok(acp::settings::AcpLaunch {
            command: self.settings.command.clone(),
            model: self.model()?,
            mcp: self.settings.mcp,
            own_env: home.into_iter().collect(),
            ..acp::settings::AcpLaunch::preset(preset, PermissionPolicy::Allow)
        })
    }
}
