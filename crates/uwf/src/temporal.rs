//! Threads on a Temporal server, as commands use it. Only builds with the feature `temporal` have this.

use std::env;
use std::sync::mpsc;
use std::time::Duration;

use json_cas::Hash;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::settings::Settings;
use uwf_engine::error::ErrorKind;
use uwf_temporal::{
    Address, Call, Engine, EngineError, Fault, Progress, Run, Running, Schedule, Scheduled, Standing, stopped_in_words,
};

use crate::context::Context;
use crate::error::CommandError;

/// Where Temporal's own command finds the server.
const ADDRESS_VARIABLE: &str = "TEMPORAL_ADDRESS";

/// Its namespace.
const NAMESPACE_VARIABLE: &str = "TEMPORAL_NAMESPACE";

/// Variables that say where it is.
const WHERE: [&str; 3] = [ADDRESS_VARIABLE, "TEMPORAL_PROFILE", "TEMPORAL_CONFIG_FILE"];

/// How long a step may wait for a worker before whoever follows it is told.
const UNTAKEN: Duration = Duration::from_secs(10);

/// How long a command that only looks at a thread waits for Temporal.
const LOOK_WITHIN: Duration = Duration::from_secs(2);

/// The reason why a followed thread can't continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble<'a> {
    /// No worker takes it.
    Untaken,
    /// Workers retry what they do not accomplish, for this reason.
    InVain(&'a str),
    /// Workers cannot run its workflow, for this reason.
    Failing(&'a str),
}

/// What became of a thread that was followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Followed {
    /// It has ended.
    Ended,
    /// It needs a person to continue.
    Stopped {
        /// Which failure this would be of a step here.
        kind: ErrorKind,
        /// One line.
        message: String,
    },
    /// The engine runs it no more; it stands where it stood.
    Abandoned(String),
}

/// A failure of the engine as one of a command.
pub(crate) fn failure(error: EngineError) -> CommandError {
    let kind = match error.fault {
        Fault::Unreachable | Fault::Missing => ErrorKind::NotFound,
        Fault::Refused | Fault::Misconfigured => ErrorKind::Config,
        Fault::Exists | Fault::Nonsense => ErrorKind::Usage,
        Fault::Other => ErrorKind::Internal,
    };
    CommandError { hints: error.hint.into_iter().collect(), ..CommandError::new(kind, error.message) }
}

/// The kind of failure of an exit code.
fn kind_of(exit_code: u8) -> ErrorKind {
    let kinds = [
        ErrorKind::Waiting,
        ErrorKind::Limit,
        ErrorKind::AgentFailed,
        ErrorKind::NotExtractable,
        ErrorKind::Usage,
        ErrorKind::Data,
        ErrorKind::NotFound,
        ErrorKind::Config,
    ];
    kinds.into_iter().find(|kind| kind.exit_code() == exit_code).unwrap_or(ErrorKind::Internal)
}

/// Connects to where the server is, by what was said here, in variables or in config.yaml.
pub(crate) fn connect(context: &Context, named: Address) -> Result<Engine, CommandError> {
    Engine::connect(address(context, named)?).map_err(failure)
}

/// A thread that runs on Temporal.
pub(crate) struct Begun {
    engine: Engine,
    thread: ThreadId,
    running: Running,
}

impl Begun {
    /// Starts it there, or lets it continue if it runs there already.
    pub(crate) fn begin(
        context: &Context,
        thread: ThreadId,
        steps_per_run: Option<u32>,
        look_again: Option<Duration>,
    ) -> Result<Begun, CommandError> {
        let engine = connect(context, Address::default())?;
        let run = Run { thread: thread.to_string(), steps_per_run, look_again };
        let running = engine.run(&run).map_err(failure)?;
        Ok(Begun { engine, thread, running })
    }

    /// Whether it did not run there before.
    pub(crate) fn is_new(&self) -> bool {
        self.running.is_new
    }

    /// Waits until it has ended or stands still. `each` is called again and again meanwhile, `trouble` for what keeps the thread from
    /// continuing, once each time it begins.
    pub(crate) fn follow(&self, mut each: impl FnMut(), trouble: impl Fn(Trouble)) -> Result<Followed, CommandError> {
        let (mut is_told, mut told_reason, mut told_failure) = (false, None, None);
        loop {
            let progress = self.engine.progress(self.thread.as_str(), &self.running).map_err(failure)?;
            each();
            return Ok(match progress {
                Progress::Running { untaken: waits, in_vain: reason, failing } => {
                    if let Some(reason) = reason.as_ref().filter(|_| reason != told_reason) {
                        trouble(Trouble::InVain(reason));
                    }
                    told_reason = reason;
                    if let Some(reason) = failing.as_ref().filter(|_| failing != told_failure) {
                        trouble(Trouble::Failing(reason));
                    }
                    told_failure = failing;
                    let is_long = waits.is_some_and(|waits| waits > UNTAKEN);
                    if is_long && !is_told {
                        trouble(Trouble::Untaken);
                    }
                    is_told = is_long;
                    continue;
                }
                Progress::Ended(_) => Followed::Ended,
                Progress::Stopped(Standing::Stopped { state, exit_code, role, .. }) => {
                    Followed::Stopped { kind: kind_of(exit_code), message: stopped_in_words(&state, role.as_deref()) }
                }
                Progress::Stopped(_) => continue,
                Progress::Abandoned(why) => Followed::Abandoned(why),
            });
        }
    }
}

