//! Asks for one JSON value of a schema, in any mode that the model supports.

mod conversation;
mod form;
mod read;

use std::fmt;

use serde_json::Value;

use crate::client::Client;
use crate::delta::Delta;
use crate::error::{Error, Result};
use crate::lookups::{LookedUp, Lookups, Nothing};
use crate::message::ChatMessage;
use crate::mode::{Mode, ModeCache};
use crate::reply::ChatReply;
use crate::request::ChatRequest;
use crate::usage::Usage;

use conversation::Conversation;

/// Description of the value.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    /// Name of the value, which becomes the name of the tool or schema: letters, digits, `_` and `-`.
    pub name: &'a str,
    /// Meaning of the value, for the model.
    pub description: &'a str,
    /// JSON Schema of the value.
    pub schema: &'a Value,
    /// Only this mode, whatever worked with the model before.
    pub mode: Option<Mode>,
}

/// One exchange in the attempt to get a value.
#[derive(Debug, Clone, PartialEq)]
pub struct StructuredAttempt {
    /// The mode.
    pub mode: Mode,
    /// Messages sent after the request's own: the mode's instruction, and everything since.
    pub added: Vec<ChatMessage>,
    /// The reply, if there was one.
    pub reply: Option<ChatReply>,
    /// Tool results the model asked for before it gave a value.
    pub looked_up: Vec<LookedUp>,
    /// Why it gave no value.
    pub error: Option<Error>,
}

/// A value, and how it was obtained.
#[derive(Debug, Clone, PartialEq)]
pub struct Structured {
    /// The value. It is JSON; the caller must validate it against the schema.
    pub value: Value,
    /// Its source text: the arguments of the call, or the text.
    pub text: String,
    /// The mode that worked.
    pub mode: Mode,
    /// Token counts of all attempts together.
    pub usage: Option<Usage>,
    /// All exchanges. The value is from the last one.
    pub attempts: Vec<StructuredAttempt>,
}

/// No value, with all attempts.
#[derive(Debug, Clone, PartialEq)]
pub struct Unstructured {
    /// Why the last attempt failed.
    pub error: Box<Error>,
    /// All exchanges.
    pub attempts: Vec<StructuredAttempt>,
}

