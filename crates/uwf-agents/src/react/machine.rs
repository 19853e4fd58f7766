//! The loop of reasoning and acting as a state machine: `handle(state, event) → (state, effects)`. It makes no requests and runs no tools;
//! the driver does, and passes it the results.
//!
//! A round is one request to the model and all calls in its answer, in order. The loop ends after a round in which a submitted output was
//! accepted (the last one counts), or with an answer that calls no tool. If all rounds are used, it ends with an error.

use std::collections::VecDeque;

use serde_json::{Map, Value};
use uwf_llm::{ChatMessage, ChatReply, ChatToolCall, FinishReason};

use super::tools::submit;

/// Numbers of remaining rounds at which the model is warned.
const WARN_AT: [u32; 2] = [5, 1];

/// Calls of one answer that are run. Models make a dozen at most; a confused model writes thousands.
pub const MAX_CALLS_IN_REPLY: usize = 100;

/// Calls of one step that are run, however many rounds it has.
pub const MAX_CALLS_IN_STEP: usize = 2_000;

/// Answer to a call of an unknown tool.
const UNKNOWN: &str = "unknown tool";

/// Answer to each call of a truncated reply. The last call may be incomplete, and a call may depend on one that is missing.
const CUT: &str = "not run: your answer was cut off at its token limit; make the call again, with less in one answer";

/// Answer to each call of a reply that submits different outputs.
const DIFFERING: &str = "not accepted: this message submits different values. Call `submit` once, with one value";

/// Whether a reply was truncated within its calls.
pub(crate) fn is_cut_in_calls(reply: &ChatReply) -> bool {
    matches!(reply.finish, FinishReason::Length(_)) && !reply.tool_calls.is_empty()
}

/// State of the loop.
#[derive(Debug, Clone, PartialEq)]
pub struct ReactState {
    /// The conversation so far, oldest first.
    pub messages: Vec<ChatMessage>,
    /// The submitted and accepted value.
    pub submitted: Option<Value>,
    /// Rounds left.
    pub rounds_left: u32,
    /// Calls left in this step.
    pub calls_left: usize,
    round: Option<ReactRound>,
}

/// A round: the request, the reply, and the results of its calls.
#[derive(Debug, Clone, PartialEq)]
pub struct ReactRound {
    /// Number of messages in the request, from the beginning of the conversation.
    pub asked_with: usize,
    /// The model's reply.
    pub reply: ChatReply,
    /// Its finished calls, in order.
    pub done: Vec<FinishedToolCall>,
    /// Its pending calls.
    waiting: VecDeque<ChatToolCall>,
    /// Number of calls over the limit of a reply, which were dropped unseen.
    dropped: usize,
}

/// A finished call.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedToolCall {
    /// The call as the model wrote it.
    pub call: ChatToolCall,
    /// The tool's answer.
    pub result: String,
    /// Whether the result is an error.
    pub is_error: bool,
    /// Milliseconds.
    pub duration_ms: u64,
}

/// Event of the loop.
#[derive(Debug, Clone, PartialEq)]
pub enum ReactEvent {
    /// A message to answer, within this many rounds.
    Asked {
        /// The message.
        text: String,
        /// Rounds the model has for it.
        rounds: u32,
    },
    /// The model answered.
    Replied(Box<ChatReply>),
    /// The requested call has finished.
    Ran {
        /// Its result, or why it was not run.
        result: Result<String, String>,
        /// Milliseconds.
        duration_ms: u64,
    },
    /// The submitted output was checked.
    Submitted {
        /// The output, or everything that is wrong with it.
        result: Result<Value, String>,
    },
}

