//! Reasons in thread-end nodes.

/// The graph reached its end.
pub const END: &str = "end";

/// No transition matched.
pub const NO_MATCH: &str = "no-match";

/// The thread was killed.
pub(crate) const KILLED: &str = "killed";

/// Prefix of the reason if the supervisor ended the thread; its explanation follows.
pub const SUPERVISOR: &str = "supervisor: ";
