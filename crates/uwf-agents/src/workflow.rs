//! The agent that is a workflow: a child thread plays the role, step by step, each step with its own keeper.
//!
//! Every attempt finds the same child. Whatever ends this process (a crash, Ctrl-C, a wait, a limit) therefore costs no step of the child:
//! the next attempt continues with it.

mod child_output;
mod child_report;

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use agent_kit::answer::AgentAnswer;
use agent_kit::ladder::ExtractionLadder;
use agent_kit::play::give_up;
use agent_kit::{AgentContext, Error, ErrorKind, Result, submit};
use json_cas::NodeHash;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use uwf_core::node::EndStatus;
use uwf_core::prompt::AnswerForm;
use uwf_core::thread::ThreadId;
use uwf_core::usage::ThreadLimits;
use uwf_core::workflow::is_text;
use uwf_engine::attempt::agent_process::SignalListener;
use uwf_engine::attempt::agents::{AgentSpec, delegation};
use uwf_engine::attempt::bindings::{AgentBindings, AgentReference};
use uwf_engine::attempt::child_threads::{self, Child};
use uwf_engine::attempt::recorded::{self, AttemptOpening};
use uwf_engine::attempt::settings::ThreadSettings;
use uwf_engine::attempt::{elsewhere, keeper, leftover};
use uwf_engine::root::history::{self, HistoryLine};
use uwf_engine::root::home::Home;
use uwf_engine::root::{lock, project};
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::{message, nodes};
use uwf_engine::verbs::start_child::{self, ChildTask};
use uwf_engine::verbs::step::{self, StepReport, StepRequest, UpcomingRole};

use crate::extractor::LlmExtractor;
use crate::orphan_answer;
use crate::settings;
pub(crate) use child_output::ChildOutputRelay;
use child_report::ChildOutputExtractor;

/// Share of the prompt budget for previous steps in the child's task; the rest is for the child's own.
pub(crate) const BRIEF_SHARE: usize = 2;

/// Time between two looks at a child that another process is stepping.
const LOOK: Duration = Duration::from_millis(100);

/// The same for a child on another machine, which requires a query to a remote store.
const LOOK_ELSEWHERE: Duration = Duration::from_secs(2);

/// Times in a row that another process may move the child's head during a step, or kill its keeper. Each may cost a whole step.
const MAX_OVERTAKEN: usize = 20;

/// Settings in the `config` of the agent.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WorkflowAgentSettings {
    // Read by `delegation::workflow_of`.
    /// The workflow that plays the role: path, name or hash. The agent's first argument does the same.
    #[serde(rename = "workflow")]
    _workflow: Option<String>,
    /// Role of that workflow → agent, for its child threads. For all others agentOverrides and defaultAgent hold.
    #[schemars(with = "BTreeMap<String, String>")]
    agents: BTreeMap<String, AgentReference>,
    /// Most steps a child thread may have; `maxSteps` of the configuration by default.
    #[schemars(range(min = 1))]
    max_steps: Option<u64>,
}

impl settings::BuiltInSettings for WorkflowAgentSettings {}

/// Plays a role of a thread with a child thread, from its beginning or its current step to its end.
///
/// # Errors
/// `Usage` outside an attempt, `Limit` if threads would be nested too deep, `Waiting` and `Limit` from the child, `AgentFailed` if the
/// child fails or was killed, `NotExtractable` if its result is not an output of this role.
pub fn run(home: &Home, thread: &ThreadId, role: &str) -> Result<()> {
    let context = AgentContext::load(home, thread, role)?;
    let step = play(&context, context.opened()?).inspect_err(|error| {
        // If this process was stopped, the keeper knows why.
        if !matches!(error.kind, ErrorKind::Interrupted | ErrorKind::Terminated) {
            give_up(&context, error, None);
        }
    })?;
    // The record already has it, whether or not stdout is still read.
    let _ = std::io::stdout().write_all(format!("{step}\n").as_bytes());
    Ok(())
}

