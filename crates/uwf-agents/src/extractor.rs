//! The last stage of reading an answer: a model extracts the output from an agent's text. It can look up store nodes that the text
//! mentions, and is instructed to report a missing output rather than invent one. Reads the configuration only when it is needed.

mod nodes;
mod question;

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_kit::answer::AgentAnswer;
use agent_kit::ladder::{UnreadableAnswer, ValueExtractor};
use agent_kit::{Error, Result};
use serde_json::Value;
use uwf_core::config::EXTRACT;
use uwf_engine::root::home::Home;
use uwf_engine::root::project;
use uwf_llm::{
    ChatMessage, ChatRequest, LlmClient, LlmTimeouts, StructuredAttempt, ValueSpec, structured_with_lookups,
};

use crate::model;
use crate::model_exchange;
use crate::progress;
use nodes::NodeLookupTools;

/// Time limits. A model reads a text in seconds, and the agent's work waits for it.
const TIMEOUTS: LlmTimeouts =
    LlmTimeouts { connect: Duration::from_secs(15), idle: Duration::from_mins(2), total: Duration::from_mins(5) };

/// Extracts outputs with the configured model.
pub struct LlmExtractor<'h> {
    home: &'h Home,
    client: Option<LlmClient>,
}

impl<'h> LlmExtractor<'h> {
    /// An extractor that has not read or connected to anything yet.
    pub fn new(home: &'h Home) -> LlmExtractor<'h> {
        LlmExtractor { home, client: None }
    }

    /// The client; `None` if no model is configured.
    fn client(&mut self) -> Result<Option<&LlmClient>> {
        if self.client.is_none() {
            let config = project::config_here(self.home)?;
            let Some(alias) = config.model_for(EXTRACT) else { return Ok(None) };
            let endpoint = model::endpoint(self.home, &config, Some(alias))?;
            self.client = Some(model::client(endpoint, TIMEOUTS)?);
        }
        Ok(self.client.as_ref())
    }
}

impl ValueExtractor for LlmExtractor<'_> {
    fn extract(&mut self, unread: &UnreadableAnswer<'_>) -> Result<Option<AgentAnswer>> {
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
        let shape = ValueSpec { name: question::NAME, description: question::DESCRIPTION, schema: &schema, mode: None };
        let mut nodes = NodeLookupTools::new(home.store(), unread.raw);
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
            // No reply, so no cost.
            Err(error) if turns.is_empty() => return Err(error),
            Err(error) => (None, error.message),
        };
        let usages = attempts.iter().filter_map(|attempt| attempt.reply.as_ref()).map(|reply| reply.usage);
        Ok(Some(AgentAnswer {
            value,
            turns,
            duration_ms: model_exchange::millis(begun.elapsed()),
            source: "wire".to_owned(),
            tokens: model::total(usages).map(model::tokens),
            ..AgentAnswer::text(raw)
        }))
    }
}

/// Prints the cost of each exchange.
fn tell_costs(client: &LlmClient, attempts: &[StructuredAttempt]) {
    progress::line("");
    for reply in attempts.iter().filter_map(|attempt| attempt.reply.as_ref()) {
        let cost = reply.usage.map_or_else(|| "tokens unknown".to_owned(), |usage| usage.to_string());
        progress::line(&format!("[{}: {cost}]", client.endpoint().model));
    }
}

/// The value in a reply, or why it has none.
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
