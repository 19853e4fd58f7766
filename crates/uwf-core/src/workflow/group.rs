//! Reads groups: roles that play other roles at the same time. Makes the workflows of their threads, and the schemas of their outputs.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::model::Meta;
use super::model::{END, NamedCondition, Role, RoleDraft, RoleOptions, START, Transition, Workflow};
use super::older_forms;
use super::reader::WorkflowReader;
use super::role_group::{GroupBranch, RoleGroup};
use crate::document::fields::{Fields, list, text};
use crate::document::{DurationText, by_schema, join};
use crate::usage::ThreadLimits;
use yaml_tree::{Entry, Node};

/// The key of a role that is a group.
pub(super) const PLAY: &str = "play";

/// Most branches of a group.
pub(super) const MOST: usize = 64;

/// Most properties of a group's schema, with those of groups within it. Beyond them, any value fits.
const MOST_PROPERTIES: usize = 256;

/// Keys that belong to a group.
const OF_GROUPS: [&str; 1] = ["max"];

impl Workflow {
    /// The workflow of a branch: one role of this workflow, played once.
    #[must_use]
    pub fn branch(&self, role: &str) -> Option<Workflow> {
        self.chain_of(&self.name, [role])
    }

    /// The workflow of a group's thread: its branches, one after the other.
    #[must_use]
    pub fn group(&self, name: &str, branches: &[&str]) -> Option<Workflow> {
        self.chain_of(&format!("{}.{name}", self.name), branches.iter().copied())
    }

    fn chain_of<'r>(&self, name: &str, roles: impl IntoIterator<Item = &'r str>) -> Option<Workflow> {
        let always = |role: &str| vec![Transition { role: role.to_owned(), condition: None, outcome: None }];
        let mut chain = Workflow {
            name: name.to_owned(),
            description: self.description.clone(),
            roles: BTreeMap::new(),
            conditions: self.conditions.clone(),
            graph: BTreeMap::new(),
            limits: ThreadLimits::default(),
            workspace: crate::workspace::Workspace::default(),
            input: self.input,
        };
        let mut last = START;
        for role in roles {
            let (name, own) = self.roles.get_key_value(role)?;
            chain.graph.insert(last.to_owned(), always(name));
            let more = RoleOptions { sees: None, ..own.more.clone() };
            chain.roles.insert(name.clone(), Role { more, ..own.clone() });
            self.add_played(own, &mut chain);
            last = name;
        }
        chain.graph.insert(last.to_owned(), always(END));
        Some(chain)
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
            for branch in group.into_iter().flat_map(|group| &group.roles) {
                if !found.contains(&branch.role.as_str()) {
                    found.push(&branch.role);
                    open.push(&branch.role);
                }
            }
        }
        found
    }
}

impl Workflow {
    /// Adds the roles that a group plays.
    fn add_played(&self, group: &Role, to: &mut Workflow) {
        for branch in group.more.play.iter().flat_map(|group| &group.roles) {
            if let Some(role) = self.roles.get(&branch.role).filter(|_| !to.roles.contains_key(&branch.role)) {
                to.roles.insert(branch.role.clone(), role.clone());
                self.add_played(role, to);
            }
        }
    }
}

impl WorkflowReader {
    /// The group of a role, if it is one. `name` is the role's name, `role` its pointer.
    pub(super) fn group(
        &mut self,
        fields: Fields<'_>,
        name: &str,
        role: &str,
        conditions: &mut BTreeMap<String, NamedCondition>,
    ) -> Option<RoleGroup> {
        let Some(play) = fields.get(PLAY) else {
            for entry in OF_GROUPS.iter().filter_map(|key| fields.get(key)) {
                self.misplaced(entry, "belongs only to a role with `play`");
            }
            return None;
        };
        let why = "does not belong to a role with `play`: the roles that it plays have it";
        self.refuse_beside(fields, &["description", PLAY, "max", "name"], why);
        let pointer = join(role, PLAY);
        self.locate(&pointer, play);
        let items = list(&play.value, PLAY, "a list of roles", &mut self.problems)?;
        if items.is_empty() || items.len() > MOST {
            let message = format!("`play` lists {} roles; write 1 to {MOST}", items.len());
            self.problems.error("bad-value", play.value.at, message, None);
        }
        let mut roles: Vec<GroupBranch> = Vec::new();
        for item in items {
            let Some(branch) = self.group_branch(item, name, &pointer, conditions) else { continue };
            if roles.iter().any(|known| known.role == branch.role) {
                let message = format!("`play` names the role `{}` twice", branch.role);
                self.problems.error("duplicate-key", item.at, message, None);
                continue;
            }
            self.positions.set_value(join(&pointer, &roles.len().to_string()), item.at);
            roles.push(branch);
        }
        let max = fields.get("max").and_then(|entry| self.max(entry, role));
        Some(RoleGroup { roles, max, ..RoleGroup::default() })
    }