fn play(context: &AgentContext<'_>, opened: &AttemptOpening) -> Result<NodeHash> {
    let mut signals = SignalListener::listen()?;
    let parent = context.thread();
    let max_depth = project::config_here(parent.home())?.limits.max_depth;
    let child = start_child::find_or_begin(parent, context.role_name(), max_depth, || task(context, opened))?;
    let ended = match start_child::revive_killed(parent, child)? {
        Child::Ended(ended) => ended,
        Child::Active(id) => drive(context, &id, &mut signals)?,
    };
    deliver(context, &ended)
}

/// The workflow that an agent runs.
fn name_of(spec: &AgentSpec) -> Result<&str> {
    delegation::workflow_of(spec).ok_or_else(|| {
        Error::config(format!("agent `{}` names no workflow for the role", spec.name))
            .hint("name it: `{ command: uwf-workflow, args: [WORKFLOW] }`")
    })
}

/// Checks the settings of an agent.
pub(crate) fn check(spec: &AgentSpec) -> Result<()> {
    settings::read::<WorkflowAgentSettings>(spec)?;
    name_of(spec).map(drop)
}

/// The task of the child thread, and its settings.
fn task(context: &AgentContext<'_>, opened: &AttemptOpening) -> Result<ChildTask> {
    let spec = &opened.agent;
    let config: WorkflowAgentSettings = settings::read(spec)?;
    let workflow = name_of(spec)?.to_owned();
    let settings = ThreadSettings {
        workspace: opened.workspace.clone(),
        bound: AgentBindings { agents: config.agents, every_role: None },
        limits: ThreadLimits { max_steps: config.max_steps, ..ThreadLimits::default() },
        ..ThreadSettings::default()
    };
    Ok(ChildTask { workflow, prompt: prompt(context, opened)?, settings, worktree: None })
}

/// The prompt of the child thread.
pub fn prompt(context: &AgentContext<'_>, opened: &AttemptOpening) -> Result<String> {
    context.brief(opened.prompt_budget / BRIEF_SHARE)
}

/// Steps the child until it has ended. The child's own `maxSteps` ends the loop at the latest.
fn drive(context: &AgentContext<'_>, child: &ThreadId, signals: &mut SignalListener) -> Result<HistoryLine> {
    let relay = ChildOutputRelay::new(context.thread().home(), child);
    relay.print_line(&format!("child thread {child}"));
    drive_with(context.thread().home(), child, relay, signals).map_err(|error| match error.kind {
        ErrorKind::Terminated | ErrorKind::Interrupted => error,
        _ => passed_up(context, child, error),
    })
}

/// Steps the thread of a branch until it has ended.
pub(crate) fn drive_branch(
    home: &Home,
    role: &str,
    child: &ThreadId,
    signals: &mut SignalListener,
) -> Result<HistoryLine> {
    let relay = ChildOutputRelay::new(home, child);
    relay.print_line(&format!("branch {role}: thread {child}"));
    drive_with(home, child, relay, signals)
}

/// Whether the step that plays a child thread may ask a person.
fn may_ask(home: &Home, child: &ThreadId) -> bool {
    let parent = child_threads::parent_of(home, child);
    let attempt = parent.and_then(|parent| recorded::read(home, &parent).ok().flatten());
    attempt.is_none_or(|attempt| attempt.opened.ask.asks())
}

