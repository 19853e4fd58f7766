//! Parts of a thread's page: its last step, the failed attempts since, and its state.

use std::collections::HashMap;

use json_cas::{NodeHash, Store};
use uwf_core::agent_name::AgentName;
use uwf_core::node;
use uwf_core::outcome;
use uwf_core::view::{self, MarkdownSection, PageEnding, PageFailure};

use crate::attempt::recorded::RecordedAttempt;
use crate::error::Result;
use crate::root::home::Home;
use crate::thread::ending;
use crate::thread::load::Thread;
use crate::thread::nodes;
use crate::thread::state::ThreadState;
use crate::views::show::ThreadStatus;
use crate::views::thread_now::ThreadNow;

/// The last step of a thread as a section of a page; `None` before the first step.
pub fn last_step(thread: &Thread<'_>, quota: usize) -> Result<Option<MarkdownSection>> {
    let Some(index) = thread.chain()?.len().checked_sub(1) else { return Ok(None) };
    Ok(Some(view::section(&thread.whole_step(index)?, quota)))
}

/// Failed attempts since the step at the head, oldest first.
pub fn failures(now: &ThreadNow<'_>) -> Vec<PageFailure> {
    let Some(attempt) = &now.attempt else { return Vec::new() };
    let store = now.thread.home().store();
    let failed = now.failed().into_iter().filter(|hash| nodes::has_failed(store, *hash));
    let ended: HashMap<NodeHash, (u64, u64)> = now.record.all().iter().filter_map(ended).collect();
    failed
        .map(|hash| PageFailure { ended: ended.get(&hash).copied(), ..failure(store, hash, &attempt.opened.role) })
        .collect()
}

/// The node of a failed attempt, when it ended, and how long its agent worked.
fn ended(attempt: &RecordedAttempt) -> Option<(NodeHash, (u64, u64))> {
    let closed = attempt.closed.as_ref()?;
    let begun = attempt.started.as_ref().and_then(|started| started.started_at).unwrap_or(attempt.opened.opened_at);
    Some((closed.node?, (closed.closed_at, closed.closed_at.saturating_sub(begun))))
}

/// A failed attempt, as far as its node is readable; `role` is the role it was recorded for.
pub(crate) fn failure(store: &Store, hash: NodeHash, role: &str) -> PageFailure {
    let attempt = match nodes::attempt(store, hash) {
        Ok(attempt) => attempt,
        Err(error) => {
            return PageFailure {
                attempt: hash,
                role: role.to_owned(),
                agent: None,
                exit_code: None,
                error: error.to_string(),
                denied: Vec::new(),
                ended: None,
            };
        }
    };
    let agent: Option<node::AgentNode> = nodes::typed(store, attempt.agent).ok();
    PageFailure {
        attempt: hash,
        role: attempt.role,
        agent: agent.map(|agent| AgentName::from(&agent)),
        exit_code: attempt.exit_code,
        error: attempt.error.unwrap_or_else(|| "no reason was recorded".to_owned()),
        denied: nodes::denied_in_attempt(store, hash),
        ended: None,
    }
}

/// The state of a thread, in short phrases of markdown.
pub fn standing(shown: &ThreadStatus) -> Vec<String> {
    let steps = match shown.steps {
        0 => "no step yet".to_owned(),
        1 => "1 step".to_owned(),
        several => format!("{several} steps"),
    };
    let started = shown.started_at.map(|time| format!("started {} UTC", view::time(time)));
    [format!("thread {}", view::code(shown.thread.as_str())), shown.state_in_words(), steps]
        .into_iter()
        .chain(started)
        .collect()
}

/// Why a thread is stuck, or how it ended; `None` otherwise.
pub fn ending(home: &Home, shown: &ThreadStatus) -> Option<PageEnding> {
    let at = |what: &str| match &shown.at_role {
        Some(role) => format!("{what} at {role}"),
        None => what.to_owned(),
    };
    let since = shown.since.map(|time| format!("Since {} UTC: ", view::time(time))).unwrap_or_default();
    let why = shown.why.as_deref().unwrap_or("no reason was recorded");
    let title = match shown.state {
        ThreadState::Active | ThreadState::Corrupt => return None,
        ThreadState::Completed | ThreadState::Killed => return Some(finished(home, shown)),
        ThreadState::Running => {
            let agent = shown.agent.as_ref().map_or("an agent", AgentName::short);
            let then = if shown.pausing { format!(" Then it pauses: {why}") } else { String::new() };
            return Some(PageEnding { title: at("Running"), text: format!("{since}{agent} is running.{then}") });
        }
        ThreadState::Paused => at("Paused"),
        ThreadState::Waiting => at("Waiting"),
        ThreadState::Limited => at("At a limit"),
        ThreadState::Stuck => at("Stuck"),
    };
    let asks = shown.asks.as_ref().map(|asks| format!("\n\n{}", asks.trim())).unwrap_or_default();
    let hints: String = shown.hints.iter().map(|hint| format!("\n- {hint}")).collect();
    let hints = if hints.is_empty() { hints } else { format!("\n\nWhat you can do:\n{hints}") };
    Some(PageEnding { title, text: format!("{since}{why}{asks}{hints}") })
}

fn finished(home: &Home, shown: &ThreadStatus) -> PageEnding {
    let end = shown.end.and_then(|end| ending::read(home.store(), end));
    let outcome = shown.outcome.as_deref().unwrap_or(outcome::SUCCEEDED);
    let title = match (shown.state, outcome) {
        (ThreadState::Killed, _) => "Killed".to_owned(),
        (_, outcome::SUCCEEDED | outcome::NO_MATCH) => "Completed".to_owned(),
        (_, other) => format!("Ended: {other}"),
    };
    let how = match (end.as_ref().map(|end| end.reason.as_str()), &shown.condition) {
        (Some(outcome::BY_GRAPH), Some(condition)) => format!("the condition {} held.", view::code(condition)),
        (Some(outcome::BY_GRAPH), None) => "the workflow has ended.".to_owned(),
        (Some(outcome::NO_MATCH), _) => {
            let after = shown
                .role
                .as_deref()
                .map_or_else(|| "at its start".to_owned(), |role| format!("after the role {role}"));
            format!("no transition matched {after}, so the thread ended there.")
        }
        (Some(outcome::KILLED), _) => "it was killed before its workflow had ended.".to_owned(),
        (Some(other), _) => other.to_owned(),
        (None, _) => "its end was not recorded.".to_owned(),
    };
    let summary = end.and_then(|end| end.summary).map(|summary| format!("\n\n{summary}")).unwrap_or_default();
    let at = shown.changed_at.map(|time| format!("{} UTC: ", view::time(time))).unwrap_or_default();
    PageEnding { title, text: format!("{at}{how}{summary}") }
}
