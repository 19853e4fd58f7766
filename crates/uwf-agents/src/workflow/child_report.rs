//! Report on a child thread for a model that must find a role's output in it. It has more than the last text, because the parent's role may
//! need a result from an earlier step of the child.

use agent_kit::answer::AgentAnswer;
use agent_kit::ladder::{UnreadableAnswer, ValueExtractor};
use agent_kit::{AgentContext, Result, Step};
use uwf_engine::root::history::HistoryLine;
use uwf_engine::root::home::Home;
use uwf_engine::thread::load::Thread;

use crate::extractor::LlmExtractor;

/// Bytes shown of outputs and texts, newest steps first. A model reads this much without losing the middle.
const MAX_SHOWN: usize = 48_000;

/// The last stage of reading the answer of a child thread that has ended.
pub(super) struct ChildOutputExtractor<'a> {
    pub(super) home: &'a Home,
    pub(super) ended: &'a HistoryLine,
    /// The role of the child's last step.
    pub(super) role: &'a str,
    pub(super) model: LlmExtractor<'a>,
}

impl ValueExtractor for ChildOutputExtractor<'_> {
    fn extract(&mut self, unread: &UnreadableAnswer<'_>) -> Result<Option<AgentAnswer>> {
        let thread = Thread::load_at(self.home, self.ended.thread.clone(), self.ended.head)?;
        let steps = AgentContext::for_role(thread, self.role, None)?.newest_steps(usize::MAX, MAX_SHOWN)?;
        let raw: String = steps.iter().map(summary).collect();
        // A single step over the limit is shown as its text, and the model gets it without its middle.
        self.model.extract(&UnreadableAnswer { raw: if raw.is_empty() { unread.raw } else { &raw }, ..*unread })
    }
}

fn summary(step: &Step) -> String {
    let beside = step.message.as_deref().map(|text| format!("\n{}\n", text.trim())).unwrap_or_default();
    format!("# Step {}: {}\n\n{:#}\n{beside}\n", step.index, step.role, step.output)
}
