//! Spans from the events of a thread and its nodes: `invoke_workflow` → `invoke_agent` → `chat` → `execute_tool`, with the attribute
//! names of OpenTelemetry's conventions for generative AI.
//!
//! A thread gets its span after it has ended, because the span cannot be sent twice. A step's span id is derived from the head before the
//! step, so that a child thread can name its parent before that step exists.

mod traced_thread;
mod turns;

use std::collections::{BTreeMap, HashMap, HashSet};

use json_cas::{NodeHash, Store};
use uwf_core::config::UwfConfig;
use uwf_core::event::ThreadEventKind;
use uwf_core::node::{self, AgentNode, ContentNode, NodeKind, ReactSession, ReactTurn, TokenCounts, TracedAttempt};
use uwf_core::number;
use uwf_core::outcome::SUCCEEDED;
use uwf_core::thread::{Step, ThreadId};

use self::traced_thread::TracedThread;
use self::turns::add_usage;
use super::agents::SpanAgent;
use super::content::{cut, messages, text_part};
use super::ids::{span_id, step_id, trace_of};
use super::otlp::{OtelSpan, SpanAttributes, SpanKind, TraceId};
use crate::attempt::recorded::{self, AttemptOutcome};
use crate::attempt::settings::ThreadSettings;
use crate::error::Result;
use crate::root::home::Home;
use crate::thread::load::Thread;
use crate::thread::nodes;
use crate::views::live::{LiveStart, LiveThread};

/// Sources of sessions whose turns are not exchanges with a model, unless tokens were counted.
const WITHOUT_MODEL: [&str; 2] = ["stdout", "submit"];

/// Which spans to create.
#[derive(Debug, Clone, Copy)]
pub(super) enum SpanRange {
    /// All spans of a thread and its child threads.
    All,
    /// Spans of the steps after a head, with the child threads that played them, and of attempts that failed or ended since `at` (Unix
    /// milliseconds).
    Since { head: Option<NodeHash>, at: u64 },
}

/// Spans that were created.
pub(super) struct ThreadSpans {
    pub(super) trace: TraceId,
    pub(super) spans: Vec<OtelSpan>,
    pub(super) has_ended: bool,
    pub(super) unreadable: Vec<String>,
}

/// The spans of a thread.
pub(super) fn thread_spans(
    home: &Home,
    config: &UwfConfig,
    thread: &ThreadId,
    content: bool,
    range: SpanRange,
) -> Result<ThreadSpans> {
    let own = Thread::any(home, thread)?;
    let from = match range {
        // The steps before a fork belong to the source thread.
        SpanRange::All => {
            ThreadSettings::load(home, thread)?.and_then(|settings| settings.begun_at).map(LiveStart::After)
        }
        SpanRange::Since { head, .. } => head.map(LiveStart::After),
    };
    let events = LiveThread::watch(thread.clone(), from.unwrap_or(LiveStart::Beginning), None).poll(home)?;
    let trace = trace_of(home, thread);
    let mut writer =
        SpanBuilder { home, config, content, trace, agents: HashMap::new(), spans: Vec::new(), unreadable: Vec::new() };
    let mut threads: BTreeMap<ThreadId, TracedThread<'_>> = BTreeMap::new();
    for event in &events {
        if let ThreadEventKind::Thread { workflow, prompt } = &event.what {
            let since = match range {
                SpanRange::Since { at, .. } if event.depth == 0 => Some(at),
                // A child thread sends nothing itself.
                SpanRange::Since { .. } | SpanRange::All => None,
            };
            let begun = TracedThread::begun(home, event, workflow, prompt, since)?;
            threads.insert(event.thread.clone(), begun);
        }
        let Some(traveller) = threads.get_mut(&event.thread) else { continue };
        match &event.what {
            // Each branch has a span of its own thread.
            ThreadEventKind::Step(_) if traveller.is_group => {}
            ThreadEventKind::Step(step) => writer.step(traveller, step)?,
            ThreadEventKind::End { status, reason, outcome, .. } => {
                writer.end(traveller, event.at, status, reason.as_deref(), outcome.as_deref());
            }
            // The record and the nodes describe what an agent did, by its attempt or step.
            ThreadEventKind::Thread { .. }
            | ThreadEventKind::Attempt { .. }
            | ThreadEventKind::Turn { .. }
            | ThreadEventKind::Output { .. }
            | ThreadEventKind::Failed { .. }
            | ThreadEventKind::State { .. } => {}
        }
    }
    for traveller in threads.values() {
        writer.failures(traveller)?;
    }
    let has_ended = threads.get(&own.id).is_some_and(|traveller| traveller.has_ended);
    let mut seen = HashSet::new();
    writer.spans.retain(|span| seen.insert(span.id.0));
    Ok(ThreadSpans { trace, spans: writer.spans, has_ended, unreadable: writer.unreadable })
}

