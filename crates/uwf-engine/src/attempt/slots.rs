//! Limits on how many agents are at work on this machine. Each agent at work holds a lock on one of as many files as the limit allows, so
//! that a killed keeper frees its place. The agent that has waited longest gets the next free place. An agent that plays its role by other
//! threads, and a person, hold none: an agent that waits for others must not keep them from working.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

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
    let held = wait(&limits(home, plan, opened), opened, log, signals)?;
    // Less is the time of the look itself.
    let waited = Some(begun.elapsed()).filter(|waited| *waited >= LOOK).unwrap_or_default();
    Ok((held, waited))
}

/// The limits that hold for an agent.
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

/// Waits for a place of each limit. An agent takes all of its places at once or none, so that it never keeps one from others while it waits.
fn wait(
    limits: &[SlotLimit],
    opened: &AttemptOpening,
    log: &LogFile,
    signals: &mut SignalListener,
) -> Result<Vec<FileLock>> {
    for limit in limits {
        std::fs::create_dir_all(limit.queue_dir()).path_context("create", limit.queue_dir())?;
    }
    let begun = Instant::now();
    let mut is_logged = false;
    let mut turn = None;
    loop {
        let full = match places(limits, turn.as_ref())? {
            FoundPlaces::Held(places) => return Ok(places),
            FoundPlaces::FullAt(limit) => limit,
        };
        // A turn at a limit that is not the reason for the wait would keep others from its free places.
        if !full.has_turn(turn.as_ref()) {
            turn = Some(WaitTurn::begin(&full.queue_dir())?);
        }
        if let Some(signal) = signals.stop() {
            return Err(Error::new(stopped_by(signal), format!("stopped while {}", full.reason())));
        }
        if !is_logged && begun.elapsed() > LOOK {
            log!(log, "S7K2M9QX", Info, "attempt {}: {}", opened.attempt, full.reason());
            is_logged = true;
        }
        signals.wait(LOOK);
    }
}

/// The places of an agent.
enum FoundPlaces<'l> {
    /// One of each limit.
    Held(Vec<FileLock>),
    /// None: this limit has no place for it.
    FullAt(&'l SlotLimit),
}

fn places<'l>(limits: &'l [SlotLimit], turn: Option<&WaitTurn>) -> Result<FoundPlaces<'l>> {
    let mut held = Vec::with_capacity(limits.len());
    for limit in limits {
        match limit.place(turn)? {
            Some(place) => held.push(place),
            None => return Ok(FoundPlaces::FullAt(limit)),
        }
    }
    Ok(FoundPlaces::Held(held))
}

impl SlotLimit {
    /// Directory of the turns of those that wait.
    fn queue_dir(&self) -> PathBuf {
        self.dir.join("queue")
    }

    /// Whether a turn is one of this limit.
    fn has_turn(&self, turn: Option<&WaitTurn>) -> bool {
        turn.is_some_and(|turn| turn.path.parent() == Some(&self.queue_dir()))
    }

    /// A free place; `None` if all are taken, or if agents that have waited longer get the free ones.
    fn place(&self, turn: Option<&WaitTurn>) -> Result<Option<FileLock>> {
        let mut free = (1..=self.places)
            .filter_map(|place| FileLock::acquire(&self.dir.join(place.to_string()), Duration::ZERO).transpose());
        let Some(first) = free.next().transpose()? else { return Ok(None) };
        let before = WaitTurn::count_before(turn.filter(|_| self.has_turn(turn)), &self.queue_dir())?;
        let others: Vec<FileLock> = free.take(before).collect::<std::result::Result<_, _>>()?;
        Ok((others.len() == before).then_some(first))
    }

    fn reason(&self) -> String {
        format!("waiting for a free place (`{}: {}`)", self.key, self.places)
    }
}

/// The turn of an agent that waits for a place: a locked file named after the time at which the wait began. The lock ends with its keeper.
struct WaitTurn {
    path: PathBuf,
    _lock: FileLock,
}

impl WaitTurn {
    fn begin(queue: &Path) -> Result<WaitTurn> {
        loop {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let path = queue.join(format!("{:020}-{}", since.as_nanos(), std::process::id()));
            // Another keeper may find the file before it is locked, and remove it.
            if let Some(lock) = FileLock::acquire(&path, Duration::ZERO)? {
                return Ok(WaitTurn { path, _lock: lock });
            }
        }
    }

    /// The number of turns before this one; the number of all turns for an agent without one. Removes the turns of killed keepers.
    fn count_before(turn: Option<&WaitTurn>, queue: &Path) -> Result<usize> {
        let mut count = 0;
        for entry in std::fs::read_dir(queue).path_context("list", queue)? {
            let path = entry.path_context("list", queue)?.path();
            if turn.is_some_and(|turn| turn.path <= path) {
                continue;
            }
            match FileLock::acquire(&path, Duration::ZERO)? {
                Some(_left) => remove(&path),
                None => count += 1,
            }
        }
        Ok(count)
    }
}

impl Drop for WaitTurn {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Removes a turn. One that stays is removed by the next agent that looks.
fn remove(turn: &Path) {
    let _ = std::fs::remove_file(turn);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(places: u32) -> (tempfile::TempDir, SlotLimit) {
        let dir = tempfile::tempdir().unwrap();
        let limit = SlotLimit { dir: dir.path().to_owned(), places, key: "parallel".to_owned() };
        std::fs::create_dir(limit.queue_dir()).unwrap();
        (dir, limit)
    }

    #[test]
    fn free_place_belongs_to_longest_wait() {
        let (_dir, limit) = limit(1);
        let held = limit.place(None).unwrap();
        assert!(held.is_some() && limit.place(None).unwrap().is_none());
        let [first, second] = [(); 2].map(|()| WaitTurn::begin(&limit.queue_dir()).unwrap());
        drop(held);
        assert!(limit.place(Some(&second)).unwrap().is_none() && limit.place(None).unwrap().is_none());
        let held = limit.place(Some(&first)).unwrap();
        drop(first);
        assert!(held.is_some() && limit.place(Some(&second)).unwrap().is_none());
        drop(held);
        assert!(limit.place(Some(&second)).unwrap().is_some());
    }

    #[test]
    fn each_free_place_serves_one_waiting_agent() {
        let (_dir, limit) = limit(3);
        let turns = [(); 3].map(|()| WaitTurn::begin(&limit.queue_dir()).unwrap());
        let held = limit.place(Some(&turns[2])).unwrap();
        assert!(held.is_some(), "three places are free");
        assert!(limit.place(None).unwrap().is_none(), "two are left, and three agents wait");
    }

    #[test]
    fn agent_that_waits_keeps_no_place() {
        let ((_agents, agent), (_branches, machine)) = (limit(1), limit(1));
        let busy = machine.place(None).unwrap();
        let both = [agent, machine];
        assert!(matches!(places(&both, None).unwrap(), FoundPlaces::FullAt(full) if full.dir == both[1].dir));
        assert!(both[0].place(None).unwrap().is_some(), "another thread may use the agent");
        drop(busy);
        let turn = WaitTurn::begin(&both[1].queue_dir()).unwrap();
        assert!(matches!(places(&both, Some(&turn)).unwrap(), FoundPlaces::Held(held) if held.len() == 2));
    }

    #[test]
    fn killed_keepers_keep_no_turn() {
        let (_dir, limit) = limit(1);
        let left = limit.queue_dir().join("00000000000000000001-1");
        std::fs::write(&left, "").unwrap();
        assert!(limit.place(None).unwrap().is_some() && !left.exists());
    }
}
