//! Why a thread has ended, as its thread-end node says it.

/// Reason of a thread-end node whose thread came to its graph's end.
pub const END: &str = "end";

/// Reason when no transition matched.
pub const NO_MATCH: &str = "no-match";

/// Reason when somebody killed the thread.
pub(crate) const KILLED: &str = "killed";

/// What the reason begins with when the supervisor ended the thread; why follows.
pub const SUPERVISOR: &str = "supervisor: ";
