//! Reads the record of a thread, and ends the process that writes it.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::TestHome;
use crate::processes::{signal, until};

impl TestHome {
    /// The newest line with this event in the record of a thread; for `started`, the line of the newest attempt. Waits for the line, because
    /// an agent may be at work a moment before its keeper has recorded its process.
    ///
    /// # Panics
    /// If no such line appears within a minute.
    pub fn recorded(&self, thread: &str, event: &str) -> Value {
        let mut found = None;
        until(&format!("the record of {thread} has an event `{event}`"), || {
            found = self.newest(thread, event);
            found.is_some()
        });
        found.unwrap_or_default()
    }

    fn newest(&self, thread: &str, event: &str) -> Option<Value> {
        let record = fs::read_to_string(self.record_file(thread)).unwrap_or_default();
        // The last line may be incomplete.
        let mut lines = record.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let is_end = |line: &Value| line["event"] == event || (event == "started" && line["event"] == "opened");
        lines.find(is_end).filter(|line| line["event"] == event)
    }

    /// The lock that the keeper of a thread holds, with its process id.
    pub fn lock_file(&self, thread: &str) -> PathBuf {
        self.root().join("threads").join(thread).join("lock")
    }

    /// The process id of a keeper whose agent is at work, once it has recorded the process of that agent.
    ///
    /// # Panics
    /// If it does not within a minute.
    pub fn keeper(&self, thread: &str) -> u64 {
        self.recorded(thread, "started");
        self.recorded(thread, "opened")["keeper"].as_u64().expect("a process id")
    }

    /// Kills the keeper of a thread whose agent is at work, once it has recorded the process of that agent.
    ///
    /// # Panics
    /// If it does not within a minute.
    pub fn kill_keeper(&self, thread: &str) {
        signal(self.keeper(thread), "KILL");
    }
}
