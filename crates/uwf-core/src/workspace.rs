//! Where the threads of a workflow work.

use json_cas::nearest::did_you_mean;
use serde::{Deserialize, Serialize};
use yaml_tree::Entry;

use crate::document::Problems;
use crate::document::fields;

/// Where a thread works when nobody says it as it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Workspace {
    /// `directory`: in the directory it is started in.
    #[default]
    Directory,
    /// `worktree`: in a git worktree of its own.
    Worktree,
}

impl Workspace {
    /// How they are written.
    pub(crate) fn words() -> [&'static str; 2] {
        Workspace::ALL.map(Workspace::as_str)
    }

    const ALL: [Workspace; 2] = [Workspace::Directory, Workspace::Worktree];

    /// Whether it is what holds when nobody says anything.
    pub(crate) fn is_default(&self) -> bool {
        *self == Workspace::default()
    }

    fn as_str(self) -> &'static str {
        match self {
            Workspace::Directory => "directory",
            Workspace::Worktree => "worktree",
        }
    }

    /// Reads one from a file; null is what holds without it. `what` names it in messages.
    pub(crate) fn read(entry: &Entry, what: &str, problems: &mut Problems) -> Option<Workspace> {
        if entry.value.is_null() {
            return Some(Workspace::default());
        }
        let written = fields::text(&entry.value, &entry.key, problems)?;
        let found = Workspace::ALL.into_iter().find(|workspace| workspace.as_str() == written);
        if found.is_none() {
            let words = Workspace::words();
            let message = format!("{what} is `{written}`; it can be {}", words.join(" or "));
            problems.error("bad-value", entry.value.at, message, did_you_mean(&written, words));
        }
        found
    }
}
