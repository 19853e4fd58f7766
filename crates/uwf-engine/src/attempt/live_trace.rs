//! An agent's turns so far, in files of its attempt, so that any failed attempt keeps its turns. A successful attempt
//! submits its turns with its answer, and these files are removed.
//!
//! uwf appends to `attempts/<id>.trace`, one JSON line at a time and without sync: after a power loss the turns are
//! worth as little as the output files. Its lines:
//!
//! | line | content |
//! |---|---|
//! | `{"text": "…"}` | the next text; texts are numbered from 0 and each is written once, so the file grows linearly |
//! | `{"turn": {…}}` | a finished turn, with its texts by number |
//! | `{"session": {…}}` | the source of the trace, and the agent's own session id |
//! | `{"model": "…"}` | the model, as the agent reports it; the last one counts |
//! | `{"total": {…}}` | tokens and cost of all turns so far, as the agent reports them |
//!
//! `attempts/<id>.given-up` has the same lines for a session that the agent abandoned for a new one. Its turns were
//! paid for.
//!
//! `attempts/<id>.turn` is replaced as a whole. It has the current turn, which is over once the other file has as many
//! turns.

pub(crate) mod follow;

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use durable_files::regular;
use serde::{Deserialize, Serialize};
use uwf_core::node::TokenCounts;

use crate::attempt::recorded::AttemptOutputFiles;
use crate::attempt::turns::{AgentToolCall, AgentTurn};
use crate::error::{AtPath, Result};

/// Most bytes of a trace that are written and read: the largest real sessions have about ten MB.
pub const MAX_BYTES: u64 = 64 << 20;

/// Most turns that are written and read. Each becomes a few files.
pub const MAX_TURNS: usize = 5_000;

/// Source of turns that uwf records while it follows the output of a program. The whole output replaces them.
pub const FOLLOWED: &str = "followed";

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LiveTraceLine {
    Text(String),
    Turn(StoredTurn),
    Session(TracedSession),
    Model(String),
    Total(TokenCounts),
}

/// The session of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TracedSession {
    /// Its source: `wire`, `acp`, `export`…
    pub source: String,
    /// The agent's own session id.
    pub id: Option<String>,
    /// Turns that the session already had from earlier steps of the role.
    #[serde(default)]
    pub turns_before: usize,
}

/// A turn, with its texts by number; `I` is the type its input is read as.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredTurn<I = Vec<usize>> {
    /// Turns before it.
    number: usize,
    input: I,
    pub(crate) output: usize,
    pub(crate) calls: Vec<StoredCall>,
    tokens: Option<TokenCounts>,
    latency_ms: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredCall {
    pub(crate) name: String,
    pub(crate) arguments: usize,
    result: usize,
    duration_ms: u64,
}

impl<I> StoredTurn<I> {
    /// Numbers of the texts that the turn produced.
    fn texts(&self) -> impl Iterator<Item = usize> + '_ {
        self.calls.iter().flat_map(|call| [call.arguments, call.result]).chain([self.output])
    }
}

/// Writes the trace of an attempt.
pub struct LiveTraceWriter {
    file: File,
    path: PathBuf,
    open_turn: PathBuf,
    texts: HashMap<String, usize>,
    turns: usize,
    left: u64,
}

impl LiveTraceWriter {
    /// Begins the trace of an attempt, replacing an existing one.
    pub fn begin(files: &AttemptOutputFiles) -> Result<LiveTraceWriter> {
        let path = files.trace.clone();
        let file =
            regular::open_with(OpenOptions::new().create(true).append(true), &path).path_context("create", &path)?;
        file.set_len(0).path_context("empty", &path)?;
        let open_turn = files.turn.clone();
        // It belongs to the replaced trace. The first trace of an attempt replaces nothing.
        let _ = std::fs::remove_file(&open_turn);
        Ok(LiveTraceWriter { file, path, open_turn, texts: HashMap::new(), turns: 0, left: MAX_BYTES })
    }

