//! `thread label`: shows or changes the labels of a thread.

use json_cas::NodeHash;
use schemars::JsonSchema;
use serde::Serialize;
use uwf_core::label::ThreadLabels;
use uwf_core::thread::ThreadId;

use crate::attempt::redactor::SecretRedactor;
use crate::attempt::settings::{self, ThreadSettings};
use crate::error::{Error, Result};
use crate::root::home::Home;
use crate::root::lock;
use crate::verbs::step::expected_head;
use crate::views::thread_now::ThreadNow;

/// Changes of the labels of a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelChanges {
    /// Labels to add; one with the same key is replaced.
    pub set: ThreadLabels,
    /// Keys of labels to remove.
    pub remove: Vec<String>,
}

/// The labels of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LabelReport {
    /// The thread.
    pub thread: ThreadId,
    /// Its labels.
    pub labels: ThreadLabels,
}

/// The labels of a thread.
///
/// # Errors
/// `NotFound` when the thread does not exist; errors of its record.
pub fn show(home: &Home, id: &ThreadId) -> Result<LabelReport> {
    let now = ThreadNow::read(home, id)?;
    let labels = ThreadSettings::in_record(home, &now.record)?.unwrap_or_default().labels;
    Ok(LabelReport { thread: id.clone(), labels })
}

/// Changes the labels of a thread, also of one that has ended, if it is at the expected head. Its child threads keep theirs.
///
/// # Errors
/// As for [`show`]; `Busy` while another process steps the thread, or when it is at another head; `Usage` for a label that contains a
/// secret; `NotFound` if this machine has no record of the thread.
pub fn change(home: &Home, id: &ThreadId, changes: &LabelChanges, expected: Option<NodeHash>) -> Result<LabelReport> {
    settings::refuse_secret_labels(&changes.set, &SecretRedactor::for_home(home)?)?;
    // A process that steps the thread also writes to its record, and may shorten it.
    let _lock = lock::take(home, id)?;
    let now = ThreadNow::read(home, id)?;
    let head = now.thread.head;
    if expected.is_some() {
        expected_head::check(home, id, Some(head), expected)?;
    }
    let Some(mut settings) = ThreadSettings::in_record(home, &now.record)? else {
        return Err(match settings::are_lost(&now.record) {
            true => settings::lost_here(home, id),
            false => Error::not_found(format!("this machine has no record of thread {id}, where its labels would be"))
                .hint("label it on the machine that steps it"),
        });
    };
    let mut labels = settings.labels.clone();
    labels.retain(|key, _| !changes.remove.contains(key));
    labels.extend(changes.set.clone());
    if labels != settings.labels {
        settings.labels = labels;
        settings.begun_at(settings.begun_at.unwrap_or(head)).save(home, id)?;
    }
    Ok(LabelReport { thread: id.clone(), labels: settings.labels })
}
