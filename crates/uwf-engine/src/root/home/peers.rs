//! Whether other machines use a root's store. No other file asks this.
//!
//! A root with its own files has no peers. Its notes are [`NoNotes`], so code that leaves and reads notes is the same
//! for both kinds of roots. The other differences between them are questions about one fact each, below.

use std::sync::Arc;
use std::time::Duration;

use json_cas::{HeadsError, ListedNote, NameVersion, NoteBackend, NoteWriteCondition, NoteWritten, StoredNote};
use serde_json::Value;
use uwf_core::config::StoreUrl;

use crate::root::broker_link::BrokerLink;
use crate::root::home::Home;

/// The least age of a node that `gc` may remove from a store that other machines use. References in the records of
/// other machines, such as a failed attempt or a question that waits for its reply, are not visible here.
const SHARED_GRACE: Duration = Duration::from_hours(30 * 24);

/// Discards all notes: this machine uses the root alone.
pub(super) struct NoNotes;

impl NoteBackend for NoNotes {
    fn note(&self, _: &str) -> Result<Option<StoredNote>, HeadsError> {
        Ok(None)
    }

    fn notes(&self, _: &str) -> Result<Vec<ListedNote>, HeadsError> {
        Ok(Vec::new())
    }

    fn write_note(&self, _: &str, _: NoteWriteCondition<'_>, _: &Value) -> Result<NoteWritten, HeadsError> {
        Ok(NoteWritten::Done(NameVersion::new(String::new())))
    }

    fn remove_note(&self, _: &str) -> Result<(), HeadsError> {
        Ok(())
    }
}

/// Where the names of workflows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamesPlace {
    /// In a file of this root.
    File,
    /// In a node of the store, to which a head points.
    Head,
}

impl Home {
    /// Whether other machines may step the threads of this root.
    pub fn has_peers(&self) -> bool {
        self.shared().is_some()
    }

    /// Notes shared with the machines that use this store.
    pub(crate) fn notes(&self) -> &Arc<dyn NoteBackend> {
        &self.notes
    }

    /// Whether heads and history are files of this root, so that their sizes and times show every change.
    pub(crate) fn has_index(&self) -> bool {
        !self.has_peers()
    }

    /// Whether nodes may come from a cache, so that another machine may since have removed them.
    pub(crate) fn caches_nodes(&self) -> bool {
        self.has_peers()
    }

    /// Where the names of workflows are.
    pub(crate) fn names_place(&self) -> NamesPlace {
        if self.has_peers() { NamesPlace::Head } else { NamesPlace::File }
    }

    /// The least age of a node that `gc` may remove.
    pub fn least_grace(&self) -> Duration {
        if self.has_peers() { SHARED_GRACE } else { Duration::ZERO }
    }

    /// The URL of the store, if it has one: agents must not get the keys to it.
    pub(crate) fn store_url(&self) -> Option<&StoreUrl> {
        self.shared()?.url()
    }

    /// The process that holds the store for this one, if there is one.
    pub(crate) fn broker(&self) -> Option<&Arc<BrokerLink>> {
        self.shared()?.broker()
    }
}