    /// Begins the trace of a session that the agent gave up.
    pub fn begin_given_up(files: &AttemptOutputFiles) -> Result<LiveTraceWriter> {
        LiveTraceWriter::begin(&AttemptOutputFiles { trace: files.given_up.clone(), ..files.clone() })
    }

    /// Writes the session of the trace; the last one written counts.
    pub fn session(&mut self, session: TracedSession) -> Result<()> {
        self.write(&LiveTraceLine::Session(session))
    }

    /// Writes the model, as the agent reports it; the last one written counts.
    pub fn model(&mut self, model: &str) -> Result<()> {
        self.write(&LiveTraceLine::Model(model.to_owned()))
    }

    /// Continues the trace of an attempt.
    pub fn resume(files: &AttemptOutputFiles) -> Result<LiveTraceWriter> {
        let ParsedLiveTrace { texts, turns, .. } = ParsedLiveTrace::read(&files.trace);
        let path = files.trace.clone();
        let file =
            regular::open_with(OpenOptions::new().create(true).append(true), &path).path_context("create", &path)?;
        let left = MAX_BYTES.saturating_sub(file.metadata().path_context("look at", &path)?.len());
        let texts = texts.into_iter().enumerate().map(|(number, text)| (text.to_string(), number)).collect();
        Ok(LiveTraceWriter { file, path, open_turn: files.turn.clone(), texts, turns: turns.len(), left })
    }

    /// Writes the tokens and cost of all turns so far, as the agent reports them.
    pub fn total(&mut self, tokens: &TokenCounts) -> Result<()> {
        self.write(&LiveTraceLine::Total(tokens.clone()))
    }

    /// Writes a finished turn.
    pub fn turn(&mut self, turn: &AgentTurn) -> Result<()> {
        if self.turns == MAX_TURNS {
            return Ok(());
        }
        let stored = self.stored(turn)?;
        self.turns += 1;
        self.write(&LiveTraceLine::Turn(stored))
    }

    /// Writes the current state of an unfinished turn; the last one written counts.
    pub fn under_way(&mut self, turn: &AgentTurn) -> Result<()> {
        let stored = self.stored(turn)?;
        let new = self.open_turn.with_extension("turn-new");
        regular::write(&new, json(&stored).as_bytes()).path_context("write", &new)?;
        std::fs::rename(&new, &self.open_turn).path_context("write", &self.open_turn)
    }

    fn stored(&mut self, turn: &AgentTurn) -> Result<StoredTurn> {
        let input = turn.input.iter().map(|text| self.text(text)).collect::<Result<_>>()?;
        let output = self.text(&turn.output)?;
        let mut calls = Vec::with_capacity(turn.tool_calls.len());
        for call in &turn.tool_calls {
            let (arguments, result) = (self.text(&call.arguments)?, self.text(&call.result)?);
            calls.push(StoredCall { name: call.name.clone(), arguments, result, duration_ms: call.duration_ms });
        }
        Ok(StoredTurn {
            number: self.turns,
            input,
            output,
            calls,
            tokens: turn.tokens.clone(),
            latency_ms: turn.latency_ms,
        })
    }

    /// Number of a text. Writes the text if it is new.
    fn text(&mut self, text: &str) -> Result<usize> {
        if let Some(number) = self.texts.get(text) {
            return Ok(*number);
        }
        let number = self.texts.len();
        self.write(&LiveTraceLine::Text(text.to_owned()))?;
        self.texts.insert(text.to_owned(), number);
        Ok(number)
    }

    /// Writes nothing beyond the limit: readers skip a turn with missing texts.
    fn write(&mut self, line: &LiveTraceLine) -> Result<()> {
        let line = json(line) + "\n";
        match self.left.checked_sub(line.len() as u64) {
            Some(left) => self.left = left,
            None => {
                self.left = 0;
                return Ok(());
            }
        }
        self.file.write_all(line.as_bytes()).path_context("write", &self.path)
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a trace is texts and numbers")
}

/// A trace as far as it got.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LiveTrace {
    /// Turns, oldest first.
    pub turns: Vec<AgentTurn>,
    /// Their session, if the file names it.
    pub session: Option<TracedSession>,
    /// Their model, if the agent reports it.
    pub model: Option<String>,
    /// Reported total, and the number of turns that it covers.
    pub total: Option<(TokenCounts, usize)>,
}

