//! The closing note of a prompt: what kind of visit it is, and what was left out.
//!
//! It holds no counts: the headings of the steps above it number them. So the note of a role's second return is that of
//! its first, and is stored once.

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
        let since = if facts.told == 0 { "No step was taken since." } else { "What stands above is new since then." };
        lines
            .push(format!("You have played this role in this thread before. {since} Deliver again in the form above."));
    }
    if facts.told_before > 0 {
        lines.push("Earlier steps, your own last one included, are not repeated here.".to_owned());
    }
    if facts.over_budget > 0 {
        lines.push(match (facts.visit, facts.told) {
            (Visit::First, 0) => "The steps before this one are left out here to keep this text short.".to_owned(),
            (Visit::First, _) => {
                "Steps before the first one above are left out here to keep this text short.".to_owned()
            }
            (Visit::Return, _) => "Some of the steps since then are left out here to keep this text short.".to_owned(),
        });
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
