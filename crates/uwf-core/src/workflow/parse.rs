//! Reads the shape of a workflow file into a draft, and reports parts with the wrong shape as problems.

use std::collections::BTreeMap;
use std::convert::Infallible;

use json_cas::NodeHash;
use serde_json::Value;

use super::group_schema;
use super::model::{DraftSchema, INPUT, NamedCondition, RoleDraft, RoleOptions, WorkflowDraft};
use super::older_forms;
use super::reader::{InlineConditions, WorkflowReader};
use super::role_options::{RUN, command_schema};
use super::text_role::text_schema;
use super::validate::{check_stored, validate_into};
use crate::document;
use crate::document::fields::{MappingFields, text, texts, wrong_type};
use crate::document::{DurationText, SourcePositions, by_schema, join};
use crate::document::{FileProblem, ProblemCollector};
use crate::input;
use crate::usage::ThreadLimits;
use crate::workspace::WorkspaceKind;
use yaml_tree::TextPosition;
use yaml_tree::{MappingEntry, YamlContent, YamlNode};

/// The result of [`parse`] and [`check`].
#[derive(Clone, Debug)]
pub struct ParsedWorkflow {
    /// The workflow; each function says when there is one.
    pub draft: Option<WorkflowDraft>,
    /// Where its parts are in the file.
    pub positions: SourcePositions,
    /// All problems in the file, in order of place.
    pub problems: Vec<FileProblem>,
}

impl ParsedWorkflow {
    /// Whether any problem is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(FileProblem::is_error)
    }
}

/// Reads and validates a workflow file (YAML or JSON). Use this for a workflow that will be stored: it returns a draft only if no problem
/// is an error.
///
/// `origin` is the file's name in messages. `file_stem` is its name without directory and extension, if the text comes from a file.
///
/// A schema that a role names by hash is assumed to be stored; [`check_with`] verifies it.
#[must_use]
pub fn check(text: &str, origin: &str, file_stem: Option<&str>) -> ParsedWorkflow {
    let Ok(parsed) = check_with(text, origin, file_stem, |_| Ok::<bool, Infallible>(true));
    parsed
}

/// As [`check`]. `is_stored` says whether a schema that a role names by hash is in the store.
pub fn check_with<E>(
    text: &str,
    origin: &str,
    file_stem: Option<&str>,
    is_stored: impl FnMut(NodeHash) -> Result<bool, E>,
) -> Result<ParsedWorkflow, E> {
    let (draft, positions, mut problems) = read(text, origin);
    if let Some(draft) = &draft {
        validate_into(draft, &positions, file_stem, &mut problems);
        check_stored(draft, &positions, is_stored, &mut problems)?;
    }
    let draft = draft.filter(|_| !problems.has_errors());
    Ok(ParsedWorkflow { draft, positions, problems: problems.finish() })
}

/// Reads a workflow file without validating it: only types, older forms and unknown keys.
///
/// If the file is a mapping, there is a draft, so that its other parts can be validated as well. If a problem is an error, parts of the
/// draft are placeholders and it must not be stored; [`check`] prevents that.
#[must_use]
pub fn parse(text: &str, origin: &str) -> ParsedWorkflow {
    let (draft, positions, problems) = read(text, origin);
    ParsedWorkflow { draft, positions, problems: problems.finish() }
}

fn read(text: &str, origin: &str) -> (Option<WorkflowDraft>, SourcePositions, ProblemCollector) {
    let mut reader = WorkflowReader {
        problems: ProblemCollector::new(origin),
        positions: SourcePositions::none(origin),
        inlined: InlineConditions::default(),
    };
    let root = document::parse(text, &mut reader.problems);
    let draft = root.and_then(|root| reader.workflow(&root));
    (draft, reader.positions, reader.problems)
}

pub(crate) const WORKFLOW_KEYS: [&str; 9] =
    ["name", "description", INPUT, "roles", "conditions", "graph", "moderator", "limits", "workspace"];
pub(crate) const CONDITION_KEYS: [&str; 2] = ["description", "expression"];

impl WorkflowReader {
    fn workflow(&mut self, root: &YamlNode) -> Option<WorkflowDraft> {
        let fields = MappingFields::of_file(root, "a workflow file", &mut self.problems)?;
        self.positions.set_value(String::new(), root.at);
        fields.warn_unknown(&WORKFLOW_KEYS, &mut self.problems);
        let name = self.name(fields);
        let description = self.text_field(fields, "", "description");
        let mut conditions = self.conditions(fields);
        let mut roles = self.roles(fields, &mut conditions);
        group_schema::derive_schemas(&mut roles);
        let graph = self.routes(fields, &mut conditions);
        let limits = self.limits(fields);
        let workspace = self.workspace(fields);
        let input = self.input(fields);
        Some(WorkflowDraft { name, description, roles, conditions, graph, limits, workspace, input })
    }

