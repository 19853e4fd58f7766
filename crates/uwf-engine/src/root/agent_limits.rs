//! Usage limits that agents of this machine have reached: a small file for each agent, so that no thread starts an agent that would fail.
//!
//! A limit belongs to the account and the model of an agent, which `attempt/agents/account.rs` finds out from its settings. Two agents with
//! different programs may share an account, but uwf can't know that.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use durable_files::regular;
use serde::{Deserialize, Serialize};
use uwf_core::view;

use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::root::ids;

/// An end further away is an error of the notice, or of a clock. The longest limits are of a month.
pub(crate) const LONGEST_LIMIT: Duration = Duration::from_hours(40 * 24);

/// Two ends that are nearer to each other are the same, if they are far away.
const NEAR: Duration = Duration::from_mins(1);

/// An end that is further away may move by [`NEAR`].
const LONG: Duration = Duration::from_mins(10);

/// The words of a reason for an agent at its usage limit.
const AT_LIMIT: &str = " is at its usage limit";

/// The end of the time in such a reason.
const ZONE: &str = " UTC";

/// The usage limit of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentLimit {
    /// Name of the agent that reached it.
    pub(crate) agent: String,
    /// When it ends, Unix milliseconds.
    pub(crate) until: u64,
    /// Whether no notice says when it ends.
    #[serde(default)]
    pub(crate) is_assumed: bool,
}

impl AgentLimit {
    /// Why the agent does not work now.
    pub(crate) fn why(&self) -> String {
        at_limit("it", self.until, self.is_assumed)
    }
}

/// Why an agent at a usage limit with this end does not work now. An assumed end does not read like one that a notice has.
pub(crate) fn at_limit(agent: &str, until: u64, is_assumed: bool) -> String {
    let until = view::time(until);
    match is_assumed {
        true => format!("{agent}{AT_LIMIT}; no end time is given, so uwf tries again at {until}{ZONE}"),
        false => format!("{agent}{AT_LIMIT} until {until}{ZONE}"),
    }
}

/// The part of a reason that says that an agent is at its usage limit, without what the agent said about it.
pub(crate) fn limit_in(why: &str) -> Option<&str> {
    let (agent, rest) = why.split_once(AT_LIMIT)?;
    let end = rest.find(ZONE)? + ZONE.len();
    Some(&why[..agent.len() + AT_LIMIT.len() + end])
}

/// The end of an account's usage limit after a notice with this end. Agents that work at the same time get notices with slightly
/// different ends, which are the same limit.
pub(crate) fn joint_end(home: &Home, account: &str, until: u64, is_assumed: bool) -> u64 {
    let is_same = |known: &AgentLimit| {
        let left = Duration::from_millis(known.until.saturating_sub(ids::now_ms()));
        known.is_assumed == is_assumed && left >= LONG && known.until.abs_diff(until) < NEAR.as_millis() as u64
    };
    current(home, account).filter(is_same).map_or(until, |known| known.until)
}

/// Records that an account has reached its usage limit. An assumed end does not replace a later one that a notice said.
pub(crate) fn record(home: &Home, account: &str, limit: &AgentLimit) -> Result<()> {
    let is_known = |known: AgentLimit| limit.is_assumed && !known.is_assumed && known.until > limit.until;
    if current(home, account).is_some_and(is_known) {
        return Ok(());
    }
    let text = serde_json::to_string(limit).expect("a limit is plain text and a number");
    Ok(durable_files::replace(&file(home, account), text.as_bytes())?)
}

/// The usage limit that an account is at. An unreadable file counts as none.
pub(crate) fn current(home: &Home, account: &str) -> Option<AgentLimit> {
    let bytes = regular::read(&file(home, account), regular::MAX_TEXT).ok()?;
    let limit: AgentLimit = serde_json::from_slice(&bytes).ok()?;
    let left = Duration::from_millis(limit.until.saturating_sub(ids::now_ms()));
    (!left.is_zero() && left <= LONGEST_LIMIT).then_some(limit)
}

/// Forgets the usage limit of an account.
pub(crate) fn forget(home: &Home, account: &str) -> Result<()> {
    if current(home, account).is_none() {
        return Ok(());
    }
    let path = file(home, account);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::file("remove", &path, error)),
        _ => Ok(()),
    }
}

fn file(home: &Home, account: &str) -> PathBuf {
    home.limits_dir().join(format!("agent-{account}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_of_one_limit_have_one_end() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(dir.path(), "uwf");
        let now = ids::now_ms();
        let record_end =
            |until| record(&home, "a", &AgentLimit { agent: "w".to_owned(), until, is_assumed: false }).unwrap();
        record_end(now + 7_200_000);
        assert_eq!(joint_end(&home, "a", now + 7_203_000, false), now + 7_200_000);
        assert_eq!(joint_end(&home, "a", now + 7_300_000, false), now + 7_300_000);
        assert_eq!(joint_end(&home, "b", now + 7_203_000, false), now + 7_203_000);
        record_end(now + 5_000);
        assert_eq!(joint_end(&home, "a", now + 8_000, false), now + 8_000, "a short wait stays exact");
    }

    #[test]
    fn reason_is_read_without_notice() {
        for is_assumed in [true, false] {
            let limit = at_limit("agent `w`", 1_795_999_263_000, is_assumed);
            assert_eq!(limit_in(&format!("{limit}: exited with 1")), Some(limit.as_str()));
        }
        assert_eq!(limit_in("agent `w` exited with 1"), None);
    }

    #[test]
    fn assumed_end_shortens_no_known_limit() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::open(dir.path(), "uwf");
        let now = ids::now_ms();
        let limit = |until: u64, is_assumed| AgentLimit { agent: "w".to_owned(), until: now + until, is_assumed };
        let (known, vague) = (limit(7_200_000, false), limit(900_000, true));
        record(&home, "a", &known).unwrap();
        record(&home, "a", &vague).unwrap();
        assert_eq!(current(&home, "a"), Some(known));
        record(&home, "b", &vague).unwrap();
        assert_eq!(current(&home, "b"), Some(vague));
        let shorter = limit(60_000, false);
        record(&home, "a", &shorter).unwrap();
        assert_eq!(current(&home, "a"), Some(shorter));
        forget(&home, "a").unwrap();
        assert_eq!(current(&home, "a"), None);
    }
}
