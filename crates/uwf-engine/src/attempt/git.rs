//! Git as a process: the one module that knows its commands.
//!
//! It runs in an environment that has no keys and says nothing about another repository (a hook that starts uwf has `GIT_DIR`
//! set), with no editor, pager, hook or question, for a limited time, and in a language whose messages can be read. What an agent may
//! have changed is only looked at as [`view`] describes.

mod checkout;
mod diff;
mod errand;
mod merge;
mod remote;
mod signing;
mod snapshot;
mod view;
mod worktree;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use durable_files::FileError;
use uwf_core::text::ellipsize;

pub(crate) use self::checkout::Checkout;
pub use self::diff::{FileChange, Patch};
pub(crate) use self::errand::Errand;
pub(crate) use self::merge::Brought;
pub use self::merge::{How, Manner};
pub(crate) use self::remote::Pushed;
pub(crate) use self::signing::Signing;
pub(crate) use self::snapshot::{Files, Kept};
pub(crate) use self::view::own_dir;
use crate::attempt::ended::stopped;
use crate::attempt::processes;
use crate::attempt::stop_signals::Watch;
use crate::attempt_variable::ATTEMPT_VARIABLE;
use crate::error::{Error, ErrorCause, ErrorKind};

/// Characters shown of what git says.
const SHOWN: usize = 400;

/// How often one looks whether git has ended.
const LOOK: Duration = Duration::from_millis(50);

/// How long git may take. A gigabyte of new files takes it less than a minute; what takes longer waits for something.
const LIMIT: Duration = Duration::from_mins(10);

/// After that time one looks whether git waits for a pipe.
const SUSPICIOUS: Duration = Duration::from_secs(1);

/// How long a call may take that begins after this process was told to stop: it tidies up, or stores what was paid for.
const AFTER_STOP: Duration = Duration::from_secs(5);

/// Time between TERM and KILL. Git removes its locks in it.
const GRACE: Duration = Duration::from_secs(1);

/// Files that git reads in every directory of a working tree.
const READ_EVERYWHERE: [&str; 4] = [".git", ".gitattributes", ".gitignore", ".gitmodules"];

/// Files that it reads in a repository.
const READ_ONCE: [&str; 6] = ["HEAD", "config", "index", "info/attributes", "info/exclude", "packed-refs"];

/// Variables that git and the programs it starts may need: to be found, to know the person, to reach a remote, and to ask. All
/// others stay here: keys, and what tells git of another repository.
const KEPT_VARIABLES: [&str; 48] = [
    "ALL_PROXY",
    "CURL_CA_BUNDLE",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "FAKETIME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_NO_VERIFY",
    "GIT_TEMPLATE_DIR",
    "GNUPGHOME",
    "GPG_TTY",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "KRB5CCNAME",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LOGNAME",
    "NO_PROXY",
    "PATH",
    "SHELL",
    "SSH_AGENT_PID",
    "SSH_AUTH_SOCK",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "WAYLAND_DISPLAY",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
];

/// Tokens by which people let programs of their forge sign in to a remote. Only push and fetch get them.
const REMOTE_TOKENS: [&str; 4] = ["GH_TOKEN", "GITHUB_TOKEN", "GITLAB_TOKEN", "GITEA_TOKEN"];

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
    /// A file of a repository or a working tree cannot be read, or one of uwf's own not be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A commit on a thread's branch that uwf didn't write.
    #[error("commit {commit} was not written by uwf: its message names `{}`", said.escape_debug())]
    Strange {
        /// The commit.
        commit: String,
        /// The unexpected part of its message.
        said: String,
    },
    /// A directory is in no repository.
    #[error("{} is not in a git repository", .0.display())]
    NoRepository(PathBuf),
    /// A directory is no working tree of a repository, or not any more.
    #[error("{} is not a worktree of {} any more", dir.display(), repository.display())]
    NotItsWorktree {
        /// The directory.
        dir: PathBuf,
        /// The repository.
        repository: PathBuf,
    },
    /// Git waits for a pipe.
    #[error("{} is not a regular file, and git waits for it", .0.display())]
    Blocked(PathBuf),
    /// A directory is in a repository, and in no working tree of it.
    #[error("{} is in a git repository without a working tree", .0.display())]
    NoWorkTree(PathBuf),
    /// A repository has no commit that could be begun at.
    #[error("the git repository {} has no commit yet", .0.display())]
    NoCommit(PathBuf),
    /// Nobody has said who makes commits.
    #[error("git does not know who you are, and a commit needs an author")]
    Nobody,
    /// Git is configured to sign commits, and can't.
    #[error("cannot sign the commit: git says: {said}")]
    NotSigned {
        /// stderr of git.
        said: String,
    },
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
        /// stderr of git.
        said: String,
    },
    /// Git did not come to an end in its time.
    #[error("git was ended after {} s", .0.as_secs())]
    TookTooLong(Duration),
    /// This process was told to stop.
    #[error("git was ended: uwf was told to stop")]
    Stopped {
        /// The signal.
        signal: i32,
    },
    /// Git failed.
    #[error("cannot {action}: git says: {said}")]
    Failed {
        /// What was being done; it completes "cannot …".
        action: &'static str,
        /// What it printed to stderr.
        said: String,
    },
}

