//! `uwf workflow list`

use json_cas::Hash;
use serde::Serialize;
use uwf_engine::root::project_files;
use uwf_engine::root::registry;
use uwf_engine::verbs::validate;

use crate::context::Context;
use crate::error::CommandError;
use crate::printer::{CommandResult, Printed, Report};
use crate::style;
use crate::table::Table;

/// Where the workflows of the registry are said to come from.
const REGISTRY: &str = "registry";

/// Arguments of `uwf workflow list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf workflow list
  uwf workflow list | jq -r '.[].name'

`origin` is `registry`, or the file of the project's .workflows directory, which goes first when both have a name.")]
pub(crate) struct Args {}

#[derive(Serialize)]
#[serde(transparent)]
struct Listed(Vec<Row>);

#[derive(Serialize)]
struct Row {
    name: String,
    /// Absent when the file is not valid.
    hash: Option<Hash>,
    origin: String,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl Report for Listed {
    fn text(&self) -> String {
        if self.0.is_empty() {
            return "no workflows yet; `uwf workflow put FILE` stores one\n".to_owned();
        }
        let mut table = Table::new(&["name", "hash", "origin"]).flexible([0]);
        for Row { name, hash, origin, problem } in &self.0 {
            let hash = hash.map_or_else(|| "-".to_owned(), |hash| hash.to_string());
            let problem =
                problem.as_ref().map(|problem| format!("  {} {problem}", style::red("!"))).unwrap_or_default();
            table.row(vec![style::bold(name), hash, format!("{origin}{problem}")]);
        }
        table.text()
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, _args: &Args) -> CommandResult {
    let mut rows = project(context)?;
    for (name, entry) in registry::read(&context.home)? {
        let problem = (!context.home.store().has(entry.hash)?).then(|| "its node is not in the store".to_owned());
        rows.push(Row { name, hash: Some(entry.hash), origin: REGISTRY.to_owned(), problem });
    }
    // Stable: of two of the same name the project's stays first.
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    Printed::new(&Listed(rows))
}

fn project(context: &Context) -> Result<Vec<Row>, CommandError> {
    let mut rows = Vec::new();
    for (name, file) in project_files::all(&context.cwd) {
        let checked = validate::file(&context.home, &file)?;
        let problem = checked.problems.iter().find(|problem| problem.is_error()).map(|problem| {
            format!("not valid: {} (line {}); `uwf workflow validate` tells all", problem.message, problem.line)
        });
        rows.push(Row {
            name,
            hash: checked.draft.map(validate::hash).transpose()?,
            origin: file.display().to_string(),
            problem,
        });
    }
    Ok(rows)
}
