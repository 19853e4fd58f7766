//! Processes as a test watches and ends them.

use std::fmt::Display;
use std::process::Command;
use std::time::{Duration, Instant};

/// Longest time a test waits for something that is to happen.
const LIMIT: Duration = Duration::from_secs(20);

/// Waits until something holds.
///
/// # Panics
/// When it does not within 20 s.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a process of this id lives; one that has ended and was not waited for does not.
pub fn is_alive(pid: impl Display) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Sends a process a signal, by its name without `SIG`.
///
/// # Panics
/// When there is no such process.
pub fn signal(pid: impl Display, name: &str) {
    let status = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status().expect("kill runs");
    assert!(status.success(), "kill -{name} {pid}");
}
