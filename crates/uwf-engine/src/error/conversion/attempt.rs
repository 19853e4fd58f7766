//! Errors of an attempt.

use std::io;

use json_cas::{Hash, nearest};
use rustix::io::Errno;
use uwf_core::config::GitRemote;
use uwf_core::thread::ThreadId;
use uwf_core::usage::Reached;

use crate::attempt::agents::{BUILT_IN, BUILT_IN_PREFIX};
use crate::attempt::ended::{Ended, stopped_by};
use crate::attempt::error::AttemptError;
use crate::attempt::git::GitError;
use crate::attempt::snapshot::files_ref;
use crate::attempt::worktree::branch_of;
use crate::error::{Error, ErrorKind};
use crate::root::workplace::Workplace;
use crate::root::worktree::Worktree;

pub(super) fn of(error: AttemptError) -> Error {
    use AttemptError as Attempt;
    let of = |kind| Error::new(kind, error.to_string());
    let edge = match &error {
        Attempt::NoRole { role, known, is_bound: true, .. } => {
            let near = nearest::did_you_mean(role, known.iter().map(String::as_str));
            near.into_iter().fold(of(ErrorKind::Usage), Error::hint)
        }
        Attempt::NoRole { known, is_bound: false, .. } => {
            of(ErrorKind::Usage).hint(format!("its roles: {}", known.join(", ")))
        }
        Attempt::Git(git) => of_git(of, git),
        Attempt::NoAgent { .. } => of(ErrorKind::Config)
            .hint("set `defaultAgent` in config.yaml: `uwf setup`, or `uwf config set defaultAgent ALIAS`")
            .hint("or choose one for this thread: `--agent ALIAS`, or `--agent 'COMMAND ARGS'`"),
        Attempt::UnknownAgent { alias, known } => with_other_agents(of(ErrorKind::Config), alias, known),
        Attempt::SecretInCommand { variable } => of(ErrorKind::Usage)
            .hint(format!("leave it out and give the agent the variable: `env: [{variable}]` in config.yaml")),
        Attempt::OutputOfAlias { alias, output } => of(ErrorKind::Usage).hint(format!(
            "what an alias prints is in config.yaml: `uwf config set agents.{alias}.output {}`",
            output.as_str()
        )),
        Attempt::NoCommand { .. } => of(ErrorKind::Config).hint("choose one with `--agent ROLE=AGENT`"),
        Attempt::WorkspaceNotText(_) => of(ErrorKind::Data).hint("agents can work in another directory: --cwd DIR"),
        Attempt::NoWorkspace(_) => of(ErrorKind::NotFound).hint("give another one: `--cwd DIR`"),
        Attempt::ForeignWorktree { .. } => {
            of(ErrorKind::Data).hint("nothing was removed; if the directory is not needed, remove it yourself")
        }
        Attempt::NoWorktree { thread, worktree } => {
            let Worktree { dir, branch, repository, .. } = &**worktree;
            let (dir, repository) = (dir.display(), repository.display());
            of(ErrorKind::NotFound)
                .hint(format!(
                    "have its branch checked out there again: git -C {repository} worktree add -f {dir} {branch}"
                ))
                .hint(format!("`uwf thread fork {thread}` starts a new thread at its newest step"))
                .hint(format!("or let its agents work elsewhere: `uwf thread step {thread} --cwd DIR`"))
        }
        Attempt::OutsideWorktree { .. } => of(ErrorKind::Data)
            .hint("remove the link, then try again"),
        Attempt::WouldLeaveFiles { thread, .. } => of(ErrorKind::Usage)
            .hint(format!("continue in its worktree: `uwf thread step {thread}` without --cwd"))
            .hint(format!("or continue a copy of the thread there, without the files: `uwf thread fork {thread} --cwd DIR`")),
        Attempt::WorksElsewhere { thread, place } => {
            let here = match &place.worktree {
                Some(_) => format!(
                    "or let it come here with its files: `worktree: {{remote: NAME}}` in config.yaml of both machines, and \
                     `uwf thread step {thread} --cwd DIR` in a clone"
                ),
                None => format!("or let its agents work here: `uwf thread step {thread} --cwd DIR`"),
            };
            of(ErrorKind::Busy).hint(format!("step it on machine `{}`", place.machine)).hint(here)
        }
        Attempt::FilesElsewhere { thread, head, place, remote } => {
            of_files_elsewhere(of(ErrorKind::Busy), thread, *head, place, remote.as_ref())
        }
        Attempt::OwnCommits { branch, at, reset_to } => {
            let at = at.display();
            let (keep, then) = match reset_to {
                Some(commit) => {
                    (format!("git -C {at} branch NAME"), format!(", then `git -C {at} reset --keep {commit}`"))
                }
                None => (format!("git -C {at} branch -m {branch} NAME"), String::new()),
            };
            of(ErrorKind::Usage)
                .hint(format!("keep them on another branch: `{keep}`{then}"))
                .hint("then step the thread again, and bring them in when its files are here")
        }
        Attempt::ForeignBranch { branch, remote } => of(ErrorKind::Busy).hint(format!(
            "keep them on another branch of `{remote}`, and delete {branch} there: the next step pushes it again"
        )),
        Attempt::UnknownWorkspace(thread) => {
            of(ErrorKind::Usage).hint(format!("say it once: `uwf thread step {thread} --cwd DIR`"))
        }
        Attempt::Settings { thread, .. } | Attempt::LostSettings { thread, .. } => {
            of(ErrorKind::Data).hint(format!("give the workspace again: `uwf thread step {thread} --cwd DIR`")).hint(
                "agents and a limit that the thread was started with are lost; a step is told its agent by `--agent`",
            )
        }
        Attempt::Limit { thread, reached } => {
            let more = match reached {
                Reached::Steps { .. } => "--steps +10",
                Reached::Time { .. } => "--time +1h",
                Reached::Tokens { .. } => "--tokens +100000",
                Reached::Cost { .. } => "--cost +1",
            };
            of(ErrorKind::Limit).hint(format!("to continue: `uwf thread limit {thread} {more}`"))
        }
        Attempt::AtWorkElsewhere(at_work) => of(ErrorKind::Busy).hint(format!(
            "try again when it is done; should that machine be gone, the next step takes over {} s after its last sign of life",
            at_work.lease.as_secs()
        )),
        Attempt::ClaimMoved(_) => of(ErrorKind::Busy).hint("look at it with `uwf thread show`, then try again"),
        Attempt::Unusable { why, .. } => of(ErrorKind::Config).hint(why.hint()),
        Attempt::NotStarted { longest_argument, source, .. } => {
            with_start_hint(of(start_kind(source)), *longest_argument, source)
        }
        Attempt::NoResult { ended, printed, .. } => match ended {
            Ended::Exited(_) if printed.is_some() => of(ErrorKind::AgentFailed)
                .hint("an agent that prints its answer instead needs `output: text` or `output: json` in config.yaml"),
            Ended::TimedOut(_) => of(ErrorKind::AgentFailed).hint("raise `timeout` of the agent in config.yaml"),
            Ended::Idle(_) => of(ErrorKind::AgentFailed).hint("raise `idleTimeout` of the agent in config.yaml"),
            Ended::Cancelled(signal) => of(stopped_by(*signal)),
            Ended::Lost(_) => of(ErrorKind::Busy).hint("run `uwf thread show` for the state of the thread"),
            Ended::Exited(_) | Ended::Signaled(_) => of(ErrorKind::AgentFailed),
        },
        Attempt::Stopped { signal } => of(stopped_by(*signal)),
        Attempt::KeeperNotStarted { .. } | Attempt::BrokerNotStarted { .. } => {
            of(ErrorKind::Io).hint("nothing was changed: try again when the machine has room for another process")
        }
        Attempt::KeeperDied { log, .. } => of(ErrorKind::Internal)
            .hint("run the same step again: it takes over what the dead keeper left")
            .hint(format!("its last words are in {}", log.display())),
        Attempt::KeeperUnread { .. } => of(ErrorKind::Io).hint("`uwf thread show` shows where the thread stands"),
        Attempt::Keeper(reported) => return reported.clone().into(),
        Attempt::BrokerDied { .. } => of(ErrorKind::Internal).hint("no agent was started; step again"),
        Attempt::NotACommandLine(_) | Attempt::KeeperRequest(_) | Attempt::BrokerArguments => of(ErrorKind::Usage),
        Attempt::RoutedNowhere { .. } => of(ErrorKind::Data),
        Attempt::Misplaced { .. } | Attempt::AdvisorEnded { .. } | Attempt::AdvisorReply(_) => {
            of(ErrorKind::AgentFailed)
        }
        Attempt::Signals(_) => of(ErrorKind::Io),
        Attempt::NotWritten { .. } | Attempt::Thread(_) => of(ErrorKind::Internal),
    };
    Error { source: Some(Box::new(error)), ..edge }
}

