//! Records the turns of a running program while it prints its trace, so that people see them.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use agent_kit::answer::AgentTurn;
use agent_kit::{AgentContext, Result, TurnRecorder};
use durable_files::regular;
use uwf_core::node::TokenCounts;
use uwf_core::prompt::AgentPrompt;
use uwf_engine::attempt::live_trace::FOLLOWED;

use super::codex_session::{self, CodexSession};
use super::{MAX_TRACE_BYTES, ParsedTrace, TraceEventReader, TraceFormat, json};

/// Time between two looks at the output.
const PACE: Duration = Duration::from_millis(200);

/// Follows the stdout of a running program.
struct PrintedTraceFollower {
    path: PathBuf,
    /// Bytes read.
    read: u64,
    /// The beginning of a line that is not complete.
    rest: Vec<u8>,
    events: Box<dyn TraceEventReader>,
    prompt: AgentPrompt,
    recorder: TurnRecorder,
    /// The model that was recorded.
    model: Option<String>,
    /// Number of recorded turns that are over.
    recorded: usize,
    /// The session file of codex.
    session: Option<CodexSession>,
    /// Tokens of the session at the last look.
    tokens: Option<TokenCounts>,
    /// Tokens of the session that are recorded with turns that are over.
    assigned: TokenCounts,
}

/// The session of a program that has ended, beyond what it printed.
#[derive(Default)]
pub(crate) struct FollowedSession(Option<CodexSession>);

impl FollowedSession {
    /// The printed trace with the values that only the session has.
    pub(crate) fn complete(self, trace: ParsedTrace) -> ParsedTrace {
        match self.0 {
            Some(session) => session.complete(trace),
            None => trace,
        }
    }
}

/// Runs `work`, and meanwhile records the turns in the output of the program that it runs. The trace of the whole output replaces them.
/// `continued` is the session that the program continues, if any.
///
/// # Errors
/// Errors of the work, and of the context before it.
pub(crate) fn during<R>(
    context: &AgentContext<'_>,
    format: Option<TraceFormat>,
    (prompt, continued): (&AgentPrompt, Option<&str>),
    work: impl FnOnce() -> Result<R>,
) -> Result<(R, FollowedSession)> {
    let Some(events) = format.and_then(TraceFormat::event_reader) else {
        return work().map(|done| (done, FollowedSession::default()));
    };
    let mut follower = PrintedTraceFollower {
        path: context.output_files()?.raw,
        read: 0,
        rest: Vec::new(),
        events,
        prompt: prompt.clone(),
        recorder: TurnRecorder::begin(context, FOLLOWED)?,
        model: None,
        recorded: 0,
        session: (format == Some(TraceFormat::Codex)).then(|| CodexSession::begin(continued)),
        tokens: None,
        assigned: TokenCounts::default(),
    };
    let (end, is_over) = channel();
    std::thread::scope(|scope| {
        let following = scope.spawn(move || {
            follower.follow(&is_over);
            FollowedSession(follower.session)
        });
        let done = work();
        drop(end);
        let session = following.join().unwrap_or_default();
        done.map(|done| (done, session))
    })
}

impl PrintedTraceFollower {
    fn follow(&mut self, is_over: &Receiver<()>) {
        while let Err(RecvTimeoutError::Timeout) = is_over.recv_timeout(PACE) {
            // The whole output is read when the program has ended.
            let _ = self.read_news();
        }
    }

    fn read_news(&mut self) -> std::io::Result<()> {
        let mut file = regular::open(&self.path)?;
        let mut has_news = self.new_events(&mut file)?;
        if let Some((session, id)) = self.session.as_mut().zip(self.events.session_id()) {
            session.read_news(id);
            let tokens = session.tokens();
            has_news |= tokens != self.tokens;
            self.tokens = tokens;
        }
        self.record_model();
        if has_news {
            self.record();
        }
        Ok(())
    }

    fn record_model(&mut self) {
        let of_session = || self.session.as_ref().and_then(CodexSession::model);
        let model = self.events.model().or_else(of_session).filter(|model| self.model.as_deref() != Some(*model));
        if let Some(model) = model.map(str::to_owned) {
            self.recorder.model(Some(&model));
            self.model = Some(model);
        }
    }

    /// Reads the complete lines since the last look. Returns whether there was an event.
    fn new_events(&mut self, file: &mut File) -> std::io::Result<bool> {
        file.seek(SeekFrom::Start(self.read))?;
        let begun = self.rest.len();
        let length = file.take(MAX_TRACE_BYTES.saturating_sub(self.read)).read_to_end(&mut self.rest)?;
        self.read += length as u64;
        let Some(end) = self.rest[begun..].iter().rposition(|byte| *byte == b'\n') else { return Ok(false) };
        let rest = self.rest.split_off(begun + end + 1);
        let lines = std::mem::replace(&mut self.rest, rest);
        let (events, _) = json::objects(&String::from_utf8_lossy(&lines));
        events.iter().for_each(|event| self.events.event(event));
        Ok(!events.is_empty())
    }

    fn record(&mut self) {
        let Some(newest) = self.events.count().checked_sub(1) else { return };
        for number in self.recorded..newest {
            if let Some(turn) = self.turn(number) {
                self.recorder.turn(&turn);
                self.assigned = self.tokens.clone().unwrap_or_default();
            }
        }
        self.recorded = newest;
        if let Some(turn) = self.turn(newest) {
            self.recorder.under_way(&turn);
        }
    }

    fn turn(&self, number: usize) -> Option<AgentTurn> {
        let turn = self.events.turn(number)?;
        let is_asked = number == 0 && turn.input.is_empty();
        let input = if is_asked { AgentTurn::asked(self.prompt.texts()).input } else { turn.input };
        // The session counts responses, which turns are not always. The sum over all turns is right.
        let of_session = || Some(codex_session::difference(self.tokens.as_ref()?, &self.assigned));
        let tokens = turn.tokens.or_else(of_session);
        Some(AgentTurn { input, tokens, ..turn })
    }
}