impl LiveTrace {
    /// Whether it has no turns and no total.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty() && self.total.is_none()
    }

    /// Whether uwf recorded its turns while it followed the output of a program.
    pub fn is_followed(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.source == FOLLOWED)
    }

    /// Tokens of all turns; `None` if a turn was not counted. A reported cost counts even if the cost of later turns is
    /// unknown.
    pub fn tokens(&self) -> Option<TokenCounts> {
        if let Some((total, turns)) = &self.total {
            let later = self.turns.get(*turns..).unwrap_or_default().iter();
            let later = later.map(|turn| turn.tokens.clone().unwrap_or_default());
            return Some(later.fold(total.clone(), |sum, tokens| sum.at_least(&tokens)));
        }
        let counted: Option<Vec<&TokenCounts>> = self.turns.iter().map(|turn| turn.tokens.as_ref()).collect();
        let (first, others) = counted.as_ref()?.split_first()?;
        Some(others.iter().fold((*first).clone(), |sum, tokens| sum.plus(tokens)))
    }
}

impl LiveTrace {
    /// This trace after the trace of a session that the agent gave up.
    #[must_use]
    pub fn after(mut self, mut given_up: LiveTrace) -> LiveTrace {
        let total = match (given_up.tokens(), self.tokens()) {
            (Some(one), Some(other)) => Some(one.at_least(&other)),
            // A total would hide that one of the two is unknown.
            _ => {
                given_up.count_at_end();
                self.count_at_end();
                None
            }
        };
        let turns: Vec<AgentTurn> = given_up.turns.into_iter().chain(self.turns).collect();
        let total = total.map(|total| (total, turns.len()));
        let (session, model) = (self.session.or(given_up.session), self.model.or(given_up.model));
        LiveTrace { turns, session, model, total }
    }

    /// Moves the total, if it is known, to the last turn.
    fn count_at_end(&mut self) {
        let Some((tokens, (last, others))) = self.tokens().zip(self.turns.split_last_mut()) else { return };
        others.iter_mut().for_each(|turn| turn.tokens = None);
        last.tokens = Some(tokens);
    }
}

/// Reads the trace of the session that the agent gave up, if there is one.
pub(crate) fn read_given_up(files: &AttemptOutputFiles) -> LiveTrace {
    let ParsedLiveTrace { turns, session, model, total, .. } = ParsedLiveTrace::read(&files.given_up);
    LiveTrace { turns, session, model, total }
}

/// Removes the trace of the session that the agent gave up, because its turns are in the main trace.
pub fn forget_given_up(files: &AttemptOutputFiles) {
    // Most agents give up no session.
    let _ = std::fs::remove_file(&files.given_up);
}

/// Reads the whole trace of an attempt, skipping incomplete and unknown lines. To watch a running agent, follow the
/// trace instead.
pub fn read(files: &AttemptOutputFiles) -> LiveTrace {
    let ParsedLiveTrace { texts, mut turns, session, model, total } = ParsedLiveTrace::read(&files.trace);
    let under_way: Option<StoredTurn> = serde_json::from_str(&beginning(&files.turn)).ok();
    let open = under_way.filter(|stored| stored.number == turns.len()).and_then(|stored| turn(stored, &texts));
    turns.extend(open);
    LiveTrace { turns, session, model, total }
}

/// The parsed lines of a trace.
#[derive(Default)]
struct ParsedLiveTrace {
    texts: Vec<Arc<str>>,
    turns: Vec<AgentTurn>,
    session: Option<TracedSession>,
    model: Option<String>,
    total: Option<(TokenCounts, usize)>,
}

