//! The thread so far, as agents in other languages are told it.

use json_cas::Hash;
use serde::Serialize;
use serde_json::Value;
use uwf_core::prompt::PriorStep;
use uwf_core::thread::StepRecord;
use uwf_engine::error::Result;
use uwf_engine::thread::message;
use uwf_engine::thread::nodes;

use crate::context::AgentContext;

/// A step with its output and what was written beside it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportedStep {
    /// Position in the thread, from 1.
    pub index: usize,
    /// The `StepNode`.
    pub hash: Hash,
    /// Role that was played.
    pub role: String,
    /// Its output, valid under the role's schema.
    pub output: Value,
    /// What the agent wrote beside its output; `None` when that was all.
    pub text: Option<String>,
    /// Name of the agent.
    pub agent: String,
    /// Node that tells how the output came to be.
    pub detail: Hash,
    /// Unix milliseconds the step was first stored at.
    pub timestamp: u64,
}

impl ReportedStep {
    /// The step as a prompt shows it, nothing left out.
    pub fn whole(&self) -> String {
        let ReportedStep { index, role, output, text, .. } = self.clone();
        PriorStep { index, role, output, text }.whole().text.trim_start().to_owned()
    }
}

impl AgentContext<'_> {
    /// The newest steps of the thread, oldest first: at most `most`, and no more than fit into `bytes` of outputs and
    /// texts. Nothing older is read.
    ///
    /// # Errors
    /// Those of the nodes.
    pub fn newest_steps(&self, most: usize, bytes: usize) -> Result<Vec<ReportedStep>> {
        let mut index = self.thread().chain()?.len();
        let mut steps = Vec::new();
        let mut left = bytes;
        while index > 0 && steps.len() < most {
            let step = self.step(index)?;
            let size = step.output.to_string().len() + step.text.as_ref().map_or(0, String::len);
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

    /// The step at a position, from 1.
    ///
    /// # Errors
    /// Those of the nodes; `Usage` when the thread has no such step.
    pub fn step(&self, index: usize) -> Result<ReportedStep> {
        let store = self.thread().home().store();
        let hash = self.record(index)?.step;
        let StepRecord { role, output, detail, agent, timestamp_ms, .. } = nodes::step_record(store, hash)?;
        let text = message::of_detail(store, detail)?;
        Ok(ReportedStep { index, hash, role, output, text, agent, detail, timestamp: timestamp_ms })
    }
}
