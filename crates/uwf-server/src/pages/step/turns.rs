//! The turns of a session, in pages: a session may have hundreds.

use std::collections::HashSet;

use json_cas::{NodeHash, Store};
use maud::{Markup, html};
use uwf_core::activity;
use uwf_core::node::{ReactSession, ReactToolCall, ReactTurn, TokenCounts};
use uwf_core::text::ellipsize;
use uwf_engine::root::home::Home;
use uwf_engine::thread::{message, nodes};

use super::prompt;
use crate::pages::{parts, texts};

/// Characters of the calls on the line of a turn.
const CALLS: usize = 160;

/// Turns on one page.
const SHOWN: usize = 50;

/// The section: the turns from `first` on.
pub(super) fn turns(home: &Home, session: &ReactSession, first: usize) -> Markup {
    let count = session.turns.len();
    let first = first.clamp(1, count.max(1));
    let last = count.min(first - 1 + SHOWN);
    let mut before = first.checked_sub(2).and_then(|index| TurnView::read(home.store(), session.turns[index]).ok());
    let mut drawn = Vec::new();
    for (index, hash) in session.turns.iter().enumerate().take(last).skip(first - 1) {
        let turn = TurnView::read(home.store(), *hash);
        drawn.push(match &turn {
            Ok(view) => turn_of(home, index + 1, view, before.as_ref()),
            Err(error) => html! { p.problem { "Turn " (index + 1) " is not readable: " (error) } },
        });
        before = turn.ok();
    }
    html! {
        section #turns aria-labelledby="turns-title" {
            h2 #turns-title { "Turns" span.quiet { " " (count) } }
            @if count == 0 { p.quiet { "None were recorded." } }
            (pages(first, last, count))
            @for turn in &drawn { (turn) }
            @if last < count { (pages(first, last, count)) }
        }
    }
}

/// Links to the previous and next turns.
fn pages(first: usize, last: usize, count: usize) -> Markup {
    html! {
        @if count > SHOWN || first > 1 {
            p.pages {
                @if first > 1 { a href={"?turns=" (first.saturating_sub(SHOWN).max(1)) "#turns"} { "‹ earlier" } }
                span.quiet { (first) " to " (last) " of " (count) }
                @if last < count { a href={"?turns=" (last + 1) "#turns"} { "later ›" } }
            }
        }
    }
}

/// A turn with its tool calls; for an unreadable call, the error.
struct TurnView {
    turn: ReactTurn,
    calls: Vec<Result<ReactToolCall, String>>,
}

impl TurnView {
    fn read(store: &Store, hash: NodeHash) -> Result<TurnView, String> {
        let turn: ReactTurn = nodes::typed(store, hash).map_err(|error| error.to_string())?;
        let calls = turn.tool_calls.iter().map(|call| nodes::typed(store, *call).map_err(|error| error.to_string()));
        Ok(TurnView { calls: calls.collect(), turn })
    }

    /// Texts that the agent has seen before its next turn.
    fn seen(&self) -> HashSet<NodeHash> {
        let results = self.calls.iter().flatten().map(|call| call.result);
        self.turn.input.iter().copied().chain([self.turn.output]).chain(results).collect()
    }
}

fn turn_of(home: &Home, number: usize, view: &TurnView, before: Option<&TurnView>) -> Markup {
    let TurnView { turn, calls } = view;
    let seen = before.map(TurnView::seen).unwrap_or_default();
    let new: Vec<NodeHash> = turn.input.iter().copied().filter(|hash| !seen.contains(hash)).collect();
    let output = text(home, turn.output);
    let doing = |call: &ReactToolCall| activity::describe_call(&call.name, &text(home, call.arguments));
    let doing: Vec<String> = calls.iter().flatten().map(doing).collect();
    html! {
        details.turn id={"turn-" (number)} data-row {
            summary data-open {
                "Turn " (number)
                " " span.one-line { @if doing.is_empty() { (texts::first_line(&output)) } @else { code { (ellipsize(&doing.join(", "), CALLS)) } } }
                " " span.small.numbers.facts { @if turn.latency_ms > 0 { span { (parts::duration(turn.latency_ms)) } } (tokens(turn.tokens.as_ref())) }
            }
            // The first turn has the prompt, which is a section of its own.
            @if number > 1 { @for hash in &new { (prompt::text(home, *hash, false)) } }
            @if !output.trim().is_empty() { (texts::prose(&output, 3, Some(turn.output))) }
            @for call in calls { (call_of(home, call)) }
        }
    }
}

