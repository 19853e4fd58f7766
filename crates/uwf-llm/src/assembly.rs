//! Assembly of streamed replies, for any wire.

use serde_json::Value;

use crate::delta::ReplyDelta;
use crate::endpoint::ModelEndpoint;
use crate::error::{Error, Result};
use crate::sse::ServerSentEvent;

/// A streamed reply so far, in the form of its wire.
pub(crate) trait ReplyAssembly {
    /// Adds one event.
    fn push(
        &mut self,
        endpoint: &ModelEndpoint,
        event: &ServerSentEvent,
        on_delta: &mut dyn FnMut(ReplyDelta<'_>),
    ) -> Result<()>;

    /// Whether the provider has sent the end mark.
    fn is_done(&self) -> bool;

    /// Text and arguments of calls so far.
    fn parts(&self) -> Vec<&str>;

    /// The whole reply in unstreamed form; `None` if the stream ended before the model did.
    fn finish(self: Box<Self>) -> Option<Value>;
}

/// The JSON of an event. `name` names the event in errors.
pub(crate) fn parse(endpoint: &ModelEndpoint, event: &ServerSentEvent, name: &str) -> Result<Value> {
    let value: Value = serde_json::from_str(&event.data)
        .map_err(|error| Error::bad_reply(endpoint, format!("{name} is not JSON ({error})"), &event.data))?;
    Error::inside(endpoint, &value).map_or(Ok(value), Err)
}