    fn max(&mut self, entry: &Entry, role: &str) -> Option<u64> {
        self.locate(&join(role, "max"), entry);
        let max: Option<u64> = by_schema::entry(entry, DurationText::fault, &mut self.problems);
        if max == Some(0) {
            let message = "`max` is 0, so that no branch could run".to_owned();
            self.problems.error("bad-value", entry.value.at, message, None);
        }
        max.filter(|max| *max > 0)
    }

    /// A role's name, or a mapping of role and condition.
    fn group_branch(
        &mut self,
        item: &Node,
        group: &str,
        pointer: &str,
        conditions: &mut BTreeMap<String, NamedCondition>,
    ) -> Option<GroupBranch> {
        let branch =
            |role: String, condition| GroupBranch { role, condition, may_fail: false, limits: ThreadLimits::default() };
        if let Some(role) = item.as_text() {
            return Some(branch(role.to_owned(), None));
        }
        let fields = Fields::of(item, "branch", &mut self.problems)?;
        fields.refuse_unknown(
            &["role", "condition"],
            &[("when", "condition"), ("if", "condition")],
            &mut self.problems,
        );
        let Some(role) = fields.get("role") else {
            self.problems.error("missing-key", item.at, "the branch has no `role`".to_owned(), None);
            return None;
        };
        let role = text(&role.value, "role", &mut self.problems)?;
        let condition = match fields.get("condition") {
            None => None,
            Some(entry) => {
                self.locate(&join(pointer, &role), entry);
                let written = text(&entry.value, "condition", &mut self.problems)?;
                Some(older_forms::named(self, &written, entry, (group, &role), conditions))
            }
        };
        Some(branch(role, condition))
    }
}

/// Gives each group the schema of its output: a property for each branch, with the schema of the branch's role.
pub(super) fn derive_schemas(roles: &mut BTreeMap<String, RoleDraft>) {
    let groups: Vec<String> =
        roles.iter().filter(|(_, role)| role.more.play.is_some()).map(|(name, _)| name.clone()).collect();
    for name in groups {
        let schema = schema_of(roles, &name, &mut { MOST_PROPERTIES });
        if let Some(role) = roles.get_mut(&name) {
            role.meta = Meta::Inline(schema);
        }
    }
}

/// The schema of a role's output. A schema in the store, and one with references, is not repeated here: the branch itself is checked by it.
/// `left` bounds the work, because groups within groups multiply.
fn schema_of(roles: &BTreeMap<String, RoleDraft>, name: &str, left: &mut usize) -> Value {
    let Some(role) = roles.get(name).filter(|_| *left > 0) else { return Value::Bool(true) };
    let Some(group) = &role.more.play else {
        return match &role.meta {
            Meta::Inline(schema) if !schema.to_string().contains("\"$") => schema.clone(),
            Meta::Inline(_) | Meta::Stored(_) => Value::Bool(true),
        };
    };
    let mut properties = Map::new();
    let mut required = Vec::new();
    for branch in &group.roles {
        *left = left.saturating_sub(1);
        properties.insert(branch.role.clone(), schema_of(roles, &branch.role, left));
        required.extend(branch.condition.is_none().then_some(branch.role.as_str()));
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}