fn call_of(home: &Home, call: &Result<ReactToolCall, String>) -> Markup {
    let call = match call {
        Ok(call) => call,
        Err(error) => return html! { p.problem { "A tool call is not readable: " (error) } },
    };
    let (arguments, result) = (text(home, call.arguments), text(home, call.result));
    html! {
        div.call {
            p.topic { code { (call.name) } " " span.small.quiet { (parts::duration(call.duration_ms)) }
                @if activity::is_denied(&result) { span.small.warn { " denied" } }
            }
            (texts::plain(&arguments, texts::EXCERPT, Some(call.arguments)))
            details {
                summary { "Result, " (texts::size(result.len())) }
                (texts::plain(&result, texts::EXCERPT, Some(call.result)))
            }
        }
    }
}

fn tokens(tokens: Option<&TokenCounts>) -> Markup {
    let counts = tokens.map(|tokens| [("in", tokens.input), ("out", tokens.output)]);
    let counts = counts.into_iter().flatten().filter_map(|(kind, count)| Some((kind, count?)));
    html! { @for (kind, count) in counts { span { (parts::count(count)) " " (kind) } } }
}

/// The text of a node, or why it can't be read.
pub(super) fn text(home: &Home, hash: NodeHash) -> String {
    match home.store().get(hash) {
        Ok(node) => message::text_of(&node.payload).unwrap_or_default(),
        Err(error) => format!("({error})"),
    }
}

#[cfg(test)]
mod tests {
    use uwf_core::node::{self, ContentNode, ExtractedBy, TypedPayload};

    use super::*;

    /// Nodes to store together.
    struct Nodes(Vec<json_cas::NodeDraft>);

    impl Nodes {
        fn put(&mut self, payload: &impl TypedPayload) -> NodeHash {
            self.0.push(payload.draft());
            self.0[self.0.len() - 1].hash()
        }

        fn said(&mut self, text: &str) -> NodeHash {
            self.put(&ContentNode { text: text.to_owned() })
        }
    }

    /// A session of `count` turns with one tool call each; the input of each turn is the whole conversation so far.
    fn session(home: &Home, count: usize) -> ReactSession {
        let mut nodes = Nodes(node::schema_drafts());
        let mut input = vec![nodes.said("the prompt")];
        let mut turns = Vec::new();
        for number in 1..=count {
            let result = nodes.said(&format!("result {number} {}", "x".repeat(if number == 60 { 9000 } else { 0 })));
            let arguments = nodes.said("{}");
            let call = nodes.put(&ReactToolCall { name: "read_file".to_owned(), arguments, result, duration_ms: 3 });
            let output = nodes.said(&format!("answer {number}"));
            let turn = ReactTurn { input: input.clone(), output, tool_calls: vec![call], tokens: None, latency_ms: 1 };
            turns.push(nodes.put(&turn));
            input.extend([output, result]);
            if number == 70 {
                input.push(nodes.said("a note of a person"));
            }
        }
        let raw = nodes.said("the last answer");
        home.store().put_all(&nodes.0).unwrap();
        ReactSession {
            agent: raw,
            role: "coder".to_owned(),
            turns,
            raw,
            attempts: Vec::new(),
            total_tokens: None,
            tokens: None,
            duration_ms: 500,
            source: "wire".to_owned(),
            extracted_by: ExtractedBy::Frontmatter,
            session_id: None,
            extras: None,
            extraction: Vec::new(),
        }
    }

    #[test]
    fn long_session_is_paged_by_fifty_turns() {
        let dir = uwf_testing::dir_in_memory();
        let home = Home::open(dir.path(), "uwf");
        let session = session(&home, 120);
        let page = turns(&home, &session, 51).into_string();
        assert_eq!(page.matches("<details class=\"turn\"").count(), 50);
        assert!(
            page.contains("id=\"turn-51\"") && page.contains("id=\"turn-100\"") && !page.contains("id=\"turn-101\"")
        );
        assert!(page.contains("href=\"?turns=1#turns\"") && page.contains("href=\"?turns=101#turns\""), "{page}");
        assert!(page.contains("51 to 100 of 120"));
        assert!(!page.contains("the prompt") && !page.contains("result 50 "), "what was said before is not said again");
        assert_eq!(page.matches("a note of a person").count(), 2, "a text that is new, with its title");
        assert!(page.contains("All 9.0 KB"), "a long result is cut: {page}");
        let last = turns(&home, &session, 9999).into_string();
        assert_eq!(last.matches("<details class=\"turn\"").count(), 1);
        assert!(turns(&home, &session, 0).into_string().contains("id=\"turn-1\""));
    }
}
