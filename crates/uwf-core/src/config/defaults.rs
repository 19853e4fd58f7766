//! The defaults of a configuration, for display.

use super::agent::OutputMode;
use super::edit::KeyPath;
use super::limits::{
    DEFAULT_FEEDBACK_ROUNDS, DEFAULT_IDLE_TIMEOUT, DEFAULT_KILL_GRACE, DEFAULT_LLM_ROUNDS, DEFAULT_MAX_BRANCHES,
    DEFAULT_MAX_DEPTH, DEFAULT_MAX_STEPS, DEFAULT_OUTPUT_CAP, DEFAULT_PARALLEL, DEFAULT_PROMPT_BUDGET, ExtractRungs,
    QuestionPolicy,
};
use super::store::DEFAULT_LEASE;

/// The default of a key, as a user would write it; `None` for a key without one.
#[must_use]
pub fn default_of(path: &KeyPath) -> Option<String> {
    let parts: Vec<&str> = path.parts().iter().map(String::as_str).collect();
    Some(match parts.as_slice() {
        ["maxSteps"] => DEFAULT_MAX_STEPS.to_string(),
        ["maxDepth"] => DEFAULT_MAX_DEPTH.to_string(),
        ["maxBranches"] => DEFAULT_MAX_BRANCHES.to_string(),
        ["parallel"] => DEFAULT_PARALLEL.to_string(),
        ["supervisorInterval"] => "0".to_owned(),
        ["promptBudget"] => DEFAULT_PROMPT_BUDGET.to_string(),
        ["outputCap"] => DEFAULT_OUTPUT_CAP.to_string(),
        ["killGrace"] => DEFAULT_KILL_GRACE.as_secs().to_string(),
        ["ask"] => QuestionPolicy::default().as_str().to_owned(),
        ["extract", "submit"] => ExtractRungs::default().submit.to_string(),
        ["extract", "frontmatter"] => ExtractRungs::default().frontmatter.to_string(),
        ["extract", "feedback"] => DEFAULT_FEEDBACK_ROUNDS.to_string(),
        ["extract", "llm"] => DEFAULT_LLM_ROUNDS.to_string(),
        ["agents", _, "output"] => OutputMode::default().as_str().to_owned(),
        ["agents", _, "idleTimeout"] => format!("{}m", DEFAULT_IDLE_TIMEOUT.as_secs() / 60),
        ["store", "lease"] => format!("{}s", DEFAULT_LEASE.as_secs()),
        ["agents", _, "timeout"] => "0".to_owned(),
        _ => return None,
    })
}
