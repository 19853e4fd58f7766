//! A workflow in its stored form and as read from a file.

use std::collections::BTreeMap;

use json_cas::NodeHash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The graph position before the first step; a key of [`Workflow::graph`], never a role.
pub const START: &str = "$START";

/// The key of a workflow's input, and the end of the title of its schema.
pub const INPUT: &str = "input";

use super::role_group::RoleGroup;
pub use crate::moderator::END;
use crate::number;
use crate::usage::ThreadLimits;
use crate::workspace::WorkspaceKind;

/// A workflow. In its stored form `M` is the hash of a role's schema, and it serialises to the payload of a `Workflow` node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "M: Deserialize<'de>"))]
pub struct Workflow<M = NodeHash> {
    /// Its name; the registry maps this name to the node's hash.
    pub name: String,
    /// Its purpose; may be empty.
    pub description: String,
    /// Role name → role.
    pub roles: BTreeMap<String, Role<M>>,
    /// Condition name → condition.
    pub conditions: BTreeMap<String, NamedCondition>,
    /// Role or [`START`] → transitions, tried in order.
    pub graph: BTreeMap<String, Vec<Transition>>,
    /// Default limits of its threads.
    #[serde(default, skip_serializing_if = "ThreadLimits::is_empty")]
    pub limits: ThreadLimits,
    /// Default workspace of its threads.
    #[serde(default, skip_serializing_if = "WorkspaceKind::is_default")]
    pub workspace: WorkspaceKind,
    /// The JSON Schema of the values that a thread is started with besides its task; in the stored form the hash of its node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<M>,
}

/// One role: pure data, without an agent. All texts may be empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Role<M = NodeHash> {
    /// One line for listings.
    pub description: String,
    /// Who the agent is and what it should achieve.
    pub goal: String,
    /// Abilities the role needs.
    pub capabilities: Vec<String>,
    /// How to do the work.
    pub procedure: String,
    /// The required output, in words.
    pub output: String,
    /// The JSON Schema of the structured output; in the stored form the hash of its node.
    pub meta: M,
    /// Keys that the first type of `Workflow` nodes lacks.
    #[serde(flatten)]
    pub more: RoleOptions,
}

/// The keys of a role that only the newest type of `Workflow` nodes has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoleOptions {
    /// The roles whose outputs the role's prompt has; `None` is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sees: Option<Vec<String>>,
    /// The model to use, for agents that can choose one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How much to think, for agents that can choose it, in the agent's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Limit on one attempt, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "number::nearest_if_any")]
    pub timeout: Option<u64>,
    /// The command that plays the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RoleCommand>,
    /// Input of the workflow that plays the role: name → JSONata.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub with: BTreeMap<String, String>,
    /// The roles that it plays at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub play: Option<RoleGroup>,
}

impl RoleOptions {
    fn is_empty(&self) -> bool {
        *self == RoleOptions::default()
    }
}

/// A command that plays a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleCommand {
    /// The command.
    pub command: String,
    /// The shell that runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<CommandShell>,
    /// Variables set for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Its directory, relative to the workspace and below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Exit codes of a command that could not run, which fail the attempt; `None` is 126 and 127.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails: Option<Vec<u8>>,
}

impl RoleCommand {
    /// The program and its arguments.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let shell = match self.shell {
            Some(CommandShell::None) => return shlex::split(&self.command).unwrap_or_default(),
            Some(CommandShell::Bash) => "bash",
            Some(CommandShell::Sh) | None => "sh",
        };
        vec![shell.to_owned(), "-c".to_owned(), self.command.clone()]
    }
}

impl<M> Workflow<M> {
    /// The roles that groups play.
    pub(crate) fn played_roles(&self) -> impl Iterator<Item = &str> {
        self.groups().flat_map(|(_, group)| group.played())
    }
}

