//! The activities: a step is `uwf thread step`, a process.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use temporalio_client::WorkflowDescribeOptions;
use temporalio_common::UntypedWorkflow;
use temporalio_common::protos::temporal::api::enums::v1::{PendingActivityState, WorkflowExecutionStatus};
use temporalio_macros::activities;
use temporalio_sdk::ApplicationFailure;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::sync::{Semaphore, watch};

use crate::address::identity;
use crate::messages::{Ended, Position, Standing, name};
use crate::tries::Tries;
use crate::uwf::{Ran, Uwf};

/// How often Temporal hears that a step continues, and we whether it is wanted no more.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(2);

/// How long a step waits for another try when all places of this worker are taken.
const TAKEN: Duration = Duration::from_secs(1);

/// How long a worker that cannot do something leaves it to others.
const ELSEWHERE: Duration = Duration::from_secs(1);

/// A thread that was started on another machine works where this worker was started; one that this machine knows, where it worked
/// before.
const HERE: [&str; 2] = ["--cwd-if-unknown", "."];

/// The program of the agent that is a person.
const PERSON: &str = "uwf-human";

/// How far a worker is with ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It takes steps.
    Working,
    /// It takes none, and lets those that run end.
    Draining,
    /// It ends those that run, so that other workers take them.
    HandingOver,
}

/// A thread to begin.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Forking {
    /// The start it shares with others.
    pub(crate) start: String,
    /// Its id.
    pub(crate) thread: String,
}

/// What activities of a worker share.
#[derive(Clone)]
pub(crate) struct Steps {
    pub(crate) uwf: Uwf,
    /// A place for each agent that may run at once.
    pub(crate) places: Arc<Semaphore>,
    pub(crate) phase: watch::Receiver<Phase>,
    /// What people who watch the worker read.
    pub(crate) say: Arc<dyn Fn(&str) + Send + Sync>,
}

/// Why a step was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// Its workflow was cancelled, or ended.
    Unwanted,
    /// The worker ends.
    HandOver,
}

/// What a look at a thread gives.
enum Seen {
    Standing(Standing),
    /// This machine cannot tell: what it said, and its exit code, 69 or 78.
    NotHere(Ran, u8),
}

#[activities]
impl Steps {
    /// Looks where a thread stands, and runs nothing.
    #[activity(name = "uwf.look")]
    pub(crate) async fn look(self: Arc<Self>, ctx: ActivityContext, thread: String) -> Result<Standing, ActivityError> {
        match self.seen(&thread).await? {
            Seen::Standing(standing) => Ok(standing),
            Seen::NotHere(ran, code) => self.not_here(&ctx, &thread, &ran, code).await,
        }
    }

    /// Begins a thread from the start of another one.
    #[activity(name = "uwf.fork")]
    pub(crate) async fn fork(self: Arc<Self>, _ctx: ActivityContext, forking: Forking) -> Result<(), ActivityError> {
        let Forking { start, thread } = &forking;
        let args = ["thread", "fork", start, "--id", thread];
        let ran = self.uwf(thread, &args, std::future::pending()).await?;
        (self.say)(&match ran.code {
            Some(0) => format!("thread {thread}: begun by a schedule"),
            _ => format!("thread {thread} cannot be begun: {}", ran.message()),
        });
        match ran.code {
            Some(0) => Ok(()),
            code => Err(later(&format!("the thread cannot be begun (exit code {})", code.unwrap_or_default()), None)),
        }
    }

