//! Any agent that speaks the Agent Client Protocol over stdio, as an agent of uwf.
//!
//! `session.rs` is the way a session goes, `client.rs` the process at the other end. Everything else is pure:
//! `wire.rs` the lines, `transcript.rs` what is told of the work, `permission.rs` what is answered, `offer.rs` what can
//! be chosen, `usage.rs` what it cost, `preset.rs` what is known of whom.

mod call;
mod client;
pub mod offer;
pub mod permission;
pub mod preset;
mod progress;
mod session;
pub mod settings;
pub mod transcript;
pub mod usage;
pub mod wire;

use agent_kit::answer::{Answer, Turn};
use agent_kit::{Agent, Context, Result, mcp};
use uwf_core::prompt::Prompt;

use session::{Prompted, Session};
use settings::Settings;

/// Where traces of these agents come from.
const SOURCE: &str = "acp";

/// The agent of one attempt. Its process lives as long as this does, so that its session can be told more.
#[derive(Default)]
pub struct AcpAgent {
    settings: Option<Settings>,
    session: Option<Session>,
}

impl AcpAgent {
    /// As it is configured.
    pub fn new() -> AcpAgent {
        AcpAgent::default()
    }

    /// With settings of its own, for an agent that also has other ways of being run.
    pub fn with(settings: Settings) -> AcpAgent {
        AcpAgent { settings: Some(settings), session: None }
    }
}

impl Agent for AcpAgent {
    fn answer(&mut self, context: &Context<'_>, prompt: &Prompt) -> Result<Answer> {
        let opened = context.opened()?;
        let settings = match self.settings.clone() {
            Some(settings) => settings,
            None => Settings::of(&opened.agent)?,
        };
        let settings = Settings { model: crate::settings::model_name(context, settings.model.as_ref())?, ..settings };
        let mut input: Vec<String> = prompt.parts.iter().map(|part| part.text.clone()).collect();
        input.extend(settings.mcp.then(|| mcp::INSTRUCTION.to_owned()));
        let session = self.session.insert(Session::open(context, opened, settings)?);
        let prompted = session.prompt(context, &input.concat(), true)?;
        Ok(answer(session, input, prompted))
    }

    fn follow_up(&mut self, context: &Context<'_>, text: &str) -> Result<Option<Answer>> {
        let Some(session) = &mut self.session else { return Ok(None) };
        let prompted = session.prompt(context, text, false)?;
        Ok(Some(answer(session, vec![text.to_owned()], prompted)))
    }
}

fn answer(session: &Session, input: Vec<String>, prompted: Prompted) -> Answer {
    let Prompted { transcript, tokens, duration_ms } = prompted;
    let turn = Turn {
        input,
        output: transcript.said(),
        tool_calls: transcript.tool_calls(),
        tokens: tokens.clone(),
        latency_ms: duration_ms,
    };
    Answer {
        raw: transcript.answer().to_owned(),
        value: None,
        turns: vec![turn],
        duration_ms,
        source: SOURCE.to_owned(),
        session_id: session.id(),
        tokens,
    }
}
