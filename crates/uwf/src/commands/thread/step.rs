//! `uwf thread step`

use clap_complete::engine::ArgValueCompleter;
use std::path::PathBuf;

use agent_kit::AgentContext;
use serde::Serialize;
use uwf_core::agent_name::AgentName;
use uwf_core::config::OutputMode;
use uwf_core::moderator::NextAction;
use uwf_core::outcome;
use uwf_core::text::one_line;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::agent_process::SignalListener;
use uwf_engine::attempt::bindings::AgentReference;
use uwf_engine::attempt::branch_outlook;
use uwf_engine::attempt::plan::StepPlan;
use uwf_engine::attempt::recorded::{AttemptOpening, RecordedAttempt};
use uwf_engine::attempt::settings;
use uwf_engine::attempt::worktree::setup::WorktreeSetup;
use uwf_engine::error::ErrorKind;
use uwf_engine::thread::ending::ThreadEnding;
use uwf_engine::thread::load::Thread;
use uwf_engine::thread::moderate::{self, DecisionExplanation};
use uwf_engine::verbs::step::{StepReport, StepRequest, UpcomingRole, expected_head, in_keeper, newest_attempt};
use uwf_engine::views::branch_setups::BranchSetups;
use uwf_engine::views::branches;
use uwf_engine::views::show::{self, ThreadStatus};

use super::args::expect_attempt::ExpectAttempt;
use super::args::expect_head::ExpectHead;
use super::args::which::ThreadArg;
use super::why::explanation::explanation;
use crate::commands::thread::args::agents::output_parser;
use crate::complete;
use crate::context::CommandContext;
use crate::printer::{CommandReport, CommandResult, PrintableReport};
use crate::style;

/// Exit code of a step that ended its thread, with `--exit-code`.
pub(crate) const DONE: u8 = 10;

/// Arguments of `uwf thread step`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  uwf thread step 7Q2M\n  uwf thread step 7Q2M --agent 'my-agent --fast'\n  uwf thread step 7Q2M --dry-run              role, agent and prompt; runs nothing\n  while uwf thread step 7Q2M --exit-code; do :; done"
)]
pub(crate) struct Args {
    #[command(flatten)]
    which: ThreadArg,
    #[command(flatten)]
    expect: ExpectHead,
    #[command(flatten)]
    attempt: ExpectAttempt,
    /// Agent for this step only: an alias, or a command line.
    #[arg(long, value_name = "AGENT")]
    #[arg(add = ArgValueCompleter::new(complete::agents))]
    agent: Option<String>,
    /// Output of the --agent command line: the answer as `text` under a header or as `json`, the exit code (`exit`),
    /// or the hash of the `step` it stored. By default a text; a step if the command names a program `uwf-…`.
    #[arg(long, value_name = "FORM", requires = "agent", value_parser = output_parser())]
    output: Option<OutputMode>,
    /// Directory agents work in from now on; needed once for a thread that was started on another machine.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    cwd: Option<PathBuf>,
    /// Directory agents work in if this machine does not know the thread; a known thread keeps its directory.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, conflicts_with = "cwd")]
    cwd_if_unknown: Option<PathBuf>,
    /// Explain the moderator's decision: each expression, its value, and why it did or did not match.
    #[arg(long)]
    explain: bool,
    /// Show role, agent and the full prompt; run nothing.
    #[arg(long)]
    dry_run: bool,
    /// Read the text of the newest failed attempt again, first its header, then with the extraction model; do not run
    /// the agent.
    #[arg(long, conflicts_with_all = ["agent", "dry_run"])]
    reextract: bool,
    /// Don't let agents ask a person: their prompts do not offer it.
    #[arg(long)]
    no_ask: bool,
    /// If the step plays a group, hand its branches over in this directory, for workers to play. With --dry-run, show no prompts of branches.
    #[arg(long, value_name = "DIR", hide = true)]
    branches_to: Option<PathBuf>,
    /// Exit with 10 when the thread has ended.
    #[arg(long)]
    exit_code: bool,
    /// Whether to try although an agent of the thread is at its usage limit.
    #[arg(skip)]
    forget_limits: bool,
}

