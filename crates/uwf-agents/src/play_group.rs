//! The agent that plays a group: starts a thread for the group and one for each branch, and steps the branches at the same time, each step
//! with its own keeper.
//!
//! Every attempt finds the same threads. So whatever ends this process costs no step of a branch, and a retry plays only the branches that
//! have not ended.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use agent_kit::answer::Answer;
use agent_kit::ladder::Ladder;
use agent_kit::play::give_up;
use agent_kit::{AgentContext, Error, ErrorKind, Result, submit};
use json_cas::Hash;
use serde_json::{Map, Value};
use uwf_core::node::{EndStatus, Payload};
use uwf_core::prompt::AnswerForm;
use uwf_core::thread::ThreadId;
use uwf_core::workflow::{GROUP_AGENT, RoleGroup, Workflow};
use uwf_engine::attempt::agent_process::Signals;
use uwf_engine::attempt::child_threads::Child;
use uwf_engine::attempt::recorded::Opened;
use uwf_engine::attempt::settings::Settings as ThreadSettings;
use uwf_engine::root::history::Finished;
use uwf_engine::root::home::Home;
use uwf_engine::root::{project, trusted_workflows};
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::moderate;
use uwf_engine::thread::steps::Parts;
use uwf_engine::verbs::end_group::{EndedBranch, end_group};
use uwf_engine::verbs::start_child::{self, Task};

use crate::workflow;

/// Plays the group that is a role of a thread.
///
/// # Errors
/// `Usage` outside an attempt, `Waiting` and `Limit` if branches wait or are at a limit, `AgentFailed` if branches failed, errors of the
/// conditions and nodes.
pub(crate) fn run(home: &Home, thread: &ThreadId, role: &str) -> Result<()> {
    let context = AgentContext::load(home, thread, role)?;
    let step = play(&context).inspect_err(|error| {
        // If this process was stopped, the keeper knows why.
        if !matches!(error.kind, ErrorKind::Interrupted | ErrorKind::Terminated) {
            give_up(&context, error, None);
        }
    })?;
    // The record already has it, whether or not stdout is still read.
    let _ = std::io::stdout().write_all(format!("{step}\n").as_bytes());
    Ok(())
}

/// A group about to be played.
struct GroupAttempt<'c, 'h> {
    context: &'c AgentContext<'h>,
    opened: &'c Opened,
    workflow: Workflow,
    max_depth: u32,
}

/// The result of one branch.
enum BranchResult {
    Ended(Hash),
    Failed(Error),
}

fn play(context: &AgentContext<'_>) -> Result<Hash> {
    let opened = context.opened()?;
    let home = context.thread().home();
    let group = context.role().more.play.clone().ok_or_else(|| {
        Error::config(format!(
            "role `{}` does not play other roles, so `{GROUP_AGENT}` cannot play it",
            context.role_name()
        ))
    })?;
    if let Some(key) = group.unsupported() {
        return Err(Error::config(format!("this version of uwf cannot play a group with `{key}`"))
            .hint("update uwf, then step the thread again"));
    }
    let max_depth = project::config_here(home)?.limits.max_depth;
    let playing = GroupAttempt { context, opened, workflow: context.thread().workflow()?, max_depth };
    let roles = playing.branches(&group)?;
    if roles.is_empty() {
        let ladder = Ladder { rungs: opened.extract, feedback: None, extractor: None };
        return submit::submit(context, Answer::value(Value::Object(Map::new())), AnswerForm::Json, ladder);
    }
    let ended = match playing.find_or_begin(&roles)? {
        Child::Ended(ended) => ended,
        Child::Active(id) => {
            let steps = playing.play_branches(&id, &roles, group.max())?;
            end_group(home, &id, &steps)?
        }
    };
    playing.deliver(&ended)
}

impl GroupAttempt<'_, '_> {
    /// The roles to play: those whose conditions hold.
    fn branches(&self, group: &RoleGroup) -> Result<Vec<String>> {
        let mut roles = Vec::with_capacity(group.roles.len());
        for branch in &group.roles {
            if moderate::holds(self.context.thread(), &self.workflow, branch.condition.as_deref())? {
                roles.push(branch.role.clone());
            }
        }
        Ok(roles)
    }

    /// The thread of the group.
    fn find_or_begin(&self, roles: &[String]) -> Result<Child> {
        let (parent, name) = (self.context.thread(), self.context.role_name());
        let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
        // From storing its workflow until the head refers to it.
        let _hold = parent.home().hold_nodes()?;
        start_child::find_or_begin(parent, name, self.max_depth, || {
            let workflow = self.workflow.group(name, &roles).ok_or_else(|| no_role(name))?;
            self.task(&workflow, false)
        })
    }

    /// The task of a group's thread, or of a branch.
    fn task(&self, workflow: &Workflow, is_branch: bool) -> Result<Task> {
        let home = self.context.thread().home();
        let own = ThreadSettings::load(home, &self.context.thread().id)?;
        let settings = ThreadSettings {
            workspace: self.opened.workspace.clone(),
            bound: own.map(|own| own.bound).unwrap_or_default(),
            ..ThreadSettings::default()
        };
        let prompt = self.context.branch_brief(self.opened.prompt_budget / workflow::BRIEF_SHARE)?;
        let hash = home.store().put(&workflow.draft())?;
        // A branch runs the commands of the workflow that plays it.
        if trusted_workflows::allows(home, self.context.thread().start.workflow, &self.workflow)? {
            trusted_workflows::trust(home, hash, workflow)?;
        }
        Ok(Task { workflow: hash.to_string(), prompt, settings, is_branch })
    }

