//! The part of a prompt for an agent that plays a role in place of another agent.

use super::{AgentPrompt, PartKind, PromptPart};
use crate::text::one_line;

impl AgentPrompt {
    /// The prompt for an agent that plays the role because the role's own agent cannot, before any replies. `has_begun`: an attempt of that
    /// agent may have left work.
    #[must_use]
    pub fn with_fallback(mut self, agent: &str, why: &str, has_begun: bool) -> AgentPrompt {
        let text = fallback_part(agent, why, has_begun);
        self.insert_before_end(PromptPart { kind: PartKind::Fallback, text });
        self
    }
}

/// The part of a prompt that says why this agent plays the role.
fn fallback_part(agent: &str, why: &str, has_begun: bool) -> String {
    let (agent, why) = (one_line(agent), one_line(why.trim_end_matches('.')));
    if !has_begun {
        return format!("\n# A substitute\n\nYou play this role instead of the agent `{agent}`: {why}.\n");
    }
    format!(
        "\n# An unfinished attempt\n\nYou play this role instead of the agent `{agent}`: {why}. It may have begun to work. Look at the files first; \
         keep what is useful, and finish the work.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unstarted_agent_left_no_attempt() {
        let part = fallback_part("g", "its usage limit is reached.", false);
        assert_eq!(
            part,
            "\n# A substitute\n\nYou play this role instead of the agent `g`: its usage limit is reached.\n"
        );
        assert!(fallback_part("g", "it failed", true).starts_with("\n# An unfinished attempt\n"));
    }
}
