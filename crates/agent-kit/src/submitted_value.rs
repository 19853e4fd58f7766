//! The value that an agent submitted with the submit tool while it is still running. It is stored in a file of the attempt; the last one
//! counts.

use durable_files::regular;
use serde_json::Value;
use uwf_engine::attempt::recorded::AttemptOutputFiles;
use uwf_engine::error::{AtPath, Error, Result};

use crate::context::AgentContext;

/// Stores a value that is valid under the role's schema durably, in place of an earlier one.
///
/// # Errors
/// `Usage` outside an attempt, `Io`.
pub fn keep(context: &AgentContext<'_>, value: &Value) -> Result<()> {
    let Some(files) = files(context) else {
        return Err(Error::usage("results can be submitted only within a step")
            .hint("only an agent that `uwf thread step` started can call this"));
    };
    Ok(durable_files::replace(&files.submitted, value.to_string().as_bytes())?)
}

/// Whether exactly this value is stored.
pub(crate) fn is_kept(context: &AgentContext<'_>, value: &Value) -> bool {
    let text = files(context).and_then(|files| regular::read_to_string(&files.submitted, regular::MAX_OBJECT).ok());
    text.and_then(|text| json_cas::json_value(&text).ok()).is_some_and(|kept| kept == *value)
}

/// Returns the last submitted value, if any. The value stays in its file, so that it survives this process. If the tool is switched off, a
/// file is ignored, except when an answer is read again.
pub fn take(context: &AgentContext<'_>) -> Result<Option<Value>> {
    let is_read_again = context.attempt().is_some_and(|attempt| attempt.opened.reextract.is_some());
    let Some(files) = files(context).filter(|_| is_read_again || context.offers_submit()) else { return Ok(None) };
    let path = &files.submitted;
    let text = match regular::read_to_string(path, regular::MAX_OBJECT) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.path_context("read", path)?,
    };
    // The file is written completely or not at all, so other content was not submitted with the tool.
    Ok(json_cas::json_value(&text).ok())
}

fn files(context: &AgentContext<'_>) -> Option<AttemptOutputFiles> {
    let opened = &context.attempt()?.opened;
    Some(AttemptOutputFiles::paths_of_attempt(context.thread().home(), &opened.thread, &opened.attempt))
}
