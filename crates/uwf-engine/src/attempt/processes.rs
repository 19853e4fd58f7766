//! Ends an attempt's processes: its group, and every descendant that left the group.
//!
//! On Linux, `/proc` shows the descendants by parentage: the keeper is child subreaper, so it inherits orphans. It also
//! shows them by the inherited `UWF_ATTEMPT`, even after the keeper that started them has died. On other systems only
//! the process group is ended.

use crate::attempt_variable::ATTEMPT_VARIABLE;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions};

/// Hidden argument that makes `uwf` a keeper; followed by a JSON request.
pub const KEEPER_ARGUMENT: &str = "__keeper";

/// Position of [`starter_argument`] in the command line of a keeper, after the program, [`KEEPER_ARGUMENT`], the request and the root.
const STARTER_POSITION: usize = 4;

/// Time limit for a KILLed process to disappear. The kernel needs that long only under extreme load.
const KILL_WAIT: Duration = Duration::from_secs(5);

/// Time limit for a process to begin a program or to end. The kernel needs that long only under extreme load.
const CHANGE_WAIT: Duration = Duration::from_millis(200);

/// Bit for the kernel's own threads in the flags of `/proc/PID/stat` (`PF_KTHREAD`). They have no environment.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Makes this process the parent that inherits orphaned descendants. No effect on systems without this feature.
pub fn become_subreaper() {
    #[cfg(target_os = "linux")]
    {
        // It fails only on kernels before 3.4; then orphans are still found by their environment.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

/// Starts a new session for this process, away from the terminal and its signals.
pub(crate) fn own_session() {
    // Fails only for a process that already leads its group, which is sufficient.
    let _ = rustix::process::setsid();
}

/// Hint for a process of uwf that cannot be started.
pub(crate) const NO_ROOM: &str = "nothing was changed: try again when the machine has room for another process";

/// Argument that names the attempt of a uwf process. A process that is closed to others shows its arguments, but no
/// environment.
pub(crate) const ATTEMPT_ARGUMENT: &str = "--attempt";

/// Ends all processes of an attempt: TERM, a grace period, KILL, until none is left. `group` is the agent's process
/// group and `attempt` the value of its `UWF_ATTEMPT`. `spared` is not ended: the broker, which stores results that
/// arrive meanwhile.
pub(crate) fn end_attempt(group: Option<u32>, attempt: &str, grace: Duration, spared: Option<u32>) {
    end(group, attempt, TerminationScope::Everything { spared }, grace);
}

/// Ends the processes of an attempt whose keeper or agent is gone, except for keepers that it started: those perform
/// other steps.
pub(crate) fn end_abandoned(group: Option<u32>, attempt: &str, grace: Duration) {
    end(group, attempt, TerminationScope::NoKeepers, grace);
}

/// Kills a process at once, if it belongs to an attempt.
pub(crate) fn kill_one(process: u32, attempt: &str) {
    if carries(process, attempt)
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
    let table = process_table();
    let mut found = BTreeSet::from([root]);
    loop {
        let before = found.len();
        found
            .extend(table.iter().filter(|(_, parent)| found.contains(parent)).map(|(pid, _)| *pid).collect::<Vec<_>>());
        if found.len() == before {
            return found;
        }
    }
}

/// Which descendants of an attempt's processes are ended with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TerminationScope {
    /// All of them except `spared`.
    Everything { spared: Option<u32> },
    /// All except keepers and the processes that those started. The agent of a dead keeper is spared as well.
    NoKeepers,
}

fn end(group: Option<u32>, attempt: &str, reach: TerminationScope, grace: Duration) {
    signal_all(group, attempt, reach, Signal::TERM);
    if gone_within(group, attempt, reach, grace) {
        return;
    }
    let deadline = Instant::now() + KILL_WAIT;
    loop {
        signal_all(group, attempt, reach, Signal::KILL);
        if gone_within(group, attempt, reach, Duration::from_millis(20)) || Instant::now() > deadline {
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

/// Live processes of an attempt other than this one.
fn survivors(attempt: &str, reach: TerminationScope) -> BTreeSet<u32> {
    let own = std::process::id();
    let table = process_table();
    let is_reached =
        |pid: u32| reach != TerminationScope::NoKeepers || !(is_keeper(pid) || is_of_another(pid, attempt));
    let mut found: BTreeSet<u32> = table.keys().copied().filter(|pid| carries(*pid, attempt)).collect();
    // An orphaned keeper becomes a child of this process.
    found.extend(table.iter().filter(|(pid, parent)| **parent == own && is_reached(**pid)).map(|(pid, _)| *pid));
    loop {
        let more: Vec<u32> = table
            .iter()
            .filter(|(pid, parent)| found.contains(parent) && !found.contains(pid))
            .filter(|(pid, _)| is_reached(**pid))
            .map(|(pid, _)| *pid)
            .collect();
        if more.is_empty() {
            break;
        }
        found.extend(more);
    }
    found.remove(&own);
    if let TerminationScope::Everything { spared: Some(spared) } = reach {
        found.remove(&spared);
    }
    found
}

/// Live processes that inherited an attempt's `UWF_ATTEMPT`. Finds them even if the keeper that started them is dead.
pub(crate) fn survivors_by_environment(attempt: &str) -> BTreeSet<u32> {
    let own = std::process::id();
    process_table().into_keys().filter(|pid| *pid != own && carries(*pid, attempt)).collect()
}

/// This process, as an argument of a keeper that it starts: its id and its start time. Another process may get the same id later.
pub(crate) fn starter_argument() -> String {
    let own = std::process::id();
    format!("{own}:{}", start_time(own).unwrap_or_default())
}

/// Whether the process that started a keeper is gone, so that no process waits for the result. Of a keeper without that argument, which an
/// earlier version started, this is unknown.
pub(crate) fn is_orphan(keeper: Pid) -> bool {
    let command = std::fs::read(format!("/proc/{keeper}/cmdline")).unwrap_or_default();
    let starter = command.split(|byte| *byte == 0).nth(STARTER_POSITION);
    let named = starter.and_then(|word| std::str::from_utf8(word).ok()?.split_once(':'));
    let Some((pid, began)) = named.and_then(|(pid, began)| Some((pid.parse().ok()?, began))) else { return false };
    start_time(pid).is_none_or(|now| now != began)
}

/// When a live process started, in the kernel's ticks since boot.
fn start_time(pid: u32) -> Option<String> {
    // After the command name, from the state on.
    let fields = stat(pid).filter(|fields| !is_dead(&fields[0]))?;
    fields.get(19).cloned()
}

/// This process and its ancestors.
pub(crate) fn ancestry() -> BTreeSet<u32> {
    let table = process_table();
    let mut found = BTreeSet::new();
    let mut next = Some(std::process::id());
    while let Some(pid) = next.filter(|pid| found.insert(*pid)) {
        next = table.get(&pid).copied();
    }
    found
}

/// The variables that a live process was started with, as far as they are text and readable.
pub fn environment_of(pid: u32) -> Vec<(String, String)> {
    let bytes = environment(pid);
    let pairs = bytes.split(|byte| *byte == 0).filter_map(|pair| std::str::from_utf8(pair).ok()?.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The variables that each live process was started with, as far as they are readable.
pub(crate) fn environments() -> Vec<(u32, BTreeMap<String, String>)> {
    process_table().into_keys().map(|pid| (pid, environment_of(pid).into_iter().collect())).collect()
}

fn signal_all(group: Option<u32>, attempt: &str, reach: TerminationScope, signal: Signal) {
    if let Some(group) = group.and_then(pid) {
        let _ = rustix::process::kill_process_group(group, signal);
    }
    for survivor in survivors(attempt, reach).into_iter().filter_map(pid) {
        let _ = rustix::process::kill_process(survivor, signal);
    }
}

fn gone_within(group: Option<u32>, attempt: &str, reach: TerminationScope, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        children_left();
        let group_alive =
            group.and_then(pid).is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok());
        if !group_alive && survivors(attempt, reach).is_empty() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn pid(raw: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(raw).ok()?)
}

/// Process id → parent, for live processes.
fn process_table() -> BTreeMap<u32, u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return BTreeMap::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let fields = stat(pid)?;
            let parent = fields.get(1)?.parse().ok()?;
            (!is_dead(&fields[0])).then_some((pid, parent))
        })
        .collect()
}

fn is_keeper(pid: u32) -> bool {
    let Ok(command) = std::fs::read(format!("/proc/{pid}/cmdline")) else { return false };
    command.split(|byte| *byte == 0).nth(1) == Some(KEEPER_ARGUMENT.as_bytes())
}

/// Whether a process belongs to an attempt.
fn carries(pid: u32, attempt: &str) -> bool {
    attempt_of(pid).is_some_and(|of_process| of_process == attempt.as_bytes())
}

/// Whether a process belongs to another attempt, whose keeper is or was another process.
fn is_of_another(pid: u32, attempt: &str) -> bool {
    attempt_of(pid).is_some_and(|of_process| of_process != attempt.as_bytes())
}

/// The attempt of a process, by its inherited variable or, if it is closed to others, by its arguments.
fn attempt_of(pid: u32) -> Option<Vec<u8>> {
    let marker = format!("{ATTEMPT_VARIABLE}=");
    let environment = environment(pid);
    let named = environment.split(|byte| *byte == 0).find_map(|variable| variable.strip_prefix(marker.as_bytes()));
    if let Some(named) = named {
        return Some(named.to_vec());
    }
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words: Vec<&[u8]> = command.split(|byte| *byte == 0).collect();
    words.windows(2).find(|pair| pair[0] == ATTEMPT_ARGUMENT.as_bytes()).map(|pair| pair[1].to_vec())
}

/// A process's environment from `/proc`; empty if it is not readable.
///
/// While a process begins a program (`execve`) or ends, the kernel shows an empty environment and command line,
/// although the process is still active. Without the wait, uwf would overlook an agent that was just started, and pay
/// another one for the same step. Or it would take a keeper for dead that still holds its thread's lock.
fn environment(pid: u32) -> Vec<u8> {
    let read = |file| std::fs::read(format!("/proc/{pid}/{file}"));
    let deadline = Instant::now() + CHANGE_WAIT;
    loop {
        let Ok(environment) = read("environ") else { return Vec::new() };
        let is_changing =
            || environment.is_empty() && read("cmdline").is_ok_and(|words| words.is_empty()) && lives(pid);
        if !is_changing() || Instant::now() >= deadline {
            return environment;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a process is neither dead nor a kernel thread.
fn lives(pid: u32) -> bool {
    // After the command name: state, parent, group, session, terminal, its group, flags.
    let flags = |fields: &[String]| fields.get(6)?.parse::<u64>().ok();
    stat(pid)
        .is_some_and(|fields| !is_dead(&fields[0]) && flags(&fields).is_some_and(|flags| flags & KERNEL_THREAD == 0))
}

/// Zombies are dead and wait for a parent other than this process.
fn is_dead(state: &str) -> bool {
    matches!(state, "Z" | "X")
}

/// The fields of `/proc/PID/stat` after the command name, beginning with the state. Never empty.
fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name in parentheses may contain anything; the fields after the last `)` are clean.
    let fields: Vec<String> = stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect();
    (!fields.is_empty()).then_some(fields)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// A process that is closed to others shows only its arguments.
    #[test]
    fn process_of_attempt_is_found_by_arguments() {
        let attempt = crate::root::ids::new_ulid().to_string();
        let mut command = Command::new("sh");
        command.args(["-c", "read line", "sh", ATTEMPT_ARGUMENT, &attempt]).stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        assert_eq!(survivors_by_environment(&attempt), BTreeSet::from([child.id()]));
        assert!(survivors_by_environment("another").is_empty());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(survivors_by_environment(&attempt).is_empty());
    }

    /// A process with a starter in its command line where a keeper has it.
    fn keeper_started_by(starter: &str) -> Child {
        let mut command = Command::new("sh");
        let child = command.args(["-c", "read line", "root", starter]).stdin(Stdio::piped()).spawn().unwrap();
        // The kernel shows no command line while a program begins.
        while std::fs::read(format!("/proc/{}/cmdline", child.id())).unwrap().is_empty() {
            std::thread::yield_now();
        }
        child
    }

    #[test]
    fn orphan_is_recognized_by_start_of_its_starter() {
        let own = std::process::id();
        let other = Command::new("true").spawn().map(|mut child| child.wait().map(|_| child.id())).unwrap().unwrap();
        for (starter, is_orphan_now) in [
            (starter_argument(), false),
            (format!("{own}:1"), true),
            (format!("{other}:{}", start_time(own).unwrap()), true),
            ("no process".to_owned(), false),
        ] {
            let mut keeper = keeper_started_by(&starter);
            assert_eq!(is_orphan(pid(keeper.id()).unwrap()), is_orphan_now, "{starter}");
            keeper.kill().unwrap();
            keeper.wait().unwrap();
        }
    }
}
