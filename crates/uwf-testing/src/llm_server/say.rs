//! An answer of the scripted model, independent of the wire.

use std::time::Duration;

use serde_json::{Value, json};

/// Token counts of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScriptedUsage {
    /// Input tokens, including cached ones.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Part of `input` from a cache.
    pub cached: Option<u64>,
    /// Part of `input` written to a cache.
    pub cache_write: u64,
    /// Part of `output` spent on reasoning.
    pub reasoning: Option<u64>,
    /// US dollars.
    pub cost: Option<f64>,
}

impl Default for ScriptedUsage {
    /// 11 input tokens, 7 output tokens, nothing else.
    fn default() -> ScriptedUsage {
        ScriptedUsage { input: 11, output: 7, cached: None, cache_write: 0, reasoning: None, cost: None }
    }
}

/// How the bytes of an answer are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerDelivery {
    /// Normally.
    Whole,
    /// The connection is closed before any byte is sent.
    HangUp,
    /// The connection is closed after this many pieces (events of a stream, or bytes of another body).
    Cut(usize),
    /// After this many pieces nothing is sent, and the connection stays open.
    Stall(usize),
    /// In pieces of this many bytes with this pause before each.
    Trickle(usize, Duration),
}

/// An HTTP answer that is not from a model.
#[derive(Debug, Clone)]
pub(crate) struct RawHttpResponse {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) body: String,
}

/// One answer.
#[derive(Debug, Clone)]
pub struct ScriptedAnswer {
    pub(crate) text: String,
    pub(crate) thinking: String,
    pub(crate) calls: Vec<(String, String)>,
    pub(crate) chunks: Option<Vec<String>>,
    pub(crate) usage: Option<ScriptedUsage>,
    pub(crate) cut_at_max_tokens: bool,
    pub(crate) raw: Option<RawHttpResponse>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) delay: Duration,
    pub(crate) pause: Duration,
    pub(crate) travel: AnswerDelivery,
    pub(crate) never_streams: bool,
    pub(crate) only_if: Option<String>,
    pub(crate) repeats: bool,
}

impl ScriptedAnswer {
    /// A text.
    pub fn text(text: impl Into<String>) -> ScriptedAnswer {
        ScriptedAnswer {
            text: text.into(),
            thinking: String::new(),
            calls: Vec::new(),
            chunks: None,
            usage: Some(ScriptedUsage::default()),
            cut_at_max_tokens: false,
            raw: None,
            headers: Vec::new(),
            delay: Duration::ZERO,
            pause: Duration::ZERO,
            travel: AnswerDelivery::Whole,
            never_streams: false,
            only_if: None,
            repeats: false,
        }
    }

    /// A call of a tool.
    pub fn call(name: &str, arguments: Value) -> ScriptedAnswer {
        ScriptedAnswer::text("").and_call(name, arguments)
    }

