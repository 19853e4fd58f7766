//! The steps of the thread so far, as an agent is given them.

use uwf_core::thread::Step;
use uwf_engine::error::Result;
use uwf_engine::thread::steps::Parts;

use crate::context::AgentContext;

impl AgentContext<'_> {
    /// The newest steps of the thread, oldest first: at most `most`, and no more than fit into `bytes` of outputs and
    /// texts. Nothing older is read.
    ///
    /// # Errors
    /// Those of the nodes.
    pub fn newest_steps(&self, most: usize, bytes: usize) -> Result<Vec<Step>> {
        let mut index = self.thread().chain()?.len();
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

    /// Number of steps the thread has.
    ///
    /// # Errors
    /// Those of the nodes the chain cache lacks.
    pub(crate) fn step_count(&self) -> Result<usize> {
        Ok(self.thread().chain()?.len())
    }

    /// The step at a position, from 1, with what was written beside its output.
    ///
    /// # Errors
    /// Those of the nodes; `Usage` when the thread has no such step.
    pub fn step(&self, index: usize) -> Result<Step> {
        self.record(index)?;
        self.thread().step(index - 1, Parts::MESSAGE)
    }
}
