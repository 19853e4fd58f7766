//! Watches and ends processes in tests.

use std::fmt::Display;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use uwf_platform::host;

/// Longest time a test waits for an event.
const LIMIT: Duration = Duration::from_mins(1);

/// Waits until a condition holds.
///
/// # Panics
/// If it does not within a minute.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Running processes with this directory as `HOME`, which every process of a [`TestHome`](crate::TestHome) has: ids, and the words of their
/// command lines. A process that is exiting counts until its files are closed, which releases its locks.
///
/// # Panics
/// If processes cannot be listed.
pub fn of_home(home: &Path) -> Vec<(i32, Vec<String>)> {
    let marker = format!("HOME={}", home.display());
    let of_home = |pid: u32| {
        let environment = host().environment(pid);
        let is_of_home = environment.iter().any(|variable| variable == marker.as_bytes());
        let words = host().arguments(pid);
        let words: Vec<String> = words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        // A keeper or broker of uwf may hide its environment, but has its storage root among its arguments.
        let is_closed = environment.is_empty() && words.iter().skip(1).any(|word| Path::new(word).starts_with(home));
        (is_of_home || is_closed).then_some((pid.cast_signed(), words))
    };
    let all = host().processes().expect("there is a list of processes");
    all.0.into_keys().filter_map(of_home).collect()
}

/// Whether a process with this id is running; a zombie is not.
pub fn is_alive(pid: impl Display) -> bool {
    pid.to_string().parse().is_ok_and(|pid| host().is_alive(pid))
}

/// Sends a process a signal, by its name without `SIG`.
///
/// # Panics
/// If the process does not exist.
pub fn signal(pid: impl Display, name: &str) {
    let status = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status().expect("kill runs");
    assert!(status.success(), "kill -{name} {pid}");
}