/// Activity of an agent, as far as it is kept.
#[derive(Default)]
struct AgentWork {
    agent: SpanAgent,
    turns: Vec<NodeHash>,
    tokens: Option<TokenCounts>,
    duration_ms: Option<u64>,
    is_model: bool,
    session_id: Option<String>,
    answer: Option<NodeHash>,
    failed: Vec<NodeHash>,
}

/// Creates spans.
struct SpanBuilder<'h> {
    home: &'h Home,
    config: &'h UwfConfig,
    content: bool,
    trace: TraceId,
    agents: HashMap<NodeHash, SpanAgent>,
    spans: Vec<OtelSpan>,
    unreadable: Vec<String>,
}

impl SpanBuilder<'_> {
    fn store(&self) -> &Store {
        self.home.store()
    }

    /// The value, if it could be read; otherwise notes why not.
    fn readable<T>(&mut self, read: std::result::Result<T, impl std::fmt::Display>) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(error) => {
                let why = error.to_string();
                if !self.unreadable.contains(&why) {
                    self.unreadable.push(why);
                }
                None
            }
        }
    }

    /// The span of a thread that has ended.
    fn end(
        &mut self,
        traveller: &mut TracedThread<'_>,
        at: u64,
        status: &str,
        reason: Option<&str>,
        outcome: Option<&str>,
    ) {
        traveller.has_ended = true;
        let mut attributes = SpanAttributes::default();
        attributes
            .add("gen_ai.operation.name", Some("invoke_workflow"))
            .add("gen_ai.workflow.name", Some(traveller.workflow.as_str()))
            .add("gen_ai.conversation.id", Some(traveller.thread.id.as_str()))
            .add("uwf.workflow.hash", Some(traveller.thread.start.workflow.to_string()))
            .add("uwf.branch", traveller.branch.as_deref())
            .add("uwf.thread.status", Some(status))
            .add("uwf.thread.reason", reason)
            .add("uwf.thread.outcome", outcome);
        let failure = outcome.filter(|outcome| *outcome != SUCCEEDED);
        attributes.add("error.type", failure);
        if self.content {
            attributes.add("gen_ai.input.messages", Some(messages("user", [text_part(&traveller.prompt)])));
        }
        let begun_at = if traveller.parent.is_some() { self.first_step_at(traveller) } else { None };
        let begun_at = begun_at.unwrap_or(traveller.begun_at);
        self.spans.push(OtelSpan {
            trace: self.trace,
            id: traveller.span,
            parent: traveller.parent,
            name: format!("invoke_workflow {}", traveller.branch.as_ref().unwrap_or(&traveller.workflow)),
            kind: SpanKind::Internal,
            begun_at: begun_at.min(at),
            ended_at: at,
            attributes,
            error: failure.map(|outcome| format!("the thread ended as {outcome}")),
        });
    }

    /// When a thread's first step began. The id of a child thread contains the time of its parent's head, which may be days earlier.
    fn first_step_at(&mut self, traveller: &TracedThread<'_>) -> Option<u64> {
        let hash = traveller.thread.step_hash(0).ok()?;
        let (step, stored_at) = nodes::step_node(self.store(), hash).ok()?;
        let took = self.detail(step.detail).ok().and_then(|done| done.duration_ms);
        Some(traveller.times(hash, stored_at, traveller.begun_at, took).0)
    }

    /// The span of a step, and the spans of its agent's activity.
    fn step(&mut self, traveller: &TracedThread<'_>, step: &Step) -> Result<()> {
        let (head, before) = traveller.before(self.store(), step.index)?;
        let done = self.detail(step.detail);
        let done = self.readable(done).unwrap_or_default();
        let (begun_at, ended_at) = traveller.times(step.hash, step.timestamp, before, done.duration_ms);
        let mut agent = done.agent.clone();
        if agent.node.is_none() {
            // For a child thread, or a step that another program recorded, only the command is ever known.
            agent = SpanAgent::of_command(&step.agent);
        }
        let mut attributes = self.of_agent(traveller, &step.role, &agent, &done);
        attributes
            .add("uwf.step", Some(step.index))
            .add("uwf.node", Some(step.hash.to_string()))
            .add("uwf.extracted_by", step.extracted_by.as_deref());
        if self.content {
            let output = text_part(&step.output.to_string());
            let said = done.answer.and_then(|hash| self.text(hash)).map(|text| text_part(&text));
            attributes.add("gen_ai.output.messages", Some(messages("assistant", [said.unwrap_or(output)])));
        }
        let span = OtelSpan {
            trace: self.trace,
            id: step_id(&traveller.thread.id, head),
            parent: Some(traveller.span),
            name: agent.span_name(),
            kind: SpanKind::Internal,
            begun_at,
            ended_at,
            attributes,
            error: None,
        };
        if traveller.since.is_none() {
            for (number, failed) in done.failed.iter().enumerate() {
                self.failed(traveller, head, number, &step.role, Some(*failed));
            }
        }
        self.turns(traveller, &span, &agent, &done);
        self.spans.push(span);
        Ok(())
    }

    /// The spans of failed attempts: those that no step includes yet, and those in the record.
    fn failures(&mut self, traveller: &TracedThread<'_>) -> Result<()> {
        if traveller.since.is_none()
            && let Some(newest) = recorded::read(self.home, &traveller.thread.id)?
        {
            let role = newest.opened.role.clone();
            for (number, failed) in newest.earlier_at(traveller.thread.head).into_iter().enumerate() {
                self.failed(traveller, traveller.thread.head, number, &role, Some(failed));
            }
        }
        for attempt in &traveller.attempts {
            let Some(closed) = &attempt.closed else { continue };
            if matches!(closed.outcome, AttemptOutcome::Failed | AttemptOutcome::Asked)
                && traveller.since.is_none_or(|since| closed.closed_at >= since)
            {
                let opened = &attempt.opened;
                self.failed(traveller, opened.expected_head, opened.earlier.len(), &opened.role, closed.node);
            }
        }
        Ok(())
    }

    /// The span of a failed attempt, by its number after a head.
    fn failed(
        &mut self,
        traveller: &TracedThread<'_>,
        head: NodeHash,
        number: usize,
        role: &str,
        node: Option<NodeHash>,
    ) {
        let id = span_id("attempt", &traveller.thread.id, &[&head.to_string(), &number.to_string()]);
        let kept = node.and_then(|hash| {
            let kept = self.attempt(hash);
            self.readable(kept)
        });
        let (done, attempt, stored_at) = match kept {
            // A successful attempt is listed if it printed something on stderr.
            Some((_, attempt, _)) if attempt.error.is_none() => return,
            Some((done, attempt, stored_at)) => (done, Some(attempt), Some(stored_at)),
            None => (AgentWork::default(), None, None),
        };
        let recorded = traveller.attempts.iter().find(|attempt| {
            attempt.opened.expected_head == head
                && attempt.opened.earlier.len() == number
                && attempt.closed.as_ref().is_some_and(|closed| closed.node == node)
        });
        let closed_at = recorded.and_then(|attempt| attempt.closed.as_ref()).map(|closed| closed.closed_at);
        let Some(ended_at) = closed_at.or(stored_at) else { return };
        let took = done.duration_ms.unwrap_or(0);
        let begun_at = recorded.map_or(ended_at.saturating_sub(took), |attempt| attempt.opened.opened_at).min(ended_at);
        let exit_code = attempt.as_ref().and_then(|attempt| attempt.exit_code);
        // An attempt that asked a person did all it could.
        let has_failed = attempt.as_ref().is_none_or(node::AttemptNode::has_failed);
        let (error_type, plain) = match exit_code {
            Some(0) => ("not_extractable".to_owned(), "its answer has no valid output".to_owned()),
            Some(code) => (format!("exit_code_{code}"), format!("the agent exited with {code}")),
            None => ("agent_failed".to_owned(), "the attempt failed".to_owned()),
        };
        let mut attributes = self.of_agent(traveller, role, &done.agent, &done);
        attributes
            .add("uwf.node", node.map(|hash| hash.to_string()))
            .add("uwf.attempt.exit_code", exit_code)
            .add("error.type", has_failed.then_some(error_type));
        // The error may quote the agent.
        let why = attempt.and_then(|attempt| attempt.error).filter(|_| self.content);
        let span = OtelSpan {
            trace: self.trace,
            id,
            parent: Some(traveller.span),
            name: done.agent.span_name(),
            kind: SpanKind::Internal,
            begun_at,
            ended_at,
            attributes,
            error: has_failed.then(|| why.map_or(plain, |why| cut(&why))),
        };
        self.turns(traveller, &span, &done.agent, &done);
        self.spans.push(span);
    }

    /// Common attributes of agent spans.
    fn of_agent(
        &self,
        traveller: &TracedThread<'_>,
        role: &str,
        agent: &SpanAgent,
        done: &AgentWork,
    ) -> SpanAttributes {
        let mut attributes = SpanAttributes::default();
        attributes
            .add("gen_ai.operation.name", Some("invoke_agent"))
            .add("gen_ai.provider.name", Some(agent.provider.as_str()).filter(|name| !name.is_empty()))
            .add("gen_ai.agent.name", agent.name.as_deref())
            .add("gen_ai.agent.id", agent.node.map(|hash| hash.to_string()))
            .add("gen_ai.agent.version", agent.version.as_deref())
            .add("gen_ai.request.model", agent.model.as_deref())
            .add("gen_ai.conversation.id", Some(traveller.thread.id.as_str()))
            .add("uwf.role", Some(role))
            .add("uwf.agent.session", done.session_id.as_deref());
        add_usage(&mut attributes, done.tokens.as_ref());
        attributes
    }

    fn text(&mut self, hash: NodeHash) -> Option<String> {
        let content = nodes::typed::<ContentNode>(self.store(), hash);
        self.readable(content).map(|content| content.text)
    }

    /// The activity that a detail node describes.
    fn detail(&mut self, hash: NodeHash) -> Result<AgentWork> {
        let node = self.store().get(hash)?;
        if NodeKind::from_type_hash(node.type_hash) != Some(NodeKind::ReactSession) {
            // A child thread has spans of its own. A step that another program recorded has no known activity.
            return Ok(AgentWork::default());
        }
        let session: ReactSession = nodes::payload(hash, &node)?;
        let tokens = session.tokens.or_else(|| self.counted(&session.turns));
        Ok(AgentWork {
            agent: self.agent(session.agent),
            turns: session.turns,
            tokens,
            duration_ms: Some(session.duration_ms),
            is_model: !WITHOUT_MODEL.contains(&session.source.as_str()),
            session_id: session.session_id,
            answer: Some(session.raw),
            failed: session.attempts,
        })
    }

    /// A failed attempt, and when its node was stored.
    fn attempt(&mut self, hash: NodeHash) -> Result<(AgentWork, uwf_core::node::AttemptNode, u64)> {
        let node = self.store().get(hash)?;
        let attempt = nodes::attempt(self.store(), hash)?;
        let mut done = AgentWork { agent: self.agent(attempt.agent), ..AgentWork::default() };
        if let Ok(traced) = nodes::payload::<TracedAttempt>(hash, &node) {
            done.tokens = traced.tokens.or_else(|| self.counted(&traced.turns));
            let turns = traced.turns.iter().filter_map(|turn| nodes::typed::<ReactTurn>(self.store(), *turn).ok());
            done.duration_ms = Some(turns.map(|turn| turn.latency_ms).fold(0, number::sum));
            done.is_model = !WITHOUT_MODEL.contains(&traced.source.as_str());
            done.session_id = traced.session_id;
            done.turns = traced.turns;
        }
        Ok((done, attempt, node.timestamp))
    }

    /// The tokens of turns, if every turn has some.
    fn counted(&self, turns: &[NodeHash]) -> Option<TokenCounts> {
        let tokens = |hash: &NodeHash| nodes::typed::<ReactTurn>(self.store(), *hash).ok()?.tokens;
        let counted: Option<Vec<TokenCounts>> = turns.iter().map(tokens).collect();
        counted?.into_iter().reduce(|sum, tokens| sum.plus(&tokens))
    }

    fn agent(&mut self, hash: NodeHash) -> SpanAgent {
        if let Some(known) = self.agents.get(&hash) {
            return known.clone();
        }
        let agent = nodes::typed::<AgentNode>(self.store(), hash);
        let known =
            self.readable(agent).map(|agent| SpanAgent::from_node(self.config, hash, agent)).unwrap_or_default();
        self.agents.insert(hash, known.clone());
        known
    }
}
