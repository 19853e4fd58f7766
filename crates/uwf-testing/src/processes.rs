//! Processes as a test watches and ends them.

use std::fmt::Display;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Longest time a test waits for something that is to happen.
const LIMIT: Duration = Duration::from_mins(1);

/// Waits until something holds.
///
/// # Panics
/// When it does not within a minute.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Processes that have this directory as their `HOME`, as all that a [`TestHome`](crate::TestHome) starts, and that have not
/// ended: ids, and the words of their command lines. A process that is ending counts until its files are closed, and with
/// them its locks are free.
///
/// # Panics
/// When processes cannot be listed.
pub fn of_home(home: &Path) -> Vec<(i32, Vec<String>)> {
    let marker = format!("HOME={}", home.display());
    let of_home = |pid: i32| {
        let environment = environment(pid);
        let is_of_home = environment.split(|byte| *byte == 0).any(|variable| variable == marker.as_bytes());
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = command.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        let words: Vec<String> = words.collect();
        // A keeper or broker of uwf may show nobody its environment, and has its storage root among its arguments.
        let is_closed = environment.is_empty() && words.iter().skip(1).any(|word| Path::new(word).starts_with(home));
        (is_of_home || is_closed).then_some((pid, words))
    };
    let entries = std::fs::read_dir("/proc").expect("there is a list of processes").flatten();
    entries.filter_map(|entry| of_home(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// The environment of a process. The kernel shows none, and no command line either, while a process begins a program and
/// while it ends: then whose it is shows when that is over.
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
