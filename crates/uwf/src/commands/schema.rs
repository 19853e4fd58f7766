//! `uwf schema`: the JSON Schemas of files, for editors.

use clap::builder::PossibleValuesParser;
use serde::Serialize;
use uwf_engine::error::ErrorKind;

use crate::error::CommandError;
use crate::file_schemas;
use crate::printer::{CommandReport, CommandResult, PrintableReport, ReportFormat, StdoutContent};

/// Arguments of `uwf schema`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf schema                                         which there are
  uwf schema workflow > .workflows/schemas/workflow.json
  uwf schema events | jq '.allOf[].then.properties | keys'

An editor with the YAML language server completes and checks a file whose first line says
  # yaml-language-server: $schema=schemas/workflow.json
with the path of the schema from there. `uwf help schemas` says more.")]
pub(crate) struct Args {
    /// Schema to print. Default: list all schemas.
    #[arg(value_parser = PossibleValuesParser::new(file_schemas::ALL.map(|schema| schema.name)))]
    name: Option<String>,
}

impl Args {
    /// The kind of output that the command writes to stdout.
    pub(crate) fn stdout(&self) -> StdoutContent {
        if self.name.is_some() { StdoutContent::Document(ReportFormat::Text) } else { StdoutContent::Report }
    }
}

#[derive(Serialize)]
#[serde(transparent)]
struct SchemaRow(Vec<SchemaLine>);

#[derive(Serialize)]
struct SchemaLine {
    name: &'static str,
    about: &'static str,
}

impl CommandReport for SchemaRow {
    fn text(&self) -> String {
        self.0.iter().map(|SchemaLine { name, about }| format!("{name:<9} {about}\n")).collect()
    }
}

/// Prints a schema, or lists all schemas.
pub(crate) fn run(args: &Args) -> CommandResult {
    let Some(name) = &args.name else {
        let lines = file_schemas::ALL.iter().map(|schema| SchemaLine { name: schema.name, about: schema.about });
        return PrintableReport::new(&SchemaRow(lines.collect()));
    };
    let schema = file_schemas::find(name)
        .ok_or_else(|| CommandError::new(ErrorKind::Usage, format!("unknown schema `{name}`")))?;
    Ok(PrintableReport::value_with_text(schema.value(), schema.text()))
}
