//! A previous step as a part of a prompt.

use serde_json::Value;

use super::fence::{head, push_fenced};

/// Bytes of a step's text, and of its output, that a prompt tells. Fixed, so that a step's part is the same in every
/// prompt; a few of them fit into the default budget.
pub const PER_STEP_CAP: usize = 16 << 10;

/// Bytes that a step's part has besides output and text, mostly.
const FRAME: usize = 128;

/// A step as the agent is told it.
#[derive(Debug, Clone, PartialEq)]
pub struct PriorStep {
    /// Its position in the thread, from 1.
    pub index: usize,
    /// Role that was played.
    pub role: String,
    /// Its structured output.
    pub output: Value,
    /// What the agent wrote beside it, when it did.
    pub text: Option<String>,
}

/// A step with its whole part of a prompt. Rendering a hundred takes a while, so it is not left to whoever counts bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// The step.
    pub(super) step: PriorStep,
    /// Its part, nothing left out but what is over [`PER_STEP_CAP`].
    pub(super) whole: StepSection,
}

impl PriorStep {
    /// The step, rendered.
    pub fn rendered(self) -> Rendered {
        let whole = StepSection::render(&self);
        Rendered { step: self, whole }
    }

    /// The text, when it says anything.
    fn spoken(&self) -> Option<&str> {
        self.text.as_deref().map(str::trim_end).filter(|text| !text.is_empty())
    }
}

/// The part of a prompt that tells one step; depends on that step alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepSection {
    /// See [`PriorStep::index`].
    pub index: usize,
    /// The text.
    pub text: String,
    /// Whether something of the step is left out.
    pub is_shortened: bool,
}

impl StepSection {
    /// The whole step, output and text each up to [`PER_STEP_CAP`].
    pub fn render(step: &PriorStep) -> StepSection {
        let mut section = StepSection::of_output(step);
        if let Some(text) = step.spoken() {
            section.text.push_str("\nIts text:\n\n");
            section.push_capped("markdown", text);
        }
        section
    }

    /// The step's output only, for when its text does not fit into the budget.
    pub fn without_text(step: &PriorStep) -> StepSection {
        let mut section = StepSection::of_output(step);
        if let Some(text) = step.spoken() {
            section.text.push_str(&format!("\n[… its text of {} bytes left out]\n", text.len()));
            section.is_shortened = true;
        }
        section
    }

    fn of_output(step: &PriorStep) -> StepSection {
        let output = serde_json::to_string_pretty(&step.output).expect("a JSON value can be written as JSON");
        // Most of it in one piece: a hundred of these are made for a long prompt.
        let body = output.len().min(PER_STEP_CAP) + step.spoken().map_or(0, |text| text.len().min(PER_STEP_CAP));
        let mut text = String::with_capacity(FRAME + step.role.len() + body);
        text.push_str(&format!("\n# Step {} of this thread: what the role `{}` delivered\n\n", step.index, step.role));
        let mut section = StepSection { index: step.index, text, is_shortened: false };
        section.push_capped("json", &output);
        section
    }

    fn push_capped(&mut self, info: &str, text: &str) {
        let (start, left_out) = head(text, PER_STEP_CAP);
        push_fenced(&mut self.text, info, start);
        if left_out > 0 {
            self.text.push_str(&format!("[… {left_out} bytes left out]\n"));
            self.is_shortened = true;
        }
    }
}
