//! Where the threads of a workflow work.

/// Where a thread works when nobody says it as it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workspace {
    /// `directory`: in the directory it is started in.
    #[default]
    Directory,
    /// `worktree`: in a git worktree of its own.
    Worktree,
}

impl Workspace {
    /// Both.
    pub(super) const ALL: [Workspace; 2] = [Workspace::Directory, Workspace::Worktree];

    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Workspace::Directory => "directory",
            Workspace::Worktree => "worktree",
        }
    }
}
