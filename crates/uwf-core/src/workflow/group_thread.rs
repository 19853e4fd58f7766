//! Makes the workflows of the threads that play a group. The group's own thread has a step for each branch; a branch's thread has one
//! step.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{END, Role, RoleOptions, START, Transition, Workflow};
use super::role_group::{GroupBranch, RoleGroup};
use crate::thread::MAX_GENERATIONS;
use crate::usage::ThreadLimits;
use crate::workspace::WorkspaceKind;

/// A branch of a group that is about to be played, or that has been.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedBranch {
    /// Its name in the group: its role, the key of its item, or its number from 1.
    pub name: String,
    /// The role that it plays.
    pub role: String,
    /// Whether the group continues if it fails.
    pub may_fail: bool,
    /// Limits of its thread.
    pub limits: ThreadLimits,
}

impl Workflow {
    /// The workflow of a group's thread: a chain of the branches. Its roles are placeholders; each names the role that the branch plays.
    /// `None` if this workflow lacks a role.
    #[must_use]
    pub fn group(&self, name: &str, branches: &[PlannedBranch]) -> Option<Workflow> {
        let mut group = self.without_roles(format!("{}.{name}", self.name));
        let mut last = START;
        for branch in branches {
            let played = self.roles.get(&branch.role)?;
            let only = GroupBranch {
                role: branch.role.clone(),
                condition: None,
                may_fail: branch.may_fail,
                limits: branch.limits,
            };
            let play = RoleGroup { roles: vec![only], ..RoleGroup::default() };
            let role = Role {
                description: played.description.clone(),
                goal: String::new(),
                capabilities: Vec::new(),
                procedure: String::new(),
                output: String::new(),
                meta: played.meta,
                more: RoleOptions { play: Some(play), ..RoleOptions::default() },
            };
            group.roles.insert(branch.name.clone(), role);
            group.graph.insert(last.to_owned(), vec![always(&branch.name)]);
            last = &branch.name;
        }
        group.graph.insert(last.to_owned(), vec![always(END)]);
        Some(group)
    }

    /// The branches of a group's thread that has this workflow, in order; `None` if it is not the workflow of such a thread.
    ///
    /// Only placeholders make it one. A workflow of a file always has a role that does the work: its groups play roles that it has, and none
    /// plays itself, not even by another group.
    #[must_use]
    pub fn planned_branches(&self) -> Option<Vec<PlannedBranch>> {
        if self.roles.values().any(|role| role.more.play.is_none()) {
            return None;
        }
        let mut branches = Vec::with_capacity(self.roles.len());
        let mut at = START;
        while let [transition] = self.graph.get(at)?.as_slice()
            && branches.len() <= self.roles.len()
        {
            if transition.role == END {
                return (!branches.is_empty()).then_some(branches);
            }
            let [branch] = self.roles.get(&transition.role)?.more.play.as_ref()?.roles.as_slice() else { return None };
            branches.push(PlannedBranch {
                name: transition.role.clone(),
                role: branch.role.clone(),
                may_fail: branch.may_fail,
                limits: branch.limits,
            });
            at = &transition.role;
        }
        None
    }

    /// The workflow of a branch's thread: one role of this workflow, played once. `None` if this workflow lacks the role.
    #[must_use]
    pub fn branch(&self, role: &str) -> Option<Workflow> {
        let own = self.roles.get(role)?;
        let mut branch = Workflow { conditions: self.conditions.clone(), ..self.without_roles(self.name.clone()) };
        // The brief has only the steps that the role sees.
        let more = RoleOptions { sees: None, ..own.more.clone() };
        branch.roles.insert(role.to_owned(), Role { more, ..own.clone() });
        self.add_played(own, &mut branch);
        branch.graph.insert(START.to_owned(), vec![always(role)]);
        branch.graph.insert(role.to_owned(), vec![always(END)]);
        Some(branch)
    }

    /// Whether a group has branches that a command plays.
    #[must_use]
    pub fn runs_commands(&self, group: &str) -> bool {
        let has_command = |role: &&str| self.roles.get(*role).is_some_and(|role| role.more.run.is_some());
        self.branches_of(group).iter().any(has_command)
    }

    fn without_roles(&self, name: String) -> Workflow {
        Workflow {
            name,
            description: self.description.clone(),
            roles: BTreeMap::new(),
            conditions: BTreeMap::new(),
            graph: BTreeMap::new(),
            limits: ThreadLimits::default(),
            workspace: WorkspaceKind::default(),
            input: self.input,
        }
    }

    /// Adds the roles that a group plays, and its judge.
    fn add_played(&self, group: &Role, to: &mut Workflow) {
        let Some(group) = &group.more.play else { return };
        for name in group.played() {
            if let Some((name, role)) = self.roles.get_key_value(name).filter(|_| !to.roles.contains_key(name)) {
                to.roles.insert(name.clone(), role.clone());
                self.add_played(role, to);
            }
        }
    }
}

impl<M> Workflow<M> {
    /// The roles that a role plays, also by groups within the group.
    #[must_use]
    pub fn branches_of(&self, role: &str) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        let mut open = vec![role];
        while let Some(role) = open.pop() {
            let group = self.roles.get(role).and_then(|role| role.more.play.as_ref());
            for role in group.into_iter().flat_map(RoleGroup::played) {
                // `pick` may be an expression.
                if self.roles.contains_key(role) && !found.contains(&role) {
                    found.push(role);
                    open.push(role);
                }
            }
        }
        found
    }

    /// How deep groups are nested in a role: 0 if it is not a group, 1 if it plays no other group. At most [`MAX_GENERATIONS`].
    #[must_use]
    pub fn nested_groups(&self, role: &str) -> usize {
        let mut level = BTreeSet::from([role]);
        for depth in 0..MAX_GENERATIONS {
            let groups = level.iter().filter_map(|role| self.roles.get(*role)?.more.play.as_ref());
            let below: BTreeSet<&str> = groups.flat_map(RoleGroup::played).collect();
            if below.is_empty() {
                return depth;
            }
            level = below;
        }
        MAX_GENERATIONS
    }

    /// Name and definition of each group.
    pub fn groups(&self) -> impl Iterator<Item = (&str, &RoleGroup)> {
        self.roles.iter().filter_map(|(name, role)| Some((name.as_str(), role.more.play.as_ref()?)))
    }

    /// The group in whose step the output of a role is, if the graph never names the role, so that it has no step of its own.
    pub(crate) fn only_played_by(&self, role: &str) -> Option<&str> {
        let in_graph = |role: &str| self.graph.values().flatten().any(|transition| transition.role == role);
        let mut of_role = self.groups().filter(|(name, _)| in_graph(name)).map(|(name, _)| name);
        if in_graph(role) { None } else { of_role.find(|group| self.branches_of(group).contains(&role)) }
    }
}

fn always(role: &str) -> Transition {
    Transition { role: role.to_owned(), condition: None, outcome: None }
}
