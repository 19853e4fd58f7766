//! A store that cannot be used: every request fails with the reason.

use json_cas::{
    Expected, Hash, HashPrefix, Head, Heads, HeadsError, Hold, Journal, ListedNote, Note, NoteWritten, Notes, Objects,
    Put, Records, RemoteError, RemoteFault, StoreError, Stored, Swap, Sweep, Version,
};
use serde_json::Value;

pub(super) struct Unusable {
    name: String,
    fault: RemoteFault,
    why: String,
}

impl Unusable {
    pub(super) fn new(name: &str, fault: RemoteFault, why: impl Into<String>) -> Unusable {
        Unusable { name: name.to_owned(), fault, why: why.into() }
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

impl Objects for Unusable {
    fn get(&self, _: Hash) -> Result<Option<Vec<u8>>, StoreError> {
        self.fail()
    }

    fn contains(&self, _: Hash) -> Result<bool, StoreError> {
        self.fail()
    }

    fn put_all(&self, _: &[(Hash, Vec<u8>)]) -> Result<Vec<Put>, StoreError> {
        self.fail()
    }

    fn replace(&self, _: Hash, _: &[u8]) -> Result<(), StoreError> {
        self.fail()
    }

    fn sync(&self, _: &[Hash]) -> Result<(), StoreError> {
        self.fail()
    }

    fn list(&self, _: Option<&HashPrefix>) -> Result<Vec<Hash>, StoreError> {
        self.fail()
    }

    fn stored(&self, _: Hash) -> Result<Option<Stored>, StoreError> {
        self.fail()
    }

    fn refresh(&self, _: Hash) -> Result<bool, StoreError> {
        self.fail()
    }

    fn hold(&self) -> Result<Hold, StoreError> {
        self.fail()
    }

    fn sweep(&self) -> Result<Sweep, StoreError> {
        self.fail()
    }

    fn remove_all(&self, _: &Sweep, _: &[&[Hash]]) -> Result<Vec<bool>, StoreError> {
        self.fail()
    }
}

impl Heads for Unusable {
    fn read(&self, _: &str) -> Result<Option<Head>, HeadsError> {
        self.fail()
    }

    fn list(&self) -> Result<Vec<(String, Hash)>, HeadsError> {
        self.fail()
    }

    fn create(&self, _: &str, _: Hash) -> Result<Swap, HeadsError> {
        self.fail()
    }

    fn swap(&self, _: &str, _: &Version, _: Hash) -> Result<Swap, HeadsError> {
        self.fail()
    }

    fn remove(&self, _: &str, _: &Version, _: &Value) -> Result<Swap, HeadsError> {
        self.fail()
    }
}

impl Journal for Unusable {
    fn records(&self) -> Result<Records, HeadsError> {
        self.fail()
    }

    fn newest(&self, _: &str) -> Result<Option<Value>, HeadsError> {
        self.fail()
    }

    fn forget(&self, _: &[&str]) -> Result<usize, HeadsError> {
        self.fail()
    }
}

impl Notes for Unusable {
    fn note(&self, _: &str) -> Result<Option<Note>, HeadsError> {
        self.fail()
    }

    fn notes(&self, _: &str) -> Result<Vec<ListedNote>, HeadsError> {
        self.fail()
    }

    fn write_note(&self, _: &str, _: Expected<'_>, _: &Value) -> Result<NoteWritten, HeadsError> {
        self.fail()
    }

    fn remove_note(&self, _: &str) -> Result<(), HeadsError> {
        self.fail()
    }
}
