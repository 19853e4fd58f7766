//! One exchange with a model, with its retries.

use std::fmt;
use std::time::Instant;

use serde_json::Value;

use crate::delta::ReplyDelta;
use crate::endpoint::{LlmWireFormat, ModelEndpoint};
use crate::error::{Error, Result};
use crate::http::{EndpointConnections, LlmTimeouts};
use crate::reply::ChatReply;
use crate::request::ChatRequest;
use crate::retry::{RetryLimits, RetryNotice};
use crate::stream;
use crate::{anthropic, openai};

/// Most fields of one request that are changed because the model rejects them.
const MAX_CONCESSIONS: usize = 4;

type RetryHook = Box<dyn Fn(&RetryNotice<'_>) + Send + Sync>;

/// Talks to one model. Connections are kept open between exchanges.
pub struct LlmClient {
    endpoint: ModelEndpoint,
    http: EndpointConnections,
    timeouts: LlmTimeouts,
    retry: RetryLimits,
    on_retry: Option<RetryHook>,
}

impl fmt::Debug for LlmClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("endpoint", &self.endpoint)
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

impl LlmClient {
    /// A client; nothing is sent yet.
    ///
    /// # Errors
    /// [`Error::Endpoint`] if the base URL is not an HTTP URL, or the certificates of `SSL_CERT_FILE` cannot be read.
    pub fn new(endpoint: ModelEndpoint, timeouts: LlmTimeouts, retry: RetryLimits) -> Result<LlmClient> {
        Ok(LlmClient {
            http: EndpointConnections::new(&endpoint, timeouts)?,
            endpoint,
            timeouts,
            retry,
            on_retry: None,
        })
    }

    /// The same client, which reports every failed attempt that is retried.
    #[must_use]
    pub fn on_retry(mut self, hook: impl Fn(&RetryNotice<'_>) + Send + Sync + 'static) -> LlmClient {
        self.on_retry = Some(Box::new(hook));
        self
    }

    /// The model it talks to.
    pub fn endpoint(&self) -> &ModelEndpoint {
        &self.endpoint
    }

    /// The body of a request, for traces. It does not contain the key.
    pub fn body(&self, request: &ChatRequest) -> Value {
        match self.endpoint.wire {
            LlmWireFormat::OpenAi => openai::body(&self.endpoint.model, request),
            LlmWireFormat::Anthropic => anthropic::body(&self.endpoint.model, request),
        }
    }

    /// Sends a request and waits for the whole reply.
    ///
    /// # Errors
    /// [`Error`]; transient errors were retried as often as [`RetryLimits`] says.
    pub fn chat(&self, request: &ChatRequest) -> Result<ChatReply> {
        self.chat_with(request, &mut |_| {})
    }

    /// Like [`LlmClient::chat`], but passes on each piece of a streamed reply as it arrives. A reply that breaks off is requested again, which
    /// [`ReplyDelta::Restart`] reports.
    ///
    /// # Errors
    /// As [`LlmClient::chat`]. [`Error::partial`] is the text received so far.
    pub fn chat_with(&self, request: &ChatRequest, on_delta: &mut dyn FnMut(ReplyDelta<'_>)) -> Result<ChatReply> {
        let mut body = self.body(request);
        let deadline = Instant::now() + self.timeouts.total;
        let mut concessions = 0;
        loop {
            let result = self.with_retries(deadline, |first| {
                if !first && request.stream {
                    on_delta(ReplyDelta::Restart);
                }
                self.exchange(&body, deadline, on_delta)
            });
            match result {
                Err(Error::Status { code: 400 | 422, ref message, .. })
                    if concessions < MAX_CONCESSIONS && concede(&mut body, message) =>
                {
                    concessions += 1;
                }
                other => return other,
            }
        }
    }

    /// Names of the provider's models, in its order.
    pub fn models(&self) -> Result<Vec<String>> {
        let url = self.endpoint.models_url();
        let deadline = Instant::now() + self.timeouts.total;
        let list = self.with_retries(deadline, |_| self.http.get(&url, deadline)?.json())?;
        // OpenAI and Anthropic: `data`; some local servers: a plain list, or `models`.
        let models = ["/data", "/models", ""].iter().find_map(|place| list.pointer(place).and_then(Value::as_array));
        let Some(models) = models else {
            return Err(Error::bad_reply(&self.endpoint, "it has no list of models", &list.to_string()));
        };
        let name = |model: &Value| ["id", "name"].iter().find_map(|key| model.get(key)?.as_str().map(str::to_owned));
        Ok(models.iter().filter_map(name).collect())
    }

    fn exchange(&self, body: &Value, deadline: Instant, on_delta: &mut dyn FnMut(ReplyDelta<'_>)) -> Result<ChatReply> {
        let sent = Instant::now();
        let incoming = self.http.post(&self.endpoint.chat_url(), body, deadline)?;
        // A server that cannot stream sends one piece, whatever the request says.
        let raw =
            if incoming.is_stream { stream::read(&self.endpoint, incoming, on_delta)? } else { incoming.json()? };
        let reply = match self.endpoint.wire {
            LlmWireFormat::OpenAi => openai::reply(&self.endpoint, raw),
            LlmWireFormat::Anthropic => anthropic::reply(&self.endpoint, raw),
        }?;
        Ok(ChatReply { latency: sent.elapsed(), ..reply })
    }

    /// Retries until success, a final error, the last attempt, or a retry that would be too late. `attempt` gets whether it is the first.
    /// The error has the most recent partial text, even from an earlier attempt.
    fn with_retries<T>(&self, deadline: Instant, mut attempt: impl FnMut(bool) -> Result<T>) -> Result<T> {
        let mut number = 1;
        let mut had_come = String::new();
        loop {
            let error = match attempt(number == 1) {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            if !error.partial().is_empty() {
                error.partial().clone_into(&mut had_come);
            }
            let wait = self.retry.wait(&error, number, fastrand::f64());
            let Some(wait) = wait.filter(|wait| Instant::now() + *wait < deadline) else {
                return Err(error.after(&had_come));
            };
            if let Some(hook) = &self.on_retry {
                hook(&RetryNotice { attempt: number, of: self.retry.attempts, wait, error: &error });
            }
            std::thread::sleep(wait);
            number += 1;
        }
    }
}

/// Changes a body according to the provider's error about this model. Newer models of OpenAI require another name for the token limit and
/// take no temperature, some servers don't support `stream_options`, and each model of Anthropic has a maximum for `max_tokens`. False if
/// the error concerns something else.
fn concede(body: &mut Value, refusal: &str) -> bool {
    let Some(fields) = body.as_object_mut() else { return false };
    if refusal.contains("max_completion_tokens")
        && let Some(limit) = fields.shift_remove("max_tokens")
    {
        fields.insert("max_completion_tokens".to_owned(), limit);
        return true;
    }
    if refusal.contains("max_tokens") && lower_limit(fields, refusal) {
        return true;
    }
    ["temperature", "stream_options"]
        .iter()
        .any(|field| refusal.contains(field) && fields.shift_remove(*field).is_some())
}

/// Sets `max_tokens` to the lower number in an error (`max_tokens: 16384 > 8192, which is the maximum`).
fn lower_limit(fields: &mut serde_json::Map<String, Value>, refusal: &str) -> bool {
    let Some(limit) = fields.get("max_tokens").and_then(Value::as_u64) else { return false };
    let about = refusal.find("max_tokens").map_or("", |at| &refusal[at..]);
    let numbers = about.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse::<u64>().ok());
    // Smaller numbers are not token limits, but parts of names and dates.
    match numbers.filter(|number| (256..limit).contains(number)).max() {
        Some(lower) => fields.insert("max_tokens".to_owned(), lower.into()).is_some(),
        None => false,
    }
}
