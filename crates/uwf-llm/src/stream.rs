//! Reads a streamed reply: bytes → events → pieces → one whole reply.

use serde_json::Value;

use crate::delta::Delta;
use crate::endpoint::{Endpoint, Wire, shown};
use crate::error::{Error, Result};
use crate::http::Incoming;
use crate::sse::{Parser, ServerSentEvent};
use crate::{anthropic, openai};

/// A reply so far, in the form of its wire.
enum Assembly {
    OpenAi(openai::Assembly),
    Anthropic(anthropic::Assembly),
}

impl Assembly {
    fn push(
        &mut self,
        endpoint: &Endpoint,
        event: &ServerSentEvent,
        on_delta: &mut dyn FnMut(Delta<'_>),
    ) -> Result<()> {
        match self {
            Assembly::OpenAi(assembly) => assembly.push(endpoint, event, on_delta),
            Assembly::Anthropic(assembly) => assembly.push(endpoint, event, on_delta),
        }
    }

    fn is_done(&self) -> bool {
        match self {
            Assembly::OpenAi(assembly) => assembly.is_done(),
            Assembly::Anthropic(assembly) => assembly.is_done(),
        }
    }

    /// What had come, for those who get no more: the text, then the arguments of each call.
    fn so_far(&self) -> String {
        let parts = match self {
            Assembly::OpenAi(assembly) => assembly.parts(),
            Assembly::Anthropic(assembly) => assembly.parts(),
        };
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.trim().is_empty()).collect();
        parts.join("\n\n")
    }

    fn finish(self) -> Option<Value> {
        match self {
            Assembly::OpenAi(assembly) => assembly.finish(),
            Assembly::Anthropic(assembly) => assembly.finish(),
        }
    }
}

/// Reads to the end of the reply; what comes back has the form of a reply that is not streamed.
///
/// # Errors
/// [`Error::CutStream`] when the stream ends before the reply does, and those of the connection; both carry what had
/// come.
pub(crate) fn read(
    endpoint: &Endpoint,
    mut incoming: Incoming<'_>,
    on_delta: &mut dyn FnMut(Delta<'_>),
) -> Result<Value> {
    let mut parser = Parser::new();
    let mut assembly = match endpoint.wire {
        Wire::OpenAi => Assembly::OpenAi(openai::Assembly::default()),
        Wire::Anthropic => Assembly::Anthropic(anthropic::Assembly::default()),
    };
    while let Some(bytes) = incoming.chunk().map_err(|error| error.after(&assembly.so_far()))? {
        for event in parser.push(&bytes) {
            push(&mut assembly, endpoint, &event, on_delta)?;
        }
        // Not read to the end of the connection: some servers keep it open after their last word.
        if assembly.is_done() {
            break;
        }
    }
    if let Some(event) = parser.finish() {
        // Half an event is the mark of a cut, which is told below.
        let _ = assembly.push(endpoint, &event, on_delta);
    }
    let partial = assembly.so_far();
    assembly.finish().ok_or_else(|| cut(endpoint, "it ended before the model did", &partial))
}

/// A failure told in the middle of a reply is a cut, so that what had come is kept.
fn push(
    assembly: &mut Assembly,
    endpoint: &Endpoint,
    event: &ServerSentEvent,
    on_delta: &mut dyn FnMut(Delta<'_>),
) -> Result<()> {
    assembly.push(endpoint, event, on_delta).map_err(|error| match error {
        Error::Status { ref message, .. } => match assembly.so_far() {
            nothing if nothing.is_empty() => error,
            partial => cut(endpoint, message, &partial),
        },
        other => other,
    })
}

fn cut(endpoint: &Endpoint, reason: &str, partial: &str) -> Error {
    Error::CutStream { url: shown(&endpoint.chat_url()), reason: reason.to_owned(), partial: partial.to_owned() }
}
