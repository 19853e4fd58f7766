//! Progress of the running attempt, including the time before the page was opened.

use maud::{Markup, html};
use uwf_core::activity;
use uwf_core::event::{EventToolCall, OutputStream, ThreadEvent, ThreadEventKind};
use uwf_core::text;
use uwf_engine::root::ids;
use uwf_engine::thread::state::ThreadState;
use uwf_engine::views::groups::{BranchStatus, GroupStatus};
use uwf_engine::views::show::ThreadStatus;

use super::super::parts;
use super::branches;
use crate::markdown::markdown;

/// Number of the newest turns that are shown; earlier ones are only counted.
const TURNS: usize = 20;

/// Bytes of printed output that are shown.
const PRINTED: usize = 16 << 10;

/// Bytes shown of the end of a tool call's result.
const RESULT: usize = 4 << 10;

/// Characters of a tool call's arguments on its line.
const ARGUMENTS: usize = 140;

/// The running attempt. The branches of a group are in the row of the step.
pub(super) fn now(events: &[ThreadEvent], status: &ThreadStatus, group: Option<&GroupStatus>) -> Markup {
    let turns: Vec<&ThreadEventKind> = turns(events, &status.thread);
    let [answer, talk] =
        [OutputStream::Stdout, OutputStream::Stderr].map(|stream| printed(events, &status.thread, stream));
    let role = status.at_role.as_deref().unwrap_or("the next role");
    let tokens: u64 = turns.iter().filter_map(|what| tokens(what)).sum();
    let left_out = turns.len().saturating_sub(TURNS);
    // Between two attempts no agent is at work.
    let wait = status.why.as_deref().filter(|_| status.until.is_some());
    let is_silent = group.is_none() && wait.is_none() && turns.is_empty() && answer.is_empty() && talk.is_empty();
    html! {
        section #now .now data-follow aria-label="Running step" {
            h2 {
                (parts::state(status.state, status.pausing, status.outcome.as_deref())) " " (role)
                @if let Some(agent) = &status.agent { span.quiet { " by " (agent.short()) } }
                @if let Some(since) = status.since { " " span.quiet data-since=(since) { (parts::duration(ids::now_ms().saturating_sub(since))) } }
                @if tokens > 0 { " " span.small.quiet { (parts::count(tokens)) " tokens" } }
                @if let Some(group) = group { " " a.small href="#next" { (branches::counts(group)) } }
            }
            @if let Some(wait) = wait { p.why { (parts::message(wait)) } }
            @if let Some(group) = group { (branches_at_work(group, events)) }
            @if is_silent { p.quiet { "The agent has written nothing yet." } }
            @if left_out > 0 { p.quiet { (parts::many(left_out, "earlier turn")) "." } }
            ol.turns start=(left_out + 1) {
                @for what in turns.iter().skip(left_out) { (turn(what)) }
            }
            @if !answer.is_empty() { pre #printed tabindex="0" { (answer) } }
            @if !talk.is_empty() { details #talk { summary { "Output on stderr" } pre tabindex="0" { (talk) } } }
            @for child in children(events, &status.thread).into_iter().filter(|_| group.is_none()) {
                p { "Child thread " a href={"/threads/" (child)} { (parts::short_id(child)) } }
            }
        }
    }
}

/// The branches whose agents work, each with what it does.
fn branches_at_work(group: &GroupStatus, events: &[ThreadEvent]) -> Markup {
    let at_work = |branch: &&BranchStatus| branch.state == Some(ThreadState::Running) && branch.group.is_none();
    html! {
        ul.at-work {
            @for branch in group.all_branches().into_iter().filter(at_work) {
                li {
                    @match &branch.thread { Some(thread) => a href={"/threads/" (thread)} { (branch.branch) }, None => (branch.branch) }
                    @if let Some(agent) = &branch.agent { span.quiet { " by " (agent.short()) } }
                    @if let Some(doing) = branch.thread.as_ref().and_then(|thread| newest(events, thread)) { " · " code.doing { (text::ellipsize(&doing, ARGUMENTS)) } }
                    @if let Some(tokens) = parts::tokens(&branch.spent.tokens) { span.quiet.small { " · " (tokens) " tokens" } }
                }
            }
        }
    }
}

/// The newest call of a tool, or the end of the newest text, of a thread.
fn newest(events: &[ThreadEvent], thread: &uwf_core::thread::ThreadId) -> Option<String> {
    events.iter().rev().filter(|event| event.thread == *thread).find_map(|event| match &event.what {
        ThreadEventKind::Turn { text, tool_calls, .. } => {
            let call = tool_calls.last().map(|call| activity::describe_call(&call.name, &call.arguments));
            let line = text.lines().rev().find(|line| !line.trim().is_empty());
            call.or_else(|| line.map(text::one_line))
        }
        ThreadEventKind::Output { text, .. } => {
            let said = uwf_core::escapes::without_escapes(text);
            said.lines().rev().find(|line| !line.trim().is_empty()).map(text::one_line)
        }
        _ => None,
    })
}

/// The tokens of a turn.
fn tokens(what: &ThreadEventKind) -> Option<u64> {
    match what {
        ThreadEventKind::Turn { tokens, .. } => tokens.as_ref()?.total(),
        _ => None,
    }
}

/// Each turn in its latest state.
fn turns<'e>(events: &'e [ThreadEvent], thread: &uwf_core::thread::ThreadId) -> Vec<&'e ThreadEventKind> {
    let mut turns: Vec<&ThreadEventKind> = Vec::new();
    for event in events.iter().filter(|event| event.thread == *thread) {
        if let ThreadEventKind::Turn { turn, .. } = &event.what {
            turns.truncate(turn.saturating_sub(1));
            turns.push(&event.what);
        }
    }
    turns
}

