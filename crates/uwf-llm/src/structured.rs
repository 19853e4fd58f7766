//! Asks for one JSON value of a schema, in any mode that the model supports.

mod conversation;
mod form;
mod read;

use std::fmt;

use serde_json::Value;

use crate::client::LlmClient;
use crate::delta::ReplyDelta;
use crate::error::{Error, Result};
use crate::lookups::{LookedUp, LookupTools, NoLookups};
use crate::message::ChatMessage;
use crate::mode::{ModeCache, StructuredMode};
use crate::reply::ChatReply;
use crate::request::ChatRequest;
use crate::usage::LlmUsage;

use conversation::ValueConversation;

/// Description of the value.
#[derive(Debug, Clone, Copy)]
pub struct ValueSpec<'a> {
    /// Name of the value, which becomes the name of the tool or schema: letters, digits, `_` and `-`.
    pub name: &'a str,
    /// Meaning of the value, for the model.
    pub description: &'a str,
    /// JSON Schema of the value.
    pub schema: &'a Value,
    /// Only this mode, whatever worked with the model before.
    pub mode: Option<StructuredMode>,
}

/// One exchange in the attempt to get a value.
#[derive(Debug, Clone, PartialEq)]
pub struct StructuredAttempt {
    /// The mode.
    pub mode: StructuredMode,
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
pub struct StructuredValue {
    /// The value. It is JSON; the caller must validate it against the schema.
    pub value: Value,
    /// Its source text: the arguments of the call, or the text.
    pub text: String,
    /// The mode that worked.
    pub mode: StructuredMode,
    /// Token counts of all attempts together.
    pub usage: Option<LlmUsage>,
    /// All exchanges. The value is from the last one.
    pub attempts: Vec<StructuredAttempt>,
}

/// No value, with all attempts.
#[derive(Debug, Clone, PartialEq)]
pub struct StructuredError {
    /// Why the last attempt failed.
    pub error: Box<Error>,
    /// All exchanges.
    pub attempts: Vec<StructuredAttempt>,
}

impl fmt::Display for StructuredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for StructuredError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// Asks for a value. Begins with the mode that last worked with this model (`cache`), otherwise with the most reliable one. Tries the next
/// mode if the provider rejects one (400, 404, 422) or the model returns no JSON, and remembers the mode that worked. Replaces the tools
/// and format of `request`. Does not validate the value.
///
/// For a streamed request, `on_delta` gets every piece as it arrives, as in [`LlmClient::chat_with`]. [`ReplyDelta::Restart`] marks a reply as
/// dropped when the next mode is tried.
///
/// # Errors
/// [`StructuredError`] if no mode works or another error occurs. It has every reply, because they were paid for.
pub fn structured(
    client: &LlmClient,
    cache: &ModeCache,
    request: &ChatRequest,
    shape: &ValueSpec<'_>,
    on_delta: &mut dyn FnMut(ReplyDelta<'_>),
) -> std::result::Result<StructuredValue, StructuredError> {
    StructuredRequest { client, cache, request, shape, on_delta, lookups: &mut NoLookups, attempts: Vec::new() }.run()
}

/// Like [`structured()`], for a model that can look things up first. A mode with tools also offers those of `lookups`; the model must call
/// one of them or give the value. In other modes the model gets the message of `lookups` instead. The mode that worked is remembered
/// separately: some models can be forced to call one tool, but not to choose among several.
pub fn structured_with_lookups(
    client: &LlmClient,
    cache: &ModeCache,
    request: &ChatRequest,
    shape: &ValueSpec<'_>,
    lookups: &mut dyn LookupTools,
    on_delta: &mut dyn FnMut(ReplyDelta<'_>),
) -> std::result::Result<StructuredValue, StructuredError> {
    StructuredRequest { client, cache, request, shape, on_delta, lookups, attempts: Vec::new() }.run()
}

/// A request for one value.
struct StructuredRequest<'a> {
    client: &'a LlmClient,
    cache: &'a ModeCache,
    request: &'a ChatRequest,
    shape: &'a ValueSpec<'a>,
    lookups: &'a mut dyn LookupTools,
    on_delta: &'a mut dyn FnMut(ReplyDelta<'_>),
    attempts: Vec<StructuredAttempt>,
}

impl StructuredRequest<'_> {
    /// Tries the modes in order until there is a value.
    fn run(mut self) -> std::result::Result<StructuredValue, StructuredError> {
        let endpoint = self.client.endpoint();
        let looks_up = self.lookups.max_rounds() > 0;
        let known = self.cache.get(endpoint, looks_up);
        let first = self.shape.mode.or(known).unwrap_or(StructuredMode::ForcedTool);
        let most = if self.shape.mode.is_some() { 1 } else { StructuredMode::LADDER.len() };
        let mut rounds = self.lookups.max_rounds();
        let mut error = None;
        for mode in StructuredMode::from(first, endpoint.wire).take(most) {
            match self.ask(mode, &mut rounds) {
                Ok((value, text)) => {
                    if self.shape.mode.is_none() && known != Some(mode) {
                        // A cache that cannot be written costs only one rejected request the next time.
                        let _ = self.cache.remember(endpoint, looks_up, mode);
                    }
                    let attempts = self.attempts;
                    return Ok(StructuredValue { value, text, mode, usage: usage(&attempts), attempts });
                }
                Err(failed) if failed.is_refusal() || matches!(failed, Error::NoValue { .. }) => error = Some(failed),
                Err(failed) => return Err(StructuredError { error: Box::new(failed), attempts: self.attempts }),
            }
        }
        let none = || Error::NoValue { model: endpoint.model.clone(), text: String::new() };
        Err(StructuredError { error: Box::new(error.unwrap_or_else(none)), attempts: self.attempts })
    }

    /// Tries one mode: returns the value and its source text. `rounds` is the number of lookup rounds left.
    fn ask(&mut self, mode: StructuredMode, rounds: &mut u32) -> Result<(Value, String)> {
        let mut conversation = ValueConversation::new(self.request, self.shape, mode, self.lookups, *rounds);
        if self.request.stream && self.attempts.iter().any(|attempt| attempt.reply.is_some()) {
            (self.on_delta)(ReplyDelta::Restart);
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
        conversation: &mut ValueConversation<'_>,
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
fn usage(attempts: &[StructuredAttempt]) -> Option<LlmUsage> {
    let mut counts = attempts.iter().filter_map(|attempt| attempt.reply.as_ref()).map(|reply| reply.usage);
    counts.next()?.and_then(|first| counts.try_fold(first, |sum, next| Some(sum.plus(next?))))
}