impl ParsedLiveTrace {
    fn read(trace: &Path) -> ParsedLiveTrace {
        let mut read = ParsedLiveTrace::default();
        for line in beginning(trace).lines() {
            match serde_json::from_str(line) {
                Ok(LiveTraceLine::Text(text)) => read.texts.push(text.into()),
                Ok(LiveTraceLine::Turn(stored)) if read.turns.len() < MAX_TURNS => {
                    read.turns.extend(turn(stored, &read.texts));
                }
                Ok(LiveTraceLine::Session(session)) => read.session = Some(session),
                Ok(LiveTraceLine::Model(model)) => read.model = Some(model),
                Ok(LiveTraceLine::Total(total)) => read.total = Some((total, read.turns.len())),
                Ok(LiveTraceLine::Turn(_)) | Err(_) => {}
            }
        }
        read
    }
}

fn turn(stored: StoredTurn, texts: &[Arc<str>]) -> Option<AgentTurn> {
    let text = |number: usize| texts.get(number).map(ToString::to_string);
    let calls = stored.calls.into_iter().map(|call| {
        let (arguments, result) = (text(call.arguments)?, text(call.result)?);
        Some(AgentToolCall { name: call.name, arguments, result, duration_ms: call.duration_ms })
    });
    Some(AgentTurn {
        tool_calls: calls.collect::<Option<_>>()?,
        input: stored.input.into_iter().map(|number| texts.get(number).cloned()).collect::<Option<_>>()?,
        output: text(stored.output)?,
        tokens: stored.tokens,
        latency_ms: stored.latency_ms,
    })
}

