//! A build without engines.

use std::time::Duration;

use json_cas::Hash;
use uwf_core::thread::ThreadId;

use super::{Addressed, Followed, Listed, Told, Trouble, Work, not_built_in};
use crate::context::Context;
use crate::error::CommandError;

/// A thread that runs on an engine: there is none.
pub(crate) enum Begun {}

impl Begun {
    /// Refuses.
    pub(crate) fn begin(
        _: &Context,
        _: ThreadId,
        _steps_per_run: Option<u32>,
        _look_again: Option<Duration>,
    ) -> Result<Begun, CommandError> {
        Err(not_built_in())
    }

    /// Whether it did not run before.
    pub(crate) fn is_new(&self) -> bool {
        match *self {}
    }

    /// Follows it.
    pub(crate) fn follow(&self, _each: impl FnMut(), _trouble: impl Fn(Trouble)) -> Result<Followed, CommandError> {
        match *self {}
    }
}

/// Schedules: there are none.
pub(crate) enum Schedules {}

impl Schedules {
    /// Refuses.
    pub(crate) fn connect(_: &Context) -> Result<Schedules, CommandError> {
        Err(not_built_in())
    }

    /// Makes one.
    pub(crate) fn create(
        &self,
        _name: &str,
        _cron: &str,
        _workflow: &str,
        _template: &ThreadId,
        _start: Hash,
    ) -> Result<(), CommandError> {
        match *self {}
    }

    /// All of them.
    pub(crate) fn all(&self) -> Result<Vec<Listed>, CommandError> {
        match *self {}
    }

    /// Removes one.
    pub(crate) fn remove(&self, _name: &str) -> Result<Option<ThreadId>, CommandError> {
        match *self {}
    }
}

/// Refuses.
pub(crate) fn work(_: &Context, _: Addressed, _: Work) -> Result<(), CommandError> {
    Err(not_built_in())
}

/// Nobody runs the thread who would have to hear of it.
pub(crate) fn tell(_: &Context, _: &ThreadId, _: Told) {}

/// No engine runs the thread.
pub(crate) fn failure_of(_: &Context, _: &ThreadId) -> Result<Option<String>, CommandError> {
    Ok(None)
}

/// There is no address to know.
pub(crate) fn warn_of_unknown_address(_: &Context) -> Result<(), CommandError> {
    Ok(())
}
