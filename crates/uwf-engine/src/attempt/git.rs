//! Git as a process: the one module that knows its commands.
//!
//! It runs in an environment that says nothing about another repository (a hook that starts uwf has `GIT_DIR` set), with no
//! editor, pager, hook or question, and in a language whose messages can be read.

mod checkout;
mod diff;
mod merge;
mod remote;
mod snapshot;
mod worktree;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use uwf_core::text::ellipsize;

pub(crate) use self::checkout::Checkout;
pub use self::diff::{FileChange, Patch};
pub(crate) use self::merge::Brought;
pub use self::merge::{How, Manner};
pub(crate) use self::remote::Pushed;
pub(crate) use self::snapshot::{Files, Kept};

/// Characters shown of what git says.
const SHOWN: usize = 400;

/// How often one looks whether git has ended that must not take for ever.
const LOOK: Duration = Duration::from_millis(50);

/// Variables of git that say who somebody is, and where its settings and programs are. All others are not for us: they tell
/// it of another repository, or have it ask.
const KEPT_VARIABLES: [&str; 17] = [
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_SSL_NO_VERIFY",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
];

/// Settings of every call: nothing may ask, begin to work in the background, or be done by halves.
const SETTINGS: [&str; 8] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.splitIndex=false",
    "core.safecrlf=false",
    "core.fsync=objects,reference",
    "core.fsyncMethod=batch",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Why git did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no such program.
    #[error("git is not installed: there is no program `git` on PATH")]
    Missing,
    /// It cannot be started, or what it prints not be kept.
    #[error("cannot run git: {0}")]
    NotRun(#[source] io::Error),
    /// A directory is in no repository.
    #[error("{} is not in a git repository", .0.display())]
    NoRepository(PathBuf),
    /// A directory is in a repository, and in no working tree of it.
    #[error("{} is in a git repository without a working tree", .0.display())]
    NoWorkTree(PathBuf),
    /// A repository has no commit that could be begun at.
    #[error("the git repository {} has no commit yet", .0.display())]
    NoCommit(PathBuf),
    /// Nobody has said who makes commits.
    #[error("git does not know who you are, and a commit needs an author")]
    Nobody,
    /// There are repositories in a worktree, which git would not commit the files of.
    #[error("{} in {} {} of its own, and git would leave the files out", repositories.join(", "), dir.display(), if repositories.len() == 1 { "is a git repository" } else { "are git repositories" })]
    Nested {
        /// The worktree.
        dir: PathBuf,
        /// Their paths in it.
        repositories: Vec<String>,
    },
    /// Files stand in the way of a merge.
    #[error("{} in {} would be overwritten: {}", if *untracked { "files that git does not know" } else { "uncommitted changes" }, top.display(), files.join(", "))]
    InTheWay {
        /// The working tree.
        top: PathBuf,
        /// The files.
        files: Vec<String>,
        /// Whether they were never added.
        untracked: bool,
    },
    /// A branch cannot just be moved forward.
    #[error("{branch} and what is checked out in {} have both gone on", top.display())]
    Diverged {
        /// The branch that is to be brought in.
        branch: String,
        /// The working tree.
        top: PathBuf,
    },
    /// Nothing can be pushed.
    #[error("cannot push to `{remote}`: git says: {said}")]
    NotPushed {
        /// To where.
        remote: String,
        /// What git printed of it.
        said: String,
    },
    /// Nothing can be fetched.
    #[error("cannot fetch from `{remote}`: git says: {said}")]
    Unreachable {
        /// From where.
        remote: String,
        /// What git printed to stderr.
        said: String,
    },
    /// Git does not come to an end.
    #[error("git was ended after {} minutes", .0.as_secs() / 60)]
    TookTooLong(Duration),
    /// Git failed.
    #[error("cannot {action}: git says: {said}")]
    Failed {
        /// What was being done; it completes "cannot …".
        action: &'static str,
        /// What it printed to stderr.
        said: String,
    },
}

/// What functions that run git return.
pub(crate) type Result<T, E = GitError> = std::result::Result<T, E>;

/// Git in a directory.
pub(crate) struct Git<'d> {
    dir: &'d Path,
    /// An index in the place of that of the working tree.
    index: Option<PathBuf>,
    /// How long it may take.
    limit: Option<Duration>,
    /// Variables that say who makes commits.
    author: &'static [(&'static str, &'static str)],
    /// What it reads.
    input: Option<File>,
    /// Whether programs that it starts may ask a person at the terminal, as one that signs commits does.
    may_ask: bool,
}

