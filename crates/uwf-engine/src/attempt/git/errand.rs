//! The attempt that git calls belong to, and the time they have left.
//!
//! An errand applies to every git call of the current OS thread, so no function can forget to pass it on.

use std::cell::RefCell;
use std::time::{Duration, Instant};

thread_local! {
    static ERRAND: RefCell<GitScope> = const { RefCell::new(GitScope { attempt: None, until: None }) };
}

#[derive(Clone)]
struct GitScope {
    attempt: Option<String>,
    until: Option<Instant>,
}

/// While this value lives, git runs on its behalf.
#[must_use]
pub(crate) struct GitScopeGuard {
    before: GitScope,
}

impl GitScopeGuard {
    /// Runs git for an attempt: if its keeper is killed, leftover git processes are ended like the agent's processes.
    /// All calls together must end by `until`.
    pub(crate) fn begin(attempt: Option<&str>, until: Option<Instant>) -> GitScopeGuard {
        let scope = GitScope { attempt: attempt.map(str::to_owned), until };
        GitScopeGuard { before: ERRAND.replace(scope) }
    }
}

impl Drop for GitScopeGuard {
    fn drop(&mut self) {
        ERRAND.set(self.before.clone());
    }
}

pub(super) fn attempt() -> Option<String> {
    ERRAND.with_borrow(|errand| errand.attempt.clone())
}

/// Time left for git.
pub(super) fn time_left() -> Option<Duration> {
    ERRAND.with_borrow(|errand| errand.until).map(|until| until.saturating_duration_since(Instant::now()))
}
