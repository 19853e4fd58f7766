//! Processes as a test watches and ends them.

use std::fmt::Display;
use std::path::Path;
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

/// Live processes that have this directory as their `HOME`, as all that a [`TestHome`](crate::TestHome) starts: ids, and
/// the words of their command lines.
///
/// # Panics
/// When processes cannot be listed.
pub fn of_home(home: &Path) -> Vec<(i32, Vec<String>)> {
    let marker = format!("HOME={}", home.display());
    let of_home = |pid: i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        let is_of_home = environment.split(|byte| *byte == 0).any(|variable| variable == marker.as_bytes());
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = command.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        is_of_home.then(|| (pid, words.collect()))
    };
    let entries = std::fs::read_dir("/proc").expect("there is a list of processes").flatten();
    entries.filter_map(|entry| of_home(entry.file_name().to_str()?.parse().ok()?)).collect()
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
