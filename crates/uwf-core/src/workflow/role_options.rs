//! Reads the keys of a role beside its texts: the steps it sees, hints for its agent, the command that plays it, and the
//! input of the workflow that does.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::model::{CommandShell, RoleCommand, RoleOptions};
use super::older_forms::ROLE_KEYS;
use super::reader::WorkflowReader;
use crate::document::fields::MappingFields;
use crate::document::{DurationText, OneOrMany, by_schema, join};
use yaml_tree::MappingEntry;

/// The key of a role's command.
pub(super) const RUN: &str = "run";

/// Keys that belong to a command.
pub(super) const OF_COMMANDS: [&str; 4] = ["shell", "env", "cwd", "fails"];

/// Keys that belong to a group.
pub(super) const OF_GROUPS: [&str; 9] =
    ["each", "key", "copies", "pick", "max", "mayFail", "files", "merge", "resolve"];

/// The beginning of the variables that uwf sets for each command.
const OWN_VARIABLES: &str = "UWF_";

/// Other keys that may stand beside a command.
const BESIDE_COMMANDS: [&str; 4] = ["description", RUN, "timeout", "name"];

/// The output of a command.
pub(super) fn command_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "passed": { "type": "boolean", "description": "whether the exit code is 0" },
            "exitCode": { "type": "integer" },
            "output": { "type": "string", "description": "the end of stdout and stderr" },
        },
        "required": ["passed", "exitCode", "output"],
    })
}

impl WorkflowReader {
    /// The options of a role. `role` is its pointer.
    pub(super) fn role_options(&mut self, fields: MappingFields<'_>, role: &str) -> RoleOptions {
        RoleOptions {
            sees: self.sees(fields, role),
            model: self.option(fields, role, "model"),
            effort: self.option(fields, role, "effort"),
            timeout: self.timeout(fields, role),
            run: self.command(fields, role),
            with: self.with(fields, role),
            play: None,
        }
    }

    pub(super) fn option<T: schemars::JsonSchema + serde::de::DeserializeOwned>(
        &mut self,
        fields: MappingFields<'_>,
        role: &str,
        key: &str,
    ) -> Option<T> {
        let entry = fields.get(key)?;
        self.locate(&join(role, key), entry);
        by_schema::entry(entry, DurationText::fault, &mut self.problems)
    }

    /// The roles whose outputs the role sees.
    fn sees(&mut self, fields: MappingFields<'_>, role: &str) -> Option<Vec<String>> {
        let sees = self.option::<OneOrMany<String>>(fields, role, "sees").map(OneOrMany::into_vec)?;
        fields.get("sees").into_iter().for_each(|entry| self.positions.set_tree(&join(role, "sees"), &entry.value));
        Some(sees)
    }

    /// The input of the workflow that plays a role: name → expression.
    fn with(&mut self, fields: MappingFields<'_>, role: &str) -> BTreeMap<String, String> {
        let Some(entry) = fields.get("with") else { return BTreeMap::new() };
        let pointer = join(role, "with");
        self.locate(&pointer, entry);
        let Some(values) = MappingFields::from_mapping(&entry.value, "with", &mut self.problems) else {
            return BTreeMap::new();
        };
        values.iter().map(|entry| (entry.key.clone(), self.text_entry(entry, &join(&pointer, &entry.key)))).collect()
    }

