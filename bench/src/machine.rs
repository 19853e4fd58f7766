//! What the figures were taken on. Nothing that names a machine or a directory.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use uwf_core::view::time;
use uwf_engine::root::ids::now_ms;

use crate::sizes::BenchSizes;

/// The facts, for table and JSON.
pub fn facts(dir: &Path, sizes: &BenchSizes, quick: bool) -> Value {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    json!({
        "date": format!("{} UTC", time(now_ms())),
        "system": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        "kernel": kernel(),
        "fileSystem": file_system(dir),
        "cores": cores,
        "loadBefore": load(),
        "build": if cfg!(debug_assertions) { "debug" } else { "release" },
        "quick": quick,
        "runs": sizes.runs,
    })
}

/// The release without what a distribution added.
fn kernel() -> Option<String> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    Some(release.trim().split('-').next().unwrap_or_default().to_owned())
}

/// Processes that wanted to run, averaged over the minute before: above 0.3 or so, somebody else was at work.
fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

/// Type of the file system a directory is on: that of the mount point nearest above it.
fn file_system(dir: &Path) -> Option<String> {
    let dir = fs::canonicalize(dir).ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ').skip(1);
            Some((fields.next()?, fields.next()?))
        })
        .filter(|(point, _)| dir.starts_with(point))
        .max_by_key(|(point, _)| point.len())
        .map(|(_, kind)| kind.to_owned())
}
