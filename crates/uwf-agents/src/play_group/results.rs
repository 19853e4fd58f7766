//! The error of a group whose branches have not all ended.

use agent_kit::{Error, ErrorKind};
use uwf_core::thread::ThreadId;

/// Why branches have not ended.
pub(super) struct BranchErrors {
    /// The reason not to begin another branch.
    stop: Option<Error>,
    /// By name, in the order of the group.
    branches: Vec<(String, Error)>,
    not_begun: Vec<String>,
}

impl BranchErrors {
    pub(super) fn new(stop: Option<Error>) -> BranchErrors {
        BranchErrors { stop, branches: Vec::new(), not_begun: Vec::new() }
    }

    /// Adds the error of a branch, which has this thread.
    pub(super) fn push(&mut self, branch: &str, thread: &ThreadId, error: Error) {
        // These continue only the branch, but the thread above continues all.
        let [wait, other_agent] = Error::limit_hints(thread.as_str());
        let own = [retry_hint(thread), wait, other_agent, agent_hint(thread)];
        let hints = error.hints.into_iter().filter(|hint| !own.contains(hint)).collect();
        self.branches.push((branch.to_owned(), Error { hints, ..error }));
    }

    pub(super) fn not_begun(&mut self, branch: &str) {
        self.not_begun.push(branch.to_owned());
    }

    /// The error of one branch, which has this thread.
    pub(super) fn only(branch: &str, thread: &ThreadId, error: Error) -> BranchErrors {
        let mut errors = BranchErrors::new(None);
        errors.push(branch, thread, error);
        errors
    }

    /// Replaces the errors of branches that stopped at a limit of a thread above them: others have spent more since.
    pub(super) fn update_limit(&mut self, now: &Error) {
        let all = self.branches.iter_mut().map(|(_, error)| error).chain(&mut self.stop);
        for error in all.filter(|error| error.kind == ErrorKind::Limit && error.limit_end().is_none()) {
            *error = Error::new(now.kind, now.message.clone()).hints(now.hints.clone());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stop.is_none() && self.branches.is_empty()
    }

    /// The error of the group. The most urgent error decides its kind, and is named first: a failure comes before a limit, and a limit
    /// before a wait.
    pub(super) fn into_error(mut self, parent: &ThreadId) -> Error {
        self.branches.sort_by_key(|(_, error)| urgency(error.kind));
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
        // After the first of several usage limits, the group can continue.
        let most = all.min_by_key(|error| (urgency(error.kind), error.limit_end().unwrap_or(u64::MAX)));
        let (kind, hints, cause) =
            most.map_or((ErrorKind::Internal, Vec::new(), None), |most| (most.kind, most.hints, most.cause));
        let kind = if urgency(kind) == 1 { ErrorKind::AgentFailed } else { kind };
        let error = Error { cause, ..Error::new(kind, lines.join("\n")).hints(hints) };
        match kind {
            ErrorKind::AgentFailed => error.hint(retry_hint(parent)),
            ErrorKind::Limit if error.limit_end().is_some() => {
                let [wait, _] = Error::limit_hints(parent.as_str());
                error.hint(wait).hint(agent_hint(parent))
            }
            _ => error,
        }
    }
}

/// The hint about the next attempt of a thread's group.
pub(super) fn retry_hint(parent: &ThreadId) -> String {
    format!("`uwf thread retry {parent}` plays only the branches that have not ended")
}

/// The hint about branches whose agents are at their usage limits.
fn agent_hint(parent: &ThreadId) -> String {
    format!(
        "`uwf run {parent} --agent ROLE=NAME` lets another agent play a role; `uwf thread retry {parent}` tries now"
    )
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
