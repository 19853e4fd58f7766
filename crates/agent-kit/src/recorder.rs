//! The trace of a running agent. The agent's work so far is written to files of the attempt, so it is kept however the attempt ends: with a
//! failure, a time limit, or a `kill -9` of this very process.

use std::io::Write;

use uwf_core::node::Tokens;
use uwf_engine::attempt::live_trace::{self, Trace, TracedSession, Writer};
use uwf_engine::attempt::redactor::Redactor;
use uwf_engine::error::Result;

use crate::answer::{Answer, ToolCall, Turn};
use crate::context::AgentContext;

/// Records turns as they happen. A trace that can't be written must not cost the work: one line on stderr reports the problem, and
/// recording stops.
pub struct Recorder {
    writer: Option<Writer>,
    redactor: Redactor,
}

impl Recorder {
    /// Begins the trace of this attempt; `source` is its origin, as in an answer. Outside an attempt, nothing is recorded.
    ///
    /// # Errors
    /// `Config` if `.env` can't be read.
    pub fn begin(context: &AgentContext<'_>, source: &str) -> Result<Recorder> {
        let mut recorder = Recorder { writer: None, redactor: context.redactor()? };
        if context.attempt().is_some() {
            let begun = Writer::begin(&context.output_files()?).map(|writer| recorder.writer = Some(writer));
            recorder.check(begun);
            recorder.session(source, None);
        }
        Ok(recorder)
    }

    /// Records a session that the agent abandons for a new one. It cost money, whatever the new session achieves.
    ///
    /// # Errors
    /// As [`Recorder::begin`].
    pub fn give_up(context: &AgentContext<'_>, session: &Trace) -> Result<()> {
        let mut recorder = Recorder { writer: None, redactor: context.redactor()? };
        if context.attempt().is_some() {
            let begun = Writer::begin_given_up(&context.output_files()?).map(|writer| recorder.writer = Some(writer));
            recorder.check(begun);
            session.turns.iter().for_each(|turn| recorder.turn(turn));
            recorder.total(session.tokens().as_ref());
        }
        Ok(())
    }

    /// Records the turns of an answer, unless the agent recorded them while it worked; then returns `None`.
    ///
    /// # Errors
    /// As [`Recorder::begin`].
    pub(crate) fn unless_recorded(context: &AgentContext<'_>, answer: &Answer) -> Result<Option<Recorder>> {
        if context.attempt().is_some() && !live_trace::read(&context.output_files()?).turns.is_empty() {
            return Ok(None);
        }
        let mut recorder = Recorder::begin(context, &answer.source)?;
        recorder.session(&answer.source, answer.session_id.as_deref());
        answer.turns.iter().for_each(|turn| recorder.turn(turn));
        recorder.total(answer.tokens.as_ref());
        if context.attempt().is_some() {
            live_trace::forget_given_up(&context.output_files()?);
        }
        Ok(Some(recorder))
    }

    /// Continues the trace that the agent of this attempt recorded while it worked.
    ///
    /// # Errors
    /// As [`Recorder::begin`].
    pub(crate) fn resume(context: &AgentContext<'_>) -> Result<Recorder> {
        let mut recorder = Recorder { writer: None, redactor: context.redactor()? };
        if context.attempt().is_some() {
            let resumed = Writer::resume(&context.output_files()?).map(|writer| recorder.writer = Some(writer));
            recorder.check(resumed);
        }
        Ok(recorder)
    }

    /// Sets the origin of the trace, and the agent's own id of its session.
    pub fn session(&mut self, source: &str, id: Option<&str>) {
        self.resumed_session(source, id, 0);
    }

    /// Like [`Recorder::session`], for a session that had turns before this visit of the role.
    pub fn resumed_session(&mut self, source: &str, id: Option<&str>, turns_before: usize) {
        let session = TracedSession { source: source.to_owned(), id: id.map(str::to_owned), turns_before };
        let done = self.writer.as_mut().map_or(Ok(()), |writer| writer.session(session));
        self.check(done);
    }

    /// Sets tokens and cost of all turns so far, if the agent reports them.
    pub fn total(&mut self, tokens: Option<&Tokens>) {
        let done = tokens.zip(self.writer.as_mut()).map_or(Ok(()), |(tokens, writer)| writer.total(tokens));
        self.check(done);
    }

    /// Records a complete turn.
    pub fn turn(&mut self, turn: &Turn) {
        let turn = self.redacted(turn);
        let done = self.writer.as_mut().map_or(Ok(()), |writer| writer.turn(&turn));
        self.check(done);
    }

    /// Records the current state of an incomplete turn, and replaces its earlier state.
    pub fn under_way(&mut self, turn: &Turn) {
        let turn = self.redacted(turn);
        let done = self.writer.as_mut().map_or(Ok(()), |writer| writer.under_way(&turn));
        self.check(done);
    }

    fn redacted(&self, turn: &Turn) -> Turn {
        let text = |text: &String| self.redactor.text(text);
        let calls = turn.tool_calls.iter().map(|call| ToolCall {
            name: call.name.clone(),
            arguments: text(&call.arguments),
            result: text(&call.result),
            duration_ms: call.duration_ms,
        });
        Turn {
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
