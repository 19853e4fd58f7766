//! Agents that end with a tool call and no text after it, for example to tick off a task.

use agent_kit::{AgentContext, Error, Result, submitted_value};
use uwf_core::text::{ellipsize, one_line};
use uwf_engine::attempt::recorded::AttemptOpening;

use crate::trace::ParsedTrace;

/// Characters shown of what an agent said.
const SHOWN: usize = 300;

/// A trace that ended with text, unchanged. If it ended with a call, the text before it is the answer that accompanies the submitted value.
///
/// # Errors
/// `AgentFailed` if it ended with a call and no output was submitted. The error offers the agent's last text, which may be the answer; a
/// person must decide that.
pub(crate) fn answered(context: &AgentContext<'_>, opened: &AttemptOpening, trace: ParsedTrace) -> Result<ParsedTrace> {
    if trace.answer.is_some() {
        return Ok(trace);
    }
    let Some(call) = trace.turns.last().and_then(|turn| turn.tool_calls.last()) else { return Ok(trace) };
    if submitted_value::take(context)?.is_some() {
        return Ok(ParsedTrace { answer: Some(trace.last_said.clone().unwrap_or_default()), ..trace });
    }
    let agent = &opened.agent.name;
    let did = format!("the last thing it did was to call `{}`", call.name);
    Err(match &trace.last_said {
        Some(said) => {
            let said = ellipsize(&one_line(said.trim()), SHOWN).into_owned();
            no_final_message(agent, &format!("{did}. Before that it said: {said}"))
                .offers_last_text(opened.thread.as_str())
        }
        None => no_final_message(agent, &did),
    })
}

/// The failure of an agent without a final message.
pub(crate) fn no_final_message(agent: &str, why: &str) -> Error {
    Error::agent_failed(format!("agent `{agent}` ended without a final message: {why}"))
}
