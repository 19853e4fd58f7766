//! `notify` of config.yaml: sends a notification when a thread has ended, waits, is at a limit or is stuck.
//!
//! A separate process ([`super::notifier`]) sends it after the step, so that it cannot fail or delay the step. Child threads send no notifications: their
//! parent does.

pub(crate) mod after_step;

use uwf_core::config::{NotifyEvent, NotifyRule};
use uwf_core::thread::ThreadId;

use crate::attempt::child_threads;
use crate::root::home::Home;
use crate::root::log::{LogFile, log};
use crate::root::marks::{self, MarkReason, ThreadMark};

/// Hidden argument of the notifying process, followed by the thread and the event.
pub const NOTIFY_ARGUMENT: &str = "__notify";

/// Events that a mark announces.
const MARKED: [(ThreadMark, NotifyEvent); 3] = [
    (ThreadMark::Waiting, NotifyEvent::Waiting),
    (ThreadMark::Limited, NotifyEvent::Limited),
    (ThreadMark::Stuck, NotifyEvent::Stuck),
];

/// The marks of a thread before a step.
pub(crate) struct NotifyBaseline([Option<MarkReason>; 3]);

impl NotifyBaseline {
    pub(crate) fn read(home: &Home, thread: &ThreadId) -> NotifyBaseline {
        NotifyBaseline(MARKED.map(|(mark, _)| marks::get(home, thread, mark)))
    }

    /// Notifies of the step's result. Skips what was already true before the step: a waiting thread is checked often.
    pub(crate) fn notify_changes(self, home: &Home, thread: &ThreadId, has_ended: bool) {
        if has_ended {
            return spawn_notifier(home, thread, NotifyEvent::Ended);
        }
        for ((mark, happening), before) in MARKED.into_iter().zip(self.0) {
            let Some(now) = marks::get(home, thread, mark) else { continue };
            let is_new = before.is_none_or(|before| match mark {
                // Every failed attempt is a new event.
                ThreadMark::Stuck => before.since != now.since,
                _ => before.why != now.why,
            });
            if is_new {
                spawn_notifier(home, thread, happening);
            }
        }
    }
}

/// Starts the notifying process, if any notification is configured.
pub(crate) fn spawn_notifier(home: &Home, thread: &ThreadId, happening: NotifyEvent) {
    let wanted = wanted(home, happening);
    if wanted.is_empty() || child_threads::parent_of(home, thread).is_some() {
        return;
    }
    if let Err(error) = after_step::start(home, &[NOTIFY_ARGUMENT, thread.as_str(), happening.name()]) {
        let log = LogFile::open(&home.log_file(thread));
        log!(log, "W4T6N9QB", Error, "cannot report that the thread is {}: {error}", happening.name());
    }
}

/// Configured notifications for an event; none if the configuration is unreadable.
pub(super) fn wanted(home: &Home, happening: NotifyEvent) -> Vec<NotifyRule> {
    let all = home.config().map(|config| config.notify).unwrap_or_default();
    all.into_iter().filter(|entry| entry.on.contains(&happening)).collect()
}
