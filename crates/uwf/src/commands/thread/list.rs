//! `uwf thread list`

use std::collections::HashMap;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use json_cas::Hash;
use serde::Serialize;
use uwf_engine::list::{self, Filter, Row};
use uwf_engine::registry::{self, Registry};
use uwf_engine::resolve::{self, Origin};
use uwf_engine::state::State;
use uwf_engine::thread_ids;

use crate::commands::thread::show;
use crate::context::Context;
use crate::error::CommandError;
use crate::printer::{CommandResult, Printed, Report};
use crate::style;
use crate::table::{self, Table};

/// Characters of a reason that the table shows.
const WHY: usize = 80;

/// Arguments of `uwf thread list`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread list\n  uwf thread list --all --workflow solve-issue --limit 20\n  uwf thread list --state stuck --format json | jq -r '.[].thread'\n\nThe report is an array, newest thread first. Without --all, and unless --state asks for them, finished threads are\nleft out. Times are Unix milliseconds."
)]
pub(crate) struct Args {
    /// Finished threads too.
    #[arg(long)]
    all: bool,
    /// Only threads of this workflow: path, name (all its versions), hash or unique prefix of one.
    #[arg(long, value_name = "WORKFLOW")]
    workflow: Option<String>,
    /// Only threads in this state.
    #[arg(long, value_name = "STATE", value_parser = state_parser(), ignore_case = true)]
    state: Option<State>,
    /// At most this many.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Leave out this many first.
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,
}

fn state_parser() -> impl TypedValueParser<Value = State> {
    PossibleValuesParser::new(State::ALL.map(State::name)).map(|name| {
        let named = State::ALL.into_iter().find(|state| state.name().eq_ignore_ascii_case(&name));
        named.unwrap_or(State::Active)
    })
}

#[derive(Serialize)]
#[serde(transparent)]
struct Listed {
    rows: Vec<Named>,
    /// Matching threads before those shown.
    #[serde(skip)]
    before: usize,
    /// Matching threads after those shown.
    #[serde(skip)]
    after: usize,
    /// Symbols at the end of an id that tell all threads apart.
    #[serde(skip)]
    enough: usize,
}

/// A thread with the name its workflow has.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    #[serde(flatten)]
    row: Row,
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow_name: Option<String>,
}

impl Report for Listed {
    fn text(&self) -> String {
        let mut text = if self.rows.is_empty() { "no threads\n".to_owned() } else { self.table() };
        if !self.rows.is_empty() {
            let enough = format!("the last {} symbols of a thread are enough", self.enough);
            text.push_str(&format!("{}\n", style::dim(&enough)));
        }
        if self.before + self.after > 0 {
            let (before, after) = (self.before, self.after);
            let next = self.before + self.rows.len();
            let more = if after > 0 { format!("; the next: --offset {next}") } else { String::new() };
            text.push_str(&format!("left out: {before} before, {after} after{more}\n"));
        }
        text
    }
}

impl Listed {
    fn table(&self) -> String {
        let with_reasons = self.rows.iter().any(|named| named.row.why.is_some());
        let mut headings = vec!["thread", "state", "workflow", "role", "changed (UTC)"];
        headings.extend(with_reasons.then_some("why"));
        let mut table = Table::new(&headings);
        for Named { row, workflow_name } in &self.rows {
            let (start, end) = row.thread.as_str().split_at(row.thread.as_str().len().saturating_sub(self.enough));
            let hash = row.workflow.map(|hash| hash.to_string());
            table.row(vec![
                format!("{}{}", style::dim(start), style::bold(end)),
                show::state(row.state),
                workflow_name.clone().or(hash).unwrap_or_else(|| "–".to_owned()),
                row.role.as_deref().map_or_else(|| "–".to_owned(), |role| table::excerpt(role, WHY)),
                row.changed_at.map_or_else(|| "–".to_owned(), table::time),
                row.why.as_deref().map(|why| table::excerpt(why, WHY)).unwrap_or_default(),
            ]);
        }
        table.text()
    }
}

/// Runs the command.
pub(crate) fn run(context: &Context, args: &Args) -> CommandResult {
    let registry = registry::read(&context.home).unwrap_or_else(|error| {
        context.printer.warn(&error.message);
        Registry::new()
    });
    let wanted = args.workflow.as_deref().map(|typed| versions(context, &registry, typed)).transpose()?;
    let mut rows = list::list(&context.home, &Filter { all: args.all, state: args.state, ..Filter::default() })?;
    let enough = if context.printer.prints_text() { enough(context)? } else { 0 };
    if let Some(wanted) = wanted {
        rows.retain(|row| row.workflow.is_some_and(|hash| wanted.contains(&hash)));
    }
    let matching = rows.len();
    let names = names(&registry);
    let rows: Vec<Named> = rows
        .into_iter()
        .skip(args.offset)
        .take(args.limit.unwrap_or(usize::MAX))
        .map(|row| Named { workflow_name: row.workflow.and_then(|hash| names.get(&hash).cloned()), row })
        .collect();
    let before = args.offset.min(matching);
    Printed::long(Listed { before, after: matching - before - rows.len(), enough, rows })
}

/// Symbols at the end of an id that tell all threads apart, finished ones included: all of them are looked up.
fn enough(context: &Context) -> Result<usize, CommandError> {
    let ids = thread_ids::all(&context.home)?;
    Ok(thread_ids::distinct_suffix(ids.iter().map(String::as_str)))
}

/// The hashes a workflow is or was stored under: all versions of a name, else the one that is meant.
fn versions(context: &Context, registry: &Registry, typed: &str) -> Result<Vec<Hash>, CommandError> {
    let found = resolve::workflow(&context.home, typed, &context.cwd)?;
    for note in &found.notes {
        context.printer.warn(note);
    }
    let entry = registry.get(typed).filter(|_| found.origin == Origin::Registry);
    let earlier = entry.into_iter().flat_map(|entry| entry.history.iter().map(|past| past.hash));
    Ok(std::iter::once(found.hash).chain(earlier).collect())
}

/// What workflows are called: by their name now, else by one they had.
fn names(registry: &Registry) -> HashMap<Hash, String> {
    let earlier = registry
        .iter()
        .flat_map(|(name, entry)| entry.history.iter().map(move |past| (past.hash, format!("{name} (earlier)"))));
    let current = registry.iter().map(|(name, entry)| (entry.hash, name.clone()));
    earlier.chain(current).collect()
}
