//! What puts the events of a streamed reply together, whatever its wire.

use serde_json::Value;

use crate::delta::Delta;
use crate::endpoint::Endpoint;
use crate::error::{Error, Result};
use crate::sse::ServerSentEvent;

/// A streamed reply as far as it has come, in the form of its wire.
pub(crate) trait Assembly {
    /// Takes one event.
    fn push(&mut self, endpoint: &Endpoint, event: &ServerSentEvent, on_delta: &mut dyn FnMut(Delta<'_>))
    -> Result<()>;

    /// The provider said that this is all.
    fn is_done(&self) -> bool;

    /// Text and arguments of calls so far.
    fn parts(&self) -> Vec<&str>;

    /// The whole reply, as if it were not streamed; `None` when the stream ended before the model did.
    fn finish(self: Box<Self>) -> Option<Value>;
}

/// The JSON of an event, which `what` names.
pub(crate) fn parse(endpoint: &Endpoint, event: &ServerSentEvent, what: &str) -> Result<Value> {
    let value: Value = serde_json::from_str(&event.data)
        .map_err(|error| Error::bad_reply(endpoint, format!("{what} is not JSON ({error})"), &event.data))?;
    Error::inside(endpoint, &value).map_or(Ok(value), Err)
}
