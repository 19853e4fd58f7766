//! The one place where the errors of the rooms get what a user is shown: kind, message and hints.

use std::io;
use std::path::Path;

use json_cas::{Hash, HeadsError, RemoteError, RemoteFault, StoreError, nearest};
use rustix::io::Errno;
use uwf_core::config::GitRemote;
use uwf_core::config::edit::EditError;
use uwf_core::document::Problem;
use uwf_core::node::OWN_TYPES;
use uwf_core::thread::ThreadId;
use uwf_core::usage::Reached;

use super::verb_error::{Instead, VerbError};
use super::{Error, ErrorKind};
use crate::attempt::agents::{BUILT_IN, BUILT_IN_PREFIX};
use crate::attempt::ended::{Ended, stopped_by};
use crate::attempt::error::AttemptError;
use crate::attempt::git::GitError;
use crate::attempt::snapshot::files_ref;
use crate::attempt::worktree::{Unsaved, branch_of};
use crate::ownership::owner;
use crate::root::error::RootError;
use crate::root::home::ROOT_VARIABLES;
use crate::root::registry::NAMES_ARE_LOST;
use crate::root::workplace::Workplace;
use crate::root::worktree::Worktree;
use crate::thread::error::ThreadError;

/// What to try when the disk is full.
const FREE_SPACE: &str = "free some space, then run the same command again: nothing was lost";

/// What to do with a key that stands in the configuration.
const KEY_INTO_ENV: &str =
    "put the key into `.env` of the storage root, as NAME=key, and set `providers.<name>.apiKeyEnv` to NAME";

/// What to do about a node that is missing.
const BRING_BACK: &str =
    "`uwf cas verify` tells what else is missing; put it back from a backup of cas/, or put the same content again";

/// What to try when a thread is not found.
const ALL_THREADS: &str = "`uwf thread list --all` lists every thread";

impl<E: Into<AttemptError>> From<E> for Error {
    fn from(error: E) -> Error {
        match error.into() {
            AttemptError::Thread(ThreadError::Root(error)) => of_root(error),
            AttemptError::Thread(error) => of_thread(error),
            error => of_attempt(error),
        }
    }
}

