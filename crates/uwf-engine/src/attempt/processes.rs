//! Ends an attempt's processes: its group, and every descendant that left the group.
//!
//! [`uwf_platform::host`] knows how far the system helps. On Linux, the descendants are known by parentage: the keeper is child subreaper,
//! so it inherits orphans. They are also known by the inherited `UWF_ATTEMPT`, even after the keeper that started them has died. On macOS
//! they are known by the unique ids of their parents and by their groups. Elsewhere only the process group is ended.
//!
//! Where no process is recognized by its environment, `AttemptTrail` has further evidence: every process of an attempt that has its
//! stderr holds a lock on that file. So uwf never takes an attempt for ended that isn't, and never signals a process of another one.

mod table;
mod trail;

use std::collections::BTreeSet;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions};
use uwf_platform::{ProcessTable, host};

pub use self::table::environment_of;
pub(crate) use self::table::{ancestry, environments, is_orphan, starter_argument};
use self::table::{carries, is_keeper, is_of_another, pid};
pub(crate) use self::trail::{AttemptTrail, hold_output};

/// Hidden argument that makes `uwf` a keeper; followed by a JSON request.
pub const KEEPER_ARGUMENT: &str = "__keeper";

/// Time limit for a KILLed process to disappear. The kernel needs that long only under extreme load.
const KILL_WAIT: Duration = Duration::from_secs(5);

/// Starts a new session for this process, away from the terminal and its signals.
pub(crate) fn own_session() {
    // Fails only for a process that already leads its group, which is sufficient.
    let _ = rustix::process::setsid();
}

/// Hint for a process of uwf that cannot be started.
pub(crate) const NO_ROOM: &str = "nothing was changed: try again when the machine has room for another process";

/// Ends all processes of an attempt: TERM, a grace period, KILL, until none is left. `spared` is not ended: the broker, which stores results
/// that arrive meanwhile.
pub(crate) fn end_attempt(trail: &AttemptTrail, grace: Duration, spared: Option<u32>) {
    end(trail, TerminationScope::Everything { spared }, grace);
}

/// Ends the processes of an attempt whose keeper or agent is gone, except for keepers that it started: those perform
/// other steps.
pub(crate) fn end_abandoned(trail: &AttemptTrail, grace: Duration) {
    end(trail, TerminationScope::NoKeepers, grace);
}

/// Kills the agent process of an attempt at once, and no other process.
pub(crate) fn kill_agent(trail: &AttemptTrail, process: u32) {
    if (carries(process, trail.attempt()) || trail.group() == Some(process))
        && let Some(process) = pid(process)
    {
        // It may have just ended.
        let _ = rustix::process::kill_process(process, Signal::KILL);
    }
}

/// Ends a child that leads a process group, and its group: TERM, a grace period, KILL.
pub(crate) fn end_group(child: &mut Child, grace: Duration) {
    let Some(group) = pid(child.id()) else { return };
    let is_there = || {
        // The keeper inherits orphans, which stay zombies until it waits for them.
        while let Ok(Some(_)) = rustix::process::waitpgid(group, WaitOptions::NOHANG) {}
        rustix::process::test_kill_process_group(group).is_ok()
    };
    // It may have just ended.
    let signal = |signal| {
        let _ = rustix::process::kill_process_group(group, signal);
    };
    end_child(child, grace, is_there, signal);
}

/// Ends a child and its descendants: TERM, a grace period, KILL.
pub(crate) fn end_tree(child: &mut Child, grace: Duration) {
    // After the child has ended, its orphans can't be recognized.
    let found: Vec<Pid> = with_descendants(child.id()).into_iter().filter_map(pid).collect();
    let is_there = || found.iter().any(|pid| rustix::process::test_kill_process(*pid).is_ok());
    let signal = |signal| {
        for pid in &found {
            let _ = rustix::process::kill_process(*pid, signal);
        }
    };
    end_child(child, grace, is_there, signal);
}

