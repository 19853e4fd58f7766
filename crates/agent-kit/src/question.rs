//! Agents' questions to people. An answer with `status: needs_input` is a question: the attempt ends with it, and the thread waits. The
//! person's reply goes to the next attempt of the same agent.

use std::borrow::Cow;

use uwf_core::extract::{self, ExtractedAnswer, ExtractionFailure};
use uwf_core::node::{ContentNode, TracedAttempt};
use uwf_core::prompt::{self, AgentPrompt, AnswerForm};
use uwf_core::text::ellipsize;
use uwf_core::workflow::is_text;
use uwf_engine::attempt::agents::HUMAN;
use uwf_engine::error::{Error, Result};
use uwf_engine::thread::nodes;

use crate::answer::AgentAnswer;
use crate::context::{AgentContext, is_session_id};

/// Longest question, in characters, that is stored apart from its answer.
const MAX_QUESTION: usize = 16_000;

/// Most options of a question.
const MAX_OPTIONS: usize = 25;

/// Longest question, in characters, on one line.
const MAX_LINE: usize = 100;

/// Source of an error: the agent asks a person something.
#[derive(Debug, thiserror::Error)]
#[error("the agent asks a person")]
pub(crate) struct QuestionError {
    pub(crate) question: String,
    pub(crate) options: Vec<String>,
}

impl QuestionError {
    /// The question, if the agent has no result because it asks one.
    pub(crate) fn find_in_error(error: &Error) -> Option<&QuestionError> {
        error.source.as_ref()?.downcast_ref()
    }
}

/// Beginning of a question to a person that requests permission.
pub const PERMISSION_NEEDED: &str = "Permission needed: ";

/// Returns the error that makes the thread wait for a reply, if the answer is a question. `read` is the result of the first rung.
pub(crate) fn asked(
    context: &AgentContext<'_>,
    answer: &AgentAnswer,
    form: AnswerForm,
    prompt: &dyn Fn() -> String,
    read: Result<&ExtractedAnswer, &ExtractionFailure>,
) -> Option<Error> {
    let is_text = form == AnswerForm::Frontmatter && is_text(context.schema().value());
    if answer.value.is_some() || is_text {
        return None;
    }
    ask_person(context, &extract::question(&answer.raw, form, prompt, read)?, &[])
}

/// Returns the error that ends the attempt with a question to a person, so that the thread waits for a reply. `options` are replies to choose
/// from. `None` if this agent cannot ask.
pub fn ask_person(context: &AgentContext<'_>, question: &str, options: &[&str]) -> Option<Error> {
    let attempt = context.attempt()?;
    let agent = &attempt.opened.agent;
    // A person doesn't ask, a child thread asks for itself, and attempts run by hand are not recorded.
    let may_ask = attempt.opened.ask.asks()
        && !agent.is_built_in(HUMAN)
        && !agent.plays_by_threads()
        && !attempt.opened.is_by_hand();
    if !may_ask {
        return None;
    }
    let question = ellipsize(question, MAX_QUESTION).into_owned();
    let first = question.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let (role, id) = (context.role_name(), &context.thread().id);
    let line = ellipsize(first.trim(), MAX_LINE);
    // The first line is shown once, unless it is cut there.
    let rest = if line == first.trim() { question.trim_start()[line.len()..].trim() } else { question.trim() };
    let whole = if rest.is_empty() { String::new() } else { format!("{rest}\n\n") };
    let asks = match line.strip_prefix(PERMISSION_NEEDED) {
        Some(request) => format!("needs permission: {request}"),
        None => format!("asks: {line}"),
    };
    let message = format!(
        "role `{role}` {asks}\n\n{whole}Reply to it:\n  uwf thread answer {id} -m 'TEXT'\nSee what was done before:\n  uwf thread read {id}",
    );
    let options = options.iter().take(MAX_OPTIONS).map(|option| shown_option(option).into_owned()).collect();
    Some(Error { source: Some(Box::new(QuestionError { question, options })), ..Error::waiting(message) })
}

/// An option as it is shown: a long one is cut.
#[must_use]
pub fn shown_option(option: &str) -> Cow<'_, str> {
    ellipsize(option, MAX_LINE)
}

/// Whether the agent has asked anything at this step.
pub(crate) fn has_asked(context: &AgentContext<'_>) -> bool {
    !context.exchanges().is_empty()
}

/// The session in which an agent asked a question, and the reply to send to it.
pub(crate) struct SessionReply {
    pub(crate) session: String,
    pub(crate) reply: AgentPrompt,
}

/// Returns the session of the last question, if the same agent with the same settings asked it and no attempt has failed since.
pub(crate) fn session(context: &AgentContext<'_>) -> Result<Option<SessionReply>> {
    let (Some(attempt), Some(last)) = (context.attempt(), context.exchanges().last()) else { return Ok(None) };
    if attempt.opened.earlier.last() != Some(&last.attempt) {
        return Ok(None);
    }
    let store = context.thread().home().store();
    // Without a trace, the session is unknown.
    let Ok(TracedAttempt { attempt: asked, session_id, .. }) = nodes::typed(store, last.attempt) else {
        return Ok(None);
    };
    let is_own = context.is_own_agent(&attempt.opened, asked.agent)?;
    let Some(session) = session_id.filter(|id| is_own && is_session_id(id)) else { return Ok(None) };
    let reply = nodes::typed::<ContentNode>(store, last.reply)?.text;
    Ok(Some(SessionReply { session, reply: prompt::reply(&reply) }))
}