fn of_root(error: RootError) -> Error {
    use RootError as Root;
    let of = |kind| Error::new(kind, error.to_string());
    let edge = match &error {
        Root::Durable(source) => when_full(of(ErrorKind::Io), source.is_disk_full()),
        Root::Store(source) => of_store(of(store_kind(source)), source),
        Root::Heads(source) => of_heads(of(heads_kind(source)), source),
        Root::File { path, source, .. } => with_file_hint(of(ErrorKind::Io), path, source),
        Root::NoRoot => of(ErrorKind::Config).hint(format!("set {} to a directory", ROOT_VARIABLES[0])),
        Root::Config(problems) => with_hints(of(ErrorKind::Config), problems),
        Root::ConfigResult(problems) => with_hints(of(ErrorKind::Config), problems).hint("nothing was written"),
        Root::ConfigEdit { source: EditError::Unreadable(problems), .. } => {
            with_hints(of(ErrorKind::Config), problems).hint("nothing was written")
        }
        Root::ConfigEdit { source: EditError::NotAMapping { .. }, .. } => {
            of(ErrorKind::Config).hint("set the whole of it, for example to `{key: value}` or `[a, b]`")
        }
        Root::ConfigEdit { source: EditError::Entangled { .. }, .. } => {
            of(ErrorKind::Config).hint("nothing was written; edit it by hand")
        }
        Root::ConfigBusy(_) => of(ErrorKind::Busy).hint("try again when it has finished"),
        Root::KeyInConfig(_) => of(ErrorKind::Config).hint(KEY_INTO_ENV).hint("`uwf setup` does both"),
        Root::LinkOutside { .. } => {
            of(ErrorKind::Config).hint("edit that file, or put a file of its own into the storage root")
        }
        Root::EnvNotChanged(_) => of(ErrorKind::Config).hint("correct or remove it; nothing was written"),
        Root::EnvValue { .. } => {
            of(ErrorKind::Config).hint("a key is one line without quotes; is something else in the clipboard?")
        }
        Root::ProjectFile { path, source } => with_file_hint(of(ErrorKind::Config), path, source),
        Root::NoProject(_) => of(ErrorKind::NotFound)
            .hint("it is looked for in the directory and above it, up to the one that holds `.git`"),
        Root::Trusted { .. } => {
            of(ErrorKind::Config).hint("remove it, then trust your projects again: `uwf config trust DIR`")
        }
        Root::RegistryBusy(_) => of(ErrorKind::Busy).hint("try again"),
        Root::Registry { .. } => of(ErrorKind::Data)
            .hint("repair it or restore it from a backup; the workflows themselves are safe in the store"),
        Root::NoVersion { workflow, .. } => {
            of(ErrorKind::NotFound).hint(format!("`uwf workflow history {workflow}` lists them"))
        }
        Root::NoType(typed) => of(ErrorKind::NotFound).hint(other_types(typed)),
        Root::NoThreadLike { near: Some(near), .. } => of(ErrorKind::NotFound).hint(format!("did you mean …{near}?")),
        Root::NoThreadLike { near: None, .. } => of(ErrorKind::NotFound).hint(ALL_THREADS),
        Root::ManyThreads { .. } => of(ErrorKind::Usage).hint("give more symbols"),
        Root::NotAPlace(_) => of(ErrorKind::Usage).hint("@ is the newest thread, @2 the one before"),
        Root::FewThreads { count: 0, .. } => {
            of(ErrorKind::NotFound).hint("`uwf thread start WORKFLOW -p 'TEXT'` begins one")
        }
        Root::NoThread { has_records: true, .. } => of(ErrorKind::NotFound)
            .hint("but there are records of it here: `uwf recover --dry-run` tells what they say"),
        Root::NoThread { has_records: false, .. } => of(ErrorKind::NotFound).hint(ALL_THREADS),
        Root::Ended { thread, .. } => of(ErrorKind::NotFound)
            .hint(format!("`uwf thread show {thread}` tells how"))
            .hint(format!("`uwf thread fork {thread}` begins a new one that goes on after its last step")),
        Root::NotActive(_) => of(ErrorKind::NotFound).hint("`uwf thread list --all` lists finished threads too"),
        Root::Stepped(_) => {
            of(ErrorKind::Busy).hint("try again when it has finished; `uwf thread show` tells what it is doing")
        }
        Root::SteppedBy { .. } => of(ErrorKind::Busy).hint("only they can end it, or wait until the step has ended"),
        Root::NotOurs { .. } => of(ErrorKind::Io).hint("`uwf doctor` says how a storage root is shared with a group"),
        Root::NoIndex(_) | Root::NoFiles(_) | Root::NotAThreadId { .. } => of(ErrorKind::Usage),
        Root::StoredId(_) => of(ErrorKind::Data),
        Root::NoWorkflow(_) | Root::FewThreads { .. } => of(ErrorKind::NotFound),
        Root::RecordLine(_) => of(ErrorKind::Internal),
        Root::OwnProgram(_) => of(ErrorKind::Io),
        Root::ConfigChanged(_) => of(ErrorKind::Busy),
        Root::NotText(_) | Root::EnvLine { .. } => of(ErrorKind::Config),
    };
    Error { source: Some(Box::new(error)), ..edge }
}

fn with_hints(error: Error, problems: &[Problem]) -> Error {
    Error { hints: problems.iter().filter_map(|problem| problem.hint.clone()).collect(), ..error }
}

fn with_file_hint(error: Error, path: &Path, source: &io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::StorageFull => error.hint(FREE_SPACE),
        io::ErrorKind::PermissionDenied => {
            let there = path.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(path);
            error.hint(format!("{} belongs to {}", there.display(), owner(there)))
        }
        _ => error,
    }
}

