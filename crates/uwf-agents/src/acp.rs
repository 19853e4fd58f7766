//! Runs any agent that speaks the Agent Client Protocol over stdio.
//!
//! `session.rs` conducts a session, `client.rs` runs the process at the other end, and `progress.rs` writes to stderr. The other modules
//! are pure. `messages.rs` reads lines, `transcript.rs` collects what the agent reports, and `permission.rs` answers requests for
//! permission. `session_options.rs` lists the modes and models on offer, `usage.rs` counts tokens, and `preset.rs` lists known agents.

mod call;
mod client;
pub mod messages;
pub mod permission;
pub mod preset;
mod progress;
mod session;
pub mod session_options;
pub mod settings;
pub mod transcript;
pub mod usage;

use agent_kit::answer::Answer;
use agent_kit::{Agent, AgentContext, Error, Result, mcp};
use uwf_core::prompt::{Part, PartKind, Prompt};

use session::{AcpSession, Prompted};
use settings::Settings;

/// Source of traces of these agents.
const SOURCE: &str = "acp";

/// The agent of one attempt. It keeps its process until it is dropped, so that the session can be prompted again.
#[derive(Default)]
pub struct AcpAgent {
    settings: Option<Settings>,
    session: Option<AcpSession>,
}

impl AcpAgent {
    /// The agent as configured.
    pub fn new() -> AcpAgent {
        AcpAgent::default()
    }

    /// The agent with the settings of a caller that also has other ways to run it. It counts as prepared.
    pub fn with(settings: Settings) -> AcpAgent {
        AcpAgent { settings: Some(settings), session: None }
    }

    /// The settings, with the model under the agent's own name for it.
    fn settings_in(&self, context: &AgentContext<'_>) -> Result<Settings> {
        let settings = self.settings()?.clone();
        Ok(Settings { model: crate::settings::model_name(context, settings.model.as_ref())?, ..settings })
    }

    fn settings(&self) -> Result<&Settings> {
        self.settings.as_ref().ok_or_else(|| Error::internal("the agent was not prepared"))
    }
}

/// Adds a note about the tool `submit` to the prompt if the agent is given the server that has it.
pub(crate) fn with_instruction(context: &AgentContext<'_>, mut prompt: Prompt, mcp: bool) -> Prompt {
    if mcp && context.offers_submit() {
        prompt.parts.push(Part { kind: PartKind::Instruction, text: mcp::INSTRUCTION.to_owned() });
    }
    prompt
}

impl Agent for AcpAgent {
    fn prepare(&mut self, context: &AgentContext<'_>) -> Result<()> {
        self.settings = Some(Settings::of(&context.opened()?.agent)?);
        Ok(())
    }

    fn prompt(&mut self, context: &AgentContext<'_>, prompt: Prompt) -> Result<Prompt> {
        Ok(with_instruction(context, prompt, self.settings()?.mcp))
    }

    fn answer(&mut self, context: &AgentContext<'_>, prompt: &Prompt) -> Result<Answer> {
        let session = match self.session.take() {
            // Opened when an earlier session no longer existed.
            Some(open) => open,
            None => AcpSession::open(context, context.opened()?, self.settings_in(context)?, None)?,
        };
        let session = self.session.insert(session);
        let prompted = session.prompt(context, prompt.texts(), true)?;
        Ok(answer(session, prompted))
    }

    fn resumes(&self, _context: &AgentContext<'_>) -> Result<bool> {
        Ok(self.settings()?.resume)
    }

    fn resume(&mut self, context: &AgentContext<'_>, earlier: &str, prompt: &Prompt) -> Result<Option<Answer>> {
        let session = AcpSession::open(context, context.opened()?, self.settings_in(context)?, Some(earlier))?;
        let session = self.session.insert(session);
        if session.id().as_deref() != Some(earlier) {
            return Ok(None);
        }
        let prompted = session.prompt(context, prompt.texts(), true)?;
        Ok(Some(answer(session, prompted)))
    }

    fn follow_up(&mut self, context: &AgentContext<'_>, text: &str) -> Result<Option<Answer>> {
        let Some(session) = &mut self.session else { return Ok(None) };
        let prompted = session.prompt(context, vec![text.to_owned()], false)?;
        Ok(Some(answer(session, prompted)))
    }
}

fn answer(session: &AcpSession, prompted: Prompted) -> Answer {
    let Prompted { answer, turn } = prompted;
    Answer {
        duration_ms: turn.latency_ms,
        source: SOURCE.to_owned(),
        session_id: session.id(),
        tokens: turn.tokens.clone(),
        turns: vec![turn],
        ..Answer::text(answer)
    }
}
