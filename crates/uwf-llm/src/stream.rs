//! Reads a streamed reply: bytes → events → pieces → one whole reply.

use serde_json::Value;

use crate::assembly::ReplyAssembly;
use crate::delta::ReplyDelta;
use crate::endpoint::{LlmWireFormat, ModelEndpoint, shown};
use crate::error::{Error, Result};
use crate::http::IncomingResponse;
use crate::sse::{ServerSentEvent, SseParser};
use crate::{anthropic, openai};

/// The text received so far, then the arguments of each call, for errors.
fn so_far(assembly: &dyn ReplyAssembly) -> String {
    let parts: Vec<&str> = assembly.parts().into_iter().filter(|part| !part.trim().is_empty()).collect();
    parts.join("\n\n")
}

/// Reads to the end of the reply, and returns it in unstreamed form.
///
/// # Errors
/// [`Error::CutStream`] if the stream ends before the reply does, and connection errors; both have the text received so far.
pub(crate) fn read(
    endpoint: &ModelEndpoint,
    mut incoming: IncomingResponse<'_>,
    on_delta: &mut dyn FnMut(ReplyDelta<'_>),
) -> Result<Value> {
    let mut parser = SseParser::new();
    let mut assembly: Box<dyn ReplyAssembly> = match endpoint.wire {
        LlmWireFormat::OpenAi => Box::new(openai::OpenAiAssembly::default()),
        LlmWireFormat::Anthropic => Box::new(anthropic::AnthropicAssembly::default()),
    };
    while let Some(bytes) = incoming.chunk().map_err(|error| error.after(&so_far(&*assembly)))? {
        for event in parser.push(&bytes) {
            push(&mut *assembly, endpoint, &event, on_delta)?;
        }
        // Don't read to the end of the connection: some servers keep it open after the reply.
        if assembly.is_done() {
            break;
        }
    }
    if let Some(event) = parser.finish() {
        // Half an event means a cut stream, which is reported below.
        let _ = assembly.push(endpoint, &event, on_delta);
    }
    let partial = so_far(&*assembly);
    assembly.finish().ok_or_else(|| cut(endpoint, "it ended before the model did", &partial))
}

/// An error reported within a reply counts as a cut stream, so that the text received so far is kept.
fn push(
    assembly: &mut dyn ReplyAssembly,
    endpoint: &ModelEndpoint,
    event: &ServerSentEvent,
    on_delta: &mut dyn FnMut(ReplyDelta<'_>),
) -> Result<()> {
    assembly.push(endpoint, event, on_delta).map_err(|error| match error {
        Error::Status { ref message, .. } => match so_far(assembly) {
            nothing if nothing.is_empty() => error,
            partial => cut(endpoint, message, &partial),
        },
        other => other,
    })
}

fn cut(endpoint: &ModelEndpoint, reason: &str, partial: &str) -> Error {
    Error::CutStream { url: shown(&endpoint.chat_url()), reason: reason.to_owned(), partial: partial.to_owned() }
}
