//! Another machine that is running the next step of a thread.

use std::fmt;
use std::time::Duration;

use uwf_core::agent_name::AgentName;
use uwf_core::thread::ThreadId;

/// The machine that is running a step, according to its claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtWork {
    /// The thread.
    pub thread: ThreadId,
    /// The machine.
    pub machine: String,
    /// The role.
    pub role: String,
    /// The agent.
    pub agent: AgentName,
    /// Time since the attempt began.
    pub since: Duration,
    /// How long other machines believe that it is running without a sign of life.
    pub lease: Duration,
}

impl fmt::Display for AtWork {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AtWork { thread, machine, role, agent, since, .. } = self;
        let agent = agent.short();
        let seconds = since.as_secs();
        write!(out, "machine `{machine}` is running thread {thread}: role `{role}`, agent `{agent}`, for {seconds} s")
    }
}
