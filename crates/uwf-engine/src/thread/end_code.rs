//! Return codes in thread-end nodes.

/// Return code of a thread that its workflow completed.
pub const COMPLETED: i32 = 0;

/// Return code of a thread that its supervisor killed.
pub const SUPERVISED: i32 = 1;

/// Return code of a thread that a person killed, as a shell reports Ctrl-C.
pub(crate) const KILLED: i32 = 130;

/// Whether a thread has no return code, or was completed by its workflow.
pub(crate) fn is_success(return_code: &Option<i32>) -> bool {
    return_code.is_none_or(|code| code == COMPLETED)
}
