//! Facts that the system shows of a process: its attempt, its keeper, and whether its starter is alive.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::Pid;
use uwf_platform::host;

use super::{KEEPER_ARGUMENT, processes};
use crate::attempt_variable::{ATTEMPT_ARGUMENT, ATTEMPT_VARIABLE};

/// Position of [`starter_argument`] in the command line of a keeper, after the program, [`KEEPER_ARGUMENT`], the request and the root.
const STARTER_POSITION: usize = 4;

pub(super) fn pid(raw: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(raw).ok()?)
}

pub(super) fn is_keeper(pid: u32) -> bool {
    host().arguments(pid).get(1).is_some_and(|word| word == KEEPER_ARGUMENT.as_bytes())
}

/// Whether a process belongs to an attempt.
pub(super) fn carries(pid: u32, attempt: &str) -> bool {
    attempt_of(pid).is_some_and(|of_process| of_process == attempt.as_bytes())
}

/// Whether a process belongs to another attempt, whose keeper is or was another process.
pub(super) fn is_of_another(pid: u32, attempt: &str) -> bool {
    attempt_of(pid).is_some_and(|of_process| of_process != attempt.as_bytes())
}

/// The attempt of a process, by its inherited variable or, if it is closed to others, by its arguments.
fn attempt_of(pid: u32) -> Option<Vec<u8>> {
    let marker = format!("{ATTEMPT_VARIABLE}=");
    let environment = host().environment(pid);
    let named = environment.iter().find_map(|variable| variable.strip_prefix(marker.as_bytes()));
    if let Some(named) = named {
        return Some(named.to_vec());
    }
    let words = host().arguments(pid);
    words.windows(2).find(|pair| pair[0] == ATTEMPT_ARGUMENT.as_bytes()).map(|pair| pair[1].clone())
}

/// This process, as an argument of a keeper that it starts: its id and its birth, which is empty where the system has none.
pub(crate) fn starter_argument() -> String {
    let own = std::process::id();
    format!("{own}:{}", host().birth(own).map(|birth| birth.to_string()).unwrap_or_default())
}

/// Whether the process that started a keeper is gone, so that no process waits for the result. `false` if this is unknown: the keeper was
/// started by an earlier version, or the system does not show its arguments.
pub(crate) fn is_orphan(keeper: Pid) -> bool {
    let arguments = host().arguments(keeper.as_raw_nonzero().get().cast_unsigned());
    let starter = arguments.get(STARTER_POSITION);
    let named = starter.and_then(|word| std::str::from_utf8(word).ok()?.split_once(':'));
    let Some((pid, birth)) = named.and_then(|(pid, birth)| Some((pid.parse().ok()?, birth))) else { return false };
    match birth.parse::<u64>() {
        Ok(birth) => host().birth(pid) != Some(birth),
        Err(_) => !host().is_alive(pid),
    }
}

/// This process and its ancestors.
pub(crate) fn ancestry() -> BTreeSet<u32> {
    processes().with_ancestors(std::process::id())
}

/// The variables that a live process was started with, as far as they are text and readable.
pub fn environment_of(pid: u32) -> Vec<(String, String)> {
    let variables = host().environment(pid);
    let pairs = variables.iter().filter_map(|pair| std::str::from_utf8(pair).ok()?.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The variables that each live process was started with, as far as they are readable.
pub(crate) fn environments() -> Vec<(u32, BTreeMap<String, String>)> {
    processes().0.into_keys().map(|pid| (pid, environment_of(pid).into_iter().collect())).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A process with a starter in its command line where a keeper has it.
    fn keeper_started_by(starter: &str) -> Child {
        let mut command = Command::new("sh");
        let child = command.args(["-c", "read line", "root", starter]).stdin(Stdio::piped()).spawn().unwrap();
        // The kernel shows no command line while a program begins.
        while host().arguments(child.id()).is_empty() {
            std::thread::yield_now();
        }
        child
    }

    #[test]
    fn orphan_is_recognized_by_birth_of_its_starter() {
        let own = std::process::id();
        let other = Command::new("true").spawn().map(|mut child| child.wait().map(|_| child.id())).unwrap().unwrap();
        for (starter, is_orphan_now) in [
            (starter_argument(), false),
            (format!("{own}:1"), true),
            (format!("{own}:"), false),
            (format!("{other}:"), true),
            (format!("{other}:{}", host().birth(own).unwrap()), true),
            ("no process".to_owned(), false),
        ] {
            let mut keeper = keeper_started_by(&starter);
            assert_eq!(is_orphan(pid(keeper.id()).unwrap()), is_orphan_now, "{starter}");
            keeper.kill().unwrap();
            keeper.wait().unwrap();
        }
    }
}