impl Args {
    /// Arguments of a plain step that another command runs.
    pub(crate) fn again(
        thread: &ThreadId,
        agent: Option<String>,
        (expect, attempt): (ExpectHead, ExpectAttempt),
        exit_code: bool,
    ) -> Args {
        let which = ThreadArg::named(thread);
        let (output, cwd, cwd_if_unknown, branches_to) = (None, None, None, None);
        let (explain, dry_run, reextract) = (false, false, false);
        let (no_ask, forget_limits) = (false, false);
        Args {
            which,
            expect,
            attempt,
            agent,
            output,
            cwd,
            cwd_if_unknown,
            explain,
            dry_run,
            reextract,
            no_ask,
            branches_to,
            exit_code,
            forget_limits,
        }
    }

    /// The same with a form of the agent's output.
    pub(crate) fn with_output(self, output: Option<OutputMode>) -> Args {
        Args { output, ..self }
    }

    /// The same, although an agent of the thread is at its usage limit.
    pub(crate) fn despite_limits(self) -> Args {
        Args { forget_limits: true, ..self }
    }
}

#[derive(Serialize)]
#[serde(transparent)]
struct StepPrinted {
    report: StepReport,
    /// Whether `--exit-code` was given.
    #[serde(skip)]
    exit_code: bool,
    /// Whether the person named a thread above this one, so that its end is not the end of that thread.
    #[serde(skip)]
    is_child: bool,
}

/// Exit code of a command after its thread ended with this outcome; `exit_code` is whether `--exit-code` was given.
pub(crate) fn end_code(outcome: Option<&str>, exit_code: bool) -> u8 {
    match outcome {
        Some(outcome) if outcome != outcome::SUCCEEDED => outcome::NOT_SUCCEEDED,
        _ if exit_code => DONE,
        _ => 0,
    }
}

/// How a thread ended, in words: its outcome, and the condition or reason.
pub(crate) fn end_in_words(report: &StepReport) -> String {
    ending_in_words(report.outcome.as_deref(), report.condition.as_deref(), report.reason.as_deref())
}

/// The same for the parts of a report.
pub(crate) fn ending_in_words(outcome: Option<&str>, condition: Option<&str>, reason: Option<&str>) -> String {
    let outcome = outcome.unwrap_or(outcome::SUCCEEDED);
    let word = match outcome {
        outcome::SUCCEEDED => style::green("done"),
        _ => style::red(outcome),
    };
    // The word says already that the graph has ended.
    let reason = reason.filter(|reason| *reason != outcome && *reason != outcome::BY_GRAPH);
    condition.or(reason).map_or(word.clone(), |because| format!("{word} ({})", one_line(because)))
}

impl CommandReport for StepPrinted {
    fn text(&self) -> String {
        if self.is_child { step_line(&self.report) } else { text(&self.report) }
    }

    fn exit_code(&self) -> u8 {
        exit_code(&self.report, self.exit_code)
    }
}

/// Exit code of a command that reports this step; `is_asked` is whether `--exit-code` was given.
pub(crate) fn exit_code(report: &StepReport, is_asked: bool) -> u8 {
    if report.done { end_code(report.outcome.as_deref(), is_asked) } else { 0 }
}

/// The role that was played, its agent and the new head; empty if no role was played.
fn step_line(report: &StepReport) -> String {
    let (Some(role), Some(agent)) = (&report.role, &report.agent) else { return String::new() };
    let adopted = if report.adopted { ", taken over from an earlier attempt" } else { "" };
    let denied = denied_calls(&report.denied);
    format!("{} by {agent}: {}{adopted}{denied}\n", style::bold(role), report.head)
}

/// The denied tool calls at the end of a line; empty if there are none.
pub(crate) fn denied_calls(denied: &[String]) -> String {
    if denied.is_empty() {
        String::new()
    } else {
        style::yellow(&format!(", denied: {}", one_line(&denied.join(", "))))
    }
}

/// A step's report as text.
pub(crate) fn text(report: &StepReport) -> String {
    let mut text = String::new();
    if let Some(explained) = &report.explain {
        text.push_str(&explanation("chose", explained));
    }
    text.push_str(&step_line(report));
    if let Some(explained) = &report.explain_next {
        text.push_str(&explanation("next", explained));
    }
    match (&report.next, &report.reason) {
        // The explanation above begins with the role.
        (Some(UpcomingRole::Role(_)), _) if report.explain_next.is_some() => {}
        (Some(UpcomingRole::Role(role)), _) => text.push_str(&format!("next: {role}\n")),
        (Some(UpcomingRole::Error(error)), _) => {
            text.push_str(&format!("{} {error}\n", style::red("next step fails:")));
        }
        (None, Some(_)) => text.push_str(&format!("{}\n", end_in_words(report))),
        (None, None) => {}
    }
    text
}

