//! The engine runs this after a failed attempt if the agent's program prints events or keeps a session. It records the turns in them as if
//! the agent had recorded them.

use agent_kit::{AgentContext, Result, TurnRecorder};
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::agent_process;
use uwf_engine::attempt::agents::HERMES;
use uwf_engine::attempt::live_trace::{self, LiveTrace};
use uwf_engine::root::home::Home;

use crate::command;
use crate::hermes;
use crate::trace::ParsedTrace;

/// Reads the leftovers of this attempt's agent and records its turns. Having nothing to read is not an error.
pub fn run(home: &Home, thread: &ThreadId, role: &str) -> Result<()> {
    let context = AgentContext::load(home, thread, role)?;
    let Some(trace) = left(&context)?.filter(|trace| !trace.turns.is_empty() || trace.tokens.is_some()) else {
        return Ok(());
    };
    let prompt = context.prompt(context.asked_form(), context.prompt_budget())?;
    let followed = live_trace::read(&context.output_files()?);
    let trace = with_followed(trace.with_input(&prompt.texts()), &followed);
    let mut recorder = TurnRecorder::begin(&context, &trace.source)?;
    recorder.session(&trace.source, trace.session_id.as_deref());
    recorder.model(trace.model.as_deref());
    trace.turns.iter().for_each(|turn| recorder.turn(turn));
    recorder.total(trace.tokens.as_ref());
    Ok(())
}

/// A trace with the values that only the session of the program had, while uwf followed it.
fn with_followed(trace: ParsedTrace, followed: &LiveTrace) -> ParsedTrace {
    if !followed.is_followed() {
        return trace;
    }
    let is_uncounted = trace.tokens.is_none() && trace.turns.iter().all(|turn| turn.tokens.is_none());
    let tokens = if is_uncounted { followed.tokens() } else { trace.tokens };
    ParsedTrace { model: trace.model.or(followed.model.clone()), tokens, ..trace }
}

fn left(context: &AgentContext<'_>) -> Result<Option<ParsedTrace>> {
    let opened = context.opened()?;
    let files = context.output_files()?;
    if opened.agent.is_built_in(HERMES) {
        return hermes::left(context, &files);
    }
    let trace = command::printed_trace(&opened.agent, &agent_process::read_capped(&files.raw, opened.output_cap)?)?;
    trace.map(|trace| command::without_earlier_visits(context, trace)).transpose()
}