/// Schedules of Temporal.
pub(crate) struct Schedules(Engine);

impl Schedules {
    /// Connects to where they are kept.
    pub(crate) fn connect(context: &Context) -> Result<Schedules, CommandError> {
        Ok(Schedules(connect(context, Address::default())?))
    }

    /// Makes one that begins threads of a workflow at this start, which the thread `template` keeps.
    pub(crate) fn create(
        &self,
        name: &str,
        cron: &str,
        workflow: &str,
        template: &ThreadId,
        start: Hash,
    ) -> Result<(), CommandError> {
        let scheduled = Scheduled { template: template.to_string(), start: start.to_string() };
        let note = format!("threads of {workflow} at `{cron}`");
        self.0.create_schedule(name, cron, scheduled, note).map_err(failure)
    }

    /// All of them.
    pub(crate) fn all(&self) -> Result<Vec<Schedule>, CommandError> {
        self.0.schedules().map_err(failure)
    }

    /// Removes one; the thread that it began others from is what is left of it.
    pub(crate) fn remove(&self, name: &str) -> Result<Option<ThreadId>, CommandError> {
        let removed = self.0.remove_schedule(name).map_err(failure)?;
        Ok(removed.and_then(|scheduled| scheduled.template.parse().ok()))
    }
}

/// Tells whoever runs the thread on Temporal what a person did. The store has it already: that Temporal cannot be told is no failure.
pub(crate) fn tell(context: &Context, thread: &ThreadId, call: Call) {
    let tried = (|| -> Result<(), CommandError> {
        if !is_known(context)? {
            return Ok(());
        }
        let engine = connect(context, Address::default())?;
        engine.call(thread.as_str(), call).map_err(failure)?;
        // One whose role is played by this thread stands still with it, and may continue now.
        let mut parent = parent_of(context, thread)?;
        while let Some(thread) = parent.filter(|_| call != Call::Pause) {
            engine.call(thread.as_str(), Call::Answer).map_err(failure)?;
            parent = parent_of(context, &thread)?;
        }
        Ok(())
    })();
    if let Err(error) = tried {
        let message = format!("it is done here, but Temporal does not know: {}", error.error);
        let next = format!("if the thread runs there, tell it later: uwf thread run --on temporal {thread}");
        context.printer.warn(&format!("{message}; {next}"));
    }
}

/// Why Temporal cannot continue a thread, if this machine knows where Temporal is. Waits at most 2 s, and warns if Temporal cannot be asked.
pub(crate) fn failure_of(context: &Context, thread: &ThreadId) -> Result<Option<String>, CommandError> {
    if !is_known(context)? {
        return Ok(None);
    }
    let (address, thread) = (address(context, Address::default())?, thread.to_string());
    let (send, receive) = mpsc::channel();
    // If Temporal does not answer in time, the thread ends with this process.
    std::thread::spawn(move || send.send(Engine::connect(address).and_then(|engine| engine.failure(&thread))));
    let why = match receive.recv_timeout(LOOK_WITHIN) {
        Ok(Ok(failure)) => return Ok(failure),
        Ok(Err(error)) => error.message,
        Err(_) => format!("no answer within {} s", LOOK_WITHIN.as_secs()),
    };
    context.printer.warn(&format!("if the thread runs on Temporal, this does not show how its workflow is: {why}"));
    Ok(None)
}

/// Warns that workers on other machines cannot find what is only in the store of this one. Those on this machine can.
pub(crate) fn warn_of_own_store(context: &Context) {
    if context.home.shared().is_none() {
        let root = context.home.root().display();
        context.printer.warn(&format!(
            "only this machine has the store {root}, so workers on other machines cannot take this; \
             for one that they share: uwf help shared-store"
        ));
    }
}

fn parent_of(context: &Context, thread: &ThreadId) -> Result<Option<ThreadId>, CommandError> {
    Ok(Settings::load(&context.home, thread)?.and_then(|settings| settings.parent))
}

/// Whether commands that have no business with Temporal know where it is.
fn is_known(context: &Context) -> Result<bool, CommandError> {
    let is_said = WHERE.iter().any(|variable| env::var_os(variable).is_some());
    Ok(is_said || context.home.config()?.temporal.is_some())
}

/// Warns that commands which tell Temporal what people did do not find it.
pub(crate) fn warn_of_unknown_address(context: &Context) -> Result<(), CommandError> {
    if !is_known(context)? {
        context.printer.warn(
            "no variable and no `temporal.address` in config.yaml says where Temporal is, so it hears of `uwf thread answer` and \
             the like only when it looks again, within an hour; to tell them: uwf config set temporal.address HOST:PORT",
        );
    }
    Ok(())
}

fn address(context: &Context, named: Address) -> Result<Address, CommandError> {
    let (at, within, queue) = context
        .home
        .config()?
        .temporal
        .map_or((None, None, None), |own| (Some(own.address), own.namespace, own.task_queue));
    Ok(Address {
        address: named.address.or_else(|| at.filter(|_| env::var_os(ADDRESS_VARIABLE).is_none())),
        namespace: named.namespace.or_else(|| within.filter(|_| env::var_os(NAMESPACE_VARIABLE).is_none())),
        task_queue: named.task_queue.or(queue),
        ..named
    })
}
