//! Threads on a Temporal server, for the commands. Only in builds with the feature `temporal`.

use std::collections::BTreeMap;
use std::env;
use std::sync::mpsc;
use std::time::Duration;

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::child_threads;
use uwf_engine::attempt::settings::ThreadSettings;
use uwf_engine::error::ErrorKind;
use uwf_temporal::{
    EngineError, ScheduleTemplate, TemporalAction, TemporalAddress, TemporalConnection, TemporalFault,
    TemporalRunHandle, TemporalRunProgress, TemporalRunRequest, TemporalSchedule, TemporalThreadState,
    stopped_in_words,
};

use crate::context::CommandContext;
use crate::error::CommandError;

/// Variable with the server's address, as Temporal's own CLI reads it.
const ADDRESS_VARIABLE: &str = "TEMPORAL_ADDRESS";

/// Variable with the server's namespace.
const NAMESPACE_VARIABLE: &str = "TEMPORAL_NAMESPACE";

/// Variables that set the server's address.
const WHERE: [&str; 3] = [ADDRESS_VARIABLE, "TEMPORAL_PROFILE", "TEMPORAL_CONFIG_FILE"];

/// How long a step may wait for a worker before `uwf run` reports it.
const UNTAKEN: Duration = Duration::from_secs(10);

/// How long a read-only command waits for Temporal.
const LOOK_WITHIN: Duration = Duration::from_secs(2);

/// The reason why a followed thread can't continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FollowObstacle<'a> {
    /// No worker has picked it up.
    Untaken,
    /// Workers retry a step that fails, for this reason.
    InVain(&'a str),
    /// Workers cannot run the thread's workflow, for this reason.
    Failing(&'a str),
    /// A branch of the group that the thread plays cannot continue.
    DelayedBranch {
        /// Its thread.
        thread: &'a str,
        /// The reason.
        why: &'a str,
    },
}

/// How following a thread ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FollowEnd {
    /// The thread has ended.
    Ended,
    /// The thread needs a person to continue.
    Stopped {
        /// The kind of failure that a local step would report.
        kind: ErrorKind,
        /// One line.
        message: String,
    },
    /// The engine no longer runs the thread; its head is unchanged.
    Abandoned(String),
}

/// Converts an engine's failure into a command's.
pub(crate) fn failure(error: EngineError) -> CommandError {
    let kind = match error.fault {
        TemporalFault::Unreachable | TemporalFault::Missing => ErrorKind::NotFound,
        TemporalFault::Refused | TemporalFault::Misconfigured => ErrorKind::Config,
        TemporalFault::Exists | TemporalFault::Nonsense => ErrorKind::Usage,
        TemporalFault::Other => ErrorKind::Internal,
    };
    CommandError { hints: error.hint.into_iter().collect(), ..CommandError::new(kind, error.message) }
}

/// Connects to the server that arguments, variables or `config.yaml` name, in this order.
pub(crate) fn connect(context: &CommandContext, named: TemporalAddress) -> Result<TemporalConnection, CommandError> {
    TemporalConnection::connect(address(context, named)?).map_err(failure)
}

/// A thread that runs on Temporal.
pub(crate) struct FollowedThread {
    engine: TemporalConnection,
    thread: ThreadId,
    running: TemporalRunHandle,
}

impl FollowedThread {
    /// Starts the thread on Temporal, or continues it if it runs there already.
    pub(crate) fn begin(
        context: &CommandContext,
        thread: ThreadId,
        steps_per_run: Option<u32>,
        look_again: Option<Duration>,
    ) -> Result<FollowedThread, CommandError> {
        let engine = connect(context, TemporalAddress::default())?;
        let run = TemporalRunRequest { thread: thread.to_string(), steps_per_run, look_again };
        let running = engine.run(&run).map_err(failure)?;
        Ok(FollowedThread { engine, thread, running })
    }

    /// Whether the thread was not on Temporal before.
    pub(crate) fn is_new(&self) -> bool {
        self.running.is_new
    }