impl<'d> Git<'d> {
    pub(crate) fn at(dir: &'d Path) -> Git<'d> {
        Git { dir, index: None, limit: None, author: &[], input: None, may_ask: false }
    }

    /// The same for a command that a person waits for: what it starts may ask them. Ctrl-C ends it too.
    pub(crate) fn asking(self) -> Git<'d> {
        Git { may_ask: true, ..self }
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            let is_of_git = name.as_bytes().starts_with(b"GIT_");
            if is_of_git && !KEPT_VARIABLES.iter().any(|kept| name == *kept) {
                command.env_remove(name);
            }
        }
        command
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_EDITOR", ":")
            .env("GIT_PAGER", "cat")
            .env("SSH_ASKPASS", "")
            .env("GIT_ASKPASS", "")
            .arg("-C")
            .arg(self.dir)
            .stdin(Stdio::null());
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        if let Some(index) = &self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        command.envs(self.author.iter().copied());
        command
    }

    /// Runs git to its end, whatever its end is.
    fn output<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Result<Output> {
        let mut command = self.command();
        command.args(args);
        let (mut stdout, mut stderr) = (file()?, file()?);
        if !self.may_ask {
            // In a group of its own it can be ended with the programs that it starts. A terminal does not let it ask there.
            command.process_group(0);
            // Stopped there for asking, ssh would be waited for.
            command.env("SSH_ASKPASS", "false").env("SSH_ASKPASS_REQUIRE", "force");
        }
        if let Some(input) = &self.input {
            command.stdin(handle(input)?);
        }
        command.stdout(handle(&stdout)?).stderr(handle(&stderr)?);
        let mut child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => GitError::Missing,
            _ => GitError::NotRun(error),
        })?;
        let status = self.wait(&mut child)?;
        Ok(Output { status, stdout: content(&mut stdout)?, stderr: content(&mut stderr)? })
    }

    /// Waits for the end of git, and ends it, with what it has started, when that takes too long.
    fn wait(&self, child: &mut Child) -> Result<ExitStatus> {
        let Some(limit) = self.limit else { return child.wait().map_err(GitError::NotRun) };
        let begun = Instant::now();
        loop {
            if let Some(status) = child.try_wait().map_err(GitError::NotRun)? {
                return Ok(status);
            }
            if begun.elapsed() >= limit {
                if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
                    // It may have ended in this moment, which is as good.
                    let _ = rustix::process::kill_process_group(group, Signal::KILL);
                }
                let _ = child.wait();
                return Err(GitError::TookTooLong(limit));
            }
            // Most calls take some milliseconds.
            std::thread::sleep(Duration::from_millis(1).max(begun.elapsed() / 10).min(LOOK));
        }
    }

    /// Runs git, which has to succeed. Gives what it prints, without the last line break.
    fn run<A: AsRef<OsStr>>(&self, action: &'static str, args: impl IntoIterator<Item = A>) -> Result<OsString> {
        let output = self.output(args)?;
        if !output.status.success() {
            return Err(failed(action, &output));
        }
        Ok(printed(output.stdout))
    }

    /// The same where only text is printed.
    fn text<A: AsRef<OsStr>>(&self, action: &'static str, args: impl IntoIterator<Item = A>) -> Result<String> {
        Ok(self.run(action, args)?.to_string_lossy().into_owned())
    }

    /// Runs git, which answers by succeeding or failing without a word.
    fn ask<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Result<bool> {
        Ok(self.output(args)?.status.success())
    }
}

/// A file for what git prints: it needs no reader, as a pipe does, and whoever is killed leaves none.
fn file() -> Result<File> {
    tempfile::tempfile().map_err(GitError::NotRun)
}

/// A file for git to read, which is at its beginning.
fn input(bytes: &[u8]) -> Result<File> {
    let mut file = file()?;
    file.write_all(bytes).and_then(|()| file.rewind()).map_err(GitError::NotRun)?;
    Ok(file)
}

fn handle(file: &File) -> Result<File> {
    file.try_clone().map_err(GitError::NotRun)
}

fn content(file: &mut File) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map_err(GitError::NotRun)?;
    Ok(bytes)
}

fn failed(action: &'static str, output: &Output) -> GitError {
    GitError::Failed { action, said: said(output) }
}

/// What git says about its failure, in one line: its advice is for those who type its commands.
fn said(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("hint:"));
    let plain = |line: &str| line.trim_start_matches("fatal: ").trim_start_matches("error: ").to_owned();
    let said: Vec<String> = lines.map(plain).collect();
    if said.is_empty() {
        return output.status.to_string();
    }
    ellipsize(&said.join("; "), SHOWN).to_string()
}

fn printed(mut bytes: Vec<u8>) -> OsString {
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    OsString::from_vec(bytes)
}
