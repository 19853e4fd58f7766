//! The loop without a model: what follows from what.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use uwf_agents::react::machine::{
    MAX_CALLS_IN_REPLY, MAX_CALLS_IN_STEP, ReactEffect, ReactEnd, ReactEvent, ReactState, handle,
};
use uwf_llm::{ChatMessage, ChatReply, ChatToolCall, FinishReason};

const TOOLS: [&str; 3] = ["look", "act", "submit"];

fn call(name: &str, arguments: &str) -> ChatToolCall {
    ChatToolCall {
        id: format!("id-{name}"),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        extra: serde_json::Map::new(),
    }
}

fn reply(text: &str, tool_calls: Vec<ChatToolCall>) -> ChatReply {
    ChatReply {
        text: text.to_owned(),
        tool_calls,
        usage: None,
        finish: FinishReason::Stop,
        reasoning: None,
        raw: Value::Null,
        latency: Duration::ZERO,
    }
}

/// A loop with a scripted model: each answer in its turn; tools say `did NAME`; an output is valid if it has `ok: true`.
struct Loop {
    replies: std::vec::IntoIter<ChatReply>,
    state: ReactState,
    ran: Vec<String>,
    rounds: usize,
}

impl Loop {
    fn new(replies: Vec<ChatReply>) -> Loop {
        Loop { replies: replies.into_iter(), state: ReactState::new("be good"), ran: Vec::new(), rounds: 0 }
    }

    /// Goes on until the end; `None` when the model has no answer left.
    fn tell(&mut self, text: &str, rounds: u32) -> Option<ReactEnd> {
        let mut event = ReactEvent::Asked { text: text.to_owned(), rounds };
        loop {
            let (state, effects) = handle(self.state.clone(), event, &TOOLS);
            self.state = state;
            let mut next = None;
            for effect in effects {
                assert!(next.is_none(), "at most one effect is answered");
                next = match effect {
                    ReactEffect::Keep(_) => {
                        self.rounds += 1;
                        None
                    }
                    ReactEffect::End(end) => return Some(end),
                    ReactEffect::Ask => Some(ReactEvent::Replied(Box::new(self.replies.next()?))),
                    ReactEffect::Run { name, arguments } => {
                        self.ran.push(format!("{name} {}", Value::Object(arguments)));
                        Some(ReactEvent::Ran { result: Ok(format!("did {name}")), duration_ms: 1 })
                    }
                    ReactEffect::Check { arguments } => {
                        let value = Value::Object(arguments);
                        let valid = value["ok"] == true;
                        Some(ReactEvent::Submitted { result: if valid { Ok(value) } else { Err("not ok".to_owned()) } })
                    }
                };
            }
            event = next.expect("there is always something to do next");
        }
    }

    fn transcript(&self) -> Vec<String> {
        let line = |message: &ChatMessage| match message {
            ChatMessage::System(text) => format!("system: {text}"),
            ChatMessage::User(text) => format!("user: {text}"),
            ChatMessage::Assistant { text, tool_calls, .. } => format!("assistant: {text} +{}", tool_calls.len()),
            ChatMessage::Tool { id, content, is_error } => {
                format!("{id}: {content}{}", if *is_error { " !" } else { "" })
            }
        };
        self.state.messages.iter().map(line).collect()
    }
}

#[test]
fn calls_run_in_order_and_errors_are_reported() {
    let mut agent = Loop::new(vec![
        reply(
            "let me see",
            vec![call("act", "{\"n\":1}"), call("dance", "{}"), call("look", "{broken"), call("look", "")],
        ),
        reply("done", vec![call("submit", "{\"ok\":true}")]),
    ]);
    assert_eq!(agent.tell("work", 9), Some(ReactEnd::Submitted(json!({ "ok": true }))));
    assert_eq!(agent.ran, ["act {\"n\":1}", "look {}"]);
    let lines = agent.transcript();
    assert_eq!(lines[..4], ["system: be good", "user: work", "assistant: let me see +4", "id-act: did act"]);
    assert_eq!(lines[4], "id-dance: unknown tool; the tools are look, act, submit !");
    assert!(
        lines[5].starts_with("id-look: the arguments can't be read: bad JSON") && lines[5].ends_with('!'),
        "{}",
        lines[5]
    );
    assert_eq!(lines[6..], ["id-look: did look", "assistant: done +1", "id-submit: accepted"]);
    assert_eq!(agent.rounds, 2);
}

#[test]
fn differing_outputs_are_rejected_and_other_calls_run() {
    let mut agent = Loop::new(vec![
        reply(
            "",
            vec![call("submit", "{\"ok\":true,\"n\":1}"), call("submit", "{\"ok\":true,\"n\":2}"), call("act", "{}")],
        ),
        reply(
            "",
            vec![call("submit", "{\"n\":2,\"ok\":true}"), call("submit", "{\"ok\":true,\"n\":2}"), call("act", "{}")],
        ),
    ]);
    assert_eq!(agent.tell("work", 9), Some(ReactEnd::Submitted(json!({ "ok": true, "n": 2 }))));
    assert_eq!(agent.ran, ["act {}", "act {}"]);
    let refused = |line: &&String| line.contains("this message submits different values");
    assert_eq!(agent.transcript().iter().filter(refused).count(), 2, "{:?}", agent.transcript());
}