/// The step that would be run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DryRun {
    workflow: json_cas::NodeHash,
    thread: uwf_core::thread::ThreadId,
    head: json_cas::NodeHash,
    done: bool,
    role: Option<String>,
    #[serde(flatten)]
    agent: Option<AgentName>,
    command: Option<Vec<String>>,
    cwd: PathBuf,
    /// The system message before the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    /// The earlier session that the agent would continue; if the session is gone, the agent gets the whole prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<DecisionExplanation>,
}

impl CommandReport for DryRun {
    fn text(&self) -> String {
        let mut text =
            self.explain.as_ref().map(|explained| explanation("would choose", explained)).unwrap_or_default();
        match (&self.role, &self.agent, &self.command, &self.prompt) {
            (Some(role), Some(agent), Some(command), Some(prompt)) => {
                text.push_str(&format!(
                    "role:    {}\nagent:   {}\ncommand: {}\ncwd:     {}\n\n",
                    style::bold(role),
                    agent.short(),
                    command.join(" "),
                    self.cwd.display()
                ));
                if let Some(session) = &self.session {
                    text.push_str(&format!(
                        "continues its session {session}; if the session is gone, it gets the output of:\n  \
                         uwf agent context {} {} --prompt\n\n",
                        self.thread,
                        branches::as_argument(role)
                    ));
                }
                if let Some(system) = &self.system {
                    text.push_str(&format!("{}\n{system}\n\n{}\n", style::bold("system:"), style::bold("prompt:")));
                }
                text.push_str(&format!("{prompt}\n"));
            }
            _ => {
                let outcome = self.outcome.as_deref().unwrap_or(outcome::SUCCEEDED);
                let because = self.condition.as_ref().map(|condition| format!(" ({condition})")).unwrap_or_default();
                text.push_str(&format!("the thread would end: {outcome}{because}\n"));
            }
        }
        text
    }
}

/// Runs one step.
pub(crate) fn run(context: &CommandContext, args: Args) -> CommandResult {
    let thread = context.thread(args.which.typed())?;
    context.name_thread(&thread);
    // Resolved here: the keeper receives the request as text, so the path must be valid text.
    let cwd = match (args.cwd, args.cwd_if_unknown) {
        (Some(dir), _) => Some(settings::workspace(&context.cwd, &dir)?),
        (None, Some(dir)) => settings::workspace_if_unknown(&context.home, &thread, &context.cwd, &dir)?,
        (None, None) => None,
    };
    let agent = args.agent.map(|agent| AgentReference { agent, output: args.output });
    let (expected_head, expected_attempt) = (args.expect.expected, args.attempt.newest);
    let (explain, reextract) = (args.explain, args.reextract);
    let (forget_limits, no_ask, branches_to) = (args.forget_limits, args.no_ask, args.branches_to);
    let request = StepRequest {
        thread,
        agent,
        cwd,
        explain,
        reextract,
        expected_head,
        expected_attempt,
        forget_limits,
        no_ask,
        branches_to,
    };
    context.name_ignored(settings::project_of(&context.home, &request.thread).ok().flatten().as_ref());
    if args.dry_run {
        return dry_run(context, &request);
    }
    let mut signals = SignalListener::listen()?;
    let mut setups = BranchSetups::before(&context.home, &request.thread);
    let report = in_keeper(&context.home, &request, &mut signals, &mut || {});
    print_setups(context, &mut setups);
    let report = report.or_else(|error| {
        // As `uwf run` reports it, so that a script never takes the end by a supervisor for a missing thread.
        let is_stopped = |report: &StepReport| {
            error.kind == ErrorKind::NotFound && report.outcome.as_deref() == Some(outcome::STOPPED)
        };
        let is_ended = is_ended_by_kill(error.kind, &signals);
        completed(context, &request.thread).filter(|report| is_ended || is_stopped(report)).ok_or(error)
    })?;
    printed(context, report, args.exit_code)
}

/// Whether a step may have failed because another process killed the thread: `kill` stops the keeper, or a child thread first, whose end fails
/// the step. A signal to this process does not count.
pub(crate) fn is_ended_by_kill(failure: ErrorKind, signals: &SignalListener) -> bool {
    (failure.is_stop() || failure == ErrorKind::AgentFailed) && signals.stop().is_none()
}

