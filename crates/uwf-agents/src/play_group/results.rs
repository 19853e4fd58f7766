//! The error of a group whose branches have not all ended.

use agent_kit::{Error, ErrorKind};
use uwf_core::thread::ThreadId;

/// The end of the hint about the next attempt.
const PLAYS_THE_REST: &str = " plays only the branches that have not ended";

/// Why branches have not ended.
pub(super) struct BranchErrors {
    /// The reason to begin no more branches.
    stop: Option<Error>,
    /// By name, in the order of the group.
    branches: Vec<(String, Error)>,
    not_begun: Vec<String>,
}

impl BranchErrors {
    pub(super) fn new(stop: Option<Error>) -> BranchErrors {
        BranchErrors { stop, branches: Vec::new(), not_begun: Vec::new() }
    }

    pub(super) fn push(&mut self, branch: &str, error: Error) {
        self.branches.push((branch.to_owned(), error));
    }

    pub(super) fn not_begun(&mut self, branch: &str) {
        self.not_begun.push(branch.to_owned());
    }

    /// The error of one branch.
    pub(super) fn only(branch: &str, error: Error) -> BranchErrors {
        let mut errors = BranchErrors::new(None);
        errors.push(branch, error);
        errors
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stop.is_none() && self.branches.is_empty()
    }

    /// The error of the group. The most urgent error decides its kind: a failure comes before a limit, and a limit before a wait.
    pub(super) fn into_error(self, parent: &ThreadId) -> Error {
        let mut lines: Vec<String> = self
            .branches
            .iter()
            .map(|(branch, error)| format!("branch `{branch}`: {}", error.message.trim_end()))
            .collect();
        if let Some(stop) = &self.stop {
            let count = self.not_begun.len();
            let noun = if count == 1 { "1 branch" } else { &format!("{count} branches") };
            lines.push(format!("{noun} not begun ({}): {}", self.not_begun.join(", "), stop.message.trim_end()));
        }
        let all = self.branches.into_iter().map(|(_, error)| error).chain(self.stop);
        let most = all.min_by_key(|error| urgency(error.kind));
        let (kind, hints) = most.map_or((ErrorKind::Internal, Vec::new()), |most| (most.kind, most.hints));
        let kind = if urgency(kind) == 1 { ErrorKind::AgentFailed } else { kind };
        // A group that is a branch has the same hint about itself, but the thread above plays both.
        let hints = hints.into_iter().filter(|hint| !hint.ends_with(PLAYS_THE_REST));
        let error = Error::new(kind, lines.join("\n")).hints(hints);
        match kind {
            ErrorKind::AgentFailed => error.hint(format!("`uwf thread retry {parent}`{PLAYS_THE_REST}")),
            _ => error,
        }
    }
}

/// Lower is more urgent.
fn urgency(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::Interrupted | ErrorKind::Terminated => 0,
        ErrorKind::Limit => 2,
        ErrorKind::Waiting => 3,
        _ => 1,
    }
}
