//! The hidden command that notifies a person about a thread.

use std::time::Duration;

use uwf_core::config::NotifyEvent;
use uwf_core::thread::ThreadId;
use uwf_engine::root::home::Home;
use uwf_engine::verbs::notify;

use crate::error::CommandError;

/// How long a webhook may take to respond.
const LIMIT: Duration = Duration::from_secs(30);

/// Notifies about an event of a thread.
pub(crate) fn run(thread: &str, happening: &str) -> Result<(), CommandError> {
    let unknown = || CommandError::usage(format!("cannot report `{happening}` of `{thread}`"));
    let thread: ThreadId = thread.parse().map_err(|_| unknown())?;
    let happening = NotifyEvent::named(happening).ok_or_else(unknown)?;
    let post = |url: &str, report: &_| match uwf_llm::post_json(url, &[], report, LIMIT) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    };
    Ok(notify::perform(&Home::from_environment()?, &thread, happening, &post)?)
}
