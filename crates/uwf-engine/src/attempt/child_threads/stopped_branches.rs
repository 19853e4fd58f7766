//! The message about branches of a group that have stopped: a line for each reason, then the questions that the branches ask.

use uwf_core::thread::ThreadId;

use super::branch_path;
use crate::attempt::settings::ThreadSettings;
use crate::error::ErrorKind;
use crate::root::agent_limits;
use crate::root::home::Home;
use crate::root::marks::{self, ThreadMark};
use crate::thread::state::ThreadState;

/// The beginning of a line about a branch.
const LINE: &str = "branch `";

/// The beginning of a line about branches that have stopped for the same reason.
const SHARED_LINE: &str = "branches `";

/// Most branches that a line names.
const NAMED: usize = 4;

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
        let mut lines = self.lines().lines().filter(|line| path_in_line(line).is_some());
        match (self.is_group(), lines.next(), lines.next()) {
            (true, Some(only), None) if !only.starts_with(SHARED_LINE) => path_in_line(only).unwrap_or(&self.path),
            _ => &self.path,
        }
    }

    /// Whether a branch has stopped for the same reason, so that one line is enough. Each question is answered by itself.
    #[must_use]
    pub fn shares_line(&self, other: &StoppedBranch) -> bool {
        let asks = [ThreadState::Waiting, ThreadState::Paused].iter().any(|state| state.name() == self.state);
        self.state == other.state && !asks && !self.is_group() && shared_reason(&self.why) == shared_reason(&other.why)
    }

    /// The lines before a question.
    fn lines(&self) -> &str {
        self.why.split_once("\n\n").map_or(&*self.why, |(lines, _)| lines).trim_end()
    }

    /// The line about it and the others that share it, and the question that it asks. If it is a group, its own branches have lines and
    /// questions.
    fn parts(&self, others: &[&StoppedBranch]) -> (String, &str) {
        let why = self.why.trim_end();
        if self.is_group() {
            return (self.lines().to_owned(), why.split_once("\n\n").map_or("", |(_, questions)| questions));
        }
        let (first, rest) = why.split_once('\n').unwrap_or((why, ""));
        let who = match others {
            [] => format!("{LINE}{}` is", self.path),
            _ => {
                let paths: Vec<&str> =
                    [self].into_iter().chain(others.iter().copied()).map(|branch| &*branch.path).collect();
                format!("branches {} are", named(&paths))
            }
        };
        (format!("{who} {}: {first}", self.state), rest.trim_start_matches('\n'))
    }
}

/// Whether a reason is the message about branches of the group with this path.
#[must_use]
pub fn names_branches_of(group: &str, why: &str) -> bool {
    path_in_line(why).is_some_and(|path| path.strip_prefix(group).is_some_and(|rest| rest.starts_with('.')))
}

/// The path of the first branch that a line of a message is about.
fn path_in_line(line: &str) -> Option<&str> {
    match line.strip_prefix(LINE) {
        Some(line) => line.split_once("` is ").map(|(path, _)| path),
        None => line.strip_prefix(SHARED_LINE)?.split_once('`').map(|(path, _)| path),
    }
}

/// The part of a reason that branches share: agents of the same account are at the same usage limit, however each of them says it.
#[must_use]
pub fn shared_reason(why: &str) -> &str {
    agent_limits::limit_in(why).unwrap_or_else(|| why.trim_end())
}

/// A list of the first names, and the number of the others.
#[must_use]
pub fn named(names: &[&str]) -> String {
    let shown = if names.len() > NAMED + 1 { NAMED } else { names.len() };
    let mut parts: Vec<String> = names[..shown].iter().map(|name| format!("`{name}`")).collect();
    if shown < names.len() {
        parts.push(format!("{} more", names.len() - shown));
    }
    match parts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => parts.concat(),
    }
}

/// The message about these branches.
#[must_use]
pub fn message(branches: &[StoppedBranch]) -> String {
    let is_first = |at: usize| !branches[..at].iter().any(|earlier| earlier.shares_line(&branches[at]));
    let firsts = branches.iter().enumerate().filter(|(at, _)| is_first(*at));
    let lines: Vec<(&StoppedBranch, (String, &str))> = firsts
        .map(|(at, branch)| {
            let others = branches[at + 1..].iter().filter(|later| branch.shares_line(later));
            (branch, branch.parts(&others.collect::<Vec<_>>()))
        })
        .collect();
    let mut text = lines.iter().map(|(_, (line, _))| line.as_str()).collect::<Vec<_>>().join("\n");
    for (branch, (_, question)) in lines.iter().filter(|(_, (_, question))| !question.is_empty()) {
        // The only line says whose question it is. A group within the group names its branches itself.
        let name = branch.innermost();
        let is_named = lines.len() == 1 || (branch.is_group() && name == branch.path);
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
    fn shared_reason_has_one_line() {
        let limit = "agent `t` is at its usage limit until 2026-12-01 10:00:00 UTC";
        let names: Vec<String> = (1..=11).map(|number| format!("all.{number}")).collect();
        let mut branches: Vec<StoppedBranch> = names.iter().map(|name| stopped(name, "limited", limit)).collect();
        branches[0].why = format!("{limit}: agent `t` exited with 1");
        branches.insert(1, stopped("all.x", "stuck", "no disk\nat all"));
        let inner = message(&branches);
        assert_eq!(
            inner,
            "branches `all.1`, `all.2`, `all.3`, `all.4` and 7 more are limited: \
             agent `t` is at its usage limit until 2026-12-01 10:00:00 UTC: agent `t` exited with 1\n\
             branch `all.x` is stuck: no disk\n\n\
             `all.x`:\n\nat all"
        );
        assert!(names_branches_of("all", &inner));
        assert_eq!(message(&branches[2..4]), format!("branches `all.2` and `all.3` are limited: {limit}"));
        let group = stopped("all", "limited", &message(&branches[2..4]));
        assert_eq!((group.innermost(), message(std::slice::from_ref(&group))), ("all", group.why.clone()));
    }

    #[test]
    fn only_question_needs_no_name() {
        let one = message(&[stopped("reviews.tests", "waiting", "role `tests` asks\n\nWhich test?")]);
        assert_eq!(one, "branch `reviews.tests` is waiting: role `tests` asks\n\nWhich test?");
        let above = message(&[stopped("work", "waiting", &one.replace("reviews", "work.reviews"))]);
        assert_eq!(above, "branch `work.reviews.tests` is waiting: role `tests` asks\n\nWhich test?");
    }
}