impl Workflow {
    /// The roles that a command plays, with the command.
    pub fn commands(&self) -> impl Iterator<Item = (&str, &RoleCommand)> {
        self.roles.iter().filter_map(|(name, role)| Some((name.as_str(), role.more.run.as_ref()?)))
    }
}

/// A shell that runs a role's command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CommandShell {
    /// `bash -c`.
    Bash,
    /// `sh -c`.
    Sh,
    /// No shell: the words of the command are a program and its arguments.
    None,
}

/// A condition that transitions reference by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedCondition {
    /// Its meaning, for people; may be empty.
    pub description: String,
    /// JSONata over the thread's context.
    pub expression: String,
}

/// One edge of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// The role to run next, or [`END`].
    pub role: String,
    /// Name of the condition; `None` (stored as `null`) always matches.
    #[serde(default)]
    pub condition: Option<String>,
    /// For [`END`]: the outcome; `None` is `succeeded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

/// A workflow as read from a file, with schemas still inline.
pub type WorkflowDraft = Workflow<DraftSchema>;

/// A role as read from a file.
pub(super) type RoleDraft = Role<DraftSchema>;

/// A role's output schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DraftSchema {
    /// Written in the file.
    Inline(Value),
    /// A schema node that is already stored. The caller checks whether it exists.
    Stored(NodeHash),
}

impl Workflow {
    /// Whether it has keys that the first two types of `Workflow` nodes lack.
    pub(crate) fn is_extended(&self) -> bool {
        self.names_outcomes() || self.input.is_some() || self.roles.values().any(|role| !role.more.is_empty())
    }

    /// Whether a role resolves the conflicts of a group, which the first three types of `Workflow` nodes lack.
    pub(crate) fn resolves_conflicts(&self) -> bool {
        let groups = self.roles.values().filter_map(|role| role.more.play.as_ref());
        groups.into_iter().any(|group| group.resolve.is_some())
    }

    /// Whether a transition to the end names an outcome.
    #[must_use]
    pub fn names_outcomes(&self) -> bool {
        self.graph.values().flatten().any(|transition| transition.outcome.is_some())
    }
}

impl WorkflowDraft {
    /// Turns the draft into the stored form. `store` stores each inline schema and returns its hash. It is called in the order of role
    /// names, then for [`INPUT`], with that name and the schema, whose title is `<workflow>.<role>` if it has no title of its own.
    pub fn resolve<E>(self, mut store: impl FnMut(&str, Value) -> Result<NodeHash, E>) -> Result<Workflow, E> {
        let Workflow { name: workflow, description, roles, conditions, graph, limits, workspace, input } = self;
        let mut stored = |name: &str, schema: DraftSchema| match schema {
            DraftSchema::Stored(hash) => Ok(hash),
            DraftSchema::Inline(schema) => store(name, titled(schema, &workflow, name)),
        };
        let roles = roles.into_iter().map(|(name, role)| {
            let Role { description, goal, capabilities, procedure, output, meta, more } = role;
            let meta = stored(&name, meta)?;
            Ok((name, Role { description, goal, capabilities, procedure, output, meta, more }))
        });
        let roles = roles.collect::<Result<_, E>>()?;
        let input = input.map(|schema| stored(INPUT, schema)).transpose()?;
        Ok(Workflow { name: workflow, description, roles, conditions, graph, limits, workspace, input })
    }
}

/// Adds a title. A boolean schema can't have a title and stays unchanged.
fn titled(schema: Value, workflow: &str, role: &str) -> Value {
    match schema {
        Value::Object(map) if !map.contains_key("title") => {
            let mut titled = Map::with_capacity(map.len() + 1);
            titled.insert("title".to_owned(), Value::String(format!("{workflow}.{role}")));
            titled.extend(map);
            Value::Object(titled)
        }
        other => other,
    }
}

/// Why the payload of a stored `Workflow` node could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("workflow payload at `{path}`: {reason}")]
pub struct PayloadError {
    /// JSON pointer into the payload, `""` for the whole.
    pub path: String,
    /// The problem at that place.
    pub reason: String,
}
