//! How many previous steps a prompt tells.

use super::step::{Rendered, StepSection};

/// The newest steps whose parts fit into a number of bytes, oldest first: whole ones, and at most one before them without
/// its text. No more are asked for than fit and one, however long the thread is.
///
/// # Errors
/// Those of the steps.
pub fn newest_that_fit<E>(
    bytes: usize,
    newest_first: impl IntoIterator<Item = Result<Rendered, E>>,
) -> Result<Vec<StepSection>, E> {
    let mut budget = Budget { left: bytes, is_spent: false };
    let mut sections = Vec::new();
    let mut steps = newest_first.into_iter();
    while !budget.is_spent
        && let Some(step) = steps.next()
    {
        let Some(section) = budget.admit(step?) else { break };
        sections.push(section);
    }
    sections.reverse();
    Ok(sections)
}

/// Bytes left for previous steps, asked from the newest step backwards.
struct Budget {
    left: usize,
    is_spent: bool,
}

impl Budget {
    /// The step's part if it fits: whole, else without its text. After the first step that is not whole, none is
    /// admitted, so that what is told has no gaps.
    fn admit(&mut self, Rendered { step, whole }: Rendered) -> Option<StepSection> {
        if self.is_spent {
            return None;
        }
        let mut section = whole;
        if section.text.len() > self.left {
            self.is_spent = true;
            section = StepSection::without_text(&step);
        }
        self.left = self.left.checked_sub(section.text.len())?;
        Some(section)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::step::PriorStep;
    use super::*;

    fn step(index: usize, text: &str) -> PriorStep {
        PriorStep { index, role: "r".to_owned(), output: json!({"n": index}), text: Some(text.to_owned()) }
    }

    #[test]
    fn the_first_step_that_is_not_whole_is_the_last() {
        let whole = StepSection::render(&step(1, &"x".repeat(100)));
        let brief = StepSection::without_text(&step(1, &"x".repeat(100)));
        let mut asked = 0;
        let mut told = |bytes: usize| {
            asked = 0;
            let steps = [step(3, &"x".repeat(100)), step(2, &"x".repeat(100)), step(1, "")];
            let steps = steps.into_iter().inspect(|_| asked += 1).map(|step| Ok::<Rendered, ()>(step.rendered()));
            let told = newest_that_fit(bytes, steps).unwrap();
            (told.iter().map(|section| (section.index, section.is_shortened)).collect::<Vec<_>>(), asked)
        };
        assert_eq!(told(whole.text.len() + brief.text.len()), (vec![(2, true), (3, false)], 2));
        assert_eq!(told(10), (vec![], 1));
        assert_eq!(told(0), (vec![], 1));
    }
}