#[test]
fn rejected_output_is_corrected_in_same_loop() {
    let mut agent = Loop::new(vec![
        reply("", vec![call("submit", "{\"ok\":false}")]),
        reply("", vec![call("submit", "{\"ok\":true}")]),
    ]);
    assert_eq!(agent.tell("work", 2), Some(ReactEnd::Submitted(json!({ "ok": true }))));
    assert!(agent.transcript().contains(&"id-submit: not ok !".to_owned()));
}

#[test]
fn answer_without_calls_ends_loop_and_conversation_continues() {
    let mut agent =
        Loop::new(vec![reply("I think it is done", Vec::new()), reply("", vec![call("submit", "{\"ok\":true}")])]);
    assert_eq!(agent.tell("work", 3), Some(ReactEnd::Said("I think it is done".to_owned())));
    assert_eq!(agent.tell("is it?", 3), Some(ReactEnd::Submitted(json!({ "ok": true }))));
    assert_eq!(agent.transcript()[2..4], ["assistant: I think it is done +0", "user: is it?"]);
}

#[test]
fn earlier_output_does_not_end_later_loop() {
    let mut agent = Loop::new(vec![
        reply("", vec![call("submit", "{\"ok\":true}")]),
        reply("", vec![call("look", "{}")]),
        reply("no more", Vec::new()),
    ]);
    assert_eq!(agent.tell("work", 3), Some(ReactEnd::Submitted(json!({ "ok": true }))));
    assert_eq!(agent.tell("again", 3), Some(ReactEnd::Said("no more".to_owned())));
}

#[test]
fn the_model_is_warned_before_its_rounds_end() {
    let mut agent = Loop::new(vec![reply("", vec![call("look", "{}")]); 20]);
    assert_eq!(agent.tell("work", 7), Some(ReactEnd::OutOfRounds));
    assert_eq!((agent.ran.len(), agent.rounds), (7, 7));
    let lines = agent.transcript();
    let warnings: Vec<usize> =
        lines.iter().enumerate().filter(|(_, line)| line.contains("round")).map(|(place, _)| place).collect();
    // Two rounds are four messages after the first two; then one round is two more.
    assert_eq!(warnings, [6, 15]);
    assert_eq!(lines[6], "user: You have 5 rounds left. Finish the work and call `submit`.");
    assert!(lines[15].starts_with("user: This is your last round."));
}

#[test]
fn calls_per_reply_and_step_are_limited() {
    let many = || reply("", vec![call("act", "{}"); 100_000]);
    let rounds = MAX_CALLS_IN_STEP / MAX_CALLS_IN_REPLY;
    let mut replies = vec![many(); rounds];
    replies.push(reply("", vec![call("act", "{}"), call("submit", "{\"ok\":true}")]));
    let mut agent = Loop::new(replies);
    assert_eq!(
        agent.tell("work", 1000),
        Some(ReactEnd::Submitted(json!({ "ok": true }))),
        "handing in is always possible"
    );
    assert_eq!(agent.ran.len(), MAX_CALLS_IN_STEP);
    let lines = agent.transcript();
    assert_eq!(lines[2], format!("assistant:  +{MAX_CALLS_IN_REPLY}"), "a provider wants each call answered");
    assert_eq!(
        lines[3 + MAX_CALLS_IN_REPLY],
        "user: Your last answer made 99900 calls more than the 100 allowed in one answer. The extra calls were not \
         run; repeat those that matter."
    );
    assert_eq!(
        lines[lines.len() - 2..],
        ["id-act: not run: the 2000 calls of this work are used up; end it now !", "id-submit: accepted"]
    );
}

fn any_call() -> impl Strategy<Value = ChatToolCall> {
    let name = prop::sample::select(vec!["look", "act", "dance", "submit"]);
    let arguments = prop::sample::select(vec!["{}", "{\"ok\":true}", "[1]", "{", "", "null"]);
    (name, arguments).prop_map(|(name, arguments)| call(name, arguments))
}

proptest! {
    #[test]
    fn every_loop_ends_and_every_call_is_answered(
        replies in proptest::collection::vec(proptest::collection::vec(any_call(), 0..5), 30),
        rounds in 1_u32..25,
    ) {
        let replies = replies.into_iter().map(|calls| reply("text", calls)).collect();
        let mut agent = Loop::new(replies);
        prop_assert!(agent.tell("work", rounds).is_some());
        prop_assert!(agent.rounds <= rounds as usize);
        let mut open = 0;
        for message in &agent.state.messages {
            match message {
                ChatMessage::Assistant { tool_calls, .. } => {
                    prop_assert_eq!(open, 0);
                    open = tool_calls.len();
                }
                ChatMessage::Tool { .. } => open -= 1,
                ChatMessage::System(_) | ChatMessage::User(_) => prop_assert_eq!(open, 0),
            }
        }
        prop_assert_eq!(open, 0);
    }
}