/// The report of a thread that has ended earlier.
pub(crate) fn completed(context: &CommandContext, thread: &ThreadId) -> Option<StepReport> {
    let shown = show::show(&context.home, thread).ok().filter(|shown| shown.done)?;
    let standing = StepReport::standing(shown.workflow, thread.clone(), shown.head).with_task(&shown.task);
    let ThreadStatus { why: reason, outcome, condition, return_code, .. } = shown;
    Some(StepReport { done: true, reason, outcome, condition, return_code, ..standing })
}

/// Renders the report of a step of a child thread, if the person named a thread above it.
pub(crate) fn printed_child(context: &CommandContext, report: StepReport, exit_code: bool) -> CommandResult {
    printed_as(context, StepPrinted { report, exit_code, is_child: true })
}

/// Renders a step's report; with `exit_code` the command exits with 10 if the thread has ended.
pub(crate) fn printed(context: &CommandContext, report: StepReport, exit_code: bool) -> CommandResult {
    printed_as(context, StepPrinted { report, exit_code, is_child: false })
}

/// Says what was copied into the new worktrees of branches, and what prepared them.
pub(crate) fn print_setups(context: &CommandContext, setups: &mut BranchSetups<'_>) {
    let (lines, warnings) = setups.new_lines();
    lines.iter().for_each(|line| context.printer.talk(line));
    warnings.iter().for_each(|warning| context.printer.warn(warning));
}

fn printed_as(context: &CommandContext, printed: StepPrinted) -> CommandResult {
    let report = &printed.report;
    if report.reason.as_deref() == Some(outcome::NO_MATCH) {
        context
            .printer
            .warn("no transition matched, so the thread ended; fork it and step the fork with `--explain` to see why");
    }
    for line in report.setup.iter().flat_map(WorktreeSetup::lines) {
        context.printer.talk(&line);
    }
    for note in report.files_notes() {
        context.printer.warn(&note);
    }
    PrintableReport::new(&printed)
}

fn dry_run(context: &CommandContext, request: &StepRequest) -> CommandResult {
    let home = &context.home;
    let head = expected_head::head(home, &request.thread, request.expected_head)?;
    newest_attempt::check(home, &request.thread, head.hash, request.expected_attempt)?;
    let thread = Thread::load_at(home, request.thread.clone(), head.hash)?;
    let plan = StepPlan::load(&thread, request.cwd.as_ref())?;
    let plan = if request.no_ask { plan.without_questions() } else { plan };
    let decision = moderate::next(&thread, &plan.workflow)?;
    let mut report = DryRun {
        workflow: thread.start.workflow,
        thread: request.thread.clone(),
        head: head.hash,
        done: false,
        role: None,
        agent: None,
        command: None,
        cwd: plan.settings.workspace.clone(),
        system: None,
        session: None,
        prompt: None,
        reason: None,
        outcome: None,
        condition: None,
        explain: request.explain.then(|| branch_outlook::explain(&thread, &plan.workflow, &decision)),
    };
    match &decision.next {
        NextAction::End(_) => {
            let ThreadEnding { reason, outcome, condition, .. } = ThreadEnding::by(&decision);
            (report.reason, report.outcome, report.condition) = (Some(reason), Some(outcome), condition);
        }
        NextAction::Role(role) => {
            let available = match &request.agent {
                Some(_) => None,
                None => plan.available_agent(home, role, |_| None)?,
            };
            let (spec, fallback_for) = match available {
                Some(available) => available,
                None => (plan.agent(role, request.agent.as_ref())?, None),
            };
            let mut command = vec![spec.command.clone()];
            command.extend(spec.args.iter().cloned());
            let planned = plan.attempt(&thread, role, spec.clone())?;
            let attempt = RecordedAttempt::begun(AttemptOpening { fallback_for, ..planned });
            let plays_elsewhere = request.branches_to.is_some() && plan.role(role)?.more.play.is_some();
            // Other machines may have the agents of the branches.
            if !plays_elsewhere {
                let sent = uwf_agents::sent(&AgentContext::for_role(thread, role, Some(attempt))?)?;
                report.system = sent.system;
                report.session = sent.session;
                report.prompt = Some(sent.prompt);
            }
            report.role = Some(role.clone());
            report.agent = Some(spec.names());
            report.command = Some(command);
        }
    }
    PrintableReport::new(&report)
}
