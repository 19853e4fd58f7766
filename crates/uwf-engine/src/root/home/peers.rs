//! Other machines that use a root's store: the one place that knows whether there are any.
//!
//! All other code asks [`StorePeers`] for a fact or an action. A root with its own files has [`NoPeers`], which drops all
//! notes. A root with a [`SharedStore`] has peers.

use std::sync::Arc;
use std::time::Duration;

use json_cas::{
    HeadsError, ListedNote, NameVersion, NodeHash, NoteBackend, NoteWriteCondition, NoteWritten, Store, StoreError,
    StoredNote,
};
use serde_json::Value;
use uwf_core::config::StoreUrl;

use crate::error::Result;
use crate::root::broker_link::BrokerLink;
use crate::root::home::Home;
use crate::root::shared_store::SharedStore;

/// The least age of a node that `gc` may remove from a store that other machines use. References in the records of
/// other machines, such as a failed attempt or a question that waits for its reply, are not visible here.
const SHARED_GRACE: Duration = Duration::from_hours(30 * 24);

/// Where the names of workflows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamesPlace {
    /// In a file of this root.
    File,
    /// In a node of the store, to which a head points.
    Head,
}

/// The other machines that may step the threads of a root.
pub(crate) trait StorePeers: Send + Sync {
    /// The store that they also use.
    fn store(&self) -> Option<&SharedStore>;

    /// Notes for them, and from them.
    fn notes(&self) -> &Arc<dyn NoteBackend>;

    /// Notes of pauses, which every machine must see. `None` if a pause is a file like the other marks.
    fn pauses(&self) -> Option<&dyn NoteBackend>;

    /// Where the names of workflows are.
    fn names_place(&self) -> NamesPlace;

    /// The least age of a node that `gc` may remove.
    fn least_grace(&self) -> Duration;

    /// How long a claim keeps a step for this machine. `None` if the lock of the thread keeps it.
    ///
    /// # Errors
    /// `Config` when the configuration is not valid.
    fn claim_lease(&self, home: &Home) -> Result<Option<Duration>>;

    /// Whether the store may lack a thread that has files on this machine: another machine removed it, or it belongs
    /// to a store that this root used before.
    fn may_lack_threads(&self) -> bool;

    /// Stores again what this machine's cache has and another machine has removed from the store.
    fn confirm_nodes(&self, store: &Store, nodes: &[NodeHash]) -> Result<(), StoreError>;
}

/// No other machine uses the store.
pub(super) struct NoPeers {
    notes: Arc<dyn NoteBackend>,
}

impl NoPeers {
    pub(super) fn new() -> NoPeers {
        NoPeers { notes: Arc::new(NoNotes) }
    }
}

impl StorePeers for NoPeers {
    fn store(&self) -> Option<&SharedStore> {
        None
    }

    fn notes(&self) -> &Arc<dyn NoteBackend> {
        &self.notes
    }

    fn pauses(&self) -> Option<&dyn NoteBackend> {
        None
    }

    fn names_place(&self) -> NamesPlace {
        NamesPlace::File
    }

    fn least_grace(&self) -> Duration {
        Duration::ZERO
    }

    fn claim_lease(&self, _: &Home) -> Result<Option<Duration>> {
        Ok(None)
    }

    fn may_lack_threads(&self) -> bool {
        false
    }

    fn confirm_nodes(&self, _: &Store, _: &[NodeHash]) -> Result<(), StoreError> {
        Ok(())
    }
}

impl StorePeers for SharedStore {
    fn store(&self) -> Option<&SharedStore> {
        Some(self)
    }

    fn notes(&self) -> &Arc<dyn NoteBackend> {
        &self.notes
    }

    fn pauses(&self) -> Option<&dyn NoteBackend> {
        Some(&*self.notes)
    }

    fn names_place(&self) -> NamesPlace {
        NamesPlace::Head
    }

    fn least_grace(&self) -> Duration {
        SHARED_GRACE
    }

    fn claim_lease(&self, home: &Home) -> Result<Option<Duration>> {
        Ok(Some(home.config()?.lease()))
    }

    fn may_lack_threads(&self) -> bool {
        true
    }

    fn confirm_nodes(&self, store: &Store, nodes: &[NodeHash]) -> Result<(), StoreError> {
        store.objects().sync(nodes)
    }
}

/// Discards all notes.
struct NoNotes;

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

impl Home {
    /// The other machines that use the store.
    pub(crate) fn peers(&self) -> &dyn StorePeers {
        &*self.peers
    }

    /// Whether workers on other machines can take the threads of this root.
    pub fn serves_other_machines(&self) -> bool {
        self.shared().is_some()
    }

    /// The store that other machines also use, if nodes and heads are in one.
    pub fn shared(&self) -> Option<&SharedStore> {
        self.peers.store()
    }

    /// Notes shared with the machines that use this store.
    pub(crate) fn notes(&self) -> &Arc<dyn NoteBackend> {
        self.peers.notes()
    }

    /// The least age of a node that `gc` may remove.
    pub fn least_grace(&self) -> Duration {
        self.peers.least_grace()
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