fn other_types(typed: &str) -> String {
    let titles = OWN_TYPES.iter().map(|own| own.kind.title());
    nearest::did_you_mean(typed, titles.clone()).unwrap_or_else(|| {
        format!(
            "a type is a hash, at least 4 symbols of its beginning, or one of {}; `uwf cas schema list` shows all",
            titles.collect::<Vec<_>>().join(", ")
        )
    })
}

fn of_thread(error: ThreadError) -> Error {
    use ThreadError as Thread;
    let of = |kind| Error::new(kind, error.to_string());
    let edge = match error {
        Thread::Root(source) => return of_root(source),
        Thread::NoEnd { .. } => of(ErrorKind::Data)
            .hint("history.jsonl says so: `uwf recover` looks whether that line is damaged")
            .hint(BRING_BACK),
        Thread::Gone { .. } => of(ErrorKind::Data).hint(BRING_BACK),
        Thread::HeadMoved { .. } => of(ErrorKind::Busy).hint("look at it with `uwf thread show`, then try again"),
        Thread::Routing { ref thread, .. } => {
            of(ErrorKind::Data).hint(format!("`uwf thread eval {thread} EXPR` shows what an expression gives"))
        }
        Thread::Expression(_)
        | Thread::Evaluation { .. }
        | Thread::WrongKind { .. }
        | Thread::Shape { .. }
        | Thread::Workflow { .. }
        | Thread::TooDeep { .. } => of(ErrorKind::Data),
        Thread::NotADigest(_) => of(ErrorKind::Usage).hint("a digest has 64 hexadecimal digits"),
        Thread::NoStep { .. }
        | Thread::Evaluator { .. }
        | Thread::NoRequest(_)
        | Thread::Request(_)
        | Thread::NoDigest => of(ErrorKind::Internal),
    };
    Error { source: Some(Box::new(error)), ..edge }
}

fn of_attempt(error: AttemptError) -> Error {
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
            .hint("set `defaultAgent` in config.yaml")
            .hint("or bind one to this thread: `uwf run THREAD --agent ALIAS`, or `--agent 'COMMAND ARGS'`"),
        Attempt::UnknownAgent { alias, known } => with_other_agents(of(ErrorKind::Config), alias, known),
        Attempt::SecretInCommand { variable } => of(ErrorKind::Usage)
            .hint(format!("leave it out and give the agent the variable: `env: [{variable}]` in config.yaml")),
        Attempt::OutputOfAlias { alias, output } => of(ErrorKind::Usage).hint(format!(
            "what an alias prints is in config.yaml: `uwf config set agents.{alias}.output {}`",
            output.as_str()
        )),
        Attempt::NoCommand { .. } => of(ErrorKind::Config).hint("bind one: `uwf run THREAD --agent ROLE=AGENT`"),
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
                .hint(format!("`uwf thread fork {thread}` begins anew at its newest step"))
                .hint(format!("or let its agents work elsewhere: `uwf thread step {thread} --cwd DIR`"))
        }
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
            of(ErrorKind::Limit).hint(format!("let it go on: `uwf thread limit {thread} {more}`"))
        }
        Attempt::AtWorkElsewhere(at_work) => of(ErrorKind::Busy).hint(format!(
            "try again when it is done; should that machine be gone, the next step goes on without it {} s after its last sign of life",
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
            Ended::Lost(_) => of(ErrorKind::Busy).hint("`uwf thread show` tells how the thread goes on"),
            Ended::Exited(_) | Ended::Signaled(_) => of(ErrorKind::AgentFailed),
        },
        Attempt::Stopped { signal } => of(stopped_by(*signal)),
        Attempt::KeeperNotStarted { .. } => {
            of(ErrorKind::Io).hint("nothing was changed: try again when the machine has room for another process")
        }
        Attempt::KeeperDied { log, .. } => of(ErrorKind::Internal)
            .hint("run the same step again: it takes over what the dead keeper left")
            .hint(format!("its last words are in {}", log.display())),
        Attempt::KeeperUnread { .. } => of(ErrorKind::Io).hint("`uwf thread show` tells where the thread stands"),
        Attempt::Keeper(reported) => return reported.clone().into(),
        Attempt::NotACommandLine(_) | Attempt::KeeperRequest(_) => of(ErrorKind::Usage),
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
    let edge = edge.hint(format!("step it on machine `{}`", place.machine));
    match (remote, &place.worktree) {
        (Some(remote), Some(worktree)) => {
            let (repository, branch) = (worktree.repository.display(), branch_of(thread));
            let files = files_ref(thread, head);
            edge.hint(format!("or push them there: git -C {repository} push {remote} {files}:refs/heads/{branch}"))
        }
        (None, Some(_)) => {
            edge.hint("with `worktree: {remote: NAME}` in config.yaml of both machines they would come here")
        }
        (_, None) => edge.hint(format!("or go on here, without them: `uwf thread step {thread} --cwd DIR`")),
    }
}

