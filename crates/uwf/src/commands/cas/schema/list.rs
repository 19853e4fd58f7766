//! `uwf cas schema list`

use json_cas::StoreError;
use uwf_engine::root::type_index::TypeIndex;

use crate::commands::cas::NodeListRow;
use crate::context::CommandContext;
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf cas schema list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uwf cas schema list
  uwf cas schema list | jq -r '.[] | select(.title == \"solve-issue.reviewer\").hash'

`title` comes from the schema itself.")]
pub(crate) struct Args {}

/// Lists the schemas.
pub(crate) fn run(context: &CommandContext, _args: &Args) -> CommandResult {
    let nodes = context.home.store().objects().list(None)?;
    let mut index = TypeIndex::load(&context.home);
    let rows = nodes.into_iter().filter_map(|hash| {
        let found = index.type_of(hash).and_then(|type_hash| Ok((type_hash, index.is_meta_schema(type_hash)?)));
        match found {
            Ok((type_hash, true)) => {
                Some(Ok(NodeListRow { hash, r#type: Some(type_hash), title: index.title(hash), problem: None }))
            }
            Ok((_, false)) | Err(StoreError::NotFound { .. }) => None,
            Err(error) if error.is_of_the_moment() => Some(Err(error.into())),
            Err(error) => {
                context.printer.warn(&format!("{error}; it is left out"));
                None
            }
        }
    });
    let printed = context.printer.rows(rows);
    index.save();
    printed?;
    Ok(PrintableReport::nothing())
}
