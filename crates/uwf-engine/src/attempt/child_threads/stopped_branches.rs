//! The message about branches of a group that have stopped: a line for each, then the questions that they ask.

use uwf_core::thread::ThreadId;

use super::branch_path;
use crate::attempt::settings::ThreadSettings;
use crate::error::ErrorKind;
use crate::root::home::Home;
use crate::root::marks::{self, ThreadMark};
use crate::thread::state::ThreadState;

/// The beginning of a line about a branch.
const LINE: &str = "branch `";

/// A branch that has stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoppedBranch {
    /// Its path.
    pub path: String,
    /// Its state in a word.
    pub state: &'static str,
    /// Why it has stopped: a line, then perhaps a question.
    pub why: String,
}

impl StoppedBranch {
    /// Whether the reason is the message about its own branches, because it is a group.
    #[must_use]
    pub fn is_group(&self) -> bool {
        names_branches_of(&self.path, &self.why)
    }

    /// Its path. For a group with a single stopped branch, the path of that branch.
    #[must_use]
    pub fn innermost(&self) -> &str {
        let mut lines = self.lines().lines().filter_map(path_in_line);
        match (self.is_group(), lines.next(), lines.next()) {
            (true, Some(only), None) => only,
            _ => &self.path,
        }
    }

    /// The lines before a question.
    fn lines(&self) -> &str {
        self.why.split_once("\n\n").map_or(&*self.why, |(lines, _)| lines).trim_end()
    }

    /// The line about it, and the question that it asks. If it is a group, its own branches have lines and questions.
    fn parts(&self) -> (String, &str) {
        let why = self.why.trim_end();
        if self.is_group() {
            return (self.lines().to_owned(), why.split_once("\n\n").map_or("", |(_, questions)| questions));
        }
        let (first, rest) = why.split_once('\n').unwrap_or((why, ""));
        (format!("{LINE}{}` is {}: {first}", self.path, self.state), rest.trim_start_matches('\n'))
    }
}

/// Whether a reason is the message about branches of the group with this path.
#[must_use]
pub fn names_branches_of(group: &str, why: &str) -> bool {
    path_in_line(why).is_some_and(|path| path.strip_prefix(group).is_some_and(|rest| rest.starts_with('.')))
}

/// The path of the branch that a line of a message is about.
fn path_in_line(line: &str) -> Option<&str> {
    line.strip_prefix(LINE)?.split_once("` is ").map(|(path, _)| path)
}

/// The message about these branches.
#[must_use]
pub fn message(branches: &[StoppedBranch]) -> String {
    let parts: Vec<(String, &str)> = branches.iter().map(StoppedBranch::parts).collect();
    let mut text = parts.iter().map(|(lines, _)| lines.as_str()).collect::<Vec<_>>().join("\n");
    for (branch, (_, question)) in branches.iter().zip(parts).filter(|(_, (_, question))| !question.is_empty()) {
        // The only line says whose question it is. A group within the group names its branches itself.
        let name = branch.innermost();
        let is_named = branches.len() == 1 || (branch.is_group() && name == branch.path);
        let name = if is_named { String::new() } else { format!("`{name}`:\n\n") };
        text.push_str(&format!("\n\n{name}{question}"));
    }
    text
}

/// The path of a group that a thread plays as this role.
#[must_use]
pub fn group_path(home: &Home, player: &ThreadId, role: &str) -> String {
    let settings = ThreadSettings::load(home, player).ok().flatten();
    settings.and_then(|settings| branch_path::path_above(home, &settings, role)).unwrap_or_else(|| role.to_owned())
}

/// The state of a branch whose step ended with an error of this kind.
#[must_use]
pub fn state_after(home: &Home, branch: &ThreadId, kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Interrupted | ErrorKind::Terminated => "stopped",
        ErrorKind::Waiting if marks::get(home, branch, ThreadMark::Paused).is_some() => ThreadState::Paused.name(),
        ErrorKind::Waiting => ThreadState::Waiting.name(),
        ErrorKind::Limit => ThreadState::Limited.name(),
        _ => ThreadState::Stuck.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopped(path: &str, state: &'static str, why: &str) -> StoppedBranch {
        StoppedBranch { path: path.to_owned(), state, why: why.to_owned() }
    }

    #[test]
    fn lines_of_branches_precede_their_questions() {
        let inner = message(&[
            stopped("reviews.inner.docs", "waiting", "role `docs` asks: uwf thread answer D\n\nWhich manual?\n"),
            stopped("reviews.inner.style", "stuck", "agent `t` exited with 3\nboom"),
        ]);
        let all = message(&[
            stopped("reviews.tests", "waiting", "role `tests` asks: uwf thread answer T\n\nWhich test?"),
            stopped("reviews.inner", "waiting", &inner),
        ]);
        assert_eq!(
            all,
            "branch `reviews.tests` is waiting: role `tests` asks: uwf thread answer T\n\
             branch `reviews.inner.docs` is waiting: role `docs` asks: uwf thread answer D\n\
             branch `reviews.inner.style` is stuck: agent `t` exited with 3\n\n\
             `reviews.tests`:\n\nWhich test?\n\n\
             `reviews.inner.docs`:\n\nWhich manual?\n\n\
             `reviews.inner.style`:\n\nboom"
        );
    }

    #[test]
    fn only_question_needs_no_name() {
        let one = message(&[stopped("reviews.tests", "waiting", "role `tests` asks\n\nWhich test?")]);
        assert_eq!(one, "branch `reviews.tests` is waiting: role `tests` asks\n\nWhich test?");
        let above = message(&[stopped("work", "waiting", &one.replace("reviews", "work.reviews"))]);
        assert_eq!(above, "branch `work.reviews.tests` is waiting: role `tests` asks\n\nWhich test?");
    }
}
