//! A store that cannot be used: every request fails with the reason.

use json_cas::{
    HashPrefix, Head, HeadBackend, HeadsError, HoldGuard, JournalRecords, ListedNote, NameVersion, NodeHash,
    NoteBackend, NoteWriteCondition, NoteWritten, ObjectBackend, ObjectMetadata, ObjectPutOutcome, RemoteError,
    RemoteFault, RemovalJournal, StoreError, StoredNote, SwapOutcome, SweepGuard,
};
use serde_json::Value;

pub(super) struct UnusableStore {
    name: String,
    fault: RemoteFault,
    why: String,
}

impl UnusableStore {
    pub(super) fn new(name: &str, fault: RemoteFault, why: impl Into<String>) -> UnusableStore {
        UnusableStore { name: name.to_owned(), fault, why: why.into() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn error(&self) -> RemoteError {
        RemoteError { store: self.name.clone(), fault: self.fault, message: self.why.clone(), source: None }
    }

    fn fail<T, E: From<RemoteError>>(&self) -> Result<T, E> {
        Err(self.error().into())
    }
}

impl ObjectBackend for UnusableStore {
    fn get(&self, _: NodeHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.fail()
    }

    fn contains(&self, _: NodeHash) -> Result<bool, StoreError> {
        self.fail()
    }

    fn put_all(&self, _: &[(NodeHash, Vec<u8>)]) -> Result<Vec<ObjectPutOutcome>, StoreError> {
        self.fail()
    }

    fn replace(&self, _: NodeHash, _: &[u8]) -> Result<(), StoreError> {
        self.fail()
    }

    fn sync(&self, _: &[NodeHash]) -> Result<(), StoreError> {
        self.fail()
    }

    fn list(&self, _: Option<&HashPrefix>) -> Result<Vec<NodeHash>, StoreError> {
        self.fail()
    }

    fn stored(&self, _: NodeHash) -> Result<Option<ObjectMetadata>, StoreError> {
        self.fail()
    }

    fn refresh(&self, _: NodeHash) -> Result<bool, StoreError> {
        self.fail()
    }

    fn hold(&self) -> Result<HoldGuard, StoreError> {
        self.fail()
    }

    fn sweep(&self) -> Result<SweepGuard, StoreError> {
        self.fail()
    }

    fn remove_all(&self, _: &SweepGuard, _: &[&[NodeHash]]) -> Result<Vec<bool>, StoreError> {
        self.fail()
    }
}

impl HeadBackend for UnusableStore {
    fn read(&self, _: &str) -> Result<Option<Head>, HeadsError> {
        self.fail()
    }

    fn list(&self) -> Result<Vec<(String, NodeHash)>, HeadsError> {
        self.fail()
    }

    fn create(&self, _: &str, _: NodeHash) -> Result<SwapOutcome, HeadsError> {
        self.fail()
    }

    fn swap(&self, _: &str, _: &NameVersion, _: NodeHash) -> Result<SwapOutcome, HeadsError> {
        self.fail()
    }

    fn remove(&self, _: &str, _: &NameVersion, _: &Value) -> Result<SwapOutcome, HeadsError> {
        self.fail()
    }
}

impl RemovalJournal for UnusableStore {
    fn records(&self) -> Result<JournalRecords, HeadsError> {
        self.fail()
    }

    fn newest(&self, _: &str) -> Result<Option<Value>, HeadsError> {
        self.fail()
    }

    fn forget(&self, _: &[&str]) -> Result<usize, HeadsError> {
        self.fail()
    }
}

impl NoteBackend for UnusableStore {
    fn note(&self, _: &str) -> Result<Option<StoredNote>, HeadsError> {
        self.fail()
    }

    fn notes(&self, _: &str) -> Result<Vec<ListedNote>, HeadsError> {
        self.fail()
    }

    fn write_note(&self, _: &str, _: NoteWriteCondition<'_>, _: &Value) -> Result<NoteWritten, HeadsError> {
        self.fail()
    }

    fn remove_note(&self, _: &str) -> Result<(), HeadsError> {
        self.fail()
    }
}
