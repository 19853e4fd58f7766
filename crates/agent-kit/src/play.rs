//! The whole of an agent process: context, prompt, answer, extraction, stored step.

use std::io::Write;

use json_cas::Hash;
use uwf_core::config::ExtractRungs;
use uwf_core::prompt::{AnswerForm, Prompt};
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::recorded::{self, GaveUp};
use uwf_engine::error::{Error, Result};
use uwf_engine::root::home::Home;

use crate::answer::Answer;
use crate::context::AgentContext;
use crate::ladder::{Extractor, Ladder};
use crate::question::{Asked, Asks};
use crate::{question, submit, submitted_value};

/// What plays a role: something that answers a prompt and, if it has sessions, can be asked again in the same one.
pub trait Agent {
    /// Reads its settings, before it is asked for anything, and changes nothing. What it decides here can depend on the
    /// role.
    ///
    /// # Errors
    /// `Config` when they cannot be used.
    fn prepare(&mut self, _context: &AgentContext<'_>) -> Result<()> {
        Ok(())
    }

    /// Whether it is asked by a prompt. For one that finds out by itself what it must know, none is made.
    fn is_prompted(&self) -> bool {
        true
    }

    /// The form of answer it is asked for: that of its `output`, unless it has a better way to say what it wants.
    fn form(&self, context: &AgentContext<'_>) -> AnswerForm {
        context.asked_form()
    }

    /// The prompt as this agent is sent it: that of every agent, unless it has something to add.
    ///
    /// # Errors
    /// `Config` when its settings cannot be used, and whatever else makes an answer impossible.
    fn prompt(&mut self, _context: &AgentContext<'_>, prompt: Prompt) -> Result<Prompt> {
        Ok(prompt)
    }

    /// The system message before the prompt, if there is one.
    ///
    /// # Errors
    /// `Config` when its settings cannot be used.
    fn system(&self, _context: &AgentContext<'_>) -> Result<Option<String>> {
        Ok(None)
    }

    /// Answers the prompt of a step, which is what [`Agent::prompt`] has made of it; it is empty where
    /// [`Agent::is_prompted`] says no.
    ///
    /// # Errors
    /// `AgentFailed` when there is no answer, `Config` when it cannot be started.
    fn answer(&mut self, context: &AgentContext<'_>, prompt: &Prompt) -> Result<Answer>;

    /// Whether it continues in its session of an earlier visit of the role, where that is still there: `config.resume`.
    ///
    /// # Errors
    /// `Config` when its settings cannot be used.
    fn resumes(&self, _context: &AgentContext<'_>) -> Result<bool> {
        Ok(false)
    }

    /// Answers in its session of an earlier visit; the prompt holds only what is new since. `None` when that session cannot
    /// be continued with: then [`Agent::answer`] is asked, with the whole prompt, in a new one.
    ///
    /// # Errors
    /// As for an answer.
    fn resume(&mut self, _context: &AgentContext<'_>, _session: &str, _prompt: &Prompt) -> Result<Option<Answer>> {
        Ok(None)
    }

    /// Tells the session that gave the answer something more and returns what it says then, `None` when it has no
    /// session to continue with.
    ///
    /// # Errors
    /// As for an answer; the answer itself is not lost by it.
    fn follow_up(&mut self, _context: &AgentContext<'_>, _text: &str) -> Result<Option<Answer>> {
        Ok(None)
    }

    /// Exit code of the command that gave the answer, where there is one.
    fn exit_code(&self) -> Option<i32> {
        None
    }
}

/// Plays a role of a thread and prints the `StepNode`'s hash. Why it failed is in the attempt's record and in the error.
///
/// # Errors
/// Those of the context, the agent and the extraction.
pub fn play<'e>(
    home: &Home,
    thread: &ThreadId,
    role: &str,
    agent: &mut dyn Agent,
    extractor: Option<&'e mut (dyn Extractor + 'e)>,
) -> Result<()> {
    let context = AgentContext::load(home, thread, role)?;
    let step = step(&context, agent, extractor).inspect_err(|error| give_up(&context, error, agent.exit_code()))?;
    // Nobody may be reading any more; the record already has it.
    let _ = writeln!(std::io::stdout(), "{step}");
    Ok(())
}

