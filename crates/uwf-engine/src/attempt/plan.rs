//! What a step depends on beside the thread itself: configuration, settings, workflow.

use std::path::PathBuf;

use uwf_core::config::{self, Config};
use uwf_core::thread::ThreadId;
use uwf_core::workflow::{Role, Workflow};

use crate::attempt::agents::{self, AgentSpec};
use crate::attempt::bindings::{self, Named};
use crate::attempt::error::{AttemptError, Result};
use crate::attempt::recorded::{self, Opened};
use crate::attempt::settings::{self, Settings};

use crate::root::home::Home;
use crate::root::project;
use crate::thread::load::Thread;

/// A step as planned: everything that is decided before an agent runs.
pub struct Plan {
    /// Configuration.
    pub config: Config,
    /// Settings of the thread.
    pub settings: Settings,
    /// Workflow of the thread.
    pub workflow: Workflow,
}

impl Plan {
    /// Loads what a step of this thread depends on.
    ///
    /// # Errors
    /// `Config` for the configuration, `Usage` when the workspace is unknown, those of the workflow node.
    pub fn load(thread: &Thread<'_>, cwd: Option<&PathBuf>) -> Result<Plan> {
        let home = thread.home();
        let settings = settings_of(home, &thread.id, cwd)?;
        let config = project::config(home, &settings.workspace)?;
        Ok(Plan { config, settings, workflow: thread.workflow()? })
    }

    /// The role's data.
    ///
    /// # Errors
    /// `Data` when the workflow has no such role.
    pub fn role(&self, name: &str) -> Result<&Role> {
        self.workflow
            .roles
            .get(name)
            .ok_or_else(|| AttemptError::RoutedNowhere { workflow: self.workflow.name.clone(), role: name.to_owned() })
    }

    /// Refuses a role that somebody named and the workflow does not have.
    ///
    /// # Errors
    /// `Usage`.
    pub(crate) fn check_role(&self, name: &str) -> Result<()> {
        if self.workflow.roles.contains_key(name) {
            return Ok(());
        }
        Err(AttemptError::no_role(&self.workflow, name, false))
    }

    /// The agent that plays a role.
    ///
    /// # Errors
    /// Those of [`bindings::choose`].
    pub fn agent(&self, role: &str, asked: Option<&Named>) -> Result<AgentSpec> {
        let Settings { bound, workspace, .. } = &self.settings;
        bindings::choose(&self.config, bound, &self.workflow.name, role, asked, workspace)
            .map(|spec| self.with_keys(spec))
    }

    /// A built-in agent with the settings of the agent that plays the role, when that is the same; else with none.
    ///
    /// # Errors
    /// `Config` when it cannot do without them.
    pub fn built_in(&self, name: &str, role: &str) -> Result<AgentSpec> {
        if let Ok(spec) = self.agent(role, None)
            && spec.played_by() == Some(name)
        {
            return Ok(spec);
        }
        if name == agents::COMMAND {
            return Err(AttemptError::NoCommand { agent: agents::COMMAND, role: role.to_owned() });
        }
        let agent = config::Agent::from_command(format!("{}{name}", agents::BUILT_IN_PREFIX), Vec::new());
        Ok(self.with_keys(AgentSpec::new(&agent.command, &agent)))
    }

    fn with_keys(&self, spec: AgentSpec) -> AgentSpec {
        let own_keys = if spec.built_in() == Some(agents::WORKFLOW) {
            // It is uwf itself: the keepers it starts give each agent of the child thread the secrets of that agent.
            agents::keys_of_all(&self.config)
        } else {
            agents::own_keys(&self.config, &spec)
        };
        AgentSpec { own_keys, ..spec }
    }

    /// The attempt that would be made now, the first at its position; nothing is recorded.
    ///
    /// # Errors
    /// Those of [`recorded::boot_id`].
    pub fn attempt(&self, thread: &Thread<'_>, role: &str, agent: AgentSpec) -> Result<Opened> {
        Ok(Opened {
            attempt: crate::root::ids::new_ulid().to_string(),
            thread: thread.id.clone(),
            expected_head: thread.head,
            role: role.to_owned(),
            agent,
            workspace: self.settings.workspace.clone(),
            secrets: self.config.secret_names().into_iter().collect(),
            prompt_budget: self.config.limits.prompt_budget,
            extract: self.config.extract,
            reextract: None,
            rereads: 0,
            output_cap: self.config.limits.output_cap,
            digest: None,
            earlier: Vec::new(),
            keeper: std::process::id(),
            boot_id: recorded::boot_id()?,
            opened_at: crate::root::ids::now_ms(),
        })
    }

    /// Refuses a step beyond the thread's limit.
    ///
    /// # Errors
    /// `Limit`.
    pub(crate) fn check_limit(&self, steps: usize) -> Result<()> {
        let limit = self.settings.max_steps.unwrap_or(self.config.limits.max_steps);
        if (steps as u64) < limit {
            return Ok(());
        }
        Err(AttemptError::TooManySteps { steps, limit })
    }
}

/// Settings of the thread; `cwd` replaces the workspace, or supplies it when this machine has no record of it.
fn settings_of(home: &Home, thread: &ThreadId, cwd: Option<&PathBuf>) -> Result<Settings> {
    let known = match Settings::load(home, thread) {
        // They are given again.
        Err(AttemptError::Settings { .. }) if cwd.is_some() => None,
        known => known?,
    };
    match (known, cwd) {
        (Some(known), None) => Ok(known),
        (known, Some(cwd)) => {
            let workspace = settings::workspace(cwd, cwd)?;
            Ok(Settings { workspace, ..known.unwrap_or_default() })
        }
        (None, None) => Err(AttemptError::UnknownWorkspace(thread.clone())),
    }
}
