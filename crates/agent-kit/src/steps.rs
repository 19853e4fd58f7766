//! The previous steps of the thread, as agents get them.

use uwf_core::thread::Step;
use uwf_engine::error::Result;
use uwf_engine::thread::steps::StepParts;

use crate::context::AgentContext;

impl AgentContext<'_> {
    /// Returns the newest steps of the thread, oldest first: at most `most`, with at most `bytes` of outputs and texts. Older steps are not
    /// read.
    ///
    /// # Errors
    /// A node can't be read.
    pub fn newest_steps(&self, most: usize, bytes: usize) -> Result<Vec<Step>> {
        let mut index = self.step_count()?;
        let mut steps = Vec::new();
        let mut left = bytes;
        while index > 0 && steps.len() < most {
            let step = self.step(index)?;
            let size = step.output.to_string().len() + step.message.as_ref().map_or(0, String::len);
            let Some(rest) = left.checked_sub(size) else { break };
            left = rest;
            steps.push(step);
            index -= 1;
        }
        steps.reverse();
        Ok(steps)
    }

    /// Returns the step at a position among those that the role sees, from 1, with the text beside its output.
    ///
    /// # Errors
    /// `Usage` if the thread has no such step, or a node can't be read.
    pub fn step(&self, index: usize) -> Result<Step> {
        let step = self.thread().step(self.position(index)?, StepParts::MESSAGE)?;
        Ok(Step { index, ..step })
    }
}