    /// An error of a status, with a message in the wire's form.
    pub fn status(status: u16, message: &str) -> ScriptedAnswer {
        let kind = match status {
            400 | 422 => "invalid_request_error",
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        let error = json!({ "type": "error", "error": { "type": kind, "message": message } });
        ScriptedAnswer::raw(status, "application/json", error.to_string())
    }

    /// Any HTTP answer.
    pub fn raw(status: u16, content_type: &str, body: impl Into<String>) -> ScriptedAnswer {
        let raw = RawHttpResponse { status, content_type: content_type.to_owned(), body: body.into() };
        ScriptedAnswer { raw: Some(raw), ..ScriptedAnswer::text("") }
    }

    /// No answer: the connection is closed.
    pub fn hang_up() -> ScriptedAnswer {
        ScriptedAnswer { travel: AnswerDelivery::HangUp, ..ScriptedAnswer::text("") }
    }

    /// Adds a call.
    #[must_use]
    pub fn and_call(self, name: &str, arguments: Value) -> ScriptedAnswer {
        self.and_call_as_written(name, arguments.to_string())
    }

    /// Adds a call with arguments that need not be JSON.
    #[must_use]
    pub fn and_call_as_written(mut self, name: &str, arguments: impl Into<String>) -> ScriptedAnswer {
        self.calls.push((name.to_owned(), arguments.into()));
        self
    }

    /// Adds reasoning before it.
    #[must_use]
    pub fn thinking(self, thinking: impl Into<String>) -> ScriptedAnswer {
        ScriptedAnswer { thinking: thinking.into(), ..self }
    }

    /// Sets its token counts; the default is [`ScriptedUsage::default`].
    #[must_use]
    pub fn usage(self, usage: ScriptedUsage) -> ScriptedAnswer {
        ScriptedAnswer { usage: Some(usage), ..self }
    }

    /// Omits token counts.
    #[must_use]
    pub fn without_usage(self) -> ScriptedAnswer {
        ScriptedAnswer { usage: None, ..self }
    }

    /// The model stopped at its token limit.
    #[must_use]
    pub fn cut_at_max_tokens(self) -> ScriptedAnswer {
        ScriptedAnswer { cut_at_max_tokens: true, ..self }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> ScriptedAnswer {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Waits before the answer.
    #[must_use]
    pub fn after(self, delay: Duration) -> ScriptedAnswer {
        ScriptedAnswer { delay, ..self }
    }

    /// The pieces of the text in a stream.
    #[must_use]
    pub fn chunks<S: Into<String>>(self, chunks: impl IntoIterator<Item = S>) -> ScriptedAnswer {
        let chunks: Vec<String> = chunks.into_iter().map(Into::into).collect();
        ScriptedAnswer { text: chunks.concat(), chunks: Some(chunks), ..self }
    }

    /// Waits before every piece of a stream after the first.
    #[must_use]
    pub fn pausing(self, pause: Duration) -> ScriptedAnswer {
        ScriptedAnswer { pause, ..self }
    }

    /// The connection is closed after this many events of a stream, or bytes of another body.
    #[must_use]
    pub fn cut_after(self, pieces: usize) -> ScriptedAnswer {
        ScriptedAnswer { travel: AnswerDelivery::Cut(pieces), ..self }
    }

    /// After this many events of a stream, or bytes of another body, nothing is sent until the client gives up.
    #[must_use]
    pub fn stalling_after(self, pieces: usize) -> ScriptedAnswer {
        ScriptedAnswer { travel: AnswerDelivery::Stall(pieces), ..self }
    }

    /// Sends this many bytes of the body at a time, with a pause before each.
    #[must_use]
    pub fn trickling(self, bytes: usize, pause: Duration) -> ScriptedAnswer {
        ScriptedAnswer { travel: AnswerDelivery::Trickle(bytes.max(1), pause), ..self }
    }

    /// Sends one piece, even if a stream was requested.
    #[must_use]
    pub fn never_streamed(self) -> ScriptedAnswer {
        ScriptedAnswer { never_streams: true, ..self }
    }

    /// Answers only a request whose body contains this text; other requests get other answers.
    #[must_use]
    pub fn only_if(self, contains: &str) -> ScriptedAnswer {
        ScriptedAnswer { only_if: Some(contains.to_owned()), ..self }
    }

    /// Repeats the answer for further requests.
    #[must_use]
    pub fn repeated(self) -> ScriptedAnswer {
        ScriptedAnswer { repeats: true, ..self }
    }

    /// The pieces of the text in a stream; two by default.
    pub(crate) fn pieces(&self) -> Vec<String> {
        match &self.chunks {
            Some(chunks) => chunks.clone(),
            None => halves(&self.text),
        }
    }

    pub(crate) fn finish<'a>(&self, stop: &'a str, calls: &'a str, length: &'a str) -> &'a str {
        match (self.cut_at_max_tokens, self.calls.is_empty()) {
            (true, _) => length,
            (false, true) => stop,
            (false, false) => calls,
        }
    }
}

/// A text in two pieces; no pieces if it is empty.
pub(crate) fn halves(text: &str) -> Vec<String> {
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    let (first, second) = text.split_at(middle);
    [first, second].into_iter().filter(|piece| !piece.is_empty()).map(str::to_owned).collect()
}
