//! The verdict of a clause about the work.

/// The verdict of a clause about the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WorkVerdict {
    pub(super) accepts: bool,
    /// It can't be about anything else: the first person speaks, or the work is the subject.
    pub(super) is_firm: bool,
}

impl WorkVerdict {
    pub(super) fn firm(accepts: bool) -> WorkVerdict {
        WorkVerdict { accepts, is_firm: true }
    }

    pub(super) fn weak(accepts: bool) -> WorkVerdict {
        WorkVerdict { accepts, is_firm: false }
    }
}
