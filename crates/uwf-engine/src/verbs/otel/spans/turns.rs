//! Spans of what an agent did: exchanges with a model, and tools.

use std::collections::HashSet;

use json_cas::NodeHash;
use serde_json::{Value, json};
use uwf_core::node::{ReactToolCall, ReactTurn, TokenCounts};

use super::super::agents::SpanAgent;
use super::super::content::{cut, messages, text_part};
use super::super::ids::span_id;
use super::super::otlp::{OtelSpan, SpanAttributes, SpanKind};
use super::traced_thread::TracedThread;
use super::{AgentWork, SpanBuilder};
use crate::thread::nodes;

impl SpanBuilder<'_> {
    /// The spans of an agent's activity: consecutive exchanges with a model, each followed by the tools it called. Durations are known
    /// but start times are not, so no span reaches beyond the end of the whole.
    pub(super) fn turns(
        &mut self,
        traveller: &TracedThread<'_>,
        whole: &OtelSpan,
        agent: &SpanAgent,
        done: &AgentWork,
    ) {
        let mut at = whole.begun_at;
        let mut said = HashSet::new();
        for (number, hash) in done.turns.iter().enumerate() {
            let turn = nodes::typed::<ReactTurn>(self.store(), *hash);
            let Some(turn) = self.readable(turn) else { continue };
            if !done.is_model && turn.tokens.is_none() && turn.tool_calls.is_empty() {
                continue;
            }
            let place = [whole.id.hex(), number.to_string()];
            let place: Vec<&str> = place.iter().map(String::as_str).collect();
            let id = span_id("chat", &traveller.thread.id, &place);
            let ended_at = at.saturating_add(turn.latency_ms).min(whole.ended_at);
            let mut attributes = SpanAttributes::default();
            attributes
                .add("gen_ai.operation.name", Some("chat"))
                .add("gen_ai.provider.name", Some(agent.provider.as_str()).filter(|name| !name.is_empty()))
                .add("gen_ai.request.model", agent.model.as_deref())
                .add("gen_ai.conversation.id", Some(traveller.thread.id.as_str()))
                .add("uwf.node", Some(hash.to_string()));
            add_usage(&mut attributes, turn.tokens.as_ref());
            if self.content {
                self.exchange(&mut attributes, &turn, &mut said);
            }
            let name = ["chat"].into_iter().chain(agent.model.as_deref()).collect::<Vec<_>>().join(" ");
            let chat = OtelSpan {
                id,
                parent: Some(whole.id),
                name,
                kind: SpanKind::Client,
                begun_at: at,
                ended_at,
                attributes,
                ..whole.clone()
            };
            at = ended_at;
            for (place, call) in turn.tool_calls.iter().enumerate() {
                at = self.tool(traveller, &chat, place, *call, at, whole.ended_at);
            }
            self.spans.push(OtelSpan { error: None, ..chat });
        }
    }

    /// The span of a tool call. Returns its end time.
    fn tool(
        &mut self,
        traveller: &TracedThread<'_>,
        chat: &OtelSpan,
        place: usize,
        hash: NodeHash,
        at: u64,
        latest: u64,
    ) -> u64 {
        let call = nodes::typed::<ReactToolCall>(self.store(), hash);
        let Some(call) = self.readable(call) else { return at };
        let ended_at = at.saturating_add(call.duration_ms).min(latest);
        let mut attributes = SpanAttributes::default();
        attributes
            .add("gen_ai.operation.name", Some("execute_tool"))
            .add("gen_ai.tool.name", Some(call.name.as_str()))
            .add("gen_ai.tool.call.id", Some(format!("{}.{place}", chat.id.hex())))
            .add("gen_ai.tool.type", Some("function"))
            .add("gen_ai.conversation.id", Some(traveller.thread.id.as_str()))
            .add("uwf.node", Some(hash.to_string()));
        if self.content {
            attributes
                .add("gen_ai.tool.call.arguments", self.text(call.arguments).map(|text| cut(&text)))
                .add("gen_ai.tool.call.result", self.text(call.result).map(|text| cut(&text)));
        }
        self.spans.push(OtelSpan {
            trace: self.trace,
            id: span_id("tool", &traveller.thread.id, &[&chat.id.hex(), &place.to_string()]),
            parent: Some(chat.id),
            name: format!("execute_tool {}", call.name),
            kind: SpanKind::Internal,
            begun_at: at,
            ended_at,
            attributes,
            error: None,
        });
        ended_at
    }

    /// Content of an exchange. A turn contains all earlier texts; each is sent once, with the first turn that contains it.
    fn exchange(&mut self, attributes: &mut SpanAttributes, turn: &ReactTurn, said: &mut HashSet<NodeHash>) {
        let new: Vec<NodeHash> = turn.input.iter().copied().filter(|hash| said.insert(*hash)).collect();
        let input: Vec<Value> =
            new.into_iter().filter_map(|hash| self.text(hash)).map(|text| text_part(&text)).collect();
        said.insert(turn.output);
        let mut output: Vec<Value> = self.text(turn.output).iter().map(|text| text_part(text)).collect();
        for hash in &turn.tool_calls {
            let Ok(call) = nodes::typed::<ReactToolCall>(self.store(), *hash) else { continue };
            let arguments = self.text(call.arguments).map(|text| cut(&text));
            output.push(json!({ "type": "tool_call", "name": call.name, "arguments": arguments }));
        }
        attributes
            .add("gen_ai.input.messages", Some(messages("user", input)))
            .add("gen_ai.output.messages", Some(messages("assistant", output)));
    }
}

/// Adds the tokens and the cost of a span.
pub(super) fn add_usage(attributes: &mut SpanAttributes, tokens: Option<&TokenCounts>) {
    let Some(tokens) = tokens else { return };
    attributes
        .add("gen_ai.usage.input_tokens", tokens.input)
        .add("gen_ai.usage.output_tokens", tokens.output)
        .add("gen_ai.usage.cache_read.input_tokens", tokens.cached)
        .add("gen_ai.usage.reasoning.output_tokens", tokens.reasoning)
        .add("uwf.usage.cost_usd", tokens.cost);
}
