//! The chosen id of a new thread.

use uwf_core::thread::ThreadId;

/// The id of a new thread.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ChosenId {
    /// Id of the new thread, a ULID. Repeating the command reports this thread instead of starting another. Exit 64
    /// when another thread has the id.
    #[arg(long = "id", value_name = "ULID", value_parser = ulid)]
    pub(crate) chosen: Option<ThreadId>,
}

/// Parses an id with a time in it: lists sort threads by that time.
fn ulid(text: &str) -> Result<ThreadId, String> {
    let id: Option<ThreadId> = text.parse().ok();
    id.filter(|id| id.time_ms().is_some())
        .ok_or_else(|| "it must be a ULID: 26 symbols, the first one 0 to 7".to_owned())
}
