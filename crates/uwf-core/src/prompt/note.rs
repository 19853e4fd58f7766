//! The end of a prompt: which visit of the role this is, and how to read omitted parts.
//!
//! It has no counts, because the headings of the steps number them. So the note is the same at the role's first and second return, and is
//! stored once.

use super::VisitKind;

/// The facts that a note may mention.
#[derive(Debug, Clone, Copy)]
pub(super) struct NoteFacts<'a> {
    pub(super) visit: VisitKind,
    /// Name of the role.
    pub(super) role: &'a str,
    /// Whether the role's own last answer is shown.
    pub(super) shows_own: bool,
    /// Whether steps after it are shown.
    pub(super) shows_news: bool,
    /// Whether a step is cut or missing.
    pub(super) cuts_steps: bool,
    /// Whether the task is cut.
    pub(super) cuts_task: bool,
    /// Whether the input is cut.
    pub(super) cuts_input: bool,
    /// Command that prints omitted parts.
    pub(super) command: &'a str,
}

/// The note, `None` if it would be empty.
pub(super) fn note(facts: &NoteFacts<'_>) -> Option<String> {
    let NoteFacts { role, command, .. } = facts;
    let mut lines = Vec::new();
    if facts.visit != VisitKind::First {
        let before = match (facts.visit, facts.shows_own) {
            (VisitKind::Resumed, _) => "You are back in your earlier session.".to_owned(),
            (_, true) => format!(
                "You have played this role in this thread before. The last step of role `{role}` above is your own last \
                 answer."
            ),
            (_, false) => "You have played this role in this thread before.".to_owned(),
        };
        let since = match (facts.shows_news, facts.visit) {
            (false, _) => "No steps were added since then.",
            (true, VisitKind::Resumed) => "The steps above are new.",
            (true, _) => "The steps after it are new.",
        };
        lines.push(format!("{before} {since}"));
    }
    if facts.cuts_steps {
        lines.push(format!(
            "`[…]` marks steps, or parts of steps, that are left out to keep this prompt short. `{command} --step N` \
             prints step N in full."
        ));
    }
    if facts.cuts_task {
        lines.push(format!("The task is shortened. `{command} --task` prints it in full."));
    }
    if facts.cuts_input {
        lines.push(format!("The input is shortened. `{command} --input` prints it in full."));
    }
    (!lines.is_empty()).then(|| format!("\n# Note\n\n{}\n", lines.join("\n")))
}

/// Most bytes of a note on this kind of visit.
pub(super) fn most(visit: VisitKind, has_steps: bool, has_input: bool, role: &str, command: &str) -> usize {
    let facts = NoteFacts {
        visit,
        role,
        shows_own: true,
        shows_news: true,
        cuts_steps: has_steps,
        cuts_task: true,
        cuts_input: has_input,
        command,
    };
    note(&facts).map_or(0, |note| note.len())
}
