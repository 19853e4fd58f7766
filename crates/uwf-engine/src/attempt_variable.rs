//! The variable and the argument that identify the processes of an attempt.

/// Every process of an attempt inherits it. A keeper that an agent started performs its own step, and must not be ended
/// with that agent's attempt.
pub(crate) const ATTEMPT_VARIABLE: &str = "UWF_ATTEMPT";

/// Argument that names the attempt of a uwf process. A process that is closed to others shows its arguments, but no
/// environment.
pub(crate) const ATTEMPT_ARGUMENT: &str = "--attempt";
