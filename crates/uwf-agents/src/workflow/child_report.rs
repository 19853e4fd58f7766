//! Report on a child thread for a model that must find a role's output in it. It has more than the last text, because the parent's role may
//! need a result from an earlier step of the child.

use agent_kit::answer::Answer;
use agent_kit::ladder::{Extractor, Unread};
use agent_kit::{AgentContext, Result, Step};
use uwf_engine::root::history::Finished;
use uwf_engine::root::home::Home;
use uwf_engine::thread::load::Thread;

use crate::extractor::LlmExtractor;

/// Bytes shown of outputs and texts, newest steps first. A model reads this much without losing the middle.
const MAX_SHOWN: usize = 48_000;

/// The last stage of reading the answer of a child thread that has ended.
pub(super) struct Account<'a> {
    pub(super) home: &'a Home,
    pub(super) ended: &'a Finished,
    /// The role of the child's last step.
    pub(super) role: &'a str,
    pub(super) model: LlmExtractor<'a>,
}

impl Extractor for Account<'_> {
    fn extract(&mut self, unread: &Unread<'_>) -> Result<Option<Answer>> {
        let thread = Thread::at(self.home, self.ended.thread.clone(), self.ended.head)?;
        let steps = AgentContext::of(thread, self.role, None)?.newest_steps(usize::MAX, MAX_SHOWN)?;
        let raw: String = steps.iter().map(summary).collect();
        // A single step over the limit is shown as its text, and the model gets it without its middle.
        self.model.extract(&Unread { raw: if raw.is_empty() { unread.raw } else { &raw }, ..*unread })
    }
}

fn summary(step: &Step) -> String {
    let beside = step.message.as_deref().map(|text| format!("\n{}\n", text.trim())).unwrap_or_default();
    format!("# Step {}: {}\n\n{:#}\n{beside}\n", step.index, step.role, step.output)
}
