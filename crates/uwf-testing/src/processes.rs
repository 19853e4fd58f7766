//! Watches and ends processes in tests.

use std::fmt::Display;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

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
    let of_home = |pid: i32| {
        let environment = environment(pid);
        let is_of_home = environment.split(|byte| *byte == 0).any(|variable| variable == marker.as_bytes());
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = command.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        let words: Vec<String> = words.collect();
        // A keeper or broker of uwf may hide its environment, but has its storage root among its arguments.
        let is_closed = environment.is_empty() && words.iter().skip(1).any(|word| Path::new(word).starts_with(home));
        (is_of_home || is_closed).then_some((pid, words))
    };
    let entries = std::fs::read_dir("/proc").expect("there is a list of processes").flatten();
    entries.filter_map(|entry| of_home(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// The environment of a process. The kernel shows neither environment nor command line while a process executes a program and while it
/// exits, so this waits until that is over.
fn environment(pid: i32) -> Vec<u8> {
    let read = |file| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    // Field 9 are flags; this one is `PF_KTHREAD`.
    let flags = || {
        read("stat")
            .rsplit(|byte| *byte == b')')
            .next()
            .and_then(|fields| String::from_utf8_lossy(fields).split_whitespace().nth(6)?.parse::<u64>().ok())
    };
    let is_of_kernel = || flags().is_some_and(|flags| flags & 0x0020_0000 != 0);
    let deadline = Instant::now() + LIMIT;
    loop {
        let environment = read("environ");
        if !environment.is_empty() || !read("cmdline").is_empty() || !is_alive(pid) || is_of_kernel() {
            return environment;
        }
        assert!(Instant::now() < deadline, "process {pid} neither begins nor ends");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a process with this id is running; a zombie is not.
pub fn is_alive(pid: impl Display) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Sends a process a signal, by its name without `SIG`.
///
/// # Panics
/// If the process does not exist.
pub fn signal(pid: impl Display, name: &str) {
    let status = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status().expect("kill runs");
    assert!(status.success(), "kill -{name} {pid}");
}
