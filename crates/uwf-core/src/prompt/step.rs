//! A previous step as a part of a prompt: all of it, or as much as fits.

use serde_json::Value;

use super::fence::{head, push_fenced};

/// Bytes of a step's output, and of its text, that a prompt shows of a step that is neither the role's own last answer nor
/// one of the newest. Without it one long text in the middle of a thread would displace all steps before it.
pub const LONG_STEP: usize = 16 << 10;

/// Bytes of a shortened step's output. Most outputs are far shorter, so a shortened step usually has all of it.
const SHORT_OUTPUT: usize = 2 << 10;

/// Bytes of a shortened step's text: its beginning, to say what it is about.
const SHORT_TEXT: usize = 600;

/// Bytes that a step's part has beside output and text, mostly.
const FRAME: usize = 128;

/// A step before the one that is to be done.
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

/// A step as a prompt shows it. It depends on that step and on how much of it is shown, so that the prompts of all roles
/// show it with the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepSection {
    /// See [`PriorStep::index`].
    pub index: usize,
    /// The text.
    pub text: String,
    /// Whether something of the step is left out.
    pub is_shortened: bool,
}

impl PriorStep {
    /// All of it.
    pub fn whole(&self) -> StepSection {
        self.capped(usize::MAX, usize::MAX)
    }

    /// All of it, unless it is very long.
    pub(super) fn long(&self) -> StepSection {
        self.capped(LONG_STEP, LONG_STEP)
    }

    /// Its output and the beginning of its text.
    pub(super) fn short(&self) -> StepSection {
        self.capped(SHORT_OUTPUT, SHORT_TEXT)
    }

    /// As much of it as fits into a number of bytes, the output first; `None` when not even its heading fits.
    pub(super) fn cut_to(&self, bytes: usize) -> Option<StepSection> {
        let (mut output, mut text) = (bytes, bytes);
        loop {
            let section = self.capped(output, text);
            if section.text.len() <= bytes {
                return Some(section);
            }
            // The caps are looked for rather than computed: a mark is added, and a fence may be as long as its text.
            let over = section.text.len() - bytes;
            if text > 0 {
                text = text.min(self.words().map_or(0, str::len)).saturating_sub(over);
            } else if output > 0 {
                output = output.min(section.text.len()).saturating_sub(over);
            } else {
                return None;
            }
        }
    }

    /// At most so many bytes of its output and of its text.
    fn capped(&self, output_cap: usize, text_cap: usize) -> StepSection {
        let output = serde_json::to_string_pretty(&self.output).expect("a JSON value can be written as JSON");
        let words = self.words();
        let body = output.len().min(output_cap) + words.map_or(0, |words| words.len().min(text_cap));
        let mut text = String::with_capacity(FRAME + self.role.len() + body);
        text.push_str(&format!("\n# Step {} of this thread: what the role `{}` delivered\n\n", self.index, self.role));
        let mut section = StepSection { index: self.index, text, is_shortened: false };
        section.push_capped("json", &output, output_cap);
        match words {
            Some(words) if text_cap == 0 => {
                section.leave_out(&format!("\n[… its text of {} bytes left out]\n", words.len()));
            }
            Some(words) => {
                section.text.push_str("\nIts text:\n\n");
                section.push_capped("markdown", words, text_cap);
            }
            None => {}
        }
        section
    }

    /// The text, when it says anything.
    fn words(&self) -> Option<&str> {
        self.text.as_deref().map(str::trim_end).filter(|text| !text.is_empty())
    }
}

impl StepSection {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn step(text: &str) -> PriorStep {
        PriorStep { index: 7, role: "writer".to_owned(), output: json!({"title": "t"}), text: Some(text.to_owned()) }
    }

    #[test]
    fn a_step_is_cut_to_any_number_of_bytes_output_first() {
        for text in ["word ".repeat(500), "`".repeat(3000), "ä\n".repeat(900), String::new()] {
            let step = step(&text);
            let whole = step.whole().text.len();
            for bytes in (0..whole + 10).step_by(7) {
                let Some(cut) = step.cut_to(bytes) else {
                    assert!(bytes < 200, "{bytes} bytes are enough for the heading");
                    continue;
                };
                assert!(cut.text.len() <= bytes);
                assert_eq!(cut.is_shortened, cut.text != step.whole().text);
                assert!(bytes < 300 || cut.text.contains("\"title\": \"t\""), "{}", cut.text);
            }
            assert_eq!(step.cut_to(whole), Some(step.whole()));
        }
    }

    #[test]
    fn little_is_lost_of_what_would_fit() {
        let cut = step(&"word ".repeat(500)).cut_to(1500).map(|section| section.text.len());
        assert!(cut.is_some_and(|length| length > 1200), "{cut:?}");
    }
}