fn turn(what: &ThreadEventKind) -> Markup {
    let ThreadEventKind::Turn { text, tool_calls, done, turn, .. } = what else { return html! {} };
    html! {
        li #{"turn-" (turn)} {
            @for (words, is_thought) in thoughts(text) { div.text.quiet.small[is_thought] { (markdown(words, 3)) } }
            @for (position, call) in tool_calls.iter().enumerate() { (tool(&format!("call-{turn}-{position}"), call, *done)) }
        }
    }
}

/// The parts of a text, and whether each is a thought: some models write theirs between `<thinking>` and `</thinking>`.
fn thoughts(text: &str) -> Vec<(&str, bool)> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once("<thinking>") {
        let (thought, next) = after.split_once("</thinking>").unwrap_or((after, ""));
        parts.extend([(before, false), (thought, true)]);
        rest = next;
    }
    parts.push((rest, false));
    parts.retain(|(words, _)| !words.trim().is_empty());
    parts
}

/// A call of a tool. Its result unfolds.
fn tool(id: &str, call: &EventToolCall, done: bool) -> Markup {
    let words = activity::describe_call(&call.name, &call.arguments);
    let words = text::ellipsize(&words, ARGUMENTS);
    let is_over = done || !call.result.is_empty();
    let is_denied = activity::is_denied(&call.result);
    let line = html! {
        span aria-hidden="true" { @if is_denied { "✗ " } @else if is_over { "✓ " } @else { "▸ " } } code title={ (call.name) " " (text::ellipsize(&text::one_line(&call.arguments), ARGUMENTS)) } { (words) }
        @if is_denied { span.warn { " denied" } }
        @if call.duration_ms > 0 { span.quiet { " " (parts::duration(call.duration_ms)) } }
    };
    let result = text::end(call.result.trim_end(), RESULT);
    html! {
        @if result.is_empty() { p.tool { (line) } } @else {
            details.tool #(id) { summary { (line) } pre tabindex="0" { (uwf_core::escapes::without_escapes(result)) } }
        }
    }
}

/// The end of the printed output.
fn printed(events: &[ThreadEvent], thread: &uwf_core::thread::ThreadId, of: OutputStream) -> String {
    let pieces = events.iter().filter(|event| event.thread == *thread).filter_map(|event| match &event.what {
        ThreadEventKind::Output { stream, text, .. } if *stream == of => Some(text.as_str()),
        _ => None,
    });
    let all: String = pieces.collect();
    let all = uwf_core::escapes::without_escapes(&all);
    text::end(&all, PRINTED).trim_end().to_owned()
}

/// Child threads that play the role.
fn children<'e>(events: &'e [ThreadEvent], thread: &uwf_core::thread::ThreadId) -> Vec<&'e str> {
    let mut children: Vec<&str> = events
        .iter()
        .map(|event| &event.thread)
        .filter(|id| *id != thread)
        .map(uwf_core::thread::ThreadId::as_str)
        .collect();
    children.dedup();
    children
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_split_at_thoughts() {
        assert_eq!(thoughts("<thinking>\nhm\n</thinking>\nYes."), [("\nhm\n", true), ("\nYes.", false)]);
        assert_eq!(thoughts("First. <thinking>still"), [("First. ", false), ("still", true)]);
        assert_eq!(thoughts(" "), []);
    }
}
