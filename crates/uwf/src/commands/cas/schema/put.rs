//! `uwf cas schema put`

use json_cas::Store;
use json_cas::schema::{self, SchemaSeverity};

use crate::commands::cas::named;
use crate::context::CommandContext;
use crate::input;
use crate::printer::CommandResult;

/// Arguments of `uwf cas schema put`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas schema put review.schema.json
  uwf cas schema put '{\"title\": \"link\", \"type\": \"string\", \"format\": \"cas_ref\"}'

Supports all of JSON Schema 2020-12 except references to other documents; `format: cas_ref` marks the hash of another
node.")]
pub(crate) struct Args {
    /// The schema: JSON, a file with JSON, or - for stdin.
    #[arg(value_name = "JSON|FILE|-", allow_hyphen_values = true, value_hint = clap::ValueHint::FilePath)]
    schema: String,
}

/// Stores a schema.
pub(crate) fn run(context: &CommandContext, args: &Args) -> CommandResult {
    let value = input::json(&args.schema)?;
    for problem in schema::check(&value).iter().filter(|problem| problem.severity == SchemaSeverity::Warning) {
        context.printer.warn(&problem.to_string());
    }
    context.home.make_root()?;
    let hash = context.home.store().put(&Store::schema_draft(value)?)?;
    Ok(named(hash))
}