    fn name(&mut self, fields: MappingFields<'_>) -> String {
        if fields.get("name").is_none() {
            self.missing("", "name", fields.at, "the workflow has no `name`");
        }
        self.text_field(fields, "", "name")
    }

    fn limits(&mut self, fields: MappingFields<'_>) -> ThreadLimits {
        let Some(entry) = fields.get("limits") else { return ThreadLimits::default() };
        self.locate("/limits", entry);
        ThreadLimits::read(entry, &mut self.problems)
    }

    fn workspace(&mut self, fields: MappingFields<'_>) -> WorkspaceKind {
        let Some(entry) = fields.get("workspace") else { return WorkspaceKind::default() };
        self.locate("/workspace", entry);
        by_schema::entry(entry, DurationText::fault, &mut self.problems).unwrap_or_default()
    }

    /// The schema of the input. A schema that is refused leaves a placeholder, so that conditions may read the input.
    fn input(&mut self, fields: MappingFields<'_>) -> Option<DraftSchema> {
        let entry = fields.get(INPUT)?;
        let pointer = join("", INPUT);
        self.positions.set_tree(&pointer, &entry.value);
        self.positions.set_key(pointer.clone(), entry.key_at);
        if let YamlContent::Scalar { text, .. } = &entry.value.data
            && let Ok(hash) = text.parse::<NodeHash>()
        {
            return Some(DraftSchema::Stored(hash));
        }
        if !matches!(entry.value.data, YamlContent::Mapping(_)) {
            self.positions.set_broken(&pointer);
            wrong_type(&entry.value, INPUT, "the JSON Schema of an object, or the hash of one", &mut self.problems);
            return Some(DraftSchema::Inline(Value::Bool(true)));
        }
        let schema = document::to_json(&entry.value, &mut self.problems);
        if let Some((message, hint)) = schema.as_object().and_then(input::fault_of_schema) {
            self.positions.set_broken(&pointer);
            self.problems.error("bad-schema", entry.key_at, message, Some(hint));
            return Some(DraftSchema::Inline(Value::Bool(true)));
        }
        Some(DraftSchema::Inline(schema))
    }

    fn missing(&mut self, parent: &str, key: &str, at: TextPosition, message: &str) {
        self.positions.set_broken(&join(parent, key));
        self.problems.error("missing-key", at, message.to_owned(), None);
    }

    /// An optional text.
    fn text_field(&mut self, fields: MappingFields<'_>, parent: &str, key: &str) -> String {
        fields.get(key).map(|entry| self.text_entry(entry, &join(parent, key))).unwrap_or_default()
    }

    pub(super) fn text_entry(&mut self, entry: &MappingEntry, pointer: &str) -> String {
        self.locate(pointer, entry);
        text(&entry.value, &entry.key, &mut self.problems).unwrap_or_else(|| {
            self.positions.set_broken(pointer);
            String::new()
        })
    }

    fn roles(
        &mut self,
        fields: MappingFields<'_>,
        conditions: &mut BTreeMap<String, NamedCondition>,
    ) -> BTreeMap<String, RoleDraft> {
        let Some(entry) = fields.get("roles") else {
            self.missing("", "roles", fields.at, "the workflow has no `roles`");
            return BTreeMap::new();
        };
        self.locate("/roles", entry);
        let Some(roles) = MappingFields::from_mapping(&entry.value, "roles", &mut self.problems) else {
            self.positions.set_broken("/roles");
            return BTreeMap::new();
        };
        roles.iter().map(|entry| (entry.key.clone(), self.role(entry, conditions))).collect()
    }

    fn role(&mut self, entry: &MappingEntry, conditions: &mut BTreeMap<String, NamedCondition>) -> RoleDraft {
        let pointer = join("/roles", &entry.key);
        self.locate(&pointer, entry);
        let Some(fields) = MappingFields::from_mapping(&entry.value, &entry.key, &mut self.problems) else {
            self.positions.set_broken(&pointer);
            return broken_role();
        };
        // Without `meta` the output is a text, so a misspelt `meta` must not pass.
        let has_meta = older_forms::names("meta").any(|name| fields.get(name).is_some());
        let has_command = fields.get(RUN).is_some();
        match has_meta {
            true => fields.warn_unknown(&older_forms::ROLE_KEYS, &mut self.problems),
            false => fields.refuse_unknown(&older_forms::ROLE_KEYS, &[], &mut self.problems),
        }
        older_forms::check_role_name(fields, &entry.key, &mut self.problems);
        let mut text_of = |key: &str| {
            let found = older_forms::role_field(fields, key, &mut self.problems);
            found.map(|found| self.text_entry(found, &join(&pointer, key))).unwrap_or_default()
        };
        let description = text_of("description");
        let goal = text_of("goal");
        let procedure = text_of("procedure");
        let output = text_of("output");
        let capabilities = self.capabilities(fields, &pointer);
        let meta = match has_command {
            true => DraftSchema::Inline(command_schema()),
            false => self.meta(fields, &pointer),
        };
        let more = match self.group(fields, &entry.key, &pointer, conditions) {
            Some(more) => more,
            None => self.role_options(fields, &pointer),
        };
        RoleDraft { description, goal, capabilities, procedure, output, meta, more }
    }

