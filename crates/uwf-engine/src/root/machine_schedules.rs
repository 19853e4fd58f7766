//! Schedules of this machine. Their timers belong to systemd or cron.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use durable_files::{FileLock, regular};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{AtPath, Error, Result};
use crate::root::home::Home;

/// How long to wait for another process that changes the schedules. Starting a thread takes the longest of what they do.
const LOCK_WAIT: Duration = Duration::from_secs(20);

/// Key of the label of each thread that a schedule started; the value is the name of the schedule.
pub const LABEL: &str = "schedule";

/// The program of this machine that starts the threads of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MachineTimer {
    /// A timer of the user's systemd.
    Systemd,
    /// A line of the user's crontab.
    Cron,
}

/// The threads that a schedule starts, and their times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MachineSchedule {
    /// The times, as given.
    pub cron: String,
    /// The program that starts the threads.
    pub timer: MachineTimer,
    /// Workflow of the threads: a name, a hash or an absolute path.
    pub workflow: String,
    /// Their task.
    pub prompt: String,
    /// Values of their input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Assignments `NAME=VALUE` that change the input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// The directory that their agents work in.
    pub directory: PathBuf,
    /// Number of times at which no thread began, because the previous one had not ended.
    #[serde(default)]
    pub left_out: u64,
}

/// The schedules of this machine by name, which no other process can change meanwhile.
pub struct HeldSchedules<'h> {
    home: &'h Home,
    /// The schedules.
    pub by_name: BTreeMap<String, MachineSchedule>,
    _lock: FileLock,
}

impl<'h> HeldSchedules<'h> {
    /// Reads the schedules to change them.
    ///
    /// # Errors
    /// `Busy` if another process holds them for 20 seconds; `Data` for a file that uwf did not write.
    pub fn hold(home: &'h Home) -> Result<HeldSchedules<'h>> {
        std::fs::create_dir_all(home.root()).path_context("create", home.root())?;
        let path = home.schedules_lock();
        let lock = FileLock::acquire(&path, LOCK_WAIT)?.ok_or_else(|| {
            Error::busy(format!("another process changes the schedules; its lock is {}", path.display()))
        })?;
        Ok(HeldSchedules { home, by_name: read(home)?, _lock: lock })
    }

    /// Writes the schedules, for their owner only.
    pub fn write(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.by_name).map_err(|error| Error::data(error.to_string()))?;
        Ok(durable_files::replace_private(&self.home.schedules_file(), text.as_bytes())?)
    }
}

/// The schedules of this machine by name.
///
/// # Errors
/// `Data` for a file that uwf did not write.
pub fn read(home: &Home) -> Result<BTreeMap<String, MachineSchedule>> {
    let path = home.schedules_file();
    match regular::read_to_string(&path, regular::MAX_TEXT) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| {
            Error::data(format!("{} can't be read: {error}", path.display()))
                .hint("uwf alone writes this file: restore it, or remove it and create the schedules again")
        }),
        Err(missing) if missing.kind() == ErrorKind::NotFound => Ok(BTreeMap::new()),
        other => other.map(|_| BTreeMap::new()).path_context("read", &path),
    }
}
