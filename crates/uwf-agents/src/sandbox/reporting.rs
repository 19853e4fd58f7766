//! Reports the hosts that a sandbox refused with the answer of its agent.

use agent_kit::answer::AgentAnswer;
use agent_kit::{Agent, AgentContext, Result};
use uwf_core::prompt::{AgentPrompt, AnswerForm};

use super::with_refused_hosts;

/// An agent whose answers list the hosts that its sandbox refused.
pub(crate) struct ReportingAgent(pub(crate) Box<dyn Agent>);

impl Agent for ReportingAgent {
    fn prepare(&mut self, context: &AgentContext<'_>) -> Result<()> {
        self.0.prepare(context)
    }

    fn is_prompted(&self) -> bool {
        self.0.is_prompted()
    }

    fn form(&self, context: &AgentContext<'_>) -> AnswerForm {
        self.0.form(context)
    }

    fn prompt(&mut self, context: &AgentContext<'_>, prompt: AgentPrompt) -> Result<AgentPrompt> {
        self.0.prompt(context, prompt)
    }

    fn system(&self, context: &AgentContext<'_>) -> Result<Option<String>> {
        self.0.system(context)
    }

    fn answer(&mut self, context: &AgentContext<'_>, prompt: &AgentPrompt) -> Result<AgentAnswer> {
        self.0.answer(context, prompt).map(with_refused_hosts)
    }

    fn resumes(&self, context: &AgentContext<'_>) -> Result<bool> {
        self.0.resumes(context)
    }

    fn resume(
        &mut self,
        context: &AgentContext<'_>,
        session: &str,
        prompt: &AgentPrompt,
    ) -> Result<Option<AgentAnswer>> {
        Ok(self.0.resume(context, session, prompt)?.map(with_refused_hosts))
    }

    fn follow_up(&mut self, context: &AgentContext<'_>, text: &str) -> Result<Option<AgentAnswer>> {
        Ok(self.0.follow_up(context, text)?.map(with_refused_hosts))
    }

    fn exit_code(&self) -> Option<i32> {
        self.0.exit_code()
    }
}
