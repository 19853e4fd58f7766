//! Runs in place of the agent for `thread step --reextract`: it returns the text of the agent's failed attempt, so that the later stages of
//! reading the answer run again.

use agent_kit::answer::AgentAnswer;
use agent_kit::{Agent, AgentContext, Error, Result};
use uwf_core::config::OutputMode;
use uwf_core::node::{COMMAND_SOURCE, TokenCounts};
use uwf_core::prompt::AgentPrompt;
use uwf_engine::thread::nodes;
use uwf_engine::verbs::reextract;

use crate::command;
use crate::command::exit;
use crate::trace::ParsedTrace;

/// Source of its answers.
const SOURCE: &str = "attempt";

/// The agent of one step.
#[derive(Default)]
pub struct ReextractAgent;

impl Agent for ReextractAgent {
    fn answer(&mut self, context: &AgentContext<'_>, _prompt: &AgentPrompt) -> Result<AgentAnswer> {
        let Some(attempt) = context.opened()?.reextract else {
            return Err(Error::usage("no text to read again").hint(format!(
                "`uwf thread step {} --reextract` reads the text of a failed attempt",
                context.thread().id
            )));
        };
        let raw = reextract::text(context.thread(), attempt)?;
        let agent = &context.opened()?.agent;
        let exit_code = nodes::attempt(context.thread().home().store(), attempt)?.exit_code;
        if let Some(code) = exit_code.filter(|_| agent.output_mode() == OutputMode::Exit) {
            let (value, source) = (exit::output(context, code, &raw), COMMAND_SOURCE.to_owned());
            return Ok(AgentAnswer { raw, source, ..AgentAnswer::made_by_uwf(value) });
        }
        let answer = match command::printed_trace(agent, &raw)? {
            Some(ParsedTrace { answer, last_said, turns, session_id, model, .. }) => {
                AgentAnswer { turns, session_id, model, ..AgentAnswer::text(answer.or(last_said).unwrap_or(raw)) }
            }
            None => AgentAnswer::text(raw),
        };
        // The original run counts with the failed attempt.
        let tokens = Some(TokenCounts { input: Some(0), output: Some(0), cost: Some(0.0), ..TokenCounts::default() });
        Ok(AgentAnswer { tokens, source: SOURCE.to_owned(), ..answer })
    }
}
