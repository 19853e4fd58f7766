//! One JSON value of a schema, out of whatever way of asking the model understands.

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

/// What the value is to be.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    /// Name of the value, which becomes that of the tool or schema: letters, digits, `_` and `-`.
    pub name: &'a str,
    /// What the value is, for the model to read.
    pub description: &'a str,
    /// JSON Schema of the value.
    pub schema: &'a Value,
    /// Only this mode, whatever was learned about the model.
    pub mode: Option<Mode>,
}

/// One exchange on the way to a value.
#[derive(Debug, Clone, PartialEq)]
pub struct StructuredAttempt {
    /// How it was asked for.
    pub mode: Mode,
    /// What was sent after the messages of the request: what the mode says in words, and what was said since.
    pub added: Vec<ChatMessage>,
    /// What came, if anything did.
    pub reply: Option<ChatReply>,
    /// Tool results it asked for before it gave a value.
    pub looked_up: Vec<LookedUp>,
    /// Why it was not it.
    pub error: Option<Error>,
}

/// A value and how it was got.
#[derive(Debug, Clone, PartialEq)]
pub struct Structured {
    /// The value. It is JSON; whether it is valid under the schema is for the caller to check.
    pub value: Value,
    /// What it was read from: the arguments of the call, or the text.
    pub text: String,
    /// How it was asked for.
    pub mode: Mode,
    /// Counts of tokens of all attempts together.
    pub usage: Option<Usage>,
    /// All exchanges; the last is the one the value is from.
    pub attempts: Vec<StructuredAttempt>,
}

/// No value, and everything that was tried.
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

/// Asks for a value. Begins with what worked with this model the last time (`cache`), else with the most dependable
/// way, and steps down when the provider refuses it (400, 404, 422) or the model gives no JSON; what works is remembered.
/// Tools and format of `request` are replaced. The value is not validated.
///
/// Of a streamed request, `on_delta` gets every piece as it comes, as by [`Client::chat_with`]; where the ladder steps
/// down from a reply, [`Delta::Restart`] says that it does not count.
///
/// # Errors
/// [`Unstructured`] when no way works, or something else is wrong; it carries every reply, for they were paid for.
pub fn structured(
    client: &Client,
    cache: &ModeCache,
    request: &ChatRequest,
    shape: &Shape<'_>,
    on_delta: &mut dyn FnMut(Delta<'_>),
) -> std::result::Result<Structured, Unstructured> {
    Asking { client, cache, request, shape, on_delta, lookups: &mut Nothing, attempts: Vec::new() }.run()
}

/// As [`structured()`], of a model that may look something up first. In a mode with tools it is offered those of `lookups`
/// too and must call one of them or give the value; in the others it gets what `lookups` says instead. What
/// works is remembered apart from what works without lookups: some models can be forced to call one tool, but not to
/// choose among several.
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

/// One value being asked for.
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
    /// Down the ladder until there is a value.
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
                        // A cache that cannot be written costs one refused request the next time, no more.
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

    /// One way of asking: the value and the text it was read from. `rounds` is how often something may still be looked up.
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

    /// One exchange, written down in `attempt`; `None` when the reply was a lookup and the conversation continues.
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

/// All attempts together; unknown as soon as one of the replies is.
fn usage(attempts: &[StructuredAttempt]) -> Option<Usage> {
    let mut counts = attempts.iter().filter_map(|attempt| attempt.reply.as_ref()).map(|reply| reply.usage);
    counts.next()?.and_then(|first| counts.try_fold(first, |sum, next| Some(sum.plus(next?))))
}
