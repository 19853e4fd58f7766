//! `uwf store init`

use json_cas::StoreError;
use serde_json::json;
use uwf_engine::error::{Error, ErrorKind};
use uwf_engine::root::node_types;

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::printer::{CommandResult, PrintableReport};

/// Arguments of `uwf store init`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  UWF_STORE_URL=s3://team-bucket/uwf uwf store init
  UWF_STORE_URL=az://team-container/uwf AZURE_STORAGE_ACCOUNT=team uwf store init
  uwf config set store.url postgres://uwf@db.example/uwf && uwf store init

The bucket or the database must exist. You can run this again at any time, on several machines at once, and after an
update of uwf: a prepared store is not changed. uwf rejects a server that would let machines overwrite each other's
data.")]
pub(crate) struct Args {}

/// Prepares the shared store.
pub(crate) fn run(context: &CommandContext, _args: &Args) -> CommandResult {
    let home = &context.home;
    let Some(shared) = home.shared() else {
        let message = "no shared store is configured; local files need no initialization";
        return Err(CommandError::new(ErrorKind::Usage, message)
            .hint("name a shared store: UWF_STORE_URL=s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or postgres://HOST/DATABASE"));
    };
    let is_new = shared.init().map_err(|error| Error::from(StoreError::from(error)))?;
    node_types::ensure(home)?;
    let text = format!("{} is ready{}\n", shared.name(), if is_new { "" } else { "; it was before" });
    Ok(PrintableReport::value_with_text(json!({ "store": shared.name(), "initialized": is_new }), text))
}