fn of_git(of: impl Fn(ErrorKind) -> Error, error: &GitError) -> Error {
    match error {
        GitError::Missing => of(ErrorKind::Config).hint("install it; a thread without a worktree works without git"),
        GitError::Nobody => of(ErrorKind::Config)
            .hint("git config --global user.name 'NAME'; git config --global user.email ADDRESS"),
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
        GitError::NotRun(_) | GitError::TookTooLong(_) => of(ErrorKind::Io),
        GitError::NoRepository(_) => of(ErrorKind::Usage)
            .hint("a thread gets its worktree from the repository it is started in: `git init` makes one, --cwd DIR names one")
            .hint("without a worktree, agents work in the directory itself"),
        GitError::NoWorkTree(_) => of(ErrorKind::Usage)
            .hint("start the thread in a working tree of it: `git worktree add DIR` makes one, --cwd DIR names one"),
        GitError::NoCommit(_) => of(ErrorKind::Usage)
            .hint("a worktree begins at a commit: `git commit` the files first"),
        GitError::Failed { .. } => of(ErrorKind::Io),
    }
}

impl From<VerbError> for Error {
    fn from(error: VerbError) -> Error {
        use VerbError as Verb;
        let of = |kind| Error::new(kind, error.to_string());
        let edge = match &error {
            Verb::Active(thread) => of(ErrorKind::Usage).hint(format!("`uwf thread kill {thread}` ends it first")),
            Verb::Paused { paused, .. } => {
                of(ErrorKind::Waiting).hint(format!("`uwf thread resume {paused}` lets it go on"))
            }
            Verb::MovedOn { thread, .. } | Verb::TriedSince { thread, .. } | Verb::EndedSince { thread, .. } => {
                of(ErrorKind::Busy).hint(format!("nothing was changed; `uwf thread show {thread}` tells where it stands"))
            }
            Verb::SecretInWorkflow { .. } => {
                of(ErrorKind::Data).hint("take it out: agents are given secrets by `env` in config.yaml")
            }
            Verb::NoWorkflow { instead, .. } => with_what_is_there(of(ErrorKind::NotFound), instead),
            Verb::NotRegistered { name, file: Some(file), .. } => of(ErrorKind::NotFound).hint(format!(
                "`{name}` is the project's file {}: its history is that of the file",
                file.display()
            )),
            Verb::NotRegistered { near, .. } => {
                let near = near.clone();
                of(ErrorKind::NotFound).hint(near.unwrap_or_else(|| "`uwf workflow list` shows the names there are".to_owned()))
            }
            Verb::TaskOfStep { start, .. } => of(ErrorKind::Usage)
                .hint(format!("fork the start with another task: uwf thread fork {start} -p 'TEXT'")),
            Verb::EmptyPrompt => {
                of(ErrorKind::Usage).hint("say what the thread is to do: `-p 'TEXT'`, or `-p -` to read it from stdin")
            }
            Verb::OtherThread { thread, .. } => {
                of(ErrorKind::Usage).hint(format!("choose another id; `uwf thread show {thread}` shows that thread"))
            }
            Verb::RecordedId(_) => of(ErrorKind::Usage)
                .hint("choose another id, or have that thread again: `uwf recover --dry-run` tells what is known of it"),
            Verb::TooDeep { .. } => of(ErrorKind::Limit)
                .hint("a workflow that plays a role of itself never ends; else raise `maxDepth` in config.yaml"),
            Verb::OtherProgram(_) => {
                of(ErrorKind::Usage).hint("nothing was changed; move it away, or choose another directory")
            }
            Verb::NeverPlayed { thread, role, roles, has_steps } => {
                let others = roles.iter().map(String::as_str).filter(|other| other != role);
                let hint = match nearest::did_you_mean(role, others) {
                    _ if !has_steps => {
                        Some(format!("it has no steps yet: `uwf thread fork {thread}` forks it at its start"))
                    }
                    _ if roles.contains(role) => Some(format!("`uwf thread steps {thread}` lists the roles that were")),
                    near => near,
                };
                hint.into_iter().fold(of(ErrorKind::NotFound), Error::hint)
            }
            Verb::NoStepThere { thread, .. } => {
                of(ErrorKind::NotFound).hint(format!("`uwf thread read {thread}` shows the newest"))
            }
            Verb::NoStep { thread, .. } => of(ErrorKind::NotFound).hint(lists_steps(thread)),
            Verb::NotAHash { thread, .. } => of(ErrorKind::Usage).hint(lists_steps(thread)),
            Verb::ManySteps { .. } => of(ErrorKind::Usage).hint("give more symbols"),
            Verb::NothingToRead { thread, .. } => {
                of(ErrorKind::NotFound).hint(format!("`uwf thread step {thread}` runs the agent"))
            }
            Verb::ChildGoesOn { thread, .. } => {
                of(ErrorKind::Usage).hint(format!("`uwf thread step {thread}` goes on with it"))
            }
            Verb::AsksNobody(thread) => of(ErrorKind::Usage).hint(format!("end it: `uwf thread step {thread}`")),
            Verb::AsksNobodyItself { thread, .. } | Verb::PlayedByAgent { thread, .. } => {
                of(ErrorKind::Usage).hint(format!("step it: `uwf thread step {thread}`"))
            }
            Verb::AsksChild { child, .. } => {
                of(ErrorKind::Usage).hint(format!("answer it with its own head and attempt: `uwf thread answer {child}`"))
            }
            Verb::SeveralWait { children, .. } => children.iter().fold(of(ErrorKind::Usage), |error, child| {
                error.hint(format!("answer one: `uwf thread answer {child}`"))
            }),
            Verb::OtherAnswer { thread, output, .. } => of(ErrorKind::Busy)
                .hint(format!("`uwf cas get {output}` shows it, `uwf thread step {thread}` takes it over"))
                .hint("nothing of this one was recorded"),
            Verb::RepliedSince(thread) => of(ErrorKind::Busy)
                .hint(format!("nothing of this one was recorded; `uwf thread step {thread}` goes on with that reply")),
            Verb::OtherReply { thread, reply } => of(ErrorKind::Busy)
                .hint(format!("`uwf cas get {reply}` shows it, `uwf thread step {thread}` goes on with it"))
                .hint("nothing of this one was recorded"),
            Verb::TooLate { thread, .. } => of(ErrorKind::Busy)
                .hint(format!("`uwf thread read {thread}` shows what was answered; nothing of yours was recorded")),
            Verb::Unfollowed { hint, source, .. } => {
                let kind = match store_kind(source) {
                    ErrorKind::Io => ErrorKind::Io,
                    _ => ErrorKind::Data,
                };
                hint.iter().cloned().fold(of_store(of(kind), source), Error::hint)
            }
            Verb::NoHead { thread } => of(ErrorKind::Data).hint(format!("`uwf thread rm {thread}` removes that line")),
            Verb::DamagedHistory { .. } => of(ErrorKind::Data)
                .hint("repair that line or restore the file from a backup; `uwf recover` may know more"),
            Verb::RegistryGone(_) => of(ErrorKind::Data)
                .hint("restore it from a backup")
                .hint("or, if no workflow had a name, let it be made anew: `uwf workflow put FILE`"),
            Verb::HeaderNotSet { variable } => {
                of(ErrorKind::Config).hint(format!("put it into the environment or into `.env`: {variable}=…"))
            }
            Verb::GcBusy(_) => of(ErrorKind::Busy).hint("try again when it has finished"),
            Verb::Reachable { .. } => of(ErrorKind::Usage).hint("nothing was removed"),
            Verb::Referred { referrer, .. } => of(ErrorKind::Usage).hint(format!(
                "nothing was removed; nothing leads to either: `uwf cas rm {referrer}` first, or `uwf gc` removes both"
            )),
            Verb::CopyRaced(_) => of(ErrorKind::Busy).hint("try again: what was copied stays copied"),
            Verb::IndexChanged(_) => of(ErrorKind::Busy).hint("nothing was changed; try again"),
            Verb::ResultRefused { .. } | Verb::RecordedRefused { .. } => {
                of(ErrorKind::AgentFailed).hint("the node is kept; nothing was linked")
            }
            Verb::Quarantined { step, now: Some(_), .. } => {
                of(ErrorKind::Busy).hint(format!("`uwf thread step-details {step}` shows it"))
            }
            Verb::Quarantined { step, now: None, .. } => {
                of(ErrorKind::NotFound).hint(format!("`uwf thread fork {step}` goes on from it"))
            }
            Verb::StillHeld(_) => of(ErrorKind::Busy),
            Verb::Waits { .. } => of(ErrorKind::Waiting),
            Verb::Workflow(_) | Verb::NotAFile { .. } | Verb::NotText { .. } => of(ErrorKind::Data),
            Verb::Unsaved { thread, dir, unsaved: Unsaved::Uncommitted(_) } => of(ErrorKind::Usage)
                .hint(format!(
                    "`uwf thread merge {thread}` commits it and brings it into the branch checked out where you stand"
                ))
                .hint(format!("look at it: git -C {} status", dir.display()))
                .hint(format!("`uwf thread rm {thread} --discard` removes it all the same; what is committed stays")),
            Verb::Unsaved { thread, dir, .. } => of(ErrorKind::Usage)
                .hint(format!("look at it: git -C {} status", dir.display()))
                .hint(format!("`uwf thread rm {thread} --discard` removes it all the same; what is committed stays")),
            Verb::NoFiles { thread, .. } => of(ErrorKind::NotFound)
                .hint(format!("`uwf thread fork {thread} --cwd DIR` forks the conversation alone")),
            Verb::WithoutWorktree(_) => of(ErrorKind::Usage).hint("`uwf thread start --worktree` gives a thread one"),
            Verb::OtherRepository { .. } => of(ErrorKind::Usage)
                .hint("run this where a branch of that repository is checked out: the one that is to have the work"),
            Verb::RepositoryGone { branch, .. } => of(ErrorKind::NotFound)
                .hint(format!("if it was moved, stand in it and merge there: git merge {branch}"))
                .hint("or move it back"),
            Verb::BranchGone { thread, branch } => of(ErrorKind::NotFound)
                .hint(format!("`uwf thread steps {thread}` lists the steps; the files of each are a commit below refs/uwf/{thread}"))
                .hint(format!("have the branch again: git branch {branch} COMMIT")),
            Verb::NoPack(_) => of(ErrorKind::NotFound).hint("`uwf doctor` names packs that are damaged or missing"),
            Verb::WholePack(_) => of(ErrorKind::Usage).hint("`uwf pack --undo` gives every node a file again"),
            Verb::InItsWorktree { branch, .. } => {
                of(ErrorKind::Usage).hint(format!("stand where the branch is checked out that is to have {branch}"))
            }
            Verb::OtherBranch { .. } => {
                of(ErrorKind::Usage).hint("check it out there, or merge yourself what is to be merged")
            }
            Verb::UnresolvedThere { .. } => {
                of(ErrorKind::Usage).hint("resolve them there first, and `git add` the files")
            }
            Verb::MergeUnderWay { thread, .. } => of(ErrorKind::Usage)
                .hint("conclude it: `git commit`, once its conflicts are resolved and added")
                .hint(format!("or go back to before it: `uwf thread merge {thread} --abort`")),
            Verb::Staged(_) => of(ErrorKind::Usage).hint("commit them, or unstage them: `git restore --staged .`"),
            Verb::Conflicts { thread, .. } => of(ErrorKind::Waiting)
                .hint("resolve them there, then `git add` these files and `git commit`")
                .hint(format!("or go back to before the merge: `uwf thread merge {thread} --abort`")),
            Verb::NothingToAbort { .. } => of(ErrorKind::Usage).hint("`git status` tells what is under way there"),
            Verb::NothingBefore(_) => of(ErrorKind::Usage).hint("name two steps, or two threads"),
            Verb::NoFilesOf(_) => of(ErrorKind::NotFound)
                .hint("files are recorded of threads that work in a worktree: `uwf thread start --worktree`")
                .hint("stand in the repository of the thread, or name the thread"),
            Verb::TwoRepositories(..) => of(ErrorKind::Usage),
            Verb::ChildNotBegun(_) => of(ErrorKind::Internal),
        };
        Error { source: Some(Box::new(error)), ..edge }
    }
}

