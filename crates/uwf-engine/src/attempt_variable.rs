//! The variable by which the processes of an attempt are known.

/// Every process of an attempt inherits it. A keeper that an agent started performs a step of its own, and must not be ended with
/// that agent's attempt.
pub(crate) const ATTEMPT_VARIABLE: &str = "UWF_ATTEMPT";