impl From<GitError> for Error {
    fn from(error: GitError) -> Error {
        let of = |kind| Error::new(kind, error.to_string());
        match &error {
        GitError::Missing => of(ErrorKind::Config).hint("install it; a thread without a worktree works without git").with_cause(ErrorCause::NoGit),
        GitError::Nobody => of(ErrorKind::Config)
            .hint("git config --global user.name 'NAME'; git config --global user.email ADDRESS"),
        GitError::NotSigned { .. } => of(ErrorKind::Config)
            .hint("your settings: git config --global --get-regexp '^(commit.gpgsign|user.signingkey|gpg)'"),
        GitError::Nested { dir, repositories } => {
            let git_dir = dir.join(repositories.first().map_or("", String::as_str)).join(".git");
            of(ErrorKind::Usage)
                .hint(format!("to commit its files with the others, move {} away", git_dir.display()))
                .hint("to keep it, copy it to another place or push it")
        }
        GitError::InTheWay { untracked: true, .. } => {
            of(ErrorKind::Usage).hint("move them away, or add and commit them, then merge again")
        }
        GitError::InTheWay { untracked: false, .. } => {
            of(ErrorKind::Usage).hint("commit them, or put them aside: `git stash`; then merge again")
        }
        GitError::Diverged { .. } => {
            of(ErrorKind::Usage).hint("without --ff-only there will be a merge commit")
        }
        GitError::NotPushed { remote, .. } | GitError::Unreachable { remote, .. } => of(ErrorKind::Busy)
            .hint(format!("try again when it can be reached; `git ls-remote {remote}` in the repository tells")),
        GitError::NotRun(_) | GitError::File(_) | GitError::TookTooLong(_) => of(ErrorKind::Io),
        GitError::Blocked(path) => of(ErrorKind::Io).hint(format!("remove it: rm {}", path.display())),
        GitError::NotItsWorktree { .. } => of(ErrorKind::Data).hint("an agent may have replaced it; its files are still there"),
        GitError::Strange { .. } => of(ErrorKind::Data)
            .hint("inspect it with `git show`: a user with access to the repository or its remote wrote it"),
        GitError::NoRepository(_) => of(ErrorKind::Usage)
            .hint("a thread gets its worktree from the repository it is started in: `git init` makes one, --cwd DIR names one")
            .hint("without a worktree, agents work in the directory itself"),
        GitError::NoWorkTree(_) => of(ErrorKind::Usage)
            .hint("start the thread in a working tree of it: `git worktree add DIR` makes one, --cwd DIR names one"),
        GitError::NoCommit(_) => of(ErrorKind::Usage)
            .hint("a worktree begins at a commit: `git commit` the files first"),
        GitError::Failed { .. } => of(ErrorKind::Io),
        GitError::Stopped { signal } => stopped(*signal),
    }
    }
}

/// What functions that run git return.
pub(crate) type Result<T, E = GitError> = std::result::Result<T, E>;

/// A git directory that is named, so that git does not look for one.
#[derive(Debug, Clone)]
struct Named {
    git_dir: PathBuf,
    /// The repository, if that directory belongs to one of its working trees.
    common: Option<PathBuf>,
    /// Where objects are, if not in that directory.
    objects: Option<PathBuf>,
}

/// Git in a directory.
pub(crate) struct Git<'d> {
    dir: &'d Path,
    /// The git directory, with `dir` as the working tree; git looks for one in `dir` if none is named.
    named: Option<Named>,
    /// How long it may take; `None` while a person waits for it.
    limit: Option<Duration>,
    /// Whether it signs in to a remote.
    is_remote: bool,
    /// Variables that say who makes commits.
    author: &'static [(&'static str, &'static str)],
    /// What it reads.
    input: Option<File>,
    /// How its commits are signed.
    signing: Signing,
    /// Whether programs that it starts may ask a person at the terminal, as one that signs commits does.
    may_ask: bool,
}

