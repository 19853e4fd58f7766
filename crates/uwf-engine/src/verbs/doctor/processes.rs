//! Agents that outlived their keeper.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use uwf_core::config::DEFAULT_KILL_GRACE;
use uwf_core::thread::ThreadId;
use uwf_platform::host;

use super::files::thread_ids;
use super::{DoctorFinding, DoctorMode, RootExam, counted};
use crate::attempt::child_threads::{self, MAX_ANCESTORS};
use crate::attempt::leftover;
use crate::attempt::processes::{self, AttemptTrail};
use crate::error::{AtPath, Result};
use crate::root::home::{Home, ROOT_VARIABLES};
use crate::root::lock;
use crate::thread::load::Thread;

/// How many processes one message names.
const NAMED: usize = 5;

/// An attempt of this root whose processes still run without a keeper.
struct OrphanAttempt {
    trail: AttemptTrail,
    thread: ThreadId,
    /// As far as the system shows them.
    processes: Vec<u32>,
}

/// Promises that uwf keeps on Linux and can't keep on this system.
pub(super) fn platform(_: &RootExam<'_>) -> Result<Vec<DoctorFinding>> {
    let weaknesses = host().weaknesses();
    let system = (!weaknesses.is_empty()).then(|| DoctorFinding::ok("platform", host().name()));
    let weaker = weaknesses.iter().map(|weakness| DoctorFinding::ok("platform", *weakness));
    Ok(system.into_iter().chain(weaker).collect())
}

/// Processes of this root's attempts whose keeper is gone. They still cost money.
pub(super) fn orphans(RootExam { home, mode, .. }: &RootExam<'_>) -> Result<Vec<DoctorFinding>> {
    let found = if host().shows_environments() { orphaned(home)? } else { orphaned_by_record(home)? };
    let count: usize = found.iter().map(|orphaned| orphaned.processes.len()).sum();
    let Some(first) = found.first() else {
        return Ok(vec![DoctorFinding::ok("orphans", "no orphaned agents")]);
    };
    if *mode != DoctorMode::Apply {
        let named = first.processes.iter().take(NAMED).map(u32::to_string).collect::<Vec<_>>().join(", ");
        let (attempts, thread) = (counted(found.len(), "attempt"), &first.thread);
        let message = match count {
            0 => format!("processes of {attempts} outlived their keeper (thread {thread})"),
            _ => {
                format!("{} of {attempts} outlived their keeper (thread {thread}: {named})", counted(count, "process"))
            }
        };
        let hint = "`uwf doctor --fix` ends them; so does the next step of the thread, which takes over their result";
        return Ok(vec![DoctorFinding::warn("orphans", message).hint(hint)]);
    }
    let grace = home.config().map_or(DEFAULT_KILL_GRACE, |config| config.limits.kill_grace);
    found.iter().map(|orphaned| end(home, orphaned, grace)).collect()
}

/// Ends the processes of an attempt. Holds the thread's lock meanwhile, so that no step takes them over.
fn end(home: &Home, orphaned: &OrphanAttempt, grace: Duration) -> Result<DoctorFinding> {
    let OrphanAttempt { trail, thread, processes: found } = orphaned;
    let dir = home.thread_dir(thread);
    let has_dir = dir.try_exists().path_context("look at", &dir)?;
    let lock = if has_dir { lock::take_within(home, thread, Duration::ZERO)? } else { None };
    if lock.is_none() && has_dir {
        return Ok(DoctorFinding::ok(
            "orphans",
            format!("a running step of thread {thread} takes care of its processes"),
        ));
    }
    processes::end_attempt(trail, grace, None);
    let ended = if found.is_empty() { "the processes".to_owned() } else { counted(found.len(), "process") };
    let left = processes::known_survivors(trail).len();
    let message = match left {
        0 if trail.is_output_held() => format!("a process of thread {thread} could not be ended"),
        0 => return Ok(DoctorFinding::ok("orphans", format!("ended {ended} of thread {thread}"))),
        _ => format!("{left} of {ended} of thread {thread} could not be ended"),
    };
    Ok(DoctorFinding::fail("orphans", message).hint("they may belong to another user, or hang in the kernel"))
}

/// Orphans on a system whose processes don't show their attempt. Processes of a thread without files are not found.
fn orphaned_by_record(home: &Home) -> Result<Vec<OrphanAttempt>> {
    let mut found = Vec::new();
    for thread in thread_ids(home) {
        let Some(attempt) = leftover::without_keeper(home, &thread)? else { continue };
        let trail = AttemptTrail::of_record(home, &attempt);
        if processes::has_survivors(&trail) && !is_watched(home, &thread)? {
            let processes = processes::known_survivors(&trail).into_iter().collect();
            found.push(OrphanAttempt { trail, thread, processes });
        }
    }
    Ok(found)
}

fn orphaned(home: &Home) -> Result<Vec<OrphanAttempt>> {
    let mut attempts: BTreeMap<(String, ThreadId), Vec<u32>> = BTreeMap::new();
    // Skip the ancestors of this process: it may run inside an agent.
    let own = processes::ancestry();
    for (pid, environment) in processes::environments() {
        let variable = |name: &str| environment.get(name).cloned();
        let (Some(attempt), Some(thread)) = (variable("UWF_ATTEMPT"), variable("UWF_THREAD")) else { continue };
        let root = variable(ROOT_VARIABLES[0]).unwrap_or_default();
        let Ok(thread) = thread.parse::<ThreadId>() else { continue };
        if !own.contains(&pid) && is_same(Path::new(&root), home.root()) && !is_watched(home, &thread)? {
            attempts.entry((attempt, thread)).or_default().push(pid);
        }
    }
    let orphaned = |((attempt, thread), processes): ((String, ThreadId), Vec<u32>)| {
        let trail = AttemptTrail::of_id(&attempt);
        OrphanAttempt { trail, thread, processes }
    };
    Ok(attempts.into_iter().map(orphaned).collect())
}

/// Whether a keeper is at work for a thread, or for a thread above it that still needs its result: a living group waits for the agent of a
/// branch whose own keeper is dead.
fn is_watched(home: &Home, thread: &ThreadId) -> Result<bool> {
    let mut at = thread.clone();
    for _ in 0..MAX_ANCESTORS {
        if lock::is_held(home, &at)? {
            return Ok(true);
        }
        let Ok((child, _)) = Thread::active(home, &at) else { return Ok(false) };
        let Some(parent) = child_threads::parent_of(home, &at) else { return Ok(false) };
        let head = home.heads().read(parent.as_str())?.map(|head| head.hash);
        if head.is_none() || child.start.parent != head {
            return Ok(false);
        }
        at = parent;
    }
    Ok(false)
}

fn is_same(a: &Path, b: &Path) -> bool {
    a == b || std::fs::canonicalize(a).is_ok_and(|a| std::fs::canonicalize(b).is_ok_and(|b| a == b))
}
