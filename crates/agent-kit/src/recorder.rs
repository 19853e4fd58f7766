//! The trace of a running agent. The agent's work so far is written to files of the attempt, so it is kept however the attempt ends: with a
//! failure, a time limit, or a `kill -9` of this very process.

use std::io::Write;

use uwf_core::node::TokenCounts;
use uwf_engine::attempt::live_trace::{self, LiveTrace, LiveTraceWriter, TracedSession};
use uwf_engine::attempt::redactor::SecretRedactor;
use uwf_engine::error::Result;

use crate::answer::{AgentAnswer, AgentToolCall, AgentTurn};
use crate::context::AgentContext;

/// Records turns as they happen. A trace that can't be written must not cost the work: one line on stderr reports the problem, and
/// recording stops.
pub struct TurnRecorder {
    writer: Option<LiveTraceWriter>,
    redactor: SecretRedactor,
}

impl TurnRecorder {
    /// Begins the trace of this attempt; `source` is its origin, as in an answer. Outside an attempt, nothing is recorded.
    ///
    /// # Errors
    /// `Config` if `.env` can't be read.
    pub fn begin(context: &AgentContext<'_>, source: &str) -> Result<TurnRecorder> {
        let mut recorder = TurnRecorder { writer: None, redactor: context.redactor()? };
        if context.attempt().is_some() {
            let begun = LiveTraceWriter::begin(&context.output_files()?).map(|writer| recorder.writer = Some(writer));
            recorder.check(begun);
            recorder.session(source, None);
        }
        Ok(recorder)
    }

    /// Records a session that the agent abandons for a new one. It cost money, whatever the new session achieves.
    pub fn give_up(context: &AgentContext<'_>, session: &LiveTrace) -> Result<()> {
        let mut recorder = TurnRecorder { writer: None, redactor: context.redactor()? };
        if context.attempt().is_some() {
            let begun =
                LiveTraceWriter::begin_given_up(&context.output_files()?).map(|writer| recorder.writer = Some(writer));
            recorder.check(begun);
            recorder.model(session.model.as_deref());
            session.turns.iter().for_each(|turn| recorder.turn(turn));
            recorder.total(session.tokens().as_ref());
        }
        Ok(())
    }

    /// Records the turns of an answer, unless the agent recorded them while it worked; then returns `None`. Turns that uwf recorded while it
    /// followed a program's output are replaced.
    pub(crate) fn unless_recorded(context: &AgentContext<'_>, answer: &AgentAnswer) -> Result<Option<TurnRecorder>> {
        if context.attempt().is_some() {
            let recorded = live_trace::read(&context.output_files()?);
            if !recorded.turns.is_empty() && !recorded.is_followed() {
                return Ok(None);
            }
        }
        let mut recorder = TurnRecorder::begin(context, &answer.source)?;
        recorder.session(&answer.source, answer.session_id.as_deref());
        recorder.model(answer.model.as_deref());
        answer.turns.iter().for_each(|turn| recorder.turn(turn));
        recorder.total(answer.tokens.as_ref());
        if context.attempt().is_some() {
            live_trace::forget_given_up(&context.output_files()?);
        }
        Ok(Some(recorder))
    }

    /// Continues the trace that the agent of this attempt recorded while it worked.
    pub(crate) fn resume(context: &AgentContext<'_>) -> Result<TurnRecorder> {
        let mut recorder = TurnRecorder { writer: None, redactor: context.redactor()? };
        if context.attempt().is_some() {
            let resumed =
                LiveTraceWriter::resume(&context.output_files()?).map(|writer| recorder.writer = Some(writer));
            recorder.check(resumed);
        }
        Ok(recorder)
    }

    /// Sets the origin of the trace, and the agent's own id of its session.
    pub fn session(&mut self, source: &str, id: Option<&str>) {
        self.resumed_session(source, id, 0);
    }

    /// Like [`TurnRecorder::session`], for a session that had turns before this visit of the role.
    pub fn resumed_session(&mut self, source: &str, id: Option<&str>, turns_before: usize) {
        let session = TracedSession { source: source.to_owned(), id: id.map(str::to_owned), turns_before };
        let done = self.writer.as_mut().map_or(Ok(()), |writer| writer.session(session));
        self.check(done);
    }

    /// Sets the model, if the agent's program reports it.
    pub fn model(&mut self, model: Option<&str>) {
        let done = model.zip(self.writer.as_mut()).map_or(Ok(()), |(model, writer)| writer.model(model));
        self.check(done);
    }

    /// Sets tokens and cost of all turns so far, if the agent reports them.
    pub fn total(&mut self, tokens: Option<&TokenCounts>) {
        let done = tokens.zip(self.writer.as_mut()).map_or(Ok(()), |(tokens, writer)| writer.total(tokens));
        self.check(done);
    }

    /// Records a complete turn.
    pub fn turn(&mut self, turn: &AgentTurn) {
        let turn = self.redacted(turn);
        let done = self.writer.as_mut().map_or(Ok(()), |writer| writer.turn(&turn));
        self.check(done);
    }

    /// Records the current state of an incomplete turn, and replaces its earlier state.
    pub fn under_way(&mut self, turn: &AgentTurn) {
        let turn = self.redacted(turn);
        let done = self.writer.as_mut().map_or(Ok(()), |writer| writer.under_way(&turn));
        self.check(done);
    }

    fn redacted(&self, turn: &AgentTurn) -> AgentTurn {
        let text = |text: &String| self.redactor.text(text);
        let calls = turn.tool_calls.iter().map(|call| AgentToolCall {
            name: call.name.clone(),
            arguments: text(&call.arguments),
            result: text(&call.result),
            duration_ms: call.duration_ms,
        });
        AgentTurn {
            input: turn.input.iter().map(|text| self.redactor.text(text).into()).collect(),
            output: text(&turn.output),
            tool_calls: calls.collect(),
            tokens: turn.tokens.clone(),
            latency_ms: turn.latency_ms,
        }
    }

    fn check(&mut self, done: Result<()>) {
        if let Err(error) = done {
            self.writer = None;
            // stderr may be closed; the agent continues anyway.
            let _ = writeln!(std::io::stderr(), "recording of the trace stopped: {error}");
        }
    }
}
