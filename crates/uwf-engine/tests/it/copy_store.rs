//! Two copies of one thread in one moment.

use std::sync::Arc;

use json_cas::{
    Head, HeadBackend, HeadsError, JournalRecords, MemoryHeads, MemoryObjects, NameVersion, NodeHash, RemovalJournal,
    SwapOutcome,
};
use serde_json::{Value, json};
use uwf_core::thread::ThreadId;
use uwf_engine::root::home::Home;
use uwf_engine::verbs::copy_store::{self, CopyOutcome};
use uwf_testing::dir_in_memory;

use crate::memory::Machine;

/// Heads that somebody else creates a moment earlier, always: at the node that is asked for, or at another one.
#[derive(Default)]
struct Raced {
    inner: MemoryHeads,
    elsewhere: bool,
    /// What is left of a thread that the other one ends as well.
    ends: Option<Value>,
}

impl HeadBackend for Raced {
    fn read(&self, name: &str) -> Result<Option<Head>, HeadsError> {
        self.inner.read(name)
    }

    fn list(&self) -> Result<Vec<(String, NodeHash)>, HeadsError> {
        HeadBackend::list(&self.inner)
    }

    fn create(&self, name: &str, new: NodeHash) -> Result<SwapOutcome, HeadsError> {
        let other = if self.elsewhere { NodeHash::from_u64(1) } else { new };
        assert_eq!(self.inner.create(name, other)?, SwapOutcome::Done);
        if let (Some(record), Some(head)) = (&self.ends, self.inner.read(name)?) {
            assert_eq!(self.inner.remove(name, &head.version, record)?, SwapOutcome::Done);
        }
        self.inner.create(name, new)
    }

    fn swap(&self, name: &str, expected: &NameVersion, new: NodeHash) -> Result<SwapOutcome, HeadsError> {
        self.inner.swap(name, expected, new)
    }

    fn remove(&self, name: &str, expected: &NameVersion, record: &Value) -> Result<SwapOutcome, HeadsError> {
        self.inner.remove(name, expected, record)
    }
}

impl RemovalJournal for Raced {
    fn records(&self) -> Result<JournalRecords, HeadsError> {
        self.inner.records()
    }

    fn newest(&self, name: &str) -> Result<Option<Value>, HeadsError> {
        self.inner.newest(name)
    }

    fn forget(&self, names: &[&str]) -> Result<usize, HeadsError> {
        self.inner.forget(names)
    }
}

/// What a copy comes to that meets another one.
fn outcome(from: &Machine, thread: &ThreadId, raced: Raced) -> CopyOutcome {
    let dir = dir_in_memory();
    let to = Home::over(dir.path(), "/there/is/no/uwf", Arc::<MemoryObjects>::default(), Arc::new(raced));
    copy_store::copy(&from.home, &to, std::slice::from_ref(thread), &mut |_, _| ()).unwrap().threads[0].outcome
}

#[test]
fn slower_copy_finds_existing_thread() {
    let machine = Machine::with_essay();
    let thread = machine.start("essay");
    assert_eq!(outcome(&machine, &thread, Raced::default()), CopyOutcome::Present);
    assert_eq!(outcome(&machine, &thread, Raced { elsewhere: true, ..Raced::default() }), CopyOutcome::Differs);

    let head = machine.heads.read(thread.as_str()).unwrap().unwrap();
    let ending = |status: &str| json!({ "thread": thread.as_str(), "workflow": head.hash, "head": head.hash, "status": status, "completedAt": 1 });
    let ended = |status: &str| Raced { ends: Some(ending(status)), ..Raced::default() };
    assert_eq!(outcome(&machine, &thread, ended("killed")), CopyOutcome::Differs, "it is active here");
    assert_eq!(machine.heads.remove(thread.as_str(), &head.version, &ending("killed")).unwrap(), SwapOutcome::Done);
    assert_eq!(outcome(&machine, &thread, ended("killed")), CopyOutcome::Present);
    assert_eq!(outcome(&machine, &thread, ended("completed")), CopyOutcome::Differs);
}