impl<'d> Git<'d> {
    pub(crate) fn at(dir: &'d Path) -> Git<'d> {
        Git {
            dir,
            named: None,
            limit: Some(LIMIT),
            is_remote: false,
            author: &[],
            input: None,
            signing: Signing::default(),
            may_ask: false,
        }
    }

    /// The same for a command that a person waits for: what it starts may ask them. Ctrl-C ends it too.
    pub(crate) fn asking(self) -> Git<'d> {
        Git { may_ask: true, limit: None, ..self }
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.env_clear().envs(std::env::vars_os().filter(|(name, _)| self.passes(name)));
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
        for setting in SETTINGS.into_iter().chain(self.signing.settings.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        if let Some(Named { git_dir, common, objects }) = &self.named {
            command.env("GIT_DIR", git_dir).env("GIT_WORK_TREE", self.dir);
            command.envs(common.iter().map(|common| ("GIT_COMMON_DIR", common)));
            command.envs(objects.iter().map(|objects| ("GIT_OBJECT_DIRECTORY", objects)));
        }
        command.envs(self.author.iter().copied());
        if let Some(attempt) = errand::attempt() {
            command.env(ATTEMPT_VARIABLE, attempt);
        }
        command
    }

    /// Whether git gets a variable of this process.
    fn passes(&self, name: &OsStr) -> bool {
        let Some(name) = name.to_str() else { return false };
        // Proxies are written in either case.
        let upper = name.to_ascii_uppercase();
        let is_proxy = upper.ends_with("_PROXY") && KEPT_VARIABLES.contains(&upper.as_str());
        is_proxy || KEPT_VARIABLES.contains(&name) || self.is_remote && REMOTE_TOKENS.contains(&name)
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
        // From before git is there: a signal that ends this process would leave git behind.
        let watch = Watch::begin().map_err(GitError::NotRun)?;
        let mut child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => GitError::Missing,
            _ => GitError::NotRun(error),
        })?;
        let status = self.wait(&mut child, &watch)?;
        Ok(Output { status, stdout: content(&mut stdout)?, stderr: content(&mut stderr)? })
    }

    /// Waits for the end of git, and ends it, with what it has started, when that takes too long or this process is to stop.
    fn wait(&self, child: &mut Child, watch: &Watch) -> Result<ExitStatus> {
        let begun = Instant::now();
        let limit = errand::time_left().into_iter().chain(self.limit).min();
        let mut is_looked_at = false;
        loop {
            if let Some(status) = child.try_wait().map_err(GitError::NotRun)? {
                return Ok(status);
            }
            let why =
                if let Some(signal) = watch.told().filter(|_| !watch.began_stopped || begun.elapsed() >= AFTER_STOP) {
                    Some(GitError::Stopped { signal })
                } else if let Some(limit) = limit.filter(|limit| begun.elapsed() >= *limit) {
                    Some(GitError::TookTooLong(limit))
                } else if begun.elapsed() >= SUSPICIOUS && !std::mem::replace(&mut is_looked_at, true) {
                    self.pipe_in_the_way().map(GitError::Blocked)
                } else {
                    None
                };
            if let Some(why) = why {
                self.end(child);
                return Err(why);
            }
            // Most calls take some milliseconds.
            std::thread::sleep(Duration::from_millis(1).max(begun.elapsed() / 10).min(LOOK));
        }
    }

    /// A pipe in the place of a file that git reads: it would wait for a writer that never comes.
    fn pipe_in_the_way(&self) -> Option<PathBuf> {
        let named =
            self.named.iter().flat_map(|named| [Some(&named.git_dir), named.common.as_ref()]).flatten().cloned();
        let dirs: Vec<PathBuf> = named.chain([self.dir.to_owned(), self.dir.join(".git")]).collect();
        let files = dirs.iter().flat_map(|dir| READ_ONCE.iter().map(|name| dir.join(name)));
        let is_pipe = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_fifo());
        files.into_iter().find(is_pipe).or_else(|| pipe_below(self.dir))
    }

    /// Ends git, with all that it has started.
    fn end(&self, child: &mut Child) {
        match self.may_ask {
            // It is in the group of this process.
            true => processes::end_tree(child, GRACE),
            false => processes::end_group(child, GRACE),
        }
    }

    /// The same git, which reads nothing.
    fn again(&self) -> Git<'d> {
        Git { named: self.named.clone(), signing: self.signing.clone(), input: None, ..*self }
    }

    /// Runs git, which must succeed. Gives what it prints, without the last line break.
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

/// A pipe in the place of a file that git reads in every directory.
fn pipe_below(dir: &Path) -> Option<PathBuf> {
    let mut dirs = vec![dir.to_owned()];
    while let Some(at) = dirs.pop() {
        for entry in fs::read_dir(&at).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let is_read = READ_EVERYWHERE.iter().any(|name| entry.file_name() == *name);
            if is_read && kind.is_fifo() {
                return Some(entry.path());
            }
            if kind.is_dir() && !is_read {
                dirs.push(entry.path());
            }
        }
    }
    None
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
    let says_nothing = |line: &str| matches!(line, "" | "error:" | "fatal:") || line.starts_with("hint:");
    let lines = stderr.lines().map(str::trim).filter(|line| !says_nothing(line));
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