/// Next action for the driver.
#[derive(Debug, Clone, PartialEq)]
pub enum ReactEffect {
    /// Ask the model with all messages; answered by [`ReactEvent::Replied`].
    Ask,
    /// Run a tool; answered by [`ReactEvent::Ran`].
    Run {
        /// Its name, one of those the loop was given.
        name: String,
        /// Its arguments.
        arguments: Map<String, Value>,
    },
    /// Check a role's output; answered by [`ReactEvent::Submitted`].
    Check {
        /// The arguments of the submitting call.
        arguments: Map<String, Value>,
    },
    /// A round is over: record it.
    Keep(Box<ReactRound>),
    /// The loop is over.
    End(ReactEnd),
}

/// How the loop ended.
#[derive(Debug, Clone, PartialEq)]
pub enum ReactEnd {
    /// The role's output was submitted.
    Submitted(Value),
    /// The model answered without calling a tool. This is its text.
    Said(String),
    /// All rounds are used.
    OutOfRounds,
}

impl ReactState {
    /// The initial state. `system` is the message that explains to the model where it works.
    pub fn new(system: &str) -> ReactState {
        ReactState {
            messages: vec![ChatMessage::System(system.to_owned())],
            submitted: None,
            rounds_left: 0,
            calls_left: MAX_CALLS_IN_STEP,
            round: None,
        }
    }

    /// The round whose calls are being run.
    pub fn round(&self) -> Option<&ReactRound> {
        self.round.as_ref()
    }
}

/// The new state and the effects of an event. `tools` are the names of available tools; `submit` may be one of them.
///
/// An unexpected event (such as an unrequested reply) changes nothing.
pub fn handle(state: ReactState, event: ReactEvent, tools: &[&str]) -> (ReactState, Vec<ReactEffect>) {
    match event {
        ReactEvent::Asked { text, rounds } => asked(state, text, rounds),
        ReactEvent::Replied(reply) => replied(state, *reply, tools),
        ReactEvent::Ran { result, duration_ms } => {
            let (result, is_error) = either(result);
            done(state, result, is_error, duration_ms, tools)
        }
        ReactEvent::Submitted { result: Ok(value) } => {
            let state = ReactState { submitted: Some(value), ..state };
            done(state, "accepted".to_owned(), false, 0, tools)
        }
        ReactEvent::Submitted { result: Err(why) } => done(state, why, true, 0, tools),
    }
}

fn asked(mut state: ReactState, text: String, rounds: u32) -> (ReactState, Vec<ReactEffect>) {
    state.messages.push(ChatMessage::User(text));
    state.submitted = None;
    state.rounds_left = rounds;
    ask(state)
}

fn replied(mut state: ReactState, mut reply: ChatReply, tools: &[&str]) -> (ReactState, Vec<ReactEffect>) {
    let asked_with = state.messages.len();
    // Also drop them from the conversation: a provider requires an answer to each call in it.
    let dropped = reply.tool_calls.len().saturating_sub(MAX_CALLS_IN_REPLY);
    reply.tool_calls.truncate(MAX_CALLS_IN_REPLY);
    state.messages.push(reply.message());
    let waiting: VecDeque<ChatToolCall> = reply.tool_calls.iter().cloned().collect();
    let round = ReactRound { asked_with, reply, done: Vec::new(), waiting, dropped };
    if round.waiting.is_empty() {
        let said = round.reply.text.clone();
        return (state, vec![ReactEffect::Keep(Box::new(round)), ReactEffect::End(ReactEnd::Said(said))]);
    }
    state.round = Some(round);
    next_call(state, tools)
}

fn done(
    mut state: ReactState,
    result: String,
    is_error: bool,
    duration_ms: u64,
    tools: &[&str],
) -> (ReactState, Vec<ReactEffect>) {
    if let Some(round) = &mut state.round {
        round.finish_first(result, is_error, duration_ms);
    }
    next_call(state, tools)
}

