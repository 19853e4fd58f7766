//! What pages tell of a thread's parts: a step, the failed tries since, how it stands.

use json_cas::{Hash, Node, Store};
use serde_json::Value;
use uwf_core::node::{self, ExtractedBy, NodeKind, ReactSession, ThreadEnd};
use uwf_core::thread::ThreadId;
use uwf_core::view::{self, Ending, Failure, Section, Source, Told};

use crate::attempt::recorded;
use crate::error::Result;
use crate::root::home::Home;
use crate::thread::end_reason;
use crate::thread::load::Thread;
use crate::thread::message;
use crate::thread::nodes;
use crate::thread::state::State;
use crate::verbs::show::Shown;

/// Step `position` (from 0). What lies below its StepNode and is not readable is told as such.
///
/// # Errors
/// Those of the StepNode.
pub fn step(store: &Store, position: usize, hash: Hash) -> Result<Told> {
    let (step, timestamp_ms) = nodes::step_node(store, hash)?;
    let output = store.get(step.output);
    let schema = output.as_ref().ok().map(|node| node.type_hash);
    let (source, alias) = match source(store, step.detail, schema) {
        Ok(known) => known,
        Err(error) => (Source::Unreadable(error.message), None),
    };
    Ok(Told {
        index: position + 1,
        hash,
        source,
        role: step.role,
        agent: step.agent,
        alias,
        timestamp_ms,
        output: output.map(|node| in_schema_order(store, node)).map_err(|error| error.to_string()),
    })
}

/// The last step of a thread as a section of a page; `None` before the first. What is not readable is told as such.
///
/// # Errors
/// Those of the StepNode and the chain.
pub fn last_step(thread: &Thread<'_>, quota: usize) -> Result<Option<Section>> {
    let Some(position) = thread.chain()?.len().checked_sub(1) else { return Ok(None) };
    Ok(Some(view::section(&step(thread.home().store(), position, thread.head)?, quota)))
}

/// An output with its keys in the order of its schema; as it is stored when the schema is not readable.
fn in_schema_order(store: &Store, output: Node) -> Value {
    match store.schema(output.type_hash) {
        Ok(schema) => view::in_schema_order(output.payload, schema.value()),
        Err(_) => output.payload,
    }
}

/// Where a step's text comes from, and the alias of its agent; `schema` is the type of its output.
fn source(store: &Store, detail: Hash, schema: Option<Hash>) -> Result<(Source, Option<String>)> {
    let detail_node = store.get(detail)?;
    let text = message::spoken(store, detail, &detail_node, schema)?;
    Ok(match NodeKind::of(detail_node.type_hash) {
        Some(NodeKind::StepNode) => (Source::ChildThread(detail), None),
        Some(NodeKind::ReactSession) => {
            let session: ReactSession = nodes::payload(detail, &detail_node)?;
            // The try that succeeded is among them when it said something on stderr.
            let has_failed =
                |hash: &&Hash| nodes::attempt(store, **hash).map_or(true, |attempt| attempt.error.is_some());
            let failed = session.attempts.iter().filter(has_failed).count();
            let extracted_by = match session.extracted_by {
                ExtractedBy::Submit | ExtractedBy::Frontmatter => None,
                ExtractedBy::Feedback => Some("asking again"),
                ExtractedBy::Llm => Some("a model that read the text"),
            };
            let source = Source::Answer { text, extracted_by: extracted_by.map(str::to_owned), failed };
            (source, alias(store, &session))
        }
        _ => (Source::Answer { text, extracted_by: None, failed: 0 }, None),
    })
}

/// What the configuration calls the agent of a session.
fn alias(store: &Store, session: &ReactSession) -> Option<String> {
    nodes::typed::<node::Agent>(store, session.agent).ok().map(|agent| agent.name)
}

/// What the configuration calls the agent whose session a step's detail is; `None` for any other detail.
pub fn alias_of(store: &Store, detail: Hash) -> Option<String> {
    alias(store, &nodes::typed(store, detail).ok()?)
}

/// Failed tries since the step that is the head, oldest first.
///
/// # Errors
/// Those of the attempt record.
pub fn failures(home: &Home, id: &ThreadId, head: Hash) -> Result<Vec<Failure>> {
    let Some(attempt) = recorded::read(home, id)? else { return Ok(Vec::new()) };
    let failed = attempt.earlier_at(head);
    Ok(failed.into_iter().map(|hash| failure(home.store(), hash, &attempt.opened.role)).collect())
}

fn failure(store: &Store, hash: Hash, role: &str) -> Failure {
    let attempt = match nodes::attempt(store, hash) {
        Ok(attempt) => attempt,
        Err(error) => {
            return Failure {
                attempt: hash,
                role: role.to_owned(),
                agent: None,
                exit_code: None,
                error: error.to_string(),
            };
        }
    };
    let agent: Option<node::Agent> = nodes::typed(store, attempt.agent).ok();
    Failure {
        attempt: hash,
        role: attempt.role,
        agent: agent.map(|agent| agent.name),
        exit_code: attempt.exit_code,
        error: attempt.error.unwrap_or_else(|| "no reason is on record".to_owned()),
    }
}

/// Where a thread stands, in short phrases of markdown.
pub fn standing(shown: &Shown) -> Vec<String> {
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

/// Why a thread is stuck, how it ended; `None` when there is nothing to say.
pub fn ending(home: &Home, shown: &Shown) -> Option<Ending> {
    let at = |what: &str| match &shown.at_role {
        Some(role) => format!("{what} at {role}"),
        None => what.to_owned(),
    };
    let since = shown.since.map(|time| format!("Since {} UTC: ", view::time(time))).unwrap_or_default();
    let why = shown.why.as_deref().unwrap_or("no reason is on record");
    let title = match shown.state {
        State::Active | State::Corrupt => return None,
        State::Completed | State::Killed => return Some(finished(home, shown)),
        State::Running => {
            let agent = shown.agent.as_deref().unwrap_or("an agent");
            let then = if shown.pausing { format!(" Then it pauses: {why}") } else { String::new() };
            return Some(Ending { title: at("Running"), text: format!("{since}{agent} is at it.{then}") });
        }
        State::Paused => at("Paused"),
        State::Waiting => at("Waiting"),
        State::Limited => at("At a limit"),
        State::Stuck => at("Stuck"),
    };
    Some(Ending { title, text: format!("{since}{why}") })
}

fn finished(home: &Home, shown: &Shown) -> Ending {
    let title = if shown.state == State::Killed { "Killed" } else { "Completed" };
    let end: Option<ThreadEnd> = shown.end.and_then(|end| nodes::typed(home.store(), end).ok());
    let how = match end.as_ref().map(|end| end.reason.as_str()) {
        Some(end_reason::END) => "the workflow came to its end.".to_owned(),
        Some(end_reason::NO_MATCH) => {
            let after = shown
                .role
                .as_deref()
                .map_or_else(|| "at its start".to_owned(), |role| format!("after the role {role}"));
            format!("no transition matched {after}, so the thread ended there.")
        }
        Some(end_reason::KILLED) => "somebody ended it before its workflow came to an end.".to_owned(),
        Some(other) => other.to_owned(),
        None => "how it ended is not on record.".to_owned(),
    };
    let summary = end.and_then(|end| end.summary).map(|summary| format!("\n\n{summary}")).unwrap_or_default();
    let at = shown.changed_at.map(|time| format!("{} UTC: ", view::time(time))).unwrap_or_default();
    Ending { title: title.to_owned(), text: format!("{at}{how}{summary}") }
}
