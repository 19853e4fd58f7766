//! hermes-agent of Nous Research, through its command line.
//!
//! Its stdout is not a reliable answer: warnings come before it, and in some versions the session id. uwf reads the answer and the turns
//! from the session that hermes keeps (`sessions export`), then from its session file, and from stdout only if both are missing. Feedback
//! goes to the same session (`--resume`).
//!
//! With `mcp: true` the agent gets the tool `submit`. The command line gets it through a configuration laid over the user's (`overlay.rs`),
//! because we must not change the user's file.
//!
//! A prompt that is too long for an argument goes through the Agent Client Protocol (`hermes acp`). So does a prompt with the tool if no
//! configuration can be laid over: a session of the protocol takes its own servers.

pub(crate) mod installed;
mod log;
mod mcp_config;
mod session;

use std::path::PathBuf;

use agent_kit::answer::{AgentAnswer, AgentTurn};
use agent_kit::{Agent, AgentContext, Error, Result, TurnRecorder};
use uwf_core::node::TokenCounts;
use uwf_core::prompt::AgentPrompt;
use uwf_engine::attempt::agent_process;
use uwf_engine::attempt::live_trace;
use uwf_engine::attempt::recorded::AttemptOutputFiles;

use crate::acp::{self, AcpAgent};
use crate::command::MAX_PROMPT_ARGUMENT;
use crate::program::ProgramRun;
use crate::progress;
use crate::trace::ParsedTrace;
use crate::turn_end;

use installed::HermesProgram;

/// Source of a trace exported by hermes.
const EXPORT: &str = "export";

/// The agent of one step.
#[derive(Default)]
pub struct HermesAgent {
    exit_code: Option<i32>,
    session: Option<HermesSession>,
    /// Directory of the overlaid configuration.
    overlay: Option<PathBuf>,
    /// The protocol client, if the answer came through it.
    acp: Option<AcpAgent>,
    /// A paid run that should have continued a session, but began another.
    given_up: Option<live_trace::LiveTrace>,
}

/// A session as read so far.
struct HermesSession {
    id: String,
    turns: usize,
    tokens: Option<TokenCounts>,
}

impl HermesAgent {
    /// One run of `hermes chat`, in a new or existing session. The run that does the work is recorded: a failed attempt keeps that run, not
    /// the feedback after it.
    fn chat(
        &mut self,
        hermes: &HermesProgram<'_, '_>,
        text: &str,
        resume: Option<&str>,
        is_work: bool,
    ) -> Result<HermesOutput> {
        let spec = hermes.agent();
        let model = hermes.model()?;
        let files = hermes.context.output_files()?;
        let chat = hermes.program()?;
        let mut chat = if is_work { chat.keeping(&files) } else { chat };
        let rounds = hermes.settings.max_turns.to_string();
        chat.command().args(["chat", "-q", text, "--yolo", "--max-turns", &rounds, "--quiet"]);
        let options = [("--model", model.as_deref()), ("--resume", resume)];
        for (option, value) in options.into_iter().filter_map(|(option, value)| Some((option, value?))) {
            chat.command().args([option, value]);
        }
        chat.command().args(&spec.args);
        if let Some(overlay) = &self.overlay {
            chat.command().env(mcp_config::VARIABLE, overlay);
        }
        let mut log = log::HermesLogTail::open(&hermes.home_dir(), resume);
        let mut recorder = if is_work { Some(TurnRecorder::begin(hermes.context, EXPORT)?) } else { None };
        let turns_before = self.session.as_ref().map_or(0, |session| session.turns);
        let ran = chat.run(
            |_| {},
            || {
                log.events().iter().for_each(|event| progress::line(&format!("hermes: {event}")));
                // If it never ends, its turns are read from its session.
                if let Some(session) = log.session()
                    && let Some(mut recorder) = recorder.take()
                {
                    recorder.resumed_session(EXPORT, Some(session), turns_before);
                }
            },
        )?;
        self.exit_code = ran.status.code();
        let id = session::id(&ran.stderr, &ran.stdout);
        let is_elsewhere = resume.is_some() && id.as_deref() != resume;
        if !is_elsewhere && !ran.status.code().is_some_and(|code| spec.succeeded(code)) {
            return Err(failed(&spec.name, &ran, id.as_deref()));
        }
        let trace = match &id {
            Some(id) => hermes.session(id)?,
            None => None,
        };
        if let Some(trace) = trace.as_ref().filter(|_| !is_elsewhere) {
            turn_end::check(hermes.opened, trace)?;
        }
        Ok(HermesOutput { id, trace, stdout: session::without_id(&ran.stdout), duration_ms: ran.duration_ms })
    }

