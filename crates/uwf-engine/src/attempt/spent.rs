//! A thread's usage that counts for its limits: its steps, the attempts that failed since, and child threads without a
//! step.

use json_cas::NodeHash;
use uwf_core::config::UwfConfig;
use uwf_core::thread::ThreadId;
use uwf_core::usage::UsageAmount;

use crate::attempt::recorded::ThreadRecord;
use crate::error::Result;
use crate::thread::children;
use crate::thread::load::Thread;
use crate::thread::nodes;
use crate::thread::usage;

/// Usage of a thread with these failed attempts. `except` is a child thread that is counted elsewhere.
pub(crate) fn used(
    thread: &Thread<'_>,
    config: &UwfConfig,
    failed: &[NodeHash],
    except: Option<&ThreadId>,
) -> Result<UsageAmount> {
    UsageSum { config, except }.total_of_thread(thread, failed, nodes::MAX_NESTING)
}

/// The attempts of a thread that failed since its newest step.
pub(crate) fn failed_at(thread: &Thread<'_>) -> Result<Vec<NodeHash>> {
    Ok(ThreadRecord::read(thread.home(), &thread.id)?.failed_at(thread.head))
}

/// Adds up usage.
struct UsageSum<'u> {
    config: &'u UwfConfig,
    except: Option<&'u ThreadId>,
}

impl UsageSum<'_> {
    fn total_of_thread(&self, thread: &Thread<'_>, failed: &[NodeHash], nesting: usize) -> Result<UsageAmount> {
        let home = thread.home();
        let mut used = usage::priced(thread, self.config)?.total;
        used.add(usage::of_attempts(home.store(), self.config, failed)?);
        let Some(nesting) = nesting.checked_sub(1) else { return Ok(used) };
        for id in children::without_step(thread)?.iter().filter(|id| Some(*id) != self.except) {
            if let Some(child) = children::find(home, id)? {
                // The steps of a child don't count as steps of its parent.
                used.add(UsageAmount { steps: 0, ..self.total_of_thread(&child, &failed_at(&child)?, nesting)? });
            }
        }
        Ok(used)
    }
}
