//! The part of a prompt for an agent that plays a role in place of another agent.

use super::{AgentPrompt, PartKind, PromptPart};
use crate::text::one_line;

impl AgentPrompt {
    /// The prompt for an agent that plays the role because the role's own agent cannot, before any replies.
    #[must_use]
    pub fn with_fallback(mut self, agent: &str, why: &str) -> AgentPrompt {
        let text = fallback_part(agent, why);
        self.insert_before_end(PromptPart { kind: PartKind::Fallback, text });
        self
    }
}

/// The part of a prompt that says why this agent plays the role.
fn fallback_part(agent: &str, why: &str) -> String {
    format!(
        "\n# An unfinished attempt\n\nYou play this role instead of the agent `{}`: {}. It may have begun to work. Look at the files first; \
         keep what is useful, and finish the work.\n",
        one_line(agent),
        one_line(why.trim_end_matches('.'))
    )
}