    /// Waits until the thread ends or stops. Calls `each` after every progress report, and `trouble` once each time something begins to
    /// keep the thread from continuing.
    pub(crate) fn follow(
        &self,
        mut each: impl FnMut(),
        trouble: impl Fn(FollowObstacle),
    ) -> Result<FollowEnd, CommandError> {
        let (mut is_told, mut told_reason, mut told_failure) = (false, None, None);
        let mut told_delays = BTreeMap::new();
        loop {
            let progress = self.engine.progress(self.thread.as_str(), &self.running).map_err(failure)?;
            each();
            return Ok(match progress {
                TemporalRunProgress::Running { untaken: waits, in_vain: reason, failing, delayed } => {
                    if let Some(reason) = reason.as_ref().filter(|_| reason != told_reason) {
                        trouble(FollowObstacle::InVain(reason));
                    }
                    told_reason = reason;
                    if let Some(reason) = failing.as_ref().filter(|_| failing != told_failure) {
                        trouble(FollowObstacle::Failing(reason));
                    }
                    told_failure = failing;
                    for (thread, why) in delayed.iter().filter(|(thread, why)| told_delays.get(*thread) != Some(*why)) {
                        trouble(FollowObstacle::DelayedBranch { thread, why });
                    }
                    told_delays = delayed;
                    let is_long = waits.is_some_and(|waits| waits > UNTAKEN);
                    if is_long && !is_told {
                        trouble(FollowObstacle::Untaken);
                    }
                    is_told = is_long;
                    continue;
                }
                TemporalRunProgress::Ended(_) => FollowEnd::Ended,
                TemporalRunProgress::Stopped(TemporalThreadState::Stopped { state, exit_code, role, .. }) => {
                    FollowEnd::Stopped {
                        kind: ErrorKind::of_exit_code(exit_code),
                        message: stopped_in_words(&state, role.as_deref()),
                    }
                }
                TemporalRunProgress::Stopped(_) => continue,
                TemporalRunProgress::Abandoned(why) => FollowEnd::Abandoned(why),
            });
        }
    }
}

/// Temporal's schedules.
pub(crate) struct ScheduleClient(TemporalConnection);

impl ScheduleClient {
    /// Connects to the server of the schedules.
    pub(crate) fn connect(context: &CommandContext) -> Result<ScheduleClient, CommandError> {
        Ok(ScheduleClient(connect(context, TemporalAddress::default())?))
    }

    /// Creates a schedule that starts threads of a workflow from this start node; the thread `template` keeps that node.
    pub(crate) fn create(
        &self,
        name: &str,
        cron: &str,
        workflow: &str,
        template: &ThreadId,
        start: NodeHash,
    ) -> Result<(), CommandError> {
        let scheduled = ScheduleTemplate { template: template.to_string(), start: start.to_string() };
        let note = format!("threads of {workflow} at `{cron}`");
        self.0.create_schedule(name, cron, scheduled, note).map_err(failure)
    }

    /// Every schedule.
    pub(crate) fn all(&self) -> Result<Vec<TemporalSchedule>, CommandError> {
        self.0.schedules().map_err(failure)
    }

    /// Removes a schedule, and returns its template thread, which remains.
    pub(crate) fn remove(&self, name: &str) -> Result<Option<ThreadId>, CommandError> {
        let removed = self.0.remove_schedule(name).map_err(failure)?;
        Ok(removed.and_then(|scheduled| scheduled.template.parse().ok()))
    }
}