fn drive_with(
    home: &Home,
    child: &ThreadId,
    mut relay: ChildOutputRelay<'_>,
    signals: &mut SignalListener,
) -> Result<HistoryLine> {
    let request = StepRequest { no_ask: !may_ask(home, child), ..StepRequest::plain(child.clone()) };
    let mut overtaken = 0;
    loop {
        if home.heads().read(child.as_str())?.is_none() {
            return history::newest_line(home, child)?.ok_or_else(|| gone(child));
        }
        // An earlier keeper may have been killed beside its agent, which is paid for.
        leftover::await_agent(home, child, signals, &mut || relay.relay_new_output())?;
        match step::in_keeper(home, &request, signals, &mut || relay.relay_new_output()) {
            Ok(report) => {
                overtaken = 0;
                relay.print_line(&progress(&report));
                report.files_notes().iter().for_each(|note| relay.print_line(&format!("warning: {note}")));
            }
            Err(busy) if busy.kind == ErrorKind::Busy && overtaken < MAX_OVERTAKEN => {
                overtaken += usize::from(!wait_until_free(home, child, signals, &mut relay)?);
            }
            // This keeper was killed.
            Err(died)
                if died.kind == ErrorKind::Internal
                    && overtaken < MAX_OVERTAKEN
                    && await_answer(home, child, signals, &mut relay)? =>
            {
                overtaken += 1;
            }
            // Its agent may have been killed by the same signal first, which is not a failure of the child.
            Err(error) if signals.stop().is_some() => return Err(Error { kind: ErrorKind::Terminated, ..error }),
            // The child was killed; the next look finds it in the history.
            Err(_) if home.heads().read(child.as_str())?.is_none() => {}
            Err(error) => return Err(error),
        }
    }
}

/// The error for a child thread that was removed.
pub(crate) fn gone(child: &ThreadId) -> Error {
    Error::agent_failed(format!("child thread {child} is gone")).hint("the next step starts it again")
}

/// Waits for the agent of an attempt whose keeper was killed. Returns whether the next step pays nothing twice, also if the process that
/// waited for the agent's program was killed as well.
fn await_answer(
    home: &Home,
    child: &ThreadId,
    signals: &mut SignalListener,
    relay: &mut ChildOutputRelay<'_>,
) -> Result<bool> {
    let has_answer = leftover::await_agent(home, child, signals, &mut || relay.relay_new_output())?;
    Ok(has_answer || orphan_answer::keep(home, child)?)
}

/// Waits while another process steps the child. Returns whether one did. A stop signal to this process also stops a keeper that an earlier,
/// killed process started for the same step: otherwise it would work unwatched.
fn wait_until_free(
    home: &Home,
    child: &ThreadId,
    signals: &mut SignalListener,
    relay: &mut ChildOutputRelay<'_>,
) -> Result<bool> {
    let (mut waited, mut has_stopped_keeper) = (false, false);
    loop {
        let is_elsewhere = elsewhere::is_at_work(home, child)?;
        if !is_elsewhere && !lock::is_held(home, child)? {
            return Ok(waited);
        }
        if signals.stop().is_some() && !has_stopped_keeper {
            has_stopped_keeper = !is_elsewhere && keeper::stop_orphan(home, child)?;
        }
        if signals.stop().is_some() && !has_stopped_keeper {
            return Err(Error::new(ErrorKind::Terminated, "stopped while another process steps the child thread"));
        }
        waited = true;
        signals.wait(if is_elsewhere { LOOK_ELSEWHERE } else { LOOK });
        relay.relay_new_output();
    }
}

/// One line about a step of the child.
fn progress(report: &StepReport) -> String {
    let role = report.role.as_deref().unwrap_or("no role");
    let agent = report.agent.as_ref().map(|agent| format!(" by {agent}")).unwrap_or_default();
    match &report.next {
        Some(UpcomingRole::Role(next)) => format!("{role}{agent} done, next {next}"),
        Some(UpcomingRole::Error(error)) => format!("{role}{agent} done, but {error}"),
        None if report.done => format!("{role}{agent} done, the child thread has ended"),
        None => format!("{role}{agent} done, the child thread is paused"),
    }
}