    /// Whether a prompt goes through the protocol: it is too long for an argument, or the tool is available no other way.
    fn goes_through_acp(&self, hermes: &HermesProgram<'_, '_>, text: &str) -> bool {
        text.len() > MAX_PROMPT_ARGUMENT || (hermes.settings.mcp && self.overlay.is_none())
    }

    /// An answer through the protocol, with the turns from hermes's session, because the protocol reports only the calls.
    fn with_session(&mut self, hermes: &HermesProgram<'_, '_>, answer: AgentAnswer) -> Result<AgentAnswer> {
        let Some(id) = answer.session_id.clone() else { return Ok(answer) };
        let Some(trace) = hermes.session(&id)? else { return Ok(answer) };
        turn_end::check(hermes.opened, &trace)?;
        let input = answer.turns.first().map(|turn| turn.input.as_slice()).unwrap_or_default();
        let trace = trace.with_input(input);
        let known = self.session.take().map_or(0, |session| session.turns);
        self.session = Some(HermesSession { id, turns: trace.turns.len(), tokens: trace.tokens });
        Ok(AgentAnswer {
            raw: trace.answer.unwrap_or(answer.raw),
            turns: trace.turns.into_iter().skip(known).collect(),
            source: trace.source,
            ..answer
        })
    }

    /// The answer of a run, with the turns since the last one.
    fn answer_of(&mut self, said: HermesOutput, asked: AgentTurn) -> AgentAnswer {
        let (known, tokens_before) = self.session.take().map_or((0, None), |session| (session.turns, session.tokens));
        let HermesOutput { id, trace, stdout, duration_ms } = said;
        let Some(trace) = trace else {
            self.session = id.clone().map(|id| HermesSession { id, turns: known, tokens: None });
            let turns = vec![AgentTurn { output: stdout.clone(), latency_ms: duration_ms, ..asked }];
            return AgentAnswer { turns, duration_ms, session_id: id, ..AgentAnswer::text(stdout) };
        };
        let trace = trace.with_input(&asked.input);
        self.session =
            id.clone().map(|id| HermesSession { id, turns: trace.turns.len(), tokens: trace.tokens.clone() });
        let tokens = if known == 0 {
            trace.tokens
        } else {
            trace.tokens.zip(tokens_before).and_then(|(all, tokens_before)| since(&all, &tokens_before))
        };
        AgentAnswer {
            turns: trace.turns.into_iter().skip(known).collect(),
            tokens,
            duration_ms,
            session_id: id,
            source: trace.source,
            ..AgentAnswer::text(trace.answer.unwrap_or(stdout))
        }
    }
}

impl Agent for HermesAgent {
    fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }

    fn prompt(&mut self, context: &AgentContext<'_>, prompt: AgentPrompt) -> Result<AgentPrompt> {
        Ok(acp::with_instruction(context, prompt, HermesProgram::from_context(context)?.settings.mcp))
    }

    fn answer(&mut self, context: &AgentContext<'_>, prompt: &AgentPrompt) -> Result<AgentAnswer> {
        let hermes = HermesProgram::from_context(context)?;
        self.overlay = hermes.overlay()?;
        let text = prompt.text();
        if self.goes_through_acp(&hermes, &text) {
            let mut acp = self.acp.take().map_or_else(|| hermes.protocol().map(AcpAgent::with), Ok)?;
            let answer = acp.answer(context, prompt);
            self.acp = Some(acp);
            return self.with_session(&hermes, answer?);
        }
        // End the process of an earlier session that used the protocol.
        self.acp = None;
        let said = self.chat(&hermes, &text, None, true)?;
        let answer = self.answer_of(said, AgentTurn::from_prompt(prompt, "", 0));
        Ok(match self.given_up.take() {
            Some(given_up) => answer.after(given_up),
            None => answer,
        })
    }

    fn resumes(&self, context: &AgentContext<'_>) -> Result<bool> {
        Ok(HermesProgram::from_context(context)?.settings.resume)
    }

    fn resume(
        &mut self,
        context: &AgentContext<'_>,
        session: &str,
        prompt: &AgentPrompt,
    ) -> Result<Option<AgentAnswer>> {
        let hermes = HermesProgram::from_context(context)?;
        // The session's turns so far belong to earlier visits. Without any, hermes would begin a new session.
        let Some(before) = hermes.session(session)? else { return Ok(None) };
        self.overlay = hermes.overlay()?;
        self.session =
            Some(HermesSession { id: session.to_owned(), turns: before.turns.len(), tokens: before.tokens.clone() });
        let text = prompt.text();
        if self.goes_through_acp(&hermes, &text) {
            let acp = self.acp.insert(AcpAgent::with(hermes.protocol()?));
            let Some(answer) = acp.resume(context, session, prompt)? else {
                self.session = None;
                return Ok(None);
            };
            return self.with_session(&hermes, answer).map(Some);
        }
        let said = self.chat(&hermes, &text, Some(session), true)?;
        if said.id.as_deref() != Some(session) {
            progress::line(&format!("hermes: session {session} is gone; a new one gets the whole prompt"));
            self.session = None;
            self.given_up = said.trace.map(ParsedTrace::into_recorded).filter(|session| !session.is_empty());
            if let Some(session) = &self.given_up {
                TurnRecorder::give_up(context, session)?;
            }
            return Ok(None);
        }
        Ok(Some(self.answer_of(said, AgentTurn::from_prompt(prompt, "", 0))))
    }

    fn follow_up(&mut self, context: &AgentContext<'_>, text: &str) -> Result<Option<AgentAnswer>> {
        let hermes = HermesProgram::from_context(context)?;
        if !hermes.settings.resume {
            return Ok(None);
        }
        if let Some(acp) = &mut self.acp {
            let answer = acp.follow_up(context, text)?;
            return answer.map(|answer| self.with_session(&hermes, answer)).transpose();
        }
        let Some(id) = self.session.as_ref().map(|session| session.id.clone()) else { return Ok(None) };
        if text.len() > MAX_PROMPT_ARGUMENT {
            return Err(too_long(text.len()));
        }
        let said = self.chat(&hermes, text, Some(&id), false)?;
        same_session(&id, said.id.as_deref())?;
        Ok(Some(self.answer_of(said, AgentTurn::asked(vec![text.to_owned()]))))
    }
}