impl fmt::Display for Unstructured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Unstructured {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// Asks for a value. Begins with the mode that last worked with this model (`cache`), otherwise with the most reliable one. Tries the next
/// mode if the provider rejects one (400, 404, 422) or the model returns no JSON, and remembers the mode that worked. Replaces the tools
/// and format of `request`. Does not validate the value.
///
/// For a streamed request, `on_delta` gets every piece as it arrives, as in [`Client::chat_with`]. [`Delta::Restart`] marks a reply as
/// dropped when the next mode is tried.
///
/// # Errors
/// [`Unstructured`] if no mode works or another error occurs. It has every reply, because they were paid for.
pub fn structured(
    client: &Client,
    cache: &ModeCache,
    request: &ChatRequest,
    shape: &Shape<'_>,
    on_delta: &mut dyn FnMut(Delta<'_>),
) -> std::result::Result<Structured, Unstructured> {
    Asking { client, cache, request, shape, on_delta, lookups: &mut Nothing, attempts: Vec::new() }.run()
}

/// Like [`structured()`], for a model that can look things up first. A mode with tools also offers those of `lookups`; the model must call
/// one of them or give the value. In other modes the model gets the message of `lookups` instead. The mode that worked is remembered
/// separately: some models can be forced to call one tool, but not to choose among several.
///
/// # Errors
/// As [`structured()`].
pub fn structured_with_lookups(
    client: &Client,
    cache: &ModeCache,
    request: &ChatRequest,
    shape: &Shape<'_>,
    lookups: &mut dyn Lookups,
    on_delta: &mut dyn FnMut(Delta<'_>),
) -> std::result::Result<Structured, Unstructured> {
    Asking { client, cache, request, shape, on_delta, lookups, attempts: Vec::new() }.run()
}

/// A request for one value.
struct Asking<'a> {
    client: &'a Client,
    cache: &'a ModeCache,
    request: &'a ChatRequest,
    shape: &'a Shape<'a>,
    lookups: &'a mut dyn Lookups,
    on_delta: &'a mut dyn FnMut(Delta<'_>),
    attempts: Vec<StructuredAttempt>,
}

impl Asking<'_> {
    /// Tries the modes in order until there is a value.
    fn run(mut self) -> std::result::Result<Structured, Unstructured> {
        let endpoint = self.client.endpoint();
        let looks_up = self.lookups.max_rounds() > 0;
        let known = self.cache.get(endpoint, looks_up);
        let first = self.shape.mode.or(known).unwrap_or(Mode::ForcedTool);
        let most = if self.shape.mode.is_some() { 1 } else { Mode::LADDER.len() };
        let mut rounds = self.lookups.max_rounds();
        let mut error = None;
        for mode in Mode::from(first, endpoint.wire).take(most) {
            match self.ask(mode, &mut rounds) {
                Ok((value, text)) => {
                    if self.shape.mode.is_none() && known != Some(mode) {
                        // A cache that cannot be written costs only one rejected request the next time.
                        let _ = self.cache.remember(endpoint, looks_up, mode);
                    }
                    let attempts = self.attempts;
                    return Ok(Structured { value, text, mode, usage: usage(&attempts), attempts });
                }
                Err(failed) if failed.is_refusal() || matches!(failed, Error::NoValue { .. }) => error = Some(failed),
                Err(failed) => return Err(Unstructured { error: Box::new(failed), attempts: self.attempts }),
            }
        }
        let none = || Error::NoValue { model: endpoint.model.clone(), text: String::new() };
        Err(Unstructured { error: Box::new(error.unwrap_or_else(none)), attempts: self.attempts })
    }

    /// Tries one mode: returns the value and its source text. `rounds` is the number of lookup rounds left.
    fn ask(&mut self, mode: Mode, rounds: &mut u32) -> Result<(Value, String)> {
        let mut conversation = Conversation::new(self.request, self.shape, mode, self.lookups, *rounds);
        if self.request.stream && self.attempts.iter().any(|attempt| attempt.reply.is_some()) {
            (self.on_delta)(Delta::Restart);
        }
        loop {
            let added = conversation.added().to_vec();
            let mut attempt = StructuredAttempt { mode, added, reply: None, looked_up: Vec::new(), error: None };
            let came = self.exchange(&mut conversation, &mut attempt, rounds);
            attempt.error = came.as_ref().err().cloned();
            self.attempts.push(attempt);
            if let Some(value) = came? {
                return Ok(value);
            }
        }
    }

    /// One exchange, recorded in `attempt`; `None` if the reply was a lookup and the conversation continues.
    fn exchange(
        &mut self,
        conversation: &mut Conversation<'_>,
        attempt: &mut StructuredAttempt,
        rounds: &mut u32,
    ) -> Result<Option<(Value, String)>> {
        let reply = &*attempt.reply.insert(self.client.chat_with(&conversation.request, self.on_delta)?);
        if *rounds > 0 && conversation.asks_to_look_up(reply) {
            *rounds -= 1;
            attempt.looked_up = conversation.look_up(reply, self.lookups, *rounds);
            return Ok(None);
        }
        read::read(&self.client.endpoint().model, self.shape, attempt.mode, reply).map(Some)
    }
}

/// The usage of all attempts; `None` if one of the replies has none.
fn usage(attempts: &[StructuredAttempt]) -> Option<Usage> {
    let mut counts = attempts.iter().filter_map(|attempt| attempt.reply.as_ref()).map(|reply| reply.usage);
    counts.next()?.and_then(|first| counts.try_fold(first, |sum, next| Some(sum.plus(next?))))
}
