//! Builds turns from events in the order in which they happened.

use std::collections::HashMap;

use agent_kit::AgentTurn;
use agent_kit::answer::AgentToolCall;
use uwf_core::activity;
use uwf_core::node::TokenCounts;
use uwf_core::text::without_middle;

use super::{MAX_CALLS_PER_TURN, MAX_TEXT, MAX_TURNS, ParsedTrace};

/// Separator between two texts of one turn.
const GAP: &str = "\n\n";

/// End mark of reasoning in a turn's output.
const THOUGHT: &str = "</thinking>";

/// Turns so far. A turn begins with the first text or call of a model after an input, and contains everything up to the next input.
#[derive(Default)]
pub(super) struct TraceTurnCollector {
    turns: Vec<AgentTurn>,
    /// Inputs since the last turn, and the time of the last one.
    input: Vec<String>,
    asked_at: Option<u64>,
    /// Whether the last turn may still grow.
    is_open: bool,
    /// The last turn's text without its reasoning.
    said: String,
    /// Text of the newest earlier turn that has one.
    said_before: String,
    calls: HashMap<String, TraceCallPosition>,
    left_out: usize,
}

/// Position and time of a call.
struct TraceCallPosition {
    turn: usize,
    index: usize,
    at: Option<u64>,
}

impl TraceTurnCollector {
    /// Adds an input of the model: its next text begins a turn. Times are Unix milliseconds.
    pub(super) fn asked(&mut self, text: &str, at: Option<u64>) {
        self.is_open = false;
        if !text.is_empty() {
            self.input.push(clip(text));
        }
        self.asked_at = at.or(self.asked_at);
    }

    /// Adds a new text of the model.
    pub(super) fn said(&mut self, text: &str, at: Option<u64>) {
        if text.trim().is_empty() {
            return;
        }
        let gap = if self.is_open && !self.said.is_empty() { GAP } else { "" };
        self.spoke(&format!("{gap}{text}"), at);
    }

    /// Continues the model's current text.
    pub(super) fn went_on(&mut self, text: &str, at: Option<u64>) {
        if !text.is_empty() {
            self.spoke(text, at);
        }
    }

    fn spoke(&mut self, text: &str, at: Option<u64>) {
        if self.grow(at) {
            self.said.push_str(text);
            self.write(text);
        }
    }

    /// Adds reasoning of the model: kept in the turn, but not part of its answer.
    pub(super) fn reasoned(&mut self, text: &str, at: Option<u64>) {
        if !text.trim().is_empty() && self.grow(at) {
            self.write(&format!("<thinking>\n{}\n{THOUGHT}{GAP}", text.trim()));
        }
    }

    /// Adds a tool call of the model.
    pub(super) fn called(&mut self, id: &str, name: &str, arguments: &str, at: Option<u64>) {
        if !self.grow(at) {
            return;
        }
        let turn = self.turns.len() - 1;
        let calls = &mut self.turns[turn].tool_calls;
        if calls.len() == MAX_CALLS_PER_TURN {
            self.left_out += 1;
            return;
        }
        calls.push(AgentToolCall {
            name: name.to_owned(),
            arguments: clip(arguments),
            result: String::new(),
            duration_ms: 0,
        });
        self.calls.insert(id.to_owned(), TraceCallPosition { turn, index: calls.len() - 1, at });
    }

    /// Adds a tool's answer: the model's next text begins a turn.
    pub(super) fn returned(&mut self, id: &str, result: &str, at: Option<u64>) {
        let took = self.calls.get(id).and_then(|call| Some(at?.saturating_sub(call.at?)));
        self.returned_within(id, result, took.unwrap_or(0));
        self.close(at);
    }

    /// Adds a tool's answer after this many milliseconds; the model's turn may still continue.
    pub(super) fn returned_within(&mut self, id: &str, result: &str, duration_ms: u64) {
        if let Some(call) = self.calls.get(id) {
            let call = &mut self.turns[call.turn].tool_calls[call.index];
            call.result = clip(result);
            call.duration_ms = duration_ms;
        }
        if !result.is_empty() {
            self.input.push(clip(result));
        }
    }

    /// Marks the result of a tool call as denied.
    pub(super) fn deny(&mut self, id: &str) {
        if let Some(call) = self.calls.get(id) {
            let call = &mut self.turns[call.turn].tool_calls[call.index];
            call.result = activity::denied_result(&call.result);
        }
    }

    /// Sets the tokens of the last turn.
    pub(super) fn counted(&mut self, tokens: Option<TokenCounts>) {
        if let (Some(turn), Some(tokens)) = (self.turns.last_mut(), tokens) {
            turn.tokens = Some(tokens);
        }
    }

    /// Whether there is a call with this id.
    pub(super) fn has_call(&self, id: &str) -> bool {
        self.calls.contains_key(id)
    }

    /// Ends the model's turn without an input.
    pub(super) fn close(&mut self, at: Option<u64>) {
        self.is_open = false;
        self.asked_at = at.or(self.asked_at);
    }

    /// Number of turns so far.
    pub(super) fn count(&self) -> usize {
        self.turns.len()
    }

    /// A turn as it is now; only the newest one may still grow.
    pub(super) fn turn(&self, number: usize) -> Option<AgentTurn> {
        self.turns.get(number).cloned().map(finished)
    }

    /// A trace with these turns. Its answer is the text of the last turn, if no tool call follows the text.
    pub(super) fn into_trace(self, source: &str, trace: ParsedTrace) -> ParsedTrace {
        let ended = self.turns.last().is_some_and(|turn| turn.tool_calls.is_empty());
        let is_text = |said: &String| !said.trim().is_empty();
        let answer = Some(self.said.clone()).filter(|said| ended && is_text(said)).or(trace.answer);
        let last_said = [self.said, self.said_before].into_iter().find(is_text);
        ParsedTrace {
            answer,
            last_said,
            turns: self.turns.into_iter().map(finished).collect(),
            left_out: self.left_out,
            source: source.to_owned(),
            ..trace
        }
    }

    /// Makes the last turn, or a new one, the current turn at this time. `false` if it exceeds the limit.
    fn grow(&mut self, at: Option<u64>) -> bool {
        if !self.is_open {
            let said = std::mem::take(&mut self.said);
            if !said.trim().is_empty() {
                self.said_before = said;
            }
            if self.turns.len() == MAX_TURNS {
                self.left_out += 1;
                return false;
            }
            self.turns.push(AgentTurn::asked(std::mem::take(&mut self.input)));
            self.is_open = true;
        }
        if let (Some(turn), Some(at), Some(begun)) = (self.turns.last_mut(), at, self.asked_at) {
            turn.latency_ms = at.saturating_sub(begun);
        }
        true
    }

    fn write(&mut self, text: &str) {
        if let Some(turn) = self.turns.last_mut() {
            // Clip only text far over the limit, so that deltas stay cheap.
            turn.output.push_str(text);
            if turn.output.len() > 2 * MAX_TEXT {
                turn.output = clip(&turn.output);
            }
        }
    }
}

/// A turn whose output has no trailing gap and is not too long.
fn finished(turn: AgentTurn) -> AgentTurn {
    AgentTurn { output: clip(without_gap(&turn.output)), ..turn }
}

/// The output without a trailing gap, in a turn that ends with reasoning.
fn without_gap(output: &str) -> &str {
    output.strip_suffix(GAP).filter(|rest| rest.ends_with(THOUGHT)).unwrap_or(output)
}

/// A text without its middle if it is too long.
pub(super) fn clip(text: &str) -> String {
    without_middle(text, MAX_TEXT).into_owned()
}
