//! Limits on how many agents are at work on this machine. Each agent at work holds a lock on one of as many files as the limit allows, so
//! that a killed keeper frees its place. An agent that plays its role by other threads, and a person, hold none: an agent that waits for
//! others must not keep them from working.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use durable_files::FileLock;
use json_cas::xxh64;

use crate::attempt::agent_process::SignalListener;
use crate::attempt::agents::{AgentSpec, HUMAN};
use crate::attempt::ended::stopped_by;
use crate::attempt::plan::StepPlan;
use crate::attempt::recorded::AttemptOpening;
use crate::error::{AtPath, Error, Result};
use crate::root::home::Home;
use crate::root::log::{LogFile, log};

/// Time between two looks for a free place.
const LOOK: Duration = Duration::from_millis(100);

/// A limit on agents at work.
struct SlotLimit {
    /// Directory of its lock files.
    dir: PathBuf,
    places: u32,
    /// The key of the configuration that sets it.
    key: String,
}

/// Waits until this agent may work, and returns its places with the time that it waited. They are free again when they are dropped.
///
/// # Errors
/// `Interrupted` or `Terminated` if a signal ends the wait; `Io`.
pub(crate) fn take(
    home: &Home,
    plan: &StepPlan,
    opened: &AttemptOpening,
    log: &LogFile,
    signals: &mut SignalListener,
) -> Result<(Vec<FileLock>, Duration)> {
    let begun = Instant::now();
    let mut held = Vec::new();
    for limit in limits(home, plan, opened) {
        held.push(limit.wait(opened, log, signals)?);
    }
    // Less is the time of the look itself.
    let waited = Some(begun.elapsed()).filter(|waited| *waited >= LOOK).unwrap_or_default();
    Ok((held, waited))
}

/// The limits that hold for an agent. Every agent waits for its own limit first and for the machine's limit last, so that no two agents
/// wait for each other.
fn limits(home: &Home, plan: &StepPlan, opened: &AttemptOpening) -> Vec<SlotLimit> {
    let spec: &AgentSpec = &opened.agent;
    if opened.reextract.is_some() || spec.plays_by_threads() || spec.is_built_in(HUMAN) {
        return Vec::new();
    }
    let of_agent = plan.config.agent(&spec.name).and_then(|agent| agent.max).map(|places| SlotLimit {
        dir: home.slots_dir().join(format!("agent-{}", xxh64(spec.name.as_bytes()))),
        places,
        key: format!("agents.{}.max", spec.name),
    });
    let of_machine = opened.branch.is_some().then(|| SlotLimit {
        dir: home.slots_dir().join("branches"),
        places: plan.config.limits.parallel,
        key: "parallel".to_owned(),
    });
    of_agent.into_iter().chain(of_machine).collect()
}

impl SlotLimit {
    fn wait(&self, opened: &AttemptOpening, log: &LogFile, signals: &mut SignalListener) -> Result<FileLock> {
        std::fs::create_dir_all(&self.dir).path_context("create", &self.dir)?;
        let begun = Instant::now();
        let mut is_logged = false;
        loop {
            for place in 1..=self.places {
                if let Some(lock) = FileLock::acquire(&self.dir.join(place.to_string()), Duration::ZERO)? {
                    return Ok(lock);
                }
            }
            if let Some(signal) = signals.stop() {
                return Err(Error::new(stopped_by(signal), format!("stopped while {}", self.reason())));
            }
            if !is_logged && begun.elapsed() > LOOK {
                log!(log, "S7K2M9QX", Info, "attempt {}: {}", opened.attempt, self.reason());
                is_logged = true;
            }
            signals.wait(LOOK);
        }
    }

    fn reason(&self) -> String {
        format!("waiting for one of {} agents at work to end (`{}`)", self.places, self.key)
    }
}
