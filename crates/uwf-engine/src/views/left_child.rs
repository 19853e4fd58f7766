//! Child threads that the thread above them continued without: another agent played the role, or a person did its work. They are active, but
//! need no action.

use json_cas::NodeHash;
use uwf_core::thread::ThreadId;

use crate::attempt::child_threads::MAX_ANCESTORS;
use crate::attempt::settings::ThreadSettings;
use crate::error::Result;
use crate::root::home::Home;
use crate::thread::load::Thread;

/// The nearest thread above an active thread that ended, or continued, without its child thread; `None` if the threads above still wait
/// for it. `head_of` gives the head of an active thread.
pub(crate) fn left_by(
    home: &Home,
    thread: &ThreadId,
    mut head_of: impl FnMut(&ThreadId) -> Result<Option<NodeHash>>,
) -> Result<Option<ThreadId>> {
    let mut at = thread.clone();
    for _ in 0..MAX_ANCESTORS {
        // Damaged settings name no parent.
        let parent = ThreadSettings::load(home, &at).ok().flatten().and_then(|settings| settings.parent);
        let Some(parent) = parent else { return Ok(None) };
        let (Some(above), Some(head)) = (head_of(&parent)?, head_of(&at)?) else { return Ok(Some(parent)) };
        // A child thread begins at the head at which its parent plays the role.
        if Thread::load_at(home, at, head)?.start.parent != Some(above) {
            return Ok(Some(parent));
        }
        at = parent;
    }
    Ok(None)
}

/// Why such a thread does not continue.
pub(crate) fn continued_without(above: &ThreadId) -> String {
    format!("thread {above} continued without it")
}
