//! The variable that identifies the processes of an attempt.

/// Every process of an attempt inherits it. A keeper that an agent started performs its own step, and must not be ended
/// with that agent's attempt.
pub(crate) const ATTEMPT_VARIABLE: &str = "UWF_ATTEMPT";