/// Reports to Temporal what a person did with the thread. The store already has it, so if Temporal can't be reached, only a warning is
/// printed.
pub(crate) fn notify_temporal(context: &CommandContext, thread: &ThreadId, call: TemporalAction) {
    let tried = (|| -> Result<(), CommandError> {
        if !is_known(context)? {
            return Ok(());
        }
        let engine = connect(context, TemporalAddress::default())?;
        engine.call(thread.as_str(), call).map_err(failure)?;
        if call == TemporalAction::Kill {
            // Branches of its groups have workflows of their own.
            for below in child_threads::killed_below(&context.home, thread)? {
                engine.call(below.as_str(), call).map_err(failure)?;
            }
        }
        // If this thread plays a role of a parent, the parent waits for it, and may be able to continue now.
        let mut parent = parent_of(context, thread)?;
        while let Some(thread) = parent.filter(|_| call != TemporalAction::Pause) {
            engine.call(thread.as_str(), TemporalAction::Answer).map_err(failure)?;
            parent = parent_of(context, &thread)?;
        }
        Ok(())
    })();
    if let Err(error) = tried {
        let message = format!("it is done here, but Temporal does not know: {}", error.error);
        let next = format!("if the thread runs there, notify it later: uwf thread run --on temporal {thread}");
        context.printer.warn(&format!("{message}; {next}"));
    }
}

/// Why Temporal cannot continue a thread, if this machine has Temporal's address. Waits at most 2 s, and warns if Temporal cannot be asked.
pub(crate) fn failure_of(context: &CommandContext, thread: &ThreadId) -> Result<Option<String>, CommandError> {
    if !is_known(context)? {
        return Ok(None);
    }
    let (address, thread) = (address(context, TemporalAddress::default())?, thread.to_string());
    let (send, receive) = mpsc::channel();
    // If Temporal does not answer in time, this OS thread ends with the process.
    std::thread::spawn(move || {
        send.send(TemporalConnection::connect(address).and_then(|engine| engine.failure(&thread)))
    });
    let why = match receive.recv_timeout(LOOK_WITHIN) {
        Ok(Ok(failure)) => return Ok(failure),
        Ok(Err(error)) => error.message,
        Err(_) => format!("no answer within {} s", LOOK_WITHIN.as_secs()),
    };
    context.printer.warn(&format!("if the thread runs on Temporal, this does not show how its workflow is: {why}"));
    Ok(None)
}

/// Warns that workers on other machines cannot read this machine's store. Workers on this machine can.
pub(crate) fn warn_of_own_store(context: &CommandContext) {
    if !context.home.serves_other_machines() {
        let root = context.home.root().display();
        context.printer.warn(&format!(
            "only this machine has the store {root}, so workers on other machines cannot take this; \
             for one that they share: uwf help shared-store"
        ));
    }
}

fn parent_of(context: &CommandContext, thread: &ThreadId) -> Result<Option<ThreadId>, CommandError> {
    Ok(ThreadSettings::load(&context.home, thread)?.and_then(|settings| settings.parent))
}

/// Whether a variable or the configuration has Temporal's address.
pub(crate) fn is_known(context: &CommandContext) -> Result<bool, CommandError> {
    let is_said = WHERE.iter().any(|variable| env::var_os(variable).is_some());
    Ok(is_said || context.home.config()?.temporal.is_some())
}

/// Warns if Temporal's address is unknown, so commands such as `uwf thread answer` can't notify it.
pub(crate) fn warn_of_unknown_address(context: &CommandContext) -> Result<(), CommandError> {
    if !is_known(context)? {
        context.printer.warn(
            "the address of Temporal is unknown, so it notices `uwf thread answer` and similar commands only at its \
             next check, within an hour; to notify it at once: uwf config set temporal.address HOST:PORT",
        );
    }
    Ok(())
}

fn address(context: &CommandContext, named: TemporalAddress) -> Result<TemporalAddress, CommandError> {
    let (at, within, queue) = context
        .home
        .config()?
        .temporal
        .map_or((None, None, None), |own| (Some(own.address), own.namespace, own.task_queue));
    Ok(TemporalAddress {
        address: named.address.or_else(|| at.filter(|_| env::var_os(ADDRESS_VARIABLE).is_none())),
        namespace: named.namespace.or_else(|| within.filter(|_| env::var_os(NAMESPACE_VARIABLE).is_none())),
        task_queue: named.task_queue.or(queue),
        ..named
    })
}