    /// The limit on an attempt in milliseconds.
    fn timeout(&mut self, fields: MappingFields<'_>, role: &str) -> Option<u64> {
        let AttemptLimit(limit) = self.option(fields, role, "timeout")?;
        limit.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)).filter(|limit| *limit > 0)
    }

    fn command(&mut self, fields: MappingFields<'_>, role: &str) -> Option<RoleCommand> {
        let Some(run) = fields.get(RUN) else {
            for entry in OF_COMMANDS.iter().filter_map(|key| fields.get(key)) {
                self.misplaced(entry, "belongs only to a role with `run`", None);
            }
            return None;
        };
        let allowed = [&BESIDE_COMMANDS[..], &OF_COMMANDS, &OF_GROUPS].concat();
        self.refuse_beside(fields, &allowed, "does not belong to a role with `run`: the command is the role");
        self.locate(&join(role, RUN), run);
        let command = self.text_entry(run, &join(role, RUN));
        if command.trim().is_empty() && run.value.as_text().is_some() {
            self.problems.error("bad-value", run.value.at, "`run` is empty".to_owned(), None);
        }
        let shell = self.option::<CommandShell>(fields, role, "shell").filter(|shell| *shell != CommandShell::Sh);
        if shell == Some(CommandShell::None) && shlex::split(&command).is_none() {
            let message = "`run` has an open quote, so it cannot be split into words".to_owned();
            self.problems.error("bad-value", run.value.at, message, None);
        }
        let env = self.option::<BTreeMap<String, String>>(fields, role, "env").unwrap_or_default();
        let cwd = self.option::<String>(fields, role, "cwd");
        if let Some((cwd, entry)) = cwd.as_ref().zip(fields.get("cwd")).filter(|(cwd, _)| !is_below(cwd)) {
            let message = format!("`cwd` must be a directory below the workspace, not `{}`", cwd.escape_debug());
            self.problems.error("bad-value", entry.value.at, message, None);
        }
        self.check_variables(fields);
        let fails = self.option::<Vec<u8>>(fields, role, "fails");
        if let Some(entry) = fields.get("fails").filter(|_| fails.iter().flatten().any(|code| *code == 0)) {
            let message = "`fails` has 0, which is the exit code of success".to_owned();
            self.problems.error("bad-value", entry.value.at, message, None);
        }
        Some(RoleCommand { command, shell, env, cwd, fails })
    }

    /// Rejects variables that the command would not get.
    fn check_variables(&mut self, fields: MappingFields<'_>) {
        let entries = fields.get("env").map(|entry| entry.value.entries());
        for entry in entries.into_iter().flatten() {
            let name = entry.key.escape_debug();
            let message = if entry.key.is_empty() || entry.key.contains(['=', '\0']) {
                format!("`{name}` in `env` cannot be the name of a variable")
            } else if entry.key.starts_with(OWN_VARIABLES) {
                format!("`{name}` in `env`: uwf sets the variables that begin with `{OWN_VARIABLES}`")
            } else {
                continue;
            };
            self.problems.error("bad-value", entry.key_at, message, None);
        }
    }

    /// Reports the known keys of a role that must not stand beside its `run` or `play`. `allowed` also has the keys of the other one, which
    /// are reported where that one is missing.
    pub(super) fn refuse_beside(&mut self, fields: MappingFields<'_>, allowed: &[&str], why: &str) {
        let is_misplaced = |key: &str| ROLE_KEYS.contains(&key) && !allowed.contains(&key);
        for entry in fields.iter().filter(|entry| is_misplaced(&entry.key) && !entry.value.is_null()) {
            self.misplaced(entry, why, None);
        }
    }

    pub(super) fn misplaced(&mut self, entry: &MappingEntry, why: &str, hint: Option<String>) {
        self.problems.error("conflict", entry.key_at, format!("`{}` {why}", entry.key), hint);
    }
}

/// Whether a path names a directory below another one.
fn is_below(path: &str) -> bool {
    use std::path::{Component, Path};
    let parts = Path::new(path).components();
    !path.is_empty() && parts.into_iter().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// A duration.
pub(crate) struct AttemptLimit(Option<std::time::Duration>);

impl<'de> serde::Deserialize<'de> for AttemptLimit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<AttemptLimit, D::Error> {
        DurationText::deserialize(deserializer).map(AttemptLimit)
    }
}

impl schemars::JsonSchema for AttemptLimit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "duration".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        DurationText::schema("duration")
    }
}
