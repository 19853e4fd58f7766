//! What a model is shown that is to find the output of a role in what a child thread has done: not its last words alone,
//! for the role of the parent may ask for what an earlier step of the child has found.

use agent_kit::answer::Answer;
use agent_kit::ladder::{Extractor, Unread};
use agent_kit::{AgentContext, Result, Step};
use uwf_engine::root::history::Finished;
use uwf_engine::root::home::Home;
use uwf_engine::thread::load::Thread;

use crate::extractor::LlmExtractor;

/// Bytes of outputs and texts that are shown, the newest steps first. A model reads as much without losing its middle.
const MAX_SHOWN: usize = 48_000;

/// The last rung of the ladder for a child thread that has ended.
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
        // A single step over the limit is shown as its text, which the model is given without its middle.
        self.model.extract(&Unread { raw: if raw.is_empty() { unread.raw } else { &raw }, ..*unread })
    }
}

fn summary(step: &Step) -> String {
    let beside = step.message.as_deref().map(|text| format!("\n{}\n", text.trim())).unwrap_or_default();
    format!("# Step {}: {}\n\n{:#}\n{beside}\n", step.index, step.role, step.output)
}
