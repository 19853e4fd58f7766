//! The closing note of a prompt: what kind of visit it is, and what was left out.

use super::Visit;

/// What a note may have to say.
pub(super) struct Facts<'a> {
    pub(super) visit: Visit,
    /// Steps that are told.
    pub(super) told: usize,
    /// Whether one of them is cut.
    pub(super) shortened: bool,
    pub(super) over_budget: usize,
    pub(super) told_before: usize,
    pub(super) read_hint: Option<&'a str>,
}

/// The note, `None` when there is nothing to say.
pub(super) fn note(facts: &Facts<'_>) -> Option<String> {
    let mut lines = Vec::new();
    if facts.visit == Visit::Return {
        let since = match facts.told {
            0 => "No step was taken since.".to_owned(),
            1 => "The step above is what is new since then.".to_owned(),
            told => format!("The {told} steps above are what is new since then."),
        };
        lines
            .push(format!("You have played this role in this thread before. {since} Deliver again in the form above."));
    }
    if facts.told_before > 0 {
        lines.push(format!(
            "{}, your own last one included, not repeated here.",
            are_steps(facts.told_before, "earlier")
        ));
    }
    if facts.over_budget > 0 {
        let age = if facts.visit == Visit::Return { "newer" } else { "earlier" };
        lines.push(format!("{} left out here to keep this text short.", are_steps(facts.over_budget, age)));
    }
    if facts.shortened {
        lines.push("Steps marked with […] are shortened.".to_owned());
    }
    let incomplete = facts.told_before > 0 || facts.over_budget > 0 || facts.shortened;
    if let Some(command) = facts.read_hint.filter(|_| incomplete) {
        lines.push(format!("The command `{command}` shows the whole thread."));
    }
    (!lines.is_empty()).then(|| format!("\n# Note\n\n{}\n", lines.join("\n")))
}

fn are_steps(count: usize, age: &str) -> String {
    if count == 1 { format!("1 {age} step is") } else { format!("{count} {age} steps are") }
}
