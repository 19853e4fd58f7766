//! The conversation in one mode: a single exchange, or one for each round of lookups.

use std::time::Instant;

use crate::lookups::{LookedUp, LookupTools};
use crate::message::{ChatMessage, ChatToolCall};
use crate::mode::StructuredMode;
use crate::reply::ChatReply;
use crate::request::{ChatRequest, ToolChoice};

use super::{ValueSpec, form};

/// A conversation about one value.
pub(super) struct ValueConversation<'a> {
    /// The request so far.
    pub(super) request: ChatRequest,
    /// Number of messages before the mode added its own.
    own: usize,
    shape: &'a ValueSpec<'a>,
    /// Names of the lookup tools; empty in a mode without tools.
    lookups: Vec<String>,
    /// The tool choice once no lookups are left.
    final_choice: Option<ToolChoice>,
}

impl<'a> ValueConversation<'a> {
    /// The first request of a mode. Without rounds left it offers no lookups.
    pub(super) fn new(
        request: &ChatRequest,
        shape: &'a ValueSpec<'a>,
        mode: StructuredMode,
        lookups: &dyn LookupTools,
        rounds: u32,
    ) -> ValueConversation<'a> {
        let own = request.messages.len();
        let mut request = form::prepared(request, shape, mode);
        let final_choice = request.tool_choice.clone();
        let mut names = Vec::new();
        if final_choice.is_some() && rounds > 0 {
            let tools = lookups.tools();
            names = tools.iter().map(|tool| tool.name.clone()).collect();
            request.tools.extend(tools);
            if let Some(ToolChoice::Tool(_)) = final_choice {
                request.tool_choice = Some(ToolChoice::Required);
            }
        } else if let Some(message) = lookups.instead() {
            // Insert it before the mode's own message, which must be the last.
            request.messages.insert(own, ChatMessage::User(message));
        }
        ValueConversation { request, own, shape, lookups: names, final_choice }
    }

    /// The messages after the original ones.
    pub(super) fn added(&self) -> &[ChatMessage] {
        &self.request.messages[self.own..]
    }

    /// Whether a reply asks for a lookup. A value in the same reply was written without the result, so it is ignored.
    pub(super) fn asks_to_look_up(&self, reply: &ChatReply) -> bool {
        reply.tool_calls.iter().any(|call| self.is_lookup(call))
    }

    fn is_lookup(&self, call: &ChatToolCall) -> bool {
        self.lookups.contains(&call.name)
    }

    /// Answers every call of a reply. `rounds` is the number of rounds left.
    pub(super) fn look_up(&mut self, reply: &ChatReply, lookups: &mut dyn LookupTools, rounds: u32) -> Vec<LookedUp> {
        self.request.messages.push(reply.message());
        let mut made = Vec::new();
        for call in &reply.tool_calls {
            let begun = Instant::now();
            let result = if self.is_lookup(call) { lookups.look_up(call) } else { Err(self.not_taken(call)) };
            let (Ok(content) | Err(content)) = &result;
            let (id, content, is_error) = (call.id.clone(), content.clone(), result.is_err());
            self.request.messages.push(ChatMessage::Tool { id, content, is_error });
            if self.is_lookup(call) {
                made.push(LookedUp { call: call.clone(), result, took: begun.elapsed() });
            }
        }
        if rounds == 0 {
            self.request.tool_choice.clone_from(&self.final_choice);
            let message = format!("Nothing more can be looked up. Call `{}` now.", self.shape.name);
            self.request.messages.push(ChatMessage::User(message));
        }
        made
    }

    /// The answer to another call in the same reply.
    fn not_taken(&self, call: &ChatToolCall) -> String {
        if call.name == self.shape.name {
            return format!(
                "not accepted, because it came before the results of the lookups; call `{}` again",
                call.name
            );
        }
        format!("unknown tool `{}`", call.name)
    }
}