/// Records why there is no result. The caller reports the error itself, so a record that cannot be written only costs
/// the engine the reason.
pub fn give_up(context: &AgentContext<'_>, error: &Error, exit_code: Option<i32>) {
    if let Some(attempt) = context.attempt() {
        let thread = context.thread();
        // What an agent said last is part of the error, and it may have said a key.
        let (error, question) = match context.redactor() {
            Ok(redactor) => (redactor.error(error), Asks::of(error).map(|asks| redactor.text(&asks.question))),
            Err(unreadable) => (Error::new(error.kind, unreadable.message), None),
        };
        let attempt = attempt.opened.attempt.clone();
        let line = GaveUp { attempt, kind: error.kind, error: error.message, hints: error.hints, exit_code, question };
        let _ = recorded::gave_up(thread.home(), &thread.id, line);
    }
}

fn step<'e>(
    context: &AgentContext<'_>,
    agent: &mut dyn Agent,
    extractor: Option<&'e mut (dyn Extractor + 'e)>,
) -> Result<Hash> {
    let mut answer = answer(context, agent)?;
    let form = agent.form(context);
    if answer.value.is_none() {
        answer.value = submitted_value::take(context)?;
    }
    let rungs = context.attempt().map_or_else(ExtractRungs::default, |attempt| attempt.opened.extract);
    let mut feedback = |text: &str| {
        let Some(mut reply) = agent.follow_up(context, text)? else { return Ok(None) };
        if reply.value.is_none() {
            reply.value = submitted_value::take(context)?;
        }
        Ok(Some(reply))
    };
    submit::submit(context, answer, form, Ladder { rungs, feedback: Some(&mut feedback), extractor })
}

/// Asks the agent: in its session of the role's last visit where it can continue in that, else with all it must know.
fn answer(context: &AgentContext<'_>, agent: &mut dyn Agent) -> Result<Answer> {
    if !agent.is_prompted() {
        return agent.answer(context, &Prompt { parts: Vec::new() });
    }
    let SentPrompt { prompt, session } = prompt(context, agent)?;
    let Some(session) = session else { return agent.answer(context, &prompt) };
    if let Some(answer) = agent.resume(context, &session, &prompt)? {
        return Ok(Answer { is_resumed: true, ..answer });
    }
    let prompt = whole(context, agent)?;
    agent.answer(context, &prompt)
}

/// What an agent is sent for a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentPrompt {
    /// The prompt.
    pub prompt: Prompt,
    /// The session in which it continues, as long as that is there; then the prompt holds only what is new.
    pub session: Option<String>,
}

/// The prompt an agent is sent for a step: its own form of answer, its own additions. A dry run shows what comes from
/// here; nothing is changed by it.
///
/// # Errors
/// Those of the context and of the agent's settings.
pub fn prompt(context: &AgentContext<'_>, agent: &mut dyn Agent) -> Result<SentPrompt> {
    agent.prepare(context)?;
    if agent.resumes(context)? {
        if let Some(Asked { session, reply }) = question::session(context)? {
            return Ok(SentPrompt { prompt: agent.prompt(context, reply)?, session: Some(session) });
        }
        // One in which it has asked something at this step is not that of an earlier visit.
        if let Some(session) = context.earlier_session()?.filter(|_| !question::has_asked(context)) {
            return Ok(SentPrompt { prompt: news(context, agent)?, session: Some(session) });
        }
    }
    Ok(SentPrompt { prompt: whole(context, agent)?, session: None })
}

fn whole(context: &AgentContext<'_>, agent: &mut dyn Agent) -> Result<Prompt> {
    let prompt = context.prompt(agent.form(context), context.prompt_budget())?;
    agent.prompt(context, prompt)
}

fn news(context: &AgentContext<'_>, agent: &mut dyn Agent) -> Result<Prompt> {
    let prompt = context.news(agent.form(context), context.prompt_budget())?;
    agent.prompt(context, prompt)
}
