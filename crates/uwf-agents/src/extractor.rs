//! The last rung of the ladder: a model reads the output out of what an agent wrote. It is told to say so when the text
//! does not hold it, rather than to invent it, and nothing of the configuration is read before it is needed.

mod question;

use std::time::{Duration, Instant};

use agent_kit::answer::{Answer, Turn};
use agent_kit::ladder::{Extractor, Unread};
use agent_kit::{Error, Kind, Result};
use serde_json::Value;
use uwf_engine::home::Home;
use uwf_llm::{ChatRequest, Client, Message, Shape, Timeouts, Usage, structured};

use crate::model;
use crate::progress;

/// Purpose the model is chosen by: `modelOverrides.extract`, else a model of that alias, else `defaultModel`.
pub const PURPOSE: &str = "extract";

/// Time limits. Reading a text takes a model seconds; the agent's work waits for it.
const TIMEOUTS: Timeouts =
    Timeouts { connect: Duration::from_secs(15), idle: Duration::from_secs(120), total: Duration::from_secs(300) };

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
            let config = self.home.config()?;
            let Some(alias) = config.model_for(PURPOSE) else { return Ok(None) };
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
        let asked = [question::INSTRUCTION.to_owned(), question::text(home.store(), unread)];
        let request = ChatRequest {
            temperature: Some(0.0),
            ..ChatRequest::new(vec![Message::System(asked[0].clone()), Message::User(asked[1].clone())])
        };
        let shape = Shape { name: question::NAME, description: question::DESCRIPTION, schema: &schema, mode: None };
        let found =
            structured(client, &model::modes(home), &request, &shape).map_err(|none| model::failed(&none.error))?;
        let value = taken(&found.value)?;
        let turns = found.attempts.iter().filter_map(|attempt| attempt.reply.as_ref()).map(|reply| Turn {
            input: asked.to_vec(),
            output: reply.tool_calls.first().map_or_else(|| reply.text.clone(), |call| call.arguments.clone()),
            tool_calls: Vec::new(),
            tokens: reply.usage.map(model::tokens),
            latency_ms: millis(reply.latency),
        });
        Ok(Some(Answer {
            raw: found.text,
            value: Some(value),
            turns: turns.collect(),
            duration_ms: millis(begun.elapsed()),
            source: "wire".to_owned(),
            session_id: None,
            tokens: found.usage.map(|usage: Usage| model::tokens(usage)),
        }))
    }
}

/// The value a reply gives, or why it gives none.
fn taken(reply: &Value) -> Result<Value> {
    let why = reply.get("why").and_then(Value::as_str).map(str::trim).filter(|why| !why.is_empty());
    let is_found = reply.get("found").and_then(Value::as_bool) == Some(true);
    match reply.get(question::VALUE).filter(|_| is_found) {
        Some(value) => Ok(value.clone()),
        None => Err(Error::new(
            Kind::NotExtractable,
            format!("the text does not hold the output: {}", why.unwrap_or("no reason was given")),
        )),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
