//! The inputs of a step besides the thread itself: configuration, settings, workflow.

mod command_source;
mod limits;
mod players;
pub(crate) mod unenforced;

use std::collections::BTreeSet;
use std::path::PathBuf;

use json_cas::NodeHash;
use uwf_core::config::{self, QuestionPolicy, UwfConfig};
use uwf_core::thread::ThreadId;
use uwf_core::usage::ThreadLimits;
use uwf_core::workflow::{Role, RoleCommand, RoleOptions, Workflow};

use crate::attempt::agents::delegation::workflow_of;
use crate::attempt::agents::{self, AgentHints, AgentSpec};
use crate::attempt::bindings::{self, AgentBindings, AgentReference};
use crate::attempt::recorded::{self, AttemptOpening, FallbackReason, ThreadRecord};
use crate::attempt::self_description;
use crate::attempt::settings::{self, ThreadSettings};
use crate::attempt::travel;
use crate::error::{Error, ErrorCause, Result};
use crate::root::agent_limits::{self, AgentLimit};
use crate::root::env_file;
use crate::root::home::Home;
use crate::root::workplace::{self, ThreadWorkplace};
use crate::root::{ids, project, store_keys};
use crate::thread::load::Thread;
use crate::thread::nodes;

use self::command_source::CommandSource;
pub use self::limits::age;
pub(crate) use self::limits::age_at;

/// A planned step: everything that is decided before an agent runs.
pub struct StepPlan {
    /// Configuration.
    pub config: UwfConfig,
    /// Settings of the thread.
    pub settings: ThreadSettings,
    /// Workflow of the thread.
    pub workflow: Workflow,
    /// Hash of the workflow.
    pub workflow_hash: NodeHash,
    /// The workflow with its commands, if no person has trusted it.
    untrusted: Option<CommandSource>,
}

/// Rejects a role that the workflow does not have.
pub fn check_role(workflow: &Workflow, role: &str) -> Result<()> {
    match workflow.roles.contains_key(role) {
        true => Ok(()),
        false => {
            let known: Vec<&str> = workflow.roles.keys().map(String::as_str).collect();
            Err(bindings::no_role(workflow, role).hint(format!("its roles: {}", known.join(", "))))
        }
    }
}

/// Rejects a role that no step of the workflow's own threads plays, so that a run cannot stop before it.
///
/// # Errors
/// `Usage` for a role that does not exist, and for one that only groups play.
pub fn check_stop(workflow: &Workflow, role: &str) -> Result<()> {
    check_role(workflow, role)?;
    let is_next = |role: &str| workflow.graph.values().flatten().any(|transition| transition.role == role);
    if is_next(role) {
        return Ok(());
    }
    let mut groups = workflow.groups().map(|(name, _)| name);
    let group = groups.find(|name| is_next(name) && workflow.branches_of(name).contains(&role));
    group.map_or(Ok(()), |group| {
        Err(Error::usage(format!("only the group `{group}` plays role `{role}`, so a run cannot stop before it"))
            .hint(format!("to stop before the group: `--until {group}`")))
    })
}

impl StepPlan {
    /// Loads what a step of this thread depends on.
    ///
    /// # Errors
    /// `Config` for the configuration, `Usage` when the workspace is unknown, errors of the workflow node.
    pub fn load(thread: &Thread<'_>, cwd: Option<&PathBuf>) -> Result<StepPlan> {
        StepPlan::from_record(thread, &ThreadRecord::read(thread.home(), &thread.id)?, cwd)
    }

    /// The same, with the settings of a record that was read before.
    pub(crate) fn from_record(thread: &Thread<'_>, record: &ThreadRecord, cwd: Option<&PathBuf>) -> Result<StepPlan> {
        let home = thread.home();
        let settings = settings_of(home, record, cwd)?;
        let config = project::config(home, &settings.workspace)?;
        StepPlan::for_thread(thread, config, settings)
    }

    fn for_thread(thread: &Thread<'_>, config: UwfConfig, settings: ThreadSettings) -> Result<StepPlan> {
        let workflow = thread.workflow()?;
        let untrusted = CommandSource::of_thread(thread, &workflow)?.untrusted(thread.home())?;
        Ok(StepPlan { config, settings, workflow, workflow_hash: thread.start.workflow, untrusted })
    }

    /// A plan for a new thread of a workflow.
    pub(crate) fn new(
        home: &Home,
        config: UwfConfig,
        settings: ThreadSettings,
        workflow_hash: NodeHash,
        workflow: Workflow,
    ) -> Result<StepPlan> {
        let untrusted = CommandSource::own(workflow_hash, &workflow).untrusted(home)?;
        Ok(StepPlan { config, settings, workflow, workflow_hash, untrusted })
    }

