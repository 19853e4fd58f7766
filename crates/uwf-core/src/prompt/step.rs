//! A previous step as a part of a prompt, whole or cut.

use super::branches::push_branches;
use super::fence::{head, push_fenced};
use super::output_text::shown_output;
use crate::thread::Step;
use crate::workflow::picked_copy;

/// Most bytes of a step's output, and of its text, in a prompt. The role's own last answer and the newest steps have no such limit. Without
/// it, one long text in the middle of a thread would displace all earlier steps.
pub const LONG_STEP: usize = 16 << 10;

/// Bytes of a shortened step's output. Most outputs are far shorter, so a shortened step usually has its whole output.
const SHORT_OUTPUT: usize = 2 << 10;

/// Bytes of a shortened step's text: the beginning, which says what it is about.
const SHORT_TEXT: usize = 600;

/// Typical size of a step's part in bytes, besides output and text.
const FRAME: usize = 128;

/// A step in a prompt. It depends only on the step and on how much of it is shown, so the prompts of all roles show it with the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepSection {
    /// See [`Step::index`].
    pub index: usize,
    /// The text.
    pub text: String,
    /// Whether something of the step is left out.
    pub is_shortened: bool,
}

impl StepSection {
    /// The whole step.
    pub fn whole(step: &Step) -> StepSection {
        StepSection::capped(step, usize::MAX, usize::MAX)
    }

    /// The whole step, unless it is very long.
    pub(super) fn long(step: &Step) -> StepSection {
        StepSection::capped(step, LONG_STEP, LONG_STEP)
    }

    /// Its output and the beginning of its text.
    pub(super) fn short(step: &Step) -> StepSection {
        StepSection::capped(step, SHORT_OUTPUT, SHORT_TEXT)
    }

    /// As much of the step as fits into a number of bytes, the output first; `None` if its heading does not fit.
    pub(super) fn cut_to(step: &Step, bytes: usize) -> Option<StepSection> {
        let (mut output, mut text) = (bytes, bytes);
        loop {
            let section = StepSection::capped(step, output, text);
            if section.text.len() <= bytes {
                return Some(section);
            }
            // Search for the caps instead of computing them: a mark is added, and a fence may be as long as its text.
            let over = section.text.len() - bytes;
            if text > 0 {
                text = text.min(longest_message(step)).saturating_sub(over.max(step.branches.len()));
            } else if output > 0 {
                output = output.min(section.text.len()).saturating_sub(over.max(step.branches.len()));
            } else {
                return None;
            }
        }
    }

    /// The step with at most this many bytes of its output and of its text.
    fn capped(step: &Step, output_cap: usize, text_cap: usize) -> StepSection {
        let (info, output) = shown_output(&step.output);
        let message = message(step);
        let body = output.len().min(output_cap) + message.map_or(0, |message| message.len().min(text_cap));
        let mut text = String::with_capacity(FRAME + step.role.len() + body);
        text.push_str(&format!("\n# Step {}: output of role `{}`\n\n", step.index, step.role));
        let mut section = StepSection { index: step.index, text, is_shortened: false };
        if !step.branches.is_empty() {
            if let Some(copy) = picked_copy(&step.output) {
                section.text.push_str(&format!("Copy `{copy}` was picked.\n"));
            }
            section.is_shortened = push_branches(&mut section.text, "Branch", &step.branches, output_cap, text_cap);
            return section;
        }
        section.push_capped(info, &output, output_cap);
        match message {
            Some(message) if text_cap == 0 => {
                section.leave_out(&format!("\n[… its text of {} bytes left out]\n", message.len()));
            }
            Some(message) => {
                let heading = if info == "json" { "Text below its header" } else { "Text beside it" };
                section.text.push_str(&format!("\n{heading}:\n\n"));
                section.push_capped("markdown", message, text_cap);
            }
            None => {}
        }
        section
    }

    fn push_capped(&mut self, info: &str, text: &str, cap: usize) {
        let (start, left_out) = head(text, cap);
        push_fenced(&mut self.text, info, start);
        if left_out > 0 {
            self.leave_out(&format!("[… {left_out} bytes left out]\n"));
        }
    }

    fn leave_out(&mut self, mark: &str) {
        self.text.push_str(mark);
        self.is_shortened = true;
    }
}

/// Bytes of a step's message. Branches share a cap, so the bytes that change something are as many times more as there are branches.
fn longest_message(step: &Step) -> usize {
    let of_branches = step.branches.iter().filter_map(|branch| branch.message.as_ref()).map(String::len).max();
    of_branches.map_or_else(|| message(step).map_or(0, str::len), |longest| longest * step.branches.len())
}

/// A step's message, unless it is empty.
fn message(step: &Step) -> Option<&str> {
    step.message.as_deref().map(str::trim_end).filter(|message| !message.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn step(message: &str) -> Step {
        Step { message: Some(message.to_owned()), ..Step::new(7, "writer", json!({"title": "t"})) }
    }

    #[test]
    fn step_is_cut_to_any_size_output_first() {
        for text in ["word ".repeat(500), "`".repeat(3000), "ä\n".repeat(900), String::new()] {
            let step = step(&text);
            let whole = StepSection::whole(&step).text.len();
            for bytes in (0..whole + 10).step_by(7) {
                let Some(cut) = StepSection::cut_to(&step, bytes) else {
                    assert!(bytes < 200, "{bytes} bytes are enough for the heading");
                    continue;
                };
                assert!(cut.text.len() <= bytes);
                assert_eq!(cut.is_shortened, cut.text != StepSection::whole(&step).text);
                assert!(bytes < 300 || cut.text.contains("\"title\": \"t\""), "{}", cut.text);
            }
            assert_eq!(StepSection::cut_to(&step, whole), Some(StepSection::whole(&step)));
        }
    }

    #[test]
    fn little_is_lost_of_what_would_fit() {
        let cut = StepSection::cut_to(&step(&"word ".repeat(500)), 1500).map(|section| section.text.len());
        assert!(cut.is_some_and(|length| length > 1200), "{cut:?}");
    }
}