/// The remains of an unfinished run: its session in hermes, if the id is known.
///
/// # Errors
/// `Config` for invalid settings, `Io`.
pub(crate) fn left(context: &AgentContext<'_>, files: &AttemptOutputFiles) -> Result<Option<ParsedTrace>> {
    let hermes = HermesProgram::from_context(context)?;
    let read = |path| agent_process::read_capped(path, hermes.opened.output_cap);
    let recorded = live_trace::read(files).session;
    let before = recorded.as_ref().map_or(0, |session| session.turns_before);
    let id = match recorded.and_then(|session| session.id) {
        None => session::id(&read(&files.err)?, &read(&files.raw)?),
        id => id,
    };
    let trace = id.map_or(Ok(None), |id| hermes.session(&id))?;
    // Its totals cover the whole session.
    let tokens = |tokens: Option<TokenCounts>| tokens.filter(|_| before == 0);
    Ok(trace.map(|trace| ParsedTrace {
        tokens: tokens(trace.tokens),
        turns: trace.turns.into_iter().skip(before).collect(),
        ..trace
    }))
}

/// Result of a hermes run.
struct HermesOutput {
    id: Option<String>,
    trace: Option<ParsedTrace>,
    stdout: String,
    duration_ms: u64,
}

/// Tokens since an earlier count of the same session; `None` if the counter was reset.
fn since(all: &TokenCounts, before: &TokenCounts) -> Option<TokenCounts> {
    let part =
        |all: Option<u64>, before: Option<u64>| all.zip(before).and_then(|(all, before)| all.checked_sub(before));
    Some(TokenCounts {
        input: Some(part(all.input, before.input)?),
        output: Some(part(all.output, before.output)?),
        cached: part(all.cached, before.cached),
        cache_write: part(all.cache_write, before.cache_write),
        reasoning: part(all.reasoning, before.reasoning),
        cost: all.cost.zip(before.cost).map(|(all, before)| all - before).filter(|cost| *cost >= 0.0),
    })
}

/// Don't take a session that cannot be found for the one that got the feedback.
fn same_session(wanted: &str, found: Option<&str>) -> Result<()> {
    let problem = match found {
        Some(found) if found == wanted => return Ok(()),
        Some(other) => format!("answered in session {other}"),
        None => "does not name the session in which it answered".to_owned(),
    };
    Err(Error::agent_failed(format!("hermes should have continued session {wanted}, but {problem}")))
}

fn failed(agent: &str, ran: &ProgramRun, session: Option<&str>) -> Error {
    let error = ran.failure(agent, session::is_about_it);
    match session {
        Some(id) => Error { message: format!("{} (session {id})", error.message), ..error }
            .hint(format!("`hermes sessions export - --session-id {id}` shows what it did")),
        None => error,
    }
}

fn too_long(bytes: usize) -> Error {
    let message =
        format!("the prompt has {bytes} bytes, too many for an argument of hermes (at most {MAX_PROMPT_ARGUMENT})");
    Error::agent_failed(message)
}
