//! `worktree`: how worktrees of threads are prepared, and the remote through which other machines continue with their files.

use std::fmt;
use std::time::Duration;

/// Time limit of a command that prepares a worktree, unless the configuration says otherwise.
const DEFAULT_PREPARE_TIMEOUT: Duration = Duration::from_mins(10);

/// The commands that prepare a new worktree before its first agent works there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreePrepare {
    /// `worktree.prepare`: the commands, run one after the other by `sh -c`.
    pub commands: Vec<String>,
    /// `worktree.prepareTimeout`: time limit of each command; `None` if they may take any time.
    pub timeout: Option<Duration>,
}

impl Default for WorktreePrepare {
    fn default() -> WorktreePrepare {
        WorktreePrepare { commands: Vec::new(), timeout: Some(DEFAULT_PREPARE_TIMEOUT) }
    }
}

/// A git remote: its name in the thread's repository, or its URL without a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitRemote(String);

impl GitRemote {
    /// Parses a remote.
    pub fn parse(text: &str) -> Result<GitRemote, String> {
        if text.is_empty() || text.contains(|symbol: char| symbol.is_whitespace() || symbol.is_control()) {
            return Err("a remote is a name such as `origin`, or a URL, without white space".to_owned());
        }
        // Git would read it as an option.
        if text.starts_with('-') {
            return Err("a remote does not begin with `-`".to_owned());
        }
        let authority = text.split_once("://").map_or("", |(_, rest)| rest);
        let before_host = authority.rsplit_once('@').map_or("", |(user, _)| user);
        if before_host.contains(':') {
            return Err(
                "don't put a password into the URL: with `git config credential.helper` git asks for it".to_owned()
            );
        }
        Ok(GitRemote(text.to_owned()))
    }

    /// The remote as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GitRemote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_is_name_or_url_without_password() {
        for text in [
            "origin",
            "https://git.example/team/repo.git",
            "ssh://git@host:2222/repo",
            "git@host:repo",
            "/srv/repo.git",
        ] {
            assert_eq!(GitRemote::parse(text).map(|remote| remote.to_string()), Ok(text.to_owned()));
        }
        for text in [
            "",
            "a b",
            "--upload-pack=x",
            "https://ann:secret@git.example/repo",
            "https://ann:pa/ss-secret@git.example/repo",
        ] {
            let why = GitRemote::parse(text).unwrap_err();
            assert!(!why.contains("secret"), "{why}");
        }
    }
}
