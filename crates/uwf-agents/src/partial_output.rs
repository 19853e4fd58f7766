//! What the engine runs when an attempt has failed whose agent's program prints its events, or keeps a session of its
//! own: the turns in them are written down as if the agent had recorded them.

use agent_kit::{AgentContext, Recorder, Result};
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::agent_process;
use uwf_engine::attempt::agents::HERMES;
use uwf_engine::root::home::Home;

use crate::command;
use crate::hermes;
use crate::trace::Trace;

/// Reads what the agent of this attempt left, and records its turns.
///
/// # Errors
/// Those of the context and of the agent's settings. That there is nothing to be read is none.
pub fn run(home: &Home, thread: &ThreadId, role: &str) -> Result<()> {
    let context = AgentContext::load(home, thread, role)?;
    let Some(trace) = left(&context)?.filter(|trace| !trace.turns.is_empty() || trace.tokens.is_some()) else {
        return Ok(());
    };
    let prompt = context.prompt(context.asked_form(), context.prompt_budget())?;
    let trace = trace.with_input(&prompt.texts());
    let mut recorder = Recorder::begin(&context, &trace.source)?;
    recorder.session(&trace.source, trace.session_id.as_deref());
    trace.turns.iter().for_each(|turn| recorder.turn(turn));
    recorder.total(trace.tokens.as_ref());
    Ok(())
}

fn left(context: &AgentContext<'_>) -> Result<Option<Trace>> {
    let opened = context.opened()?;
    let files = context.output_files()?;
    if opened.agent.is_built_in(HERMES) {
        return hermes::left(context, &files);
    }
    let trace = command::printed_trace(&opened.agent, &agent_process::read_capped(&files.raw, opened.output_cap)?)?;
    trace.map(|trace| command::without_earlier_visits(context, trace)).transpose()
}
