//! Runs any agent that speaks the Agent Client Protocol over stdio.
//!
//! `session.rs` conducts a session, `client.rs` runs the process at the other end, and `progress.rs` writes to stderr. The other modules
//! are pure. `messages.rs` reads lines, `transcript.rs` collects what the agent reports, and `permission.rs` answers requests for
//! permission. `session_options.rs` lists the modes and models on offer, `usage.rs` and `session_export.rs` count tokens, and `preset.rs` lists known agents.

mod call;
mod client;
pub mod messages;
pub mod permission;
pub mod preset;
mod progress;
mod session;
mod session_export;
pub mod session_options;
pub mod settings;
pub mod transcript;
pub mod usage;

use agent_kit::answer::AgentAnswer;
use agent_kit::{Agent, AgentContext, Error, Result, mcp};
use uwf_core::prompt::{AgentPrompt, PartKind, PromptPart};
use uwf_core::thread::QuestionReply;

use permission::PermissionPolicy;
use session::{AcpPromptResult, AcpSession};
use settings::AcpLaunch;

/// Source of traces of these agents.
const SOURCE: &str = "acp";

/// The agent of one attempt. It keeps its process until it is dropped, so that the session can be prompted again.
#[derive(Default)]
pub struct AcpAgent {
    settings: Option<AcpLaunch>,
    session: Option<AcpSession>,
}

impl AcpAgent {
    /// The agent as configured.
    pub fn new() -> AcpAgent {
        AcpAgent::default()
    }

    /// The agent with the settings of a caller that also has other ways to run it. It counts as prepared.
    pub fn with(settings: AcpLaunch) -> AcpAgent {
        AcpAgent { settings: Some(settings), session: None }
    }

    /// The settings, with the model under the agent's own name for it.
    fn settings_in(&self, context: &AgentContext<'_>) -> Result<AcpLaunch> {
        let settings = self.settings()?.clone();
        let permissions = match settings.permissions {
            PermissionPolicy::Ask if !context.opened()?.ask.asks() => PermissionPolicy::Deny,
            other => other,
        };
        let model = crate::settings::model_name(context, settings.model.as_ref())?;
        Ok(AcpLaunch { model, permissions, ..settings })
    }

    fn settings(&self) -> Result<&AcpLaunch> {
        self.settings.as_ref().ok_or_else(|| Error::internal("the agent was not prepared"))
    }
}

/// Adds a note about the tool `submit` to the prompt if the agent is given the server that has it.
pub(crate) fn with_instruction(context: &AgentContext<'_>, mut prompt: AgentPrompt, mcp: bool) -> AgentPrompt {
    if mcp && context.offers_submit() {
        prompt.parts.push(PromptPart { kind: PartKind::Instruction, text: mcp::INSTRUCTION.to_owned() });
    }
    prompt
}

impl Agent for AcpAgent {
    fn prepare(&mut self, context: &AgentContext<'_>) -> Result<()> {
        self.settings = Some(AcpLaunch::from_spec(&context.opened()?.agent)?);
        Ok(())
    }

    fn prompt(&mut self, context: &AgentContext<'_>, prompt: AgentPrompt) -> Result<AgentPrompt> {
        Ok(with_instruction(context, prompt, self.settings()?.mcp))
    }

    fn answer(&mut self, context: &AgentContext<'_>, prompt: &AgentPrompt) -> Result<AgentAnswer> {
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

    fn resume(
        &mut self,
        context: &AgentContext<'_>,
        earlier: &str,
        prompt: &AgentPrompt,
    ) -> Result<Option<AgentAnswer>> {
        let session = AcpSession::open(context, context.opened()?, self.settings_in(context)?, Some(earlier))?;
        let session = self.session.insert(session);
        if session.id().as_deref() != Some(earlier) {
            return Ok(None);
        }
        let input = decision_on_request(context)?.map_or_else(|| prompt.texts(), |text| vec![text]);
        let prompted = session.prompt(context, input, true)?;
        Ok(Some(answer(session, prompted)))
    }

    fn follow_up(&mut self, context: &AgentContext<'_>, text: &str) -> Result<Option<AgentAnswer>> {
        let Some(session) = &mut self.session else { return Ok(None) };
        let prompted = session.prompt(context, vec![text.to_owned()], false)?;
        Ok(Some(answer(session, prompted)))
    }
}

/// The prompt of a session that continues after a person has decided on its request for permission. The model did not ask itself, so the
/// reply alone would say nothing to it.
fn decision_on_request(context: &AgentContext<'_>) -> Result<Option<String>> {
    let Some(QuestionReply { question, reply, by }) = context.replies()?.pop() else { return Ok(None) };
    let agent = &context.opened()?.agent.name;
    let request = permission::request_in_question(agent, &question);
    let by = by.map(|by| format!(" ({by})")).unwrap_or_default();
    Ok(request.map(|request| {
        format!(
            "# A person's decision\n\nYour work was interrupted, because this needed permission:\n\n{request}\n\nThe reply{by}: \
             {}\n\nIf it was allowed, do it again: you have permission now. Otherwise, continue without it. Answer \
             in the form you were given.\n",
            reply.trim()
        )
    }))
}

fn answer(session: &AcpSession, prompted: AcpPromptResult) -> AgentAnswer {
    let AcpPromptResult { answer, turn } = prompted;
    AgentAnswer {
        duration_ms: turn.latency_ms,
        source: SOURCE.to_owned(),
        session_id: session.id(),
        model: session.model().map(str::to_owned),
        tokens: turn.tokens.clone(),
        turns: vec![turn],
        ..AgentAnswer::text(answer)
    }
}
