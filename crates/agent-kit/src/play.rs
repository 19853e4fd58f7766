//! A complete agent process: context, prompt, answer, extraction, stored step.

use std::io::Write;

use json_cas::NodeHash;
use uwf_core::config::ExtractRungs;
use uwf_core::prompt::{AgentPrompt, AnswerForm};
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::recorded::{self, GaveUp};
use uwf_engine::error::{Error, Result};
use uwf_engine::root::home::Home;

use crate::answer::AgentAnswer;
use crate::context::AgentContext;
use crate::ladder::{ExtractionLadder, ValueExtractor};
use crate::question::{QuestionError, SessionReply};
use crate::{question, submit, submitted_value};

/// Plays a role: answers a prompt and, if it has sessions, continues in the same session.
pub trait Agent {
    /// Reads the settings before the first prompt, and changes nothing. The result may depend on the role.
    ///
    /// # Errors
    /// `Config` if the settings can't be used.
    fn prepare(&mut self, _context: &AgentContext<'_>) -> Result<()> {
        Ok(())
    }

    /// Whether the agent needs a prompt. An agent that finds its input by itself gets none.
    fn is_prompted(&self) -> bool {
        true
    }

    /// The requested form of answer: the agent's `output`, unless it has a better way to request the result.
    fn form(&self, context: &AgentContext<'_>) -> AnswerForm {
        context.asked_form()
    }

    /// The prompt for this agent: the common prompt, with any additions.
    ///
    /// # Errors
    /// `Config` if the settings can't be used, and any other error that makes an answer impossible.
    fn prompt(&mut self, _context: &AgentContext<'_>, prompt: AgentPrompt) -> Result<AgentPrompt> {
        Ok(prompt)
    }

    /// The system message before the prompt, if any.
    ///
    /// # Errors
    /// `Config` if the settings can't be used.
    fn system(&self, _context: &AgentContext<'_>) -> Result<Option<String>> {
        Ok(None)
    }

    /// Answers the prompt of a step, as returned by [`Agent::prompt`]. The prompt is empty if [`Agent::is_prompted`] is false.
    ///
    /// # Errors
    /// `AgentFailed` without an answer, `Config` if the agent can't be started.
    fn answer(&mut self, context: &AgentContext<'_>, prompt: &AgentPrompt) -> Result<AgentAnswer>;

    /// Whether the agent continues its session of an earlier visit of the role, if that still exists: `config.resume`.
    ///
    /// # Errors
    /// `Config` if the settings can't be used.
    fn resumes(&self, _context: &AgentContext<'_>) -> Result<bool> {
        Ok(false)
    }

    /// Answers in the session of an earlier visit; the prompt has only what is new since then. `None` if that session can't be continued.
    /// Then [`Agent::answer`] is called with the whole prompt, in a new session.
    fn resume(
        &mut self,
        _context: &AgentContext<'_>,
        _session: &str,
        _prompt: &AgentPrompt,
    ) -> Result<Option<AgentAnswer>> {
        Ok(None)
    }

    /// Sends another text to the session that gave the answer, and returns its reply; `None` if there is no session to continue.
    ///
    /// # Errors
    /// As for [`Agent::answer`]. The first answer is kept.
    fn follow_up(&mut self, _context: &AgentContext<'_>, _text: &str) -> Result<Option<AgentAnswer>> {
        Ok(None)
    }

    /// Exit code of the agent's command, if it runs one.
    fn exit_code(&self) -> Option<i32> {
        None
    }
}

/// Plays a role of a thread and prints the hash of the `StepNode`. After a failure, the reason is in the attempt's record and in the error.
///
/// # Errors
/// The context can't be loaded, the agent fails, or its answer has no valid output.
pub fn play<'e>(
    home: &Home,
    thread: &ThreadId,
    role: &str,
    agent: &mut dyn Agent,
    extractor: Option<&'e mut (dyn ValueExtractor + 'e)>,
) -> Result<()> {
    let context = AgentContext::load(home, thread, role)?;
    let step = step(&context, agent, extractor).inspect_err(|error| give_up(&context, error, agent.exit_code()))?;
    // stdout may be closed; the record already has the hash.
    let _ = writeln!(std::io::stdout(), "{step}");
    Ok(())
}

