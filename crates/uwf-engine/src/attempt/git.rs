//! Runs git as a process; no other module knows its commands.
//!
//! Git gets an environment without keys and without variables that name another repository (a hook that starts uwf has
//! `GIT_DIR` set). It gets no editor, pager, hook or prompt, its time is limited, and its messages are in a language
//! that uwf can parse. uwf reads files that an agent may have changed only as [`view`] describes.

mod checkout;
mod diff;
mod errand;
mod ignored;
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

use uwf_core::text::ellipsize;

pub(crate) use self::checkout::{GitCheckout, no_commit};
pub use self::diff::{FileChange, GitPatch};
pub(crate) use self::errand::GitScopeGuard;
pub(crate) use self::merge::{GitMergeOutcome, MergeProbe};
pub use self::merge::{MergeKind, MergeMethod};
pub(crate) use self::remote::PushOutcome;
pub(crate) use self::signing::CommitSigning;
pub(crate) use self::snapshot::{SnapshotCommit, SnapshotTree};
pub(crate) use self::view::own_dir;
use crate::attempt::ended::stopped;
use crate::attempt::processes;
use crate::attempt::stop_signals::StopSignalGuard;
use crate::attempt_variable::ATTEMPT_VARIABLE;
use crate::error::{Error, ErrorCause, Result};

/// Most characters shown of a git message.
const SHOWN: usize = 400;

/// Longest interval between checks whether git has ended.
const LOOK: Duration = Duration::from_millis(50);

/// Time limit of git. It adds a gigabyte of new files in less than a minute; a longer run is waiting for something.
const LIMIT: Duration = Duration::from_mins(10);

/// Time after which uwf checks whether git waits for a pipe.
const SUSPICIOUS: Duration = Duration::from_secs(1);

/// Time limit of a call that begins after a stop signal: such a call cleans up, or stores paid work.
const AFTER_STOP: Duration = Duration::from_secs(5);

/// Time between TERM and KILL, in which git removes its locks.
const GRACE: Duration = Duration::from_secs(1);

/// Files that git reads in every directory of a working tree.
const READ_EVERYWHERE: [&str; 4] = [".git", ".gitattributes", ".gitignore", ".gitmodules"];

/// Files that git reads in a repository.
const READ_ONCE: [&str; 6] = ["HEAD", "config", "index", "info/attributes", "info/exclude", "packed-refs"];

/// Variables that git and the programs it starts may need: to be found, to identify the person, to reach a remote, and
/// to ask. Git gets no other variable: no keys, and none that names another repository.
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

/// Tokens that a forge's programs use to sign in to a remote. Only push and fetch get them.
const REMOTE_TOKENS: [&str; 4] = ["GH_TOKEN", "GITHUB_TOKEN", "GITLAB_TOKEN", "GITEA_TOKEN"];

/// Settings of every call: git must not ask, work in the background, or leave work half done.
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

/// A named git directory, so that git does not search for one.
#[derive(Debug, Clone)]
struct GitDirectory {
    git_dir: PathBuf,
    /// The repository, if that directory belongs to one of its working trees.
    common: Option<PathBuf>,
    /// The objects directory, if it is not in the git directory.
    objects: Option<PathBuf>,
}

/// Git in a directory.
pub(crate) struct GitRunner<'d> {
    dir: &'d Path,
    /// The git directory, with `dir` as the working tree; without it, git searches in `dir`.
    named: Option<GitDirectory>,
    /// Time limit; `None` while a person waits for the command.
    limit: Option<Duration>,
    /// Whether it signs in to a remote.
    is_remote: bool,
    /// Variables that name the author of commits.
    author: &'static [(&'static str, &'static str)],
    /// Its input.
    input: Option<File>,
    /// How its commits are signed.
    signing: CommitSigning,
    /// Whether programs that it starts may ask a person at the terminal, as a commit signer does.
    may_ask: bool,
}

impl<'d> GitRunner<'d> {
    pub(crate) fn for_directory(dir: &'d Path) -> GitRunner<'d> {
        GitRunner {
            dir,
            named: None,
            limit: Some(LIMIT),
            is_remote: false,
            author: &[],
            input: None,
            signing: CommitSigning::default(),
            may_ask: false,
        }
    }

    /// The same git for a command that a person waits for: programs it starts may ask the person. Ctrl-C also ends it.
    pub(crate) fn asking(self) -> GitRunner<'d> {
        GitRunner { may_ask: true, limit: None, ..self }
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
        if let Some(GitDirectory { git_dir, common, objects }) = &self.named {
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

    /// Runs git to its end, whether it succeeds or fails.
    fn output<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Result<Output> {
        let mut command = self.command();
        command.args(args);
        let (mut stdout, mut stderr) = (file()?, file()?);
        if !self.may_ask {
            // In its own group, git can be ended with the programs that it starts. It cannot ask at a terminal there.
            command.process_group(0);
            // Otherwise ssh would stop at its prompt, and uwf would wait for it.
            command.env("SSH_ASKPASS", "false").env("SSH_ASKPASS_REQUIRE", "force");
        }
        if let Some(input) = &self.input {
            command.stdin(handle(input)?);
        }
        command.stdout(handle(&stdout)?).stderr(handle(&stderr)?);
        // Watch before git starts: a signal that ends this process would leave git behind.
        let watch = StopSignalGuard::begin().map_err(not_run)?;
        let mut child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::config("git is not installed: program `git` is not on PATH")
                .hint("install it; a thread without a worktree works without git")
                .with_cause(ErrorCause::NoGit),
            _ => not_run(error),
        })?;
        let status = self.wait(&mut child, &watch)?;
        Ok(Output { status, stdout: content(&mut stdout)?, stderr: content(&mut stderr)? })
    }

