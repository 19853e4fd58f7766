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

use uwf_core::text::ellipsize;

pub(crate) use self::checkout::{Checkout, no_commit};
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
use crate::error::{Error, ErrorCause, Result};

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
        let watch = Watch::begin().map_err(not_run)?;
        let mut child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::config("git is not installed: there is no program `git` on PATH")
                .hint("install it; a thread without a worktree works without git")
                .with_cause(ErrorCause::NoGit),
            _ => not_run(error),
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
            if let Some(status) = child.try_wait().map_err(not_run)? {
                return Ok(status);
            }
            let why =
                if let Some(signal) = watch.told().filter(|_| !watch.began_stopped || begun.elapsed() >= AFTER_STOP) {
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
    tempfile::tempfile().map_err(not_run)
}

/// A file for git to read, which is at its beginning.
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

/// What git was asked for and did not do; `action` completes "cannot …".
pub(crate) fn refused(action: &str, said: &str) -> Error {
    Error::io(format!("cannot {action}: git says: {said}")).with_cause(ErrorCause::GitFailed)
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
