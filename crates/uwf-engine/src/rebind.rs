//! `uwf run THREAD --agent …`: other agents for a thread from its next step on.

use uwf_core::thread::ThreadId;

use crate::bindings::Bindings;
use crate::environment::Redactor;
use crate::error::Result;
use crate::home::Home;
use crate::load::Thread;
use crate::lock;
use crate::plan::Plan;

/// Binds a thread to further agents; those of roles that are not among them stay, unless one is for all roles.
///
/// # Errors
/// `NotFound` when the thread is not active, `Busy` while somebody steps it, `Usage` for an unknown role, `Config` for an
/// unknown agent, those of the thread's record.
pub fn rebind(home: &Home, id: &ThreadId, bound: Bindings) -> Result<()> {
    // Whoever steps the thread writes to its record too, and may shorten it.
    let _lock = lock::take(home, id)?;
    let (thread, _) = Thread::active(home, id)?;
    let Plan { config, mut settings, workflow } = Plan::load(&thread, None)?;
    bound.refuse_secrets(&Redactor::of(home)?)?;
    bound.check(&config, &workflow, &settings.workspace)?;
    settings.bound = settings.bound.with(bound);
    let begun_at = settings.begun_at.unwrap_or(thread.head);
    settings.begun_at(begun_at).save(home, id)
}
