//! A small call that tests the model.

use std::time::Duration;

use serde::Serialize;
use uwf_engine::error::ErrorKind;
use uwf_llm::{ChatMessage, ChatRequest, LlmClient, LlmTimeouts, ModelEndpoint, RetryLimits};

use super::answers::SetupModel;
use crate::error::CommandError;
use crate::printer::CommandPrinter;
use crate::table::excerpt;

/// The question to the model.
const QUESTION: &str = "Answer with the word \"ready\" and nothing else.";

/// Maximum number of tokens in the answer: enough for a model that reasons before it says one word.
const MAX_TOKENS: u32 = 512;

/// Short, because a person is waiting.
const TIMEOUTS: LlmTimeouts =
    LlmTimeouts { connect: Duration::from_secs(10), idle: Duration::from_mins(1), total: Duration::from_secs(90) };

/// A single failure may be chance.
const ATTEMPTS: u32 = 2;

/// Maximum number of characters shown of the answer.
const SHOWN: usize = 60;

/// The answer of the model.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ModelTestReply {
    answer: String,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    latency_ms: u64,
}

impl ModelTestReply {
    /// The result as one line.
    pub(super) fn line(&self) -> String {
        let seconds = self.latency_ms as f64 / 1000.0;
        let tokens = match (self.input_tokens, self.output_tokens) {
            (Some(input), Some(output)) => format!(", {} tokens", input.saturating_add(output)),
            _ => String::new(),
        };
        format!("it answered `{}` in {seconds:.1} s{tokens}", self.answer)
    }
}

/// Sends the model a question.
///
/// # Errors
/// `Config` with the reason, without the key.
pub(super) fn prove(printer: CommandPrinter, model: &SetupModel) -> Result<ModelTestReply, CommandError> {
    printer.talk(&format!("asking {} of {} for one word…", model.name, model.provider));
    let request =
        ChatRequest { max_tokens: Some(MAX_TOKENS), ..ChatRequest::new(vec![ChatMessage::User(QUESTION.to_owned())]) };
    let reply = client(model.endpoint()).and_then(|client| client.chat(&request)).map_err(|error| failed(&error))?;
    Ok(ModelTestReply {
        answer: excerpt(&reply.text, SHOWN),
        input_tokens: reply.usage.as_ref().and_then(|usage| usage.input),
        output_tokens: reply.usage.as_ref().and_then(|usage| usage.output),
        latency_ms: u64::try_from(reply.latency.as_millis()).unwrap_or(u64::MAX),
    })
}

/// Names of the provider's models, sorted.
pub(super) fn models(endpoint: ModelEndpoint) -> uwf_llm::Result<Vec<String>> {
    let mut models = client(endpoint)?.models()?;
    models.sort();
    models.dedup();
    Ok(models)
}

fn client(endpoint: ModelEndpoint) -> uwf_llm::Result<LlmClient> {
    LlmClient::new(endpoint, TIMEOUTS, RetryLimits { attempts: ATTEMPTS, ..RetryLimits::default() })
}

fn failed(error: &uwf_llm::Error) -> CommandError {
    let unchecked = "nothing was written; `--no-check` writes it without asking the model".to_owned();
    let hints = error.hint().into_iter().chain([unchecked]);
    CommandError {
        hints: hints.collect(),
        ..CommandError::new(ErrorKind::Config, format!("the model does not answer: {error}"))
    }
}
