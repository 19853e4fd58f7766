//! Usage limits that agents of this machine have reached: a small file for each agent, so that no thread starts an agent that would fail.
//!
//! A limit belongs to the alias of the agent. Two aliases may share an account, but uwf can't know that.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use durable_files::regular;
use json_cas::xxh64;
use serde::{Deserialize, Serialize};

use crate::error::{AtPath, Error, Result};
use crate::root::home::Home;
use crate::root::ids;

/// An end further away is an error of the notice, or of a clock. The longest limits are of a month.
pub(crate) const LONGEST_LIMIT: Duration = Duration::from_hours(40 * 24);

/// The usage limit of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentLimit {
    /// Name of the agent.
    pub(crate) agent: String,
    /// When it ends, Unix milliseconds.
    pub(crate) until: u64,
}

/// Records that an agent has reached its usage limit.
pub(crate) fn record(home: &Home, limit: &AgentLimit) -> Result<()> {
    let dir = home.limits_dir();
    std::fs::create_dir_all(&dir).path_context("create", &dir)?;
    let path = file(home, &limit.agent);
    let text = serde_json::to_string(limit).expect("a limit is plain text and a number");
    // A torn file counts as none. Then the agent reaches its limit once more.
    regular::write(&path, text.as_bytes()).path_context("write", &path)
}

/// The usage limit that an agent is at. An unreadable file counts as none.
pub(crate) fn current(home: &Home, agent: &str) -> Option<AgentLimit> {
    let bytes = regular::read(&file(home, agent), regular::MAX_TEXT).ok()?;
    let limit: AgentLimit = serde_json::from_slice(&bytes).ok()?;
    let left = Duration::from_millis(limit.until.saturating_sub(ids::now_ms()));
    (limit.agent == agent && !left.is_zero() && left <= LONGEST_LIMIT).then_some(limit)
}

/// Forgets the usage limit of an agent.
pub(crate) fn forget(home: &Home, agent: &str) -> Result<()> {
    let path = file(home, agent);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file("remove", &path, error)),
        _ => Ok(()),
    }
}

fn file(home: &Home, agent: &str) -> PathBuf {
    home.limits_dir().join(format!("agent-{}", xxh64(agent.as_bytes())))
}