    /// Steps all branches to their ends, at most `max` at the same time. A branch that fails or waits does not stop the others.
    fn play_branches(&self, group: &ThreadId, roles: &[String], max: usize) -> Result<Vec<EndedBranch>> {
        let home = self.context.thread().home();
        let (thread, _) = Thread::active(home, group)?;
        let mut children = Vec::with_capacity(roles.len());
        let hold = home.hold_nodes()?;
        for role in roles {
            children.push(start_child::find_or_begin(&thread, role, self.max_depth, || {
                let workflow = self.workflow.branch(role).ok_or_else(|| no_role(role))?;
                self.task(&workflow, true)
            })?);
        }
        drop(hold);
        let next = AtomicUsize::new(0);
        let (send, receive) = mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..max.min(roles.len()) {
                let (next, children, send) = (&next, &children, send.clone());
                scope.spawn(move || {
                    loop {
                        let position = next.fetch_add(1, Ordering::Relaxed);
                        let Some(child) = children.get(position) else { return };
                        // The receiver lives until every sender is done.
                        let _ = send.send((position, branch(home, &roles[position], child)));
                    }
                });
            }
        });
        drop(send);
        let mut results: Vec<(usize, BranchResult)> = receive.iter().collect();
        results.sort_by_key(|(position, _)| *position);
        let results = results.into_iter().map(|(position, result)| (roles[position].clone(), result)).collect();
        ended(self.context, results)
    }

    /// Turns the outputs of the branches into the output of the parent's role.
    fn deliver(&self, ended: &Finished) -> Result<Hash> {
        let home = self.context.thread().home();
        if ended.status == EndStatus::Killed {
            let message = format!("thread {} of the group was killed", ended.thread);
            return Err(Error::agent_failed(message)
                .hint(format!("`uwf thread rm {}`, then a step of this thread plays the group again", ended.thread)));
        }
        let thread = Thread::at(home, ended.thread.clone(), ended.head)?;
        let mut output = Map::new();
        for index in 0..thread.chain()?.len() {
            let step = thread.step(index, Parts::NONE)?;
            output.insert(step.role, step.output);
        }
        let ladder = Ladder { rungs: self.opened.extract, feedback: None, extractor: None };
        let answer = Answer::value(Value::Object(output));
        submit::submit_child(self.context, answer, AnswerForm::Json, ladder, ended.head)
    }
}

fn no_role(name: &str) -> Error {
    Error::data(format!("the workflow has no role `{name}`"))
}

/// Steps a branch to its end.
fn branch(home: &Home, role: &str, child: &Child) -> BranchResult {
    let ended = match child {
        Child::Ended(ended) => Ok(ended.clone()),
        Child::Active(id) => {
            Signals::listen().and_then(|mut signals| workflow::drive_branch(home, role, id, &mut signals))
        }
    };
    match ended {
        Ok(ended) if ended.status == EndStatus::Killed => {
            let id = &ended.thread;
            BranchResult::Failed(
                Error::agent_failed("it was killed")
                    .hint(format!("`uwf thread rm {id}`, then a retry starts the branch again")),
            )
        }
        Ok(ended) => BranchResult::Ended(ended.head),
        Err(error) => BranchResult::Failed(error),
    }
}

/// The steps of the branches, if all have ended. Otherwise the most urgent error: a failure comes before a limit, and a limit before a
/// wait.
fn ended(context: &AgentContext<'_>, results: Vec<(String, BranchResult)>) -> Result<Vec<EndedBranch>> {
    let mut steps = Vec::with_capacity(results.len());
    let mut errors: Vec<(String, Error)> = Vec::new();
    for (role, result) in results {
        match result {
            BranchResult::Ended(step) => steps.push(EndedBranch { role, step }),
            BranchResult::Failed(error) => errors.push((role, error)),
        }
    }
    let urgency = |error: &Error| match error.kind {
        ErrorKind::Interrupted | ErrorKind::Terminated => 0,
        ErrorKind::Limit => 2,
        ErrorKind::Waiting => 3,
        _ => 1,
    };
    let Some(first) = errors.iter().map(|(_, error)| urgency(error)).min() else { return Ok(steps) };
    let lines: Vec<String> =
        errors.iter().map(|(role, error)| format!("branch `{role}`: {}", error.message.trim_end())).collect();
    let (_, most) = errors.iter().find(|(_, error)| urgency(error) == first).unwrap_or(&errors[0]);
    let kind = match most.kind {
        kind @ (ErrorKind::Interrupted | ErrorKind::Terminated | ErrorKind::Limit | ErrorKind::Waiting) => kind,
        _ => ErrorKind::AgentFailed,
    };
    let parent = &context.thread().id;
    let error = Error::new(kind, lines.join("\n"));
    Err(match kind {
        ErrorKind::AgentFailed => {
            error.hint(format!("`uwf thread retry {parent}` plays only the branches that have not ended"))
        }
        _ => Error { hints: most.hints.clone(), ..error },
    })
}
