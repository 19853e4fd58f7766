//! What `thread step --reextract` runs in place of the agent: it hands in again what the agent of a failed attempt wrote,
//! so that the rungs below get another try at it.

use agent_kit::answer::Answer;
use agent_kit::{Agent, Context, Error, Kind, Result};
use uwf_core::config::OutputMode;
use uwf_core::prompt::{AnswerForm, Prompt};
use uwf_engine::reextract;

use crate::attempt_settings::opened;

/// Where its answers come from.
const SOURCE: &str = "attempt";

/// The agent of one step.
#[derive(Default)]
pub struct ReextractAgent {
    form: Option<AnswerForm>,
}

impl Agent for ReextractAgent {
    fn prepare(&mut self, context: &Context<'_>) -> Result<()> {
        let is_json = opened(context)?.agent.output_mode() == OutputMode::Json;
        self.form = is_json.then_some(AnswerForm::Json);
        Ok(())
    }

    fn form(&self) -> AnswerForm {
        self.form.unwrap_or(AnswerForm::Frontmatter)
    }

    fn answer(&mut self, context: &Context<'_>, _prompt: &Prompt) -> Result<Answer> {
        let Some(attempt) = opened(context)?.reextract else {
            return Err(Error::new(Kind::Usage, "there is no text to read again")
                .hint("`uwf thread step ID --reextract` reads that of a failed attempt"));
        };
        let raw = reextract::text(context.thread(), attempt)?;
        Ok(Answer { source: SOURCE.to_owned(), ..Answer::text(raw) })
    }
}
