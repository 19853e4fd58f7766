//! Errors of commands.

use json_cas::nearest;
use uwf_core::thread::ThreadId;

use super::store::{of_store, store_kind};
use crate::attempt::worktree::Unsaved;
use crate::error::verb_error::{Instead, VerbError};
use crate::error::{Error, ErrorKind};
use crate::root::registry::Gone;

impl From<VerbError> for Error {
    fn from(error: VerbError) -> Error {
        use VerbError as Verb;
        let of = |kind| Error::new(kind, error.to_string());
        let edge = match &error {
            Verb::Active(thread) => of(ErrorKind::Usage).hint(format!("`uwf thread kill {thread}` ends it first")),
            Verb::Paused { paused, .. } => {
                of(ErrorKind::Waiting).hint(format!("`uwf thread resume {paused}` resumes it"))
            }
            Verb::MovedOn { thread, .. } | Verb::TriedSince { thread, .. } | Verb::EndedSince { thread, .. } => {
                of(ErrorKind::Busy).hint(format!("nothing was changed; `uwf thread show {thread}` shows where it stands"))
            }
            Verb::SecretInWorkflow { .. } => {
                of(ErrorKind::Data).hint("take it out: agents are given secrets by `env` in config.yaml")
            }
            Verb::BadName { .. } => of(ErrorKind::Usage).hint("use words joined by `-`"),
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
            Verb::UnenforcedLimits(_) => of(ErrorKind::Config)
                .hint("`maxSteps` and `maxTime` work with every agent; `maxCost` works with tokens and a price in `prices` of config.yaml")
                .hint("without --strict-limits the thread starts with a warning"),
            Verb::EmptyPrompt => {
                of(ErrorKind::Usage).hint("say what the thread is to do: `-p 'TEXT'`, or `-p -` to read it from stdin")
            }
            Verb::OtherThread { thread, .. } => {
                of(ErrorKind::Usage).hint(format!("choose another id; `uwf thread show {thread}` shows that thread"))
            }
            Verb::RecordedId(_) => of(ErrorKind::Usage)
                .hint("choose another id, or have that thread again: `uwf recover --dry-run` shows what is known of it"),
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
                of(ErrorKind::Usage).hint(format!("`uwf thread step {thread}` continues with it"))
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
                .hint(format!("nothing of this one was recorded; `uwf thread step {thread}` continues with that reply")),
            Verb::OtherReply { thread, reply } => of(ErrorKind::Busy)
                .hint(format!("`uwf cas get {reply}` shows it, `uwf thread step {thread}` continues with it"))
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
            Verb::RegistryGone(gone @ Gone::Head(_)) => of(ErrorKind::Data).hint(gone.remedy()),
            Verb::RegistryGone(Gone::File(_)) => of(ErrorKind::Data)
                .hint("restore it from a backup")
                .hint("or register a workflow again: `uwf workflow put FILE`"),
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
                of(ErrorKind::NotFound).hint(format!("`uwf thread fork {step}` continues from it"))
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
            Verb::OtherMerge(_) => of(ErrorKind::Busy).hint("repeat it when that one has ended"),
            Verb::Staged(_) => of(ErrorKind::Usage).hint("commit them, or unstage them: `git restore --staged .`"),
            Verb::Conflicts { thread, .. } => of(ErrorKind::Waiting)
                .hint("resolve them there, then `git add` these files and `git commit`")
                .hint(format!("or go back to before the merge: `uwf thread merge {thread} --abort`")),
            Verb::NothingToAbort { .. } => of(ErrorKind::Usage).hint("`git status` shows what is under way there"),
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
        Instead::NoRegistry(gone) => error.hint(format!("{gone}: {}", gone.remedy())),
        Instead::ForPersons(file) => error
            .hint(format!(
                "{} counts only when a person starts a thread, or binds it again: `uwf run THREAD --agent ROLE=AGENT`",
                file.display()
            ))
            .hint(format!("`uwf workflow put {}` stores it for all", file.display())),
        Instead::Near(near) => error.hint(format!("did you mean `{near}`?")),
        Instead::NoFile(path) => error.hint(format!("the file {} does not exist", path.display())),
        Instead::Nothing => error.hint("`uwf workflow list` shows what there is; a path to a YAML file works too"),
    }
}