/// Records why the agent failed. The caller reports the error itself, so if the record can't be written, only the engine lacks the
/// reason.
pub fn give_up(context: &AgentContext<'_>, error: &Error, exit_code: Option<i32>) {
    if let Some(attempt) = context.attempt() {
        let thread = context.thread();
        // The error quotes the agent's last words, which may contain a key.
        let asks = QuestionError::find_in_error(error);
        let (error, question, options) = match context.redactor() {
            Ok(redactor) => {
                let options = asks.iter().flat_map(|asks| &asks.options).map(|option| redactor.text(option)).collect();
                (redactor.error(error), asks.map(|asks| redactor.text(&asks.question)), options)
            }
            Err(unreadable) => {
                (Error { cause: error.cause.clone(), ..Error::new(error.kind, unreadable.message) }, None, Vec::new())
            }
        };
        let attempt = attempt.opened.attempt.clone();
        let failure = error.failure();
        let (kind, error, hints) = (error.kind, error.message, error.hints);
        let line = GaveUp { attempt, kind, error, hints, exit_code, question, options, failure };
        let _ = recorded::gave_up(thread.home(), &thread.id, line);
    }
}

fn step<'e>(
    context: &AgentContext<'_>,
    agent: &mut dyn Agent,
    extractor: Option<&'e mut (dyn ValueExtractor + 'e)>,
) -> Result<NodeHash> {
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
    submit::submit(context, answer, form, ExtractionLadder { rungs, feedback: Some(&mut feedback), extractor })
}

/// Asks the agent: in its session of the role's last visit if it can continue that, otherwise with the whole prompt.
fn answer(context: &AgentContext<'_>, agent: &mut dyn Agent) -> Result<AgentAnswer> {
    if !agent.is_prompted() || is_role_command(context) {
        return agent.answer(context, &AgentPrompt { parts: Vec::new() });
    }
    let StepPrompt { prompt, session } = prompt(context, agent)?;
    let Some(session) = session else { return agent.answer(context, &prompt) };
    if let Some(answer) = agent.resume(context, &session, &prompt)? {
        return Ok(AgentAnswer { is_resumed: true, ..answer });
    }
    let prompt = whole(context, agent)?;
    agent.answer(context, &prompt)
}

/// Whether a command plays the role. It needs no prompt.
fn is_role_command(context: &AgentContext<'_>) -> bool {
    context.attempt().is_some_and(|attempt| attempt.opened.agent.is_role_command)
}

/// The prompt of a step, and the session for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepPrompt {
    /// The prompt.
    pub prompt: AgentPrompt,
    /// The session to continue, if it still exists; then the prompt has only what is new.
    pub session: Option<String>,
}

/// Returns the prompt for a step, with the agent's own form of answer and additions. A dry run shows this prompt; nothing is changed.
///
/// # Errors
/// The context or the agent's settings can't be read.
pub fn prompt(context: &AgentContext<'_>, agent: &mut dyn Agent) -> Result<StepPrompt> {
    agent.prepare(context)?;
    if agent.resumes(context)? {
        if let Some(SessionReply { session, reply }) = question::session(context)? {
            return Ok(StepPrompt { prompt: agent.prompt(context, reply)?, session: Some(session) });
        }
        // A session in which the agent asked something at this step is not one of an earlier visit.
        if let Some(session) = context.earlier_session()?.filter(|_| !question::has_asked(context)) {
            return Ok(StepPrompt { prompt: news(context, agent)?, session: Some(session) });
        }
    }
    Ok(StepPrompt { prompt: whole(context, agent)?, session: None })
}

fn whole(context: &AgentContext<'_>, agent: &mut dyn Agent) -> Result<AgentPrompt> {
    let prompt = context.prompt(agent.form(context), context.prompt_budget())?;
    agent.prompt(context, prompt)
}

fn news(context: &AgentContext<'_>, agent: &mut dyn Agent) -> Result<AgentPrompt> {
    let prompt = context.news(agent.form(context), context.prompt_budget())?;
    agent.prompt(context, prompt)
}
