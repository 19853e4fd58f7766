//! What `thread step --reextract` runs in place of the agent: it hands in again what the agent of a failed attempt wrote,
//! so that the rungs below get another try at it.

use agent_kit::answer::Answer;
use agent_kit::{Agent, AgentContext, Error, ErrorKind, Result};
use uwf_core::prompt::Prompt;
use uwf_engine::attempt::agents::{AgentSpec, CURSOR};
use uwf_engine::verbs::reextract;

use crate::command;
use crate::trace::{Format, Trace};

/// Where its answers come from.
const SOURCE: &str = "attempt";

/// The agent of one step.
#[derive(Default)]
pub struct ReextractAgent;

impl Agent for ReextractAgent {
    fn answer(&mut self, context: &AgentContext<'_>, _prompt: &Prompt) -> Result<Answer> {
        let Some(attempt) = context.opened()?.reextract else {
            return Err(Error::new(ErrorKind::Usage, "there is no text to read again")
                .hint("`uwf thread step ID --reextract` reads that of a failed attempt"));
        };
        let raw = reextract::text(context.thread(), attempt)?;
        let answer = match trace(&context.opened()?.agent, &raw)? {
            Some(Trace { answer: Some(said), turns, tokens, session_id, .. }) => {
                Answer { turns, tokens, session_id, ..Answer::text(said) }
            }
            Some(_) | None => Answer::text(raw),
        };
        Ok(Answer { source: SOURCE.to_owned(), ..answer })
    }
}

/// What was kept, read as a trace, where the agent prints one: its answer is the final message in it.
fn trace(agent: &AgentSpec, raw: &str) -> Result<Option<Trace>> {
    let format = match command::trace_format(agent)? {
        None if agent.is_built_in(CURSOR) => Format::of(raw),
        format => format,
    };
    Ok(format.map(|format| format.read(raw)))
}