    /// Loads a plan for display, even for a thread that has ended or that another machine began.
    pub(crate) fn to_look_at(thread: &Thread<'_>, record: &ThreadRecord) -> Result<StepPlan> {
        match StepPlan::from_record(thread, record, None) {
            Err(Error { cause: Some(ErrorCause::UnknownWorkspace), .. }) => {
                StepPlan::for_thread(thread, thread.home().config()?, ThreadSettings::default())
            }
            known => known,
        }
    }

    /// The plan of a step during which no person answers.
    #[must_use]
    pub fn without_questions(mut self) -> StepPlan {
        self.config.ask = QuestionPolicy::Never;
        self
    }

    /// The role's data.
    ///
    /// # Errors
    /// `Data` when the workflow has no such role.
    pub fn role(&self, name: &str) -> Result<&Role> {
        let Workflow { name: workflow, roles, .. } = &self.workflow;
        roles.get(name).ok_or_else(|| {
            Error::data(format!("workflow `{workflow}` routes to role `{name}`, which it does not have"))
        })
    }

    /// The agent that plays a role.
    pub fn agent(&self, role: &str, asked: Option<&AgentReference>) -> Result<AgentSpec> {
        let ThreadSettings { bound, workspace, .. } = &self.settings;
        let options = self.workflow.roles.get(role).map(|role| &role.more);
        if let Some(run) = options.and_then(|options| options.run.as_ref()) {
            self.check_command(role, run, asked)?;
            let spec =
                AgentSpec { timeout_ms: options.and_then(|options| options.timeout), ..AgentSpec::of_command(run) };
            return Ok(self.with_keys(spec));
        }
        if options.is_some_and(|options| options.play.is_some()) {
            if let Some(named) = asked {
                let message = format!("role `{role}` is a group, which `{}` cannot play", named.agent);
                return Err(
                    Error::usage(message).hint("bind the roles of its branches: `uwf run THREAD --agent ROLE=AGENT`")
                );
            }
            if self.workflow.runs_commands(role) {
                self.check_trust()?;
            }
            return Ok(self.with_keys(AgentSpec::of_group()));
        }
        let spec = bindings::choose(&self.config, bound, &self.workflow.name, role, asked, workspace)?;
        let spec = options.map_or(spec.clone(), |options| self.hinted(spec, options));
        Ok(self.with_keys(self.with_own_model(spec)))
    }

    /// The agents that can play a role: its own, then the fallbacks, in order.
    pub(crate) fn candidates(&self, role: &str) -> Result<Vec<AgentSpec>> {
        let own = self.agent(role, None)?;
        let of_role = self.workflow.roles.get(role).and_then(|role| role.more.timeout);
        let mut candidates = vec![own];
        while let Some(last) = candidates.last()
            && let Some(alias) = self.config.agent(&last.name).and_then(|agent| agent.fallback.as_ref())
            && let Some(agent) = self.config.agent(alias)
            // The check of the configuration reports a circle; here it must only end.
            && candidates.iter().all(|known| known.name != *alias)
        {
            let spec = AgentSpec::new(alias, agent);
            let timeout_ms = spec.timeout_ms.or(of_role);
            candidates.push(self.with_keys(AgentSpec { timeout_ms, ..spec }));
        }
        Ok(candidates)
    }