fn end_child(child: &mut Child, grace: Duration, is_there: impl Fn() -> bool, signal: impl Fn(Signal)) {
    signal(Signal::TERM);
    let deadline = Instant::now() + grace;
    loop {
        if matches!(child.try_wait(), Ok(Some(_))) && !is_there() {
            return;
        }
        if Instant::now() >= deadline {
            signal(Signal::KILL);
            let _ = child.wait();
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A process and its descendants, as far as their parents are alive.
fn with_descendants(root: u32) -> BTreeSet<u32> {
    processes().with_descendants(BTreeSet::from([root]), |_| true)
}

/// All live processes; none where the system does not list them.
fn processes() -> ProcessTable {
    host().processes().unwrap_or_default()
}

/// Which descendants of an attempt's processes are ended with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TerminationScope {
    /// All of them except `spared`.
    Everything { spared: Option<u32> },
    /// All except keepers and the processes that those started. The agent of a dead keeper is spared as well.
    NoKeepers,
}

fn end(trail: &AttemptTrail, reach: TerminationScope, grace: Duration) {
    signal_all(trail, reach, Signal::TERM);
    if gone_within(trail, reach, grace) {
        return;
    }
    let deadline = Instant::now() + KILL_WAIT;
    loop {
        signal_all(trail, reach, Signal::KILL);
        if gone_within(trail, reach, Duration::from_millis(20)) || Instant::now() > deadline {
            return;
        }
    }
}

/// Reaps dead children. Returns whether any child is left. The caller has already waited for the agent itself.
pub(crate) fn children_left() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Whether an agent that has ended left processes behind. On a system that does not give orphans to this process, they are searched for.
pub(crate) fn any_left(trail: &AttemptTrail) -> bool {
    let is_alive = |group| rustix::process::test_kill_process_group(group).is_ok();
    children_left()
        || trail.group().and_then(pid).is_some_and(is_alive)
        || !host().shows_environments() && !known_survivors(trail).is_empty()
}

/// Live processes of an attempt other than this one, as far as the system shows them.
fn survivors(trail: &AttemptTrail, reach: TerminationScope) -> BTreeSet<u32> {
    let own = std::process::id();
    let table = processes();
    let attempt = trail.attempt();
    let is_reached =
        |pid: u32| reach != TerminationScope::NoKeepers || !(is_keeper(pid) || is_of_another(pid, attempt));
    // An orphaned keeper becomes a child of this process.
    let children = table.0.iter().filter(|(_, entry)| entry.parent == own).map(|(pid, _)| *pid);
    let mut found: BTreeSet<u32> =
        children.chain(trail.members(&table)).filter(|pid| *pid != own && is_reached(*pid)).collect();
    found.extend(table.0.keys().copied().filter(|pid| *pid != own && carries(*pid, attempt)));
    let mut found = table.with_descendants(found, is_reached);
    found.remove(&own);
    if let TerminationScope::Everything { spared: Some(spared) } = reach {
        found.remove(&spared);
    }
    found
}

/// Whether a process of an attempt is alive. Finds it even if the keeper that started it is dead.
pub(crate) fn has_survivors(trail: &AttemptTrail) -> bool {
    !known_survivors(trail).is_empty() || trail.is_output_held()
}

/// Live processes that are known to belong to an attempt. Where the system does not list processes, there are none.
pub(crate) fn known_survivors(trail: &AttemptTrail) -> BTreeSet<u32> {
    let own = std::process::id();
    let table = processes();
    let carriers = table.0.keys().copied().filter(|pid| carries(*pid, trail.attempt()));
    carriers.chain(trail.members(&table)).filter(|pid| *pid != own).collect()
}

fn signal_all(trail: &AttemptTrail, reach: TerminationScope, signal: Signal) {
    if let Some(group) = trail.group().and_then(pid) {
        let _ = rustix::process::kill_process_group(group, signal);
    }
    for survivor in survivors(trail, reach).into_iter().filter_map(pid) {
        let _ = rustix::process::kill_process(survivor, signal);
    }
}

fn gone_within(trail: &AttemptTrail, reach: TerminationScope, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        children_left();
        let is_alive = |group| rustix::process::test_kill_process_group(group).is_ok();
        if !trail.group().and_then(pid).is_some_and(is_alive) && survivors(trail, reach).is_empty() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::attempt_variable::ATTEMPT_ARGUMENT;

    /// A process that is closed to others shows only its arguments.
    #[test]
    fn process_of_attempt_is_found_by_arguments() {
        let attempt = crate::root::ids::new_ulid().to_string();
        let mut command = Command::new("sh");
        command.args(["-c", "read line", "sh", ATTEMPT_ARGUMENT, &attempt]).stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let survivors = |attempt: &str| known_survivors(&AttemptTrail::of_id(attempt));
        assert_eq!(survivors(&attempt), BTreeSet::from([child.id()]));
        assert!(survivors("another").is_empty());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(survivors(&attempt).is_empty());
    }
}