    fn capabilities(&mut self, fields: MappingFields<'_>, role: &str) -> Vec<String> {
        let Some(entry) = fields.get("capabilities") else {
            return Vec::new();
        };
        self.locate(&join(role, "capabilities"), entry);
        texts(&entry.value, "capabilities", &mut self.problems).unwrap_or_default()
    }

    /// The schema of the role's output. Without one, the output is a text.
    fn meta(&mut self, fields: MappingFields<'_>, role: &str) -> DraftSchema {
        let pointer = join(role, "meta");
        let Some(entry) = older_forms::role_field(fields, "meta", &mut self.problems) else {
            return DraftSchema::Inline(text_schema());
        };
        self.positions.set_tree(&pointer, &entry.value);
        self.positions.set_key(pointer.clone(), entry.key_at);
        match &entry.value.data {
            YamlContent::Mapping(_) => DraftSchema::Inline(document::to_json(&entry.value, &mut self.problems)),
            YamlContent::Scalar { .. } if entry.value.as_bool().is_some() => {
                DraftSchema::Inline(document::to_json(&entry.value, &mut self.problems))
            }
            YamlContent::Scalar { text, .. } => {
                if let Ok(hash) = text.parse::<NodeHash>() {
                    return DraftSchema::Stored(hash);
                }
                self.positions.set_broken(&pointer);
                let message =
                    format!("`{}` is `{text}`, which is neither a JSON Schema nor the hash of one", entry.key);
                let hint = "a hash has 13 symbols of 0-9 and A-Z without I, L, O and U".to_owned();
                self.problems.error("wrong-type", entry.value.at, message, Some(hint));
                broken_role().meta
            }
            YamlContent::Sequence(_) => {
                self.positions.set_broken(&pointer);
                wrong_type(&entry.value, &entry.key, "a JSON Schema or the hash of one", &mut self.problems);
                broken_role().meta
            }
        }
    }

    fn conditions(&mut self, fields: MappingFields<'_>) -> BTreeMap<String, NamedCondition> {
        let Some(entry) = fields.get("conditions") else {
            return BTreeMap::new();
        };
        self.locate("/conditions", entry);
        let Some(conditions) = MappingFields::from_mapping(&entry.value, "conditions", &mut self.problems) else {
            self.positions.set_broken("/conditions");
            return BTreeMap::new();
        };
        conditions.iter().map(|entry| (entry.key.clone(), self.condition(entry))).collect()
    }

    /// A condition is a mapping, or just the expression.
    fn condition(&mut self, entry: &MappingEntry) -> NamedCondition {
        let pointer = join("/conditions", &entry.key);
        let at_expression = join(&pointer, "expression");
        self.locate(&pointer, entry);
        if let Some(expression) = entry.value.as_text() {
            self.locate(&at_expression, entry);
            return NamedCondition { description: String::new(), expression: expression.to_owned() };
        }
        let Some(fields) = MappingFields::from_mapping(&entry.value, &entry.key, &mut self.problems) else {
            self.positions.set_broken(&at_expression);
            return NamedCondition { description: String::new(), expression: String::new() };
        };
        fields.warn_unknown(&CONDITION_KEYS, &mut self.problems);
        if fields.get("expression").is_none() {
            let message = format!("the condition `{}` has no `expression`", entry.key);
            self.missing(&pointer, "expression", entry.key_at, &message);
        }
        NamedCondition {
            description: self.text_field(fields, &pointer, "description"),
            expression: self.text_field(fields, &pointer, "expression"),
        }
    }
}

/// Replaces a role that could not be read, so that its name is still known.
fn broken_role() -> RoleDraft {
    RoleDraft {
        description: String::new(),
        goal: String::new(),
        capabilities: Vec::new(),
        procedure: String::new(),
        output: String::new(),
        meta: DraftSchema::Inline(Value::Bool(true)),
        more: RoleOptions::default(),
    }
}