/// The beginning of a file, up to the size limit of a trace; an absent file is empty.
fn beginning(path: &Path) -> String {
    let mut bytes = Vec::new();
    // An unreadable trace must not prevent the attempt itself from being kept.
    let _ = regular::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::follow::LiveTraceFollower;
    use super::*;

    fn files(dir: &Path) -> AttemptOutputFiles {
        let file = |extension: &str| dir.join(format!("a.{extension}"));
        AttemptOutputFiles {
            out: file("out"),
            err: file("err"),
            raw: file("raw"),
            run: file("run"),
            submitted: file("submitted"),
            trace: file("trace"),
            turn: file("turn"),
            given_up: file("given-up"),
            room: file("room"),
        }
    }

    fn turn(input: &[&str], output: &str, calls: &[&str]) -> AgentTurn {
        let call = |name: &&str| AgentToolCall {
            name: (*name).to_owned(),
            arguments: "{}".to_owned(),
            result: format!("result of {name}"),
            duration_ms: 3,
        };
        let asked = AgentTurn::asked(input.iter().copied());
        AgentTurn { output: output.to_owned(), tool_calls: calls.iter().map(call).collect(), ..asked }
    }

    #[test]
    fn written_turns_are_read_with_texts_stored_once() {
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        let mut writer = LiveTraceWriter::begin(&files).unwrap();
        let session = TracedSession { source: "wire".to_owned(), id: None, turns_before: 0 };
        writer.session(session.clone()).unwrap();
        let long = "the task ".repeat(1000);
        let first = turn(&[&long], "I look", &["ls"]);
        writer.under_way(&turn(&[&long], "I", &[])).unwrap();
        assert_eq!(read(&files).turns, [turn(&[&long], "I", &[])]);
        writer.turn(&first).unwrap();
        assert_eq!(read(&files).turns, std::slice::from_ref(&first), "the turn under way is over");
        let second = turn(&[&long, "I look", "result of ls"], "", &["cat", "ls"]);
        writer.under_way(&second).unwrap();
        assert_eq!(
            read(&files),
            LiveTrace { turns: vec![first, second], session: Some(session), ..LiveTrace::default() }
        );
        assert!(files.trace.metadata().unwrap().len() < 2 * long.len() as u64);
    }

    #[test]
    fn total_covers_preceding_turns_and_trace_can_resume() {
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        let mut writer = LiveTraceWriter::begin(&files).unwrap();
        writer.turn(&turn(&["a"], "b", &[])).unwrap();
        let tokens = |count, cost| TokenCounts { input: Some(count), output: Some(1), cost, ..TokenCounts::default() };
        writer.total(&tokens(7, Some(0.5))).unwrap();
        assert_eq!(read(&files).tokens(), Some(tokens(7, Some(0.5))));
        let mut writer = LiveTraceWriter::resume(&files).unwrap();
        let later = AgentTurn { tokens: Some(tokens(3, None)), ..turn(&["a", "c"], "d", &[]) };
        writer.turn(&later).unwrap();
        let trace = read(&files);
        assert_eq!(trace.turns, [turn(&["a"], "b", &[]), later]);
        assert_eq!(
            trace.tokens(),
            Some(TokenCounts { output: Some(2), ..tokens(10, Some(0.5)) }),
            "what is known counts"
        );
        LiveTraceWriter::resume(&files).unwrap().turn(&turn(&["a"], "e", &[])).unwrap();
        assert_eq!(read(&files).tokens(), Some(TokenCounts { cost: Some(0.5), ..TokenCounts::default() }));
    }

    #[test]
    fn a_session_that_was_given_up_stays_counted() {
        let tokens = |count, cost| TokenCounts { input: Some(count), output: Some(1), cost, ..TokenCounts::default() };
        let trace = |total: Option<TokenCounts>| LiveTrace {
            turns: vec![turn(&[], "a", &[]), turn(&[], "b", &[])],
            model: Some("m".to_owned()),
            total: total.map(|total| (total, 2)),
            ..LiveTrace::default()
        };
        let both = trace(Some(tokens(3, None))).after(trace(Some(tokens(7, Some(0.5)))));
        assert_eq!(both.model.as_deref(), Some("m"));
        assert_eq!(
            (both.turns.len(), both.tokens()),
            (4, Some(TokenCounts { output: Some(2), ..tokens(10, Some(0.5)) }))
        );
        let counted = |trace: LiveTrace| trace.turns.iter().map(|turn| turn.tokens.clone()).collect::<Vec<_>>();
        let first = trace(None).after(trace(Some(tokens(7, Some(0.5)))));
        assert_eq!((first.tokens(), counted(first)), (None, vec![None, Some(tokens(7, Some(0.5))), None, None]));
        let second = trace(Some(tokens(3, None))).after(trace(None));
        assert_eq!(counted(second), [None, None, None, Some(tokens(3, None))]);
    }

    #[test]
    fn a_torn_line_costs_what_it_said() {
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        let mut writer = LiveTraceWriter::begin(&files).unwrap();
        let turns = [turn(&["a"], "b", &[]), turn(&["a", "b", "c"], "d", &["t"])];
        turns.iter().for_each(|turn| writer.turn(turn).unwrap());
        let whole = std::fs::read(&files.trace).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&files.trace, &whole[..length]).unwrap();
            let read = read(&files).turns;
            assert!(turns.starts_with(&read), "cut at {length}: {read:?}");
        }
        assert_eq!(read(&AttemptOutputFiles { trace: dir.path().join("none"), ..files }), LiveTrace::default());
    }

    /// The new turns and the current turn, both without their input.
    fn news(
        follower: &mut LiveTraceFollower,
        files: &AttemptOutputFiles,
    ) -> Option<(Vec<AgentTurn>, Option<AgentTurn>)> {
        let news = follower.read_new_turns(files)?;
        let over = news.over.iter().map(|(_, turn)| news.texts.turn(turn).unwrap());
        Some((over.collect(), news.open.as_ref().map(|turn| news.texts.turn(turn).unwrap())))
    }

    fn without_input(turn: &AgentTurn) -> AgentTurn {
        AgentTurn { input: Vec::new(), ..turn.clone() }
    }

    #[test]
    fn each_look_finds_what_is_new() {
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        let mut follower = LiveTraceFollower::default();
        assert_eq!(news(&mut follower, &files), Some((Vec::new(), None)), "nothing was written yet");
        let mut writer = LiveTraceWriter::begin(&files).unwrap();
        let turns = [turn(&["a"], "b", &["ls"]), turn(&["a", "b"], "", &["ls", "cat"]), turn(&["a"], "d", &[])];
        writer.turn(&turns[0]).unwrap();
        writer.under_way(&turns[1]).unwrap();
        let [first, second, third] = turns.each_ref().map(without_input);
        assert_eq!(news(&mut follower, &files), Some((vec![first], Some(second.clone()))));
        assert_eq!(news(&mut follower, &files), None, "nothing happened");
        writer.turn(&turns[1]).unwrap();
        writer.turn(&turns[2]).unwrap();
        assert_eq!(news(&mut follower, &files), Some((vec![second, third], None)));
    }

    #[test]
    fn partial_line_is_read_once_complete() {
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        let mut writer = LiveTraceWriter::begin(&files).unwrap();
        let turns = [turn(&["a"], "b", &[]), turn(&["a", "b"], "d", &["t"])];
        turns.iter().for_each(|turn| writer.turn(turn).unwrap());
        let whole = std::fs::read(&files.trace).unwrap();
        let (mut follower, mut seen) = (LiveTraceFollower::default(), Vec::new());
        for length in 0..=whole.len() {
            std::fs::write(&files.trace, &whole[..length]).unwrap();
            seen.extend(news(&mut follower, &files).unwrap().0);
        }
        assert_eq!(seen, turns.each_ref().map(without_input));
    }

    #[test]
    fn restarted_trace_is_followed_from_beginning() {
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        let mut follower = LiveTraceFollower::default();
        LiveTraceWriter::begin(&files).unwrap().turn(&turn(&["a"], "short", &[])).unwrap();
        assert_eq!(news(&mut follower, &files).unwrap().0.len(), 1);
        let again = turn(&["another"], &"long ".repeat(99), &["ls"]);
        LiveTraceWriter::begin(&files).unwrap().turn(&again).unwrap();
        assert_eq!(news(&mut follower, &files), Some((vec![without_input(&again)], None)));
    }

    #[test]
    fn running_tokens_need_counts_from_all_finished_turns() {
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        let mut writer = LiveTraceWriter::begin(&files).unwrap();
        let counted = |input, output: &str| AgentTurn {
            tokens: Some(TokenCounts { input: Some(input), output: Some(1), ..TokenCounts::default() }),
            ..turn(&[], output, &[])
        };
        let mut follower = LiveTraceFollower::default();
        let mut input = || follower.read_new_turns(&files).unwrap().tokens.and_then(|tokens| tokens.input);
        writer.under_way(&counted(2, "a")).unwrap();
        assert_eq!(input(), Some(2), "of the turn under way");
        writer.turn(&counted(3, "b")).unwrap();
        assert_eq!(input(), Some(3));
        writer.under_way(&turn(&[], "the model is asked", &[])).unwrap();
        assert_eq!(input(), Some(3), "the turns that are over were counted");
        writer.turn(&turn(&[], "c", &[])).unwrap();
        writer.turn(&counted(4, "d")).unwrap();
        assert_eq!(input(), None, "one of them was not");
    }

    #[test]
    fn tokens_are_summed_when_all_are_known() {
        let counted = |input, cached| AgentTurn {
            tokens: Some(TokenCounts { input, output: Some(1), cached, cost: Some(0.5), ..TokenCounts::default() }),
            ..turn(&[], "", &[])
        };
        let trace = |turns| LiveTrace { turns, ..LiveTrace::default() };
        let all = TokenCounts { input: Some(5), output: Some(2), cost: Some(1.0), ..TokenCounts::default() };
        assert_eq!(trace(vec![counted(Some(2), Some(1)), counted(Some(3), None)]).tokens(), Some(all));
        assert_eq!(trace(vec![counted(Some(2), None), turn(&[], "", &[])]).tokens(), None);
        assert_eq!(trace(Vec::new()).tokens(), None);
    }
}
