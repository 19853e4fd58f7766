//! Temporal.

use std::env;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use json_cas::Hash;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::settings::Settings;
use uwf_engine::error::{Error, ErrorKind};
use uwf_engine::root::home::ROOT_VARIABLES;
use uwf_temporal::{
    Address, Call, Engine, EngineError, Fault, Progress, Run, Running, Schedule, Scheduled, Standing, WorkerSettings,
    stopped_in_words,
};

use super::{Addressed, Followed, Listed, Told, Trouble, Work, kind_of};
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

/// A failure of the engine as one of a command.
fn failure(error: EngineError) -> CommandError {
    let kind = match error.fault {
        Fault::Unreachable | Fault::Missing => ErrorKind::NotFound,
        Fault::Refused | Fault::Misconfigured => ErrorKind::Config,
        Fault::Exists | Fault::Nonsense => ErrorKind::Usage,
        Fault::Other => ErrorKind::Internal,
    };
    CommandError { hints: error.hint.into_iter().collect(), ..CommandError::new(kind, error.message) }
}

/// Connects to where the server is, by what was said here, in variables or in config.yaml.
fn connect(context: &Context, addressed: Addressed) -> Result<Engine, CommandError> {
    Engine::connect(address(context, addressed)?).map_err(failure)
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
        let engine = connect(context, Addressed::default())?;
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
        Ok(Schedules(connect(context, Addressed::default())?))
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
    pub(crate) fn all(&self) -> Result<Vec<Listed>, CommandError> {
        let listed =
            |Schedule { name, note, is_paused, next, left_out }| Listed { name, note, is_paused, next, left_out };
        Ok(self.0.schedules().map_err(failure)?.into_iter().map(listed).collect())
    }

    /// Removes one; the thread that it began others from is what is left of it.
    pub(crate) fn remove(&self, name: &str) -> Result<Option<ThreadId>, CommandError> {
        let removed = self.0.remove_schedule(name).map_err(failure)?;
        Ok(removed.and_then(|scheduled| scheduled.template.parse().ok()))
    }
}

/// Works for Temporal until it is told to end.
pub(crate) fn work(context: &Context, addressed: Addressed, work: Work) -> Result<(), CommandError> {
    let Work { mut agents, max_agents, cwd, drain } = work;
    let config = context.home.config()?;
    // The configuration of a project may declare it.
    for unknown in agents.iter().filter(|agent| !config.agents.contains_key(*agent)) {
        let known = config.agents.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        context.printer.warn(&format!(
            "there is no agent `{unknown}` in config.yaml, so most steps with it will fail here; agents there are: {known}"
        ));
    }
    if agents.is_empty() {
        agents = config.agents.keys().cloned().chain(config.default_agent).collect();
    }
    agents.sort();
    agents.dedup();
    check_store(context)?;
    let program = context.home.bin().to_owned();
    let engine = connect(context, addressed)?;
    let place = if agents.is_empty() { "no agents".to_owned() } else { agents.join(", ") };
    context.printer.talk(&format!("working for Temporal at {}: {place}; Ctrl-C ends it", engine.address()));
    let printer = context.printer;
    let settings = WorkerSettings {
        program,
        variables: vec![(ROOT_VARIABLES[0].to_owned(), context.home.root().to_owned())],
        cwd: cwd.unwrap_or_else(|| context.cwd.clone()),
        agents,
        max_agents,
        drain,
        say: Arc::new(move |line| printer.talk(line)),
    };
    uwf_temporal::work(engine, settings).map_err(failure)
}

/// Asks the shared store for something: a worker that cannot use its own would take threads away from those that can.
fn check_store(context: &Context) -> Result<(), CommandError> {
    if context.home.shared().is_some() {
        context.home.heads().list().map_err(Error::from)?;
    }
    Ok(())
}

/// Tells whoever runs the thread on Temporal what a person did. The store has it already: that Temporal cannot be told is no failure.
pub(crate) fn tell(context: &Context, thread: &ThreadId, told: Told) {
    let call = match told {
        Told::Answered => Call::Answer,
        Told::Resumed => Call::Resume,
        Told::Paused => Call::Pause,
        Told::Killed => Call::Kill,
    };
    let tried = (|| -> Result<(), CommandError> {
        if !is_known(context)? {
            return Ok(());
        }
        let engine = connect(context, Addressed::default())?;
        engine.call(thread.as_str(), call).map_err(failure)?;
        // One whose role is played by this thread stands still with it, and may continue now.
        let mut parent = parent_of(context, thread)?;
        while let Some(thread) = parent.filter(|_| told != Told::Paused) {
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
    let (address, thread) = (address(context, Addressed::default())?, thread.to_string());
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

fn parent_of(context: &Context, thread: &ThreadId) -> Result<Option<ThreadId>, CommandError> {
    Ok(Settings::load(&context.home, thread).map_err(Error::from)?.and_then(|settings| settings.parent))
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

fn address(context: &Context, addressed: Addressed) -> Result<Address, CommandError> {
    let Addressed { address, namespace, task_queue, tls_cert, tls_key, tls_ca } = addressed;
    let (at, within, queue) = context
        .home
        .config()?
        .temporal
        .map_or((None, None, None), |own| (Some(own.address), own.namespace, own.task_queue));
    Ok(Address {
        address: address.or_else(|| at.filter(|_| env::var_os(ADDRESS_VARIABLE).is_none())),
        namespace: namespace.or_else(|| within.filter(|_| env::var_os(NAMESPACE_VARIABLE).is_none())),
        task_queue: task_queue.or(queue),
        tls_cert,
        tls_key,
        tls_ca,
    })
}
