//! A workflow in its stored form and as read from a file.

use std::collections::BTreeMap;

use json_cas::Hash;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The graph position before the first step; a key of [`Workflow::graph`], never a role.
pub const START: &str = "$START";

pub use crate::moderator::END;
use crate::usage::ThreadLimits;
use crate::workspace::Workspace;

/// A workflow. In its stored form `M` is the hash of a role's schema, and it serialises to the payload of a `Workflow` node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workflow<M = Hash> {
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
    #[serde(default, skip_serializing_if = "Workspace::is_default")]
    pub workspace: Workspace,
}

/// One role: pure data, without an agent. All texts may be empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role<M = Hash> {
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
}

/// A workflow as read from a file, with schemas still inline.
pub type WorkflowDraft = Workflow<Meta>;

/// A role as read from a file.
pub type RoleDraft = Role<Meta>;

/// A role's output schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meta {
    /// Written in the file.
    Inline(Value),
    /// A schema node that is already stored. The caller checks whether it exists.
    Stored(Hash),
}

impl WorkflowDraft {
    /// Turns the draft into the stored form. `store` stores each inline schema and returns its hash. It is called in the order of role
    /// names, with the role's name and the schema, whose title is `<workflow>.<role>` if it has no title of its own.
    ///
    /// # Errors
    /// Returns the first error of `store`.
    pub fn resolve<E>(self, mut store: impl FnMut(&str, Value) -> Result<Hash, E>) -> Result<Workflow, E> {
        let Workflow { name: workflow, description, roles, conditions, graph, limits, workspace } = self;
        let roles = roles.into_iter().map(|(name, role)| {
            let Role { description, goal, capabilities, procedure, output, meta } = role;
            let meta = match meta {
                Meta::Stored(hash) => hash,
                Meta::Inline(schema) => store(&name, titled(schema, &workflow, &name))?,
            };
            Ok((name, Role { description, goal, capabilities, procedure, output, meta }))
        });
        let roles = roles.collect::<Result<_, E>>()?;
        Ok(Workflow { name: workflow, description, roles, conditions, graph, limits, workspace })
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
