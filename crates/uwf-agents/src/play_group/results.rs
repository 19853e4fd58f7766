//! The error of a group whose branches have not all ended.

use agent_kit::{Error, ErrorKind};
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::child_threads::stopped_branches::{self, StoppedBranch};
use uwf_engine::root::home::Home;

/// Most branches whose hints are given.
const HINTED: usize = 8;

/// Why branches have not ended.
pub(super) struct BranchErrors<'h> {
    home: &'h Home,
    /// The path of the group.
    group: String,
    /// The reason not to begin another branch.
    stop: Option<Error>,
    /// In the order of the group.
    branches: Vec<(StoppedBranch, Error)>,
    not_begun: Vec<String>,
}

impl<'h> BranchErrors<'h> {
    pub(super) fn new((home, group): (&'h Home, String), stop: Option<Error>) -> BranchErrors<'h> {
        BranchErrors { home, group, stop, branches: Vec::new(), not_begun: Vec::new() }
    }

    /// Adds the error of a branch, which has this thread.
    pub(super) fn push(&mut self, branch: &str, thread: &ThreadId, error: Error) {
        // These continue only the branch, but the thread above continues all.
        let [wait, other_agent] = Error::limit_hints(thread.as_str());
        let [retry, command, preparation] =
            [Error::retry_hint, Error::command_hint, Error::preparation_hint].map(|hint| hint(thread.as_str()));
        let own = [retry_hint(thread), retry, command, preparation, wait, other_agent, agent_hint(thread)];
        let hints = error.hints.into_iter().filter(|hint| !own.contains(hint)).collect();
        let stopped = StoppedBranch {
            path: format!("{}.{branch}", self.group),
            state: stopped_branches::state_after(self.home, thread, error.kind),
            why: error.message.clone(),
        };
        self.branches.push((stopped, Error { hints, ..error }));
    }

    pub(super) fn not_begun(&mut self, branch: &str) {
        self.not_begun.push(branch.to_owned());
    }

    /// The error of one branch, which has this thread.
    pub(super) fn only(group: (&'h Home, String), branch: &str, thread: &ThreadId, error: Error) -> BranchErrors<'h> {
        let mut errors = BranchErrors::new(group, None);
        errors.push(branch, thread, error);
        errors
    }

    /// Replaces the errors of branches that stopped at a limit of a thread above them: others have spent more since.
    pub(super) fn update_limit(&mut self, now: &Error) {
        let is_above = |error: &Error| error.kind == ErrorKind::Limit && error.limit_end().is_none();
        let new = || Error::new(now.kind, now.message.clone()).hints(now.hints.clone());
        for (branch, error) in self.branches.iter_mut().filter(|(_, error)| is_above(error)) {
            branch.why.clone_from(&now.message);
            *error = new();
        }
        self.stop.iter_mut().filter(|error| is_above(error)).for_each(|error| *error = new());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stop.is_none() && self.branches.is_empty()
    }

    /// The error of the group. The most urgent error decides its kind, and is named first: a failure comes before a limit, and a limit
    /// before a wait.
    pub(super) fn into_error(mut self, parent: &ThreadId) -> Error {
        self.branches.sort_by_key(|(_, error)| urgency(error.kind));
        let stopped: Vec<StoppedBranch> = self.branches.iter().map(|(stopped, _)| stopped.clone()).collect();
        let mut text = stopped_branches::message(&stopped);
        if let Some(stop) = &self.stop {
            let names: Vec<&str> = self.not_begun.iter().map(String::as_str).collect();
            let noun = if names.len() == 1 { "branch" } else { "branches" };
            let names = stopped_branches::named(&names);
            let line = format!("uwf did not start {noun} {names}: {}", stop.message.trim_end());
            text = match text.split_once("\n\n") {
                Some((lines, questions)) => format!("{lines}\n{line}\n\n{questions}"),
                None if text.is_empty() => line,
                None => format!("{text}\n{line}"),
            };
        }
        let hints = self.hints();
        let all = self.branches.into_iter().map(|(_, error)| error).chain(self.stop);
        // After the first of several usage limits, the group can continue.
        let most = all.min_by_key(|error| (urgency(error.kind), error.limit_end().unwrap_or(u64::MAX)));
        let (kind, cause) = most.map_or((ErrorKind::Internal, None), |most| (most.kind, most.cause));
        let kind = if urgency(kind) == 1 { ErrorKind::AgentFailed } else { kind };
        let error = Error { cause, ..Error::new(kind, text).hints(hints) };
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

impl BranchErrors<'_> {
    /// The hints about branches, which name their branch if several have stopped.
    fn hints(&self) -> Vec<String> {
        let is_only = self.branches.len() == 1 && self.stop.is_none();
        let mut all: Vec<String> = Vec::new();
        let mut push = |hint: &str, path: Option<&str>| {
            if !all.iter().any(|known| known.ends_with(hint)) {
                all.push(path.map_or_else(|| hint.to_owned(), |path| format!("{path}: {hint}")));
            }
        };
        // Branches that share a line also share its hints.
        let is_first =
            |at: usize| !self.branches[..at].iter().any(|(earlier, _)| earlier.shares_line(&self.branches[at].0));
        let firsts = self.branches.iter().enumerate().filter(|(at, _)| is_first(*at)).map(|(_, branch)| branch);
        for (branch, error) in firsts.filter(|(_, error)| !error.hints.is_empty()).take(HINTED) {
            // A group within the group names its branches itself.
            let is_named = |hint: &str| hint.starts_with(&format!("{}.", branch.path));
            let path = |hint| Some(branch.innermost()).filter(|_| !is_only && !is_named(hint));
            error.hints.iter().for_each(|hint| push(hint, path(hint)));
        }
        self.stop.iter().flat_map(|stop| &stop.hints).for_each(|hint| push(hint, None));
        all
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
