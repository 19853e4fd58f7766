//! Records the turns of a running program while it prints its trace, so that people see them.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use agent_kit::answer::AgentTurn;
use agent_kit::{AgentContext, Result, TurnRecorder};
use durable_files::regular;
use uwf_core::prompt::AgentPrompt;
use uwf_engine::attempt::live_trace::FOLLOWED;

use super::{MAX_TRACE_BYTES, TraceEventReader, TraceFormat, json};

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
}

/// Runs `work`, and meanwhile records the turns in the output of the program that it runs. The trace of the whole output replaces them.
///
/// # Errors
/// Errors of the work, and of the context before it.
pub(crate) fn during<R>(
    context: &AgentContext<'_>,
    format: Option<TraceFormat>,
    prompt: &AgentPrompt,
    work: impl FnOnce() -> Result<R>,
) -> Result<R> {
    let Some(events) = format.and_then(TraceFormat::event_reader) else { return work() };
    let mut follower = PrintedTraceFollower {
        path: context.output_files()?.raw,
        read: 0,
        rest: Vec::new(),
        events,
        prompt: prompt.clone(),
        recorder: TurnRecorder::begin(context, FOLLOWED)?,
        model: None,
        recorded: 0,
    };
    let (end, is_over) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || follower.follow(&is_over));
        let done = work();
        drop(end);
        done
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
        if self.new_events(&mut file)? {
            if let Some(model) = self.events.model().filter(|model| self.model.as_deref() != Some(*model)) {
                self.recorder.model(Some(model));
                self.model = Some(model.to_owned());
            }
            self.record();
        }
        Ok(())
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
        Some(AgentTurn { input, ..turn })
    }
}
