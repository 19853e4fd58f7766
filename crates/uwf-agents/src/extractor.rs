//! The last rung of the ladder: a model reads the output out of what an agent wrote. It may look up nodes of the store
//! that the text refers to, and is asked to say so if the output is missing, rather than to invent it. Nothing of the
//! configuration is read before it is needed.

mod nodes;
mod question;

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_kit::answer::Answer;
use agent_kit::ladder::{Extractor, Unread};
use agent_kit::{Error, Result};
use serde_json::Value;
use uwf_core::config::EXTRACT;
use uwf_engine::root::home::Home;
use uwf_engine::root::project;
use uwf_llm::{ChatMessage, ChatRequest, Client, Shape, StructuredAttempt, Timeouts, structured_with_lookups};

use crate::model;
use crate::model_exchange;
use crate::progress;
use nodes::Nodes;

/// Time limits. Reading a text takes a model seconds; the agent's work waits for it.
const TIMEOUTS: Timeouts =
    Timeouts { connect: Duration::from_secs(15), idle: Duration::from_mins(2), total: Duration::from_mins(5) };

/// Reads outputs with the model the configuration names for it.
pub struct LlmExtractor<'h> {
    home: &'h Home,
    client: Option<Client>,
}

impl<'h> LlmExtractor<'h> {
    /// Nothing is read or connected yet.
    pub fn new(home: &'h Home) -> LlmExtractor<'h> {
        LlmExtractor { home, client: None }
    }

    /// The client; `None` when no model is configured.
    fn client(&mut self) -> Result<Option<&Client>> {
        if self.client.is_none() {
            let config = project::config_here(self.home)?;
            let Some(alias) = config.model_for(EXTRACT) else { return Ok(None) };
            let endpoint = model::endpoint(self.home, &config, Some(alias))?;
            self.client = Some(model::client(endpoint, TIMEOUTS)?);
        }
        Ok(self.client.as_ref())
    }
}

impl Extractor for LlmExtractor<'_> {
    fn extract(&mut self, unread: &Unread<'_>) -> Result<Option<Answer>> {
        let home = self.home;
        let Some(client) = self.client()? else { return Ok(None) };
        progress::line(&format!("[{} reads the answer]", client.endpoint().model));
        let begun = Instant::now();
        let schema = question::schema(unread.schema.value());
        let asked: [Arc<str>; 2] = [question::INSTRUCTION.into(), question::text(unread).into()];
        let request = ChatRequest {
            temperature: Some(0.0),
            stream: true,
            ..ChatRequest::new(vec![ChatMessage::System(asked[0].to_string()), ChatMessage::User(asked[1].to_string())])
        };
        let shape = Shape { name: question::NAME, description: question::DESCRIPTION, schema: &schema, mode: None };
        let mut nodes = Nodes::new(home.store(), unread.raw);
        let modes = model::modes(home);
        let found = structured_with_lookups(client, &modes, &request, &shape, &mut nodes, &mut model_exchange::hear);
        tell_costs(client, found.as_ref().map_or_else(|none| &none.attempts, |found| &found.attempts));
        let (value, text, attempts) = match found {
            Ok(found) => (taken(&found.value), found.text, found.attempts),
            Err(none) => (Err(model::failed(&none.error)), String::new(), none.attempts),
        };
        let turns: Vec<_> = attempts.iter().filter_map(|attempt| model_exchange::turn_of(&asked, attempt)).collect();
        let (value, raw) = match value {
            Ok(value) => (Some(value), text),
            // Nothing was answered, so nothing was paid.
            Err(error) if turns.is_empty() => return Err(error),
            Err(error) => (None, error.message),
        };
        let usages = attempts.iter().filter_map(|attempt| attempt.reply.as_ref()).map(|reply| reply.usage);
        Ok(Some(Answer {
            value,
            turns,
            duration_ms: model_exchange::millis(begun.elapsed()),
            source: "wire".to_owned(),
            tokens: model::total(usages).map(model::tokens),
            ..Answer::text(raw)
        }))
    }
}

/// Says what each exchange cost.
fn tell_costs(client: &Client, attempts: &[StructuredAttempt]) {
    progress::line("");
    for reply in attempts.iter().filter_map(|attempt| attempt.reply.as_ref()) {
        let cost = reply.usage.map_or_else(|| "tokens unknown".to_owned(), |usage| usage.to_string());
        progress::line(&format!("[{}: {cost}]", client.endpoint().model));
    }
}

/// The value a reply gives, or why it gives none.
fn taken(reply: &Value) -> Result<Value> {
    let why = reply.get("why").and_then(Value::as_str).map(str::trim).filter(|why| !why.is_empty());
    let is_found = reply.get("found").and_then(Value::as_bool) == Some(true);
    match reply.get(question::VALUE).filter(|_| is_found) {
        Some(value) => Ok(value.clone()),
        None => Err(Error::not_extractable(format!(
            "the text does not hold the output: {}",
            why.unwrap_or("no reason was given")
        ))),
    }
}