    /// The agent that plays a role now: its own, or the first of its fallbacks that is at no usage limit and is not given up. With the
    /// reason, if it is a fallback. `None` if no agent is left.
    pub fn available_agent(
        &self,
        home: &Home,
        role: &str,
        given_up: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<(AgentSpec, Option<FallbackReason>)>> {
        let mut reason = None;
        for candidate in self.candidates(role)? {
            let at_limit = || self.usage_limit(home, &candidate).map(|limit| limit.why());
            let Some(why) = given_up(&candidate.name).or_else(at_limit) else { return Ok(Some((candidate, reason))) };
            reason = reason.or(Some(FallbackReason { agent: candidate.name, why }));
        }
        Ok(None)
    }

    /// The usage limit that an agent is at.
    pub(crate) fn usage_limit(&self, home: &Home, agent: &AgentSpec) -> Option<AgentLimit> {
        agent_limits::current(home, &agent.account(&self.settings.workspace))
    }

    /// Forgets the usage limits of all agents that may play a role of the workflow.
    pub(crate) fn forget_limits(&self, home: &Home) -> Result<()> {
        for role in self.workflow.roles.keys() {
            // The step itself reports an agent that can't be found.
            for agent in self.candidates(role).unwrap_or_default() {
                agent_limits::forget(home, &agent.account(&self.settings.workspace))?;
            }
        }
        Ok(())
    }

    /// An agent with the hints of its role. Its own settings take precedence.
    fn hinted(&self, spec: AgentSpec, hints: &RoleOptions) -> AgentSpec {
        let alias = hints.model.as_ref().filter(|name| self.config.models.contains_key(*name));
        AgentSpec {
            model: spec.model.clone().or_else(|| alias.cloned().filter(|_| spec.asks_model())),
            timeout_ms: spec.timeout_ms.or(hints.timeout),
            hints: AgentHints { model: hints.model.clone(), effort: hints.effort.clone() },
            ..spec
        }
    }

    /// An agent whose program is given its model. An alias of `models` is a name of uwf, which programs don't know.
    fn with_own_model(&self, mut spec: AgentSpec) -> AgentSpec {
        if let Some(model) = spec.model.as_ref().filter(|model| !self.config.models.contains_key(*model)) {
            spec.hints.model = Some(model.clone());
        }
        spec
    }

    /// Rejects the command of a role that a person has not trusted, and another agent for such a role.
    fn check_command(&self, role: &str, run: &RoleCommand, asked: Option<&AgentReference>) -> Result<()> {
        if let Some(named) = asked {
            return Err(Error::usage(format!(
                "role `{role}` is played by its command `{}`, not by `{}`",
                run.command, named.agent
            )));
        }
        self.check_trust()
    }

    /// Rejects commands that a person has not trusted.
    pub(crate) fn check_trust(&self) -> Result<()> {
        self.untrusted.as_ref().map_or(Ok(()), |source| Err(source.refusal()))
    }

    /// Warnings about limits that have no effect with the agents of the thread and of its child threads, whose usage counts for it. The
    /// step itself reports an agent that can't be found.
    pub(crate) fn unenforced(&self, home: &Home, limits: ThreadLimits) -> Vec<String> {
        let mut agents = self.agents();
        let mut seen = BTreeSet::new();
        let mut open = self.children(home, &agents, &mut seen);
        while let Some(child) = open.pop() {
            let further = child.agents();
            open.extend(child.children(home, &further, &mut seen));
            agents.extend(further);
        }
        unenforced::unenforced(limits, &agents, &self.config)
    }

    /// A sentence about the roles whose agents are not known yet, if the thread has a limit that some agents ignore.
    pub(crate) fn without_agents(&self) -> Option<String> {
        let limits = self.limits();
        let limits = [("`maxCost`", limits.max_cost.is_some()), ("`maxTokens`", limits.max_tokens.is_some())];
        let limits: Vec<&str> = limits.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect();
        let roles = self.workflow.roles.keys().filter(|role| self.players(role).is_err());
        let roles: Vec<String> = roles.map(|role| format!("`{role}`")).collect();
        (!limits.is_empty() && !roles.is_empty()).then(|| {
            let (roles, limits) = (roles.join(", "), limits.join(" or "));
            format!("no agent is known yet for {roles}, so {limits} may not be able to stop the thread")
        })
    }

    /// The agents of its roles, as far as they can be found.
    fn agents(&self) -> Vec<AgentSpec> {
        self.workflow.roles.keys().filter_map(|role| self.players(role).ok()).flatten().collect()
    }

    /// The plans of child threads that these agents start and that are not in `seen`.
    fn children(&self, home: &Home, agents: &[AgentSpec], seen: &mut BTreeSet<(NodeHash, String)>) -> Vec<StepPlan> {
        let mut plans = Vec::new();
        for agent in agents {
            if let Ok(Some(child)) = self.for_child(home, agent)
                && seen.insert((child.workflow_hash, agent.name.clone()))
            {
                plans.push(child);
            }
        }
        plans
    }

    /// The plan of the child thread that an agent starts; `None` if the agent starts none, or its workflow is not decided.
    pub(crate) fn for_child(&self, home: &Home, agent: &AgentSpec) -> Result<Option<StepPlan>> {
        let decided = workflow_of(agent).and_then(|name| self.settings.workflows.get(name));
        let Some(hash) = decided.map(|decided| decided.hash) else { return Ok(None) };
        let settings = ThreadSettings {
            workspace: self.settings.workspace.clone(),
            bound: AgentBindings::for_child(&agent.config),
            workflows: self.settings.workflows.clone(),
            ..ThreadSettings::default()
        };
        let workflow = nodes::workflow(home.store(), hash)?;
        StepPlan::new(home, self.config.clone(), settings, hash, workflow).map(Some)
    }

    /// A built-in agent, with the settings of the role's agent if that is the same one, otherwise without settings.
    ///
    /// # Errors
    /// `Config` when the agent needs settings.
    pub fn built_in(&self, name: &str, role: &str) -> Result<AgentSpec> {
        if let Ok(spec) = self.agent(role, None)
            && spec.played_by() == Some(name)
        {
            return Ok(spec);
        }
        if name == agents::COMMAND {
            return Err(Error::config(format!(
                "`{name}` runs the program of an agent with `output: text` or `json`, and role `{role}` has none"
            ))
            .hint("choose one with `--agent ROLE=AGENT`"));
        }
        let agent = config::AgentConfig::from_command(format!("{}{name}", agents::BUILT_IN_PREFIX), Vec::new());
        Ok(self.with_keys(AgentSpec::new(&agent.command, &agent)))
    }

    /// The version that an agent reports. May ask its program.
    pub(crate) fn version(&self, home: &Home, spec: &AgentSpec) -> Option<String> {
        if spec.built_in().is_some() {
            return Some(env!("CARGO_PKG_VERSION").to_owned());
        }
        let of_command_line = || config::AgentConfig {
            output: spec.output_mode(),
            ..config::AgentConfig::from_command(&spec.command, spec.args.clone())
        };
        let agent = self.config.agent(&spec.name).cloned().unwrap_or_else(of_command_line);
        self_description::version(home, &agent, &self.settings.workspace, &self.config.secret_names())
    }

    fn with_keys(&self, spec: AgentSpec) -> AgentSpec {
        let own_keys = if spec.holds_store() {
            // The agent is uwf itself: the keepers that it starts give each agent of the child thread its own secrets.
            agents::keys_of_all(&self.config)
        } else {
            agents::own_keys(&self.config, &spec)
        };
        AgentSpec { own_keys, ..spec }
    }

    /// The attempt that would be made now, as the first at its position; records nothing.
    pub fn attempt(&self, thread: &Thread<'_>, role: &str, agent: AgentSpec) -> Result<AttemptOpening> {
        let home = thread.home();
        self.check_form(home, role, &agent)?;
        self.check_branches(home, role)?;
        agent.check_sandbox()?;
        let last = recorded::read(home, &thread.id)?;
        let mut secrets = self.config.secret_names();
        secrets.extend(store_keys::names(home, &env_file::read(&home.env_file())?));
        Ok(AttemptOpening {
            attempt: ids::new_ulid().to_string(),
            thread: thread.id.clone(),
            expected_head: thread.head,
            role: role.to_owned(),
            agent,
            workspace: self.settings.workspace.clone(),
            secrets: secrets.into_iter().collect(),
            prompt_budget: self.config.limits.prompt_budget,
            ask: self.config.ask,
            extract: self.config.extract,
            reextract: None,
            rereads: 0,
            output_cap: self.config.limits.output_cap,
            branch: self.settings.branch.clone(),
            branches_to: None,
            digest: None,
            fallback_for: None,
            replies: last.as_ref().map(|last| last.replies_at(thread.head, role)).unwrap_or_default(),
            earlier: last.map(|last| last.earlier_at(thread.head)).unwrap_or_default(),
            keeper: std::process::id(),
            boot_id: recorded::boot_id()?,
            machine: None,
            opened_at: ids::now_ms(),
        })
    }
}

/// The thread's settings. `cwd` replaces the workspace, or supplies it if this machine has no record of the thread.
fn settings_of(home: &Home, record: &ThreadRecord, cwd: Option<&PathBuf>) -> Result<ThreadSettings> {
    let thread = record.thread();
    let known = match ThreadSettings::in_record(home, record) {
        // `cwd` supplies them again.
        Err(error) if error.cause == Some(ErrorCause::DamagedSettings) && cwd.is_some() => None,
        known => known?,
    };
    let known = match known {
        None if cwd.is_some() && record.is_empty() => ThreadSettings::published(home, thread)?,
        known => known,
    };
    match (known, cwd) {
        (Some(known), None) => Ok(known),
        (known, Some(cwd)) => {
            let workspace = settings::workspace(cwd, cwd)?;
            match travel::settings_in(home, thread, known.as_ref(), &workspace)? {
                Some(settings) => Ok(settings),
                None => Ok(ThreadSettings { workspace, ..known.unwrap_or_default() }),
            }
        }
        (None, None) if settings::are_lost(record) => Err(settings::lost_here(home, thread)),
        (None, None) => Err(match workplace::read_workplace(home, thread)? {
            Some(place) => works_elsewhere(thread, &place),
            None => settings::unknown_workspace(thread),
        }),
    }
}

fn works_elsewhere(thread: &ThreadId, place: &ThreadWorkplace) -> Error {
    let here = match &place.worktree {
        Some(_) => format!(
            "or bring it here with its files: `worktree: {{remote: NAME}}` in config.yaml of both machines, and `uwf \
             thread step {thread} --cwd DIR` in a clone"
        ),
        None => format!("or let its agents work here: `uwf thread step {thread} --cwd DIR`"),
    };
    let (workspace, machine) = (place.workspace.display(), &place.machine);
    Error::busy(format!("thread {thread} works in {workspace} on machine `{machine}`"))
        .hint(format!("step it on machine `{machine}`"))
        .hint(here)
        .with_cause(ErrorCause::UnknownWorkspace)
}
