//! How many previous steps a prompt tells.

use super::step::{PriorStep, StepSection};

/// Bytes left for previous steps, asked from the newest step backwards. So a caller loads steps only until
/// [`Budget::admit`] says no, however long the thread is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    left: usize,
    is_spent: bool,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(bytes: usize) -> Budget {
        Budget { left: bytes, is_spent: false }
    }

    /// The step's part if it fits: whole, else without its text. After the first step that is not whole, none is
    /// admitted, so that what is told has no gaps.
    pub fn admit(&mut self, step: &PriorStep) -> Option<StepSection> {
        if self.is_spent {
            return None;
        }
        let mut section = StepSection::render(step);
        if section.text.len() > self.left {
            self.is_spent = true;
            section = StepSection::without_text(step);
        }
        self.left = self.left.checked_sub(section.text.len())?;
        Some(section)
    }

    /// Whether nothing more will be admitted.
    pub fn is_spent(&self) -> bool {
        self.is_spent
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn step(index: usize, text: &str) -> PriorStep {
        PriorStep { index, role: "r".to_owned(), output: json!({"n": index}), text: Some(text.to_owned()) }
    }

    #[test]
    fn the_first_step_that_is_not_whole_is_the_last() {
        let whole = StepSection::render(&step(1, &"x".repeat(100)));
        let brief = StepSection::without_text(&step(1, &"x".repeat(100)));
        let mut budget = Budget::new(whole.text.len() + brief.text.len());
        assert_eq!(budget.admit(&step(3, &"x".repeat(100))).map(|section| section.is_shortened), Some(false));
        assert_eq!(budget.admit(&step(2, &"x".repeat(100))).map(|section| section.is_shortened), Some(true));
        assert!(budget.is_spent());
        assert_eq!(budget.admit(&step(1, "")), None);
        assert_eq!(Budget::new(10).admit(&step(1, "")), None);
    }
}