fn lists_steps(thread: &ThreadId) -> String {
    format!("`uwf thread steps {thread}` lists its steps")
}

fn with_what_is_there(error: Error, instead: &Instead) -> Error {
    match instead {
        Instead::NoRegistry(file) => error.hint(format!("{} is gone: {}", file.display(), NAMES_ARE_LOST)),
        Instead::ForPersons(file) => error
            .hint(format!(
                "{} counts only when a person starts a thread, or binds it anew: `uwf run THREAD --agent ROLE=AGENT`",
                file.display()
            ))
            .hint(format!("`uwf workflow put {}` stores it for all", file.display())),
        Instead::Near(near) => error.hint(format!("did you mean `{near}`?")),
        Instead::NoFile(path) => error.hint(format!("the file {} does not exist", path.display())),
        Instead::Nothing => error.hint("`uwf workflow list` shows what there is; a path to a YAML file works too"),
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

fn store_kind(source: &StoreError) -> ErrorKind {
    match source {
        StoreError::NotFound { .. } | StoreError::NoSuchPrefix { .. } => ErrorKind::NotFound,
        StoreError::BadHash(_) | StoreError::AmbiguousPrefix { .. } => ErrorKind::Usage,
        StoreError::Io { .. } => ErrorKind::Io,
        StoreError::Busy { .. } => ErrorKind::Busy,
        StoreError::Remote(remote) => remote_kind(remote.fault),
        _ => ErrorKind::Data,
    }
}

fn of_store(mut error: Error, source: &StoreError) -> Error {
    if let StoreError::Corrupt { hash, .. } = source {
        if *hash == json_cas::bootstrap::HASH || OWN_TYPES.iter().any(|own| own.hash == *hash) {
            error = error.hint("it is one of uwf's own types: `uwf recover` stores it again");
        }
        error = error.hint(format!("`uwf cas verify {hash}` checks it; putting the same content again repairs it"));
    }
    if let StoreError::DamagedPack { .. } = source {
        error =
            error.hint("restore that file from a backup; nodes that are not in it can be read and stored all the same")
                .hint("if there is no backup: `uwf pack --forget NAME` takes out of it what can be read, and gives up the rest");
    }
    if let StoreError::Collision { hash } = source {
        error = error.hint(format!("`uwf cas get {hash}` shows the other one, which is the file cas/{hash}.bin"));
    }
    if let StoreError::Remote(remote) = source {
        error = error.hint(about_remote(remote));
    }
    when_full(error, source.is_disk_full())
}

fn heads_kind(source: &HeadsError) -> ErrorKind {
    match source {
        HeadsError::Busy { .. } => ErrorKind::Busy,
        HeadsError::Unreadable { .. } => ErrorKind::Data,
        HeadsError::Io { .. } => ErrorKind::Io,
        HeadsError::Remote(remote) => remote_kind(remote.fault),
        HeadsError::BadName { .. } | HeadsError::Removed { .. } | HeadsError::BadRecord { .. } => ErrorKind::Internal,
    }
}

fn of_heads(mut error: Error, source: &HeadsError) -> Error {
    if let HeadsError::Unreadable { path, .. } = source {
        error = error
            .hint(format!("nothing was changed; repair {} or restore it from a backup", path.display()))
            .hint("`uwf recover` makes it anew from the records of the threads; `uwf recover --dry-run` tells how");
    }
    if let HeadsError::Remote(remote) = source {
        error = error.hint(about_remote(remote));
    }
    when_full(error, source.is_disk_full())
}

fn remote_kind(fault: RemoteFault) -> ErrorKind {
    match fault {
        RemoteFault::Unreachable => ErrorKind::Busy,
        RemoteFault::Failed => ErrorKind::Io,
        RemoteFault::Missing => ErrorKind::NotFound,
        RemoteFault::Denied
        | RemoteFault::NotReady
        | RemoteFault::Incomplete
        | RemoteFault::Newer
        | RemoteFault::Foreign
        | RemoteFault::Misnamed
        | RemoteFault::Unfit => ErrorKind::Config,
    }
}

/// What to do about a store elsewhere that cannot be used.
fn about_remote(remote: &RemoteError) -> String {
    let is_of = |scheme: &str| remote.store.starts_with(scheme);
    let (is_postgres, is_google, is_azure) = (is_of("postgres"), is_of("gs://"), is_of("az://"));
    match remote.fault {
        RemoteFault::Unreachable => "nothing is lost: try again; is the URL right (`uwf store show`), and the network there?".into(),
        RemoteFault::Failed => "nothing is lost: try again".into(),
        RemoteFault::Denied if is_postgres => {
            "it may want a password (PGPASSWORD, PGPASSFILE), a user who may read and write the tables, or another `sslmode` in the URL".into()
        }
        RemoteFault::Denied if is_google => {
            "credentials come from GOOGLE_APPLICATION_CREDENTIALS, `gcloud auth application-default login` or the machine; the role Storage Object User allows what is needed".into()
        }
        RemoteFault::Denied if is_azure => {
            "AZURE_STORAGE_ACCOUNT names the account, AZURE_STORAGE_KEY has its key; of others the role Storage Blob Data Contributor allows what is needed: `uwf help shared-store`".into()
        }
        RemoteFault::Denied => {
            "keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or a profile (AWS_PROFILE); they must allow get, put, list and delete".into()
        }
        RemoteFault::Missing if is_postgres => "create the database: `createdb NAME`, then `uwf store init`".into(),
        RemoteFault::Missing if is_azure => "create the container first; uwf does not".into(),
        RemoteFault::Missing => "create the bucket first; uwf does not".into(),
        RemoteFault::NotReady => "`uwf store init` makes it ready".into(),
        RemoteFault::Incomplete => "nothing was changed; bring back what is missing from a backup of the store".into(),
        RemoteFault::Newer => "nothing was changed; install that uwf here".into(),
        RemoteFault::Foreign => "nothing was changed; name another prefix, database or schema".into(),
        RemoteFault::Misnamed => "UWF_STORE_URL or `store.url` of config.yaml names it: `uwf help configuration`".into(),
        RemoteFault::Unfit => "several machines would overwrite each other there: use a server that has conditional writes".into(),
    }
}

fn when_full(error: Error, is_full: bool) -> Error {
    if is_full { error.hint(FREE_SPACE) } else { error }
}