    /// Does a step. A head that has moved on is no failure: somebody did it, maybe an earlier try of this activity.
    #[activity(name = "uwf.step")]
    pub(crate) async fn step(self: Arc<Self>, ctx: ActivityContext, at: Position) -> Result<Standing, ActivityError> {
        let Ok(_place) = self.places.try_acquire() else {
            return Err(later("every place of this worker is taken", Some(TAKEN)));
        };
        let Position { thread, head } = &at;
        (self.say)(&format!("thread {thread}: step after {head}"));
        let mut heartbeats = std::pin::pin!(heartbeats(&ctx));
        let mut stop = None;
        let args = ["thread", "step", thread, "--expect-head", head, HERE[0], HERE[1]];
        let ran = {
            let ended = async { stop = Some(self.stopped(&ctx).await) };
            let running = self.uwf(thread, &args, ended);
            tokio::select! {
                ran = running => ran?,
                () = &mut heartbeats => unreachable!("heartbeats do not end"),
            }
        };
        let outcome = self.outcome(&ctx, &at, &ran);
        match (stop, ran.code) {
            (Some(Stop::Unwanted), _) => {
                (self.say)(&format!("thread {thread}: ended, as asked"));
                Err(ActivityError::cancelled())
            }
            (Some(Stop::HandOver), code) if code != Some(0) => {
                (self.say)(&format!("thread {thread}: handed over"));
                Err(later("the worker ended, and hands the step over", None))
            }
            // Looking what is next takes its time, too.
            _ => tokio::select! {
                biased;
                outcome = outcome => outcome,
                () = heartbeats => unreachable!("heartbeats do not end"),
            },
        }
    }
}

impl Steps {
    /// Runs the command. That it cannot be run is wrong with this machine, so it is said here.
    async fn uwf(&self, thread: &str, args: &[&str], ended: impl Future<Output = ()>) -> Result<Ran, ActivityError> {
        self.uwf.run(args, ended).await.map_err(|error| {
            let (program, cwd) = (self.uwf.program.display(), self.uwf.cwd.display());
            (self.say)(&format!("thread {thread}: cannot run {program} in {cwd}: {error}"));
            later(&format!("uwf cannot be run: {}", error.kind()), Some(ELSEWHERE))
        })
    }

