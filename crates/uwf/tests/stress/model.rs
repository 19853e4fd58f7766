//! What a root holds, as a person would keep it in mind: names with their versions, threads with their steps. Commands change
//! it as the documentation says they do; [`crate::sequences`] compares it with the real root.

use json_cas::NodeHash;

/// Names of workflows.
pub(crate) const NAMES: [&str; 2] = ["take-part", "take-place"];

/// Versions of each: so many rounds until the end.
pub(crate) const ROUNDS: [usize; 3] = [2, 3, 5];

/// A command, and what it is about. A thread is told by a number that is taken modulo the threads there were so far.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    Put { name: usize, version: usize },
    Rollback { name: usize },
    RemoveName { name: usize },
    Start { name: usize },
    Step { thread: usize },
    Answer { thread: usize },
    Fork { thread: usize },
    Kill { thread: usize },
    Remove { thread: usize },
    Crash { thread: usize, victim: Victim, after_ms: u64 },
}

/// What of a running step is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    Window,
    Keeper,
    Agent,
    /// As when the machine is switched off and on, but for the disk.
    Everything,
}

/// How a thread stands, by the names `thread show` has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Active,
    Waiting,
    Stuck,
    Completed,
    Killed,
    Removed,
}

impl Standing {
    /// Whether it can be stepped.
    pub(crate) fn is_active(self) -> bool {
        matches!(self, Standing::Active | Standing::Waiting | Standing::Stuck)
    }

    /// Its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Standing::Active => "active",
            Standing::Waiting => "waiting",
            Standing::Stuck => "stuck",
            Standing::Completed => "completed",
            Standing::Killed => "killed",
            Standing::Removed => "removed",
        }
    }
}

/// A thread.
#[derive(Debug, Clone)]
pub(crate) struct Thread {
    pub(crate) id: String,
    pub(crate) workflow: NodeHash,
    pub(crate) rounds: usize,
    /// Its nodes, the start first. Hashes are learned from reports: they depend on how long an agent took.
    pub(crate) nodes: Vec<NodeHash>,
    pub(crate) standing: Standing,
}

/// What comes next in a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Worker,
    Person,
    End,
}

impl Thread {
    pub(crate) fn steps(&self) -> usize {
        self.nodes.len() - 1
    }

    pub(crate) fn head(&self) -> NodeHash {
        self.nodes[self.steps()]
    }

    /// The roles that were played: worker and person take turns.
    pub(crate) fn roles(&self) -> impl Iterator<Item = &'static str> {
        (0..self.steps()).map(|step| if step % 2 == 0 { "worker" } else { "person" })
    }

    pub(crate) fn next(&self) -> Next {
        match self.steps() {
            steps if steps >= self.rounds => Next::End,
            steps if steps % 2 == 0 => Next::Worker,
            _ => Next::Person,
        }
    }

    /// A step was made; it may have been the last.
    pub(crate) fn moves_to(&mut self, head: NodeHash) {
        self.nodes.push(head);
        self.standing = if self.next() == Next::End { Standing::Completed } else { Standing::Active };
    }
}

/// A name: what it stands for, and stood for, newest first. Versions by number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Name {
    pub(crate) versions: Vec<usize>,
}

impl Name {
    /// Gives it to a version; an earlier time of it is forgotten.
    fn stands_for(&mut self, version: usize) {
        self.versions.retain(|known| *known != version);
        self.versions.insert(0, version);
    }
}

/// Everything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Model {
    pub(crate) names: [Name; 2],
    pub(crate) threads: Vec<Thread>,
}

/// Exit codes, as the reference lists them.
pub(crate) const DONE: i32 = 0;
pub(crate) const WAITS: i32 = 20;
pub(crate) const USAGE: i32 = 64;
pub(crate) const NOT_FOUND: i32 = 69;

impl Model {
    /// How a command about a thread ends; `None` when nobody can tell.
    pub(crate) fn exit_of(&self, action: &Action, thread: Option<&Thread>) -> Option<i32> {
        let version = |name: usize| self.names[name].versions.first();
        let Some(thread) = thread else {
            return Some(match action {
                Action::Put { .. } => DONE,
                Action::Rollback { name } if self.names[*name].versions.len() > 1 => DONE,
                Action::RemoveName { name } | Action::Start { name } if version(*name).is_some() => DONE,
                _ => NOT_FOUND,
            });
        };
        let is_active = thread.standing.is_active();
        match action {
            Action::Crash { .. } => None,
            Action::Remove { .. } if is_active => Some(USAGE),
            Action::Fork { .. } | Action::Remove { .. } if thread.standing != Standing::Removed => Some(DONE),
            Action::Kill { .. } if is_active => Some(DONE),
            Action::Step { .. } if is_active => Some(if thread.next() == Next::Person { WAITS } else { DONE }),
            Action::Answer { .. } if is_active => Some(if thread.next() == Next::Person { DONE } else { USAGE }),
            _ => Some(NOT_FOUND),
        }
    }

    /// A name is given to a version, back to the one before, or to none.
    pub(crate) fn renames(&mut self, action: &Action) {
        match action {
            Action::Put { name, version } => self.names[*name].stands_for(*version),
            Action::Rollback { name } => {
                let before = self.names[*name].versions[1];
                self.names[*name].stands_for(before);
            }
            Action::RemoveName { name } => self.names[*name].versions.clear(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_forgets_no_version() {
        let mut model = Model::default();
        for version in [0, 1, 2, 1] {
            model.renames(&Action::Put { name: 0, version });
        }
        assert_eq!(model.names[0].versions, [1, 2, 0]);
        model.renames(&Action::Rollback { name: 0 });
        model.renames(&Action::Rollback { name: 0 });
        assert_eq!(model.names[0].versions, [1, 2, 0]);
    }
}
