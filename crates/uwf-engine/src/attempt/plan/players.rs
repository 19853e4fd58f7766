//! The agents that may play a role. An agent whose output is an exit code is rejected for a role whose output is a text, before an agent is
//! paid.

use uwf_core::config::OutputMode;
use uwf_core::workflow::is_text;

use super::StepPlan;
use crate::attempt::agents::AgentSpec;
use crate::error::{Error, Result};
use crate::root::home::Home;

impl StepPlan {
    /// Rejects an agent whose output is an exit code for a role whose output is a text.
    ///
    /// # Errors
    /// `Config`; errors of the role's schema.
    pub(crate) fn check_form(&self, home: &Home, role: &str, agent: &AgentSpec) -> Result<()> {
        if agent.output_mode() != OutputMode::Exit || agent.is_role_command {
            return Ok(());
        }
        match is_text(home.store().schema(self.role(role)?.meta)?.value()) {
            false => Ok(()),
            true => Err(Error::config(format!(
                "agent `{}` has `output: exit`, and the output of role `{role}` is a text",
                agent.name
            ))
            .hint("give the role a schema: `meta: { properties: { passed: { type: boolean } }, required: [passed] }`")
            .hint("or let the role run the command itself: `run: COMMAND`")),
        }
    }

    /// Does the same for the roles that a group plays. A role that is no group has none.
    ///
    /// # Errors
    /// The fault of the first such role.
    pub(crate) fn check_branches(&self, home: &Home, group: &str) -> Result<()> {
        let groups = std::iter::once(group).chain(self.workflow.branches_of(group));
        for group in groups {
            let Some(play) = self.workflow.roles.get(group).and_then(|role| role.more.play.as_ref()) else { continue };
            for role in play.played().filter(|role| self.workflow.roles.contains_key(*role)) {
                let agents = match play.copies.is_some() && play.roles.iter().any(|branch| branch.role == role) {
                    true => self.agents_of_copies(group, role),
                    // The branch itself reports an agent that can't be found.
                    false => self.agent(role, None).ok().into_iter().collect(),
                };
                agents.iter().try_for_each(|agent| self.check_form(home, role, agent))?;
            }
        }
        Ok(())
    }

    /// The agents that may play a role. A role that is played only as copies needs no agent of its own if the configuration lists agents for
    /// them.
    ///
    /// # Errors
    /// `Config` if the role needs an agent of its own and has none.
    pub(crate) fn players(&self, role: &str) -> Result<Vec<AgentSpec>> {
        let mut players = Vec::new();
        let mut needs_own = self.workflow.graph.contains_key(role);
        for (name, group) in self.workflow.groups().filter(|(_, group)| group.played().any(|played| played == role)) {
            let is_copied = group.copies.is_some() && group.roles.iter().any(|branch| branch.role == role);
            let listed = if is_copied { self.listed_for_copies(name, role) } else { Vec::new() };
            needs_own |= listed.is_empty();
            players.extend(listed);
        }
        if needs_own || players.is_empty() {
            players.insert(0, self.agent(role, None)?);
        }
        Ok(players)
    }

    /// The agents of the copies of a role: those that the configuration lists for the group, or else the agent of the role.
    fn agents_of_copies(&self, group: &str, role: &str) -> Vec<AgentSpec> {
        match self.listed_for_copies(group, role) {
            listed if listed.is_empty() => self.agent(role, None).ok().into_iter().collect(),
            listed => listed,
        }
    }

    /// The agents that the configuration lists for the copies of a group. An agent that is bound to the role replaces them.
    fn listed_for_copies(&self, group: &str, role: &str) -> Vec<AgentSpec> {
        let listed = self.config.agent_overrides.get(&self.workflow.name).and_then(|roles| roles.get(group));
        let aliases = listed.filter(|_| self.settings.bound.agent_for_role(role).is_none()).into_iter().flatten();
        aliases.filter_map(|alias| Some(AgentSpec::new(alias, self.config.agent(alias)?))).collect()
    }
}
