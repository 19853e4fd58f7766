//! Runs in place of the agent for `thread step --reextract`: it returns the text of the agent's failed attempt, so that the later stages of
//! reading the answer run again.

use agent_kit::answer::Answer;
use agent_kit::{Agent, AgentContext, Error, Result};
use uwf_core::node::Tokens;
use uwf_core::prompt::Prompt;
use uwf_engine::verbs::reextract;

use crate::command;
use crate::trace::Trace;

/// Source of its answers.
const SOURCE: &str = "attempt";

/// The agent of one step.
#[derive(Default)]
pub struct ReextractAgent;

impl Agent for ReextractAgent {
    fn answer(&mut self, context: &AgentContext<'_>, _prompt: &Prompt) -> Result<Answer> {
        let Some(attempt) = context.opened()?.reextract else {
            return Err(Error::usage("no text to read again")
                .hint("`uwf thread step ID --reextract` reads the text of a failed attempt"));
        };
        let raw = reextract::text(context.thread(), attempt)?;
        let answer = match command::printed_trace(&context.opened()?.agent, &raw)? {
            Some(Trace { answer, last_said, turns, session_id, .. }) => {
                Answer { turns, session_id, ..Answer::text(answer.or(last_said).unwrap_or(raw)) }
            }
            None => Answer::text(raw),
        };
        // The original run counts with the failed attempt.
        let tokens = Some(Tokens { input: Some(0), output: Some(0), cost: Some(0.0), ..Tokens::default() });
        Ok(Answer { tokens, source: SOURCE.to_owned(), ..answer })
    }
}