/// Goes through the pending calls: answers calls that cannot be run, and returns the first other call as an effect.
fn next_call(mut state: ReactState, tools: &[&str]) -> (ReactState, Vec<ReactEffect>) {
    let Some(mut round) = state.round.take() else { return (state, Vec::new()) };
    while let Some(call) = round.waiting.front() {
        let name = call.name.clone();
        let refused = match call.parsed() {
            _ if is_cut_in_calls(&round.reply) => CUT.to_owned(),
            _ if !tools.contains(&name.as_str()) => {
                format!("{UNKNOWN}; the tools are {}", tools.join(", "))
            }
            _ if name == submit::NAME && has_differing_outputs(&round) => DIFFERING.to_owned(),
            _ if state.calls_left == 0 && name != submit::NAME => {
                format!("not run: the {MAX_CALLS_IN_STEP} calls of this work are used up; end it now")
            }
            Err(why) => why,
            Ok(arguments) => {
                state.calls_left = state.calls_left.saturating_sub(1);
                state.round = Some(round);
                let effect = match name.as_str() {
                    submit::NAME => ReactEffect::Check { arguments },
                    _ => ReactEffect::Run { name, arguments },
                };
                return (state, vec![effect]);
            }
        };
        round.finish_first(refused, true, 0);
    }
    end_round(state, round, tools)
}

/// Whether the calls of a reply submit different outputs. None of them is the answer.
fn has_differing_outputs(round: &ReactRound) -> bool {
    let mut outputs =
        round.reply.tool_calls.iter().filter(|call| call.name == submit::NAME).filter_map(|call| call.parsed().ok());
    let first = outputs.next();
    outputs.any(|other| Some(&other) != first.as_ref())
}

fn end_round(mut state: ReactState, round: ReactRound, tools: &[&str]) -> (ReactState, Vec<ReactEffect>) {
    let results = round.done.iter().map(|done| ChatMessage::Tool {
        id: done.call.id.clone(),
        content: done.result.clone(),
        is_error: done.is_error,
    });
    state.messages.extend(results);
    if round.dropped > 0 && state.submitted.is_none() {
        let dropped = round.dropped;
        state.messages.push(ChatMessage::User(format!(
            "Your last answer made {dropped} calls more than the {MAX_CALLS_IN_REPLY} allowed in one answer. The \
             extra calls were not run; repeat those that matter."
        )));
    }
    let keep = ReactEffect::Keep(Box::new(round));
    if let Some(value) = state.submitted.clone() {
        return (state, vec![keep, ReactEffect::End(ReactEnd::Submitted(value))]);
    }
    if WARN_AT.contains(&state.rounds_left) {
        state.messages.push(ChatMessage::User(warning(state.rounds_left, tools)));
    }
    let (state, mut effects) = ask(state);
    effects.insert(0, keep);
    (state, effects)
}

fn ask(mut state: ReactState) -> (ReactState, Vec<ReactEffect>) {
    match state.rounds_left.checked_sub(1) {
        Some(left) => {
            state.rounds_left = left;
            (state, vec![ReactEffect::Ask])
        }
        None => (state, vec![ReactEffect::End(ReactEnd::OutOfRounds)]),
    }
}

fn warning(left: u32, tools: &[&str]) -> String {
    let submit = submit::NAME;
    let is_offered = tools.contains(&submit);
    match left {
        1 if is_offered => {
            format!("This is your last round. Call `{submit}` now with the current state of the work.")
        }
        1 => "This is your last round. Answer now with the current state of the work.".to_owned(),
        left if is_offered => format!("You have {left} rounds left. Finish the work and call `{submit}`."),
        left => format!("You have {left} rounds left. Finish the work and answer."),
    }
}

impl ReactRound {
    fn finish_first(&mut self, result: String, is_error: bool, duration_ms: u64) {
        if let Some(call) = self.waiting.pop_front() {
            self.done.push(FinishedToolCall { call, result, is_error, duration_ms });
        }
    }
}

fn either(result: Result<String, String>) -> (String, bool) {
    match result {
        Ok(text) => (text, false),
        Err(why) => (why, true),
    }
}