    /// Waits for git to end. Ends it, with its child processes, if it takes too long or this process must stop.
    fn wait(&self, child: &mut Child, watch: &StopSignalGuard) -> Result<ExitStatus> {
        let begun = Instant::now();
        let limit = errand::time_left().into_iter().chain(self.limit).min();
        let mut is_looked_at = false;
        loop {
            if let Some(status) = child.try_wait().map_err(not_run)? {
                return Ok(status);
            }
            let why = if let Some(signal) =
                watch.received_signal().filter(|_| !watch.began_stopped || begun.elapsed() >= AFTER_STOP)
            {
                Some(stopped(signal))
            } else if let Some(limit) = limit.filter(|limit| begun.elapsed() >= *limit) {
                Some(Error::io(format!("git was ended after {} s", limit.as_secs())))
            } else if begun.elapsed() >= SUSPICIOUS && !std::mem::replace(&mut is_looked_at, true) {
                self.pipe_in_the_way().map(|pipe| blocked(&pipe))
            } else {
                None
            };
            if let Some(why) = why {
                self.end(child);
                return Err(why);
            }
            // Most calls take a few milliseconds.
            std::thread::sleep(Duration::from_millis(1).max(begun.elapsed() / 10).min(LOOK));
        }
    }

    /// A pipe in the place of a file that git reads: git would wait forever for a writer.
    fn pipe_in_the_way(&self) -> Option<PathBuf> {
        let named =
            self.named.iter().flat_map(|named| [Some(&named.git_dir), named.common.as_ref()]).flatten().cloned();
        let dirs: Vec<PathBuf> = named.chain([self.dir.to_owned(), self.dir.join(".git")]).collect();
        let files = dirs.iter().flat_map(|dir| READ_ONCE.iter().map(|name| dir.join(name)));
        let is_pipe = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_fifo());
        files.into_iter().find(is_pipe).or_else(|| pipe_below(self.dir))
    }

    /// Ends git and the processes that it started.
    fn end(&self, child: &mut Child) {
        match self.may_ask {
            // It is in this process's group.
            true => processes::end_tree(child, GRACE),
            false => processes::end_group(child, GRACE),
        }
    }

    /// The same git without input.
    fn again(&self) -> GitRunner<'d> {
        GitRunner { named: self.named.clone(), signing: self.signing.clone(), input: None, ..*self }
    }

    /// Runs git, which must succeed. Returns its output without the last line break.
    fn run<A: AsRef<OsStr>>(&self, action: &'static str, args: impl IntoIterator<Item = A>) -> Result<OsString> {
        let output = self.output(args)?;
        if !output.status.success() {
            return Err(failed(action, &output));
        }
        Ok(printed(output.stdout))
    }

    /// Like `run`, for output that is text.
    fn text<A: AsRef<OsStr>>(&self, action: &'static str, args: impl IntoIterator<Item = A>) -> Result<String> {
        Ok(self.run(action, args)?.to_string_lossy().into_owned())
    }

    /// Runs git, whose exit status is the answer.
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

/// A file for git's output. Unlike a pipe it needs no reader, and a killed process leaves no file behind.
fn file() -> Result<File> {
    tempfile::tempfile().map_err(not_run)
}

/// A file with git's input, positioned at its beginning.
fn input(bytes: &[u8]) -> Result<File> {
    let mut file = file()?;
    file.write_all(bytes).and_then(|()| file.rewind()).map_err(not_run)?;
    Ok(file)
}

fn handle(file: &File) -> Result<File> {
    file.try_clone().map_err(not_run)
}

fn content(file: &mut File) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map_err(not_run)?;
    Ok(bytes)
}

fn not_run(error: io::Error) -> Error {
    Error::io(format!("cannot run git: {error}")).with_source(error)
}

fn blocked(pipe: &Path) -> Error {
    let pipe = pipe.display();
    Error::io(format!("{pipe} is not a regular file, and git waits for it")).hint(format!("remove it: rm {pipe}"))
}

fn failed(action: &str, output: &Output) -> Error {
    refused(action, &said(output))
}

/// The error for an action that git did not perform; `action` completes "cannot …".
pub(crate) fn refused(action: &str, said: &str) -> Error {
    Error::io(format!("cannot {action}: git says: {said}")).with_cause(ErrorCause::GitFailed)
}

/// Git's error message in one line, without its advice, which is for people who type its commands.
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
