//! That another machine is at work on the next step of a thread.

use std::fmt;
use std::time::Duration;

use uwf_core::agent_name::AgentName;
use uwf_core::thread::ThreadId;

/// Who is at work, as far as a claim tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtWork {
    /// The thread.
    pub thread: ThreadId,
    /// The machine.
    pub machine: String,
    /// Role that is played.
    pub role: String,
    /// The agent.
    pub agent: AgentName,
    /// For how long.
    pub since: Duration,
    /// How long the machine is believed to be at work without being heard of.
    pub lease: Duration,
}

impl fmt::Display for AtWork {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AtWork { thread, machine, role, agent, since, .. } = self;
        let agent = agent.short();
        let seconds = since.as_secs();
        write!(
            out,
            "machine `{machine}` is at work on thread {thread}: role `{role}`, agent `{agent}`, for {seconds} s"
        )
    }
}