    /// Ready when the step is to be ended.
    async fn stopped(&self, ctx: &ActivityContext) -> Stop {
        let mut phase = self.phase.clone();
        let handed_over = async {
            if phase.wait_for(|phase| *phase == Phase::HandingOver).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let unwanted = async {
            ctx.cancelled().await;
            // Temporal also calls this cancelled when it has not heard from us for some time. Then the step continues, as it is paid for;
            // whoever tries it again, on whatever machine, finds it running, or the head moved.
            while !is_unwanted(ctx).await.unwrap_or(false) {
                tokio::time::sleep(HEARTBEAT).await;
            }
        };
        tokio::select! {
            () = handed_over => Stop::HandOver,
            () = unwanted => Stop::Unwanted,
        }
    }

    async fn outcome(&self, ctx: &ActivityContext, at: &Position, ran: &Ran) -> Result<Standing, ActivityError> {
        let Position { thread, head } = at;
        let code = ran.code.unwrap_or_default();
        if !matches!(ran.code, Some(0 | 1 | 78)) {
            (self.say)(&format!("thread {thread}: {}", ran.message()));
        }
        match ran.code {
            // 1 if its supervisor killed it.
            Some(0 | 1) if ran.report["done"] == true => Ok(ended(thread, ran, "reason")),
            // The agent that is next may be known on other machines alone.
            Some(0) => Ok(match self.seen(thread).await? {
                Seen::Standing(standing) => standing,
                Seen::NotHere(..) => Standing::Unseen,
            }),
            Some(69 | 74 | 75) => match self.seen(thread).await? {
                Seen::Standing(Standing::Ready { head: now, .. }) if now == *head => match code {
                    69 => self.not_here(ctx, thread, ran, code).await,
                    75 => Err(later("somebody else is at this step", None)),
                    _ => Err(later("files or the store fail", None)),
                },
                Seen::Standing(moved) => Ok(moved),
                Seen::NotHere(ran, code) => self.not_here(ctx, thread, &ran, code).await,
            },
            Some(78) => self.not_here(ctx, thread, ran, 78).await,
            Some(130 | 143) | None => Err(later("the step was ended on its machine", None)),
            Some(code) => Ok(stopped(ran, code)),
        }
    }

    /// Where a thread stands, as a step that is not run tells.
    async fn seen(&self, thread: &str) -> Result<Seen, ActivityError> {
        let look = ["thread", "step", thread, "--dry-run", HERE[0], HERE[1]];
        let ran = self.uwf(thread, &look, std::future::pending()).await?;
        match ran.code {
            Some(0) => {
                let agent = ran
                    .text("alias")
                    .or_else(|| ran.text("agent"))
                    .filter(|_| !is_person(&ran))
                    .and_then(|agent| name(&agent));
                let head = ran.text("head").unwrap_or_default();
                Ok(Seen::Standing(Standing::Ready { head, role: ran.text("role"), agent }))
            }
            Some(69) => {
                let shown = self.uwf(thread, &["thread", "show", thread], std::future::pending()).await?;
                Ok(match shown.code {
                    Some(0) if shown.report["done"] == true => Seen::Standing(ended(thread, &shown, "state")),
                    _ => Seen::NotHere(ran, 69),
                })
            }
            Some(78) => Ok(Seen::NotHere(ran, 78)),
            Some(74 | 75) | None => {
                (self.say)(&format!("thread {thread} cannot be stepped here now: {}", ran.message()));
                Err(later("the worker cannot step the thread now; its log says why", None))
            }
            Some(code) => Ok(Seen::Standing(stopped(&ran, code))),
        }
    }

    /// This machine's configuration or store does not do, or the thread is not in its store. One such worker must not stop what others
    /// can do: they try first.
    async fn not_here(
        &self,
        ctx: &ActivityContext,
        thread: &str,
        ran: &Ran,
        exit_code: u8,
    ) -> Result<Standing, ActivityError> {
        let tries = Tries::before(ctx).and(identity());
        tries.keep(ctx).await;
        let is_final = tries.are_enough();
        let next = if is_final { "it stands still" } else { "left to another worker" };
        (self.say)(&format!("thread {thread}: {}; {next}", ran.message()));
        match is_final {
            true => {
                let state = if exit_code == 78 { "config" } else { "not-found" };
                Ok(Standing::Stopped { head: ran.text("head"), state: state.to_owned(), exit_code, role: role(ran) })
            }
            false => Err(later("the configuration or the store of this worker's machine does not do", Some(ELSEWHERE))),
        }
    }
}

/// Lets Temporal hear that a step continues.
async fn heartbeats(ctx: &ActivityContext) {
    let tries = Tries::before(ctx);
    loop {
        tries.keep(ctx).await;
        tokio::time::sleep(HEARTBEAT).await;
    }
}

/// Whether the workflow does not want the step any more. `None` when it cannot be asked now.
async fn is_unwanted(ctx: &ActivityContext) -> Option<bool> {
    let workflow = ctx.workflow_handle::<UntypedWorkflow>()?;
    let described = workflow.describe(WorkflowDescribeOptions::default()).await.ok()?;
    if described.raw().workflow_execution_info.as_ref()?.status() != WorkflowExecutionStatus::Running {
        return Some(true);
    }
    let id = &ctx.info().activity_id;
    let pending = described.raw().pending_activities.iter().find(|activity| activity.activity_id == *id);
    Some(pending.is_some_and(|activity| activity.state() == PendingActivityState::CancelRequested))
}

fn ended(thread: &str, ran: &Ran, reason: &str) -> Standing {
    let reason = ran.text(reason).unwrap_or_else(|| "completed".to_owned());
    Standing::Ended(Ended { thread: thread.to_owned(), head: ran.text("head").unwrap_or_default(), reason })
}

/// Whether a person plays the role that is next: any worker finds out what is asked.
fn is_person(ran: &Ran) -> bool {
    ran.report["command"][0].as_str().is_some_and(|command| command.rsplit('/').next() == Some(PERSON))
}

/// A thread that does not continue. What was said to whom stays in the store: only states and names of roles are sent.
fn stopped(ran: &Ran, exit_code: u8) -> Standing {
    let kind = ran.report["error"]["kind"].as_str().unwrap_or("failed");
    let state = match ran.report["state"].as_str() {
        Some(state @ ("waiting" | "paused" | "limited" | "stuck")) => state,
        _ => kind,
    };
    Standing::Stopped { head: ran.text("head"), state: state.to_owned(), exit_code, role: role(ran) }
}

fn role(ran: &Ran) -> Option<String> {
    ran.text("atRole").as_deref().and_then(name)
}

/// A failure that Temporal tries again.
fn later(why: &str, delay: Option<Duration>) -> ActivityError {
    let failure = ApplicationFailure::builder(why.to_owned()).maybe_next_retry_delay(delay).build();
    ActivityError::application(failure)
}