fn of_files_elsewhere(
    edge: Error,
    thread: &ThreadId,
    head: Hash,
    place: &Workplace,
    remote: Option<&GitRemote>,
) -> Error {
    let edge = edge.hint(format!("run it on machine `{}`", place.machine));
    match (remote, &place.worktree) {
        (Some(remote), Some(worktree)) => {
            let (repository, branch) = (worktree.repository.display(), branch_of(thread));
            let files = files_ref(thread, head);
            edge.hint(format!("or push them there: git -C {repository} push {remote} {files}:refs/heads/{branch}"))
        }
        (None, Some(_)) => {
            edge.hint("with `worktree: {remote: NAME}` in config.yaml of both machines the files come here")
        }
        (_, None) => edge.hint(format!("or continue here, without them: `uwf thread step {thread} --cwd DIR`")),
    }
}

fn of_git(of: impl Fn(ErrorKind) -> Error, error: &GitError) -> Error {
    match error {
        GitError::Missing => of(ErrorKind::Config).hint("install it; a thread without a worktree works without git"),
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
        GitError::Stopped { signal } => of(stopped_by(*signal)),
    }
}

fn with_other_agents(error: Error, alias: &str, known: &[String]) -> Error {
    if BUILT_IN.contains(&alias) {
        return error.hint(format!("the built-in agent of that name is `{BUILT_IN_PREFIX}{alias}`"));
    }
    let built_in = BUILT_IN.map(|name| format!("{BUILT_IN_PREFIX}{name}"));
    let near = nearest::nearest(alias, known.iter().map(String::as_str));
    if let Some(near) = near.or_else(|| nearest::nearest(alias, built_in.iter().map(String::as_str))) {
        return error.hint(format!("did you mean `{near}`?"));
    }
    let error = if known.is_empty() {
        error.hint("config.yaml has no `agents`; a command line works too: `--agent 'COMMAND ARGS'`")
    } else {
        error.hint(format!("agents of config.yaml: {}", known.join(", ")))
    };
    error.hint("a program is found on PATH, or by a path relative to the thread's workspace")
}

/// What the machine lacks at the moment is no fault of the configuration.
fn start_kind(source: &io::Error) -> ErrorKind {
    let lacks = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN, Errno::IO, Errno::NOSPC, Errno::INTR];
    let is_passing = Errno::from_io_error(source).is_some_and(|errno| lacks.contains(&errno));
    if is_passing { ErrorKind::Io } else { ErrorKind::Config }
}

fn with_start_hint(error: Error, longest_argument: usize, source: &io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::NotFound => error.hint("a program or library that the file itself asks for is missing"),
        io::ErrorKind::ArgumentListTooLong => error.hint(format!("an argument has {longest_argument} bytes, the system takes 131,071: leave `{{prompt}}` out of args, then the prompt comes on stdin")),
        io::ErrorKind::PermissionDenied => {
            error.hint("may you execute the file and enter its directories? is its file system mounted `noexec`?")
        }
        _ if Errno::from_io_error(source) == Some(Errno::NOEXEC) => {
            error.hint("a script begins with a line that names its interpreter, such as #!/bin/sh")
        }
        _ => error,
    }
}