/// Converts a child's failure for its parent: a wait stays a wait, and everything else is a failure of the agent.
fn passed_up(context: &AgentContext<'_>, child: &ThreadId, error: Error) -> Error {
    let role = context.role_name();
    let parent = &context.thread().id;
    let (kind, message, hints) = match error.kind {
        ErrorKind::Waiting | ErrorKind::Limit => {
            let message = format!("role `{role}` is played by child thread {child}: {}", error.message);
            // Waiting continues only the child, but a step of the parent continues both.
            let of = |thread: &ThreadId| Error::limit_hints(thread.as_str())[0].clone();
            let own = of(child);
            let above = |hint| if hint == own { of(parent) } else { hint };
            (error.kind, message, error.hints.into_iter().map(above).collect())
        }
        _ => {
            let message = format!("child thread {child}, which plays role `{role}`, failed: {}", error.message);
            (ErrorKind::AgentFailed, message, Vec::new())
        }
    };
    Error { hints, cause: error.cause, ..Error::new(kind, message) }
        .hint(format!("`uwf thread show {child}` shows the child; `uwf thread step {parent}` continues with it"))
}

/// Turns the child's result into the output of the parent's role.
fn deliver(context: &AgentContext<'_>, ended: &HistoryLine) -> Result<NodeHash> {
    let child = &ended.thread;
    if ended.status == EndStatus::Killed {
        let message = format!("role `{}`: {}", context.role_name(), child_threads::was_killed(child));
        return Err(
            Error::agent_failed(message).hint(format!("`uwf thread retry {}` continues it", context.thread().id))
        );
    }
    let again = format!("`uwf thread rm {child}`, then a step of this thread starts it again");
    let home = context.thread().home();
    let thread = Thread::load_at(home, child.clone(), ended.head)?;
    let Some(step) = &thread.last else {
        return Err(Error::not_extractable(format!("child thread {child} ended before its first step")).hint(again));
    };
    // The output names the winner of copies, and only the winner counts.
    let last_group = thread.workflow()?.roles.remove(&step.role).and_then(|role| role.more.play);
    let has_branches = last_group.is_some_and(|group| group.copies.is_none());
    let answer = answer(context, home.store().get(step.output)?.payload, step.detail, has_branches)?;
    let rungs = context.opened()?.extract;
    let mut extractor = ChildOutputExtractor { home, ended, role: &step.role, model: LlmExtractor::new(home) };
    let ladder = ExtractionLadder { rungs, feedback: None, extractor: Some(&mut extractor) };
    submit::submit_child(context, answer, AnswerForm::Frontmatter, ladder, ended.head).map_err(|error| Error {
        message: format!("child thread {child} has ended, but {}", error.message),
        ..error.hint(format!("`uwf thread read {child}` shows what it did; {again}"))
    })
}

/// The child's last output if it is valid as it is, otherwise its last text, which may contain the output: after a group, the texts of all its
/// branches. For a text, these include the outputs.
fn answer(context: &AgentContext<'_>, output: Value, detail: NodeHash, has_branches: bool) -> Result<AgentAnswer> {
    let store = context.thread().home().store();
    let is_text = is_text(context.schema().value());
    let text = if has_branches
        && is_text
        && let Some(whole) = message::whole_group(store, detail)?
    {
        Some(whole)
    } else if message::branches_of(store, detail)?.is_empty() {
        let (telling, node) = nodes::telling(store, detail)?;
        message::raw(store, telling, &node)?
    } else {
        message::of_detail(store, detail, None)?
    };
    let fits = |value: &Value| context.violations(value).is_empty();
    let raw = text.unwrap_or_else(|| format!("{output:#}"));
    let empty = Value::from("");
    Ok(if fits(&output) {
        AgentAnswer { raw, ..AgentAnswer::made_by_uwf(output) }
    } else if is_text && raw.trim().is_empty() && fits(&empty) {
        // The child has ended, so no further attempt would find another text.
        AgentAnswer { raw, ..AgentAnswer::made_by_uwf(empty) }
    } else {
        AgentAnswer::text(raw)
    })
}
